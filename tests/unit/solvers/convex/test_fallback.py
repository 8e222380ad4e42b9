"""Two convex methods in turn."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, gallery
from clapas.solvers.convex import AcceleratedGradient, ConvexProblem, ConvexSolution, Fallback
from clapas.typing import Array

PROBLEM = gallery.get("alea-54-11").problem
FROZEN = ConvexProblem.conic(PROBLEM, np.full(11, 0.1))
ZERO = np.zeros((11, 3))


@dataclass
class Counted:
    """A method that counts its calls."""

    iterations: int
    calls: int = 0
    starts: int = 0
    last_guess: Array = field(default_factory=lambda: np.empty(0))

    def start(self, contacts: ContactProblem) -> Counted:
        self.starts += 1
        self._method = AcceleratedGradient(max_iterations=self.iterations).start(contacts)
        return self

    def solve(self, frozen: ConvexProblem, guess: Array, accuracy: float) -> ConvexSolution:
        self.calls += 1
        self.last_guess = guess
        return self._method.solve(frozen, guess, accuracy)


def test_the_second_waits_until_it_is_needed() -> None:
    first, second = Counted(5000), Counted(5000)
    method = Fallback(first=first, second=second).start(PROBLEM)
    assert method.solve(FROZEN, ZERO, 1e-8).residual <= 1e-8
    assert second.starts == 0


def test_the_second_starts_from_the_answer_of_the_first_and_takes_over() -> None:
    first, second = Counted(4), Counted(5000)
    method = Fallback(first=first, second=second).start(PROBLEM)
    found = method.solve(FROZEN, ZERO, 1e-8)
    assert found.residual <= 1e-8
    assert found.iterations > 4
    assert second.last_guess.any()
    for _ in range(3):
        method.solve(FROZEN, ZERO, 1e-8)
    assert first.calls == 2  # left out after two failures
    assert second.calls == 4
    assert second.starts == 1


def test_no_second_for_large_problems() -> None:
    first, second = Counted(4), Counted(5000)
    method = Fallback(first=first, second=second, largest=10).start(PROBLEM)
    assert method.solve(FROZEN, ZERO, 1e-8).residual > 1e-8
    assert second.starts == 0


def test_bad_settings() -> None:
    with pytest.raises(SettingsError, match="largest must be at least 0, got -1"):
        Fallback(first=AcceleratedGradient(), second=AcceleratedGradient(), largest=-1)
