"""The loop every iterative method shares: advance, measure, decide.

A method says only how to advance; the loop measures ``problem.residual`` from the data, keeps the
best iterate, writes the history and decides when to stop. No method can call itself converged.

Measuring costs about as much as some sweeps, so it is done at growing intervals. The intervals
follow from the residuals seen, never from the clock: the same input gives the same bits.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from clapas.errors import SettingsError
from clapas.linalg.threads import one_blas_thread
from clapas.problems.contact import MANY, ContactProblem
from clapas.solvers.solution import History, Solution
from clapas.status import Status
from clapas.typing import Array

VISITS_PER_SECOND = 10_000_000  # contacts a sweep visits in a second, roughly


@dataclass(frozen=True, kw_only=True)
class IterativeSolver:
    """Settings every iterative solver has.

    Parameters
    ----------
    tol : float
        Largest ``problem.residual`` accepted; relative to |q|, no unit.
    max_iterations : int
        Iterations before the status becomes MAX_ITERATIONS.
    time_limit : float
        Seconds before the status becomes TIME_LIMIT.
    """

    tol: float = 1e-8
    max_iterations: int = 10_000
    time_limit: float = math.inf

    # Iterations that cost much more than measuring the residual are measured one by one.
    measures_each_iteration: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.tol > 0:
            raise SettingsError(f"tol must be positive, got {self.tol}")
        if self.max_iterations < 0:
            raise SettingsError(f"max_iterations must be at least 0, got {self.max_iterations}")
        if not self.time_limit > 0:
            raise SettingsError(f"time_limit must be positive, got {self.time_limit}")


class Iteration(ABC):
    """A method under way on one problem.

    ``notes`` are remarks for people on what happened: a cycle seen, a parameter reduced.
    """

    notes: tuple[str, ...] = ()

    # Impulses that repeat mean that nothing more will come; not so where several methods take turns.
    repeats_when_stuck: ClassVar[bool] = True

    @abstractmethod
    def impulses(self) -> Array:
        """The current iterate r, (n, d)."""

    @abstractmethod
    def advance(self, count: int) -> int | None:
        """Do ``count`` iterations, or say how many were done instead. May raise :class:`Halt`."""


class Halt(Exception):
    """Raised by an iteration that cannot go on; its current iterate is still measured."""

    def __init__(self, status: Status) -> None:
        self.status = status
        super().__init__(status.cause)


class Solver(Protocol):
    """What ``solve`` needs of a method: its limits and how to start it on a problem."""

    @property
    def tol(self) -> float:
        """Largest residual accepted."""
        ...

    @property
    def max_iterations(self) -> int:
        """Iterations allowed."""
        ...

    @property
    def time_limit(self) -> float:
        """Seconds allowed."""
        ...

    @property
    def measures_each_iteration(self) -> bool:
        """Whether to measure after every iteration rather than at growing intervals."""
        ...

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Prepare the method on a problem, from a guess (n, d)."""
        ...


class Progress(NamedTuple):
    """What a progress callback receives at each measurement."""

    iterations: int
    residual: float
    seconds: float


Watcher = Callable[[Progress], bool | None]


@dataclass
class _Record:
    """Measurements so far and the best iterate among them."""

    iterations: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    best: float = math.inf
    r: Array | None = None

    def add(self, iterations: int, seconds: float, residual: float, r: Array) -> None:
        self.iterations.append(iterations)
        self.seconds.append(seconds)
        self.residuals.append(residual)
        if residual < self.best or self.r is None:
            self.best, self.r = residual, r + 0.0  # a copy, in which -0.0 is 0.0

    def history(self) -> History:
        return History(np.array(self.iterations), np.array(self.seconds), np.array(self.residuals))


def iterate(
    problem: ContactProblem, solver: Solver, guess: Array, watcher: Watcher | None = None
) -> Solution:
    """Run a method on a problem until it is solved or must stop; return the best iterate measured."""
    with one_blas_thread():
        return _iterate(problem, solver, guess, watcher)


def _iterate(problem: ContactProblem, solver: Solver, guess: Array, watcher: Watcher | None) -> Solution:
    start = time.perf_counter()
    record = _Record()
    done = 0
    method: Iteration | None = None
    r, previous = guess, guess
    halted: Status | None = None
    while True:
        residual = problem.residual(r)
        seconds = time.perf_counter() - start
        record.add(done, seconds, residual, r)
        stopped = bool(watcher(Progress(done, residual, seconds))) if watcher else False
        if method and method.repeats_when_stuck and np.array_equal(r, previous):
            halted = halted or Status.STALLED
        status = _verdict(solver, record, stopped, halted)
        if status:
            break
        if method is None:
            method = solver.start(problem, guess)
        previous = r.copy()
        gap = 1 if solver.measures_each_iteration else _next_gap(record, solver.tol, problem.n_contacts)
        gap = min(gap, solver.max_iterations - done)
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                done += method.advance(gap) or gap
        except Halt as reason:
            halted = reason.status
            done += gap
        r = method.impulses()
    notes = method.notes if method else ()
    return _solution(problem, solver, record, status, done, time.perf_counter() - start, notes)


def _verdict(solver: Solver, record: _Record, stopped: bool, halted: Status | None) -> Status | None:
    residual = record.residuals[-1]
    if residual <= solver.tol:
        return Status.SOLVED
    if not math.isfinite(residual) and record.iterations[-1] > 0:
        return Status.NUMERICAL_ERROR
    if stopped:
        return Status.STOPPED
    if record.iterations[-1] >= solver.max_iterations:
        return Status.MAX_ITERATIONS
    if record.seconds[-1] >= solver.time_limit:
        return Status.TIME_LIMIT
    return halted


def _next_gap(record: _Record, tol: float, n_contacts: int) -> int:
    """Iterations until the next measurement: half of those the observed rate still asks for.

    Between an eighth and a quarter of those done, so that measuring stays cheap and is not late;
    and about a second of work at most, so that limits and wishes to stop are heeded.
    """
    done = record.iterations[-1]
    few = 1 if n_contacts < MANY else 4
    if len(record.residuals) < 3:
        return few
    a_second = max(20, VISITS_PER_SECOND // max(1, n_contacts))
    shortest, longest = max(few, min(done // 8, a_second)), max(few, min(done // 4, a_second))
    old, new = record.residuals[-2], record.residuals[-1]
    between = done - record.iterations[-2]
    if not 0 < new < old:
        return longest
    remaining = between * math.log(new / tol) / math.log(old / new)
    return int(min(max(remaining / 2, shortest), longest))


def _solution(
    problem: ContactProblem,
    solver: Solver,
    record: _Record,
    status: Status,
    done: int,
    seconds: float,
    notes: tuple[str, ...],
) -> Solution:
    assert record.r is not None
    return Solution(
        problem=problem,
        solver=solver,
        r=record.r,
        status=status,
        residual=record.best,
        iterations=done,
        time=seconds,
        history=record.history(),
        notes=notes,
    )
