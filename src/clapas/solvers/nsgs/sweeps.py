"""What all forms of sweeps share: their contract, the order of visits, Anderson acceleration.

Acceleration extrapolates from the last few sweeps. Two sweeps are a map r ↦ T(r) whose fixed points are the
solutions. With the last values T_j and their gaps F_j = T_j − r_j, the next two sweeps start from

    r = Σ α_j T_j,    α = argmin |Σ α_j F_j|  with  Σ α_j = 1.

Sweeps even out neighbours at once but carry weight across a packing slowly, a layer at a time; the gaps of
such slow errors are nearly parallel, and cancel. Velocities depend on impulses linearly, so they are combined
alike and never computed anew. The impulses combined may leave the cone; the sweeps that follow bring them
back, and only what follows a sweep is shown. A gap larger than the smallest so far empties the memory: where
contacts change their mode the past misleads, and without this rule one problem in hundreds never ends.

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
from clapas.solvers.nsgs.orders import Given, Shuffled
from clapas.typing import Array, Indices


class Visits:
    """Hands out the order of the next sweep."""

    def __init__(self, n: int, order: Given | Shuffled) -> None:
        # Unsigned indices spare the kernels a test for negative ones.
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
    """How parallel sweeps are done.

    Parameters
    ----------
    part : named tuple
        The local solver.
    relaxation : float
        Factor on each change of impulse.
    acceleration : int
        Past sweeps to extrapolate from.
    threads : int or None
        Threads; None for as many as the problem is worth.
    tol : float
        Residual to be reached: coarse ones are reached in single precision where sweeps have it.
    is_single : bool, optional
        Whether they begin in single precision; decided by the problem if not said.
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
        What they work on, in words.
    r : array
        The impulses as the sweeps store them.
    y : array
        What the impulses have made of the velocities; empty where sweeps compute it at each visit.
    """

    form: ClassVar[str]
    r: Array
    y: Array

    @property
    def ran(self) -> str:
        """What runs, in words."""
        return f"sweeps on {self.form}"

    @abstractmethod
    def refresh(self) -> None:
        """Compute ``y`` from ``r`` afresh: it drifts by rounding."""

    @abstractmethod
    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps on ``r`` and ``y``."""

    def squares(self) -> tuple[float, float]:
        """Squares of the violation of the law and of what impulses change, from ``y``; nan if not quick."""
        return math.nan, math.nan

    def rows(self, bodies: Indices) -> Indices:
        """Rows of ``y`` that belong to some bodies."""
        return bodies

    def advance(self, count: int) -> int:
        """Do ``count`` sweeps, from velocities computed afresh."""
        self.refresh()
        self.sweep(count)
        return count


PERIOD = 2  # sweeps between two extrapolations, which cost about as much as one
DEPENDENT = 1e-12  # gaps this close to parallel are not told apart, relative to their squares
PATIENCE = 12  # plain sweeps at first: after a good guess they are enough
FRESH = 64  # sweeps that carry velocities along, at most
PIECE = 512
STRIDE = 4096  # numbers added up before others, whatever the number of threads


class Memory(NamedTuple):
    """The last sweeps. Without rows, there is no acceleration.

    Parameters
    ----------
    values, velocities, gaps : arrays (depth + 1, …)
        T_j, the velocities that belong to them, F_j.
    products : array (depth + 1, depth + 1)
        F_i·F_j.
    sums : array (pieces, depth + 1)
        Parts of the products under way.
    best : array (1,)
        Smallest |F|² since the memory was empty.
    tally : array (2,)
        Rows in use, and the row that comes next.
    """

    values: Array
    velocities: Array
    gaps: Array
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
    """Sweeps one contact after another, accelerated; the parallel ones do it in their own kernels."""

    def __init__(self, sweeps: Sweeps, depth: int) -> None:
        self._sweeps, self._r, self._y = sweeps, sweeps.r.reshape(-1), sweeps.y.reshape(-1)
        self._memory, self._done = memory(self._r, self._y, depth), 0

    @property
    def ran(self) -> str:
        """What runs, in words."""
        return self._sweeps.ran

    def impulses(self) -> Array:
        """The current impulses."""
        return self._sweeps.impulses()

    def advance(self, count: int) -> int:
        """Do ``count`` sweeps, or one less."""
        if self._done < PATIENCE or count < PERIOD:
            self._memory.tally[:] = 0  # it would lead back to before these
            self._done += count
            return self._sweeps.advance(count)
        count = whole(count)
        self._sweeps.refresh()
        for _ in range(count // PERIOD):
            before(self._memory, self._r, self._y)
            self._sweeps.sweep(PERIOD)
            after(self._memory, self._r, self._y)
        return count


def whole(count: int) -> int:
    """As many sweeps as make whole steps of the acceleration, if at least one step."""
    return count if count < PERIOD else count - count % PERIOD


class ParallelSweeps(Sweeps):
    """Sweeps on several threads, whose kernels accelerate on their way.

    Velocities are computed afresh after a few sweeps, then four times as many, and so on: impulses change
    most at first. That costs as much as two sweeps.
    """

    _done = _fresh_until = 0

    def advance(self, count: int) -> int:
        """Do ``count`` sweeps, or one less where whole steps of the acceleration ask for it."""
        count = self._accelerated(count)
        if self._done >= self._fresh_until:
            self.refresh()
            self._fresh_until = self._done + min(max(1, 3 * self._done), FRESH)
        self.sweep(count)
        self._done += count
        return count

    @abstractmethod
    def _accelerated(self, count: int) -> int:
        """Get ready to accelerate the next ``count`` sweeps; how many they are to be."""


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
    """Start from the best combination of what is remembered; flat arrays, one thread's part."""
    filled, slot = memory.tally[0], memory.tally[1]
    weights = best_weights(memory.products, filled if filled >= 2 else 0)
    combine(worker, weights, memory.velocities, y)
    first, last = chunk(worker, len(r))
    for start in range(first, last, PIECE):
        end = min(start + PIECE, last)
        combine_piece(weights, memory.values, start, end, r)
        put_multiple(1.0, r[start:end], memory.gaps[slot, start:end])  # where these sweeps start, for now
    wait(worker)


@subroutine
def best_weights(products: Array, n: int) -> Array:
    """Minimise |Σ α_j F_j| of the first n with Σ α_j = 1: α is along (FᵀF)⁻¹ 1, by Cholesky's factor."""
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
    """One thread's part of Σ α_j rows_j; without weights the target stays as it is."""
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
    """Return a·b; four sums at a time, which no addition waits for."""
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
    """Keep what the sweeps just done have made; flat arrays, one thread's part."""
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
    """One stride of values and gaps, and of the products of the gap with all others."""
    memory.sums[stride] = 0.0
    last = min((stride + 1) * STRIDE, len(r))
    for start in range(stride * STRIDE, last, PIECE):
        end = min(start + PIECE, last)
        own = memory.gaps[slot, start:end]
        put_difference(r[start:end], own)
        put_multiple(1.0, r[start:end], memory.values[slot, start:end])
        for j in range(filled):
            memory.sums[stride, j] += product(own, memory.gaps[j, start:end])


@inlined
def conclude(slot: int, filled: int, memory: Memory) -> None:
    """Add up the products; empty the memory unless the gap is the smallest so far."""
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
