"""Pressure of a heap on the ground, by rings about the vertical axis.

Reference: Moreau 2003, section 9.3, figure 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.analysis.images import images
from clapas.analysis.instant import Instant
from clapas.errors import SettingsError
from clapas.typing import Array, Indices


@dataclass(frozen=True)
class RingPressure:
    """Pressure on the ground by rings.

    Parameters
    ----------
    edges : array (rings + 1,)
        Radii between the rings (m).
    pressure : array (rings,)
        Vertical force on the walls over the area of the ring (Pa).
    error : array (rings,)
        Standard error (Pa) from the spread between sectors.
    contacts : array (rings,)
        Contacts of each ring that carry.
    """

    edges: Array
    pressure: Array
    error: Array
    contacts: Indices

    @property
    def radius(self) -> Array:
        """Middles of the rings (m)."""
        return 0.5 * (self.edges[:-1] + self.edges[1:])


def ring_pressure(instant: Instant, width: float, rings: int, sectors: int = 6) -> RingPressure:
    """Sum the vertical forces of grains on walls, ring by ring; in a periodic cell those of all images.

    Parameters
    ----------
    instant : Instant
        Grains and forces, in 3-D.
    width : float
        Width of the rings (m).
    rings : int
        Number of rings.
    sectors : int
        Sectors compared for the standard error, at least 2.
    """
    if instant.d != 3:
        raise SettingsError("rings lie about the vertical axis of a scene in 3-D, this one is in 2-D")
    if not width > 0 or rings < 1 or sectors < 2:
        raise SettingsError(f"impossible rings: width {width}, {rings} of them, {sectors} sectors")
    on_a = ~instant.movable[instant.a] & instant.movable[instant.b]
    on_b = instant.movable[instant.a] & ~instant.movable[instant.b]
    push = np.where(on_a, instant.force[:, 2], 0.0) - np.where(on_b, instant.force[:, 2], 0.0)
    ground = (on_a | on_b) & instant.carrying
    point, push = instant.point[ground], push[ground]
    rows, shift = images(
        point, point, instant.period, (np.full(3, -rings * width), np.full(3, rings * width))
    )
    point, push = point[rows] + shift, push[rows]
    ring = (np.hypot(point[:, 0], point[:, 1]) / width).astype(np.int64)
    share = (np.arctan2(point[:, 1], point[:, 0]) + math.pi) / (2 * math.pi)
    sector = np.minimum((share * sectors).astype(np.int64), sectors - 1)
    inside = ring < rings
    edges = width * np.arange(rings + 1, dtype=float)
    area = math.pi * np.diff(edges**2)
    sums = np.zeros((rings, sectors))
    np.add.at(sums, (ring[inside], sector[inside]), push[inside])
    error = sums.std(axis=1, ddof=1) * math.sqrt(sectors) / area  # of a sum of equal sectors
    return RingPressure(edges, sums.sum(axis=1) / area, error, np.bincount(ring[inside], minlength=rings))


def average(found: Sequence[RingPressure]) -> RingPressure:
    """Mean of the pressures of several heaps on the same rings, with the standard error of the mean."""
    if not found or any(not np.array_equal(each.edges, found[0].edges) for each in found):
        raise SettingsError("an average needs at least one heap, and the same rings in all of them")
    return RingPressure(
        found[0].edges,
        np.mean([each.pressure for each in found], axis=0),
        np.linalg.norm([each.error for each in found], axis=0) / len(found),
        np.sum([each.contacts for each in found], axis=0),
    )


def draw_rings(axes: Any, found: RingPressure, hydrostatic: float | None = None) -> None:
    """Draw the pressure against the distance from the axis; the hydrostatic one as a line."""
    axes.stairs(found.pressure, found.edges, color="k")
    axes.errorbar(found.radius, found.pressure, found.error, fmt="none", ecolor="0.5", capsize=2)
    if hydrostatic is not None:
        axes.axhline(hydrostatic, ls="--", color="tab:blue", label=f"hydrostatic {hydrostatic:.0f} Pa")
        axes.legend()
    axes.set(xlabel="r (m)", ylabel="pressure on the ground (Pa)", ylim=(0, None))
