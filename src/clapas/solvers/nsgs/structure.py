"""Contacts between bodies as the sweeps see them: in canonical coordinates (tangents turned)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.problems.blocks import add_impulses
from clapas.problems.contact import ContactProblem
from clapas.solvers.local.canonical import canonical_coefficients, turn_tangents
from clapas.typing import Array, Indices


@dataclass(frozen=True)
class BodyContacts:
    """The blocks of a problem with turned tangents, and the coefficients of its local problems.

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

    def velocities(self, r: Array) -> Array:
        """Body velocities y under the (turned) impulses r."""
        y = self.y_free.copy()
        add_impulses(self.G, self.bodies, r, y)
        return y


def body_contacts(problem: ContactProblem) -> BodyContacts | None:
    """The two-body structure of a problem, or None if it has none."""
    blocks = problem.blocks
    if blocks is None:
        return None
    coefficients, turn = canonical_coefficients(problem.local_blocks, problem.mu)
    turned = turn_tangents(blocks.G.transpose(0, 2, 1, 3), turn).transpose(0, 2, 1, 3)
    return BodyContacts(
        G=np.ascontiguousarray(turned),
        bodies=blocks.bodies,
        y_free=blocks.y_free,
        w=turn_tangents(problem.w, turn),
        coefficients=coefficients,
        turn=turn,
    )
