"""A fixed point s = F(s), where F is a convex minimisation, and the schemes that compute it.

The scheme uses dimensionless vectors only: s and the value F(s), from which it computes the
next s. The maps (Cadoux's, on sliding speeds, and Haslinger's, on thresholds) are in
:mod:`clapas.solvers.conic_fixed_point` and :mod:`clapas.solvers.haslinger`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.backends import Clarabel
from clapas.solvers.convex import AcceleratedGradient, ConvexProblem, ConvexSolver, Fallback
from clapas.solvers.convex.base import symmetric_part
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.status import Status
from clapas.typing import Array

NEEDLESS = 1e-3  # inner accuracy, relative to the tolerance, that is always sufficient
PATIENCE = 12  # outer iterations without a better residual, after which the inner accuracy is increased
LEAST_FORCING = 1e-4
ROUNDING = 1e-15  # smallest inner accuracy
HOPELESS = 150  # outer iterations without a better residual, after which the search stops
BETTER = 0.8  # ratio of residuals that counts as better


class Evaluation(NamedTuple):
    """The map at one point: s (n,), its value F(s) (n,), the impulses and velocities there (n, d)."""

    s: Array
    value: Array
    r: Array
    u: Array

    @property
    def gap(self) -> Array:
        """F(s) − s."""
        return self.value - self.s


class Search(Protocol):
    """A running scheme on one problem."""

    def advance(self, last: Evaluation, evaluate: Callable[[Array], Evaluation]) -> Array:
        """The next s, not necessarily ≥ 0; ``evaluate`` computes the map elsewhere (for line searches)."""
        ...


class Scheme(Protocol):
    """Settings of a scheme: a frozen dataclass."""

    def start(self, problem: ContactProblem) -> Search:
        """Start with an empty memory."""
        ...


@dataclass(frozen=True)
class Picard:
    """Plain iteration, s ← F(s): converges where F is a contraction, at its rate."""

    def start(self, problem: ContactProblem) -> Search:
        """Start without memory."""
        return _PlainSearch()


class _PlainSearch:
    def advance(self, last: Evaluation, evaluate: Callable[[Array], Evaluation]) -> Array:
        return last.value


def default_inner() -> ConvexSolver:
    """Accelerated gradient, and Clarabel where it does not reach the accuracy (hyperstatic problems)."""
    return Fallback(first=AcceleratedGradient(max_iterations=1000), second=Clarabel())


@dataclass(frozen=True, kw_only=True)
class FixedPointSolver(IterativeSolver):
    """Settings common to the two fixed points.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    inner : ConvexSolver
        Method for the convex problem at fixed s.
    scheme : Scheme
        Update of s.
    forcing : float
        Accuracy of the inner method, relative to the residual measured at the last outer
        iteration, in ]0, 1[. It is lowered when the outer iterations do not progress.
    accuracy : float, optional
        Fixed accuracy of every inner minimisation, instead of the above.
    """

    max_iterations: int = 1000
    inner: ConvexSolver = field(default_factory=default_inner)
    scheme: Scheme = field(default_factory=Picard)
    forcing: float = 0.1
    accuracy: float | None = None

    measures_each_iteration = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.forcing < 1:
            raise SettingsError(f"forcing must be between 0 and 1, got {self.forcing}")
        if self.accuracy is not None and not self.accuracy > 0:
            raise SettingsError(f"accuracy must be positive, got {self.accuracy}")


class FixedPointIteration(Iteration):
    """The outer loop: minimise at fixed s, compute F(s), let the scheme choose the next s.

    A subclass defines the frozen numbers. They are dimensionless, velocities divided by
    |q|, so that schemes can combine those of different contacts.
    """

    def __init__(self, problem: ContactProblem, solver: FixedPointSolver, guess: Array) -> None:
        self.problem, self.solver = problem, solver
        self.contacts, self.skew = symmetric_part(problem)
        self.method = solver.inner.start(self.contacts)
        self.search = self.start_search(solver.scheme)
        self.speed = float(np.linalg.norm(problem.q)) or 1.0
        self.r = guess
        self.ready: Evaluation | None = None  # result of the line search of a scheme
        self.latest: Evaluation
        self.residual = self.best = problem.residual(guess)
        # Through mu |u_T| an error of the velocity is multiplied by mu.
        self.forcing = solver.forcing / max(1.0, float(np.max(problem.mu, initial=0.0)))
        self.least_forcing = min(LEAST_FORCING, 0.01 * self.forcing)
        self.stagnant = 0
        self.s = self.frozen_numbers(guess, problem.velocity(guess)) / self.speed

    @abstractmethod
    def frozen_numbers(self, r: Array, u: Array) -> Array:
        """The value of s that the law requires, as a velocity, (n,)."""

    @abstractmethod
    def frozen_problem(self, s: Array, lag: Array | float) -> ConvexProblem:
        """The convex problem where these numbers (velocities) are frozen."""

    def start_search(self, scheme: Scheme) -> Search:
        """Start the scheme on this map."""
        return scheme.start(self.problem)

    def impulses(self) -> Array:
        """The impulses of the last minimisation."""
        return self.r

    def advance(self, count: int) -> None:
        """Do ``count`` updates of s, each with one minimisation (more with a line search)."""
        for _ in range(count):
            last = self.ready or self.evaluate(self.s)
            self._check_progress()
            self.latest = last
            self.s = np.maximum(self.search.advance(last, self.evaluate), 0.0)
            searched = self.latest is not last and np.array_equal(self.latest.s, self.s)
            self.ready = self.latest if searched else None

    def evaluate(self, s: Array) -> Evaluation:
        """Minimise at s, starting from the last impulses; keep the result."""
        lag = 0.0 if self.skew is None else (self.skew @ self.r.ravel()).reshape(self.r.shape)
        frozen = self.frozen_problem(s * self.speed, lag)
        self.r = self._minimise(frozen)
        u = self.problem.velocity(self.r)
        self.residual = float(np.linalg.norm(self.problem.violation(self.r, u))) / self.speed
        self.latest = Evaluation(s, self.frozen_numbers(self.r, u) / self.speed, self.r, u)
        return self.latest

    def _check_progress(self) -> None:
        """Increase the inner accuracy when the residual no longer improves; finally stop.

        Near a weakly repelling fixed point, extrapolating schemes need differences of F that are
        lost in the errors of inexact minimisations.
        """
        if self.residual <= BETTER * self.best:
            self.best, self.stagnant = self.residual, 0
            return
        self.stagnant += 1
        if self.stagnant % PATIENCE == 0:
            self.forcing = max(0.1 * self.forcing, self.least_forcing)
        if self.stagnant >= HOPELESS:
            raise Halt(Status.STALLED)

    def _minimise(self, frozen: ConvexProblem) -> Array:
        """The minimiser, to an accuracy that depends on the residual, or better if the guess has that."""
        if self.solver.accuracy is not None:
            return self.method.solve(frozen, self.r, self.solver.accuracy).r
        accuracy = max(self.forcing * max(self.residual, self.solver.tol), ROUNDING)
        while True:
            solution = self.method.solve(frozen, self.r, accuracy)
            if solution.iterations > 0 or accuracy <= min(NEEDLESS * self.solver.tol, self.forcing):
                return solution.r
            accuracy *= 0.1
