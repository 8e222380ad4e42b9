"""Gauss-Seidel on body velocities, eight contacts at once in vector registers and on threads.

Contacts are put in blocks of eight that share no body, stored lane by lane, so that each step of
the visit is one vector instruction (see ``clapas.simd``). Blocks of one slab are swept in order;
slabs that do not touch each other are swept on different threads (see ``slabs``). The arrangement
depends on the data alone, hence the same bits for any number of threads.

A 2-D contact is stored as a 3-D one whose second tangent is idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.problems.blocks import compile_time
from clapas.simd import (
    WIDTH,
    aligned_zeros,
    gather_rows,
    load,
    plus_product,
    plus_transposed_product,
    scatter_rows,
    store,
)
from clapas.solvers.local.canonical import N_COEFFICIENTS, turn_tangents
from clapas.solvers.loop import Iteration
from clapas.solvers.nsgs.lanes import Lanes, Triple, relax_lanes, solve_lanes
from clapas.solvers.nsgs.orders import Coloured
from clapas.solvers.nsgs.slabs import cut, cuthill_mckee
from clapas.solvers.nsgs.structure import BodyContacts
from clapas.team import Member, share, team_size, together, wait
from clapas.typing import Array, Indices

CONTACTS_PER_SLAB = 1024
WINDOW = 64


@dataclass(frozen=True)
class Blocks:
    """Contacts in blocks of WIDTH.

    Parameters
    ----------
    block, lane : arrays (n,)
        Where each contact is stored.
    bodies : array (n_blocks, 2, WIDTH)
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
        self._data = aligned_zeros((n_blocks, 6 * self._size + 3 + N_COEFFICIENTS, WIDTH))
        self._data[:, 6 * self._size + 3 :] = 1.0  # so that idle lanes divide by one
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
        self._r = aligned_zeros((n_blocks, 3, WIDTH))
        self._r[self._block, : self._d, self._lane] = turn_tangents(guess, contacts.turn)
        # Rows of whole cache lines: a body is read and written by vectors.
        self._y_free = aligned_zeros((contacts.n_bodies + n_slabs, -(-self._size // WIDTH) * WIDTH))
        self._y_free[blocks.number, : self._size] = contacts.y_free[:-1]

    def impulses(self) -> Array:
        """The current impulses in the frames and the order of the problem."""
        return turn_tangents(self._r[self._block, : self._d, self._lane], self._turn, back=True)

    def advance(self, count: int) -> None:
        """Do ``count`` sweeps, from body velocities computed afresh (they drift by rounding)."""
        y = aligned_zeros(self._y_free.shape)
        y[:] = self._y_free
        size = (0,) * self._size
        data, bodies, r = self._data.reshape(-1), self._bodies.reshape(-1), self._r.reshape(-1)
        add_block_impulses(len(self._data), data, bodies, size, r, y)
        arguments = self._bounds, data, bodies, self._part, self._relaxation, size, r, y
        n_threads = team_size(self._threads, len(self._block), len(self._bounds) // 2)
        together(n_threads, lambda member: sweep_blocks(member, count, *arguments))


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
    stored = np.empty((bounds[-1], 2, WIDTH), dtype=np.uint32)
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
        if used[target] == WIDTH:
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
def add_block_impulses(
    n_blocks: int, data: Array, bodies: Indices, size: tuple[int, ...], r: Array, y: Array
) -> None:
    """Add Gᵀ r to y."""
    m = len(size)
    for block in range(n_blocks):
        rows = block * (6 * m + 3 + N_COEFFICIENTS) * WIDTH
        impulse = impulse_of(r, block)
        for side in range(2):
            at = (2 * block + side) * WIDTH
            before = gather_rows(y, bodies, at, size)
            after = plus_transposed_product(before, data, rows + 3 * side * m * WIDTH, impulse)
            scatter_rows(y, bodies, at, after)


@kernel
def sweep_blocks(
    member: Member,
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
    """One thread's part of ``count`` sweeps: even slabs, then odd ones. ``size`` is as long as a body."""
    n_slabs = len(bounds) - 1
    for _ in range(count):
        for parity in range(2):
            first, last = share(member, (n_slabs + 1 - parity) // 2)
            for half in range(first, last):
                slab = 2 * half + parity
                for block in range(bounds[slab], bounds[slab + 1]):
                    visit_block(block, data, bodies, part, relaxation, size, r, y)
            wait(member)


@inlined
def visit_block(
    block: int,
    data: Array,
    bodies: Indices,
    part: Any,
    relaxation: float,
    size: tuple[int, ...],
    r: Array,
    y: Array,
) -> None:
    """Visit the contacts of one block at the same time. All arrays but y are flat."""
    m = len(size)
    rows = block * (6 * m + 3 + N_COEFFICIENTS) * WIDTH
    a, b = 2 * block * WIDTH, (2 * block + 1) * WIDTH
    y_a, y_b = gather_rows(y, bodies, a, size), gather_rows(y, bodies, b, size)
    u_n = velocity(data, rows, 0, y_a, y_b)
    u_1 = velocity(data, rows, 1, y_a, y_b)
    u_2 = velocity(data, rows, 2, y_a, y_b)
    old, k = impulse_of(r, block), coefficients_of(data, rows + (6 * m + 3) * WIDTH)
    new = solve_lanes(part, old, (u_n, u_1, u_2), k)
    if relaxation != 1.0:
        new = relax_lanes(relaxation, k[5], old, new)
    at = 3 * block * WIDTH
    store(r, at, new[0])
    store(r, at + WIDTH, new[1])
    store(r, at + 2 * WIDTH, new[2])
    change = new[0] - old[0], new[1] - old[1], new[2] - old[2]
    scatter_rows(y, bodies, a, plus_transposed_product(y_a, data, rows, change))
    scatter_rows(y, bodies, b, plus_transposed_product(y_b, data, rows + 3 * m * WIDTH, change))


@inlined
def velocity(data: Array, rows: int, component: int, y_a: Any, y_b: Any) -> Lanes:
    """One component of u = G_a y_a + G_b y_b + w of the block whose data start at ``rows``."""
    m = len(y_a)
    imposed = load(data, rows + (6 * m + component) * WIDTH)
    with_a = plus_product(imposed, data, rows + component * m * WIDTH, y_a)
    return plus_product(with_a, data, rows + (3 + component) * m * WIDTH, y_b)


@inlined
def impulse_of(r: Array, block: int) -> Triple:
    """The impulses of a block."""
    at = 3 * block * WIDTH
    return load(r, at), load(r, at + WIDTH), load(r, at + 2 * WIDTH)


@inlined
def coefficients_of(data: Array, at: int) -> tuple[Lanes, Lanes, Lanes, Lanes, Lanes, Lanes]:
    """The coefficients of a block, which start at ``at``."""
    return (
        load(data, at),
        load(data, at + WIDTH),
        load(data, at + 2 * WIDTH),
        load(data, at + 3 * WIDTH),
        load(data, at + 4 * WIDTH),
        load(data, at + 5 * WIDTH),
    )
