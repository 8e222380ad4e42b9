"""Broyden's method: a quasi-Newton search of a fixed point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.fixed_point.base import Evaluation, Search
from clapas.solvers.kinds import require_kinds
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class Broyden:
    """Broyden's (good) method on F(s) − s = 0, without line search.

    The inverse Jacobian starts as −I, so that the first step is the plain iteration, and after each
    step δs takes the change δg of the gap into account with the least change of itself:

        J⁻¹ ← J⁻¹ + (δs − J⁻¹δg) δsᵀJ⁻¹ / (δsᵀJ⁻¹δg).

    It is stored as a list of corrections; after ``memory`` of them it is reset.

    Parameters
    ----------
    memory : int
        Number of corrections kept.

    References
    ----------
    Broyden 1965; Cadoux 2009, section 5.2.1 (NA-Broyden).
    """

    memory: int = 100

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.memory < 1:
            raise SettingsError(f"memory must be at least 1, got {self.memory}")

    def start(self, problem: ContactProblem) -> Search:
        """Begin with the inverse Jacobian −I."""
        return _QuasiNewton(self.memory)


class _QuasiNewton:
    """J⁻¹ = −I + Σ left rightᵀ."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.left: list[Array] = []
        self.right: list[Array] = []
        self.last: Evaluation | None = None

    def advance(self, last: Evaluation, evaluate: Callable[[Array], Evaluation]) -> Array:
        if self.last is not None:
            self._update(last.s - self.last.s, last.gap - self.last.gap)
        self.last = last
        return last.s - self._apply(last.gap)

    def _apply(self, x: Array) -> Array:
        result = -x
        for left, right in zip(self.left, self.right, strict=True):
            result = result + left * float(right @ x)
        return result

    def _apply_transposed(self, x: Array) -> Array:
        result = -x
        for left, right in zip(self.left, self.right, strict=True):
            result = result + right * float(left @ x)
        return result

    def _update(self, step: Array, change: Array) -> None:
        if len(self.left) >= self.memory:
            self.left, self.right = [], []
        predicted = self._apply(change)
        pivot = float(step @ predicted)
        if abs(pivot) <= np.finfo(float).eps * float(np.linalg.norm(step) * np.linalg.norm(predicted)):
            return  # the update would divide by zero
        self.right.append(self._apply_transposed(step))
        self.left.append((step - predicted) / pivot)
