"""Contacts of two convex polygons in the plane: the overlap of the two sides that face each other.

The best separating axis is a normal of a side of one of them. When the polygons are apart it may be corners that
face each other: then the nearest corner and side decide, found by trying all. Seen along the normal the two sides are
intervals; the ends of their overlap are the contact points, each a corner of one of the polygons: that is
its identity (code: its number for the first polygon, radix + its number for the second).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting, write
from clapas.collision.records import Records, Shapes
from clapas.compiled import subroutine

TIE = 1e-9  # of the size: a side of the first polygon is preferred unless the other is better by this
MERGE = (
    1e-4  # of the size: corners nearer than this count as one, so that rounding does not change their codes
)


class Near(NamedTuple):
    """A corner of one polygon and the side of the other nearest to it.

    Distance, vector from the first polygon to the second, middle relative to the first, code.
    """

    length: float
    vx: float
    vy: float
    x: float
    y: float
    code: int


class Polygons(NamedTuple):
    """Method for two polygons: codes of the second begin at the radix."""

    radix: int


@subroutine
def touch_polygons(method: Polygons, rows: Records, count: int, meeting: Meeting, shapes: Shapes) -> int:
    """Contacts of two polygons: one point or two."""
    a, b, x, y, distance = meeting.i, meeting.j, meeting.x, meeting.y, meeting.distance
    one, two = shapes.pieces[a], shapes.pieces[b]
    s, side = best_side(shapes, a, b, x, y, -np.inf)
    n = shapes.faces[one.face + side]
    nx, ny = n.x, n.y
    s_b, side = best_side(shapes, b, a, -x, -y, s + TIE * min(one.bound, two.bound))
    if side >= 0:
        s, n = s_b, shapes.faces[two.face + side]
        nx, ny = -n.x, -n.y
    if s > distance:
        return count
    if s > 0.0:
        near = nearest_corner(shapes, a, b, x, y, method.radix)
        rounding = TIE * min(one.bound, two.bound)
        if near.length > s * (1.0 + TIE) + rounding:  # two corners face each other
            if near.length > distance:
                return count
            o, nx, ny = shapes.centres[a], near.vx / near.length, near.vy / near.length
            x, y = o.x + near.x, o.y + near.y
            return write(rows, count, meeting, near.code, x, y, 0.0, nx, ny, 0.0, near.length)
    return side_points(rows, count, meeting, shapes, nx, ny, method.radix)


@subroutine
def best_side(shapes: Shapes, a: int, b: int, x: float, y: float, to_beat: float) -> tuple[float, int]:
    """Largest separation of b, at (x, y), over the sides of a if above ``to_beat``, and the side; −1 if none."""
    one, two, best = shapes.pieces[a], shapes.pieces[b], -1
    for k in range(one.n_faces):
        n = shapes.faces[one.face + k]
        height = n.x * x + n.y * y - n.height
        if height - two.inner <= to_beat:
            continue
        least = np.inf
        for row in range(two.vertex, two.vertex + two.n_vertices):
            least = min(least, n.x * shapes.vertices[row].x + n.y * shapes.vertices[row].y)
        if height + least > to_beat:
            to_beat, best = height + least, k
    return to_beat, best


@subroutine
def nearest_corner(shapes: Shapes, a: int, b: int, x: float, y: float, radix: int) -> Near:
    """Nearest corner of one polygon and side of the other."""
    best = Near(np.inf, 0.0, 0.0, 0.0, 0.0, 0)
    for flip in range(2):
        c, other, sign = (a, b, 1.0) if flip == 0 else (b, a, -1.0)
        one, two = shapes.pieces[c], shapes.pieces[other]
        for corner in range(one.n_vertices):
            u = shapes.vertices[one.vertex + corner]
            for face in range(two.face, two.face + two.n_faces):
                side = shapes.faces[face].side
                P = shapes.vertices[two.vertex + shapes.sides[side].corner]
                Q = shapes.vertices[two.vertex + shapes.sides[side + 1].corner]
                ex, ey = Q.x - P.x, Q.y - P.y
                rx, ry = u.x - P.x - sign * x, u.y - P.y - sign * y
                s = min(max((ex * rx + ey * ry) / (ex * ex + ey * ey), 0.0), 1.0)
                hx, hy = s * ex - rx, s * ey - ry  # from the corner to the side
                length = np.sqrt(hx * hx + hy * hy)
                if length < best.length:
                    px, py = u.x + 0.5 * hx + flip * x, u.y + 0.5 * hy + flip * y
                    best = Near(length, sign * hx, sign * hy, px, py, flip * radix + corner)
    return best


@subroutine
def facing_side(shapes: Shapes, c: int, nx: float, ny: float) -> tuple[int, int]:
    """Start and end corners of the side most aligned with n."""
    best, side = -2.0, 0
    for k in range(shapes.pieces[c].n_faces):
        n = shapes.faces[shapes.pieces[c].face + k]
        if n.x * nx + n.y * ny > best:
            best, side = n.x * nx + n.y * ny, n.side
    return shapes.sides[side].corner, shapes.sides[side + 1].corner


@subroutine
def height_at(u: float, P: Records, Q: Records, nx: float, ny: float) -> float:
    """Height along n, at coordinate u along (ny, −nx), of the line from P to Q."""
    up, uq = ny * P.x - nx * P.y, ny * Q.x - nx * Q.y
    hp, hq = nx * P.x + ny * P.y, nx * Q.x + ny * Q.y
    if uq == up:
        return max(hp, hq)
    return hp + (hq - hp) * (u - up) / (uq - up)


@subroutine
def side_points(
    rows: Records, count: int, meeting: Meeting, shapes: Shapes, nx: float, ny: float, radix: int
) -> int:
    """Write the ends of the overlap of the two sides that face each other along n."""
    a, b, x, y = meeting.i, meeting.j, meeting.x, meeting.y
    first_a, first_b, o = shapes.pieces[a].vertex, shapes.pieces[b].vertex, shapes.centres[a]
    # Coordinates across n increase along (ny, −nx): the outward side of a runs against it, that of b along it.
    a_high, a_low = facing_side(shapes, a, nx, ny)
    b_low, b_high = facing_side(shapes, b, -nx, -ny)
    A, B = shapes.vertices[first_a + a_low], shapes.vertices[first_a + a_high]
    C, D = shapes.vertices[first_b + b_low], shapes.vertices[first_b + b_high]
    shift, lift = ny * x - nx * y, nx * x + ny * y
    low_a, high_a = ny * A.x - nx * A.y, ny * B.x - nx * B.y
    low_b, high_b = ny * C.x - nx * C.y + shift, ny * D.x - nx * D.y + shift
    tie = MERGE * min(shapes.pieces[a].bound, shapes.pieces[b].bound)
    low, low_code = (low_a, a_low) if low_a >= low_b - tie else (low_b, radix + b_low)
    high, high_code = (high_a, a_high) if high_a <= high_b + tie else (high_b, radix + b_high)
    if low > high:  # by rounding: one corner over the other
        low = high = 0.5 * (low + high)
    for end in range(1 if high - low <= tie else 2):
        u, code = (low, low_code) if (end == 0) == (low_code < high_code) else (high, high_code)
        h_a, h_b = height_at(u, A, B, nx, ny), height_at(u - shift, C, D, nx, ny) + lift
        gap, middle = h_b - h_a, 0.5 * (h_a + h_b)
        if gap <= meeting.distance:
            px, py = o.x + u * ny + middle * nx, o.y - u * nx + middle * ny
            count = write(rows, count, meeting, code, px, py, 0.0, nx, ny, 0.0, gap)
    return count
