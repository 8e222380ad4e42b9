"""Contacts of two closed solids (boxes, polyhedra).

Most pairs that do not touch are recognised by the axis that separated them a step before: it is stored with the
pair, and two rows of dot products show that it still does. For the others the axis n of largest separation s
(:mod:`axes`) is found, and the contact points are those of the faces that face each other along it
(:mod:`manifold`), or of two edges.

Overlapping (s ≤ 0), this is the contact. Apart, s is only a lower bound of the distance: the distance is s if
some point of the faces has the gap s, and that is nearly always so between bodies at rest on each other. If not,
corners or edges face each other: the normal is that between the nearest points (:mod:`gjk`), or the axis
where these are so near that their difference is inaccurate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting, write
from clapas.collision.narrow.axes import (
    EDGES,
    FACE_A,
    FACE_B,
    POINTS,
    Axis,
    Trials,
    axis_of_first,
    axis_of_second,
    best_axis,
    best_edges,
    tie_of,
)
from clapas.collision.narrow.axis_filters import AllAxes
from clapas.collision.narrow.gjk import APART, BEYOND, Simplex, furthest, gjk
from clapas.collision.narrow.manifold import Clipping, face_points
from clapas.collision.narrow.segments import nearest, segments_between
from clapas.collision.records import Records, Shapes
from clapas.compiled import subroutine
from clapas.typing import Indices

NEAR = 1e-6  # of the size: below this distance the vector between nearest points is inaccurate
CORNERS = 1e-8  # of the size: further apart than along any axis by this, only corners face each other
MERGE = 1e-4  # of the size: points nearer than this are one
CERTAIN = 1e-9  # of the size: margin of the separation along the stored axis

SHALLOW = 0.25  # of the margin between axes: a depth taken as zero, and the tolerance of the least gap

UNKNOWN = -1


class Solids(NamedTuple):
    """Method for two closed solids.

    Parameters
    ----------
    simplex, trials, clipping : Simplex, Trials, Clipping
        Work space.
    separated : array (n_pairs,)
        Code of the axis that separated each pair when it was last tested, or UNKNOWN.
    radix : int
        Above all numbers of corners and edges.
    """

    simplex: Simplex
    trials: Trials
    clipping: Clipping
    separated: Indices
    radix: int


@subroutine
def touch_solids(method: Solids, rows: Records, count: int, meeting: Meeting, shapes: Shapes) -> int:
    """Contacts of two closed solids: at most eight of the faces, or else the nearest points."""
    last_axis, radix = method.separated[meeting.p], method.radix
    if last_axis != UNKNOWN and is_separated(shapes, meeting, last_axis, radix):
        return count
    axis, after, least = axis_and_points(method, rows, count, meeting, shapes)
    if axis.s > meeting.distance:
        method.separated[meeting.p] = code_of_axis(axis, radix)
        return count
    method.separated[meeting.p] = UNKNOWN
    size, n_points = size_of(shapes, meeting), 0
    if least <= axis.s + CORNERS * size:
        return after
    if axis.s > CORNERS * size:  # apart, with corners or edges towards each other
        axis, n_points = axis_between(
            shapes, meeting, meeting.distance, AllAxes(), method.simplex, method.trials
        )
        if axis.s > meeting.distance:
            return count
        after, least = face_points(rows, count, meeting, shapes, axis, MERGE * size, radix, method.clipping)
        if least <= axis.s + CORNERS * size:
            return after
    # The nearest points are on the rim of both faces, or on none: add one contact.
    return single_point(rows, after, meeting, shapes, axis, n_points, radix, method.simplex)


@subroutine
def axis_and_points(
    method: Solids, rows: Records, count: int, meeting: Meeting, shapes: Shapes
) -> tuple[Axis, int, float]:
    """The axis of largest separation, unless that is beyond the distance, and the contacts along it.

    The axis is that of :func:`best_axis`. If two points of the solids along an axis n of separation s ≥ 0 are at
    distance s, then s is the distance of the solids, and no axis separates them by more. So where a body rests
    on a face of another, the other half of the axes, most of the work, is skipped. The same holds for a depth
    below the margin by which a later axis must be better. Also returns the number of contacts so far and the
    least gap of the new ones.
    """
    distance, tie = meeting.distance, tie_of(shapes, meeting)
    merge, radix, after, least = MERGE * size_of(shapes, meeting), method.radix, count, np.inf
    axis, measured = axis_of_first(shapes, meeting, AllAxes(), method.trials, distance), POINTS
    for turn in range(3):
        if turn == 1:
            axis = axis_of_second(shapes, meeting, axis, AllAxes(), method.trials, distance)
        if turn == 2:
            axis = best_edges(shapes, meeting, axis, AllAxes(), method.trials, distance)
        if axis.s > distance:
            break
        if measured != axis.kind and (turn == 2 or axis.s >= -SHALLOW * tie):
            after, least = face_points(rows, count, meeting, shapes, axis, merge, radix, method.clipping)
            measured = axis.kind
        if axis.s >= -SHALLOW * tie and least <= axis.s + SHALLOW * tie:
            break
    return axis, after, least


@subroutine
def size_of(shapes: Shapes, meeting: Meeting) -> float:
    """Bound of the smaller of the two (m)."""
    return min(shapes.pieces[meeting.i].bound, shapes.pieces[meeting.j].bound)


@subroutine
def code_of_axis(axis: Axis, radix: int) -> int:
    """Code of an axis: its kind and its faces or edges in one number."""
    return (axis.kind * radix + max(axis.i, 0)) * radix + max(axis.j, 0)


@subroutine
def is_separated(shapes: Shapes, meeting: Meeting, code: int, radix: int) -> bool:
    """Whether the axis with this code separates two solids by more than the distance."""
    kind, i, j = code // (radix * radix), code // radix % radix, code % radix
    one, two = shapes.pieces[meeting.i], shapes.pieces[meeting.j]
    if kind == FACE_A:
        n = shapes.faces[one.face + i]
        x, y, z = n.x, n.y, n.z
    elif kind == FACE_B:
        n = shapes.faces[two.face + j]
        x, y, z = -n.x, -n.y, -n.z
    else:
        e, f = shapes.edges[one.edge + i], shapes.edges[two.edge + j]
        P, A = shapes.vertices[one.vertex + e.corner_0], shapes.vertices[one.vertex + e.corner_1]
        Q, B = shapes.vertices[two.vertex + f.corner_0], shapes.vertices[two.vertex + f.corner_1]
        ax, ay, az, bx, by, bz = A.x - P.x, A.y - P.y, A.z - P.z, B.x - Q.x, B.y - Q.y, B.z - Q.z
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        if x * meeting.x + y * meeting.y + z * meeting.z < 0.0:
            x, y, z = -x, -y, -z
    highest = lowest = 0.0  # the centres are inside
    for row in range(one.vertex, one.vertex + one.n_vertices):
        v = shapes.vertices[row]
        highest = max(highest, x * v.x + y * v.y + z * v.z)
    for row in range(two.vertex, two.vertex + two.n_vertices):
        v = shapes.vertices[row]
        lowest = min(lowest, x * v.x + y * v.y + z * v.z)
    s = x * meeting.x + y * meeting.y + z * meeting.z + lowest - highest
    limit = meeting.distance + CERTAIN * (one.bound + two.bound)
    return s > 0.0 and s * s > limit * limit * (x * x + y * y + z * z)


@subroutine
def axis_between(
    shapes: Shapes, meeting: Meeting, distance: float, axis_filter: Any, simplex: Simplex, trials: Trials
) -> tuple[Axis, int]:
    """Normal from the first to the second with signed distance, roundings included; number of simplex points.

    The distance is infinite if it exceeds ``distance``. The filter applies only to solids that overlap.
    """
    v = simplex.v
    r = shapes.pieces[meeting.i].rounding + shapes.pieces[meeting.j].rounding
    status, n_points = gjk(shapes, meeting, distance + r, simplex)
    if status == BEYOND:
        return Axis(np.inf, 0.0, 0.0, 1.0, POINTS, -1, -1), n_points
    size, length = size_of(shapes, meeting), 0.0
    if status == APART:
        length = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    axis = Axis(-np.inf, 0.0, 0.0, 1.0, POINTS, -1, -1)
    if length <= NEAR * size:
        axis = best_axis(shapes, meeting, axis_filter, trials, np.inf)
    if status == APART and length > max(axis.s, 0.0) + CORNERS * size:
        return Axis(length - r, v[0] / length, v[1] / length, v[2] / length, POINTS, -1, -1), n_points
    return Axis(axis.s - r, axis.x, axis.y, axis.z, axis.kind, axis.i, axis.j), n_points


@subroutine
def single_point(
    rows: Records,
    count: int,
    meeting: Meeting,
    shapes: Shapes,
    axis: Axis,
    n_points: int,
    radix: int,
    simplex: Simplex,
) -> int:
    """Write the single contact of a pair whose faces do not face each other, by the kind of its axis."""
    if axis.kind == POINTS:
        return nearest_points(rows, count, meeting, shapes, axis, n_points, radix, simplex)
    if axis.kind == EDGES:
        return crossing_edges(rows, count, meeting, shapes, axis, radix)
    return lowest_corner(rows, count, meeting, shapes, axis, radix)


@subroutine
def lowest_corner(rows: Records, count: int, meeting: Meeting, shapes: Shapes, axis: Axis, radix: int) -> int:
    """Contact of the deepest corner under a face, for faces whose overlap is lost by rounding."""
    c, kind, sign, x, y, z = meeting.j, 3, -1.0, meeting.x, meeting.y, meeting.z
    if axis.kind != FACE_A:
        c, kind, sign, x, y, z = meeting.i, 2, 1.0, 0.0, 0.0, 0.0
    row = furthest(shapes, c, sign * axis.x, sign * axis.y, sign * axis.z)
    o, v, half = shapes.centres[meeting.i], shapes.vertices[row], 0.5 * axis.s
    half = sign * (shapes.pieces[c].rounding + half)
    x, y, z = o.x + x + v.x + half * axis.x, o.y + y + v.y + half * axis.y, o.z + z + v.z + half * axis.z
    code = kind * radix * radix + row - shapes.pieces[c].vertex
    return write(rows, count, meeting, code, x, y, z, axis.x, axis.y, axis.z, axis.s)


@subroutine
def crossing_edges(
    rows: Records, count: int, meeting: Meeting, shapes: Shapes, axis: Axis, radix: int
) -> int:
    """Contact of two edges, half-way between their nearest points."""
    one, two = shapes.pieces[meeting.i], shapes.pieces[meeting.j]
    e, f = shapes.edges[one.edge + axis.i], shapes.edges[two.edge + axis.j]
    p, q = one.vertex, two.vertex
    both = segments_between(shapes, meeting, p + e.corner_0, p + e.corner_1, q + f.corner_0, q + f.corner_1)
    s, t = nearest(both)
    half, o = 0.5 * (both.r_a - both.r_b), shapes.centres[meeting.i]
    x = o.x + 0.5 * (both.px + s * both.ax + both.qx + t * both.bx) + half * axis.x
    y = o.y + 0.5 * (both.py + s * both.ay + both.qy + t * both.by) + half * axis.y
    z = o.z + 0.5 * (both.pz + s * both.az + both.qz + t * both.bz) + half * axis.z
    code = axis.i * radix + axis.j
    return write(rows, count, meeting, code, x, y, z, axis.x, axis.y, axis.z, axis.s)


@subroutine
def nearest_points(
    rows: Records,
    count: int,
    meeting: Meeting,
    shapes: Shapes,
    axis: Axis,
    n_points: int,
    radix: int,
    simplex: Simplex,
) -> int:
    """The contact half-way between the nearest points of the simplex."""
    o, first = shapes.centres[meeting.i], simplex.points[0]
    x, y, z = o.x, o.y, o.z
    one_a = one_b = True
    for k in range(n_points):
        s = simplex.points[k]
        v = shapes.vertices[s.a]
        x, y, z = x + s.weight * v.x, y + s.weight * v.y, z + s.weight * v.z
        one_a &= s.a == first.a
        one_b &= s.b == first.b
    code = radix * radix
    if one_a:
        code = 2 * radix * radix + first.a - shapes.pieces[meeting.i].vertex
    elif one_b:
        code = 3 * radix * radix + first.b - shapes.pieces[meeting.j].vertex
    along = shapes.pieces[meeting.i].rounding + 0.5 * axis.s
    x, y, z = x + along * axis.x, y + along * axis.y, z + along * axis.z
    return write(rows, count, meeting, code, x, y, z, axis.x, axis.y, axis.z, axis.s)
