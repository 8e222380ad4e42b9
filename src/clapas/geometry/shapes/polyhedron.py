"""Convex polyhedra."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clapas.errors import warn
from clapas.geometry import checks, mass
from clapas.geometry.colliders import Kind
from clapas.geometry.mass import MassProperties
from clapas.geometry.meshfiles import read_mesh
from clapas.geometry.pieces import split
from clapas.geometry.rotations import identity
from clapas.geometry.shapes.base import Hull, Piece, Shape, write
from clapas.geometry.shapes.hull import convex_hull, fan
from clapas.typing import Array

FLATNESS = 1e-9
FILE_FLATNESS = 1e-6
NOT_CONVEX = 0.01  # relative excess volume of a hull over its piece above which a warning is given


@dataclass(frozen=True, eq=False, init=False)
class Polyhedron(Shape):
    """The convex hull of points in space.

    Points inside the hull are ignored. Neighbouring triangles of the hull in one plane are one face.

    Parameters
    ----------
    points : array (n, 3)
        At least 4 points, not all in one plane, in the shape's own frame (m). The frame's origin need
        not be the centre.
    flatness : float
        Height over the plane of a face, relative to the size, under which a corner belongs to the face.

    Examples
    --------
    >>> corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    >>> cube = Polyhedron(corners)
    >>> len(cube.hull.faces), cube.volume, cube.mass_properties.centre
    (6, 1.0, (0.5, 0.5, 0.5))
    """

    d = 3
    word = "polyhedron"
    points: Array
    flatness: float = FLATNESS

    def __init__(self, points: npt.ArrayLike, flatness: float = FLATNESS) -> None:
        corners = checks.points(self.word, "points", points, 3, at_least=4)
        write(self, "points", corners)
        write(self, "flatness", checks.at_least_zero(self.word, "flatness", flatness))
        write(self, "_hull", convex_hull(corners, self.flatness, self.word))

    @staticmethod
    def from_file(
        path: str | os.PathLike[str], scale: float = 1.0, flatness: float = FILE_FLATNESS
    ) -> Polyhedron:
        """Convex hull of all vertices of a file (OBJ, STL, PLY, glTF, DXF, COMPAS).

        Warns if the file has several pieces, or one that is not convex: ``scene.add_blocks`` makes one body
        of each, and can cut them into convex parts.

        Parameters
        ----------
        path : path
            The file. Its faces are used only to check that it is convex.
        scale : float
            Metres per unit of the file: 0.001 for millimetres.
        flatness : float
            As above; larger by default, since STL files have 7 digits.
        """
        vertices, triangles = read_mesh(path)
        solid = Polyhedron(vertices * checks.positive("polyhedron", "scale", scale), flatness)
        pieces = split(vertices, triangles)
        if len(pieces) > 1:
            warn(
                f"{path}: {len(pieces)} pieces become one convex body of {solid.volume:.4g} m³: "
                "scene.add_blocks makes one of each"
            )
        elif pieces and pieces[0].excess > NOT_CONVEX:
            warn(
                f"{path}: not convex: volume {pieces[0].volume * scale**3:.4g} m³, its hull "
                f"{solid.volume:.4g}: the hull is taken; scene.add_blocks(…, nonconvex='parts') cuts it into "
                "convex parts"
            )
        return solid

    @property
    def hull(self) -> Hull:
        """Corners and faces, in the shape's own frame."""
        hull: Hull = self._hull  # type: ignore[attr-defined]
        return hull

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Sum of signed tetrahedra."""
        moments = mass.of_triangles(self.hull.vertices, fan(self.hull.faces))
        return MassProperties.from_moments(*moments)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """One piece, the polyhedron about its centre."""
        centre = self.mass_properties.centre
        hull = Hull(self.hull.vertices - centre, self.hull.faces, self.hull.normals)
        bound = float(np.linalg.norm(hull.vertices, axis=1).max())
        return (Piece(Kind.POLYHEDRON, centre, identity(3), (0.0, 0.0, 0.0), bound, hull),)
