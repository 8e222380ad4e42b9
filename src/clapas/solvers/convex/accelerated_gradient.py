"""Accelerated projected gradient (Nesterov's), with restarts: gradient steps with momentum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.convex.first_order import Best, GradientMethod, GradientSettings, Quadratic
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class AcceleratedGradient(GradientSettings):
    """Accelerated projected gradient descent (APGD): Nesterov's momentum with adaptive restart.

        x⁺ = P_C(y − g(y)/L),   y⁺ = x⁺ + β (x⁺ − x),   β from  θ⁺² = (1 − θ⁺) θ²;

    the momentum is dropped (θ = 1) when it points uphill, g(y)ᵀ(x⁺ − x) > 0. The constant L is doubled
    until the quadratic is below its bound at x⁺, and lowered a little after each step.

    Good on badly conditioned problems with moderate accuracy; two products by W per step.

    Parameters
    ----------
    max_iterations : int
        Iterations of one minimisation.
    relax : float
        Factor in ]0, 1] on L after a step: lets it follow the local curvature.

    References
    ----------
    Nesterov 1983; O'Donoghue, Candès 2015 (the restart); Mazhar, Heyn, Negrut, Tasora 2015 (contact).

    Examples
    --------
    >>> from clapas.solvers.convex import ConvexProblem
    >>> particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5])
    >>> frozen = ConvexProblem.conic(particle, np.array([2.0]))
    >>> method = AcceleratedGradient().start(particle)
    >>> method.solve(frozen, np.zeros((1, 3)), accuracy=1e-12).r.round(9)
    array([[ 1.2, -0.6,  0. ]])
    """

    relax: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.relax <= 1:
            raise SettingsError(f"relax must be in ]0, 1], got {self.relax}")

    def start(self, contacts: ContactProblem) -> GradientMethod:
        """Scale W; the constant L is kept from one minimisation to the next."""
        return _Descent(contacts, self)


class _Descent(GradientMethod):
    def __init__(self, contacts: ContactProblem, settings: AcceleratedGradient) -> None:
        super().__init__(contacts, settings.max_iterations)
        self.relax = settings.relax
        self.bound = 1.0  # L

    def minimise(self, problem: Quadratic, x: Array, best: Best) -> int:
        g = problem.gradient(x)
        y, g_y, theta = x, g, 1.0
        for iteration in range(self.max_iterations):
            if best.add(problem.residual(x, g), x, g):
                return iteration
            trial, change = self._bounded_step(problem, y, g_y)
            uphill = float(np.vdot(g_y, trial - x)) > 0.0
            if uphill and theta < 1.0:
                y, g_y, theta = x, g, 1.0
                continue
            g_trial = g_y + change if theta == 1.0 else problem.gradient(trial)
            next_theta = 0.5 * theta * (math.sqrt(theta * theta + 4.0) - theta)
            momentum = theta * (1.0 - theta) / (theta * theta + next_theta)
            # g is affine: the gradient at y⁺ follows from those at x and x⁺.
            y, g_y = trial + momentum * (trial - x), g_trial + momentum * (g_trial - g)
            x, g, theta = trial, g_trial, next_theta
            self.bound *= self.relax
        best.add(problem.residual(x, g), x, g)
        return self.max_iterations

    def _bounded_step(self, problem: Quadratic, y: Array, g_y: Array) -> tuple[Array, Array]:
        """A step with xᵀW̃x ≤ L |x|² along it: the new point and the change of the gradient."""
        while True:
            trial = problem.project(y - g_y / self.bound)
            change = trial - y
            product = problem.scaled.product(change)
            if not float(np.vdot(change, product)) > self.bound * float(np.vdot(change, change)):
                return trial, product
            self.bound *= 2.0
