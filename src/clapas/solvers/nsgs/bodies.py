"""Gauss-Seidel on the velocities of the bodies: W is never formed (Moreau's own form).

Visiting contact i reads the velocities of its two bodies, solves its one-contact problem and adds
the change of its impulse to them at once: y_a += G_aᵀ dr, y_b += G_bᵀ dr.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.compiled import kernel
from clapas.problems.blocks import BodyBlocks, compile_time
from clapas.solvers.local.canonical import LARGEST_MU, N_COEFFICIENTS, SINGULAR, canonical, coefficients_of
from clapas.solvers.nsgs.sweeps import Sweeps, Visits
from clapas.solvers.nsgs.updates import round_update
from clapas.typing import Array, Indices


class BodySweeps(Sweeps):
    """Sweeps on body velocities, contact after contact.

    For few contacts, where a call from Python costs as much as many visits: one kernel rotates all
    tangents, one does any number of sweeps in the same order, one rotates the impulses back.
    """

    form = "bodies of one size"

    def __init__(
        self,
        blocks: BodyBlocks,
        w: Array,
        mu: Array,
        part: Any,
        relaxation: float,
        visits: Visits,
        guess: Array,
    ) -> None:
        self._part, self._relaxation, self._visits = part, relaxation, visits
        self._bodies, self._y_free = blocks.bodies.astype(np.uint32), blocks.y_free
        self._dims = compile_time(blocks.G)
        n, d = blocks.n_contacts, blocks.d
        self._rows, self._w = np.empty((n, 2 * d * blocks.size)), np.empty((n, d))
        self._coefficients, self._turn = np.empty((n, N_COEFFICIENTS)), np.empty((n, 2))
        self.r, self.y = np.empty((n, d)), np.empty_like(blocks.y_free)
        turned = self._rows, self._w, self._coefficients, self._turn, self.r
        turn_contacts(blocks.G, w, mu, guess, *self._dims, *turned)

    def impulses(self) -> Array:
        """The current impulses in the frames of the problem."""
        return np.asarray(turned_back(self.r, self._turn))

    def refresh(self) -> None:
        """Body velocities under the current impulses."""
        self.y[:] = self._y_free
        add_turned_impulses(self._rows, self._bodies, self.r, *self._dims, self.y)

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps; in one call where all have the same order."""
        data = self._rows, self._bodies, self._w, self._coefficients, self._part, self._relaxation
        calls = 1 if self._visits.are_alike else count
        for _ in range(calls):
            sweep_bodies(count // calls, self._visits.next(), *data, *self._dims, self.r, self.y)


@kernel
def turn_contacts(
    G: Array,
    w: Array,
    mu: Array,
    guess: Array,
    components: tuple[int, ...],
    size: tuple[int, ...],
    rows: Array,
    turned_w: Array,
    coefficients: Array,
    turn: Array,
    r: Array,
) -> None:
    """Write the data of each contact with its tangents turned to canonical coordinates.

    See :mod:`clapas.solvers.local.canonical`. ``rows`` (n, 2·d·size) are those of body a, then of body b.
    """
    m, d = len(size), len(components)
    for i in range(len(G)):
        # The diagonal block of W = G Gᵀ.
        w_nn, w_n1, w_n2, w_11, w_12, w_22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for side in range(2):
            for j in range(m):
                g_n, g_1 = G[i, side, 0, j], G[i, side, 1, j]
                w_nn, w_n1, w_11 = w_nn + g_n * g_n, w_n1 + g_n * g_1, w_11 + g_1 * g_1
                if d == 3:
                    g_2 = G[i, side, 2, j]
                    w_n2, w_12, w_22 = w_n2 + g_n * g_2, w_12 + g_1 * g_2, w_22 + g_2 * g_2
        cosine, sine = 1.0, 0.0
        if d == 3:
            k_0, k_1, k_2, k_3, k_4, cosine, sine = canonical(w_nn, w_n1, w_n2, w_11, w_12, w_22)
        else:  # a contact in space whose second tangent is idle
            k_0, k_1, k_2 = 1.0 / w_nn, w_n1 / w_nn, 0.0
            k_3 = w_11 - w_nn * k_1 * k_1
            k_3 = k_3 if k_3 > SINGULAR * (w_nn + w_11) else 0.0
            k_4 = k_3
        coefficients[i, 0], coefficients[i, 1], coefficients[i, 2] = k_0, k_1, k_2
        coefficients[i, 3], coefficients[i, 4], coefficients[i, 5] = k_3, k_4, min(mu[i], LARGEST_MU)
        turn[i, 0], turn[i, 1] = cosine, sine
        turned_w[i, 0], turned_w[i, 1], r[i, 0], r[i, 1] = w[i, 0], w[i, 1], guess[i, 0], guess[i, 1]
        for side in range(2):
            for j in range(m):
                rows[i, side * d * m + j] = G[i, side, 0, j]
                rows[i, (side * d + 1) * m + j] = G[i, side, 1, j]
        if d == 3:
            turned_w[i, 1] = cosine * w[i, 1] + sine * w[i, 2]
            turned_w[i, 2] = cosine * w[i, 2] - sine * w[i, 1]
            r[i, 1] = cosine * guess[i, 1] + sine * guess[i, 2]
            r[i, 2] = cosine * guess[i, 2] - sine * guess[i, 1]
            for side in range(2):
                for j in range(m):
                    g_1, g_2 = G[i, side, 1, j], G[i, side, 2, j]
                    rows[i, (side * d + 1) * m + j] = cosine * g_1 + sine * g_2
                    rows[i, (side * d + 2) * m + j] = cosine * g_2 - sine * g_1


@kernel
def turned_back(r: Array, turn: Array) -> Array:
    """Impulses in the frames of the problem."""
    result = r.copy()
    if r.shape[1] == 3:
        for i in range(len(r)):
            cosine, sine = turn[i, 0], turn[i, 1]
            result[i, 1] = cosine * r[i, 1] - sine * r[i, 2]
            result[i, 2] = cosine * r[i, 2] + sine * r[i, 1]
    return result


@kernel
def add_turned_impulses(
    rows: Array, bodies: Indices, r: Array, components: tuple[int, ...], size: tuple[int, ...], y: Array
) -> None:
    """Add Gᵀ r to y, G given by the rows of :func:`turn_contacts`."""
    m, d = len(size), len(components)
    for i in range(len(r)):
        for side in range(2):
            body = bodies[i, side]
            for k in range(d):
                for j in range(m):
                    y[body, j] += rows[i, (side * d + k) * m + j] * r[i, k]


@kernel
def sweep_bodies(
    count: int,
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
    """Do ``count`` sweeps. The lengths of ``components`` and ``size`` are d and the body's size.

    G has one row per contact: the d·size entries of body a, then those of body b.
    """
    m, d = len(size), len(components)
    for _ in range(count):
        for visit in range(len(order)):
            i = order[visit]
            # Plain indices: the compiler counts references to views, which costs more than the visit.
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
            n, t_1, t_2 = round_update(part, relaxation, k, r_n, r_1, r_2, u_n, u_1, u_2)
            d_n, d_1, d_2 = n - r_n, t_1 - r_1, t_2 - r_2
            r[i, 0] = n
            r[i, 1] = t_1
            if d == 3:
                r[i, 2] = t_2
                for j in range(m):
                    y[a, j] += G[i, j] * d_n + G[i, m + j] * d_1 + G[i, 2 * m + j] * d_2
                for j in range(m):
                    y[b, j] += (
                        G[i, d * m + j] * d_n + G[i, (d + 1) * m + j] * d_1 + G[i, (d + 2) * m + j] * d_2
                    )
            else:
                for j in range(m):
                    y[a, j] += G[i, j] * d_n + G[i, m + j] * d_1
                for j in range(m):
                    y[b, j] += G[i, d * m + j] * d_n + G[i, (d + 1) * m + j] * d_1
