"""Exact normals where a cylinder overlaps a solid with corners, from those of a refined prism.

The features in contact determine the normal. An edge of the solid and a rim or the side of the cylinder: the
direction of largest height over the edge (:mod:`rims`). A corner of the solid and the side of the cylinder: from the
axis of the cylinder to the corner. A face of the solid, or a cap: the normal of the prism is exact already.
"""

from __future__ import annotations

import numpy as np

from clapas.collision.contact_table import Meeting
from clapas.collision.meshes import can_push
from clapas.collision.narrow.axes import EDGES, FACE_A, FACE_B, Axis
from clapas.collision.narrow.gjk import furthest
from clapas.collision.narrow.rims import crest
from clapas.collision.narrow.seams import reach_along
from clapas.collision.records import CYLINDER, Shapes
from clapas.compiled import subroutine

FIRST_SIDE = 2  # among the faces of a cylinder, after its caps
NEARBY = (
    0.4  # largest angle between the exact normal and that of the prism (rad): a side of the regular prism
)


@subroutine
def with_exact_normal(shapes: Shapes, meeting: Meeting, axis: Axis) -> Axis:
    """The axis of a cylinder and a solid that overlap, with its normal exact to rounding."""
    solid_first = shapes.pieces[meeting.j].kind == CYLINDER
    c, other, sign = (meeting.i, meeting.j, 1.0) if solid_first else (meeting.j, meeting.i, -1.0)
    nx, ny, nz, piece = sign * axis.x, sign * axis.y, sign * axis.z, shapes.pieces[c]
    tx, ty, tz = sign * meeting.x, sign * meeting.y, sign * meeting.z
    face = -1
    if axis.kind == FACE_B and solid_first:
        face = axis.j
    elif axis.kind == FACE_A and not solid_first:
        face = axis.i
    if axis.kind == EDGES:
        f = shapes.edges[piece.edge + (axis.i if solid_first else axis.j)]
        p, q = shapes.vertices[piece.vertex + f.corner_0], shapes.vertices[piece.vertex + f.corner_1]
        bx, by, bz = tx - p.x, ty - p.y, tz - p.z
        _, x, y, z = crest(
            shapes, other, bx, by, bz, q.x - p.x, q.y - p.y, q.z - p.z, nx, ny, nz, NEARBY
        )  # fmt: skip
    elif face >= FIRST_SIDE:
        p, a = shapes.vertices[furthest(shapes, c, nx, ny, nz)], shapes.faces[shapes.pieces[other].face + 1]
        x, y, z = tx - p.x, ty - p.y, tz - p.z
        along = x * a.x + y * a.y + z * a.z
        x, y, z = x - along * a.x, y - along * a.y, z - along * a.z
    else:
        return axis
    square = x * x + y * y + z * z
    if square <= 0.0:
        return axis
    scale = 1.0 / np.sqrt(square)
    x, y, z = scale * x, scale * y, scale * z
    s_axis = (
        nx * tx
        + ny * ty
        + nz * tz
        - reach_along(shapes, c, nx, ny, nz)
        - reach_along(shapes, other, -nx, -ny, -nz)
    )
    s = x * tx + y * ty + z * tz - reach_along(shapes, c, x, y, z) - reach_along(shapes, other, -x, -y, -z)
    if s < s_axis - 1e-12 * (piece.bound + shapes.pieces[other].bound) or not can_push(shapes, c, x, y, z):
        return axis
    return Axis(s, sign * x, sign * y, sign * z, axis.kind, axis.i, axis.j)
