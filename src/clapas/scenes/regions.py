"""Regions where grains are created: boxes and horizontal discs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.geometry.checks import Vector
from clapas.typing import Array


class Region(ABC):
    """A region of space with a uniform distribution of points."""

    word: ClassVar[str]
    d: int

    @abstractmethod
    def at(self, shares: Array) -> Array:
        """Points (n, d) for numbers (n, 3) spread evenly in [0, 1[."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Its word and its numbers, as scene files write them."""


@dataclass(frozen=True, init=False)
class BoxRegion(Region):
    """A box with edges along the axes; a rectangle in 2-D. It may be flat.

    Parameters
    ----------
    low, high : d floats
        Opposite corners (m).

    Examples
    --------
    >>> BoxRegion((0, 0, 1), (2, 2, 1)).at(np.array([[0.5, 0.25, 0.9]])).tolist()
    [[1.0, 0.5, 1.0]]
    """

    word = "box"
    low: Vector
    high: Vector

    def __init__(self, low: Sequence[float], high: Sequence[float]) -> None:
        d = np.size(low)
        if d not in (2, 3):
            raise SceneError(f"box region: low must be 2 or 3 numbers, got {low!r}")
        corner, opposite = (
            checks.vector("box region", "low", low, d),
            checks.vector("box region", "high", high, d),
        )
        if any(a > b for a, b in zip(corner, opposite, strict=True)):
            raise SceneError(
                f"box region: low must not be above high, got {list(corner)} and {list(opposite)}"
            )
        object.__setattr__(self, "low", corner)
        object.__setattr__(self, "high", opposite)
        object.__setattr__(self, "d", d)

    def at(self, shares: Array) -> Array:
        """Evenly in the box."""
        low, high = np.array(self.low), np.array(self.high)
        return np.asarray(low + shares[:, : self.d] * (high - low))

    def to_dict(self) -> dict[str, Any]:
        """Its corners."""
        return {"type": self.word, "low": list(self.low), "high": list(self.high)}


@dataclass(frozen=True, init=False)
class DiscRegion(Region):
    """A horizontal disc in space.

    Parameters
    ----------
    centre : 3 floats
        m.
    radius : float
        m.
    """

    word = "disc"
    d = 3
    centre: Vector
    radius: float

    def __init__(self, centre: Sequence[float], radius: float) -> None:
        object.__setattr__(self, "centre", checks.vector("disc region", "centre", centre, 3))
        object.__setattr__(self, "radius", checks.positive("disc region", "radius", radius))

    def at(self, shares: Array) -> Array:
        """Evenly over the area of the disc."""
        distance = self.radius * np.sqrt(shares[:, 0])
        angle = 2.0 * math.pi * shares[:, 1]
        offsets = (distance * np.cos(angle), distance * np.sin(angle), np.zeros(len(shares)))
        return np.asarray(np.array(self.centre) + np.column_stack(offsets))

    def to_dict(self) -> dict[str, Any]:
        """Its centre and radius."""
        return {"type": self.word, "centre": list(self.centre), "radius": self.radius}
