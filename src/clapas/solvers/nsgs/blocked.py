"""Gauss-Seidel on body velocities, several contacts at once in vector registers and on threads.

Contacts are put in blocks of LANES contacts that share no body, stored lane by lane, so that each
step of the visit is one loop over contiguous numbers that the compiler turns into vector
instructions. Blocks of one slab are swept in order; slabs that do not touch each other are swept on
different threads (see ``slabs``). The arrangement depends on the data alone, hence the same bits
for any number of threads.

A 2-D contact is stored as a 3-D one whose second tangent is idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from clapas.compiled import inlined, kernel, parallel_kernel, threads
from clapas.problems.blocks import compile_time
from clapas.solvers.local.canonical import N_COEFFICIENTS, turn_tangents
from clapas.solvers.loop import Iteration
from clapas.solvers.nsgs.lanes import LANES, MU, NORMAL, TANGENT_1, TANGENT_2, WORK_SIZE, solve_lanes
from clapas.solvers.nsgs.orders import Coloured
from clapas.solvers.nsgs.relax import relaxed
from clapas.solvers.nsgs.slabs import cut, cuthill_mckee
from clapas.solvers.nsgs.structure import BodyContacts
from clapas.typing import Array, Indices

CONTACTS_PER_SLAB = 1024
WINDOW = 64


@dataclass(frozen=True)
class Blocks:
    """Contacts in blocks of LANES.

    Parameters
    ----------
    block, lane : arrays (n,)
        Where each contact is stored.
    bodies : array (n_blocks, 2, LANES)
        New numbers of the two bodies; each slab has its own copy of the ground, after the bodies.
    number : array (n_bodies,)
        New number of each body.
    bounds : array (n_slabs + 1,)
        First block of each slab.
    """

    block: Indices
    lane: Indices
    bodies: Indices
    number: Indices
    bounds: Indices


class BlockedSweeps(Iteration):
    """Parallel sweeps on body velocities."""

    def __init__(
        self, contacts: BodyContacts, part: Any, relaxation: float, order: Coloured, guess: Array
    ) -> None:
        self._part, self._relaxation, self._threads = part, relaxation, order.threads
        self._turn, self._d, self._size = contacts.turn, contacts.G.shape[2], contacts.G.shape[3]
        blocks = arrange(contacts.bodies, contacts.n_bodies)
        n_blocks, n_slabs = len(blocks.bodies), len(blocks.bounds) - 1
        self._block, self._lane = blocks.block, blocks.lane
        self._bodies, self._bounds = blocks.bodies, blocks.bounds
        self._data = np.zeros((n_blocks, 6 * self._size + 3 + N_COEFFICIENTS, LANES))
        fill_data(
            self._block,
            self._lane,
            contacts.G,
            contacts.w,
            contacts.coefficients,
            contacts.turn,
            *compile_time(contacts.G),
            self._data,
        )
        self._r = np.zeros((n_blocks, 3, LANES))
        self._r[self._block, : self._d, self._lane] = turn_tangents(guess, contacts.turn)
        self._y_free = np.zeros((contacts.n_bodies + n_slabs, self._size))
        self._y_free[blocks.number] = contacts.y_free[:-1]

    def impulses(self) -> Array:
        """The current impulses in the frames and the order of the problem."""
        return turn_tangents(self._r[self._block, : self._d, self._lane], self._turn, back=True)

    def advance(self, count: int) -> None:
        """Do ``count`` sweeps, from body velocities computed afresh (they drift by rounding)."""
        y = self._y_free.copy()
        add_block_impulses(self._data, self._bodies, self._r, y)
        size = (0,) * self._size
        with threads(self._threads, len(self._block)):
            sweep_blocks(
                count, self._bounds, self._data, self._bodies, self._part, self._relaxation, size, self._r, y
            )


def arrange(bodies: Indices, n_bodies: int) -> Blocks:
    """Put the contacts between pairs of bodies (the ground is ``n_bodies``) in slabs and blocks."""
    n = len(bodies)
    both = (bodies < n_bodies).all(axis=1)
    number = cuthill_mckee(n_bodies, bodies[both, 0], bodies[both, 1])
    renumbered = np.append(number, n_bodies)[bodies]
    low = renumbered.min(axis=1)
    high = np.where(renumbered < n_bodies, renumbered, -1).max(axis=1)
    smallest = max(1, -(-CONTACTS_PER_SLAB * n_bodies // max(n, 1)))
    slabs = cut(n_bodies, low, high, smallest)
    slab = np.searchsorted(slabs, low, side="right") - 1
    order = np.lexsort((high, low))
    block, lane, bounds = fill_blocks(order, slab, renumbered, n_bodies, len(slabs) - 1)
    stored = np.empty((bounds[-1], 2, LANES), dtype=np.uint32)
    stored[:] = (n_bodies + np.repeat(np.arange(len(slabs) - 1), np.diff(bounds)))[:, None, None]
    ground = renumbered == n_bodies
    stored[block, :, lane] = np.where(ground, n_bodies + slab[:, None], renumbered)
    return Blocks(block, lane, stored, number, bounds)


@kernel
def fill_blocks(
    order: Indices, slab: Indices, bodies: Indices, n_bodies: int, n_slabs: int
) -> tuple[Indices, Indices, Indices]:
    """Put each contact in the first block of its slab that has a free lane and none of its bodies.

    Contacts arrive slab by slab in cache order. Returns block and lane of each contact and the
    first block of each slab. A window of 64 blocks is open at a time; ``taken[body]`` has a bit for
    each open block the body is in.
    """
    n = len(order)
    block, lane = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    bounds = np.zeros(n_slabs + 1, dtype=np.int64)
    used = np.zeros(n + WINDOW + 1, dtype=np.int64)  # lanes taken in each block
    taken = np.zeros(n_bodies + 1, dtype=np.uint64)
    since = np.zeros(n_bodies + 1, dtype=np.int64)  # the window's start when ``taken`` was written
    full = np.uint64(0)
    one, every = np.uint64(1), ~np.uint64(0)
    current, start, end = 0, 0, 0
    for visit in range(n):
        i = order[visit]
        while current < slab[i]:
            current += 1
            bounds[current] = start = end
            full = np.uint64(0)
        for side in range(2):
            body = bodies[i, side]
            late = start - since[body]
            taken[body] = taken[body] >> np.uint64(late) if late < WINDOW else np.uint64(0)
            since[body] = start
        a, b = bodies[i, 0], bodies[i, 1]
        taken[n_bodies] = np.uint64(0)  # the ground may stand in every lane
        closed = taken[a] | taken[b] | full
        while closed == every:  # no open block fits: leave the oldest as it is
            start, full, closed = start + 1, full >> one, closed >> one
            for side in range(2):
                taken[bodies[i, side]] >>= one
                since[bodies[i, side]] = start
        bit = 0
        while (closed >> np.uint64(bit)) & one:
            bit += 1
        target = start + bit
        block[i], lane[i] = target, used[target]
        used[target] += 1
        end = max(end, target + 1)
        mark = one << np.uint64(bit)
        taken[a] |= mark
        taken[b] |= mark
        if used[target] == LANES:
            full |= mark
        while full & one:
            start, full = start + 1, full >> one
    for rest in range(current + 1, n_slabs + 1):
        bounds[rest] = end
    return block, lane, bounds


@kernel
def fill_data(
    block: Indices,
    lane: Indices,
    G: Array,
    w: Array,
    coefficients: Array,
    turn: Array,
    components: tuple[int, ...],
    size: tuple[int, ...],
    data: Array,
) -> None:
    """Rows of a block: G of body a (3·size), G of body b, w (3), coefficients (6); idle lanes stay open.

    The tangents are turned to canonical coordinates on the way.
    """
    d, m = len(components), len(size)
    for i in range(len(G)):
        target, l = data[block[i]], lane[i]
        cosine, sine = turn[i, 0], turn[i, 1]
        for side in range(2):
            source = G[i, side]
            for j in range(m):
                target[3 * side * m + j, l] = source[0, j]
                if d == 2:
                    target[(3 * side + 1) * m + j, l] = source[1, j]
                else:
                    target[(3 * side + 1) * m + j, l] = cosine * source[1, j] + sine * source[2, j]
                    target[(3 * side + 2) * m + j, l] = cosine * source[2, j] - sine * source[1, j]
        target[6 * m, l] = w[i, 0]
        if d == 2:
            target[6 * m + 1, l] = w[i, 1]
        else:
            target[6 * m + 1, l] = cosine * w[i, 1] + sine * w[i, 2]
            target[6 * m + 2, l] = cosine * w[i, 2] - sine * w[i, 1]
        for k in range(N_COEFFICIENTS):
            target[6 * m + 3 + k, l] = coefficients[i, k]


@kernel
def add_block_impulses(data: Array, bodies: Indices, r: Array, y: Array) -> None:
    """Add Gᵀ r to y."""
    size = y.shape[1]
    for block in range(len(data)):
        for side in range(2):
            for l in range(LANES):
                body = bodies[block, side, l]
                for k in range(3):
                    for j in range(size):
                        y[body, j] += data[block, (3 * side + k) * size + j, l] * r[block, k, l]


@parallel_kernel
def sweep_blocks(
    count: int,
    bounds: Indices,
    data: Array,
    bodies: Indices,
    part: Any,
    relaxation: float,
    size: tuple[int, ...],
    r: Array,
    y: Array,
) -> None:
    """``count`` sweeps, even slabs side by side, then odd ones. The length of ``size`` is the body's."""
    n_slabs = len(bounds) - 1
    for _ in range(count):
        for parity in range(2):
            for half in numba.prange((n_slabs + 1 - parity) // 2):
                slab = 2 * half + parity
                work = np.zeros((2 * len(size) + 6) * LANES + WORK_SIZE)
                for block in range(bounds[slab], bounds[slab + 1]):
                    visit_block(
                        data[block].ravel(), bodies[block], part, relaxation, size, r[block].ravel(), y, work
                    )


@inlined
def visit_block(
    data: Array,
    bodies: Indices,
    part: Any,
    relaxation: float,
    size: tuple[int, ...],
    r: Array,
    y: Array,
    work: Array,
) -> None:
    """Visit the contacts of one block at the same time. ``data``, ``r``, ``work`` are flat rows of lanes."""
    m = len(size)
    of_a, of_b = 0, m * LANES  # rows of ``work``: velocities of the bodies, u, new impulses
    a, b = bodies[0], bodies[1]
    for l in range(LANES):
        for j in range(m):
            work[of_a + j * LANES + l] = y[a[l], j]
            work[of_b + j * LANES + l] = y[b[l], j]
    u, new = work[2 * m * LANES :], work[(2 * m + 3) * LANES :]
    for k in range(3):
        for l in range(LANES):
            velocity = data[(6 * m + k) * LANES + l]
            for j in range(m):
                velocity += data[(k * m + j) * LANES + l] * work[of_a + j * LANES + l]
                velocity += data[((3 + k) * m + j) * LANES + l] * work[of_b + j * LANES + l]
            u[k * LANES + l] = velocity
    coefficients = data[(6 * m + 3) * LANES :]
    solve_lanes(part, coefficients, u, r, new, work[(2 * m + 6) * LANES :])
    if relaxation != 1.0:
        relax_lanes(relaxation, coefficients, r, new)
    for i in range(3 * LANES):
        u[i] = new[i] - r[i]  # u now holds the change of impulse
        r[i] = new[i]
    for j in range(m):
        for l in range(LANES):
            d_n, d_1, d_2 = u[l], u[LANES + l], u[2 * LANES + l]
            row = j * LANES + l
            step = m * LANES
            work[of_a + row] += data[row] * d_n + data[step + row] * d_1 + data[2 * step + row] * d_2
            row_b = row + 3 * step
            work[of_b + row] += data[row_b] * d_n + data[step + row_b] * d_1 + data[2 * step + row_b] * d_2
    for l in range(LANES):
        for j in range(m):
            y[a[l], j] = work[of_a + j * LANES + l]
            y[b[l], j] = work[of_b + j * LANES + l]


@inlined
def relax_lanes(relaxation: float, coefficients: Array, r: Array, new: Array) -> None:
    """Over-relax the new impulses of a block."""
    for l in range(LANES):
        i, j, k = NORMAL + l, TANGENT_1 + l, TANGENT_2 + l
        new[i], new[j], new[k] = relaxed(
            relaxation, coefficients[MU + l], r[i], r[j], r[k], new[i], new[j], new[k]
        )
