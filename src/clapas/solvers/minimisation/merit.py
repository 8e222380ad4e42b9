"""A merit function ½ |Φ|² of Coulomb's law minimised by BFGS, Φ being any of its equations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.solvers.minimisation.quasi_newton import QuasiNewton
from clapas.solvers.newton.augmentation import Augmentation
from clapas.solvers.newton.maps import ContactMap, NaturalMap
from clapas.solvers.products import ScaledDelassus
from clapas.status import Status
from clapas.typing import Array

LARGEST_FULL = 1500  # unknowns up to which the whole inverse Hessian is kept
MEMORY = 20


@dataclass(frozen=True, kw_only=True)
class MeritFunction(IterativeSolver):
    """Minimise ½ |Φ(u, r)|² over the impulses, u = W r + q, by BFGS.

    Φ is the natural map (De Saxcé's form) or Alart and Curnier's, in variables without unit and with ρ = 1
    there. The gradient is ∂Φ/∂rᵀ Φ + Wᵀ ∂Φ/∂uᵀ Φ wherever Φ is differentiable. Neither function is convex,
    and on the borders of its regions the gradient jumps: BFGS often ends in a local minimum or at such a
    border, where no descent direction is found. It is here to be compared with: Fischer and Burmeister's
    function, whose square is smooth, has a solver of its own, and Newton's method on the same Φ is faster.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    function : NaturalMap, AlartCurnierMap, JeanMoreauMap or FischerBurmeisterMap
        The equation that states the law.
    update : "auto", "bfgs" or "lbfgs"
        Keep the whole inverse Hessian, or some pairs; "auto" goes by the size.
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
    update: Literal["auto", "bfgs", "lbfgs"] = "auto"
    line_search: int = 12

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.update not in ("auto", "bfgs", "lbfgs"):
            raise SettingsError(f"update must be 'auto', 'bfgs' or 'lbfgs', got '{self.update}'")
        if self.line_search < 1:
            raise SettingsError(f"line_search must be at least 1, got {self.line_search}")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Scale the problem and begin at the guess."""
        small = problem.n_contacts * problem.d <= LARGEST_FULL
        full = self.update == "bfgs" or (self.update == "auto" and small)
        return _Descent(problem, guess, self.function, None if full else MEMORY, self.line_search)


class _Descent(Iteration):
    def __init__(
        self,
        problem: ContactProblem,
        guess: Array,
        function: ContactMap,
        memory: int | None,
        line_search: int,
    ) -> None:
        self.scaled = ScaledDelassus(problem)
        self.free = self.scaled.from_velocities(problem.q)
        self.function, self.mu = function, problem.mu
        ones = np.ones(problem.n_contacts)
        self.rho = Augmentation(ones, ones)
        x = self.scaled.from_impulses(guess).ravel()
        self.search = QuasiNewton(self.merit, x, memory, line_search)

    def impulses(self) -> Array:
        """The impulses of the current point."""
        return self.scaled.to_impulses(self.search.x.reshape(self.scaled.shape))

    def advance(self, count: int) -> None:
        """One iteration is one line search."""
        for _ in range(count):
            if not self.search.descend():
                raise Halt(Status.STALLED)

    def merit(self, flat: Array) -> tuple[float, Array]:
        """Value and gradient at the scaled impulses."""
        x = flat.reshape(self.scaled.shape)
        g = self.scaled.product(x) + self.free
        value, by_u, by_r = self.function.linearise(g, x, self.mu, self.rho)
        pulled = np.einsum("nji,nj->ni", by_u, value)
        gradient = np.einsum("nji,nj->ni", by_r, value) + self.scaled.product_transposed(pulled)
        return 0.5 * float(np.vdot(value, value)), np.asarray(gradient).ravel()
