"""A capsule or a triangle, and a solid or one of these: distance or depth, then the points.

As for two closed solids (:mod:`solids`), with what thin ones ask for besides: a triangle does not push where a
neighbour in its mesh has the contact, and a capsule that lies along an edge touches it at two points, those
of two segments (:mod:`segments`).
"""

from __future__ import annotations

from typing import NamedTuple

from clapas.collision.meshes import is_ghost
from clapas.collision.narrow.axes import EDGES, Axis, Trials
from clapas.collision.narrow.choices import Seams
from clapas.collision.narrow.gjk import Simplex, furthest
from clapas.collision.narrow.manifold import Bench, face_points
from clapas.collision.narrow.segments import Segments, gap_at, nearest, segment_points, segments_between
from clapas.collision.narrow.solids import (
    CORNERS,
    MERGE,
    NEAR,
    POINTS,
    axis_between,
    single_point,
    size_of,
)
from clapas.collision.records import CAPSULE, TRIANGLE, Records, Shapes
from clapas.collision.rows import Meeting
from clapas.compiled import subroutine

ALONG = 0.1  # sine under which a capsule lies along an edge


class Thin(NamedTuple):
    """How pairs with a capsule or a triangle are met: work space, and the radix of the codes."""

    simplex: Simplex
    trials: Trials
    bench: Bench
    radix: int


@subroutine
def touch_thin(way: Thin, rows: Records, count: int, meeting: Meeting, shapes: Shapes) -> int:
    """Contacts of a pair with a capsule or a triangle: at most eight of the faces, and the nearest."""
    axis, n_points = axis_between(shapes, meeting, meeting.distance, Seams(), way.simplex, way.trials)
    if axis.s > meeting.distance:
        return count
    merge = MERGE * size_of(shapes, meeting)
    return thin_points(rows, count, meeting, shapes, axis, n_points, merge, way.radix, way.simplex, way.bench)


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
    bench: Bench,
) -> int:
    """Write the contact points of a pair whose normal is known."""
    kind_a, kind_b = shapes.pieces[meeting.i].kind, shapes.pieces[meeting.j].kind
    if axis.sort == POINTS and (
        is_seam(shapes, meeting.i, axis, True, n_points, simplex)
        or is_seam(shapes, meeting.j, axis, False, n_points, simplex)
    ):
        return count
    count, least = face_points(rows, count, meeting, shapes, axis, merge, radix, bench)
    # A nearest point on the rim of both faces may be lost by rounding; then it is added.
    if least <= axis.s + CORNERS * size_of(shapes, meeting):
        return count
    if axis.sort < EDGES and (kind_a == TRIANGLE or kind_b == TRIANGLE):
        return count  # over a neighbour in the mesh, which has the contact
    if axis.sort == POINTS and (kind_a == CAPSULE or kind_b == CAPSULE):
        before = count
        count = along_an_edge(rows, count, meeting, shapes, axis, radix)
        if count > before:
            return count
    return single_point(rows, count, meeting, shapes, axis, n_points, radix, simplex)


@subroutine
def is_seam(shapes: Shapes, c: int, axis: Axis, is_first: bool, n_points: int, simplex: Simplex) -> bool:
    """Is the nearest point of c on an inner edge or corner of a mesh, so that a neighbour has it too?"""
    if shapes.pieces[c].kind != TRIANGLE:
        return False
    used, first = 0, shapes.pieces[c].vertex
    for k in range(n_points):
        used |= 1 << ((simplex.points[k].a if is_first else simplex.points[k].b) - first)
    feature = (0, 1, 2, 4, 3, 6, 5, 0)[used]  # corners 1 to 3, sides 4 to 6
    sign = 1.0 if is_first else -1.0
    return is_ghost(shapes, c, feature, sign * axis.x, sign * axis.y, sign * axis.z)


@subroutine
def along_an_edge(rows: Records, count: int, meeting: Meeting, shapes: Shapes, axis: Axis, radix: int) -> int:
    """Contacts of a capsule that lies along the edge of the other which n touches. None if it does not."""
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
    """Are two segments nearly parallel, and nearly at right angles to the axis?"""
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
