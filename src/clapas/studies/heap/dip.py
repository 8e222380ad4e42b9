"""The dip of the pressure on the ground under the summit, with its errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clapas.analysis.ground import RingPressure
from clapas.typing import Array


class Dip(NamedTuple):
    """Deficit of pressure of the inner ring against those around it (Pa); standard error over sectors."""

    depth: float
    error: float

    def __str__(self) -> str:
        return f"{self.depth:.0f} ± {self.error:.0f} Pa, {self.depth / self.error:.1f} standard errors"


def around(ground: RingPressure) -> tuple[float, float]:
    """Mean pressure from the second ring to half the foot of the heap, and its standard error (Pa).

    The mean over all rings there, not the maximum, which noise biases.
    """
    last = max(2, int(np.searchsorted(ground.radius, 0.5 * ground.edges[-1])))
    area = np.diff(ground.edges[1 : last + 1] ** 2)
    weight = area / area.sum()
    return float(weight @ ground.pressure[1:last]), float(np.linalg.norm(weight * ground.error[1:last]))


def dip(ground: RingPressure) -> Dip:
    """The dip of one heap, or of the mean of several."""
    pressure, error = around(ground)
    return Dip(pressure - float(ground.pressure[0]), math.hypot(float(ground.error[0]), error))


def from_heap_to_heap(grounds: Sequence[RingPressure]) -> str:
    """The mean dip of several heaps, with the standard error from their spread."""
    depths: Array = np.array([dip(ground).depth for ground in grounds])
    if len(depths) < 2:
        return "one heap"
    error = depths.std(ddof=1) / math.sqrt(len(depths))
    return f"{depths.mean():.0f} ± {error:.0f} Pa ({', '.join(f'{depth:.0f}' for depth in depths)})"
