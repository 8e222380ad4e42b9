"""Arrays of records that the kernels read and write.

A record stores the numbers of one item side by side, and a kernel takes one array instead of ten. Scenes in the
plane are put at z = 0, so that most kernels serve both dimensions.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from clapas.geometry.colliders import Kind
from clapas.typing import Array

Records: TypeAlias = Any
"""Array of records of one of the types below."""

as_int64: Any = np.int64
"""Widens an integer of a record to 64 bits, so that functions that take it are compiled for one type."""

SPHERE, PLANE, CAPSULE, BOX = int(Kind.SPHERE), int(Kind.PLANE), int(Kind.CAPSULE), int(Kind.BOX)
CYLINDER, POLYHEDRON, TRIANGLE = int(Kind.CYLINDER), int(Kind.POLYHEDRON), int(Kind.TRIANGLE)


FEW = 64
"""Up to this many colliders NumPy is used where that saves compiling a kernel."""


def record(integers: str, reals: str, long: str = "") -> np.dtype[Any]:
    """Record type with these integer fields (32 bits, ``long`` ones 64), then these real fields."""
    columns = ((long, np.int64), (integers, np.int32), (reals, np.float64))
    return np.dtype(
        [(name, number_type) for names, number_type in columns for name in names.split()], align=True
    )


POINT = record("", "x y z")

# Centre of a collider, and the radius of a ball around all of it: enough to reject most pairs.
CENTRE = record("", "x y z bound")

# A collider. vertex, n_vertices: its rows among the corners (none for a sphere or a plane); face, n_faces among
# the faces; edge, n_edges among the edges. rounding: radius of the ball swept over the solid (sphere, capsule).
# bound, inner: radii about the centre of a ball around all of it, of one inside the solid. radius and half
# length of a cylinder (m).
PIECE = record("kind body vertex n_vertices face n_faces edge n_edges", "rounding bound inner radius half")

# A face. x, y, z: outward unit normal; height: of its plane over the centre (m); side, n_sides: rows among the
# sides; is_real: 0 for a false face. A plane has three: its normal and two directions in it.
FACE = record("side n_sides is_real", "x y z height")

# A side of a face: the corner it starts at, and the edge it is, counted from the first of the solid.
SIDE = record("corner edge", "")

# An edge: its two corners and the two faces it is between, counted from the first of the solid.
EDGE = record("corner_0 corner_1 face_0 face_1", "")

# Neighbours around a corner of a triangle, and around the side that starts there: their rows, and the first
# triangle there.
SEAM = record("corner n_corners corner_first side n_sides side_first", "")

# A corner of a neighbour: its row, and the triangle it belongs to.
NEIGHBOUR = record("vertex piece", "")

# Two colliders, i before j in the table, and the periods to add to the position of j along x and y.
PAIR = record("i j image_x image_y", "")

# A contact point: number of its pair, code of the point within the pair, position (m), normal from i to j, gap (m).
ROW = record("pair", "x y z nx ny nz gap", long="code")


class Shapes(NamedTuple):
    """Data of the colliders that the kernels use.

    Centres, corners and normals are in world coordinates and change as bodies move; corners are relative
    to the centre of their collider. The rest is constant.
    """

    pieces: Records
    centres: Records
    vertices: Records
    faces: Records
    sides: Records
    edges: Records
    seams: Records
    neighbours: Records


def float_view(records: Records, *names: str) -> Array:
    """View of adjacent real fields as an array (n, number of fields).

    >>> points = np.zeros(2, dtype=POINT)
    >>> float_view(points, "x", "y", "z")[1] = 1.0, 2.0, 3.0
    >>> points["y"]
    array([0., 2.])
    """
    fields = records.dtype.fields
    offset = fields[names[0]][1]
    width = records.dtype.itemsize
    flat = records.view(np.uint8).reshape(len(records), width)
    columns = flat[:, offset : offset + 8 * len(names)]
    return np.asarray(columns.view(np.float64)) if len(records) else np.empty((0, len(names)))
