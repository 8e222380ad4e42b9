"""Fischer-Burmeister merit function minimised by BFGS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.convex.jordan import fischer_burmeister, fischer_burmeister_jacobian
from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Iteration
from clapas.solvers.minimisation.descent import QuasiNewtonSolver
from clapas.solvers.products import ScaledDelassus
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class FischerBurmeister(QuasiNewtonSolver):
    """Minimise ½ |φ|², φ the Fischer-Burmeister function of Coulomb's law, by BFGS.

    On the Lorentz cone, with x = (mu r_N, r_T), y = (ũ_N, mu ũ_T) and the Jordan product ∘,

        φ(x, y) = x + y − √(x∘x + y∘y)

    vanishes exactly where the law K* ∋ ũ ⟂ r ∈ K holds (for mu = 0 the scalar function of r_N and u_N, and
    r_T itself). Half its square is differentiable where no contact has u_T = 0, not convex, and flat.

    A reference from the literature only: very slow beyond some ten contacts, and it ends in
    local minima. The same function solved by Newton's method is another solver.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    update : "auto", "bfgs" or "lbfgs"
        Keep the full inverse Hessian, or some pairs; "auto" chooses by the size.
    line_search : int
        Trials of the Wolfe line search, from the step 1. The thesis (FB): ``update="bfgs"``, 12 trials.

    References
    ----------
    Chen, Tseng 2005; Cadoux 2009, sections 4.2.3, 4.3.2 and Table 5.6 (FB).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.get("one-slide").problem, FischerBurmeister(tol=1e-8))
    >>> solution.status.name
    'SOLVED'
    """

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Scale the problem and begin at the guess."""
        scaled = ScaledDelassus(problem)
        return self.descent(problem, guess, scaled, Merit(scaled, problem))


class Merit:
    """½ |φ|² and its gradient, as a function of the scaled impulses, flat."""

    def __init__(self, scaled: ScaledDelassus, problem: ContactProblem) -> None:
        self.scaled = scaled
        self.free = scaled.from_velocities(problem.q)
        self.mu = problem.mu
        self.smooth = problem.mu == 0.0
        # (mu, 1, 1) and (1, mu, mu), both divided by max(1, mu), which does not change the cone.
        limit = np.maximum(1.0, problem.mu)[:, None]
        self.of_r = np.ones(scaled.shape) / limit
        self.of_r[:, 0] *= problem.mu
        self.of_u = np.ones(scaled.shape) / limit
        self.of_u[:, 1:] *= problem.mu[:, None]

    def __call__(self, flat: Array) -> tuple[float, Array]:
        """Value and gradient."""
        x = flat.reshape(self.scaled.shape)
        u = self.scaled.product(x) + self.free
        slip = np.linalg.norm(u[:, 1:], axis=1)
        direction = u[:, 1:] / np.where(slip > 0.0, slip, 1.0)[:, None]
        shifted = u.copy()
        shifted[:, 0] += self.mu * slip
        phi, by_r, by_u = self._function(x, shifted)
        by_velocity = np.einsum("nji,nj->ni", by_u, phi)
        by_velocity[:, 1:] += direction * (self.mu * by_velocity[:, 0])[:, None]  # through mu |u_T|
        gradient = np.einsum("nji,nj->ni", by_r, phi) + self.scaled.product_transposed(by_velocity)
        return 0.5 * float(np.vdot(phi, phi)), np.asarray(gradient).ravel()

    def _function(self, x: Array, shifted: Array) -> tuple[Array, Array, Array]:
        """φ (n, d) and its derivatives with respect to x and to the shifted velocity, (n, d, d)."""
        n, d = x.shape
        rough, smooth = ~self.smooth, self.smooth
        phi = x.copy()
        by_r, by_u = np.tile(np.eye(d), (n, 1, 1)), np.zeros((n, d, d))
        scaled_r, scaled_u = self.of_r[rough] * x[rough], self.of_u[rough] * shifted[rough]
        phi[rough] = fischer_burmeister(scaled_r, scaled_u)
        by_x, by_y = fischer_burmeister_jacobian(scaled_r, scaled_u)
        by_r[rough] = by_x * self.of_r[rough][:, None, :]
        by_u[rough] = by_y * self.of_u[rough][:, None, :]
        a, b = x[smooth, 0], shifted[smooth, 0]
        root = np.hypot(a, b)
        safe = np.where(root > 0.0, root, 1.0)
        phi[smooth, 0] = a + b - root
        by_r[smooth, 0, 0] = 1.0 - a / safe
        by_u[smooth, 0, 0] = 1.0 - b / safe
        return phi, by_r, by_u
