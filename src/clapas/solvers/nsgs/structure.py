"""Contacts between bodies in the form the sweeps use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.solvers.local.canonical import canonical_coefficients, turn_tangents
from clapas.typing import Array, Indices


@dataclass(frozen=True)
class BodyContacts:
    """The blocks of a problem, the coefficients of its local problems and the turn of its tangents.

    Parameters
    ----------
    G, bodies, y_free
        See :class:`clapas.problems.blocks.BodyBlocks`.
    w : array (n, d)
        Imposed velocities.
    coefficients, turn : arrays (n, 6) and (n, 2)
        See :mod:`clapas.solvers.local.canonical`.
    """

    G: Array
    bodies: Indices
    y_free: Array
    w: Array
    coefficients: Array
    turn: Array

    @property
    def n_bodies(self) -> int:
        """Bodies that can move."""
        return len(self.y_free) - 1

    def turned(self) -> tuple[Array, Array]:
        """G and w with the tangents in canonical coordinates."""
        rows = turn_tangents(self.G.transpose(0, 2, 1, 3), self.turn)
        return np.ascontiguousarray(rows.transpose(0, 2, 1, 3)), turn_tangents(self.w, self.turn)


def body_contacts(problem: ContactProblem) -> BodyContacts | None:
    """The two-body structure of a problem, or None if it has none."""
    blocks = problem.blocks
    if blocks is None:
        return None
    coefficients, turn = canonical_coefficients(problem.local_blocks, problem.mu)
    return BodyContacts(blocks.G, blocks.bodies, blocks.y_free, problem.w, coefficients, turn)
