"""Problems with a singular M, for any method: proximal steps with a definite M.

Bodies held by contacts only (:mod:`clapas.problems.semidefinite`) have no W, on which most methods work. A
proximal step provides one: from the velocities v_k it solves

    (M + β B) v + f − β B v_k = Hᵀ r + Jᵀ λ,      u = H v + w + C r,      the law,

an ordinary contact problem in which the bodies also have the mass β B and the velocity v_k, by the method
requested. Its solution violates the given equations only by p = −β B (v − v_k). Where a
structure is at rest v = v_k = 0 and one step suffices; otherwise the steps repeat from their v, with a
smaller β where p decreases slowly. A fixed point is a solution, whatever β and B.

If no impulses in the cones balance the loads, the velocities grow without bound. A motion z that
proves it,

    M z = 0,   J z = 0,   H z ∈ K*,   f·z < 0      (then f·z = r·H z ≥ 0 for every r ∈ K, a contradiction),

is sought if the steps do not converge; see :mod:`clapas.problems.existence.balance`.

References
----------
Rockafellar 1976 (the proximal point method); Moreau 1988 (why only a fixed point is required here:
Coulomb's law is not associated, and no step is known to be a contraction).
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Progress, Solver, Watcher, iterate
from clapas.solvers.solution import History, Solution
from clapas.status import Status
from clapas.typing import Array

STEPS = 60  # largest number of proximal steps
SHARE = 0.2  # fraction of the tolerance for the inner problems
FINEST = 1e-14  # tolerance of an inner problem
SLOW = 0.1  # factor by which a step should reduce the imbalance; otherwise β is reduced ...
LIGHTER, LIGHTEST = 0.1, 1e-6  # ... by the first factor, and not below the second
CHECK_BALANCE_AT = (4, 16)  # steps after which the balance of the loads is examined


def solve_semidefinite(
    problem: ContactProblem, solver: Solver, guess: Array, watcher: Watcher | None = None
) -> Solution:
    """Solve a problem whose M is singular by proximal steps, each solved by ``solver``.

    The tolerance, the limits on iterations and on time are those of ``solver``, for all steps together.
    """
    return _Steps(problem, solver, guess, watcher).run()


class _Steps:
    """The proximal steps; the best pair (r, v) is kept."""

    def __init__(
        self, problem: ContactProblem, solver: Solver, guess: Array, watcher: Watcher | None
    ) -> None:
        assert problem.semidefinite is not None
        self._problem, self._semidefinite, self._solver, self._watcher = (
            problem,
            problem.semidefinite,
            solver,
            watcher,
        )
        self._began = time.perf_counter()
        self._r, self._v = guess, np.zeros(problem.n_dof)
        self._best, self._best_residual = (self._r, self._v), math.inf
        self._iterations, self._stopped = 0, False
        self._history: list[tuple[int, float, float]] = []
        self._notes: tuple[str, ...] = ()
        self._ran = ""

    def run(self) -> Solution:
        """Do steps until the residual is small enough, or no further progress is possible."""
        weight, imbalance = 1.0, math.inf
        for step in range(1, STEPS + 1):
            inner = self._step(weight)
            self._measure()
            if (status := self._verdict(inner)) is not None:
                return self._solution(status, step)
            previous, imbalance = imbalance, self._semidefinite.imbalance(self._r, self._v)
            if imbalance > SLOW * previous:
                weight = max(LIGHTER * weight, LIGHTEST)
            if step in CHECK_BALANCE_AT and self._is_impossible():
                return self._solution(Status.NO_SOLUTION, step)
        return self._solution(Status.STALLED, STEPS)

    def _step(self, weight: float) -> Solution:
        """Solve the definite problem from the result of the last step."""
        inner = self._semidefinite.definite(weight, self._v)
        # The tolerance is on the same velocities, though the free velocities of the inner problem are larger.
        shrink = self._semidefinite.unit.free_speed / inner.free_speed if inner.free_speed else 1.0
        settings: Any = self._solver
        tol = max(SHARE * settings.tol * min(1.0, shrink), FINEST)
        remaining = self._remaining()
        solver = replace(settings, tol=tol, max_iterations=remaining[0], time_limit=remaining[1])
        solution = iterate(inner, solver, self._r, self._watch if self._watcher else None)
        assert solution.v is not None
        self._r, self._v = solution.r, solution.v
        self._iterations += solution.iterations
        self._notes, self._ran = solution.notes, solution.method
        return solution

    def _remaining(self) -> tuple[int, float]:
        spent = time.perf_counter() - self._began
        return (
            max(self._solver.max_iterations - self._iterations, 0),
            max(self._solver.time_limit - spent, 1e-9),
        )

    def _watch(self, progress: Progress) -> bool:
        assert self._watcher is not None
        total = Progress(
            self._iterations + progress.iterations, progress.residual, time.perf_counter() - self._began
        )
        self._stopped = bool(self._watcher(total))
        return self._stopped

    def _measure(self) -> None:
        residual = self._problem.residual(self._r, self._v)
        self._history.append((self._iterations, time.perf_counter() - self._began, residual))
        if residual < self._best_residual or not math.isfinite(self._best_residual):
            self._best, self._best_residual = (self._r, self._v), residual

    def _verdict(self, inner: Solution) -> Status | None:
        if self._best_residual <= self._solver.tol:
            return Status.SOLVED
        if self._stopped:
            return Status.STOPPED
        if self._iterations >= self._solver.max_iterations:
            return Status.MAX_ITERATIONS
        if time.perf_counter() - self._began >= self._solver.time_limit:
            return Status.TIME_LIMIT
        if inner.status is Status.NUMERICAL_ERROR or not np.isfinite(self._v).all():
            return Status.NUMERICAL_ERROR
        # A step without solution does not prove that the problem has none, but the method cannot continue.
        return Status.STALLED if inner.status is Status.NO_SOLUTION else None

    def _is_impossible(self) -> bool:
        from clapas.problems.existence.balance import mechanism  # conic programming, for failures only

        mechanism_ = mechanism(self._problem)
        if mechanism_ is None or not mechanism_.is_proof:
            return False
        self._notes = (*self._notes, mechanism_.sentence)
        return True

    def _solution(self, status: Status, steps: int) -> Solution:
        iterations, seconds, residuals = (np.array(column) for column in zip(*self._history, strict=True))
        r, v = self._best
        return Solution(
            problem=self._problem,
            solver=self._solver,
            r=r,
            status=status,
            residual=self._best_residual,
            iterations=self._iterations,
            time=time.perf_counter() - self._began,
            history=History(iterations.astype(np.int64), seconds, residuals),
            notes=(f"M is singular: {steps} proximal step{'s' * (steps != 1)}", *self._notes),
            method=f"{self._ran}, in {steps} proximal step{'s' * (steps != 1)}",
            moved=v,
        )
