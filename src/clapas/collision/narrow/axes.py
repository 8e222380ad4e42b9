"""Direction of least penetration of two convex solids: separating axes.

For a direction n the solids A and B overlap by −s(n), s(n) = min_B n·x − max_A n·x. Overlapping solids are best
separated along the n where s is largest, and that n is a normal of a face of A, of a face of B, or at
right angles to an edge of each (the faces of the difference B − A are of these three sorts). All are tried,
except those that a bound excludes:

* a face: B contains a ball of radius ``inner`` about its centre, so s ≤ height of the centre − inner;
* an edge: along an axis between its two normals, s is at most the larger of these heights, if negative;
* two edges make a face of the difference only if their arcs on the sphere of normals cross.

What is left in ordinary contacts is a face or two and some pairs of edges.

References
----------
Gottschalk, Lin, Manocha 1996 (separating axes); Gregorius 2013 (arcs on the sphere of normals).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.meshes import can_push
from clapas.collision.records import TRIANGLE, Records, Shapes
from clapas.compiled import subroutine
from clapas.typing import Array, Indices

FACE_A, FACE_B, EDGES = 0, 1, 2
TIE = 1e-9  # of the size: faces of A come first, then of B, then edges, unless better by this
SKEW = 1e-12  # square of the sine between edges that are not parallel


class Axis(NamedTuple):
    """Direction n from A to B, its separation s (negative: overlap), what it belongs to and which of them."""

    s: float
    x: float
    y: float
    z: float
    sort: int
    i: int
    j: int


class Guide(NamedTuple):
    """Only axes at an angle to (x, y, z) of at least this cosine are tried; all, if the cosine is −1."""

    x: float
    y: float
    z: float
    cosine: float


class Heights(NamedTuple):
    """Room for the heights of the centre of one solid over the faces of the other, and for edges to try."""

    a: Array
    b: Array
    edges: Indices


def new_heights(pieces: Records) -> Heights:
    """Room for the solids of a scene."""
    faces, edges = pieces["n_faces"].max(initial=1), pieces["n_edges"].max(initial=1)
    return Heights(np.empty(faces), np.empty(faces), np.empty(edges, dtype=np.int64))


@subroutine
def best_axis(
    shapes: Shapes, a: int, b: int, tx: float, ty: float, tz: float, guide: Guide, heights: Heights
) -> Axis:
    """Axis of largest separation of the solids of a and b, whose centre is at t from that of a.

    It is −∞ if the guide allows none.
    """
    tie = TIE * min(shapes.pieces[a].bound, shapes.pieces[b].bound)
    axis = Axis(-np.inf, 0.0, 0.0, 1.0, FACE_A, -1, -1)
    s, face = best_face(shapes, a, b, tx, ty, tz, -np.inf, guide, heights.a)
    if face >= 0:
        n = shapes.faces[shapes.pieces[a].face + face]
        axis = Axis(s, n.x, n.y, n.z, FACE_A, face, -1)
    back = Guide(-guide.x, -guide.y, -guide.z, guide.cosine)
    s, face = best_face(shapes, b, a, -tx, -ty, -tz, axis.s + tie, back, heights.b)
    if face >= 0:
        n = shapes.faces[shapes.pieces[b].face + face]
        axis = Axis(s, -n.x, -n.y, -n.z, FACE_B, -1, face)
    return best_edges(shapes, a, b, tx, ty, tz, axis, tie, guide, heights)


@subroutine
def best_face(
    shapes: Shapes,
    a: int,
    b: int,
    tx: float,
    ty: float,
    tz: float,
    to_beat: float,
    guide: Guide,
    heights: Array,
) -> tuple[float, int]:
    """Face of a with the largest separation above ``to_beat``, and −1 if there is none.

    Of a triangle only the face on the side of the other's centre counts: a surface pushes back to where
    the body came from.
    """
    one, two = shapes.pieces[a], shapes.pieces[b]
    top, start, best = -np.inf, -1, -1
    for k in range(one.n_faces):
        n = shapes.faces[one.face + k]
        heights[k] = n.x * tx + n.y * ty + n.z * tz - n.height
        if n.is_real == 1 and heights[k] > top:
            top, start = heights[k], k
    if start < 0:
        return to_beat, best
    for step in range(-1, -1 if one.kind == TRIANGLE else one.n_faces):
        k = start if step < 0 else step  # the most promising first: it excludes most of the others
        if heights[k] - two.inner <= to_beat or (step >= 0 and k == start):
            continue
        n = shapes.faces[one.face + k]
        if n.is_real == 0 or not is_allowed(guide, n.x, n.y, n.z):
            continue
        least = np.inf
        for row in range(two.vertex, two.vertex + two.n_vertices):
            v = shapes.vertices[row]
            least = min(least, n.x * v.x + n.y * v.y + n.z * v.z)
        s = heights[k] + least
        if s > to_beat and can_push(shapes, b, -n.x, -n.y, -n.z):
            to_beat, best = s, k
    return to_beat, best


@subroutine
def is_allowed(guide: Guide, x: float, y: float, z: float) -> bool:
    """Does the guide allow this axis?"""
    return guide.x * x + guide.y * y + guide.z * z >= guide.cosine


@subroutine
def may_matter(edge: Records, heights: Array, inner: float, to_beat: float) -> bool:
    """Can an axis between the two normals of an edge be better than ``to_beat``?"""
    bound = max(heights[edge.face_0], heights[edge.face_1])
    return bound > 0.0 or bound - inner > to_beat


@subroutine
def best_edges(
    shapes: Shapes,
    a: int,
    b: int,
    tx: float,
    ty: float,
    tz: float,
    axis: Axis,
    tie: float,
    guide: Guide,
    heights: Heights,
) -> Axis:
    """The axis across an edge of each, if one is better than that of the faces."""
    one, two = shapes.pieces[a], shapes.pieces[b]
    n_edges = 0
    for j in range(two.n_edges):
        if may_matter(shapes.edges[two.edge + j], heights.b, one.inner, axis.s):
            heights.edges[n_edges] = j
            n_edges += 1
    to_beat = axis.s + tie
    for i in range(one.n_edges):
        e = shapes.edges[one.edge + i]
        if not may_matter(e, heights.a, two.inner, axis.s):
            continue
        P, end = shapes.vertices[one.vertex + e.corner_0], shapes.vertices[one.vertex + e.corner_1]
        n1, n2 = shapes.faces[one.face + e.face_0], shapes.faces[one.face + e.face_1]
        ax, ay, az = end.x - P.x, end.y - P.y, end.z - P.z
        for k in range(n_edges):
            f = shapes.edges[two.edge + heights.edges[k]]
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
            if (
                s > to_beat
                and is_allowed(guide, x, y, z)
                and can_push(shapes, a, x, y, z)
                and can_push(shapes, b, -x, -y, -z)
            ):
                axis = Axis(s, x, y, z, EDGES, i, heights.edges[k])
                to_beat = s
    return axis
