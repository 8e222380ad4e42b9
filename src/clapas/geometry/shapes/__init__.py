"""Shapes of bodies and walls, in 3-D and 2-D.

>>> from clapas.geometry.shapes import Box
>>> Box((0.5, 0.5, 2.0)).volume
0.5
"""

from __future__ import annotations

from clapas.geometry.shapes.base import Hull, Piece, Shape, StaticShape
from clapas.geometry.shapes.clump import Clump, Part
from clapas.geometry.shapes.polygon import Polygon
from clapas.geometry.shapes.polyhedron import Polyhedron
from clapas.geometry.shapes.simple import Box, Capsule, Cylinder, Disk, Point, Sphere
from clapas.geometry.shapes.static import HalfPlane, Plane, TriangleMesh

__all__ = [
    "Box",
    "Capsule",
    "Clump",
    "Cylinder",
    "Disk",
    "HalfPlane",
    "Hull",
    "Part",
    "Piece",
    "Plane",
    "Point",
    "Polygon",
    "Polyhedron",
    "Shape",
    "Sphere",
    "StaticShape",
    "TriangleMesh",
]
