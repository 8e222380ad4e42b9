"""Smoothed Newton method: follow the solutions of a smoothed law as the smoothing decreases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.coulomb import natural_map
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.solvers.newton.line_searches import Armijo
from clapas.status import Status
from clapas.typing import Array

SMALLEST = 1e-15  # of ε, relative to |q|: below, smoothing is within rounding
LONG = 4  # Newton steps at one ε after which the next decrease is smaller
LIMIT = 60  # Newton steps without a decrease of ε after which the method stops


@dataclass(frozen=True, kw_only=True)
class SmoothedNewton(IterativeSolver):
    """Newton's method on a smoothed law, with a smoothing that tends to zero.

    The Fischer-Burmeister function with smoothing ε (see :class:`FischerBurmeisterMap`) is differentiable
    everywhere, and vanishes where x∘y = ε² e, x = T r and y = T⁻¹ũ being inside their cones: impulses stay
    slightly inside the friction cone and contacts slightly open. From a large ε, where one step suffices, ε
    is decreased repeatedly, with a few Newton steps each time, until the solution of the exact law is
    reached. No contact jumps from region to region.

    Suits cold starts on small and middle-sized problems, hyperstatic ones too, where
    :class:`SemismoothNewton` cycles. It makes little use of a guess: the path of the smoothed law is the
    same for all guesses.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. An iteration is one Newton step, that is one factorisation.
    decrease : float
        Factor on ε when few Newton steps were needed.
    nearness : float
        Distance to the solution at one ε, relative to ε, required before the next.
    proximal_term : float
        Regularisation of the linear equations relative to the diagonal of W. No unit.

    References
    ----------
    Fukushima, Luo, Tseng 2002 (the smoothing); Cadoux 2009, section 4.2.3 (mentioned, without a schedule).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> from clapas.solvers.newton import SmoothedNewton
    >>> solve(gallery.box_stack(4).problem, SmoothedNewton(tol=1e-9)).status.name
    'SOLVED'
    """

    max_iterations: int = 500
    decrease: float = 0.2
    nearness: float = 0.5
    proximal_term: float = 1e-10

    measures_each_iteration: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.decrease < 1:
            raise SettingsError(f"decrease must be between 0 and 1, got {self.decrease}")
        if not self.nearness > 0:
            raise SettingsError(f"nearness must be positive, got {self.nearness}")
        if not 0 < self.proximal_term < 1:
            raise SettingsError(f"proximal_term must be between 0 and 1, got {self.proximal_term}")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Prepare the equations of a problem, from a guess (n, d)."""
        return _SmoothedIteration(self, problem, guess)


class _SmoothedIteration(Iteration):
    """The path of solutions of the smoothed law, in dimensionless variables."""

    def __init__(self, settings: SmoothedNewton, problem: ContactProblem, guess: Array) -> None:
        # Kernels are imported here so that naming a solver does not load the compiler.
        from clapas.solvers.newton.augmentation import Augmentation
        from clapas.solvers.newton.equations import Equations

        self._settings = settings
        self._equations = equations = Equations(problem)
        n = problem.n_contacts
        self._rho = Augmentation(np.ones(n), np.ones(n))
        self._x = equations.scaled.from_impulses(guess)
        self._g = equations.velocity(self._x)
        law = natural_map(self._g, self._x, problem.mu, np.ones(n))
        # From a good guess ε starts small; it is a size per contact, and |g₀| is 1 over all contacts.
        self._smoothing = float(np.linalg.norm(law))
        self._steps = 0  # at the current ε
        self._search = Armijo()

    def impulses(self) -> Array:
        """The current iterate r."""
        return self._equations.scaled.to_impulses(self._x)

    def advance(self, count: int) -> None:
        """Do ``count`` Newton steps."""
        for _ in range(count):
            while self._is_near():
                self._sharpen()
            self._newton()

    def _is_near(self) -> bool:
        violation = np.sqrt(2.0 * self._merit(self._g, self._x))
        return bool(violation <= self._settings.nearness * self._smoothing * np.sqrt(len(self._x)))

    def _sharpen(self) -> None:
        slowly = self._steps > LONG
        self._smoothing *= self._settings.decrease ** (0.5 if slowly else 1.0)
        self._steps = 0
        if self._smoothing < SMALLEST:
            raise Halt(Status.STALLED)

    def _newton(self) -> None:
        from clapas.solvers.newton.maps import FischerBurmeisterMap

        equations, function = self._equations, FischerBurmeisterMap(smoothing=self._smoothing)
        tangent = function.linearise(self._g, self._x, equations.mu, self._rho)
        dx = equations.solve(tangent, self._settings.proximal_term, refinements=1)
        dg = equations.scaled.product(dx)
        x, g = self._x, self._g
        t = self._search.step(lambda t: self._merit(g + t * dg, x + t * dx), [self._merit(g, x)])
        self._x = x + t * dx
        self._g = equations.velocity(self._x)
        self._steps += 1
        if self._steps >= LIMIT:
            raise Halt(Status.STALLED)

    def _merit(self, g: Array, x: Array) -> float:
        from clapas.solvers.newton.maps import FischerBurmeisterMap

        value = FischerBurmeisterMap(smoothing=self._smoothing).value(g, x, self._equations.mu, self._rho)
        return 0.5 * float(np.vdot(value, value))
