"""Problems whose M is singular, by any method: a sequence of problems with a definite M.

Bodies that only contacts hold (:mod:`clapas.problems.semidefinite`) have no W, on which most methods work. A
proximal step gives them one: from the velocities v_k it solves

    (M + β B) v + f − β B v_k = Hᵀ r + Jᵀ λ,      u = H v + w + C r,      the law,

an ordinary contact problem in which the bodies also have the mass β B and the velocity v_k, by the method
that was asked for. Its answer misses the given equations by p = −β B (v − v_k) and nothing else. Where a
structure is at rest v = v_k = 0 and one step is the answer; otherwise the steps repeat from their v, with a
smaller β where p falls slowly. A fixed point is a solution, whatever β and B.

If loads are not in balance with any impulses in the cones the velocities grow without end. A motion z that
proves it,

    M z = 0,   J z = 0,   H z ∈ K*,   f·z < 0      (then f·z = r·H z ≥ 0 for every r ∈ K, a contradiction),

is looked for once the steps do not converge; see :mod:`clapas.problems.existence.balance`.

References
----------
Rockafellar 1976 (the proximal point method); Moreau 1988 (why a fixed point is all that is asked of it here:
Coulomb's law is not associated, and no step is known to contract).
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

STEPS = 60  # proximal steps at most
SHARE = 0.2  # of the tolerance, left to the inner problems
FINEST = 1e-14  # tolerance of an inner problem
SLOW = 0.1  # what a step should make of the imbalance; else β shrinks ...
LIGHTER, LIGHTEST = 0.1, 1e-6  # ... by this, and not below this
DOUBT = (4, 16)  # steps after which the balance of the loads is examined


def solve_semidefinite(
    problem: ContactProblem, solver: Solver, guess: Array, watcher: Watcher | None = None
) -> Solution:
    """Solve a problem whose M is singular by proximal steps, each solved by ``solver``.

    The tolerance, the limits on iterations and on time are those of ``solver``, for all steps together.
    """
    return _Steps(problem, solver, guess, watcher).run()


class _Steps:
    """Proximal steps under way; the best pair (r, v) is kept."""

    def __init__(
        self, problem: ContactProblem, solver: Solver, guess: Array, watcher: Watcher | None
    ) -> None:
        assert problem.semidefinite is not None
        self._problem, self._whole, self._solver, self._watcher = (
            problem,
            problem.semidefinite,
            solver,
            watcher,
        )
        self._began = time.perf_counter()
        self._r, self._v = guess, np.zeros(problem.n_dof)
        self._best, self._least = (self._r, self._v), math.inf
        self._iterations, self._stopped = 0, False
        self._history: list[tuple[int, float, float]] = []
        self._notes: tuple[str, ...] = ()
        self._ran = ""

    def run(self) -> Solution:
        """Steps until the residual is small enough, or nothing more can be done."""
        weight, missed = 1.0, math.inf
        for step in range(1, STEPS + 1):
            inner = self._step(weight)
            self._measure()
            if (status := self._verdict(inner)) is not None:
                return self._solution(status, step)
            before, missed = missed, self._whole.imbalance(self._r, self._v)
            if missed > SLOW * before:
                weight = max(LIGHTER * weight, LIGHTEST)
            if step in DOUBT and self._is_impossible():
                return self._solution(Status.NO_SOLUTION, step)
        return self._solution(Status.STALLED, STEPS)

    def _step(self, weight: float) -> Solution:
        """Solve the definite problem from where the last step ended."""
        inner = self._whole.definite(weight, self._v)
        # The same velocities count as errors there and here, though the free ones are larger there.
        shrink = self._whole.unit.free_speed / inner.free_speed if inner.free_speed else 1.0
        settings: Any = self._solver
        tol = max(SHARE * settings.tol * min(1.0, shrink), FINEST)
        left = self._left()
        solver = replace(settings, tol=tol, max_iterations=left[0], time_limit=left[1])
        solution = iterate(inner, solver, self._r, self._watch if self._watcher else None)
        assert solution.v is not None
        self._r, self._v = solution.r, solution.v
        self._iterations += solution.iterations
        self._notes, self._ran = solution.notes, solution.method
        return solution

    def _left(self) -> tuple[int, float]:
        spent = time.perf_counter() - self._began
        return (
            max(self._solver.max_iterations - self._iterations, 0),
            max(self._solver.time_limit - spent, 1e-9),
        )

    def _watch(self, progress: Progress) -> bool:
        assert self._watcher is not None
        at = Progress(
            self._iterations + progress.iterations, progress.residual, time.perf_counter() - self._began
        )
        self._stopped = bool(self._watcher(at))
        return self._stopped

    def _measure(self) -> None:
        residual = self._problem.residual(self._r, self._v)
        self._history.append((self._iterations, time.perf_counter() - self._began, residual))
        if residual < self._least or not math.isfinite(self._least):
            self._best, self._least = (self._r, self._v), residual

    def _verdict(self, inner: Solution) -> Status | None:
        if self._least <= self._solver.tol:
            return Status.SOLVED
        if self._stopped:
            return Status.STOPPED
        if self._iterations >= self._solver.max_iterations:
            return Status.MAX_ITERATIONS
        if time.perf_counter() - self._began >= self._solver.time_limit:
            return Status.TIME_LIMIT
        if inner.status is Status.NUMERICAL_ERROR or not np.isfinite(self._v).all():
            return Status.NUMERICAL_ERROR
        # That a step has no solution says nothing of the problem; that it could not be solved ends the way.
        return Status.STALLED if inner.status is Status.NO_SOLUTION else None

    def _is_impossible(self) -> bool:
        from clapas.problems.existence.balance import mechanism  # conic programming, for failures only

        found = mechanism(self._problem)
        if found is None or not found.is_proof:
            return False
        self._notes = (*self._notes, found.sentence)
        return True

    def _solution(self, status: Status, steps: int) -> Solution:
        iterations, seconds, residuals = (np.array(column) for column in zip(*self._history, strict=True))
        r, v = self._best
        return Solution(
            problem=self._problem,
            solver=self._solver,
            r=r,
            status=status,
            residual=self._least,
            iterations=self._iterations,
            time=time.perf_counter() - self._began,
            history=History(iterations.astype(np.int64), seconds, residuals),
            notes=(f"M is singular: {steps} proximal step{'s' * (steps != 1)}", *self._notes),
            method=f"{self._ran}, in {steps} proximal step{'s' * (steps != 1)}",
            moved=v,
        )
