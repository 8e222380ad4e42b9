"""Gauss-Seidel where few of many contacts carry couples.

Contacts without couples (lengths of zero) are not slowed down by the others. Where they are many they are
swept by vectors and threads as if there were no couples, and those with couples are visited after each sweep,
one after another. Where they are few, all are visited in one order (:mod:`clapas.solvers.nsgs.ragged`).
"""

from __future__ import annotations

import numpy as np

from clapas.compiled.simd import aligned_zeros
from clapas.problems.contact import ContactProblem
from clapas.problems.packed_bodies import add_packed, packed_pairs
from clapas.solvers.nsgs.blocked import BlockedSweeps
from clapas.solvers.nsgs.layout import BlockLayout
from clapas.solvers.nsgs.ragged import sweep_ragged, turned
from clapas.solvers.nsgs.structure import BodyContacts
from clapas.solvers.nsgs.sweeps import Sweeps, SweepSettings
from clapas.solvers.nsgs.updates import sliding_rows, turned_sliding, updates
from clapas.typing import Array, Indices


class MixedSweeps(Sweeps):
    """Parallel sweeps over the contacts without couples, then a visit to each contact with couples.

    Both work on the velocities of the blocked form, and their impulses are one array, so that acceleration
    combines them together.
    """

    form = "bodies of one size, by vectors; contacts with couples one by one"

    def __init__(
        self, problem: ContactProblem, settings: SweepSettings, guess: Array, layout: BlockLayout
    ) -> None:
        blocks = problem.blocks
        assert blocks is not None
        self._d, self._shape = sliding_rows(problem), guess.shape
        d, plain, rolling = self._d, *with_and_without_couples(problem)
        self._chosen = plain, rolling
        cones, turn = updates(problem, settings.part, settings.relaxation)
        rows, w = np.ascontiguousarray(blocks.G[plain, :, :d]), problem.w
        contacts = BodyContacts(
            rows, blocks.bodies[plain], blocks.y_free, w[plain, :d], cones.coefficients[plain], turn[plain]
        )
        self._sweeps = BlockedSweeps(contacts, settings._replace(acceleration=0), guess[plain, :d], layout)
        self.y, plain_size = self._sweeps.y, self._sweeps.r.size
        self.r = aligned_zeros((plain_size + len(rolling) * problem.d,))
        self.r[:plain_size] = self._sweeps.r.ravel()
        self._sweeps.r = self.r[:plain_size].reshape(self._sweeps.r.shape)
        self._couples = self.r[plain_size:].reshape(-1, problem.d)
        self._turn = turn[rolling]
        self._couples[:] = turned_sliding(guess[rolling], self._turn, d)
        self._cones = cones.take(rolling)
        self._w = turned_sliding(w[rolling], self._turn, d)
        packed = packed_pairs(
            np.ascontiguousarray(blocks.G[rolling]), blocks.bodies[rolling], blocks.n_bodies
        )
        place = self._sweeps.number[packed.column // blocks.size] * self.y.shape[1]
        self._blocks = turned(packed._replace(column=place), self._turn, d)
        self._visits = np.arange(len(rolling), dtype=np.uint32)

    def impulses(self) -> Array:
        """The current impulses and couples in the frames of the problem."""
        r, (plain, rolling) = np.zeros(self._shape), self._chosen
        r[plain, : self._d] = self._sweeps.impulses()
        r[rolling] = turned_sliding(self._couples, self._turn, self._d, back=True)
        return r

    def refresh(self) -> None:
        """Body velocities under the current impulses and couples."""
        self._sweeps.refresh()
        add_packed(*self._blocks, self._couples, self.y.reshape(-1))

    def rows(self, bodies: Indices) -> Indices:
        """Rows of ``y`` that belong to some bodies."""
        return self._sweeps.rows(bodies)

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps."""
        rows, y = (0,) * self._d, self.y.reshape(-1)
        for _ in range(count):
            self._sweeps.sweep(1)
            sweep_ragged(self._visits, *self._blocks, self._w, *self._cones, rows, self._couples, y)


def with_and_without_couples(problem: ContactProblem) -> tuple[Indices, Indices]:
    """Contacts without couples (lengths of zero), and those with."""
    diagonals = np.diagonal(problem.local_blocks, axis1=1, axis2=2)
    turns = diagonals[:, sliding_rows(problem) :].any(axis=1)
    return np.flatnonzero(~turns), np.flatnonzero(turns)
