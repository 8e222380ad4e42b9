"""Semismooth Newton method: Coulomb's law linearised at every contact and solved for all at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.solvers.newton.augmentation import Augmentation, Elastoplastic
from clapas.solvers.newton.line_searches import Katzenelson, LineSearch, Nonmonotone
from clapas.solvers.newton.maps import (
    AlartCurnierMap,
    ContactMap,
    FischerBurmeisterMap,
    JeanMoreauMap,
    Regions,
)
from clapas.status import Status
from clapas.typing import Array

SMALLER = 0.25  # factor on the augmentation when a cycle is detected
MOST_REDUCTIONS = 12
STUCK = 30  # iterations without a better merit after which the method stops
MOST_CROSSINGS_AT_ONCE = 50  # boundaries crossed without moving before a full step is taken instead


@dataclass(frozen=True, kw_only=True)
class SemismoothNewton(IterativeSolver):
    """Generalised Newton method on Coulomb's law written as an equation.

    With Φ_i(u_i, r_i) = 0 the law at contact i (see ``function``), each iteration linearises Φ, whose
    derivatives exist almost everywhere, and solves

        ∂Φ/∂u du + ∂Φ/∂r dr = −Φ,    du = W dr

    for the change of all impulses at once; the step along it is chosen by ``line_search``. Near a solution
    the convergence is quadratic. In the plane the equations are piecewise linear (each contact open,
    sticking, sliding in either direction) and the last step is exact.

    When the iterates return to previous regions (a cycle), the augmentation ρ is reduced and a note
    gives the order of the cycle. Where W is singular a small proximal term selects one of the solutions of
    the linear equations.

    Suits small and middle-sized problems at tight tolerance, deformable bodies, and warm starts. Converges
    locally: on large rigid structures start from the impulses of another method, or take
    :class:`ProximalPoint`.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. An iteration is one factorisation.
    function : AlartCurnierMap, JeanMoreauMap, NaturalMap or FischerBurmeisterMap
        The equation that states the law. Fischer and Burmeister's is the most robust from a cold start; with
        Alart and Curnier's the last digits are reached, and plane problems end in an exact step.
    line_search : FullStep, Armijo, Nonmonotone, GoldsteinPrice or Katzenelson
        Choice of the step length.
    augmentation : float
        Initial ρ as a fraction of Alart's bound (74), computed for each contact from its block of W.
        Cycles are excluded for a single contact below 1.
    safeguard : Elastoplastic, optional
        Yielding material: keeps ρ below Alart's bound (77) where contacts are lightly pressed.
    proximal_term : float
        Regularisation of the linear equations, relative to the diagonal of W. No unit.
    refinements : int
        Largest number of refinements of each linear solution on the equations without the proximal term.

    References
    ----------
    Alart, Curnier 1991; Alart 1997 (cycles and bounds); Cadoux 2009, sections 4.2 and 4.4; Qi, Sun 1993.

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> from clapas.solvers.newton import SemismoothNewton
    >>> solution = solve(gallery.box_stack(3).problem, SemismoothNewton(tol=1e-12))
    >>> solution.status.name, solution.iterations < 10
    ('SOLVED', True)
    """

    max_iterations: int = 300
    function: ContactMap = field(default_factory=FischerBurmeisterMap)
    line_search: LineSearch | Katzenelson = field(default_factory=Nonmonotone)
    augmentation: float = 0.5
    safeguard: Elastoplastic | None = None
    proximal_term: float = 1e-9
    refinements: int = 2

    measures_each_iteration: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.augmentation < np.inf:
            raise SettingsError(f"augmentation must be positive, got {self.augmentation}")
        if not 0 < self.proximal_term < 1:
            raise SettingsError(f"proximal_term must be between 0 and 1, got {self.proximal_term}")
        if self.refinements < 0:
            raise SettingsError(f"refinements must be at least 0, got {self.refinements}")
        has_regions = isinstance(self.function, AlartCurnierMap | JeanMoreauMap)
        if isinstance(self.line_search, Katzenelson) and not has_regions:
            raise SettingsError(
                "line_search=Katzenelson() needs a function that is linear by regions, AlartCurnierMap() or "
                f"JeanMoreauMap(), got {self.function}"
            )

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Prepare the equations of a problem, from a guess (n, d)."""
        return _SemismoothIteration(self, problem, guess)


class _SemismoothIteration(Iteration):
    """Newton's iterates on one problem, in dimensionless variables."""

    def __init__(self, settings: SemismoothNewton, problem: ContactProblem, guess: Array) -> None:
        # Kernels are imported here so that naming a solver does not load the compiler.
        from clapas.solvers.newton.cycles import CycleWatch
        from clapas.solvers.newton.equations import Equations
        from clapas.solvers.newton.katzenelson import Borders, require_piecewise_linear

        self._settings = settings
        self._borders: Borders | None = None
        if isinstance(settings.line_search, Katzenelson):
            require_piecewise_linear(problem)
            self._borders = Borders(settings.function, problem.mu)
        self._equations = Equations(problem)
        self._fraction = settings.augmentation
        self._x = self._equations.scaled.from_impulses(guess)
        self._rho = self._augmentation()
        self._g = self._equations.velocity(self._x)
        self._cycles, self._reductions = CycleWatch(), 0
        self._merits = [self._merit(self._g, self._x)]
        self._stagnant = 0

    def impulses(self) -> Array:
        """The current iterate r."""
        return self._equations.scaled.to_impulses(self._x)

    def advance(self, count: int) -> None:
        """Do ``count`` Newton steps."""
        for _ in range(count):
            self._step()

    def _step(self) -> None:
        x = self._x
        if self._borders is None:
            self._move_by_search()
        else:
            self._move_to_border()
        self._g = self._equations.velocity(self._x)
        self._merits.append(self._merit(self._g, self._x))
        if not np.isfinite(self._merits[-1]):
            self._x = x
            raise Halt(Status.NUMERICAL_ERROR)
        self._stop_if_stuck()

    def _move_by_search(self) -> None:
        search, function = self._settings.line_search, self._settings.function
        assert not isinstance(search, Katzenelson)
        if self._settings.safeguard is not None:
            self._rho = self._augmentation()
            self._merits[-1] = self._merit(self._g, self._x)
        regions = function.regions(self._g, self._x, self._equations.mu, self._rho)
        self._break_cycle(self._cycles.order(regions, self._merits[-1]))
        dx, dg = self._direction(None)
        t = search.step(lambda t: self._merit(self._g + t * dg, self._x + t * dx), self._merits)
        self._x = self._x + t * dx

    def _move_to_border(self) -> None:
        """Cross boundaries until the iterate moves: at a corner several are crossed at one point."""
        assert self._borders is not None
        rho = self._augmentation()
        if not np.array_equal(rho.tangent, self._rho.tangent):  # the safeguard moved the boundaries
            self._rho = rho
            self._merits[-1] = self._merit(self._g, self._x)
            self._borders.forget()
        for _ in range(MOST_CROSSINGS_AT_ONCE):
            dx, dg = self._direction(self._borders.regions(self._g, self._x, self._rho))
            t = self._borders.advance(self._g, self._x, dg, dx, self._rho)
            if t > 0.0:
                break
        else:
            self._note("more than two regions meet: a full step was taken instead of stopping at the border")
            self._borders.forget()
            t = 1.0
        self._x = self._x + t * dx

    def _direction(self, regions: Regions | None) -> tuple[Array, Array]:
        """Newton's direction in impulses and velocities."""
        equations, settings = self._equations, self._settings
        tangent = settings.function.linearise(self._g, self._x, equations.mu, self._rho, regions)
        dx = equations.solve(tangent, settings.proximal_term, settings.refinements)
        return dx, equations.scaled.product(dx)

    def _augmentation(self) -> Augmentation:
        """ρ of each contact, limited by the safeguard at the current impulses."""
        rho, safeguard = self._equations.augmentation(self._fraction), self._settings.safeguard
        if safeguard is None:
            return rho
        problem = self._equations.problem
        normal = np.maximum(self.impulses()[:, 0], 0.0)
        return rho.limited(safeguard.bound(problem.mu, normal) * problem.response)

    def _merit(self, g: Array, x: Array) -> float:
        value = self._settings.function.value(g, x, self._equations.mu, self._rho)
        return 0.5 * float(np.vdot(value, value))

    def _break_cycle(self, order: int | None) -> None:
        """Break a cycle by a smaller augmentation."""
        if order is None or self._reductions == MOST_REDUCTIONS:
            return
        self._reductions += 1
        self._fraction *= SMALLER
        self._rho = self._augmentation()
        self._note(f"cycle of order {order}: augmentation reduced to {self._fraction:.2g} of Alart's bound")
        self._cycles.forget()
        self._merits = [self._merit(self._g, self._x)]
        self._stagnant = 0

    def _stop_if_stuck(self) -> None:
        best = min(self._merits[:-1])
        self._stagnant = 0 if self._merits[-1] < best else self._stagnant + 1
        if self._stagnant >= STUCK and not isinstance(self._settings.line_search, Katzenelson):
            raise Halt(Status.STALLED)

    def _note(self, text: str) -> None:
        self.notes = (*self.notes, text)
