"""Rigid obstacles as distance functions: gap, normal and curvature at any point.

With g(x) the signed distance from the obstacle, the normal of a contact is n = ∇g, out of the obstacle (body
a) towards the deformable body (b), and ∇²g enters the consistent tangent on curved surfaces. The shapes
are those of scenes: planes, balls, boxes and polygons (optionally with rounded edges), capsules, cylinders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clapas.errors import SceneError
from clapas.geometry import checks, rotations
from clapas.geometry.shapes import Box, Capsule, Cylinder, Disk, HalfPlane, Plane, Polygon, Shape, Sphere
from clapas.typing import Array


class Distance(NamedTuple):
    """Signed distances (n,), their gradients (n, d) and their second derivatives (n, d, d) at points."""

    gap: Array
    normal: Array
    curvature: Array


@dataclass(frozen=True)
class Obstacle:
    """A rigid shape with its pose.

    Parameters
    ----------
    shape : Plane, HalfPlane, Sphere, Disk, Box, Polygon, Capsule or Cylinder
        In its own frame. In axisymmetric models plane shapes are sections (radius, height): a disk is a
        torus.
    position : d floats, optional
        Position of its origin (m).
    orientation : float or 4 floats, optional
        Angle (rad) in the plane, unit quaternion in space.
    rounding : float
        Radius of the edges of a box, polygon or cylinder (m), taken off inside: the faces stay.

    Examples
    --------
    >>> punch = Obstacle(Disk(0.5), position=(0.0, 1.0))
    >>> punch.distance(np.array([[0.0, 0.25]])).gap
    array([0.25])
    """

    shape: Shape
    position: Sequence[float] | None = None
    orientation: float | Sequence[float] | None = None
    rounding: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.shape, (Plane, HalfPlane, Sphere, Disk, Box, Polygon, Capsule, Cylinder)):
            raise SceneError(
                f"an obstacle cannot be a {type(self.shape).__name__}: expected Plane, HalfPlane, Sphere, "
                "Disk, Box, Polygon, Capsule or Cylinder"
            )
        d = self.shape.d
        if self.position is not None:
            checks.vector("obstacle", "position", self.position, d)
        if self.orientation is not None:
            checks.orientation("obstacle", self.orientation, d)
        room = self._largest_rounding
        if not 0.0 <= checks.number("obstacle", "rounding", self.rounding) <= room:
            raise SceneError(
                f"rounding must be between 0 and {room:g} for this {self.shape.word}, got {self.rounding:g}"
            )

    @property
    def _largest_rounding(self) -> float:
        if isinstance(self.shape, Box):
            return 0.5 * min(self.shape.size)
        if isinstance(self.shape, Cylinder):
            return min(self.shape.radius, 0.5 * self.shape.length)
        if isinstance(self.shape, Polygon):
            corners = self.shape.vertices
            normal, offset = _edges(corners)
            return 0.99 * float((offset - corners.mean(axis=0) @ normal.T).min())
        return 0.0

    def distance(self, points: Array, shift: Array | None = None) -> Distance:
        """Gap, normal and curvature at points (n, d), for the obstacle moved by ``shift`` (d,)."""
        d = points.shape[1]
        origin = np.zeros(d) if self.position is None else np.asarray(self.position, dtype=float)
        if origin.shape != (d,) or self.shape.d != d:
            raise SceneError(
                f"obstacle: a {self.shape.word} in {self.shape.d}-D"
                + ("" if self.position is None else f" at {tuple(self.position)}")
                + f" meets points in {d}-D: shape, position and mesh must agree"
            )
        x = points - origin - (0.0 if shift is None else shift)
        if self.orientation is None:
            return self._in_own_frame(x)
        turn = np.atleast_1d(np.asarray(self.orientation, dtype=float))
        R = rotations.to_matrix(turn)
        gap, normal, curvature = self._in_own_frame(x @ R)
        return Distance(gap, normal @ R.T, R @ curvature @ R.T)

    def _in_own_frame(self, x: Array) -> Distance:
        n, d = x.shape
        shape = self.shape
        if isinstance(shape, (Plane, HalfPlane)):
            normal = np.asarray(shape.normal)
            return Distance(x @ normal - shape.offset, np.tile(normal, (n, 1)), np.zeros((n, d, d)))
        if isinstance(shape, (Sphere, Disk)):
            return _from_point(x, np.eye(d), shape.radius)
        if isinstance(shape, Capsule):
            along = np.eye(d)[-1]
            half = 0.5 * shape.length
            nearest = np.clip(x @ along, -half, half)
            gap, normal, curvature = _from_point(x - nearest[:, None] * along, np.eye(d), shape.radius)
            beside = np.abs(x @ along) < half  # there the surface is straight along the axis
            length = gap + shape.radius
            curvature[beside] -= np.outer(along, along) / length[beside, None, None]
            return Distance(gap, normal, curvature)
        if isinstance(shape, Box):
            return _from_box(x, 0.5 * np.asarray(shape.size), self.rounding)
        if isinstance(shape, Polygon):
            return _from_polygon(x, shape.vertices, self.rounding)
        assert isinstance(shape, Cylinder)
        radius = np.linalg.norm(x[:, :2], axis=1)
        outwards = np.zeros_like(x)
        outwards[:, :2] = x[:, :2] / np.where(radius > 0.0, radius, 1.0)[:, None]
        section = np.column_stack((radius, x[:, 2]))
        flat = _from_box(section, np.array([shape.radius, 0.5 * shape.length]), self.rounding)
        frame = np.stack((outwards, np.tile((0.0, 0.0, 1.0), (n, 1))), axis=1)  # (n, 2, 3)
        normal = np.einsum("na,nad->nd", flat.normal, frame)
        curvature = np.einsum("nad,nab,nbe->nde", frame, flat.curvature, frame)
        around = np.column_stack((-outwards[:, 1], outwards[:, 0], np.zeros(n)))
        bend = flat.normal[:, 0] / np.where(radius > 0.0, radius, np.inf)
        curvature += bend[:, None, None] * around[:, :, None] * around[:, None, :]
        return Distance(flat.gap, normal, curvature)


def _from_point(x: Array, across: Array, radius: float) -> Distance:
    length = np.linalg.norm(x, axis=1)
    safe = np.where(length > 0.0, length, 1.0)
    normal = x / safe[:, None]
    normal[length == 0.0] = np.eye(x.shape[1])[-1]
    curvature = (across - normal[:, :, None] * normal[:, None, :]) / safe[:, None, None]
    return Distance(length - radius, normal, curvature)


def _from_box(x: Array, half: Array, rounding: float) -> Distance:
    """Distance from a box with rounded edges: that from the smaller sharp box less the rounding."""
    sign = np.where(x < 0.0, -1.0, 1.0)
    excess = np.abs(x) - (half - rounding)
    outside = np.maximum(excess, 0.0)
    length = np.linalg.norm(outside, axis=1)
    inner = length == 0.0
    nearest = np.argmax(excess, axis=1)
    face = np.eye(x.shape[1])[nearest]
    normal = sign * np.where(inner[:, None], face, outside / np.where(inner, 1.0, length)[:, None])
    gap = np.where(inner, excess.max(axis=1), length) - rounding
    # Beside an edge or a corner the distance is that from it; the curved directions are those outside.
    curved = (excess > 0.0).astype(float)
    curvature = curved[:, :, None] * np.eye(x.shape[1]) - normal[:, :, None] * normal[:, None, :]
    many = ~inner & (curved.sum(axis=1) > 1)
    curvature = np.where(many[:, None, None], curvature / np.where(many, length, 1.0)[:, None, None], 0.0)
    return Distance(gap, normal, curvature)


def _edges(corners: Array) -> tuple[Array, Array]:
    """Outward normals (e, 2) of the edges of a polygon given counterclockwise, and their offsets (e,)."""
    along = np.roll(corners, -1, axis=0) - corners
    normal = np.column_stack((along[:, 1], -along[:, 0])) / np.linalg.norm(along, axis=1)[:, None]
    return normal, np.einsum("ed,ed->e", normal, corners)


def _from_polygon(x: Array, corners: Array, rounding: float) -> Distance:
    """Distance from a convex polygon with rounded corners."""
    normal, offset = _edges(corners)
    before = np.roll(normal, 1, axis=0)
    # Corner k is where edges k − 1 and k meet; move both inwards by the rounding.
    pair = np.stack((before, normal), axis=1)
    level = np.stack((np.roll(offset, 1), offset), axis=1) - rounding
    small = np.linalg.solve(pair, level[:, :, None])[:, :, 0]
    along = np.roll(small, -1, axis=0) - small
    share = np.einsum("ned,ed->ne", x[:, None] - small, along) / (along**2).sum(axis=1)
    nearest = small + np.clip(share, 0.0, 1.0)[:, :, None] * along
    away = x[:, None] - nearest
    edge = np.argmin((away**2).sum(axis=2), axis=1)
    rows = np.arange(len(x))
    height = x @ normal.T - (offset - rounding)
    inner = (height <= 0.0).all(axis=1)
    top = np.argmax(height, axis=1)
    length = np.linalg.norm(away[rows, edge], axis=1)
    on_edge = inner | ((share[rows, edge] > 0.0) & (share[rows, edge] < 1.0)) | (length == 0.0)
    face = normal[np.where(inner, top, edge)]
    from_corner = away[rows, edge] / np.where(length > 0.0, length, 1.0)[:, None]
    direction = np.where(on_edge[:, None], face, from_corner)
    gap = np.where(inner, height[rows, top], length) - rounding
    bend = np.where(on_edge, 0.0, 1.0 / np.where(length > 0.0, length, 1.0))
    curvature = bend[:, None, None] * (np.eye(2) - direction[:, :, None] * direction[:, None, :])
    return Distance(gap, direction, curvature)
