"""Interior-point method: follow the central path z_i w_i = τ → 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from clapas.linalg.lu import Solve, lu
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.polishing import polished
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array

TO_BOUNDARY = 0.995  # fraction of the step to the boundary
NEAR = 1e-6  # mean product z w below which the active set is tried
NEAREST = 1e-5  # least z_i w_i relative to the mean, and least gap relative to the defect
DECREASE = 0.01  # of the gap by a full step
DEFECT_DECREASE = 0.1  # of the defect by a step that may raise the gap: solutions may be large
SMALLEST_SHARE = 1e-12  # of the defect, below which its decrease does not count
PATIENCE = 30  # steps within which the gap or the defect must have halved
CORRECTED_TRIES, PLAIN_TRIES = 3, 30  # step lengths tried for the two directions


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(IterativeSolver):
    """Predictor and corrector steps of Mehrotra on w = M z + q, z_i w_i = τ, from z, w > 0.

    Each iteration factorises M + diag(w/z) once and solves twice: first towards τ = 0, then towards the τ
    that the first step allows, with its second-order error. That step is taken if it stays near the path
    (all z_i w_i comparable) and lowers their mean, or the defect of the equations; otherwise a plain
    one towards half the mean is, shortened until it does, as the proof of convergence requires (Zhang
    1994). Some ten to thirty iterations whatever the size and the conditioning.

    For monotone problems (M positive semidefinite, symmetric or not), P-matrices, and often beyond; sparse
    matrices stay sparse. A guess does not help. The result is polished on its active set.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.

    References
    ----------
    Mehrotra 1992; Zhang 1994; Kojima, Megiddo, Noma, Yoshise 1991; Wright 1997, chapter 8.

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), InteriorPoint()).z.round(6)
    array([1.333333, 2.333333])
    """

    max_iterations: int = 200

    measures_each_iteration: ClassVar[bool] = True

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Start well inside."""
        return _CentralPath(problem, guess)


class _CentralPath(LCPMethod):
    def __init__(self, problem: LCP, guess: Array) -> None:
        self.scaled = Scaled.of(problem)
        self.data = self.scaled.problem
        self.z = np.ones(problem.size)
        self.w = np.maximum(self.data.slack(self.z), 1.0)
        self.first_gap = float(np.mean(self.w))
        self.relative_defect = 1.0  # defect of w = M z + q relative to the first
        self.goal, self.remaining = 0.5, PATIENCE

    def unknowns(self) -> Array:
        """The current point, polished once it is near a solution."""
        near = float(self.z @ self.w) < NEAR * len(self.z)
        return self.scaled.back(polished(self.data, self.z) if near else self.z)

    def advance(self, count: int) -> None:
        """Do ``count`` iterations of one predictor and one corrector."""
        for _ in range(count):
            self._step()
            self._check_progress()

    def _check_progress(self) -> None:
        """Stop where neither the gap nor the defect has halved for long."""
        progress = max(self.relative_defect, float(self.z @ self.w) / len(self.z) / self.first_gap)
        self.remaining -= 1
        if progress <= self.goal:
            self.goal, self.remaining = 0.5 * progress, PATIENCE
        if self.remaining == 0:
            self.notes = ("the path leads nowhere: there is no solution, or M is not monotone",)
            raise Halt(Status.STALLED)

    def _step(self) -> None:
        z, w = self.z, self.w
        defect = self.data.slack(z) - w
        gap = float(z @ w) / len(z)
        shift = w / z
        solve = lu(self.data.M + (sparse.diags_array(shift) if self.data.is_sparse else np.diag(shift)))
        dz, dw = self._direction(solve, defect, -z * w)
        reach = min(_reach(z, dz), _reach(w, dw))
        predicted_gap = float((z + reach * dz) @ (w + reach * dw)) / len(z)
        centre = gap * min(1.0, max(predicted_gap / gap, 0.0)) ** 3
        corrected = self._direction(solve, defect, centre - z * w - dz * dw)
        if not self._move(*corrected, gap, CORRECTED_TRIES):
            plain = self._direction(solve, defect, 0.5 * gap - z * w)
            if not self._move(*plain, gap, PLAIN_TRIES):
                raise Halt(Status.STALLED)

    def _move(self, dz: Array, dw: Array, gap: float, tries: int) -> bool:
        """Take the longest step that stays near the path and lowers the gap or the defect."""
        reach = min(1.0, TO_BOUNDARY * min(_reach(self.z, dz, np.inf), _reach(self.w, dw, np.inf)))
        for _ in range(tries):
            z, w = self.z + reach * dz, self.w + reach * dw
            products, relative_defect = z * w, (1.0 - reach) * self.relative_defect
            mean = float(products.mean())
            is_near = products.min() >= NEAREST * mean and mean >= NEAREST * relative_defect * self.first_gap
            improves_defect = (
                relative_defect <= (1.0 - DEFECT_DECREASE) * self.relative_defect
                and self.relative_defect > SMALLEST_SHARE
            )
            if is_near and (improves_defect or mean <= (1.0 - DECREASE * reach) * gap):
                self.z, self.w, self.relative_defect = z, w, relative_defect
                return True
            reach *= 0.6
        return False

    def _direction(self, solve: Solve, defect: Array, products: Array) -> tuple[Array, Array]:
        """Solve M dz − dw = −defect, w dz + z dw = products; ``defect`` is M z + q − w."""
        dz = solve(products / self.z - defect)
        return dz, (products - self.w * dz) / self.z


def _reach(x: Array, dx: Array, most: float = 1.0) -> float:
    """Largest step up to ``most`` that keeps x + step dx ≥ 0."""
    falling = dx < 0.0
    return float(min(most, np.min(-x[falling] / dx[falling], initial=np.inf)))
