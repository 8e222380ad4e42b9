"""Interior-point method on the friction cones; where it stagnates, proximal steps follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.linalg.multifrontal import SingularMatrix
from clapas.problems.contact import ContactProblem
from clapas.solvers.contact_system import contact_system
from clapas.solvers.convex.base import ConvexProblem
from clapas.solvers.interior_point.convex import ConvexInteriorPoint
from clapas.solvers.interior_point.path import Path
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.solvers.proximal_point import ProximalPoint
from clapas.status import Status
from clapas.typing import Array

__all__ = ["ConvexInteriorPoint", "InteriorPoint"]

NEAR = 0.1  # residual of a guess below which the path starts near it
WORTH = 0.5  # factor by which the residual must decrease ...
PATIENCE = 30  # ... within this number of steps
# The path at s = 0. On 16 published files and 52 structures (``benchmarks.structures``) it converges in 7 to
# 17 steps where all is at rest. A ratio of 0.5 wastes the fewest steps where something slides (0.01: 6 %
# more steps in all, 0.1: 3 %); with 1 it ends too early and the walls take two to three times as long.
AT_REST = 20  # largest number of steps
SLIDES = 0.5  # residual at s = 0 relative to Coulomb's, below which the difference is due to sliding


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(IterativeSolver):
    """Interior-point method: all contacts at once, inside the cones; some twenty factorisations.

    In scaled variables x (impulse) and y (shifted velocity ũ) Coulomb's law is x∘y = 0 on the Lorentz cone,
    with the Jordan product. The method follows the path x∘y = σ e to σ = 0 by Newton steps with predictor and
    corrector, the sliding speed s = |u_T| being one of the unknowns: it replaces the inner and
    outer loop of Cadoux's fixed point on s. From a cold start it first keeps s = 0, as if nothing slid: a
    structure at rest is solved by this convex problem, in some ten steps, where the coupled path may stall
    because slip appears along it that is absent at the end. See :mod:`clapas.solvers.interior_point.path`;
    with ``ConicFixedPoint(inner=ConvexInteriorPoint())`` the two loops are separate.

    Where steps become short (with friction the path may turn, or end) the proximal point method continues
    from the best point.

    The method for high accuracy on walls, stacks and packings: the number of steps hardly depends on size,
    conditioning or hyperstaticity, and each is one or two sparse factorisations, in the space of contacts or
    of bodies. A guess helps if its residual is below about 1e-3; the path then starts near it. For moderate
    accuracy on large packings Gauss-Seidel is cheaper. Convergence is not guaranteed.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. An iteration is one step.

    References
    ----------
    Alizadeh, Goldfarb 2003; Mehrotra 1992; Cadoux 2009, section 3.2; Acary et al. 2011.

    Examples
    --------
    The impulses that carry a wall are not unique, which slows Gauss-Seidel down but not this method.

    >>> from clapas import gallery, solve
    >>> from clapas.solvers.interior_point import InteriorPoint
    >>> solution = solve(gallery.brick_wall(4, 3).problem, InteriorPoint(tol=1e-10))
    >>> solution.status.name, solution.iterations < 30
    ('SOLVED', True)
    """

    max_iterations: int = 1000

    measures_each_iteration: ClassVar[bool] = True

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Analyse the linear system; start near the guess if it is close, else far inside the cones."""
        return _PathThenProximal(self, problem, guess)


class _PathThenProximal(Iteration):
    """Steps along the path, then those of the proximal point method."""

    def __init__(self, settings: InteriorPoint, problem: ContactProblem, guess: Array) -> None:
        self._settings, self._problem = settings, problem
        self._r = self._best = guess
        self._residual = self._best_residual = problem.residual(guess)
        self._milestone = np.inf
        self._failures = 0
        self._proximal: Iteration | None = None
        system = contact_system(problem)
        self._path: Path | None = Path(problem, system)
        self._rest: Path | None = None
        if self._best_residual <= NEAR:
            self._path.begin(guess, depth=self._best_residual)
        else:
            self._rest = Path(problem, system, frozen=problem.q)
            self._at_rest = ConvexProblem.conic(problem, np.zeros(problem.n_contacts))
            self._steps_at_rest = 0

    def impulses(self) -> Array:
        """The current impulses."""
        return self._r

    def advance(self, count: int) -> None:
        """Do ``count`` steps."""
        for _ in range(count):
            if self._rest is not None and self._step_at_rest(self._rest):
                continue
            if self._path is None or not self._coupled_step(self._path):
                self._proximal_step()

    def _step_at_rest(self, path: Path) -> bool:
        """Do a step at s = 0; False if this phase has ended.

        It ends where most of the residual is due to sliding, which it ignores. The coupled path then
        starts from far inside the cones: from the end of this one it takes as long.
        """
        is_due_to_sliding = self._at_rest.residual(self._r) <= SLIDES * self._residual
        if self._steps_at_rest == AT_REST or is_due_to_sliding or not self._step(path):
            self._rest = None
            return False
        self._steps_at_rest += 1
        return True

    def _step(self, path: Path) -> bool:
        """Do a step along a path and measure the result; False if the path is stuck."""
        if path.is_stuck:
            return False
        try:
            path.advance()
        except SingularMatrix:
            return False
        self._r = path.r
        self._residual = self._problem.residual(self._r)
        if self._residual < self._best_residual:
            self._best, self._best_residual = self._r, self._residual
        return True

    def _coupled_step(self, path: Path) -> bool:
        """Do a step with s as an unknown; False without further progress."""
        if self._failures >= PATIENCE or not self._step(path):
            return False
        residual = self._residual
        if residual < WORTH * self._milestone:
            self._milestone, self._failures = residual, 0
        else:
            self._failures += 1
        return True

    def _proximal_step(self) -> None:
        """Do a proximal step from the best point of the path."""
        if self._proximal is None:
            self._path = None  # frees the memory of its factors
            self.notes = (
                f"proximal steps from a residual of {self._best_residual:.1e}, where the walk was stuck",
            )
            solver = ProximalPoint(tol=self._settings.tol)
            self._proximal = solver.start(self._problem, np.asarray(self._best))
        try:
            self._proximal.advance(1)
        except Halt:
            raise Halt(Status.STALLED) from None  # whatever the reason: both methods have failed
        finally:
            self._r = self._proximal.impulses()
