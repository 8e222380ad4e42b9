"""Volume, centre and moments of inertia of shapes, at unit density.

Everything is integrated exactly. With the second moments C = ∫ x xᵀ about the centre the inertia tensor
is tr(C) I − C. Flat-faced solids are sums of signed tetrahedra (triangles in 2-D) with one corner at a
common point, each with its closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.checks import Vector
from clapas.typing import Array, Indices

# Products of inertia below this fraction of the trace are rounding: the axes are principal already.
ROUNDING = 1e-12


@dataclass(frozen=True)
class MassProperties:
    """Volume, centre of mass and principal inertia of a shape of density 1.

    Multiply ``volume`` and ``moments`` by the density to get mass and inertia. In 2-D the volume is
    an area: the mass is that of one metre of depth (kg/m).

    Parameters
    ----------
    volume : float
        m³, or m² in 2-D.
    centre : tuple of d
        Centre of mass in the shape's own frame (m).
    moments : tuple of 3, of 1 in 2-D
        Principal moments about the centre (m⁵, m⁴ in 2-D).
    orientation : tuple of 4, of 1 in 2-D
        Principal axes in the shape's own frame: quaternion, or the angle 0.
    """

    volume: float
    centre: Vector
    moments: Vector
    orientation: Vector

    @property
    def inertia(self) -> Array:
        """Inertia tensor about the centre along the shape's own axes, (3, 3), or (1, 1) in 2-D."""
        if len(self.moments) == 1:
            return np.array([self.moments])
        axes = rotations.to_matrix(self.orientation)
        return np.asarray((axes * self.moments) @ axes.T)

    @staticmethod
    def centred(volume: float, *moments: float) -> MassProperties:
        """Properties of a shape whose own frame is already at its centre, along its principal axes."""
        d = 3 if len(moments) == 3 else 2
        return MassProperties(volume, rotations.origin(d), moments, rotations.identity(d))

    @staticmethod
    def from_moments(volume: float, centre: Array, second: Array) -> MassProperties:
        """Properties from the second moments ∫ x xᵀ about the centre, (d, d)."""
        where = tuple(map(float, centre))
        if len(second) == 2:
            return MassProperties(volume, where, (float(np.trace(second)),), rotations.identity(2))
        moments, orientation = principal_axes(np.trace(second) * np.eye(3) - second)
        return MassProperties(volume, where, moments, orientation)


def principal_axes(inertia: Array) -> tuple[Vector, Vector]:
    """Principal moments of an inertia tensor (3, 3) and the orientation of the axes.

    Axes that are principal already are kept as they are; otherwise, of the 24 right-handed frames along
    the principal directions, the one turned least.

    Examples
    --------
    >>> principal_axes(np.diag([3.0, 1.0, 2.0]))
    ((3.0, 1.0, 2.0), (1.0, 0.0, 0.0, 0.0))
    """
    off_diagonal = np.abs(inertia - np.diag(np.diag(inertia))).max()
    if off_diagonal <= ROUNDING * np.trace(inertia):
        return tuple(map(float, np.diag(inertia))), rotations.identity(3)
    if not np.isfinite(inertia).all():
        raise SceneError("the moments of inertia are too large to be computed: are the lengths in metres?")
    axes = _least_turned(np.linalg.eigh((inertia + inertia.T) / 2.0)[1])
    moments = np.diag(axes.T @ inertia @ axes)
    return tuple(map(float, moments)), tuple(map(float, rotations.from_matrix(axes)))


def _least_turned(directions: Array) -> Array:
    """Right-handed frame along orthonormal directions (columns) whose rotation angle is smallest."""
    frames = (
        directions[:, list(order)] * np.array(signs)
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    )
    right_handed = (frame for frame in frames if np.linalg.det(frame) > 0.0)
    return max(right_handed, key=lambda frame: float(np.trace(frame)))  # the trace is 1 + 2 cos θ


def combined(parts: Sequence[tuple[MassProperties, Vector, Vector]]) -> MassProperties:
    """Properties of rigidly joined parts, each with the position and orientation of its own frame.

    Volumes are added: overlaps are counted twice.
    """
    d = len(parts[0][1])
    volumes = np.array([part.volume for part, _, _ in parts])
    centres = np.array(
        [np.add(position, rotations.rotate(turn, part.centre)) for part, position, turn in parts]
    )
    volume = float(volumes.sum())
    centre = volumes @ centres / volume
    second = np.zeros((d, d))
    for (part, _, turn), own_volume, own_centre in zip(parts, volumes, centres, strict=True):
        arm = own_centre - centre
        second += own_volume * np.outer(arm, arm)
        second += _turned_second_moments(part, turn)
    return MassProperties.from_moments(volume, centre, second)


def _turned_second_moments(part: MassProperties, turn: Vector) -> Array:
    if len(turn) == 1:
        # Only the trace is used in the plane, and no rotation changes it.
        return np.diag([part.moments[0] / 2.0] * 2)
    moments = np.array(part.moments)
    axes = rotations.to_matrix(rotations.product(turn, part.orientation))
    return np.asarray((axes * (moments.sum() / 2.0 - moments)) @ axes.T)


def of_triangles(vertices: Array, triangles: Indices) -> tuple[float, Array, Array]:
    """Volume, centre and second moments of the solid inside a closed surface of triangles.

    The tetrahedron of a triangle (a, b, c) and the origin has the signed volume V = a·(b × c)/6, the first
    moment V s/4 and the second moment V (s sᵀ + a aᵀ + b bᵀ + c cᵀ)/20, with s = a + b + c.

    Parameters
    ----------
    vertices : array (n, 3)
        Corners (m).
    triangles : array (m, 3)
        Rows of vertices, counterclockwise seen from outside.

    Returns
    -------
    volume, centre (3,), second moments about the centre (3, 3)
    """
    origin = vertices.mean(axis=0)  # near the solid: less cancellation between tetrahedra
    corners = (vertices - origin)[triangles]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    volumes = np.einsum("ni,ni->n", a, np.cross(b, c)) / 6.0
    s = corners.sum(axis=1)
    volume = volumes.sum()
    centre = volumes @ s / 4.0 / volume
    second = np.einsum("n,ni,nj->ij", volumes, s, s) + np.einsum("n,nki,nkj->ij", volumes, corners, corners)
    return float(volume), origin + centre, second / 20.0 - volume * np.outer(centre, centre)


def of_polygon(vertices: Array) -> tuple[float, Array, Array]:
    """Area, centre and second moments of a polygon (n, 2), corners counterclockwise.

    The triangle of an edge (a, b) and the origin has the signed area A = (a × b)/2, the first moment A s/3
    and the second moment A (s sᵀ + a aᵀ + b bᵀ)/12, with s = a + b.
    """
    origin = vertices.mean(axis=0)
    a = vertices - origin
    b = np.roll(a, -1, axis=0)
    areas = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2.0
    s = a + b
    area = areas.sum()
    centre = areas @ s / 3.0 / area
    second = sum(np.einsum("n,ni,nj->ij", areas, x, x) for x in (s, a, b))
    return float(area), origin + centre, np.asarray(second / 12.0 - area * np.outer(centre, centre))
