"""The loop that methods for linear complementarity share: advance, measure, decide.

The same contract as :mod:`clapas.solvers.loop`: a method says how to advance, the loop measures
``problem.residual`` from the data, keeps the best iterate and decides when to stop.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from clapas.problems.lcp import LCP
from clapas.solvers.lcp.solution import LCPSolution, Ray
from clapas.solvers.loop import Halt, Progress, Watcher
from clapas.solvers.solution import History
from clapas.status import Status
from clapas.typing import Array

SHARE = 8  # measure again after an eighth of the iterations done


class LCPMethod(ABC):
    """A method under way on one problem.

    ``notes`` are remarks for people; ``ray`` is what Lemke's method leaves when it fails.
    """

    notes: tuple[str, ...] = ()
    ray: Ray | None = None

    @abstractmethod
    def unknowns(self) -> Array:
        """The current iterate z, (n,)."""

    @abstractmethod
    def advance(self, count: int) -> int | None:
        """Do ``count`` iterations, or say how many were done instead. May raise :class:`Halt`,
        or LinAlgError where a matrix to be factorised is singular.
        """


class LCPSolver(Protocol):
    """What ``solve_lcp`` needs of a method: its limits and how to start it on a problem."""

    measures_each_iteration: ClassVar[bool]

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

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Prepare the method on a problem, from a guess (n,)."""
        ...


@dataclass
class _Record:
    """Measurements so far and the best iterate among them."""

    z: Array
    best: float = math.inf
    rows: list[Progress] = field(default_factory=list)

    def add(self, row: Progress, z: Array) -> None:
        self.rows.append(row)
        if row.residual < self.best:
            self.best, self.z = row.residual, z + 0.0

    def history(self) -> History:
        iterations, residuals, seconds = (np.array(column) for column in zip(*self.rows, strict=True))
        return History(iterations, seconds, residuals)


def iterate(problem: LCP, solver: LCPSolver, guess: Array, watcher: Watcher | None = None) -> LCPSolution:
    """Run a method on a problem until it is solved or must stop; return the best iterate measured."""
    start = time.perf_counter()
    record, z, done = _Record(guess), guess, 0
    method: LCPMethod | None = None
    halted: Status | None = None
    while True:
        row = Progress(done, problem.residual(z), time.perf_counter() - start)
        record.add(row, z)
        wish = Status.STOPPED if watcher and watcher(row) else halted
        status = _verdict(solver, row, wish)
        if status:
            break
        count = 1 if solver.measures_each_iteration else max(1, done // SHARE)
        count = min(count, solver.max_iterations - done)
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                method = method or solver.start(problem, guess)
                done += method.advance(count) or count
        except Halt as reason:
            halted, done = reason.status, done + count
        except np.linalg.LinAlgError:
            halted, done = Status.NUMERICAL_ERROR, done + count
        z = method.unknowns() if method else guess
    return LCPSolution(
        problem=problem,
        solver=solver,
        z=record.z,
        w=problem.slack(record.z),
        status=status,
        residual=problem.residual(record.z),
        iterations=done,
        time=time.perf_counter() - start,
        history=record.history(),
        notes=method.notes if method else (),
        ray=method.ray if method else None,
    )


def _verdict(solver: LCPSolver, row: Progress, wish: Status | None) -> Status | None:
    if row.residual <= solver.tol:
        return Status.SOLVED
    if not math.isfinite(row.residual) and row.iterations > 0:
        return Status.NUMERICAL_ERROR
    if wish:
        return wish
    if row.iterations >= solver.max_iterations:
        return Status.MAX_ITERATIONS
    if row.seconds >= solver.time_limit:
        return Status.TIME_LIMIT
    return None
