"""Conjugate projected gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.gauss_seidel import is_symmetric
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.polishing import Polished
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.lcp.splitting import SymmetricMethod, SymmetricSteps, norm
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array

FARTHEST = 1e9  # unknowns, in the scaled problem, beyond which rounding hides all slacks


@dataclass(frozen=True, kw_only=True)
class ConjugateProjectedGradient(IterativeSolver):
    """Conjugate projected gradient (Renouf and Alart): conjugate directions on the unknowns that are free.

    With g = −(M z + q) and P_T the projection on the directions that keep z ≥ 0,

        α = g·p / p·M p,    z ← max(0, z + α p),    p ← P_T(g) + β P_T(p),    β = −P_T(g)·M p / p·M p.

    A step that the projection undoes by more than the fraction ``slack``, or that raises ½ zᵀM z + qᵀz, is
    replaced by a gradient step of safe length 1/|M|, without which the method may cycle.

    For symmetric positive semidefinite M: one product by M per iteration and few iterations, the method for
    large problems. For symmetric strictly copositive M it converges to one of the solutions, the stationary
    points. Where M is not symmetric it solves the symmetric problems of
    :mod:`clapas.solvers.lcp.splitting`, which lead to a solution for every positive semidefinite M; on
    others they may cycle. Once the active set has settled its equations are solved (``polish``).

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    slack : float
        Fraction of a step that the projection may undo; infinity gives the published method.
    polish : bool
        Solve the equations of a settled active set; False gives the plain steps.

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
    polish: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.slack >= 0:
            raise SettingsError(f"slack must be at least 0, got {self.slack}")

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Start along the gradient at the guess."""
        method: LCPMethod = (
            _Conjugate(problem, guess, self.slack)
            if is_symmetric(problem)
            else SymmetricSteps(problem, guess, lambda part, near: _Conjugate(part, near, self.slack))
        )
        return Polished(problem, method) if self.polish else method


class _Conjugate(SymmetricMethod):
    def __init__(self, problem: LCP, guess: Array, slack: float) -> None:
        self.scaled, self.slack = Scaled.of(problem), slack
        self.M = self.scaled.problem.M
        self.unit_of_q = self.scaled.unit * problem.response
        self.safe = 1.0 / (norm(self.M) or 1.0)
        self.z: Array
        self.g: Array
        self.restart(problem.q, np.maximum(guess, 0.0))

    def restart(self, q: Array, z: Array) -> None:
        """Take another constant term, and start along the gradient at z ≥ 0."""
        self.q = q / self.unit_of_q
        self._move_to(self.scaled.forth(z))
        self.p = self._feasible(self.g)

    def unknowns(self) -> Array:
        """The current z ≥ 0."""
        return self.scaled.back(self.z)

    def advance(self, count: int) -> None:
        """Do ``count`` steps, conjugate or safe."""
        for _ in range(count):
            if not self._conjugate_step():
                self._move_to(np.maximum(self.z + self.safe * self.g, 0.0))
                self.p = self._feasible(self.g)
            if not _length(self.z) <= FARTHEST:
                self.notes = ("the iterates ran away: there is no solution, or M is not copositive",)
                raise Halt(Status.STALLED)

    def _conjugate_step(self) -> bool:
        product = self.M @ self.p
        curvature, slope = float(self.p @ product), float(self.g @ self.p)
        if not (curvature > 0.0 and slope > 0.0):
            return False
        trial = self.z + (slope / curvature) * self.p
        projected = np.maximum(trial, 0.0)
        if _length(projected - trial) > self.slack * _length(trial - self.z):
            return False
        previous = self.z, self.g
        self._move_to(projected)
        if math.isfinite(self.slack) and _energy(self.z, self.g, self.q) > _energy(*previous, self.q):
            self.z, self.g = previous
            return False
        free = self._feasible(self.g)
        self.p = free - (float(free @ product) / curvature) * self._feasible(self.p)
        return True

    def _move_to(self, z: Array) -> None:
        self.z, self.g = z, -(self.M @ z + self.q)

    def _feasible(self, direction: Array) -> Array:
        return np.where(self.z > 0.0, direction, np.maximum(direction, 0.0))


def _energy(z: Array, g: Array, q: Array) -> float:
    """½ zᵀM z + qᵀz, from g = −(M z + q)."""
    return 0.5 * float(z @ (q - g))


def _length(x: Array) -> float:
    return math.sqrt(float(x @ x))
