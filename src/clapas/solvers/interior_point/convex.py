"""Interior-point method for the convex problem at fixed s, used in Cadoux's fixed point."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from clapas.errors import SettingsError
from clapas.linalg.multifrontal import SingularMatrix
from clapas.problems.contact import ContactProblem
from clapas.solvers.contact_system import contact_system
from clapas.solvers.convex.accelerated_gradient import AcceleratedGradient
from clapas.solvers.convex.base import (
    ConvexMethod,
    ConvexProblem,
    ConvexSolution,
    ConvexSolver,
    admissible_solution,
    require_conic,
)
from clapas.solvers.interior_point.path import Path
from clapas.solvers.kinds import require_kinds
from clapas.typing import Array

NEAR = 0.1  # residual of a guess below which the path starts near it ...
FEW = 12  # ... for at most this number of steps


@dataclass(frozen=True, kw_only=True)
class ConvexInteriorPoint:
    """Interior point for min {½ rᵀW r + bᵀr : r ∈ K}: the problem of Cadoux's fixed point at fixed s.

    One or two sparse factorisations per step, with the pattern analysed once for all values of s. From one s
    to the next it starts inside the cones at a depth of the residual of the last impulses, and from a cold
    start if that does not converge soon. Where a contact neither slides nor presses, both factors of r·ũ =
    gap are small and the error is about the square root of the gap: a few gradient steps reduce it.

    Parameters
    ----------
    max_iterations : int
        Steps of the interior point from a cold start.
    polish : ConvexSolver or None
        Method that refines its result if necessary.

    References
    ----------
    Alizadeh, Goldfarb 2003; Cadoux 2009, section 4.7.

    Examples
    --------
    >>> particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5])
    >>> frozen = ConvexProblem.conic(particle, np.array([2.0]))
    >>> method = ConvexInteriorPoint().start(particle)
    >>> method.solve(frozen, np.zeros((1, 3)), accuracy=1e-10).r.round(9)
    array([[ 1.2, -0.6,  0. ]])
    """

    max_iterations: int = 60
    polish: ConvexSolver | None = field(default_factory=lambda: AcceleratedGradient(max_iterations=300))

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.max_iterations < 1:
            raise SettingsError(f"max_iterations must be at least 1, got {self.max_iterations}")

    def start(self, contacts: ContactProblem) -> ConvexMethod:
        """Analyse the linear system."""
        return _Paths(contacts, self)


class _Paths:
    def __init__(self, contacts: ContactProblem, settings: ConvexInteriorPoint) -> None:
        self.contacts, self.settings = contacts, settings
        self.system = contact_system(contacts)
        self.polish = settings.polish.start(contacts) if settings.polish else None

    def solve(self, frozen: ConvexProblem, guess: Array, accuracy: float) -> ConvexSolution:
        require_conic(frozen, "the interior point")
        initial = admissible_solution(frozen, guess, 0)
        if initial.residual <= accuracy or guess.size == 0:
            return initial
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            best = self._near(frozen, initial, accuracy) if initial.residual <= NEAR else initial
            if best.residual > accuracy:
                best = self._follow(Path(self.contacts, self.system, frozen.b), frozen, best, accuracy)
        if self.polish is not None and best.residual > accuracy:
            polished = self.polish.solve(frozen, best.r, accuracy)
            best = polished._replace(iterations=best.iterations + polished.iterations)
        return best

    def _near(self, frozen: ConvexProblem, initial: ConvexSolution, accuracy: float) -> ConvexSolution:
        """Start at the guess: usually a few steps suffice, otherwise a cold start is better."""
        path = Path(self.contacts, self.system, frozen.b)
        path.begin(initial.r, depth=initial.residual)
        return self._follow(path, frozen, initial, accuracy, limit=FEW)

    def _follow(
        self,
        path: Path,
        frozen: ConvexProblem,
        best: ConvexSolution,
        accuracy: float,
        limit: int | None = None,
    ) -> ConvexSolution:
        """Follow the path until the accuracy is reached, or the steps are exhausted or without progress."""
        end = best.iterations + (limit or self.settings.max_iterations)
        iterations = best.iterations
        while iterations < end and best.residual > accuracy and not path.is_stuck:
            try:
                path.advance()
            except SingularMatrix:
                break
            iterations += 1
            result = admissible_solution(frozen, path.r, 0)
            best = result if result.residual < best.residual else best
        return best._replace(iterations=iterations)
