"""Gauss-Seidel on body velocities, eight contacts at once in vector registers and on threads.

Contacts are put in blocks of eight that share no body, stored lane by lane, so that each step of
the visit is one vector instruction (see ``clapas.compiled.simd``). Blocks of one slab are swept in order;
slabs that do not touch each other are swept on different threads (see ``slabs``). The layout
depends on the data alone, hence the same bits for any number of threads.

A 2-D contact is stored as a 3-D one whose second tangent is idle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.compiled.sharing import launch
from clapas.compiled.simd import (
    WIDTH,
    aligned_empty,
    aligned_zeros,
    gather_rows,
    load,
    plus_product,
    plus_transposed_product,
    scatter_rows,
    store,
)
from clapas.compiled.threads import Worker, chunk, thread_count, wait
from clapas.problems.blocks import compile_time
from clapas.solvers.local.canonical import N_COEFFICIENTS
from clapas.solvers.nsgs.lanes import Lanes, Triple, relax_lanes, solve_lanes
from clapas.solvers.nsgs.layout import BlockLayout
from clapas.solvers.nsgs.structure import BodyContacts
from clapas.solvers.nsgs.sweeps import (
    PATIENCE,
    PERIOD,
    Memory,
    ParallelSweeps,
    SweepSettings,
    extrapolate,
    memory,
    remember,
    whole,
)
from clapas.typing import Array, Indices


class BlockedSweeps(ParallelSweeps):
    """Parallel sweeps on body velocities; ``number`` is the row of each body in ``y``."""

    form = "bodies of one size, by vectors"

    def __init__(
        self, contacts: BodyContacts, settings: SweepSettings, guess: Array, layout: BlockLayout | None = None
    ) -> None:
        self._turn, self._d, self._size = contacts.turn, contacts.G.shape[2], contacts.G.shape[3]
        blocks = (layout or BlockLayout())(contacts.bodies, contacts.n_bodies)
        n_blocks, n_slabs = len(blocks.bodies), len(blocks.bounds) - 1
        self._stored, self.number = blocks.contacts, blocks.number
        self._bodies, self._bounds = blocks.bodies, blocks.bounds
        self._data = aligned_empty((n_blocks, 6 * self._size + 3 + N_COEFFICIENTS, WIDTH))
        arguments = contacts.G, contacts.w, contacts.coefficients, contacts.turn, *compile_time(contacts.G)
        n_threads = thread_count(settings.threads, len(self._turn), n_blocks)
        launch(n_threads, fill_data, self._stored, *arguments, self._data)
        self.r = aligned_zeros((n_blocks, 3, WIDTH))
        write_impulses(self._stored, contacts.turn, guess, self.r)
        # Rows of whole cache lines: a body is read and written by vectors.
        self._y_free = aligned_zeros((contacts.n_bodies + n_slabs, -(-self._size // WIDTH) * WIDTH))
        self._y_free[blocks.number, : self._size] = contacts.y_free[:-1]
        self.y = aligned_empty(self._y_free.shape)
        self._settings, self._memory = settings, memory(self.r, self.y, 0)

    def impulses(self) -> Array:
        """The current impulses in the frames and the order of the problem."""
        r = np.empty((len(self._turn), self._d))
        read_impulses(self._stored, self._turn, self.r, r)
        return r

    def refresh(self) -> None:
        """Body velocities under the current impulses."""
        self.y[:] = self._y_free
        data, bodies, r = self._data.reshape(-1), self._bodies.reshape(-1), self.r.reshape(-1)
        add_block_impulses(len(self._data), data, bodies, (0,) * self._size, r, self.y)

    def rows(self, bodies: Indices) -> Indices:
        """Rows of ``y`` that belong to some bodies."""
        return np.asarray(self.number[bodies])

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps."""
        data, bodies, r = self._data.reshape(-1), self._bodies.reshape(-1), self.r.reshape(-1)
        size = (0,) * self._size
        settings = self._settings.part, self._settings.relaxation, size, self._memory
        arguments = self._bounds, data, bodies, *settings, r, self.y
        n_threads = thread_count(self._settings.threads, len(self._turn), len(self._bounds) // 2)
        launch(n_threads, sweep_blocks, count, *arguments)

    def _accelerated(self, count: int) -> int:
        """Extrapolate once the first sweeps have not been enough."""
        if not self._settings.acceleration or self._sweeps_done < PATIENCE or count < PERIOD:
            self._memory = memory(self.r, self.y, 0)  # older values would undo these sweeps
            return count
        if not len(self._memory.values):
            self._memory = memory(self.r, self.y, self._settings.acceleration)
        return whole(count)


@kernel
def fill_data(
    worker: Worker,
    stored: Indices,
    G: Array,
    w: Array,
    coefficients: Array,
    turn: Array,
    components: tuple[int, ...],
    size: tuple[int, ...],
    data: Array,
) -> None:
    """One thread's part of the rows of the blocks: G of body a (3·size), of body b, w (3), coefficients (6).

    The tangents are turned to canonical coordinates on the way. Idle lanes stay open: their rows are zero,
    and their coefficients one, so that they divide by one.
    """
    d, m = len(components), len(size)
    first, last = chunk(worker, len(data))
    for place in range(first * WIDTH, last * WIDTH):
        i, block, l = stored[place], place // WIDTH, place % WIDTH
        if i < 0:
            for k in range(6 * m + 3 + N_COEFFICIENTS):
                data[block, k, l] = 0.0 if k < 6 * m + 3 else 1.0
            continue
        cosine, sine = turn[i, 0], turn[i, 1]
        for side in range(2):
            for j in range(m):
                data[block, 3 * side * m + j, l] = G[i, side, 0, j]
                if d == 2:
                    data[block, (3 * side + 1) * m + j, l] = G[i, side, 1, j]
                    data[block, (3 * side + 2) * m + j, l] = 0.0
                else:
                    t_1, t_2 = G[i, side, 1, j], G[i, side, 2, j]
                    data[block, (3 * side + 1) * m + j, l] = cosine * t_1 + sine * t_2
                    data[block, (3 * side + 2) * m + j, l] = cosine * t_2 - sine * t_1
        data[block, 6 * m, l] = w[i, 0]
        if d == 2:
            data[block, 6 * m + 1, l], data[block, 6 * m + 2, l] = w[i, 1], 0.0
        else:
            data[block, 6 * m + 1, l] = cosine * w[i, 1] + sine * w[i, 2]
            data[block, 6 * m + 2, l] = cosine * w[i, 2] - sine * w[i, 1]
        for k in range(N_COEFFICIENTS):
            data[block, 6 * m + 3 + k, l] = coefficients[i, k]


@kernel
def write_impulses(stored: Indices, turn: Array, impulses: Array, r: Array) -> None:
    """Put the impulses (n, d) in their lanes, tangents turned to canonical coordinates."""
    for place in range(len(stored)):
        i, block, l = stored[place], place // WIDTH, place % WIDTH
        if i < 0:
            continue
        r[block, 0, l] = impulses[i, 0]
        if impulses.shape[1] == 2:
            r[block, 1, l] = impulses[i, 1]
        else:
            r[block, 1, l] = turn[i, 0] * impulses[i, 1] + turn[i, 1] * impulses[i, 2]
            r[block, 2, l] = turn[i, 0] * impulses[i, 2] - turn[i, 1] * impulses[i, 1]


@kernel
def read_impulses(stored: Indices, turn: Array, r: Array, impulses: Array) -> None:
    """Take the impulses (n, d) from their lanes, tangents turned back."""
    for place in range(len(stored)):
        i, block, l = stored[place], place // WIDTH, place % WIDTH
        if i < 0:
            continue
        impulses[i, 0] = r[block, 0, l]
        if impulses.shape[1] == 2:
            impulses[i, 1] = r[block, 1, l]
        else:
            impulses[i, 1] = turn[i, 0] * r[block, 1, l] - turn[i, 1] * r[block, 2, l]
            impulses[i, 2] = turn[i, 0] * r[block, 2, l] + turn[i, 1] * r[block, 1, l]


@inlined
def impulse_of(r: Array, block: int) -> Triple:
    """The impulses of a block."""
    at = 3 * block * WIDTH
    return load(r, at), load(r, at + WIDTH), load(r, at + 2 * WIDTH)


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
    worker: Worker,
    count: int,
    bounds: Indices,
    data: Array,
    bodies: Indices,
    part: Any,
    relaxation: float,
    size: tuple[int, ...],
    memory: Memory,
    r: Array,
    y: Array,
) -> None:
    """One thread's part of ``count`` sweeps: even slabs, then odd ones. ``len(size)`` is a body's size."""
    n_slabs, rows = len(bounds) - 1, y.reshape(-1)
    accelerates = len(memory.values) > 0
    for turn in range(count):
        if accelerates and turn % PERIOD == 0:
            extrapolate(worker, memory, r, rows)
        for parity in range(2):
            first, last = chunk(worker, (n_slabs + 1 - parity) // 2)
            for half in range(first, last):
                slab = 2 * half + parity
                for block in range(bounds[slab], bounds[slab + 1]):
                    visit_block(block, data, bodies, part, relaxation, size, r, y)
            wait(worker)
        if accelerates and turn % PERIOD == PERIOD - 1:
            remember(worker, memory, r, rows)


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
