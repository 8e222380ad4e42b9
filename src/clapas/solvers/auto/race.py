"""Several methods on one problem, taking turns."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.solvers.auto.contenders import OPENING, Contender
from clapas.solvers.loop import Halt, Iteration
from clapas.status import Status
from clapas.typing import Array

SHARE = 4  # a turn is a quarter of the work done so far
SOON = 1.0  # a runner that needs at most so many times what it has done keeps the turn
EARLIER, HALVED = 0.6, 0.5  # a runner goes on beyond its patience while it halves its residual from there on
SHORTEST = 1e-3  # s
HOPELESS = 3.0  # handicap of one that at its pace would not arrive within its patience


@dataclass(eq=False)  # each is itself only: looking for one among others must not compare histories
class Runner:
    """A contender under way: its work, its residuals and when they were measured."""

    contender: Contender
    iteration: Iteration | None = None
    work: float = 0.0
    iterations: int = 0
    residuals: list[tuple[float, float]] = field(default_factory=list)  # work done, residual
    ended: Status | None = None

    @property
    def best(self) -> float:
        """Smallest residual it reached."""
        return min((residual for _, residual in self.residuals), default=math.inf)

    @property
    def has_ended(self) -> bool:
        """It cannot go on, or has had its chance and no longer improves."""
        return self.ended is not None or (self.work >= self.contender.patience and not self.is_improving)

    @property
    def is_improving(self) -> bool:
        """Its best residual has halved in the last two fifths of its work."""
        earlier = (residual for work, residual in self.residuals if work <= EARLIER * self.work)
        return self.best <= HALVED * min(earlier, default=math.inf)

    def work_left(self, tol: float) -> float:
        """Work that remains if the residual goes on as in its last half, as a power of the work.

        Geometric convergence is faster than that, so the guess is careful; it is near the truth when little
        is left, which is when it matters.
        """
        if len(self.residuals) < 2:
            return math.inf
        now, last = self.residuals[-1]
        before, first = next(
            (pair for pair in reversed(self.residuals[:-1]) if pair[0] <= 0.5 * now), self.residuals[0]
        )
        if not 0.0 < last < first:
            return math.inf
        power = math.log(first / last) / math.log(now / before)
        decades = math.log(last / tol) / power
        return now * math.expm1(decades) if decades < 100.0 else math.inf

    def advance(self, count: int) -> int:
        """Do some iterations; the number done."""
        assert self.iteration is not None
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                count = self.iteration.advance(count) or count
        except Halt as halt:
            self.ended = halt.status
        self.work += count * self.contender.cost
        self.iterations += count
        return count

    @property
    def ran(self) -> str:
        """The method, and what it works on, in words."""
        on = self.iteration.ran if self.iteration is not None else ""
        return f"{self.contender.name}, {on}" if on else self.contender.name

    def impulses(self) -> Array:
        """Where it has come."""
        assert self.iteration is not None
        return self.iteration.impulses()

    def __str__(self) -> str:
        reached = f", residual {self.best:.1e}" if self.residuals else ""
        ending = f", {self.ended.name.lower().replace('_', ' ')}" if self.ended else ""
        return f"{self.contender.name}: {self.iterations} iterations{reached}{ending}"


class Race:
    """A problem and those who try to solve it; the best impulses measured are kept."""

    def __init__(
        self,
        problem: ContactProblem,
        guess: Array,
        tol: float,
        field: list[Contender],
        best: Array | None = None,
        deadline: float = math.inf,
    ) -> None:
        self.problem, self.tol, self._deadline = problem, tol, deadline
        self._guess = guess
        self.r = guess if best is None else best
        self.residual = problem.residual(self.r)
        self.runners = [Runner(contender) for contender in field]
        self._turn: Runner | None = None
        self.leader: Runner | None = None  # whose impulses are the best

    def let_in(self, runner: Runner) -> None:
        """Put a runner that is already under way, and has come to the best impulses, in the first place."""
        runner.residuals.append((runner.work, self.residual))
        self.runners[0] = self.leader = runner

    @property
    def is_solved(self) -> bool:
        """The best impulses meet the tolerance."""
        return self.residual <= self.tol

    @property
    def verdict(self) -> Status | None:
        """How the race ended when nobody can go on."""
        if any(runner.ended is Status.NO_SOLUTION for runner in self.runners):
            return Status.NO_SOLUTION
        return Status.STALLED if all(runner.has_ended for runner in self.runners) else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What every runner did."""
        return tuple(str(runner) for runner in self.runners if runner.iterations)

    def run(self) -> int:
        """One turn of one runner; the number of its iterations."""
        runner = self._next()
        if runner is None:
            return 0
        self._turn = runner
        if runner.iteration is None:
            begin = self.r if runner.contender.begins == "best" else self._guess
            # Some do more at a time than the loop around them sees, and must know how long they may take.
            left = max(self._deadline - time.perf_counter(), SHORTEST)
            solver = replace(cast(Any, runner.contender.solver), time_limit=left)
            runner.iteration = solver.start(self.problem, begin.copy())
        count = runner.advance(self._length(runner))
        self._measure(runner)
        return count

    def _measure(self, runner: Runner) -> None:
        r = runner.impulses()
        residual = self.problem.residual(r)
        runner.residuals.append((runner.work, residual))
        if not math.isfinite(residual):
            runner.ended = Status.NUMERICAL_ERROR
        elif residual < self.residual:
            self.r, self.residual, self.leader = r.copy(), residual, runner

    def _next(self) -> Runner | None:
        """Who keeps the turn because it arrives soon, or has worked least."""
        ready = [runner for runner in self.runners if not runner.has_ended]
        last = self._turn
        if last in ready and last.work_left(self.tol) <= SOON * max(last.work, OPENING):
            return last
        joined = [r for r in ready if r.work or r.contender.joins <= self._least_work(r)]
        if not joined:
            return ready[0] if ready else None
        return min(joined, key=self._place)

    def _place(self, runner: Runner) -> float:
        """Work done, counted more for those who make no headway."""
        hopeless = runner.work > OPENING and runner.work_left(self.tol) > runner.contender.patience
        return runner.work * (HOPELESS if hopeless else 1.0)

    def _least_work(self, newcomer: Runner) -> float:
        ahead = self.runners[: self.runners.index(newcomer)]
        return min((self._place(runner) for runner in ahead if not runner.has_ended), default=math.inf)

    def _length(self, runner: Runner) -> int:
        """Iterations of a turn: a share of what the runner did, measured on the way if it arrives soon."""
        if runner.contender.solver.measures_each_iteration:
            return 1
        if runner.work < OPENING:
            return max(1, runner.iterations)  # 1, 1, 2, 4, …: easy problems are seen to be solved at once
        left = runner.work_left(self.tol)
        work = max(OPENING / SHARE, min(runner.work / SHARE, left / 2))
        return max(1, round(work / runner.contender.cost))
