"""Common parts of all forms of sweeps: their interface, the order of visits, Anderson acceleration.

Acceleration extrapolates from the last few sweeps. Two sweeps are a map r ↦ T(r) whose fixed points are the
solutions. With the last values T_j and their increments F_j = T_j − r_j, the next two sweeps start from

    r = Σ α_j T_j,    α = argmin |Σ α_j F_j|  with  Σ α_j = 1.

Sweeps balance neighbours at once but carry weight across a packing slowly, a layer at a time; the increments
of such slow errors are nearly parallel, and cancel. Velocities depend linearly on impulses, so they are
combined in the same way and not recomputed. The combined impulses may leave the cone; the sweeps that follow
bring them back, and only impulses that follow a sweep are returned. An increment larger than the smallest so
far empties the memory: where contacts change their mode the past misleads, and without this rule one problem
in hundreds never converges.

Reference: Walker, Ni 2011 (Anderson acceleration for fixed-point iterations).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from clapas.compiled import inlined, kernel, subroutine
from clapas.compiled.threads import Worker, chunk, wait
from clapas.solvers.loop import Iteration
from clapas.solvers.nsgs.momentum import Momentum, lead
from clapas.solvers.nsgs.orders import Given, Shuffled
from clapas.typing import Array, Indices


class Visits:
    """The order of visits, sweep after sweep."""

    def __init__(self, n: int, order: Given | Shuffled) -> None:
        # Unsigned: kernels then need no test for negative indices.
        self._order = np.arange(n, dtype=np.uint32)
        self._random = np.random.default_rng(order.seed) if isinstance(order, Shuffled) else None
        if isinstance(order, Shuffled) and order.once:
            np.random.default_rng(order.seed).shuffle(self._order)
            self._random = None

    @property
    def are_alike(self) -> bool:
        """Whether every sweep has the same order."""
        return self._random is None

    def next(self) -> npt.NDArray[np.uint32]:
        """Indices of the contacts in the order of the next sweep."""
        if self._random is not None:
            self._random.shuffle(self._order)
        return self._order


class SweepSettings(NamedTuple):
    """Settings of parallel sweeps.

    Parameters
    ----------
    part : named tuple
        The local solver.
    relaxation : float
        Factor on each change of impulse.
    acceleration : int
        Past sweeps to extrapolate from.
    threads : int or None
        Threads; None for a number that suits the size of the problem.
    tol : float
        Residual to be reached; coarse ones in single precision where the form of sweeps has it.
    is_single : bool, optional
        Whether they start in single precision; by default the problem decides.
    """

    part: Any
    relaxation: float
    acceleration: int
    threads: int | None
    tol: float = 0.0
    is_single: bool | None = None


class Sweeps(Iteration):
    """Sweeps over the contacts of one problem.

    Parameters
    ----------
    form : str
        Data they work on, in words.
    r : array
        The impulses as the sweeps store them.
    y : array
        Velocities under the current impulses; empty where sweeps compute them at each visit.
    """

    form: ClassVar[str]
    r: Array
    y: Array

    @property
    def ran(self) -> str:
        """Description of the method that runs, in words."""
        return f"sweeps on {self.form}"

    @abstractmethod
    def refresh(self) -> None:
        """Recompute ``y`` from ``r``: it drifts by rounding."""

    @abstractmethod
    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps on ``r`` and ``y``."""

    def sweep_ahead(self, momentum: Momentum) -> None:
        """Do one sweep from where the momentum, with one β, leads ``r`` and ``y``."""
        lead(momentum.shares[0], momentum, self.r.reshape(-1), self.y.reshape(-1))
        self.sweep(1)

    def squares(self) -> tuple[float, float]:
        """Squares of the violation and of the velocities impulses cause, from ``y``; nan if not available."""
        return math.nan, math.nan

    def rows(self, bodies: Indices) -> Indices:
        """Rows of ``y`` that belong to some bodies."""
        return bodies

    def advance(self, count: int) -> int:
        """Do ``count`` sweeps, from recomputed velocities."""
        self.refresh()
        self.sweep(count)
        return count


PERIOD = 2  # sweeps between two extrapolations, which cost about as much as one
DEPENDENT = (
    1e-12  # regularisation of the products, relative to their trace: increments this close to parallel
)
PATIENCE = 12  # plain sweeps at first: after a good guess they are enough
FRESH = 64  # most sweeps between two computations of the velocities
PIECE = 512  # entries that stay in the nearest cache
STRIDE = 4096  # entries per partial sum, whatever the number of threads: sums do not depend on it


class Memory(NamedTuple):
    """The last sweeps, for Anderson acceleration. Without rows there is no acceleration.

    Parameters
    ----------
    values, velocities, increments : arrays (depth + 1, …)
        T_j, their velocities, F_j.
    products : array (depth + 1, depth + 1)
        F_i·F_j.
    sums : array (pieces, depth + 1)
        Partial sums of the products.
    best : array (1,)
        Smallest |F|² since the memory was empty.
    tally : array (2,)
        Rows in use, and the row that comes next.
    """

    values: Array
    velocities: Array
    increments: Array
    products: Array
    sums: Array
    best: Array
    tally: Indices


def memory(r: Array, y: Array, depth: int) -> Memory:
    """An empty memory of sweeps on r and y; none at all for depth 0."""
    rows = depth + 1 if depth else 0
    return Memory(
        np.empty((rows, r.size)),
        np.empty((rows, y.size)),
        np.empty((rows, r.size)),
        np.zeros((rows, rows)),
        np.zeros((-(-r.size // STRIDE), rows)),
        np.full(1, np.inf),
        np.zeros(2, dtype=np.int64),
    )


class AcceleratedSweeps(Iteration):
    """Accelerated sweeps, one contact after another; parallel sweeps accelerate in their own kernels."""

    def __init__(self, sweeps: Sweeps, depth: int) -> None:
        self._sweeps, self._r, self._y = sweeps, sweeps.r.reshape(-1), sweeps.y.reshape(-1)
        self._memory, self._sweeps_done = memory(self._r, self._y, depth), 0

    @property
    def ran(self) -> str:
        """Description of the method that runs, in words."""
        return self._sweeps.ran

    def impulses(self) -> Array:
        """The current impulses."""
        return self._sweeps.impulses()

    def advance(self, count: int) -> int:
        """Do ``count`` sweeps, or one less."""
        if self._sweeps_done < PATIENCE or count < PERIOD:
            self._memory.tally[:] = 0  # older values would undo these sweeps
            self._sweeps_done += count
            return self._sweeps.advance(count)
        count = whole(count)
        self._sweeps.refresh()
        for _ in range(count // PERIOD):
            before(self._memory, self._r, self._y)
            self._sweeps.sweep(PERIOD)
            after(self._memory, self._r, self._y)
        return count


def whole(count: int) -> int:
    """Round the number of sweeps down to whole periods of the acceleration, if there is at least one."""
    return count if count < PERIOD else count - count % PERIOD


class ParallelSweeps(Sweeps):
    """Sweeps on several threads, accelerated inside their kernels.

    Velocities are recomputed after a few sweeps, then after four times as many, and so on: impulses change
    most at first. That costs as much as two sweeps.
    """

    _sweeps_done = _fresh_until = 0

    def advance(self, count: int) -> int:
        """Do ``count`` sweeps, or one less to make whole periods of the acceleration."""
        count = self._accelerated(count)
        if self._sweeps_done >= self._fresh_until:
            self.refresh()
            self._fresh_until = self._sweeps_done + min(max(1, 3 * self._sweeps_done), FRESH)
        self.sweep(count)
        self._sweeps_done += count
        return count

    @abstractmethod
    def _accelerated(self, count: int) -> int:
        """Prepare to accelerate the next ``count`` sweeps; return the number to do."""


@kernel
def before(memory: Memory, r: Array, y: Array) -> None:
    """:func:`extrapolate` on one thread."""
    extrapolate(Worker(0, 1, memory.tally), memory, r, y)


@kernel
def after(memory: Memory, r: Array, y: Array) -> None:
    """:func:`remember` on one thread."""
    remember(Worker(0, 1, memory.tally), memory, r, y)


@inlined
def extrapolate(worker: Worker, memory: Memory, r: Array, y: Array) -> None:
    """Replace r and y by the best combination of the last sweeps; flat arrays, one thread's part."""
    filled, slot = memory.tally[0], memory.tally[1]
    weights = best_weights(memory.products, filled if filled >= 2 else 0)
    combine(worker, weights, memory.velocities, y)
    first, last = chunk(worker, len(r))
    for start in range(first, last, PIECE):
        end = min(start + PIECE, last)
        combine_piece(weights, memory.values, start, end, r)
        # The starting point of these sweeps, until `remember` subtracts it.
        put_multiple(1.0, r[start:end], memory.increments[slot, start:end])
    wait(worker)


@subroutine
def best_weights(products: Array, n: int) -> Array:
    """Minimise |Σ α_j F_j| of the first n with Σ α_j = 1: α is parallel to (FᵀF)⁻¹ 1 (Cholesky's method)."""
    scale, total = 0.0, 0.0
    for i in range(n):
        scale += products[i, i]
    factor, weights = np.empty((n, n)), np.empty(n)
    for i in range(n):
        weights[i] = 1.0
        for j in range(i + 1):
            entry = products[i, j] + (DEPENDENT * scale if i == j else 0.0)
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(max(entry, DEPENDENT * scale))
            else:
                factor[i, j] = entry / factor[j, j]
    for i in range(n):
        for k in range(i):
            weights[i] -= factor[i, k] * weights[k]
        weights[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            weights[i] -= factor[k, i] * weights[k]
        weights[i] /= factor[i, i]
    for i in range(n):
        total += weights[i]
    for i in range(n):
        weights[i] /= total
    return weights


@inlined
def combine(worker: Worker, weights: Array, rows: Array, target: Array) -> None:
    """One thread's part of Σ α_j rows_j; without weights the target is unchanged."""
    first, last = chunk(worker, len(target))
    for start in range(first, last, PIECE):
        combine_piece(weights, rows, start, min(start + PIECE, last), target)


@inlined
def combine_piece(weights: Array, rows: Array, start: int, end: int, target: Array) -> None:
    """A piece of Σ α_j rows_j, small enough to stay in the nearest cache."""
    for j in range(len(weights)):
        if j == 0:
            put_multiple(weights[0], rows[0, start:end], target[start:end])
        else:
            add_multiple(weights[j], rows[j, start:end], target[start:end])


# Loops over whole views, which the compiler turns into vector instructions.


@inlined
def put_multiple(factor: float, row: Array, target: Array) -> None:
    """Set target to factor · row."""
    for k in range(len(target)):
        target[k] = factor * row[k]


@inlined
def add_multiple(factor: float, row: Array, target: Array) -> None:
    """Add factor · row to target."""
    for k in range(len(target)):
        target[k] += factor * row[k]


@inlined
def put_difference(row: Array, target: Array) -> None:
    """Set target to row − target."""
    for k in range(len(target)):
        target[k] = row[k] - target[k]


@inlined
def product(a: Array, b: Array) -> float:
    """Return a·b, by four independent partial sums, so that additions do not wait for each other."""
    n, s_0, s_1, s_2, s_3 = len(a) // 4, 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        s_0 += a[4 * k] * b[4 * k]
        s_1 += a[4 * k + 1] * b[4 * k + 1]
        s_2 += a[4 * k + 2] * b[4 * k + 2]
        s_3 += a[4 * k + 3] * b[4 * k + 3]
    for k in range(4 * n, len(a)):
        s_0 += a[k] * b[k]
    return (s_0 + s_1) + (s_2 + s_3)


@inlined
def remember(worker: Worker, memory: Memory, r: Array, y: Array) -> None:
    """Store the result of the last sweeps; flat arrays, one thread's part."""
    slot = memory.tally[1]
    filled = max(memory.tally[0], slot + 1)
    first, last = chunk(worker, len(memory.sums))
    for stride in range(first, last):
        keep_stride(stride, slot, filled, memory, r)
    first, last = chunk(worker, len(y))
    put_multiple(1.0, y[first:last], memory.velocities[slot, first:last])
    wait(worker)
    if worker.rank == 0:
        conclude(slot, filled, memory)
    wait(worker)


@inlined
def keep_stride(stride: int, slot: int, filled: int, memory: Memory, r: Array) -> None:
    """Store one stride of the value and the increment, and its products with all increments."""
    memory.sums[stride] = 0.0
    last = min((stride + 1) * STRIDE, len(r))
    for start in range(stride * STRIDE, last, PIECE):
        end = min(start + PIECE, last)
        increment = memory.increments[slot, start:end]
        put_difference(r[start:end], increment)
        put_multiple(1.0, r[start:end], memory.values[slot, start:end])
        for j in range(filled):
            memory.sums[stride, j] += product(increment, memory.increments[j, start:end])


@inlined
def conclude(slot: int, filled: int, memory: Memory) -> None:
    """Add up the products; empty the memory unless the increment is the smallest so far."""
    rows = len(memory.products)
    for j in range(filled):
        total = 0.0
        for stride in range(len(memory.sums)):
            total += memory.sums[stride, j]
        memory.products[slot, j], memory.products[j, slot] = total, total
    size = memory.products[slot, slot]
    if 0.0 < size <= memory.best[0]:
        memory.tally[0], memory.tally[1] = filled, (slot + 1) % rows
        memory.best[0] = min(memory.best[0], size)
    else:
        memory.tally[0], memory.tally[1], memory.best[0] = 0, 0, np.inf
