"""Step lengths before a projection: fixed, or adapted from step to step.

Projection methods move an impulse against its velocity, r − ρ u, and bring it back. The step ρ has the unit
of an inverse response; here it is a number without unit times 1/λ_i, so that 1 means "the impulse that would
cancel the velocity if contact i were alone".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from clapas.errors import SettingsError
from clapas.solvers.products import ScaledDelassus
from clapas.typing import Array

SHORTEST = 1e-12


class Move(NamedTuple):
    """A step taken: the point reached, the field there, and the factor on the field, (n, 1) or a number."""

    x: Array
    field: Array
    rho: Array | float


Field = Callable[[Array], Array]
Projected = Callable[[Array, Array, Array | float], Array]  # x, field, ρ ↦ the projected point


class Stepper(Protocol):
    """A step rule at work."""

    def move(self, x: Array, here: Array, field: Field, project: Projected) -> Move:
        """Step from x, where the field is ``here``."""
        ...


class StepRule(Protocol):
    """Settings of a step rule: a frozen dataclass."""

    def start(self, scaled: ScaledDelassus) -> Stepper:
        """Begin on a problem in scaled variables."""
        ...


@dataclass(frozen=True, kw_only=True)
class FixedStep:
    """The same step at every iteration.

    Parameters
    ----------
    rho : float
        Length of the step, relative to 1/λ_i.
    relative : bool
        With False, ``rho`` is the step itself, in the units of the problem (impulse per velocity): how
        the literature writes it, and why published values do not carry over.
    """

    rho: float = 1.0
    relative: bool = True

    def __post_init__(self) -> None:
        if not self.rho > 0:
            raise SettingsError(f"rho must be positive, got {self.rho}")

    def start(self, scaled: ScaledDelassus) -> Stepper:
        """Turn the step into scaled variables."""
        return _Fixed(self.rho if self.relative else self.rho * scaled.root**2)


class _Fixed:
    def __init__(self, rho: Array | float) -> None:
        self.rho = rho

    def move(self, x: Array, here: Array, field: Field, project: Projected) -> Move:
        moved = project(x, here, self.rho)
        return Move(moved, field(moved), self.rho)


@dataclass(frozen=True, kw_only=True)
class AdaptiveStep:
    """A step that adapts itself to how fast the field changes.

    From x to the trial x̄ = P(x − ρ F(x)) the quotient θ = ρ |F(x) − F(x̄)| / |x − x̄| is what a constant of
    Lipschitz would bound. Above ``upper`` the trial is refused and ρ shortened by ``shorten``·min(1, 1/θ);
    below ``lower`` the next one is longer by ``lengthen``.

    Parameters
    ----------
    upper, lower : float
        Bounds on θ, 0 < lower < upper < 1.
    shorten, lengthen : float
        Factors, below and above 1.

    References
    ----------
    Khobotov 1987; He, Liao 2002; Acary, Brémond, Huber 2018 (their robustness on friction).
    """

    upper: float = 0.9
    lower: float = 0.3
    shorten: float = 2.0 / 3.0
    lengthen: float = 1.5

    def __post_init__(self) -> None:
        if not 0 < self.lower < self.upper < 1:
            raise SettingsError(f"need 0 < lower < upper < 1, got lower {self.lower}, upper {self.upper}")
        if not 0 < self.shorten < 1 < self.lengthen:
            raise SettingsError(
                f"need shorten < 1 < lengthen, got shorten {self.shorten}, lengthen {self.lengthen}"
            )

    def start(self, scaled: ScaledDelassus) -> Stepper:
        """Begin with the step 1."""
        return _Adaptive(self)


class _Adaptive:
    def __init__(self, rule: AdaptiveStep) -> None:
        self.rule, self.rho = rule, 1.0

    def move(self, x: Array, here: Array, field: Field, project: Projected) -> Move:
        rule = self.rule
        while True:
            moved = project(x, here, self.rho)
            there = field(moved)
            quotient = _quotient(self.rho, here - there, x - moved)
            if not quotient > rule.upper or self.rho < SHORTEST:
                break
            self.rho *= rule.shorten * min(1.0, 1.0 / quotient)
        taken = self.rho
        if quotient < rule.lower:
            self.rho *= rule.lengthen
        return Move(moved, there, taken)


def _quotient(rho: float, change: Array, distance: Array) -> float:
    square = float(np.vdot(distance, distance))
    return rho * float(np.sqrt(np.vdot(change, change) / square)) if square > 0.0 else rho
