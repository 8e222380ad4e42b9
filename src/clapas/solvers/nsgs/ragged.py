"""Gauss-Seidel on bodies of any size, contact after contact, for every cone.

The sweep of :mod:`clapas.solvers.nsgs.bodies` for blocks of different lengths and any number of bodies per
contact (see :mod:`clapas.problems.ragged_bodies`): rods, finite elements and linkages among rigid bodies. A
visit gathers the velocities at its contact, solves the one-contact problem for its cone
(:mod:`clapas.solvers.nsgs.updates`), and adds the change of impulse to the bodies; rows of couples are read
only at contacts that have some.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.compiled import kernel
from clapas.problems.packed_bodies import add_packed
from clapas.problems.ragged_bodies import Packed
from clapas.solvers.local.canonical import coefficients_of
from clapas.solvers.nsgs.sweeps import Sweeps, Visits
from clapas.solvers.nsgs.updates import (
    Coupled,
    Limited,
    Polygonal,
    Stretched,
    Updates,
    round_update,
    special_update,
    turned_sliding,
)
from clapas.typing import Array, Indices, Mask


class RaggedSweeps(Sweeps):
    """Sweeps on the velocities of bodies of any size, contact after contact.

    Parameters
    ----------
    packed : Packed
        Blocks of G.
    free : array (n, k)
        Velocities at the contacts without impulses.
    cones, turn
        See :func:`clapas.solvers.nsgs.updates.updates`.
    d : int
        Rows of the normal and the tangents; those of the couple follow.
    size : int
        Number of velocities of all bodies.
    visits : Visits
        The order.
    guess : array (n, k)
        Impulses to begin with.
    """

    form = "bodies of any size"

    def __init__(
        self,
        packed: Packed,
        free: Array,
        cones: Updates,
        turn: Array,
        d: int,
        size: int,
        visits: Visits,
        guess: Array,
    ) -> None:
        self._visits, self._cones, self._turn, self._d = visits, cones, turn, d
        self._blocks, self._q = turned(packed, turn, d), turned_sliding(free, turn, d)
        self.r, self.y = turned_sliding(guess, turn, d), np.zeros(size)
        self._rows = (0,) * d

    @property
    def ran(self) -> str:
        """What runs, in words."""
        return super().ran + (", with couples" if self.r.shape[1] > self._d else "")

    def impulses(self) -> Array:
        """The current impulses in the frames of the problem."""
        return turned_sliding(self.r, self._turn, self._d, back=True)

    def refresh(self) -> None:
        """The velocities Gᵀ r that the current impulses give."""
        self.y[:] = 0.0
        add_packed(*self._blocks, self.r, self.y)

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps."""
        for _ in range(count):
            order = self._visits.next()
            sweep_ragged(order, *self._blocks, self._q, *self._cones, self._rows, self.r, self.y)


def turned(packed: Packed, turn: Array, d: int) -> Packed:
    """The blocks with tangents in canonical coordinates."""
    data = packed.data.copy()
    if d == 3:
        turn_rows(packed.first, packed.size, packed.at, turn, data)
    return packed._replace(data=data)


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
    special: Mask,
    law: Polygonal | Stretched | Limited | Coupled | None,
    components: tuple[int, ...],
    r: Array,
    y: Array,
) -> None:
    """Visit each contact once. The length of ``components`` is d; rows of couples follow.

    A law of None is known at compile time: code for cones other than Coulomb's is then left out.
    """
    d, width = len(components), r.shape[1]
    x, u = np.empty(width), np.empty(width)
    for visit in range(len(order)):
        i = order[visit]
        u_n, u_1, u_2, r_2 = q[i, 0], q[i, 1], 0.0, 0.0
        if d == 3:
            u_2, r_2 = q[i, 2], r[i, 2]
        for pair in range(first[i], first[i + 1]):
            m, g, o = size[pair], at[pair], column[pair]
            for j in range(m):
                u_n += data[g + j] * y[o + j]
                u_1 += data[g + m + j] * y[o + j]
            if d == 3:
                for j in range(m):
                    u_2 += data[g + 2 * m + j] * y[o + j]
        r_n, r_1, n, t_1, t_2 = r[i, 0], r[i, 1], 0.0, 0.0, 0.0
        is_special = False
        if law is not None:
            is_special = special[i]
            if is_special:
                x[0], x[1], u[0], u[1] = r_n, r_1, u_n, u_1
                if d == 3:
                    x[2], u[2] = r_2, u_2
                for k in range(d, width):
                    x[k], u[k] = r[i, k], q[i, k]
                    for pair in range(first[i], first[i + 1]):
                        m, g, o = size[pair], at[pair] + k * size[pair], column[pair]
                        for j in range(m):
                            u[k] += data[g + j] * y[o + j]
                special_update(law, part, relaxation, coefficients, i, x, u)
                n, t_1 = x[0], x[1]
                if d == 3:
                    t_2 = x[2]
        if not is_special:
            local = coefficients_of(coefficients, i)
            n, t_1, t_2 = round_update(part, relaxation, local, r_n, r_1, r_2, u_n, u_1, u_2)
        d_n, d_1, d_2 = n - r_n, t_1 - r_1, t_2 - r_2
        r[i, 0] = n
        r[i, 1] = t_1
        if d == 3:
            r[i, 2] = t_2
        for pair in range(first[i], first[i + 1]):
            m, g, o = size[pair], at[pair], column[pair]
            for j in range(m):
                y[o + j] += data[g + j] * d_n + data[g + m + j] * d_1
            if d == 3:
                for j in range(m):
                    y[o + j] += data[g + 2 * m + j] * d_2
        if law is not None and is_special:
            for k in range(d, width):
                change = x[k] - r[i, k]
                r[i, k] = x[k]
                for pair in range(first[i], first[i + 1]):
                    m, g, o = size[pair], at[pair] + k * size[pair], column[pair]
                    for j in range(m):
                        y[o + j] += data[g + j] * change
