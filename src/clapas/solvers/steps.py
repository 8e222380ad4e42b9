"""Step lengths before a projection: fixed, or adapted from step to step.

Projection methods move an impulse against its velocity, r − ρ u, and project it. The step ρ has the unit
of an inverse response; here it is a number without unit times 1/λ_i, so that 1 means "the impulse that would
cancel the velocity if contact i were alone".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from clapas.errors import SettingsError
from clapas.solvers.kinds import require_kinds
from clapas.solvers.products import ScaledDelassus
from clapas.typing import Array

SHORTEST = 1e-12


class Move(NamedTuple):
    """A step: the point reached, the field there, and the factor on the field, (n, 1) or a number."""

    x: Array
    field: Array
    rho: Array | float


Field = Callable[[Array], Array]
Projected = Callable[[Array, Array, Array | float], Array]  # x, field, ρ ↦ the projected point


class Stepper(Protocol):
    """A running step rule."""

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
        With False, ``rho`` is the step itself, in the units of the problem (impulse per velocity), as in
        the literature, where published values therefore do not carry over.
    """

    rho: float = 1.0
    relative: bool = True

    def __post_init__(self) -> None:
        require_kinds(self)
        if not self.rho > 0:
            raise SettingsError(f"rho must be positive, got {self.rho}")

    def start(self, scaled: ScaledDelassus) -> Stepper:
        """Convert the step to scaled variables."""
        return _Fixed(self.rho if self.relative else self.rho * scaled.root**2)


class _Fixed:
    def __init__(self, rho: Array | float) -> None:
        self.rho = rho

    def move(self, x: Array, here: Array, field: Field, project: Projected) -> Move:
        trial = project(x, here, self.rho)
        return Move(trial, field(trial), self.rho)


@dataclass(frozen=True, kw_only=True)
class AdaptiveStep:
    """A step adapted to the variation of the field.

    From x to the trial x̄ = P(x − ρ F(x)) the quotient θ = ρ |F(x) − F(x̄)| / |x − x̄| is bounded by the
    Lipschitz constant. Above ``upper`` the trial is rejected and ρ shortened by ``shorten``·min(1, 1/θ);
    below ``lower`` the next step is longer by the factor ``lengthen``.

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
        require_kinds(self)
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
            trial = project(x, here, self.rho)
            there = field(trial)
            quotient = _quotient(self.rho, here - there, x - trial)
            if not quotient > rule.upper or self.rho < SHORTEST:
                break
            self.rho *= rule.shorten * min(1.0, 1.0 / quotient)
        rho = self.rho
        if quotient < rule.lower:
            self.rho *= rule.lengthen
        return Move(trial, there, rho)


def _quotient(rho: float, change: Array, distance: Array) -> float:
    square = float(np.vdot(distance, distance))
    return rho * float(np.sqrt(np.vdot(change, change) / square)) if square > 0.0 else rho
