"""Two convex methods in sequence: a cheap one, and a reliable one where it fails."""

from __future__ import annotations

from dataclasses import dataclass

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.convex.base import ConvexMethod, ConvexProblem, ConvexSolution, ConvexSolver
from clapas.solvers.kinds import require_kinds
from clapas.typing import Array

TRUST = 2  # consecutive failures after which the first method is skipped


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """Try one method; where it does not reach the accuracy, continue with another from its result.

    After two consecutive failures the first method is skipped: consecutive problems of a fixed point are
    similar. The second is started only if needed.

    Parameters
    ----------
    first, second : ConvexSolver
        For instance a gradient method with few iterations, and an interior point.
    largest : int
        Contacts above which there is no second (its factorisations would not fit).

    Examples
    --------
    >>> from clapas.solvers.backends import Clarabel
    >>> from clapas.solvers.convex import AcceleratedGradient
    >>> fallback = Fallback(first=AcceleratedGradient(max_iterations=300), second=Clarabel())
    """

    first: ConvexSolver
    second: ConvexSolver
    largest: int = 3000

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.largest < 0:
            raise SettingsError(f"largest must be at least 0, got {self.largest}")

    def start(self, contacts: ContactProblem) -> ConvexMethod:
        """Start the first method; the second is started when needed."""
        return _TwoMethods(contacts, self)


class _TwoMethods:
    def __init__(self, contacts: ContactProblem, settings: Fallback) -> None:
        self.contacts, self.settings = contacts, settings
        self.first = settings.first.start(contacts)
        self.second: ConvexMethod | None = None
        self.failures = 0

    def solve(self, frozen: ConvexProblem, guess: Array, accuracy: float) -> ConvexSolution:
        if self.contacts.n_contacts > self.settings.largest:
            return self.first.solve(frozen, guess, accuracy)
        if self.failures >= TRUST:
            return self._second().solve(frozen, guess, accuracy)
        first = self.first.solve(frozen, guess, accuracy)
        if first.residual <= accuracy:
            self.failures = 0
            return first
        self.failures += 1
        second = self._second().solve(frozen, first.r, accuracy)
        return second._replace(iterations=first.iterations + second.iterations)

    def _second(self) -> ConvexMethod:
        if self.second is None:
            self.second = self.settings.second.start(self.contacts)
        return self.second
