"""Gauss-Seidel on the Delassus matrix W stored in blocks, for every cone."""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.compiled.sharing import launch
from clapas.compiled.threads import Worker, chunk, thread_count, wait
from clapas.problems.contact import ContactProblem
from clapas.solvers.local.canonical import coefficients_of
from clapas.solvers.nsgs.orders import Coloured, Order
from clapas.solvers.nsgs.slabs import cut, cuthill_mckee
from clapas.solvers.nsgs.sweeps import Sweeps, Visits
from clapas.solvers.nsgs.updates import (
    Coupled,
    Limited,
    Polygonal,
    Stretched,
    Updates,
    round_update,
    sliding_rows,
    special_update,
    turned_sliding,
    updates,
)
from clapas.typing import Array, Indices, Mask

SMALLEST_SLAB = 256


class DelassusSweeps(Sweeps):
    """Sweeps on the blocks of W: contact i reads its row of blocks and the impulses they multiply."""

    form = "blocks of W"

    def __init__(
        self, problem: ContactProblem, part: Any, relaxation: float, order: Order, guess: Array
    ) -> None:
        self._order = order
        W, n = problem.W, problem.n_contacts
        self._d = d = sliding_rows(problem)
        cones, self._turn = updates(problem, part, relaxation)
        row = np.repeat(np.arange(n), np.diff(W.indptr))
        blocks = turned_sliding(W.data, self._turn[row], d)
        blocks = turned_sliding(blocks.transpose(0, 2, 1), self._turn[W.indices], d).transpose(0, 2, 1)
        r, q = turned_sliding(guess, self._turn, d), turned_sliding(problem.q, self._turn, d)
        self._place: Indices = np.arange(n)
        self._slabs: Indices | None = None
        if isinstance(order, Coloured):
            self._place = cuthill_mckee(n, row, W.indices)
            low, high = self._place[row], self._place[W.indices]
            forward = low <= high
            self._slabs = cut(n, low[forward], high[forward], SMALLEST_SLAB)
        else:
            self._visits = Visits(n, order)
        self._store(W, blocks, cones, r, q)
        self._rows = (0,) * d, (0,) * (problem.d - d)

    def _store(self, W: Any, blocks: Array, cones: Updates, r: Array, q: Array) -> None:
        """Store the data in the order of the visits."""
        order = np.argsort(self._place)
        lengths = np.diff(W.indptr)[order]
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        taken = np.repeat(W.indptr[:-1][order] - indptr[:-1], lengths) + np.arange(len(blocks))
        self._indptr = indptr.astype(np.uint64)
        self._indices = self._place[W.indices[taken]].astype(np.uint32)
        self._blocks = np.ascontiguousarray(blocks[taken]).reshape(len(blocks), -1)
        self._cones = cones.take(order)
        self.r, self._q = np.ascontiguousarray(r[order]), np.ascontiguousarray(q[order])
        self.y = np.empty(0)  # each visit computes its own

    def impulses(self) -> Array:
        """The current impulses in the frames and the order of the problem."""
        return turned_sliding(self.r[self._place], self._turn, self._d, back=True)

    def refresh(self) -> None:
        """Nothing to compute ahead."""

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps."""
        matrix = self._indptr, self._indices, self._blocks, self._q, *self._cones, *self._rows
        if self._slabs is None:
            for _ in range(count):
                sweep_delassus(self._visits.next(), *matrix, self.r)
            return
        assert isinstance(self._order, Coloured)
        arguments = self._slabs, *matrix, self.r
        size = thread_count(self._order.threads, len(self.r), len(self._slabs) // 2)
        launch(size, sweep_delassus_slabs, count, *arguments)


@kernel
def sweep_delassus(
    order: Indices,
    indptr: Indices,
    indices: Indices,
    blocks: Array,
    q: Array,
    coefficients: Array,
    part: Any,
    relaxation: float,
    special: Mask,
    law: Polygonal | Stretched | Limited | Coupled | None,
    components: tuple[int, ...],
    couple: tuple[int, ...],
    r: Array,
) -> None:
    """Visit each contact once. The length of ``components`` is d, that of ``couple`` the rows of a couple."""
    x, u = np.empty(r.shape[1]), np.empty(r.shape[1])
    for visit in range(len(order)):
        visit_contact(
            order[visit],
            indptr,
            indices,
            blocks,
            q,
            coefficients,
            part,
            relaxation,
            special,
            law,
            components,
            couple,
            x,
            u,
            r,
        )


@kernel
def sweep_delassus_slabs(
    worker: Worker,
    count: int,
    bounds: Indices,
    indptr: Indices,
    indices: Indices,
    blocks: Array,
    q: Array,
    coefficients: Array,
    part: Any,
    relaxation: float,
    special: Mask,
    law: Polygonal | Stretched | Limited | Coupled | None,
    components: tuple[int, ...],
    couple: tuple[int, ...],
    r: Array,
) -> None:
    """One thread's part of ``count`` sweeps, even slabs, then odd ones."""
    x, u = np.empty(r.shape[1]), np.empty(r.shape[1])
    n_slabs = len(bounds) - 1
    for _ in range(count):
        for parity in range(2):
            first, last = chunk(worker, (n_slabs + 1 - parity) // 2)
            for half in range(first, last):
                slab = 2 * half + parity
                for i in range(bounds[slab], bounds[slab + 1]):
                    visit_contact(
                        np.uint32(i),
                        indptr,
                        indices,
                        blocks,
                        q,
                        coefficients,
                        part,
                        relaxation,
                        special,
                        law,
                        components,
                        couple,
                        x,
                        u,
                        r,
                    )
            wait(worker)


@inlined
def visit_contact(
    i: np.uint32,
    indptr: Indices,
    indices: Indices,
    blocks: Array,
    q: Array,
    coefficients: Array,
    part: Any,
    relaxation: float,
    special: Mask,
    law: Polygonal | Stretched | Limited | Coupled | None,
    components: tuple[int, ...],
    couple: tuple[int, ...],
    x: Array,
    u: Array,
    r: Array,
) -> None:
    """Visit contact i.

    Unsigned indices avoid a test for negative ones, scalar indexing avoids reference counts of views.
    """
    d, width = len(components), len(components) + len(couple)
    u_n, u_1, u_2, r_2 = q[i, 0], q[i, 1], 0.0, 0.0
    if d == 3:
        u_2 = q[i, 2]
        r_2 = r[i, 2]
    for p in range(indptr[i], indptr[i + np.uint32(1)]):
        j = indices[p]
        if d == 3:
            x_n, x_1, x_2, two = r[j, 0], r[j, 1], r[j, 2], 2 * width
            u_n += blocks[p, 0] * x_n + blocks[p, 1] * x_1 + blocks[p, 2] * x_2
            u_1 += blocks[p, width] * x_n + blocks[p, width + 1] * x_1 + blocks[p, width + 2] * x_2
            u_2 += blocks[p, two] * x_n + blocks[p, two + 1] * x_1 + blocks[p, two + 2] * x_2
        else:
            u_n += blocks[p, 0] * r[j, 0] + blocks[p, 1] * r[j, 1]
            u_1 += blocks[p, width] * r[j, 0] + blocks[p, width + 1] * r[j, 1]
        for k in range(d, width):
            u_n += blocks[p, k] * r[j, k]
            u_1 += blocks[p, width + k] * r[j, k]
            if d == 3:
                u_2 += blocks[p, 2 * width + k] * r[j, k]
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
                for p in range(indptr[i], indptr[i + np.uint32(1)]):
                    for l in range(width):
                        u[k] += blocks[p, k * width + l] * r[indices[p], l]
            special_update(law, part, relaxation, coefficients, i, x, u)
            n, t_1 = x[0], x[1]
            if d == 3:
                t_2 = x[2]
            for k in range(d, width):
                r[i, k] = x[k]
    if not is_special:
        local = coefficients_of(coefficients, i)
        n, t_1, t_2 = round_update(part, relaxation, local, r_n, r_1, r_2, u_n, u_1, u_2)
    r[i, 0] = n
    r[i, 1] = t_1
    if d == 3:
        r[i, 2] = t_2
