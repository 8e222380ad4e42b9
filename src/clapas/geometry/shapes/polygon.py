"""Convex polygons in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clapas.errors import SceneError
from clapas.geometry import checks, mass
from clapas.geometry.colliders import Kind
from clapas.geometry.mass import MassProperties
from clapas.geometry.rotations import identity
from clapas.geometry.shapes.base import Hull, Piece, Shape, write
from clapas.typing import Array

# Corners nearer than this to the line through their neighbours, relative to the size, are on it.
FLATNESS = 1e-9


@dataclass(frozen=True, eq=False, init=False)
class Polygon(Shape):
    """A convex polygon in the plane, by its corners in any order.

    Corners are sorted counterclockwise; those on the line between two others are left out. A point inside the
    hull of the others is an error, as the polygon is then not convex: cut it into convex parts and join them
    in a :class:`Clump`.

    Parameters
    ----------
    points : array (n, 2)
        Corners in the shape's own frame (m). The frame's origin need not be the centre.

    Examples
    --------
    >>> square = Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
    >>> square.volume, square.mass_properties.centre
    (1.0, (0.5, 0.5))
    >>> square.vertices.tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """

    d = 2
    word = "polygon"
    points: Array

    def __init__(self, points: npt.ArrayLike) -> None:
        corners = checks.points(self.word, "points", points, 2, at_least=3)
        write(self, "points", corners)
        write(self, "_vertices", _convex_order(corners))

    @staticmethod
    def rectangle(width: float, height: float) -> Polygon:
        """Rectangle centred at the origin, sides along x and y.

        >>> Polygon.rectangle(2.0, 1.0).volume
        2.0
        """
        x = checks.positive("rectangle", "width", width) / 2.0
        y = checks.positive("rectangle", "height", height) / 2.0
        return Polygon(np.array([(-x, -y), (x, -y), (x, y), (-x, y)]))

    @property
    def vertices(self) -> Array:
        """Corners in counterclockwise order, (n, 2)."""
        corners: Array = self._vertices  # type: ignore[attr-defined]
        return corners

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Sum of signed triangles."""
        return MassProperties.from_moments(*mass.of_polygon(self.vertices))

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """One piece, the polygon about its centre."""
        centre = self.mass_properties.centre
        corners = self.vertices - centre
        n = len(corners)
        hull = Hull(corners, tuple((k, (k + 1) % n) for k in range(n)), outward_normals(corners))
        bound = float(np.linalg.norm(corners, axis=1).max())
        return (Piece(Kind.POLYHEDRON, centre, identity(2), (0.0, 0.0, 0.0), bound, hull),)


def _convex_order(points: Array) -> Array:
    """Corners of the hull counterclockwise, starting from the first given; points inside are an error."""
    tolerance = FLATNESS * float(np.ptp(points, axis=0).max())
    order = _without_flat_corners(points, _hull_order(points), tolerance)
    if len(order) < 3:
        raise SceneError(f"polygon: its {len(points)} points are on one line or in one place: it has no area")
    corners = points[order]
    depth = np.einsum("pei,ei->pe", corners - points[:, None], outward_normals(corners)).min(axis=1)
    inside = np.flatnonzero(depth > tolerance)
    if inside.size:
        raise SceneError(
            f"polygon: not convex, point {inside[0]} at {points[inside[0]].tolist()} is inside the hull "
            "of the others; cut it into convex parts and join them in a Clump"
        )
    return np.roll(corners, -order.index(min(order)), axis=0)


def outward_normals(corners: Array) -> Array:
    """Unit normals of the edges (corner k to corner k + 1) of a counterclockwise polygon, (n, 2)."""
    edges = np.roll(corners, -1, axis=0) - corners
    return np.asarray(np.column_stack((edges[:, 1], -edges[:, 0])) / np.linalg.norm(edges, axis=1)[:, None])


def _hull_order(points: Array) -> list[int]:
    """Corners of the convex hull, counterclockwise, by Andrew's monotone chain."""
    by_x = sorted(range(len(points)), key=lambda k: (points[k, 0], points[k, 1]))

    def chain(rows: list[int]) -> list[int]:
        corners: list[int] = []
        for row in rows:
            while len(corners) > 1 and _twice_area(*points[[*corners[-2:], row]]) <= 0.0:
                corners.pop()
            corners.append(row)
        return corners[:-1]

    return chain(by_x) + chain(by_x[::-1])


def _without_flat_corners(points: Array, order: list[int], tolerance: float) -> list[int]:
    """Remove the flattest corner while it is on the line through its neighbours."""
    while len(order) > 2:
        before, after = points[np.roll(order, 1)], points[np.roll(order, -1)]
        chord = after - before
        length = np.maximum(np.linalg.norm(chord, axis=1), np.finfo(float).tiny)
        arm = points[order] - before
        height = np.abs(chord[:, 0] * arm[:, 1] - chord[:, 1] * arm[:, 0]) / length
        flattest = int(np.argmin(height))
        if height[flattest] > tolerance:
            break
        order = order[:flattest] + order[flattest + 1 :]
    return order


def _twice_area(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]))
