"""Projected gradient with Armijo's rule: gradient step, projection, shorter step if needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.convex.first_order import REFRESH, Best, GradientMethod, GradientSettings, Quadratic
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class ProjectedGradient(GradientSettings):
    """Projected gradient with Armijo's rule along the projection arc.

        x⁺ = P_C(x − α g),   accepted when  f(x⁺) ≤ f(x) + c gᵀ(x⁺ − x);

    α is multiplied by ``shorten`` until then, and by ``lengthen`` after a step accepted at once. f is
    quadratic: a trial costs one product by W, and the gradient of the accepted point none.

    The simplest method, monotone and reliable; very slow on ill-conditioned problems. The thesis used it
    everywhere, with at most 250 iterations.

    Parameters
    ----------
    max_iterations : int
        Iterations of one minimisation.
    shorten : float
        Factor in ]0, 1[ on a rejected step.
    lengthen : float
        Factor ≥ 1 on the first trial of the next step.
    decrease : float
        The constant c of Armijo's rule, in ]0, 1[.

    References
    ----------
    Cadoux 2009, section 5.2.2 and Table 5.6; Bertsekas 1976.

    Examples
    --------
    >>> from clapas.solvers.convex import ConvexProblem
    >>> particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5])
    >>> frozen = ConvexProblem.conic(particle, np.array([2.0]))
    >>> method = ProjectedGradient().start(particle)
    >>> method.solve(frozen, np.zeros((1, 3)), accuracy=1e-12).r.round(9)
    array([[ 1.2, -0.6,  0. ]])
    """

    shorten: float = 0.5
    lengthen: float = 1.5
    decrease: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.shorten < 1:
            raise SettingsError(f"shorten must be between 0 and 1, got {self.shorten}")
        if not self.lengthen >= 1:
            raise SettingsError(f"lengthen must be at least 1, got {self.lengthen}")
        if not 0 < self.decrease < 1:
            raise SettingsError(f"decrease must be between 0 and 1, got {self.decrease}")

    def start(self, contacts: ContactProblem) -> GradientMethod:
        """Scale W; the step is kept from one minimisation to the next."""
        return _Descent(contacts, self)


class _Descent(GradientMethod):
    def __init__(self, contacts: ContactProblem, settings: ProjectedGradient) -> None:
        super().__init__(contacts, settings.max_iterations)
        self.settings = settings
        self.step = 1.0

    def minimise(self, problem: Quadratic, x: Array, best: Best) -> int:
        settings, g = self.settings, problem.gradient(x)
        for iteration in range(self.max_iterations):
            if best.add(problem.residual(x, g), x, g):
                return iteration
            trial, change = self._accepted_step(problem, x, g)
            x = trial
            g = problem.gradient(x) if iteration % REFRESH == REFRESH - 1 else g + change
            self.step *= settings.lengthen
        best.add(problem.residual(x, g), x, g)
        return self.max_iterations

    def _accepted_step(self, problem: Quadratic, x: Array, g: Array) -> tuple[Array, Array]:
        """The new point and the change of the gradient."""
        settings = self.settings
        while True:
            trial = problem.project(x - self.step * g)
            change = trial - x
            product = problem.scaled.product(change)
            curvature = float(np.vdot(change, product))
            # The descent −gᵀ(x⁺ − x), which is at least |x⁺ − x|²/α; rounding would hide it near the minimum.
            descent = max(-float(np.vdot(g, change)), float(np.vdot(change, change)) / self.step)
            if not 0.5 * curvature > (1.0 - settings.decrease) * descent:
                return trial, product
            self.step *= settings.shorten
