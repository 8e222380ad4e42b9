"""Cells about grains, and the volume that grains fill.

Only grains count: walls have no cell and no volume, so the box must be chosen between the walls. In a
periodic cell all images of the grains count.

*Cells.* A point belongs to the sphere of smallest power |x − c|² − r²: the cells of Laguerre (radical,
Voronoi-like) that never cut a sphere. With R the largest radius, |x − c|² + (R² − r²) is a squared
distance in one more dimension, so a search tree finds the owner. The spheres are the parts of the grains: a
ball is one, a clump of balls several, whose cells together are the cell of the clump; any other part counts
as the sphere about it.

*Filled volume.* A point is filled if it lies inside the true shape of a grain: ball, box, capsule, cylinder,
polyhedron, polygon. A point inside two grains, or two parts, counts once. Where all are spheres,
rays that are exact along their length replace points (:mod:`clapas.analysis.rays`): the error is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from clapas.analysis.images import images, is_periodic
from clapas.analysis.instant import Instant
from clapas.analysis.rays import MOVES, filled_by_spheres
from clapas.errors import SettingsError
from clapas.geometry.colliders import Kind
from clapas.typing import Array, Indices, Mask

LEAST_POINTS = 200_000
RAYS = 2048  # of each move
AT_ONCE = 4_000_000  # pairs of a point and a part treated together: bounds the memory


class _Spheres(NamedTuple):
    """Spheres about the parts of grains, images included: owner, row of the part, centre and radius."""

    body: Indices
    row: Indices
    centre: Array
    radius: Array


def owners(instant: Instant, points: Array) -> tuple[Indices, Mask]:
    """The grain each point (m, d) belongs to (−1 if there is none), and whether it is inside a grain."""
    spheres = _spheres(instant, points)
    if len(spheres.body) == 0:
        return np.full(len(points), -1), np.zeros(len(points), dtype=bool)
    largest = spheres.radius.max()
    lifted = np.column_stack((spheres.centre, np.sqrt(largest**2 - spheres.radius**2)))
    distance, nearest = cKDTree(lifted).query(np.column_stack((points, np.zeros(len(points)))))
    return spheres.body[nearest], _filled(instant, points, spheres, np.asarray(distance < largest))


def gaps(instant: Instant, points: Array) -> Array:
    """Distance (m) of each point (m, d) from the sphere about the grain it belongs to, negative inside it."""
    spheres = _spheres(instant, points)
    if len(spheres.body) == 0:
        return np.full(len(points), np.inf)
    largest = spheres.radius.max()
    lifted = np.column_stack((spheres.centre, np.sqrt(largest**2 - spheres.radius**2)))
    _, nearest = cKDTree(lifted).query(np.column_stack((points, np.zeros(len(points)))))
    away = np.linalg.norm(points - spheres.centre[nearest], axis=1)
    return np.asarray(away - spheres.radius[nearest])


def _spheres(instant: Instant, points: Array) -> _Spheres:
    """The spheres that may own or cover some of the points."""
    if instant.parts is None:
        body: Indices = np.arange(instant.n_bodies)
        centre, radius = instant.centre, instant.reach
    else:
        table = instant.parts.colliders
        body, centre, radius = table.body, instant.parts.centre, table.bound
    row = np.flatnonzero(instant.movable[body] & np.isfinite(radius) & (radius > 0.0))
    centre = centre[row]
    if is_periodic(instant.period) and len(points):
        # The image of a sphere nearest to a point is at most half a period away from it along each axis.
        half = np.array([0.5 * (length or 0.0) for length in (*instant.period, None)])[: instant.d]
        which, shift = images(centre - half, centre + half, instant.period, (points.min(0), points.max(0)))
        row, centre = row[which], centre[which] + shift
    return _Spheres(body[row], row, centre, radius[row])


def _filled(instant: Instant, points: Array, spheres: _Spheres, covered: Mask) -> Mask:
    """Points inside grains, from those covered by the spheres about their parts."""
    if instant.parts is None:
        return covered
    parts = instant.parts
    if (parts.colliders.kind[spheres.row] == Kind.SPHERE).all():
        return covered
    inside = np.zeros(len(points), dtype=bool)
    near = np.flatnonzero(covered)
    if len(near) == 0:
        return inside
    tree = cKDTree(points[near])
    count = tree.query_ball_point(spheres.centre, spheres.radius, return_length=True)
    first = 0
    for last in _groups(np.asarray(count)):
        group = slice(first, last)
        neighbours = tree.query_ball_point(spheres.centre[group], spheres.radius[group], return_sorted=False)
        point = near[np.concatenate([np.asarray(each, dtype=np.int64) for each in neighbours])]
        sphere = np.repeat(np.arange(first, last), count[group])
        hit = parts.contain(spheres.row[sphere], points[point] - spheres.centre[sphere])
        inside[point[hit]] = True
        first = last
    return inside


def _groups(count: Indices) -> list[int]:
    """Ends of runs of spheres that have at most about ``AT_ONCE`` points together."""
    group = np.cumsum(count) // AT_ONCE
    return [*(np.flatnonzero(np.diff(group)) + 1).tolist(), len(count)]


def cell_volumes(instant: Instant, low: Sequence[float], high: Sequence[float], resolution: float) -> Array:
    """Volume of the cell of each grain inside a box, (N,) (m³; m² in 2-D), on a raster of that spacing (m).

    The cells fill the box; walls have none.
    """
    points, pixel = _raster(instant.d, low, high, resolution)
    owner, _ = owners(instant, points)
    return pixel * np.bincount(owner[owner >= 0], minlength=instant.n_bodies).astype(float)


class Packing(NamedTuple):
    """Share of a box that grains fill, and half the width of its 95 % interval, None if not known."""

    share: float
    error: float | None


def packing_fraction(
    instant: Instant, low: Sequence[float], high: Sequence[float], resolution: float | None = None
) -> float:
    """Share of a box that grains fill: see :func:`packing`."""
    return packing(instant, low, high, resolution).share


def packing(
    instant: Instant, low: Sequence[float], high: Sequence[float], resolution: float | None = None
) -> Packing:
    """Share of a box that grains fill, with its error where all are spheres or clumps of them.

    Spheres are met by rays along the last axis, exact along them, so many as a raster of that spacing (m)
    would have across; by default 8 × 2048. Other shapes are looked at on a
    raster of points: by default the spacing is 1/8 of the mean radius, less in small boxes: at least 200 000
    points.
    """
    corner, opposite = _corners(instant.d, low, high, resolution)
    spheres = _spheres(instant, np.stack((corner, opposite)))
    if instant.parts is None or (instant.parts.colliders.kind[spheres.row] == Kind.SPHERE).all():
        rays = RAYS
        if resolution is not None:
            rays = max(1, round(float(np.prod((opposite - corner)[:-1] / resolution)) / MOVES))
        return Packing(*filled_by_spheres(spheres.centre, spheres.radius, corner, opposite, rays))
    if resolution is None:
        grains = instant.reach[instant.is_sized]
        fine = (float(np.prod(opposite - corner)) / LEAST_POINTS) ** (1.0 / instant.d)
        resolution = min(fine, float(grains.mean()) / 8) if len(grains) else fine
    points, _ = _raster(instant.d, low, high, resolution)
    return Packing(float(owners(instant, points)[1].mean()), None)


def _corners(
    d: int, low: Sequence[float], high: Sequence[float], resolution: float | None
) -> tuple[Array, Array]:
    corner, opposite = np.array(low, dtype=float), np.array(high, dtype=float)
    if corner.shape != (d,) or opposite.shape != (d,) or not np.all(corner < opposite):
        raise SettingsError(f"low and high must be opposite corners of a box in {d}-D, got {low} and {high}")
    if resolution is not None and not resolution > 0:
        raise SettingsError(f"resolution must be positive, got {resolution}")
    return corner, opposite


def _raster(d: int, low: Sequence[float], high: Sequence[float], resolution: float) -> tuple[Array, float]:
    """Middles (m, d) of the cells of a raster over a box, and the volume of one."""
    corner, opposite = _corners(d, low, high, resolution)
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
    if instant.d != 3:
        raise SettingsError("a cone stands about the vertical axis of a scene in 3-D, this one is in 2-D")
    if not 2 * skin < summit:
        raise SettingsError(f"no room inside a cone of height {summit} m without a skin of {skin} m")
    points = np.random.default_rng(0).uniform((-foot, -foot, skin), (foot, foot, summit - skin), (count, 3))
    surface = summit * (1.0 - np.hypot(points[:, 0], points[:, 1]) / foot)
    below = points[points[:, 2] < surface - skin]
    if len(below) == 0:
        raise SettingsError(f"none of {count} points is inside a cone of height {summit} m and foot {foot} m")
    return float(owners(instant, below)[1].mean())
