"""A merit function ½ |Φ|² of Coulomb's law minimised by BFGS, for any of its equations Φ = 0."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Iteration
from clapas.solvers.minimisation.descent import QuasiNewtonSolver
from clapas.solvers.newton.augmentation import Augmentation
from clapas.solvers.newton.maps import ContactMap, NaturalMap
from clapas.solvers.products import ScaledDelassus
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class MeritFunction(QuasiNewtonSolver):
    """Minimise ½ |Φ(u, r)|² over the impulses, u = W r + q, by BFGS.

    Φ is the natural map (De Saxcé's form) or Alart and Curnier's, in dimensionless variables and with ρ = 1
    there. The gradient is ∂Φ/∂rᵀ Φ + Wᵀ ∂Φ/∂uᵀ Φ wherever Φ is differentiable. Neither function is convex,
    and at the boundaries of its regions the gradient jumps: BFGS often ends in a local minimum or at such a
    boundary, where no descent direction is found. For comparison only: Fischer and Burmeister's
    function, whose square is smooth, has a separate solver, and Newton's method on the same Φ is faster.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    function : NaturalMap, AlartCurnierMap, JeanMoreauMap or FischerBurmeisterMap
        The equation that states the law.
    update : "auto", "bfgs" or "lbfgs"
        Keep the full inverse Hessian, or some pairs; "auto" chooses by the size.
    line_search : int
        Trials of the Wolfe line search, from the step 1.

    References
    ----------
    Cadoux 2009, section 4.3.2.

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solve(gallery.get("one-slide").problem, MeritFunction(tol=1e-8)).status.name
    'SOLVED'
    """

    function: ContactMap = field(default_factory=NaturalMap)

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Scale the problem and begin at the guess."""
        scaled = ScaledDelassus(problem)
        return self.descent(problem, guess, scaled, Merit(scaled, problem, self.function))


class Merit:
    """½ |Φ|² and its gradient, as a function of the scaled impulses, flat."""

    def __init__(self, scaled: ScaledDelassus, problem: ContactProblem, function: ContactMap) -> None:
        self.scaled, self.function, self.mu = scaled, function, problem.mu
        self.free = scaled.from_velocities(problem.q)
        ones = np.ones(problem.n_contacts)
        self.rho = Augmentation(ones, ones)

    def __call__(self, flat: Array) -> tuple[float, Array]:
        """Value and gradient at the scaled impulses."""
        x = flat.reshape(self.scaled.shape)
        g = self.scaled.product(x) + self.free
        value, by_u, by_r = self.function.linearise(g, x, self.mu, self.rho)
        by_velocity = np.einsum("nji,nj->ni", by_u, value)
        gradient = np.einsum("nji,nj->ni", by_r, value) + self.scaled.product_transposed(by_velocity)
        return 0.5 * float(np.vdot(value, value)), np.asarray(gradient).ravel()
