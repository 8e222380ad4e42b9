"""Shapes of grains: spheres of random radius, or copies of a shape at random orientations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.errors import SceneError
from clapas.geometry import checks, rotations
from clapas.geometry.checks import Vector
from clapas.geometry.shapes import Disk, Shape, Sphere
from clapas.typing import Array


@dataclass(frozen=True)
class GrainSampler:
    """Draws grains: radii spread evenly between two bounds, or one shape turned at random.

    Parameters
    ----------
    d : 2 or 3
        Dimension.
    radius : (low, high), optional
        Bounds of the radii of spheres, disks in 2-D (m).
    shape : Shape, optional
        The shape of all grains, instead of spheres.
    """

    d: int
    radius: tuple[float, float] | None = None
    shape: Shape | None = None

    @staticmethod
    def of(label: str, d: int, radius: Any, shape: Any) -> GrainSampler:
        """A sampler from one radius, two radii or a shape, checked."""
        if (radius is None) == (shape is None):
            raise SceneError(f"{label}: give either radius=(low, high) or shape=…, one of the two")
        if shape is not None:
            if not isinstance(shape, Shape) or shape.is_static or shape.d != d:
                raise SceneError(f"{label}: shape must be a {d}-D shape with mass, got {shape!r}")
            return GrainSampler(d, shape=shape)
        low, high = (radius, radius) if np.ndim(radius) == 0 else checks.vector(label, "radius", radius, 2)
        low, high = checks.positive(label, "radius", low), checks.positive(label, "radius", high)
        if low > high:
            raise SceneError(f"{label}: radius must be (low, high), got ({low}, {high})")
        return GrainSampler(d, radius=(low, high))

    @property
    def bound(self) -> float:
        """Radius about its centre of mass that holds the largest grain (m)."""
        if self.shape is not None:
            return self.shape.reach
        assert self.radius is not None
        return self.radius[1]

    def draw(self, shares: Array) -> list[tuple[Shape, Vector]]:
        """Shapes and orientations for numbers (n, 4) spread evenly in [0, 1[."""
        if self.shape is not None:
            return [(self.shape, tuple(turn)) for turn in random_orientations(self.d, shares[:, 1:]).tolist()]
        assert self.radius is not None
        low, high = self.radius
        kind: type[Sphere] | type[Disk] = Sphere if self.d == 3 else Disk
        straight = rotations.identity(self.d)
        return [(kind(r), straight) for r in (low + shares[:, 0] * (high - low)).tolist()]


def origin_of(shape: Shape, orientation: Vector, centre: Vector) -> Vector:
    """Position of the origin of a shape's own frame when its centre of mass is at ``centre``."""
    own = shape.mass_properties.centre
    if not any(own):
        return centre
    return tuple(np.subtract(centre, rotations.rotate(orientation, own)).tolist())


def random_orientations(d: int, shares: Array) -> Array:
    """Orientations spread evenly over all rotations, for numbers (n, 3) spread evenly in [0, 1[.

    Quaternions by Shoemake's map; angles in 2-D.
    """
    if d == 2:
        return np.asarray(2.0 * math.pi * shares[:, :1])
    inner, outer = np.sqrt(1.0 - shares[:, 0]), np.sqrt(shares[:, 0])
    first, second = 2.0 * math.pi * shares[:, 1], 2.0 * math.pi * shares[:, 2]
    return rotations.normalise(
        np.column_stack(
            (outer * np.cos(second), inner * np.sin(first), inner * np.cos(first), outer * np.sin(second))
        )
    )
