"""Line searches along Newton's direction.

The merit is g(x) = ½|Φ(x)|². Along Newton's direction its slope is −|Φ|² = −2 g (Cadoux 2009, lemma 4.12),
where Φ is differentiable; the searches below use this slope and start at the full step t = 1, which is
quadratic at the end.

A search that finds no acceptable step returns the best of those it tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from clapas.errors import SettingsError
from clapas.solvers.kinds import require_kinds

Merit: TypeAlias = Callable[[float], float]


class LineSearch(Protocol):
    """A rule for the step t > 0. Any object with this method is accepted."""

    def step(self, merit: Merit, past: Sequence[float]) -> float:
        """The step to take, from the merit along the direction and its values at the iterates so far."""
        ...


@dataclass(frozen=True, kw_only=True)
class FullStep:
    """No search: always t = 1.

    The fastest where it converges. On piecewise linear problems it may cycle: cycles
    are detected and the augmentation is reduced.
    """

    def step(self, merit: Merit, past: Sequence[float]) -> float:
        """One."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Armijo:
    """Halve the step until the merit decreases enough: g(t) ≤ (1 − 2 slope t) g(0).

    Parameters
    ----------
    slope : float
        Fraction of the expected decrease that is required.
    max_trials : int
        Largest number of trials.
    """

    slope: float = 1e-4
    max_trials: int = 20

    def __post_init__(self) -> None:
        require_kinds(self)
        _require_share("Armijo", "slope", self.slope)
        _require_trials("Armijo", self.max_trials)

    def step(self, merit: Merit, past: Sequence[float]) -> float:
        """The first of 1, ½, ¼, … with sufficient decrease."""
        return _halve(merit, past[-1], past[-1], self.slope, self.max_trials)


@dataclass(frozen=True, kw_only=True)
class Nonmonotone:
    """Armijo's rule against the worst of the last merits: the merit may rise for a while.

    Keeps more full steps than :class:`Armijo` in narrow valleys.

    Parameters
    ----------
    memory : int
        Number of past merits considered.
    slope : float
        Fraction of the expected decrease that is required.
    max_trials : int
        Largest number of trials.

    References
    ----------
    Grippo, Lampariello, Lucidi 1986.
    """

    memory: int = 8
    slope: float = 1e-4
    max_trials: int = 20

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.memory < 1:
            raise SettingsError(f"Nonmonotone: memory must be at least 1, got {self.memory}")
        _require_share("Nonmonotone", "slope", self.slope)
        _require_trials("Nonmonotone", self.max_trials)

    def step(self, merit: Merit, past: Sequence[float]) -> float:
        """The first of 1, ½, ¼, … with sufficient decrease."""
        return _halve(merit, past[-1], max(past[-self.memory :]), self.slope, self.max_trials)


@dataclass(frozen=True, kw_only=True)
class GoldsteinPrice:
    """Keep the merit between two lines: neither too little decrease nor too short a step.

        (1 − 2 high t) g(0) ≤ g(t) ≤ (1 − 2 low t) g(0)

    by bisection, or by doubling as long as the step is too short. This is the search of Cadoux's experiments.

    Parameters
    ----------
    low, high : float
        Slopes of the two lines, relative to the slope at t = 0.
    max_trials : int
        Largest number of trials.

    References
    ----------
    Cadoux 2009, section 4.4.2 and table 5.6.
    """

    low: float = 0.1
    high: float = 0.9
    max_trials: int = 25

    def __post_init__(self) -> None:
        require_kinds(self)
        if not 0 < self.low < self.high < 1:
            raise SettingsError(
                f"GoldsteinPrice: expected 0 < low < high < 1, got low = {self.low}, high = {self.high}"
            )
        _require_trials("GoldsteinPrice", self.max_trials)

    def step(self, merit: Merit, past: Sequence[float]) -> float:
        """A step between the two lines."""
        start = past[-1]
        short, long = 0.0, float("inf")
        t, tried = 1.0, _Trials()
        for _ in range(self.max_trials):
            value = tried.add(t, merit(t))
            if not value <= start * (1.0 - 2.0 * self.low * t):
                long = t
            elif value < start * (1.0 - 2.0 * self.high * t):
                short = t
            else:
                return t
            t = 2.0 * short if long == float("inf") else 0.5 * (short + long)
        return tried.best


@dataclass(frozen=True, kw_only=True)
class Katzenelson:
    """Stop at the first boundary between two linear regions, and continue with the matrix of the next one.

    For piecewise linear problems: contact in the plane (or without friction) with
    :class:`AlartCurnierMap` or :class:`JeanMoreauMap`. The path is a broken line whose image under Φ is one
    straight segment from Φ(x₀) to 0. It converges globally when all matrices have determinants of
    one sign and no more than two regions meet on the path; it is slow, one factorisation per boundary.

    References
    ----------
    Katzenelson 1965; Alart 1997, section I.2.
    """


class _Trials:
    """Records the best of the steps tried."""

    def __init__(self) -> None:
        self.best, self._merit = 1.0, float("inf")

    def add(self, t: float, merit: float) -> float:
        if merit < self._merit:
            self.best, self._merit = t, merit
        return merit


def _halve(merit: Merit, start: float, allowed: float, slope: float, max_trials: int) -> float:
    t, tried = 1.0, _Trials()
    for _ in range(max_trials):
        if tried.add(t, merit(t)) <= allowed - 2.0 * slope * t * start:
            return t
        t *= 0.5
    return tried.best


def _require_share(owner: str, name: str, value: float) -> None:
    if not 0 < value < 0.5:
        raise SettingsError(f"{owner}: {name} must be between 0 and ½, got {value}")


def _require_trials(owner: str, value: int) -> None:
    if value < 1:
        raise SettingsError(f"{owner}: max_trials must be at least 1, got {value}")
