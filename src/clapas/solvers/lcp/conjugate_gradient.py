"""Conjugate projected gradient for complementarity with a symmetric matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clapas.errors import ProblemError, SettingsError
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import IterativeSolver
from clapas.typing import Array

SYMMETRY = 1e-10
POWERS, MARGIN = 30, 1.1  # power iterations for |M|, and what they may miss


@dataclass(frozen=True, kw_only=True)
class ConjugateProjectedGradient(IterativeSolver):
    """Conjugate projected gradient (Renouf and Alart): conjugate directions on the unknowns that are free.

    With g = −(M z + q) and P_T the projection on the directions that keep z ≥ 0,

        α = g·p / p·M p,    z ← max(0, z + α p),    p ← P_T(g) + β P_T(p),    β = −P_T(g)·M p / p·M p.

    A step that the projection undoes by more than the share ``slack`` is replaced by a gradient step of safe
    length 1/|M|, without which the method may circle.

    For symmetric positive semidefinite M: one product by M per iteration and few iterations, the method for
    large problems. Refuses other matrices.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    slack : float
        Share of a step that the projection may undo; infinity gives the published method.

    References
    ----------
    Renouf, Alart 2005; Dostál 2009 (the safe steps).

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solution = solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), ConjugateProjectedGradient())
    >>> solution.z.round(6), solution.iterations
    (array([1.333333, 2.333333]), 2)
    """

    max_iterations: int = 100_000
    slack: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.slack >= 0:
            raise SettingsError(f"slack must be at least 0, got {self.slack}")

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Begin along the gradient of the guess."""
        return _Conjugate(problem, guess, self.slack)


class _Conjugate(LCPMethod):
    def __init__(self, problem: LCP, guess: Array, slack: float) -> None:
        require_symmetric(problem, "the conjugate gradient method")
        self.scaled, self.slack = Scaled.of(problem), slack
        self.M, self.q = self.scaled.problem.M, self.scaled.problem.q
        self.safe = 1.0 / (_norm(self.M) or 1.0)
        self._arrive(np.maximum(self.scaled.forth(guess), 0.0))
        self.p = self._feasible(self.g)

    def unknowns(self) -> Array:
        """The current z ≥ 0."""
        return self.scaled.back(self.z)

    def advance(self, count: int) -> None:
        """One iteration is one step, conjugate or safe."""
        for _ in range(count):
            if not self._conjugate_step():
                self._arrive(np.maximum(self.z + self.safe * self.g, 0.0))
                self.p = self._feasible(self.g)

    def _conjugate_step(self) -> bool:
        pushed = self.M @ self.p
        curvature, slope = float(self.p @ pushed), float(self.g @ self.p)
        if not (curvature > 0.0 and slope > 0.0):
            return False
        wish = self.z + (slope / curvature) * self.p
        moved = np.maximum(wish, 0.0)
        if _length(moved - wish) > self.slack * _length(wish - self.z):
            return False
        self._arrive(moved)
        free = self._feasible(self.g)
        self.p = free - (float(free @ pushed) / curvature) * self._feasible(self.p)
        return True

    def _arrive(self, z: Array) -> None:
        self.z, self.g = z, -(self.M @ z + self.q)

    def _feasible(self, direction: Array) -> Array:
        return np.where(self.z > 0.0, direction, np.maximum(direction, 0.0))


def require_symmetric(problem: LCP, method: str) -> None:
    """Refuse a matrix that is not symmetric up to rounding."""
    largest = abs(problem.M).max() if problem.size else 0.0
    if problem.size and abs(problem.M - problem.M.T).max() > SYMMETRY * largest:
        raise ProblemError(
            f"{method} needs a symmetric M, got one that is not: take Lemke, LATIN, InteriorPoint or another"
        )


def _norm(M: Array) -> float:
    """|M|₂ of a symmetric matrix by power iterations, with a margin."""
    x, size = np.ones(M.shape[0]) + 0.1 * np.cos(np.arange(M.shape[0])), 0.0
    for _ in range(POWERS):
        pushed = M @ (x / _length(x))
        size = max(size, _length(pushed))
        if size == 0.0:
            return 0.0
        x = pushed
    return MARGIN * size


def _length(x: Array) -> float:
    return math.sqrt(float(x @ x))
