"""Proximal point method: solve with a compliance at the contacts, re-centre it, and reduce it.

The compliance is the only parameter, and the known weak point of the method: if too small, the
inner problem is as hard as the whole; if too large, convergence is very slow. The rule here follows from what
a step does. A proximal step with compliance α ends where the law holds at velocities g + α (x⁺ − x): the
violation at x, |Φ(x)|, is balanced by the change of the impulses,

    α |x⁺ − x| ≈ |Φ(x)|.

So α determines by how much the impulses may change, and the natural scale for a change of impulses is the
impulses themselves. Allowing changes of a fraction 1/κ of them gives

    α = κ |Φ(x)| / |x|,

a dimensionless rule (α is a flexibility, relative to that of each contact), which
tends to zero with the residual, so that the convergence is superlinear, and which has the right size
from any guess. κ ≥ 1 is adapted to the inner method: it aims at a given number of Newton
steps per proximal step, and is multiplied when the inner method fails.

When the contacts no longer change their regions, Newton's method on the law itself converges at once:
it is tried after every easy step, and kept if it helps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.coulomb import natural_map
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.status import Status
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.solvers.newton.proximal_step import ProximalStep

HARDER = 4.0  # factor on κ after a failure
STIFFER = 2.0  # smallest factor on α after a failure
LARGEST_DROP = 0.03  # of α, from one step to the next
FASTEST, SLOWEST = 0.3, 2.0  # bounds on the change of κ after a success
CLOSE = 1e-2  # residual below which the final Newton steps are tried
EASY = 5  # Newton steps of a proximal step after which they are tried
POLISHING_STEPS = 6
POLISHING_TERM = 1e-9
WORTH = 0.3  # factor by which they must reduce the residual to be kept
HOPELESS = 60  # proximal steps without halving the residual after which the method stops


@dataclass(frozen=True, kw_only=True)
class ProximalPoint(IterativeSolver):
    """Proximal point method with an inner Newton method, for walls, towers and stacks.

    Each proximal step solves Coulomb's problem with a compliance α_k added at every contact, centred at the
    last impulses,

        u = W r + q + α_k D (r − r_k),      D = diag(λ_i), the response of contact i to itself,

    by a Newton method in which the law is single-valued, and takes its solution as r_{k+1}. The added
    term vanishes in the limit: the solution is that of the problem itself. It makes the inner problem
    regular where W is singular, as in all hyperstatic structures.

    Suits hyperstatic rigid structures and tight tolerances, where Gauss-Seidel is very slow. Each iteration
    factorises a sparse matrix; for large packings at moderate accuracy sweeps are faster.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. An iteration is one Newton step, that is one factorisation.
    inner_accuracy : float
        Accuracy of each proximal problem, relative to the velocity its compliance adds.
    inner_steps : int
        Target number of Newton steps per proximal step: the compliance decreases faster when fewer are
        needed.
    caution : float
        κ at the start: the impulses may change by about 1/κ of their size per proximal step.

    References
    ----------
    Rockafellar 1976 (the method); Acary, Brémond, Huber 2018 (on Coulomb's problem,
    where it is the best at tight tolerance).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> from clapas.solvers.proximal_point import ProximalPoint
    >>> solution = solve(gallery.brick_wall(4, 3).problem, ProximalPoint(tol=1e-10))
    >>> solution.status.name
    'SOLVED'
    """

    max_iterations: int = 3000
    inner_accuracy: float = 0.1
    inner_steps: int = 5
    caution: float = 1.0

    measures_each_iteration: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.inner_accuracy < 1:
            raise SettingsError(f"inner_accuracy must be between 0 and 1, got {self.inner_accuracy}")
        if self.inner_steps < 1:
            raise SettingsError(f"inner_steps must be at least 1, got {self.inner_steps}")
        if not 1 <= self.caution < np.inf:
            raise SettingsError(f"caution must be at least 1, got {self.caution}")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Prepare the equations of a problem, from a guess (n, d)."""
        return _ProximalIteration(self, problem, guess)


class _ProximalIteration(Iteration):
    """Proximal steps on one problem, in dimensionless variables."""

    def __init__(self, settings: ProximalPoint, problem: ContactProblem, guess: Array) -> None:
        # Kernels are imported here so that naming a solver does not load the compiler.
        from clapas.solvers.newton.equations import Equations

        self._settings = settings
        self._equations = Equations(problem)
        self._x = self._current = self._equations.scaled.from_impulses(guess)
        self._violation = self._residual(self._x)
        self._caution = settings.caution
        self._alpha: float | None = None
        self._steps = self._run()

    def impulses(self) -> Array:
        """The current iterate r."""
        return self._equations.scaled.to_impulses(self._current)

    def advance(self, count: int) -> None:
        """Do ``count`` Newton steps."""
        for _ in range(count):
            next(self._steps)

    def _run(self) -> Iterator[None]:
        """Generator of proximal steps, which yields after each factorisation."""
        from clapas.solvers.newton.proximal_step import ProximalStep

        best, since = self._violation, 0
        while True:
            step = ProximalStep(self._equations, self._x, self._compliance(), self._settings.inner_accuracy)
            for _ in step.run():
                self._keep_best(*step.candidates)
                yield
            if not step.steps:
                raise Halt(Status.NUMERICAL_ERROR)
            self._update(step)
            if step.is_solved and self._violation < CLOSE and step.steps <= EASY:
                yield from self._polish(step.alpha)
            best, since = (self._violation, 0) if self._violation < 0.5 * best else (best, since + 1)
            if since >= HOPELESS:
                raise Halt(Status.STALLED)

    def _compliance(self) -> float:
        """α = κ |Φ| / |x|, limited after a success, increased after a failure of the inner method."""
        violation = float(np.linalg.norm(self._law(self._x)))
        size = float(np.linalg.norm(self._x))
        alpha = self._caution * violation / max(size, violation)
        if self._alpha is not None:
            alpha = max(alpha, self._alpha)
        return alpha

    def _update(self, step: ProximalStep) -> None:
        """Accept the result of a successful step; adapt κ to its number of Newton steps."""
        if step.is_solved:
            self._x = min(step.candidates, key=self._residual)
            self._violation = self._residual(self._x)
            factor = (step.steps / self._settings.inner_steps) ** 0.5
            self._caution = max(1.0, self._caution * min(max(factor, FASTEST), SLOWEST))
            self._alpha = LARGEST_DROP * step.alpha
        else:
            self._caution *= HARDER
            self._alpha = STIFFER * step.alpha

    def _polish(self, alpha: float) -> Iterator[None]:
        """Newton's method on the law itself; kept if it reduces the residual at once."""
        from clapas.solvers.newton.augmentation import Augmentation
        from clapas.solvers.newton.maps import AlartCurnierMap

        equations, x, best = self._equations, self._x, (self._violation, self._x)
        uniform = np.full(len(x), 1.0 / alpha)
        rho = Augmentation(uniform, uniform)  # the regions at the end of the proximal step
        for _ in range(POLISHING_STEPS):
            tangent = AlartCurnierMap().linearise(equations.velocity(x), x, equations.mu, rho)
            try:
                x = x + equations.solve(tangent, POLISHING_TERM, refinements=1)
            except Halt:
                break
            self._current = x
            yield
            violation = self._residual(x)
            if not violation < 10.0 * best[0]:
                break
            if violation < best[0]:
                best = violation, x
            rho = equations.augmentation(0.5)
        if best[0] < WORTH * self._violation:
            self._violation, self._x = best

    def _keep_best(self, *candidates: Array) -> None:
        self._current = min(candidates, key=self._residual)

    def _law(self, x: Array) -> Array:
        equations = self._equations
        return natural_map(equations.velocity(x), x, equations.mu, np.ones(len(x)))

    def _residual(self, x: Array) -> float:
        """The residual of the problem, from the dimensionless variables."""
        return self._equations.scaled.size(self._law(x))
