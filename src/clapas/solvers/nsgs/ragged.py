"""Gauss-Seidel on bodies of any size: rods, finite elements and linkages among rigid bodies.

The sweep of :mod:`clapas.solvers.nsgs.bodies` for blocks of different lengths and any number of bodies per
contact (see :mod:`clapas.problems.ragged_bodies`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.compiled import kernel
from clapas.problems.contact import ContactProblem
from clapas.problems.packed_bodies import PackedBodies, add_packed
from clapas.problems.ragged_bodies import RaggedBodies
from clapas.solvers.local.canonical import canonical_coefficients, coefficients_of, turn_tangents
from clapas.solvers.local.dispatch import solve_contact
from clapas.solvers.nsgs.relax import relaxed
from clapas.solvers.nsgs.sweeps import Sweeps
from clapas.solvers.nsgs.visits import Visits
from clapas.typing import Array, Indices


class RaggedSweeps(Sweeps):
    """Sweeps on the velocities of bodies of any size, contact after contact."""

    form = "bodies of any size"

    def __init__(
        self,
        problem: ContactProblem,
        bodies: RaggedBodies | PackedBodies,
        part: Any,
        relaxation: float,
        visits: Visits,
        guess: Array,
    ) -> None:
        self._part, self._relaxation, self._visits = part, relaxation, visits
        self._coefficients, self._turn = canonical_coefficients(problem.local_blocks, problem.mu)
        packed = bodies.packed
        data = packed.data.copy()
        if problem.d == 3:
            turn_rows(packed.first, packed.size, packed.at, self._turn, data)
        self._blocks = packed._replace(data=data)
        self._q = turn_tangents(problem.q, self._turn)
        self.r, self.y = turn_tangents(guess, self._turn), np.zeros(int(bodies.start[-1]))
        self._dims = (0,) * problem.d

    def impulses(self) -> Array:
        """The current impulses in the frames of the problem."""
        return turn_tangents(self.r, self._turn, back=True)

    def refresh(self) -> None:
        """The velocities Gᵀ r that the current impulses give."""
        self.y[:] = 0.0
        add_packed(*self._blocks, self.r, self.y)

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps."""
        settings = self._part, self._relaxation, self._dims
        for _ in range(count):
            order = self._visits.next()
            sweep_ragged(order, *self._blocks, self._q, self._coefficients, *settings, self.r, self.y)


@kernel
def turn_rows(first: Indices, size: Indices, at: Indices, turn: Array, data: Array) -> None:
    """Turn the two tangential rows of each block to canonical coordinates."""
    for i in range(len(first) - 1):
        cosine, sine = turn[i, 0], turn[i, 1]
        for pair in range(first[i], first[i + 1]):
            m, g = size[pair], at[pair]
            for j in range(m):
                s, t = data[g + m + j], data[g + 2 * m + j]
                data[g + m + j] = cosine * s + sine * t
                data[g + 2 * m + j] = cosine * t - sine * s


@kernel
def sweep_ragged(
    order: Indices,
    first: Indices,
    column: Indices,
    size: Indices,
    at: Indices,
    data: Array,
    q: Array,
    coefficients: Array,
    part: Any,
    relaxation: float,
    components: tuple[int, ...],
    r: Array,
    y: Array,
) -> None:
    """Visit each contact once. The length of ``components`` is d."""
    for visit in range(len(order)):
        i = order[visit]
        u_n, u_1, u_2, r_2 = q[i, 0], q[i, 1], 0.0, 0.0
        if len(components) == 3:
            u_2, r_2 = q[i, 2], r[i, 2]
        for pair in range(first[i], first[i + 1]):
            m, g, o = size[pair], at[pair], column[pair]
            for j in range(m):
                u_n += data[g + j] * y[o + j]
                u_1 += data[g + m + j] * y[o + j]
            if len(components) == 3:
                for j in range(m):
                    u_2 += data[g + 2 * m + j] * y[o + j]
        r_n, r_1, k = r[i, 0], r[i, 1], coefficients_of(coefficients, i)
        n, t_1, t_2 = solve_contact(part, r_n, r_1, r_2, u_n, u_1, u_2, k)
        if relaxation != 1.0:
            n, t_1, t_2 = relaxed(relaxation, k[5], r_n, r_1, r_2, n, t_1, t_2)
        d_n, d_1, d_2 = n - r_n, t_1 - r_1, t_2 - r_2
        r[i, 0] = n
        r[i, 1] = t_1
        if len(components) == 3:
            r[i, 2] = t_2
        for pair in range(first[i], first[i + 1]):
            m, g, o = size[pair], at[pair], column[pair]
            for j in range(m):
                y[o + j] += data[g + j] * d_n + data[g + m + j] * d_1
            if len(components) == 3:
                for j in range(m):
                    y[o + j] += data[g + 2 * m + j] * d_2
