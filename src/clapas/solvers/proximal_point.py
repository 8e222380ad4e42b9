"""Proximal point: give the contacts a compliance, solve, move it, and make it smaller.

The compliance is the one thing to choose, and the published weak point of the method: too small and the
inner problem is as hard as the whole, too large and the impulses crawl. The rule here follows from what a
step does. A proximal step with compliance α ends where the law holds at velocities g + α (x⁺ − x): what was
missed at x, |Φ(x)|, is paid by the change of the impulses,

    α |x⁺ − x| ≈ |Φ(x)|.

So α says by how much the impulses may change, and the only scale there is for a change of impulses is the
impulses themselves. Allowing changes of a fraction 1/κ of them gives

    α = κ |Φ(x)| / |x|,

a rule without unit (α is a flexibility, measured contact by contact in that of the contact itself), which
tends to zero with the residual, so that the convergence is superlinear, and which starts where it should
from any guess. κ ≥ 1 is adapted to what the inner method can bear: it aims at a given number of Newton
steps per proximal step, and is multiplied when the inner method fails.

When the contacts no longer change their regions, Newton's method on the law itself ends the work at once:
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

HARDER = 4.0  # by what κ is multiplied after a failure
STIFFER = 2.0  # by what α is multiplied at least after a failure
LARGEST_DROP = 0.03  # of α, from one step to the next
FASTEST, SLOWEST = 0.3, 2.0  # bounds on the change of κ after a success
CLOSE = 1e-2  # residual below which the final Newton steps are tried
EASY = 5  # Newton steps of a proximal step after which they are tried
POLISHING_STEPS = 6
POLISHING_TERM = 1e-9
WORTH = 0.3  # what they must make of the residual to be kept
HOPELESS = 60  # proximal steps without halving the residual after which the method gives up


@dataclass(frozen=True, kw_only=True)
class ProximalPoint(IterativeSolver):
    """Proximal point method with Newton's method inside: the one for walls, towers and stacks.

    Each proximal step solves Coulomb's problem with a compliance α_k added at every contact, centred at the
    last impulses,

        u = W r + q + α_k D (r − r_k),      D = diag(λ_i), the response of contact i to itself,

    by a Newton method in which the law has become single-valued, and takes its answer as r_{k+1}. The added
    term vanishes in the limit: the solution is that of the problem itself. It makes the inner problem
    regular where W is singular, as in all structures with more contacts than they need.

    Suits hyperstatic rigid structures and tight tolerances, where Gauss-Seidel crawls. Each iteration
    factorises a sparse matrix; for large packings at moderate accuracy sweeps are faster.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. An iteration is one Newton step, that is one factorisation.
    inner_accuracy : float
        How well each proximal problem is solved, relative to the velocity its compliance adds.
    inner_steps : int
        Newton steps per proximal step to aim at: the compliance shrinks faster when fewer are needed.
    caution : float
        κ at the start: the impulses may change by about 1/κ of their size per proximal step.

    References
    ----------
    Rockafellar 1976 (the method); Acary, Brémond, Huber 2018 (on Coulomb's problem,
    where it is found the best at tight tolerance).

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
    """Proximal steps on one problem, in variables without unit."""

    def __init__(self, settings: ProximalPoint, problem: ContactProblem, guess: Array) -> None:
        # Kernels are imported here so that naming a solver does not load the compiler.
        from clapas.solvers.newton.equations import Equations

        self._settings = settings
        self._equations = Equations(problem)
        self._x = self._shown = self._equations.scaled.from_impulses(guess)
        self._missed = self._residual(self._x)
        self._caution = settings.caution
        self._alpha: float | None = None
        self._steps = self._run()

    def impulses(self) -> Array:
        """The current iterate r."""
        return self._equations.scaled.to_impulses(self._shown)

    def advance(self, count: int) -> None:
        """Do ``count`` Newton steps."""
        for _ in range(count):
            next(self._steps)

    def _run(self) -> Iterator[None]:
        """Proximal steps for ever, with a pause after each factorisation."""
        from clapas.solvers.newton.proximal_step import ProximalStep

        best, since = self._missed, 0
        while True:
            step = ProximalStep(self._equations, self._x, self._compliance(), self._settings.inner_accuracy)
            for _ in step.run():
                self._show(*step.candidates)
                yield
            if not step.steps:
                raise Halt(Status.NUMERICAL_ERROR)
            self._learn(step)
            if step.is_solved and self._missed < CLOSE and step.steps <= EASY:
                yield from self._polish(step.alpha)
            best, since = (self._missed, 0) if self._missed < 0.5 * best else (best, since + 1)
            if since >= HOPELESS:
                raise Halt(Status.STALLED)

    def _compliance(self) -> float:
        """α = κ |Φ| / |x|, without falling too fast or staying where the inner method just failed."""
        missed = float(np.linalg.norm(self._law(self._x)))
        size = float(np.linalg.norm(self._x))
        wanted = self._caution * missed / max(size, missed)
        if self._alpha is not None:
            wanted = max(wanted, self._alpha)
        return wanted

    def _learn(self, step: ProximalStep) -> None:
        """Accept the result of a step that succeeded; adapt κ to how hard it was."""
        if step.is_solved:
            self._x = min(step.candidates, key=self._residual)
            self._missed = self._residual(self._x)
            pace = (step.steps / self._settings.inner_steps) ** 0.5
            self._caution = max(1.0, self._caution * min(max(pace, FASTEST), SLOWEST))
            self._alpha = LARGEST_DROP * step.alpha
        else:
            self._caution *= HARDER
            self._alpha = STIFFER * step.alpha

    def _polish(self, alpha: float) -> Iterator[None]:
        """Newton's method on the law itself; kept if it brings the residual down at once."""
        from clapas.solvers.newton.augmentation import Augmentation
        from clapas.solvers.newton.maps import AlartCurnierMap

        equations, x, best = self._equations, self._x, (self._missed, self._x)
        every = np.full(len(x), 1.0 / alpha)
        rho = Augmentation(every, every)  # the regions in which the proximal step ended
        for _ in range(POLISHING_STEPS):
            tangent = AlartCurnierMap().linearise(equations.velocity(x), x, equations.mu, rho)
            try:
                x = x + equations.solve(tangent, POLISHING_TERM, refinements=1)
            except Halt:
                break
            self._shown = x
            yield
            missed = self._residual(x)
            if not missed < 10.0 * best[0]:
                break
            if missed < best[0]:
                best = missed, x
            rho = equations.augmentation(0.5)
        if best[0] < WORTH * self._missed:
            self._missed, self._x = best

    def _show(self, *candidates: Array) -> None:
        self._shown = min(candidates, key=self._residual)

    def _law(self, x: Array) -> Array:
        equations = self._equations
        return natural_map(equations.velocity(x), x, equations.mu, np.ones(len(x)))

    def _residual(self, x: Array) -> float:
        """The residual of the problem, from the variables without unit."""
        return self._equations.scaled.size(self._law(x))
