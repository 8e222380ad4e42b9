"""Spectral projected gradient (Barzilai-Borwein): steps of the inverse of the last curvature."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.convex.first_order import REFRESH, Best, GradientMethod, GradientSettings, Quadratic
from clapas.typing import Array

SHORTEST, LONGEST = 1e-5, 1e5  # steps in dimensionless variables
DECREASE = 1e-4


@dataclass(frozen=True, kw_only=True)
class SpectralGradient(GradientSettings):
    """Spectral projected gradient: Barzilai and Borwein's step, nonmonotone line search.

        d = P_C(x − α g) − x,   x⁺ = x + t d,   α⁺ = |d|² / dᵀW̃d, the inverse of the curvature,

    t ≤ 1 such that f(x⁺) is below the largest of the last ``memory`` values. One product by W per
    iteration. The energy may increase: this makes the method fast.

    Cheap steps, and on well-conditioned problems few of them; where the impulses are not unique
    :class:`AcceleratedGradient` is faster.

    Parameters
    ----------
    max_iterations : int
        Iterations of one minimisation.
    memory : int
        Number of past values of f that the new one is compared with; 1 makes the descent monotone, and slow.

    References
    ----------
    Barzilai, Borwein 1988; Birgin, Martínez, Raydan 2000.

    Examples
    --------
    >>> from clapas.solvers.convex import ConvexProblem
    >>> particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5])
    >>> frozen = ConvexProblem.conic(particle, np.array([2.0]))
    >>> method = SpectralGradient().start(particle)
    >>> method.solve(frozen, np.zeros((1, 3)), accuracy=1e-12).r.round(9)
    array([[ 1.2, -0.6,  0. ]])
    """

    memory: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory < 1:
            raise SettingsError(f"memory must be at least 1, got {self.memory}")

    def start(self, contacts: ContactProblem) -> GradientMethod:
        """Scale W; the step is kept from one minimisation to the next."""
        return _Descent(contacts, self)


class _Descent(GradientMethod):
    def __init__(self, contacts: ContactProblem, settings: SpectralGradient) -> None:
        super().__init__(contacts, settings.max_iterations)
        self.memory = settings.memory
        self.step = 1.0

    def minimise(self, problem: Quadratic, x: Array, best: Best) -> int:
        g = problem.gradient(x)
        values = deque([problem.value(x, g)], maxlen=self.memory)
        for iteration in range(self.max_iterations):
            if best.add(problem.residual(x, g), x, g):
                return iteration
            d = problem.project(x - self.step * g) - x
            product = problem.scaled.product(d)
            slope, curvature = float(np.vdot(g, d)), float(np.vdot(d, product))
            t = _step_length(slope, curvature, values)
            x = x + t * d
            g = problem.gradient(x) if iteration % REFRESH == REFRESH - 1 else g + t * product
            values.append(values[-1] + t * slope + 0.5 * t * t * curvature)
            self.step = _spectral_step(d, curvature, self.step)
        best.add(problem.residual(x, g), x, g)
        return self.max_iterations


def _step_length(slope: float, curvature: float, values: deque[float]) -> float:
    """1 if the value stays below the largest remembered, else the minimum along the segment."""
    allowed = max(values) - values[-1]
    if slope + 0.5 * curvature <= allowed + DECREASE * slope or not curvature > 0.0:
        return 1.0
    return min(1.0, -slope / curvature)


def _spectral_step(d: Array, curvature: float, last: float) -> float:
    """The inverse of the curvature along d, |d|²/dᵀW̃d."""
    if not curvature > 0.0:
        return min(10.0 * last, LONGEST)  # a direction in the kernel of W
    return min(max(float(np.vdot(d, d)) / curvature, SHORTEST), LONGEST)
