"""Interior point: walk through the inside of the friction cones; where stuck, finish by proximal steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.linalg.multifrontal import SingularMatrix
from clapas.problems.contact import ContactProblem
from clapas.solvers.contact_system import contact_system
from clapas.solvers.interior_point.convex import ConvexInteriorPoint
from clapas.solvers.interior_point.path import Path
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.solvers.proximal_point import ProximalPoint
from clapas.status import Status
from clapas.typing import Array

__all__ = ["ConvexInteriorPoint", "InteriorPoint"]

NEAR = 0.1  # residual of a guess from which the walk starts there
WORTH = 0.5  # what must be made of the residual ...
PATIENCE = 30  # ... within so many steps


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(IterativeSolver):
    """Interior point: all contacts at once, through the inside of the cones; some twenty factorisations.

    In scaled variables x (impulse) and y (shifted velocity ũ) Coulomb's law is x∘y = 0 on the Lorentz cone,
    with the Jordan product. The method follows the path x∘y = σ e to σ = 0 by Newton steps with predictor and
    corrector, the sliding speed s = |u_T| being one of the unknowns: Cadoux's fixed point on s, inner and
    outer loop, is one walk. See :mod:`clapas.solvers.interior_point.path`; with
    ``ConicFixedPoint(inner=ConvexInteriorPoint())`` the two loops stay apart.

    Where steps become short (with friction the path may turn, or end) the proximal point method goes on from
    the best point; there it often has little left to do.

    The method for high accuracy on walls, stacks and packings: the number of steps hardly depends on size,
    conditioning or hyperstaticity, and each is one or two sparse factorisations, in the space of contacts or
    of bodies. A guess helps from a residual of about 1e-3 on; the walk then starts near it. For moderate
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
    A wall has infinitely many ways to carry its weight, which slows Gauss-Seidel down but not this method.

    >>> from clapas import gallery, solve
    >>> from clapas.solvers.interior_point import InteriorPoint
    >>> solution = solve(gallery.brick_wall(4, 3).problem, InteriorPoint(tol=1e-10))
    >>> solution.status.name, solution.iterations < 30
    ('SOLVED', True)
    """

    max_iterations: int = 1000

    measures_each_iteration: ClassVar[bool] = True

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Analyse the linear system; begin near the guess if it is close, else far inside the cones."""
        return _Walk(self, problem, guess)


class _Walk(Iteration):
    """Steps along the path, then those of the proximal point method."""

    def __init__(self, settings: InteriorPoint, problem: ContactProblem, guess: Array) -> None:
        self._settings, self._problem = settings, problem
        self._r = self._best = guess
        self._least, self._milestone = problem.residual(guess), np.inf
        self._vain = 0
        self._finish: Iteration | None = None
        self._path: Path | None = Path(problem, contact_system(problem))
        if self._least <= NEAR:
            self._path.begin(guess, depth=self._least)

    def impulses(self) -> Array:
        """The impulses where the method stands."""
        return self._r

    def advance(self, count: int) -> None:
        """Do ``count`` steps."""
        for _ in range(count):
            if self._path is None or not self._walk(self._path):
                self._go_on()

    def _walk(self, path: Path) -> bool:
        """Make a step along the path; False where it leads no further."""
        if path.is_stuck or self._vain >= PATIENCE:
            return False
        try:
            path.advance()
        except SingularMatrix:
            return False
        self._r = path.r
        residual = self._problem.residual(self._r)
        if residual < self._least:
            self._best, self._least = self._r, residual
        if residual < WORTH * self._milestone:
            self._milestone, self._vain = residual, 0
        else:
            self._vain += 1
        return True

    def _go_on(self) -> None:
        """Make a proximal step from the best point of the walk."""
        if self._finish is None:
            self._path = None  # its factors need not stay in memory
            self.notes = (f"proximal steps from a residual of {self._least:.1e}, where the walk was stuck",)
            finish = ProximalPoint(tol=self._settings.tol)
            self._finish = finish.start(self._problem, np.asarray(self._best))
        try:
            self._finish.advance(1)
        except Halt:
            raise Halt(Status.STALLED) from None  # whatever the reason: both ways are exhausted
        finally:
            self._r = self._finish.impulses()
