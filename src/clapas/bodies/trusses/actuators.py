"""Actuation in time: rest lengths of members, and loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clapas.errors import SceneError


@dataclass(frozen=True, kw_only=True)
class History:
    """A factor that varies piecewise linearly in time.

    Parameters
    ----------
    times : sequence of float
        Instants (s), increasing.
    factors : sequence of float
        The factor at these instants; constant before the first and after the last.

    Examples
    --------
    A load that grows for 0.2 s and is released at once:

    >>> ramp = History(times=[0.0, 0.2, 0.2001], factors=[0.0, 1.0, 0.0])
    >>> ramp.factor(0.1), ramp.factor(0.3)
    (0.5, 0.0)
    """

    times: Sequence[float]
    factors: Sequence[float]

    def __post_init__(self) -> None:
        check_history(type(self).__name__.lower(), self.times, self.factors)

    def factor(self, time: float) -> float:
        """The factor at a time (s)."""
        return float(np.interp(time, self.times, self.factors))


@dataclass(frozen=True, kw_only=True)
class Actuator:
    """Rest lengths of some members that vary piecewise linearly in time.

    Parameters
    ----------
    members : sequence of int
        Which members.
    times : sequence of float
        Instants (s), increasing.
    factors : sequence of float
        Factors of their rest lengths at these instants; constant before and after.

    Examples
    --------
    >>> winch = Actuator(members=[3], times=[0.0, 2.0], factors=[1.0, 0.8])
    >>> winch.factor(0.5)
    0.95
    """

    members: Sequence[int]
    times: Sequence[float]
    factors: Sequence[float]

    def __post_init__(self) -> None:
        check_history("actuator", self.times, self.factors)
        if not (np.asarray(self.factors, dtype=float) > 0.0).all():
            raise SceneError(f"actuator: rest lengths stay positive, got the factors {list(self.factors)}")

    def factor(self, time: float) -> float:
        """Factor of the rest lengths at a time (s)."""
        return float(np.interp(time, self.times, self.factors))


def check_history(label: str, instants: Sequence[float], values: Sequence[float]) -> None:
    """Check that times increase, and that factors are finite and match them."""
    times, factors = np.asarray(instants, dtype=float), np.asarray(values, dtype=float)
    if times.ndim != 1 or times.shape != factors.shape or len(times) == 0:
        raise SceneError(
            f"{label}: as many factors as times, at least one; got {times.shape} and {factors.shape}"
        )
    if not (np.isfinite(times).all() and np.isfinite(factors).all()):
        raise SceneError(f"{label}: times and factors must be finite, got {list(times)} and {list(factors)}")
    if np.any(np.diff(times) <= 0.0):
        raise SceneError(f"{label}: times must increase, got {list(times)}")
