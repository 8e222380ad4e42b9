"""The interior point as a method for the convex problem at fixed s: a part of Cadoux's fixed point."""

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
from clapas.typing import Array

NEAR = 0.1  # residual of a guess from which the walk starts there ...
FEW = 12  # ... for so many steps


@dataclass(frozen=True, kw_only=True)
class ConvexInteriorPoint:
    """Interior point for min {½ rᵀW r + bᵀr : r ∈ K}: the problem of Cadoux's fixed point at fixed s.

    One or two sparse factorisations per step, their pattern analysed once for all values of s. From one s to
    the next it starts inside the cones by as much as the last impulses miss the new minimum, and afresh if
    that does not end soon. Where a contact neither slides nor presses, both factors of r·ũ = gap are small
    and the answer is off by about the root of the gap: some gradient steps repair this.

    Parameters
    ----------
    max_iterations : int
        Steps of the interior point from a cold start.
    polish : ConvexSolver or None
        What improves its answer if need be.

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
        if self.max_iterations < 1:
            raise SettingsError(f"max_iterations must be at least 1, got {self.max_iterations}")

    def start(self, contacts: ContactProblem) -> ConvexMethod:
        """Analyse the linear system."""
        return _Walks(contacts, self)


class _Walks:
    def __init__(self, contacts: ContactProblem, settings: ConvexInteriorPoint) -> None:
        self.contacts, self.settings = contacts, settings
        self.system = contact_system(contacts)
        self.polish = settings.polish.start(contacts) if settings.polish else None

    def solve(self, frozen: ConvexProblem, guess: Array, accuracy: float) -> ConvexSolution:
        require_conic(frozen, "the interior point")
        given = admissible_solution(frozen, guess, 0)
        if given.residual <= accuracy or guess.size == 0:
            return given
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            best = self._near(frozen, given, accuracy) if given.residual <= NEAR else given
            if best.residual > accuracy:
                best = self._walk(Path(self.contacts, self.system, frozen.b), frozen, best, accuracy)
        if self.polish is not None and best.residual > accuracy:
            polished = self.polish.solve(frozen, best.r, accuracy)
            best = polished._replace(iterations=best.iterations + polished.iterations)
        return best

    def _near(self, frozen: ConvexProblem, given: ConvexSolution, accuracy: float) -> ConvexSolution:
        """Start at the guess: mostly a matter of a few steps, else it is better to start afresh."""
        path = Path(self.contacts, self.system, frozen.b)
        path.begin(given.r, depth=given.residual)
        return self._walk(path, frozen, given, accuracy, limit=FEW)

    def _walk(
        self,
        path: Path,
        frozen: ConvexProblem,
        best: ConvexSolution,
        accuracy: float,
        limit: int | None = None,
    ) -> ConvexSolution:
        """Go along the path until the accuracy is reached, the steps are used up or bring nothing."""
        end = best.iterations + (limit or self.settings.max_iterations)
        done = best.iterations
        while done < end and best.residual > accuracy and not path.is_stuck:
            try:
                path.advance()
            except SingularMatrix:
                break
            done += 1
            found = admissible_solution(frozen, path.r, 0)
            best = found if found.residual < best.residual else best
        return best._replace(iterations=done)
