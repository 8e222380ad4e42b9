"""Contacts of a capsule or a triangle with a solid, a capsule or a triangle.

As for two closed solids (:mod:`solids`), with two additions: a triangle does not push where a neighbour in its
mesh has the contact, and a capsule that lies along an edge touches it at two points, those of two segments
(:mod:`segments`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting
from clapas.collision.meshes import can_push, highest_of, is_flat_at
from clapas.collision.narrow.axes import EDGES, FACE_A, FACE_B, POINTS, Axis, Trials
from clapas.collision.narrow.axis_filters import MeshAxes
from clapas.collision.narrow.gjk import Simplex, furthest
from clapas.collision.narrow.manifold import Clipping, overlap_of_faces, write_overlap
from clapas.collision.narrow.seams import (
    axis_over_tips,
    belongs_to_neighbour,
    owns_contact_at,
    reach_along,
    without_seams,
)
from clapas.collision.narrow.segments import Segments, gap_at, nearest, segment_points, segments_between
from clapas.collision.narrow.solids import (
    CORNERS,
    MERGE,
    NEAR,
    axis_between,
    single_point,
    size_of,
)
from clapas.collision.records import CAPSULE, CYLINDER, TRIANGLE, Records, Shapes
from clapas.compiled import subroutine

N_CAPS = 2  # the first faces of a cylinder
ALONG = 0.1  # sine under which a capsule lies along an edge


class Thin(NamedTuple):
    """Method for pairs with a capsule or a triangle: work space, and the radix of the codes."""

    simplex: Simplex
    trials: Trials
    clipping: Clipping
    radix: int


@subroutine
def touch_thin(method: Thin, rows: Records, count: int, meeting: Meeting, shapes: Shapes) -> int:
    """Contacts of a pair with a capsule or a triangle: at most eight of the faces, and the nearest point."""
    axis, n_points = axis_between(
        shapes, meeting, meeting.distance, MeshAxes(), method.simplex, method.trials
    )
    if axis.s > meeting.distance:
        return count
    merge = MERGE * size_of(shapes, meeting)
    return thin_points(
        rows, count, meeting, shapes, axis, n_points, merge, method.radix, method.simplex, method.clipping
    )


@subroutine
def thin_points(
    rows: Records,
    count: int,
    meeting: Meeting,
    shapes: Shapes,
    axis: Axis,
    n_points: int,
    merge: float,
    radix: int,
    simplex: Simplex,
    clipping: Clipping,
) -> int:
    """Write the contact points of a pair whose normal is known."""
    kind_a, kind_b = shapes.pieces[meeting.i].kind, shapes.pieces[meeting.j].kind
    axis = axis_of_mesh(shapes, meeting, axis, True, n_points, simplex)
    axis = axis_of_mesh(shapes, meeting, axis, False, n_points, simplex)
    axis = axis_over_tips(shapes, meeting, axis, True)
    axis = axis_over_tips(shapes, meeting, axis, False)
    if axis.s > meeting.distance:
        return count
    if belongs_to_neighbour(shapes, meeting, axis, True) or belongs_to_neighbour(
        shapes, meeting, axis, False
    ):
        return count
    both = overlap_of_faces(meeting, shapes, axis, radix, clipping)
    n_corners, least = both.n_points, both.least
    if kind_a == TRIANGLE or kind_b == TRIANGLE:
        # Before points are merged: one that stays would be lost with the code of a seam nearby.
        n_corners = without_seams(clipping.spare, n_corners, meeting, shapes, both.frame, radix)
    count = write_overlap(rows, count, meeting, shapes, both, n_corners, merge, radix, clipping)
    # A nearest point on the rim of both faces may be lost by rounding; then it is added.
    if least <= axis.s + CORNERS * size_of(shapes, meeting):
        return count
    is_of_other = axis.kind < EDGES or (axis.kind == EDGES and axis.i < 0)
    if (
        is_of_other
        and (kind_a == TRIANGLE or kind_b == TRIANGLE)
        and not is_corner_under_cap(shapes, meeting, axis)
    ):
        return count  # over a neighbour in the mesh, which has the contact
    if axis.kind == POINTS and (kind_a == CAPSULE or kind_b == CAPSULE):
        before = count
        count = along_an_edge(rows, count, meeting, shapes, axis, radix)
        if count > before:
            return count
    return single_point(rows, count, meeting, shapes, axis, n_points, radix, simplex)


@subroutine
def is_corner_under_cap(shapes: Shapes, meeting: Meeting, axis: Axis) -> bool:
    """Whether a corner of a triangle touches a cap, the face of the axis: it may be beside the prism, inside the rim."""
    c, other, sign = (meeting.i, meeting.j, 1.0) if axis.kind == FACE_B else (meeting.j, meeting.i, -1.0)
    piece, cap = shapes.pieces[other], axis.j if axis.kind == FACE_B else axis.i
    if axis.kind > FACE_B or piece.kind != CYLINDER or cap >= N_CAPS or shapes.pieces[c].kind != TRIANGLE:
        return False
    nx, ny, nz = sign * axis.x, sign * axis.y, sign * axis.z
    if highest_of(shapes, c, nx, ny, nz) == 7:
        return False
    v = shapes.vertices[furthest(shapes, c, nx, ny, nz)]
    x, y, z = v.x - sign * meeting.x, v.y - sign * meeting.y, v.z - sign * meeting.z
    along = x * nx + y * ny + z * nz
    return x * x + y * y + z * z - along * along <= piece.radius * piece.radius


@subroutine
def axis_of_mesh(
    shapes: Shapes, meeting: Meeting, axis: Axis, is_first: bool, n_points: int, simplex: Simplex
) -> Axis:
    """The axis between nearest points, corrected where that of a triangle is on a seam of its mesh.

    If the surface rises beyond the seam, or continues flat, the separation is measured along the normal of the
    triangle; if it does not, and another triangle has the contact at the seam, the separation is infinite.
    """
    c, other, sign = (meeting.i, meeting.j, 1.0) if is_first else (meeting.j, meeting.i, -1.0)
    x, y, z = sign * axis.x, sign * axis.y, sign * axis.z
    if shapes.pieces[c].kind != TRIANGLE or axis.kind != POINTS or highest_of(shapes, c, x, y, z) == 7:
        return axis
    used, first = 0, shapes.pieces[c].vertex
    for k in range(n_points):
        used |= 1 << ((simplex.points[k].a if is_first else simplex.points[k].b) - first)
    feature = (0, 1, 2, 4, 3, 6, 5, 0)[used]  # corners 1 to 3, sides 4 to 6
    is_flat = feature > 0 and is_flat_at(shapes, c, feature)
    if feature == 0 or (not is_flat and owns_contact_at(shapes, c, feature, x, y, z)):
        return axis
    if not is_flat and can_push(shapes, c, x, y, z):
        return Axis(np.inf, axis.x, axis.y, axis.z, POINTS, -1, -1)
    tx, ty, tz = sign * meeting.x, sign * meeting.y, sign * meeting.z
    n, face = shapes.faces[shapes.pieces[c].face], 0
    if n.x * tx + n.y * ty + n.z * tz < n.height:
        n, face = shapes.faces[shapes.pieces[c].face + 1], 1
    s = n.x * tx + n.y * ty + n.z * tz - n.height - reach_along(shapes, other, -n.x, -n.y, -n.z)
    if is_first:
        return Axis(s, n.x, n.y, n.z, FACE_A, face, -1)
    return Axis(s, -n.x, -n.y, -n.z, FACE_B, -1, face)


@subroutine
def along_an_edge(rows: Records, count: int, meeting: Meeting, shapes: Shapes, axis: Axis, radix: int) -> int:
    """Contacts of a capsule that lies along the edge of the other solid that n touches, if it does."""
    one, two = shapes.pieces[meeting.i], shapes.pieces[meeting.j]
    capsule_first = one.kind == CAPSULE
    p, p_end, q, q_end = one.vertex + 0, one.vertex + 1, two.vertex + 0, two.vertex + 1
    other, sign, face = (meeting.j, -1.0, one.face) if capsule_first else (meeting.i, 1.0, two.face)
    c = shapes.pieces[other]
    top = furthest(shapes, other, sign * axis.x, sign * axis.y, sign * axis.z) - c.vertex
    for k in range(c.n_edges):
        e = shapes.edges[c.edge + k]
        if e.corner_0 != top and e.corner_1 != top:
            continue
        if capsule_first:
            q, q_end = two.vertex + e.corner_0, two.vertex + e.corner_1
        else:
            p, p_end = one.vertex + e.corner_0, one.vertex + e.corner_1
        both = segments_between(shapes, meeting, p, p_end, q, q_end)
        if are_along(both, axis):
            s, t = nearest(both)
            if gap_at(both, s, t) <= axis.s + NEAR * size_of(shapes, meeting):
                code = 4 * radix * radix + 3 * k
                return segment_points(rows, count, meeting, code, both, shapes, face)
    return count


@subroutine
def are_along(both: Segments, axis: Axis) -> bool:
    """Whether two segments are nearly parallel, and nearly perpendicular to the axis."""
    ax, ay, az, bx, by, bz = both.ax, both.ay, both.az, both.bx, both.by, both.bz
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    aa, bb = ax * ax + ay * ay + az * az, bx * bx + by * by + bz * bz
    rise_a = axis.x * ax + axis.y * ay + axis.z * az
    rise_b = axis.x * bx + axis.y * by + axis.z * bz
    least = ALONG * ALONG
    return (
        aa * bb > 0.0
        and x * x + y * y + z * z <= least * aa * bb
        and rise_a * rise_a <= least * aa
        and rise_b * rise_b <= least * bb
    )
