"""Separating axes: the direction of least penetration of two convex solids.

For a direction n the solids A and B overlap by −s(n), s(n) = min_B n·x − max_A n·x. Overlapping solids are best
separated along the n where s is largest, and that n is a normal of a face of A, of a face of B, or
perpendicular to an edge of each (the faces of the difference B − A are of these three kinds). All are tried,
except those that a bound excludes:

* a face: B contains a ball of radius ``inner`` about its centre, so s ≤ height of the centre − inner;
* an edge of A: along an axis between its two normals, a point of B below both faces is no higher than over the
  higher of the two; this is applied to the ball, and to the corner of B that is deepest under one face,
  which in ordinary contacts is well below the other;
* two edges make a face of the difference only if their arcs on the sphere of normals cross.

In ordinary contacts a face or two and a few pairs of edges remain.

References
----------
Gottschalk, Lin, Manocha 1996 (separating axes); Gregorius 2013 (arcs on the sphere of normals).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting
from clapas.collision.narrow.axis_filters import is_allowed, may_be_allowed
from clapas.collision.records import TRIANGLE, Records, Shapes, as_int64
from clapas.compiled import subroutine
from clapas.typing import Array, Indices

FACE_A, FACE_B, EDGES, POINTS = 0, 1, 2, 3
"""Kinds of axes: normal to a face of A, of B, to an edge of each, and between nearest points."""

TIE = 1e-9  # of the size: faces of A are preferred, then of B, then edges, unless better by this
SKEW = 1e-12  # square of the sine between edges that are not parallel


class Axis(NamedTuple):
    """Direction n from A to B, its separation s (negative: overlap), its kind, and the faces or edges i of A and j of B."""

    s: float
    x: float
    y: float
    z: float
    kind: int
    i: int
    j: int


class Heights(NamedTuple):
    """Heights of one solid over the faces of the other.

    Parameters
    ----------
    centre : array
        Height of its centre over each face (m).
    deepest : array
        Row of its deepest corner under each face tried; −1 for the others.
    """

    centre: Array
    deepest: Indices


class Trials(NamedTuple):
    """Work space: the second solid over the faces of the first, the first over those of the second, edge numbers."""

    a: Heights
    b: Heights
    edges: Indices


def new_trials(pieces: Records) -> Trials:
    """Work space for the solids of a scene."""
    faces, edges = pieces["n_faces"].max(initial=1), pieces["n_edges"].max(initial=1)
    one, two = (Heights(np.empty(faces), np.empty(faces, dtype=np.int64)) for _ in range(2))
    return Trials(one, two, np.empty(edges, dtype=np.int64))


@subroutine
def best_axis(shapes: Shapes, meeting: Meeting, axis_filter: Any, trials: Trials, enough: float) -> Axis:
    """Axis of largest separation of two solids, or the first found to separate by more than ``enough`` (m).

    The separation is −∞ if the filter allows no axis.
    """
    axis = axis_of_first(shapes, meeting, axis_filter, trials, enough)
    if axis.s > enough:
        return axis
    axis = axis_of_second(shapes, meeting, axis, axis_filter, trials, enough)
    if axis.s > enough:
        return axis
    return best_edges(shapes, meeting, axis, axis_filter, trials, enough)


@subroutine
def tie_of(shapes: Shapes, meeting: Meeting) -> float:
    """Margin by which an axis must be better than one tried before it (m)."""
    return TIE * min(shapes.pieces[meeting.i].bound, shapes.pieces[meeting.j].bound)


@subroutine
def axis_of_first(shapes: Shapes, meeting: Meeting, axis_filter: Any, trials: Trials, enough: float) -> Axis:
    """Best axis among the face normals of the first solid; separation −∞ if the filter allows none."""
    s, face = best_face(shapes, meeting, True, -np.inf, axis_filter, trials.a, enough)
    if face < 0:
        return Axis(-np.inf, 0.0, 0.0, 1.0, FACE_A, -1, -1)
    n = shapes.faces[shapes.pieces[meeting.i].face + face]
    return Axis(s, n.x, n.y, n.z, FACE_A, face, -1)


@subroutine
def axis_of_second(
    shapes: Shapes, meeting: Meeting, axis: Axis, axis_filter: Any, trials: Trials, enough: float
) -> Axis:
    """Best face normal of the second solid if it is better than ``axis``, else ``axis``."""
    to_beat = axis.s + tie_of(shapes, meeting)
    s, face = best_face(shapes, meeting, False, to_beat, axis_filter, trials.b, enough)
    if face < 0:
        return axis
    n = shapes.faces[shapes.pieces[meeting.j].face + face]
    return Axis(s, -n.x, -n.y, -n.z, FACE_B, -1, face)


@subroutine
def best_face(
    shapes: Shapes,
    meeting: Meeting,
    of_first: bool,
    to_beat: float,
    axis_filter: Any,
    heights: Heights,
    enough: float,
) -> tuple[float, int]:
    """Largest separation above ``to_beat`` over the faces of one solid, and the face; −1 if there is none.

    Of a triangle only the face on the side of the other's centre counts: a surface pushes a body back to the
    side it came from.
    """
    a, b, sign = (meeting.i, meeting.j, 1.0) if of_first else (meeting.j, meeting.i, -1.0)
    tx, ty, tz = sign * meeting.x, sign * meeting.y, sign * meeting.z
    one, two = shapes.pieces[a], shapes.pieces[b]
    top, start, best = -np.inf, -1, -1
    for k in range(one.n_faces):
        n = shapes.faces[one.face + k]
        height = n.x * tx + n.y * ty + n.z * tz - n.height
        heights.centre[k], heights.deepest[k] = height, -1
        if n.is_real == 1 and height > top:
            top, start = height, k
    if start < 0:
        return to_beat, best
    for step in range(-1, 0 if one.kind == TRIANGLE else one.n_faces):
        k = start if step < 0 else step  # the most promising first: it excludes most of the others
        if heights.centre[k] - two.inner <= to_beat or (step >= 0 and k == start):
            continue
        n = shapes.faces[one.face + k]
        if n.is_real == 0 or not may_be_allowed(axis_filter, sign, n, n):
            continue
        least, deepest = np.inf, -1
        for row in range(two.vertex, two.vertex + two.n_vertices):
            v = shapes.vertices[row]
            h = n.x * v.x + n.y * v.y + n.z * v.z
            if h < least:
                least, deepest = h, row
        s = heights.centre[k] + least
        if s <= to_beat:
            heights.deepest[k] = deepest
        elif is_allowed(axis_filter, shapes, meeting, sign * n.x, sign * n.y, sign * n.z):
            to_beat, best = s, k
            heights.deepest[k] = deepest
            if s > enough:
                return s, k
    return to_beat, best


@subroutine
def may_matter(
    shapes: Shapes,
    meeting: Meeting,
    of_first: bool,
    edge: Records,
    axis_filter: Any,
    heights: Heights,
    to_beat: float,
) -> bool:
    """Whether an axis between the two normals of an edge of one solid can be better than ``to_beat``."""
    a, b, sign = (meeting.i, meeting.j, 1.0) if of_first else (meeting.j, meeting.i, -1.0)
    first = shapes.pieces[a].face
    if not may_be_allowed(
        axis_filter, sign, shapes.faces[first + edge.face_0], shapes.faces[first + edge.face_1]
    ):
        return False
    bound = max(heights.centre[edge.face_0], heights.centre[edge.face_1])
    if bound <= 0.0 and bound - shapes.pieces[b].inner <= to_beat:
        return False
    if to_beat > 0.0:
        return True
    for turn in range(2):
        under, other = (edge.face_0, edge.face_1) if turn == 0 else (edge.face_1, edge.face_0)
        if heights.deepest[under] >= 0:  # its height over that face is at most to_beat
            n, v = shapes.faces[first + other], shapes.vertices[heights.deepest[under]]
            if heights.centre[other] + n.x * v.x + n.y * v.y + n.z * v.z <= to_beat:
                return False
    return True


@subroutine
def best_edges(
    shapes: Shapes, meeting: Meeting, axis: Axis, axis_filter: Any, trials: Trials, enough: float
) -> Axis:
    """Best axis perpendicular to an edge of each if it is better than ``axis``, else ``axis``."""
    one, two = shapes.pieces[meeting.i], shapes.pieces[meeting.j]
    tx, ty, tz = meeting.x, meeting.y, meeting.z
    n_edges = 0
    for j in range(two.n_edges):
        if may_matter(shapes, meeting, False, shapes.edges[two.edge + j], axis_filter, trials.b, axis.s):
            trials.edges[n_edges] = j
            n_edges += 1
    if n_edges == 0:
        return axis
    to_beat = axis.s + tie_of(shapes, meeting)
    for i in range(one.n_edges):
        e = shapes.edges[one.edge + i]
        if not may_matter(shapes, meeting, True, e, axis_filter, trials.a, axis.s):
            continue
        P, end = shapes.vertices[one.vertex + e.corner_0], shapes.vertices[one.vertex + e.corner_1]
        n1, n2 = shapes.faces[one.face + e.face_0], shapes.faces[one.face + e.face_1]
        ax, ay, az = end.x - P.x, end.y - P.y, end.z - P.z
        for k in range(n_edges):
            f = shapes.edges[two.edge + trials.edges[k]]
            m1, m2 = shapes.faces[two.face + f.face_0], shapes.faces[two.face + f.face_1]
            # The arcs n1 n2 and −m1 −m2 cross: the ends of each are on both sides of the other's plane.
            c = m1.x * ax + m1.y * ay + m1.z * az
            if c * (m2.x * ax + m2.y * ay + m2.z * az) >= 0.0:
                continue
            Q, end = shapes.vertices[two.vertex + f.corner_0], shapes.vertices[two.vertex + f.corner_1]
            bx, by, bz = end.x - Q.x, end.y - Q.y, end.z - Q.z
            d = n2.x * bx + n2.y * by + n2.z * bz
            if c * d >= 0.0 or d * (n1.x * bx + n1.y * by + n1.z * bz) >= 0.0:
                continue
            x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            square = x * x + y * y + z * z
            if square <= SKEW * (ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz):
                continue
            scale = 1.0 / np.sqrt(square)
            if x * (n1.x + n2.x) + y * (n1.y + n2.y) + z * (n1.z + n2.z) < 0.0:
                scale = -scale
            x, y, z = scale * x, scale * y, scale * z
            s = x * (Q.x + tx - P.x) + y * (Q.y + ty - P.y) + z * (Q.z + tz - P.z)
            if s > to_beat and is_allowed(axis_filter, shapes, meeting, x, y, z):
                axis = Axis(s, x, y, z, EDGES, as_int64(i), trials.edges[k])
                to_beat = s
                if s > enough:
                    return axis
    return axis
