"""Distance between two convex solids by the method of Gilbert, Johnson and Keerthi (GJK).

The distance between A and B is that of the set D = {b − a} from the origin. Starting from any point v of D, find
the point w of D furthest towards the origin, −v·w largest; add it to at most three others, and let v be the
point of their hull nearest to the origin, dropping those that are not needed. v·w/|v| is a lower bound of
the distance: the method stops as soon as this exceeds the limit, and ends when w is already in the simplex. For solids with corners that is after finitely many steps, and v is exact to rounding.

References
----------
Gilbert, Johnson, Keerthi 1988; van den Bergen 2003, chapter 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting
from clapas.collision.records import Records, Shapes, as_int64, record
from clapas.compiled import subroutine
from clapas.typing import Array

BEYOND, APART, OVERLAPPING = 0, 1, 2
ITERATIONS = 100
CONVERGED = 1e-13  # relative decrease of |v|² still possible
TOUCHING = 1e-12  # |v| relative to the size of the simplex below which the solids touch

CORNER = record("a b", "x y z weight")
"""A point of D: the corners it is the difference of, its position (m), its weight in the nearest point."""


class Simplex(NamedTuple):
    """Up to four points of D, and the nearest point v (m): from the nearest point of A to that of B."""

    points: Records
    v: Array


def new_simplex() -> Simplex:
    """Work space for a simplex."""
    return Simplex(np.empty(4, dtype=CORNER), np.empty(3))


@subroutine
def furthest(shapes: Shapes, c: int, x: float, y: float, z: float) -> int:
    """Row of the corner of a solid furthest in a direction; the first of equals."""
    first = as_int64(shapes.pieces[c].vertex)
    best, row = -np.inf, first
    for k in range(first, first + shapes.pieces[c].n_vertices):
        v = shapes.vertices[k]
        h = v.x * x + v.y * y + v.z * z
        if h > best:
            best, row = h, k
    return row


@subroutine
def gjk(shapes: Shapes, meeting: Meeting, limit: float, simplex: Simplex) -> tuple[int, int]:
    """Distance between the solids of two colliders.

    Returns BEYOND (further than the limit), APART or OVERLAPPING, and the number of points in the
    simplex, whose v goes from the first to the second.
    """
    S, v = simplex.points, simplex.v
    tx, ty, tz = meeting.x, meeting.y, meeting.z
    v[0], v[1], v[2] = tx, ty, tz
    square = tx * tx + ty * ty + tz * tz
    if square == 0.0:
        v[2] = square = 1.0
    count, limit = 0, max(limit, 0.0)
    for iteration in range(ITERATIONS):
        row_a = furthest(shapes, meeting.i, v[0], v[1], v[2])
        row_b = furthest(shapes, meeting.j, -v[0], -v[1], -v[2])
        p, q = shapes.vertices[row_a], shapes.vertices[row_b]
        wx, wy, wz = q.x + tx - p.x, q.y + ty - p.y, q.z + tz - p.z
        height = v[0] * wx + v[1] * wy + v[2] * wz
        if height > 0.0 and height * height > limit * limit * square:
            return BEYOND, count
        known, size = False, wx * wx + wy * wy + wz * wz
        for k in range(count):
            known |= S[k].a == row_a and S[k].b == row_b
            size = max(size, S[k].x * S[k].x + S[k].y * S[k].y + S[k].z * S[k].z)
        if count > 0 and (known or square - height <= CONVERGED * square):
            return APART, count
        w = S[count]
        w.a, w.b, w.x, w.y, w.z, w.weight = row_a, row_b, wx, wy, wz, 1.0
        count = reduce_simplex(S, v, count + 1, square)
        smaller = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
        if count == 4 or smaller <= TOUCHING * TOUCHING * size:
            return OVERLAPPING, count
        if iteration > 0 and smaller >= square:  # rounding: no nearer than before
            return APART, count
        square = smaller
    return APART, count


@subroutine
def reduce_simplex(S: Records, v: Array, count: int, square: float) -> int:
    """Find the point nearest to the origin, drop the points it does not need, return how many are left.

    ``square`` is |v|² without the last point.
    """
    if count == 1:
        v[0], v[1], v[2] = S[0].x, S[0].y, S[0].z
        return 1
    if count == 2:
        return reduce_to_edge(S, v, 0, 1)
    if count == 3:
        return reduce_to_face(S, v, 0, 1, 2)
    return reduce_tetrahedron(S, v, square)


@subroutine
def edge_weight(S: Records, i: int, j: int) -> float:
    """Weight of point j in the point of edge ij nearest to the origin."""
    p, q = S[i], S[j]
    x, y, z = q.x - p.x, q.y - p.y, q.z - p.z
    square = x * x + y * y + z * z
    if square == 0.0:
        return 0.0
    return min(max(-(p.x * x + p.y * y + p.z * z) / square, 0.0), 1.0)


@subroutine
def edge_square(S: Records, i: int, j: int) -> float:
    """Squared distance of edge ij from the origin."""
    s, p, q = edge_weight(S, i, j), S[i], S[j]
    x, y, z = p.x + s * (q.x - p.x), p.y + s * (q.y - p.y), p.z + s * (q.z - p.z)
    return x * x + y * y + z * z


@subroutine
def reduce_to_edge(S: Records, v: Array, i: int, j: int) -> int:
    """Keep the points of edge ij (i < j) that the nearest point depends on."""
    s, p, q = edge_weight(S, i, j), S[i], S[j]
    v[0], v[1], v[2] = p.x + s * (q.x - p.x), p.y + s * (q.y - p.y), p.z + s * (q.z - p.z)
    if s < 1.0:
        S[0] = S[i]
        S[0].weight = 1.0 - s
        if s == 0.0:
            return 1
        S[1] = S[j]
        S[1].weight = s
        return 2
    S[0] = S[j]
    S[0].weight = 1.0
    return 1


@subroutine
def cross_of(S: Records, i: int, j: int, k: int) -> tuple[float, float, float]:
    """Normal of triangle ijk, of length twice its area."""
    p, q, r = S[i], S[j], S[k]
    ax, ay, az = q.x - p.x, q.y - p.y, q.z - p.z
    bx, by, bz = r.x - p.x, r.y - p.y, r.z - p.z
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@subroutine
def face_weights(S: Records, i: int, j: int, k: int) -> tuple[float, float]:
    """Weights of i and j in the projection of the origin on triangle ijk; negative if it is outside."""
    nx, ny, nz = cross_of(S, i, j, k)
    square = nx * nx + ny * ny + nz * nz
    if square == 0.0:
        return -1.0, -1.0
    p, q, r = S[i], S[j], S[k]
    # Areas of the triangles that the projection makes with each side: n·(q × r), seen along n.
    u = (q.y * r.z - q.z * r.y) * nx + (q.z * r.x - q.x * r.z) * ny + (q.x * r.y - q.y * r.x) * nz
    w = (r.y * p.z - r.z * p.y) * nx + (r.z * p.x - r.x * p.z) * ny + (r.x * p.y - r.y * p.x) * nz
    if u <= 0.0 or w <= 0.0 or u + w >= square:
        return -1.0, -1.0
    return u / square, w / square


@subroutine
def reduce_to_face(S: Records, v: Array, i: int, j: int, k: int) -> int:
    """Keep the points of triangle ijk (i < j < k) that the nearest point depends on."""
    wi, wj = face_weights(S, i, j, k)
    if wi > 0.0:
        # Along the normal: exact in direction, which the weighted sum of nearly opposite points is not.
        nx, ny, nz = cross_of(S, i, j, k)
        height = (nx * S[i].x + ny * S[i].y + nz * S[i].z) / (nx * nx + ny * ny + nz * nz)
        v[0], v[1], v[2] = height * nx, height * ny, height * nz
        S[0] = S[i]
        S[1] = S[j]
        S[2] = S[k]
        S[0].weight, S[1].weight, S[2].weight = wi, wj, 1.0 - wi - wj
        return 3
    ij, jk, ik = edge_square(S, i, j), edge_square(S, j, k), edge_square(S, i, k)
    if ij <= jk and ij <= ik:
        return reduce_to_edge(S, v, i, j)
    if jk <= ik:
        return reduce_to_edge(S, v, j, k)
    return reduce_to_edge(S, v, i, k)


@subroutine
def face_square(S: Records, i: int, j: int, k: int) -> float:
    """Squared distance of triangle ijk from the origin."""
    wi, _ = face_weights(S, i, j, k)
    if wi > 0.0:
        nx, ny, nz = cross_of(S, i, j, k)
        height = nx * S[i].x + ny * S[i].y + nz * S[i].z
        return height * height / (nx * nx + ny * ny + nz * nz)
    return min(edge_square(S, i, j), edge_square(S, j, k), edge_square(S, i, k))


@subroutine
def reduce_tetrahedron(S: Records, v: Array, square: float) -> int:
    """Keep the nearest of the faces the origin is outside of; all four if it is inside.

    Where parallel faces look at each other the four points are in a plane, and rounding says which faces the origin is
    outside of. If none of those is nearer than v, √``square`` away, v and the three points it is of stay.
    """
    least, left_out = np.inf, -1
    for f in range(4):
        i, j, k = 0 if f > 0 else 1, 1 if f > 1 else 2, 2 if f > 2 else 3
        nx, ny, nz = cross_of(S, i, j, k)
        origin = -(nx * S[i].x + ny * S[i].y + nz * S[i].z)
        fourth = origin + nx * S[f].x + ny * S[f].y + nz * S[f].z
        if origin * fourth <= 0.0:
            away = face_square(S, i, j, k)
            if away < least:
                least, left_out = away, f
    if left_out < 0:
        return 4
    if least >= square:
        return 3
    f = left_out
    return reduce_to_face(S, v, 0 if f > 0 else 1, 1 if f > 1 else 2, 2 if f > 2 else 3)
