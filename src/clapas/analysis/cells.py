"""Which grain a point of space belongs to: cells about grains, and the room they fill.

A point belongs to the sphere of smallest power |x − c|² − r²: the cells of Laguerre (radical, Voronoi-like)
that never cut a sphere. It is inside some sphere exactly when this power is negative. With R the largest
radius, |x − c|² + (R² − r²) is a squared distance in one more dimension, so a search tree finds the owner.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from clapas.analysis.instant import Instant
from clapas.errors import SettingsError
from clapas.typing import Array, Indices, Mask


def owners(instant: Instant, points: Array) -> tuple[Indices, Mask]:
    """The grain each point (m, d) belongs to, and whether it is inside it. Bodies count as spheres."""
    spheres = np.flatnonzero(np.isfinite(instant.reach) & (instant.reach > 0.0))
    if len(spheres) == 0:
        return np.full(len(points), -1), np.zeros(len(points), dtype=bool)
    radius = instant.reach[spheres]
    largest = radius.max()
    lifted = np.column_stack((instant.centre[spheres], np.sqrt(largest**2 - radius**2)))
    distance, nearest = cKDTree(lifted).query(np.column_stack((points, np.zeros(len(points)))))
    return spheres[nearest], np.asarray(distance < largest)


def cell_volumes(instant: Instant, low: Sequence[float], high: Sequence[float], resolution: float) -> Array:
    """Volume of the cell of each grain inside a box, (N,) (m³; m² in 2-D), on a raster of that spacing."""
    points, room = _raster(instant.d, low, high, resolution)
    owner, _ = owners(instant, points)
    return room * np.bincount(owner[owner >= 0], minlength=instant.n_bodies).astype(float)


def packing_fraction(
    instant: Instant, low: Sequence[float], high: Sequence[float], resolution: float | None = None
) -> float:
    """Share of a box that grains (as spheres) fill, on a raster; by default 1/8 of the mean radius."""
    if resolution is None:
        resolution = float(instant.reach[instant.movable].mean()) / 8
    points, _ = _raster(instant.d, low, high, resolution)
    return float(owners(instant, points)[1].mean())


def _raster(d: int, low: Sequence[float], high: Sequence[float], resolution: float) -> tuple[Array, float]:
    """Middles (m, d) of the cells of a raster over a box, and the volume of one."""
    corner, opposite = np.array(low, dtype=float), np.array(high, dtype=float)
    if corner.shape != (d,) or opposite.shape != (d,) or not np.all(corner < opposite):
        raise SettingsError(f"low and high must be opposite corners of a box in {d}-D, got {low} and {high}")
    if not resolution > 0:
        raise SettingsError(f"resolution must be positive, got {resolution}")
    counts = np.maximum(1, np.round((opposite - corner) / resolution)).astype(int)
    size = (opposite - corner) / counts
    lines = [corner[k] + size[k] * (np.arange(counts[k]) + 0.5) for k in range(d)]
    return np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, d), float(size.prod())


def fraction_below(instant: Instant, summit: float, foot: float, skin: float, count: int = 200_000) -> float:
    """Packing fraction inside a cone about Oz, away from its surface and from the ground.

    Parameters
    ----------
    instant : Instant
        Grains, in 3-D.
    summit, foot : float
        Height of the cone and its radius on the ground (m).
    skin : float
        Distance kept from the ground and, measured vertically, from the surface (m).
    count : int
        Points drawn evenly in the box about the cone, with a fixed seed.
    """
    if instant.d != 3 or not 2 * skin < summit:
        raise SettingsError(f"no room inside a cone of height {summit} m without a skin of {skin} m, in 3-D")
    points = np.random.default_rng(0).uniform((-foot, -foot, skin), (foot, foot, summit - skin), (count, 3))
    surface = summit * (1.0 - np.hypot(points[:, 0], points[:, 1]) / foot)
    return float(owners(instant, points[points[:, 2] < surface - skin])[1].mean())
