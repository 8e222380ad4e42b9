"""ADMM (alternating direction method of multipliers): bodies, then contacts, with one factorisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from clapas.convex.base import FrictionCone
from clapas.errors import SettingsError
from clapas.linalg.multifrontal import SingularMatrix
from clapas.problems.contact import ContactProblem
from clapas.solvers.contact_system import ContactSystem, Linearised, Solve, contact_system
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.status import Status
from clapas.typing import Array

WORTH_REFACTORING = 2.0  # smallest change of ρ that justifies a factorisation
UNBALANCED = 3.0  # ratio of the two residuals from which ρ is changed
RANGE = 1e-8, 1e8  # of ρ


@dataclass(frozen=True, kw_only=True)
class ADMM(IterativeSolver):
    """Alternating direction method of multipliers: move all bodies at once, then project each contact.

    The shifted velocity has a copy z ∈ K* towards which the bodies are pulled with the stiffness R, one
    number ρ_i = ρ/λ_i per contact (λ_i its response: the method is dimensionless). An iteration is

        (M + η M + Hᵀ R H) v = η M v₀ − f + Hᵀ(r + R (z − w − E s))     the bodies, v₀ their last velocity
        ũ = α (H v + w + E s) + (1 − α) z                              over-relaxation
        z = P_K*(ũ − R⁻¹ r),     r = R P_K(R⁻¹ r − ũ)                  the contacts, each alone
        s = |u_T|                                                      De Saxcé's shift

    so that r ∈ K and z ∈ K* are always complementary, and only u + E s = z remains to be satisfied. The
    matrix is factorised once, in body space as above or in contact space,
    (W/(1+η) + R⁻¹) r̂ = R⁻¹ r + z − E s − (q + η u₀)/(1+η), whichever is cheaper; again only when
    ρ changes much. Residual balancing adapts it: ρ grows while the distance to z exceeds the change of z.

    Each iteration costs two triangular solutions, whatever the coupling of the contacts: on walls and large
    mass ratios it needs far fewer than Gauss-Seidel sweeps. Suits accuracies down to about 1e-6 and warm
    starts; for more digits take InteriorPoint. Convergence is not guaranteed with friction, as s changes
    during the iterations.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    rho : float
        First stiffness ρ, without unit.
    relaxation : float
        Over-relaxation α in ]0, 2[.
    proximal : float
        Weight η ≥ 0 of the proximal term, relative to M: damps the motion of the bodies between iterations.
    balancing : bool
        Adapt ρ to the residuals.
    space : "auto", "bodies" or "contacts"
        Where the linear systems are solved.

    References
    ----------
    Boyd et al. 2011 (the method, balancing 3.4.1, over-relaxation 3.4.3); De Saxcé, Feng 1998 (ũ).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.box_stack(3).problem, ADMM(tol=1e-6))
    >>> solution.status.name
    'SOLVED'
    """

    rho: float = 1.0
    relaxation: float = 1.6
    proximal: float = 0.0
    balancing: bool = True
    space: Literal["auto", "bodies", "contacts"] = "auto"

    cones: ClassVar[tuple[type, ...]] = (FrictionCone,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.rho > 0:
            raise SettingsError(f"rho must be positive, got {self.rho}")
        if not 0 < self.relaxation < 2:
            raise SettingsError(f"relaxation must be between 0 and 2, got {self.relaxation}")
        if not self.proximal >= 0:
            raise SettingsError(f"proximal must be at least 0, got {self.proximal}")
        if self.space not in ("auto", "bodies", "contacts"):
            raise SettingsError(f"space must be 'auto', 'bodies' or 'contacts', got '{self.space}'")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Analyse the linear system and factorise it a first time."""
        return Alternation(self, problem, contact_system(problem, self.space), guess)


class Alternation(Iteration):
    """A running ADMM."""

    def __init__(self, settings: ADMM, problem: ContactProblem, system: ContactSystem, guess: Array) -> None:
        self._settings, self._problem, self._system = settings, problem, system
        assert isinstance(problem.cone, FrictionCone)
        self._cone, self._dual = problem.cone, problem.cone.dual()
        self._r = self._cone.project(guess)
        self._u = problem.velocity(self._r)
        self._z = self._dual.project(self._u + self._shift())
        self._rho = settings.rho
        self._done, self._next_balance = 0, 10
        self._primal_residual = self._dual_residual = 0.0
        self._factorise()

    def impulses(self) -> Array:
        """The current impulses, in their cones."""
        return self._r

    def advance(self, count: int) -> None:
        """Do ``count`` alternations."""
        for _ in range(count):
            self._alternate()
            self._done += 1
            if self._settings.balancing and self._done >= self._next_balance:
                self._balance()
        if not np.isfinite(self._r).all():
            raise Halt(Status.NUMERICAL_ERROR)

    def _alternate(self) -> None:
        r, z = self._r, self._z
        proximal, alpha = self._settings.proximal, self._settings.relaxation
        shift = self._shift()
        compliance = self._compliance
        free = (self._problem.q + proximal * self._u) / (1.0 + proximal)
        impulses = self._solve(compliance * r + z - shift - free)
        reached = compliance * (r - impulses) + z  # H v + w + E s, from the system just solved
        self._u = reached - shift
        relaxed = alpha * reached + (1.0 - alpha) * z
        target = relaxed - compliance * r
        self._z = self._dual.project(target)
        self._r = self._cone.project(-target) / compliance
        self._primal_residual = _norm(reached - self._z)
        self._dual_residual = _norm(self._z - z)

    def _shift(self) -> Array:
        """De Saxcé's shift E s of the last velocities, (n, d)."""
        shift = np.zeros_like(self._u)
        shift[:, 0] = self._cone.shift(self._u)
        return shift

    def _balance(self) -> None:
        """Increase ρ when the primal residual exceeds the dual one, decrease it in the opposite case."""
        # Intervals grow, so that ρ settles.
        self._next_balance = self._done + max(10, self._done // 4)
        quotient = np.sqrt(self._primal_residual / self._dual_residual) if self._dual_residual > 0 else 1.0
        if not np.isfinite(quotient) or 1.0 / UNBALANCED < quotient**2 < UNBALANCED:
            return
        rho = float(np.clip(self._rho * np.clip(quotient, 0.1, 10.0), *RANGE))
        if max(rho / self._rho, self._rho / rho) >= WORTH_REFACTORING:
            self._rho = rho
            self._factorise()

    def _factorise(self) -> None:
        n, d = self._r.shape
        self._compliance = (self._problem.response / self._rho)[:, None]
        unit = np.broadcast_to(np.eye(d), (n, d, d))
        stiff = self._compliance[:, :, None] * unit
        law = Linearised(stiff, unit / (1.0 + self._settings.proximal))
        try:
            self._solve: Solve = self._system.factorise(law)
        except SingularMatrix:
            raise Halt(Status.NUMERICAL_ERROR) from None


def _norm(x: Array) -> float:
    return float(np.linalg.norm(x))
