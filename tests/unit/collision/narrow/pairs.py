"""Pairs of placed shapes for the tests of the narrow phase."""

from __future__ import annotations

import numpy as np

from clapas.collision import Detector
from clapas.geometry import rotations
from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes import HalfPlane, Plane, Shape
from clapas.geometry.table import Frame, collider_table

TRIES = 60


class Pair:
    """Two shapes, each in the frame of its own body: contacts at any places and turns."""

    def __init__(self, one: Shape, two: Shape) -> None:
        movable = np.array([not isinstance(shape, Plane | HalfPlane) for shape in (one, two)])
        self.d = one.d
        rows = [(k, shape, 0, Frame.own(self.d)) for k, shape in enumerate((one, two))]
        self._detector = Detector(collider_table(self.d, rows), movable=movable)

    def touch(
        self,
        position: np.ndarray,
        orientation: np.ndarray | None = None,
        distance: float = 0.0,
    ) -> Contacts:
        """Contacts with the bodies at these places (2, d)."""
        if orientation is None:
            orientation = np.tile(still(self.d), (2, 1))
        return self._detector.detect(np.asarray(position, dtype=float), orientation, distance)


def still(d: int) -> np.ndarray:
    """The orientation of a body that is not turned."""
    return np.array([1.0, 0.0, 0.0, 0.0]) if d == 3 else np.zeros(1)


def turns(rng: np.random.Generator, n: int = 2) -> np.ndarray:
    """Unit quaternions (n, 4)."""
    q = rng.normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=1)[:, None]


def in_frame(x: np.ndarray, position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
    """A point of the world in the frame of a body."""
    return rotations.rotate(rotations.conjugate(orientation), x - position)


def in_world(x: np.ndarray, position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
    """Points (n, 3) of a body in the world."""
    return rotations.rotate(np.tile(orientation, (len(x), 1)), x) + position


def nearest_on_segment(x: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The point of a segment nearest to x."""
    along = (x - p) @ (q - p) / max(float((q - p) @ (q - p)), 1e-300)
    return p + np.clip(along, 0.0, 1.0) * (q - p)


def segment_distance(p: np.ndarray, a: np.ndarray, q: np.ndarray, b: np.ndarray) -> float:
    """Distance of the segments pa and qb: between the lines if both feet are inside, else at an end."""
    ends = [
        np.linalg.norm(x - nearest_on_segment(x, *other))
        for x, other in ((p, (q, b)), (a, (q, b)), (q, (p, a)), (b, (p, a)))
    ]
    directions = np.column_stack((a - p, q - b))
    if np.linalg.matrix_rank(directions) == 2:
        (s, t), *_ = np.linalg.lstsq(directions, q - p, rcond=None)
        if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
            ends.append(np.linalg.norm(p + s * (a - p) - q - t * (b - q)))
    return float(min(ends))


def cube(half: np.ndarray) -> np.ndarray:
    """Corners (8, 3) of a box of these half edges."""
    return half * (2.0 * np.array(np.unravel_index(np.arange(8), (2, 2, 2))).T - 1.0)
