"""Gauss-Seidel on the velocities of the bodies: W is never formed (Moreau's own form).

Visiting contact i reads the velocities of its two bodies, solves its one-contact problem and adds
the change of its impulse to them at once: y_a += G_aᵀ dr, y_b += G_bᵀ dr.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.compiled import kernel
from clapas.problems.blocks import add_impulses, compile_time
from clapas.solvers.local.canonical import coefficients_of, turn_tangents
from clapas.solvers.local.dispatch import solve_contact
from clapas.solvers.nsgs.relax import relaxed
from clapas.solvers.nsgs.structure import BodyContacts
from clapas.solvers.nsgs.sweeps import Sweeps
from clapas.solvers.nsgs.visits import Visits
from clapas.typing import Array, Indices


class BodySweeps(Sweeps):
    """Sweeps on body velocities, contact after contact."""

    def __init__(
        self, contacts: BodyContacts, part: Any, relaxation: float, visits: Visits, guess: Array
    ) -> None:
        self._contacts, self._part, self._relaxation, self._visits = contacts, part, relaxation, visits
        self._G, self._w = contacts.turned()
        self.r, self.y = turn_tangents(guess, contacts.turn), np.empty_like(contacts.y_free)
        self._dims = compile_time(contacts.G)
        self._bodies = contacts.bodies.astype(np.uint32)

    def impulses(self) -> Array:
        """The current impulses in the frames of the problem."""
        return turn_tangents(self.r, self._contacts.turn, back=True)

    def refresh(self) -> None:
        """Body velocities under the current impulses."""
        self.y[:] = self._contacts.y_free
        add_impulses(self._G, self._contacts.bodies, self.r, self.y)

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps."""
        rows = self._G.reshape(len(self._G), -1)
        for _ in range(count):
            sweep_bodies(
                self._visits.next(),
                rows,
                self._bodies,
                self._w,
                self._contacts.coefficients,
                self._part,
                self._relaxation,
                *self._dims,
                self.r,
                self.y,
            )


@kernel
def sweep_bodies(
    order: Indices,
    G: Array,
    bodies: Indices,
    w: Array,
    coefficients: Array,
    part: Any,
    relaxation: float,
    components: tuple[int, ...],
    size: tuple[int, ...],
    r: Array,
    y: Array,
) -> None:
    """Visit each contact once. The lengths of ``components`` and ``size`` are d and the body's size.

    G has one row per contact: the d·size entries of body a, then those of body b.
    """
    m, d = len(size), len(components)
    for visit in range(len(order)):
        i = order[visit]
        # Plain indices, no views: the compiler counts references to views, which costs more than the visit.
        a, b = bodies[i, 0], bodies[i, 1]
        u_n, u_1, u_2, r_2 = w[i, 0], w[i, 1], 0.0, 0.0
        for j in range(m):
            u_n += G[i, j] * y[a, j] + G[i, d * m + j] * y[b, j]
            u_1 += G[i, m + j] * y[a, j] + G[i, (d + 1) * m + j] * y[b, j]
        if d == 3:
            u_2 = w[i, 2]
            r_2 = r[i, 2]
            for j in range(m):
                u_2 += G[i, 2 * m + j] * y[a, j] + G[i, (d + 2) * m + j] * y[b, j]
        r_n, r_1, k = r[i, 0], r[i, 1], coefficients_of(coefficients, i)
        n, t_1, t_2 = solve_contact(part, r_n, r_1, r_2, u_n, u_1, u_2, k)
        if relaxation != 1.0:
            n, t_1, t_2 = relaxed(relaxation, k[5], r_n, r_1, r_2, n, t_1, t_2)
        d_n, d_1, d_2 = n - r_n, t_1 - r_1, t_2 - r_2
        r[i, 0] = n
        r[i, 1] = t_1
        if d == 3:
            r[i, 2] = t_2
            for j in range(m):
                y[a, j] += G[i, j] * d_n + G[i, m + j] * d_1 + G[i, 2 * m + j] * d_2
            for j in range(m):
                y[b, j] += G[i, d * m + j] * d_n + G[i, (d + 1) * m + j] * d_1 + G[i, (d + 2) * m + j] * d_2
        else:
            for j in range(m):
                y[a, j] += G[i, j] * d_n + G[i, m + j] * d_1
            for j in range(m):
                y[b, j] += G[i, d * m + j] * d_n + G[i, (d + 1) * m + j] * d_1
