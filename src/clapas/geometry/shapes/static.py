"""Shapes without mass, for walls: half-spaces, half-planes and surfaces of triangles."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.geometry.checks import Vector
from clapas.geometry.colliders import Kind
from clapas.geometry.meshfiles import read_mesh
from clapas.geometry.rotations import identity, up_to
from clapas.geometry.shapes.base import Hull, Piece, StaticShape, write
from clapas.typing import Array, Indices

# A triangle whose height is below this fraction of its longest edge has no defined normal.
THIN = 1e-12


class _Half(StaticShape):
    normal: Vector
    offset: float

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """One piece: the last axis of its frame is the normal, its origin is on the surface."""
        position = tuple(self.offset * x for x in self.normal)
        turn = tuple(map(float, up_to(self.normal)))
        return (Piece(Kind.PLANE, position, turn, (0.0, 0.0, 0.0), np.inf),)


@dataclass(frozen=True, init=False)
class Plane(_Half):
    """A half-space {x : normal·x ≤ offset}, solid below its plane; it has no mass.

    Parameters
    ----------
    normal : 3 floats
        Out of the solid; any length but zero.
    offset : float
        Distance of the plane from the origin along the normal (m).

    Examples
    --------
    The floor: ``Plane()``. A wall at x = 2 with the grains on its left:

    >>> Plane((-1, 0, 0), -2.0).normal
    (-1.0, 0.0, 0.0)
    """

    d = 3
    word = "plane"
    normal: Vector = (0.0, 0.0, 1.0)
    offset: float = 0.0

    def __init__(self, normal: Sequence[float] = (0.0, 0.0, 1.0), offset: float = 0.0) -> None:
        write(self, "normal", checks.unit_vector(self.word, "normal", normal, 3))
        write(self, "offset", checks.number(self.word, "offset", offset))


@dataclass(frozen=True, init=False)
class HalfPlane(_Half):
    """A half-plane {x : normal·x ≤ offset} in 2-D, solid below its line; it has no mass.

    Parameters
    ----------
    normal : 2 floats
        Out of the solid; any length but zero.
    offset : float
        Distance of the line from the origin along the normal (m).
    """

    d = 2
    word = "half-plane"
    normal: Vector = (0.0, 1.0)
    offset: float = 0.0

    def __init__(self, normal: Sequence[float] = (0.0, 1.0), offset: float = 0.0) -> None:
        write(self, "normal", checks.unit_vector(self.word, "normal", normal, 2))
        write(self, "offset", checks.number(self.word, "offset", offset))


@dataclass(frozen=True, eq=False, init=False)
class TriangleMesh(StaticShape):
    """A surface of triangles: a hopper, a drum, a terrain. It has no mass and no inside.

    Parameters
    ----------
    vertices : array (n, 3)
        Corners in the shape's own frame (m).
    triangles : array (m, 3) of int
        Three vertices each, counterclockwise seen from the side of the grains.

    Examples
    --------
    >>> mesh = TriangleMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])
    >>> mesh.pieces[0].hull.normals.tolist()
    [[0.0, 0.0, 1.0]]
    """

    d = 3
    word = "mesh"
    vertices: Array
    triangles: Indices

    def __init__(self, vertices: npt.ArrayLike, triangles: npt.ArrayLike) -> None:
        corners = checks.points(self.word, "vertices", vertices, 3, at_least=3)
        rows = _triangles(triangles, len(corners))
        thin = np.flatnonzero(thin_triangles(corners, rows))
        if thin.size:
            raise SceneError(
                f"mesh: triangle {thin[0]} has no area ({thin.size} such triangles); leave them out, as "
                "TriangleMesh.from_file does"
            )
        write(self, "vertices", corners)
        write(self, "triangles", rows)

    @staticmethod
    def from_file(path: str | os.PathLike[str], scale: float = 1.0) -> TriangleMesh:
        """Surface of an STL or OBJ file, without its triangles of no area.

        Parameters
        ----------
        path : path
            The file.
        scale : float
            Metres per unit of the file: 0.001 for millimetres.
        """
        vertices, triangles = read_mesh(path)
        triangles = triangles[~thin_triangles(vertices, triangles)]
        return TriangleMesh(vertices * checks.positive("mesh", "scale", scale), triangles)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """One per triangle."""
        corners = self.vertices[self.triangles]
        a, b, c = corners.transpose(1, 0, 2)
        normals = np.cross(b - a, c - a)
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        pieces = []
        for triangle, normal in zip(corners, normals, strict=True):
            centre, bound = enclosing_circle(triangle)
            hull = Hull(triangle - centre, ((0, 1, 2),), normal[None])
            where = tuple(map(float, centre))
            pieces.append(Piece(Kind.TRIANGLE, where, identity(3), (0.0, 0.0, 0.0), bound, hull))
        return tuple(pieces)


def thin_triangles(vertices: Array, triangles: Indices) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mask of the triangles without area."""
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    longest = np.maximum.reduce([np.linalg.norm(x, axis=1) for x in (b - a, c - b, a - c)])
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return np.asarray(~(area > THIN * longest**2))


def enclosing_circle(triangle: Array) -> tuple[Array, float]:
    """Centre and radius of the smallest ball around three points.

    On the longest edge if the angle opposite is not acute, else the circumscribed circle.
    """
    opposite = np.linalg.norm(np.roll(triangle, -1, axis=0) - np.roll(triangle, 1, axis=0), axis=1)
    top = int(np.argmax(opposite))
    p, a, b = triangle[top], triangle[top - 1], triangle[top - 2]
    if (a - p) @ (b - p) <= 0.0:
        centre = (a + b) / 2.0
    else:
        u, v = a - p, b - p
        n = np.cross(u, v)
        centre = p + np.cross((u @ u) * v - (v @ v) * u, n) / (2.0 * (n @ n))
    return centre, float(np.linalg.norm(triangle - centre, axis=1).max())


def _triangles(value: object, n_vertices: int) -> Indices:
    try:
        rows = np.array(value)
    except ValueError:
        raise SceneError("mesh: triangles must be rows of 3 whole numbers, all of one length") from None
    if rows.ndim != 2 or rows.shape[1] != 3 or len(rows) == 0 or rows.dtype.kind not in "iu":
        raise SceneError(
            f"mesh: triangles must be rows of 3 whole numbers, got shape {rows.shape} of {rows.dtype}"
        )
    bad = np.flatnonzero((rows < 0).any(axis=1) | (rows >= n_vertices).any(axis=1))
    if bad.size:
        raise SceneError(
            f"mesh: triangle {bad[0]} is {rows[bad[0]].tolist()}, "
            f"but the vertices are numbered 0 to {n_vertices - 1}"
        )
    triangles: Indices = rows.astype(np.int64)
    triangles.flags.writeable = False
    return triangles
