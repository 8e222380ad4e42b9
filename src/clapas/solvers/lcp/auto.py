"""The default solver: Lemke's method, then others if it ends without a solution."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.problems.lcp import LCP
from clapas.solvers.lcp.interior_point import InteriorPoint
from clapas.solvers.lcp.lemke import Lemke
from clapas.solvers.lcp.loop import LCPMethod, LCPSolver
from clapas.solvers.lcp.mixed_integer import MixedInteger
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array

FEW = 40  # unknowns up to which a mixed-integer program is tried
STEPS = 200  # of the interior point


@dataclass(frozen=True, kw_only=True)
class Auto(IterativeSolver):
    """Lemke's pivots; where they fail an interior point, then for few unknowns a mixed-integer program.

    Lemke's method solves semidefinite and copositive-plus problems and games. It ends on a ray that proves
    nothing for many others: mixed problems whose equations are singular, dual relays with an indefinite M,
    friction. The iterations are those of all methods together; the best iterate of any is the result.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.

    Examples
    --------
    Lemke's method ends on a ray here:

    >>> from clapas.solvers.lcp import Lemke, solve_lcp
    >>> problem = LCP([[0.0, 2.0], [1.0, -1.0]], [-3.0, -2.0])
    >>> solve_lcp(problem, Lemke(), check=False).status.name, solve_lcp(problem).z.round(6)
    ('STALLED', array([3.5, 1.5]))
    """

    max_iterations: int = 100_000

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Start with Lemke's method."""
        return _Sequence(problem, guess, self)


class _Sequence(LCPMethod):
    """Methods in sequence, each until it halts; the status is that of the first."""

    repeats_when_stuck: ClassVar[bool] = False

    def __init__(self, problem: LCP, guess: Array, settings: Auto) -> None:
        self.problem, self.guess = problem, guess
        self.end = time.perf_counter() + settings.time_limit
        self.next_methods = ["interior-point", "mixed-integer"] if problem.size <= FEW else ["interior-point"]
        self.name, self.remaining = "lemke", settings.max_iterations
        self.method: LCPMethod = Lemke(tol=settings.tol).start(problem, guess)
        self.tol, self.earlier_notes = settings.tol, tuple[str, ...]()
        self.reason: Status | None = None

    def unknowns(self) -> Array:
        """The iterate of the current method."""
        return self.method.unknowns()

    def advance(self, count: int) -> int:
        """Advance the current method, or start the next."""
        try:
            done = self.method.advance(min(count, self.remaining)) or min(count, self.remaining)
        except Halt as halt:
            done = 1
            self._start_next(halt.status)
        except (np.linalg.LinAlgError, ArithmeticError):
            done = 1
            self._start_next(Status.NUMERICAL_ERROR)
        else:
            self.remaining -= done
            if self.remaining <= 0:
                self._start_next(Status.MAX_ITERATIONS)
        self.notes = (*self.earlier_notes, *self.method.notes)
        return done

    def _start_next(self, status: Status) -> None:
        """Keep the results of the current method and start the next one; halt if there is none."""
        self.ray = self.ray or self.method.ray
        self.infeasibility, self.refutation = self.method.infeasibility, self.method.refutation
        self.notes = (*self.earlier_notes, *self.method.notes)
        if status is Status.NO_SOLUTION:
            raise Halt(status)
        self.reason = self.reason or status
        seconds = self.end - time.perf_counter()
        if not self.next_methods or seconds <= 0.0:
            raise Halt(self.reason if seconds > 0.0 else Status.TIME_LIMIT)
        self.earlier_notes = (*self.notes, f"{self.name} ended: {status.name.lower().replace('_', ' ')}")
        self.name = self.next_methods.pop(0)
        solver: LCPSolver = (
            InteriorPoint(tol=self.tol)
            if self.name == "interior-point"
            else MixedInteger(tol=self.tol, time_limit=seconds)
        )
        self.remaining = STEPS if self.name == "interior-point" else 1
        self.method = solver.start(self.problem, self.guess)
