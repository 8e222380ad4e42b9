"""Contacts of a half-space with any collider but a cylinder: the points of the body nearest to the plane.

A body with corners touches at all corners within the distance. If there are more than eight, the extreme
ones in eight directions of the plane are kept, and the deepest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting, write
from clapas.collision.records import PLANE, Records, Shapes, as_int64
from clapas.compiled import subroutine
from clapas.typing import Indices

MOST_POINTS = 8
TIE = 1e-6  # of the bound: corners equally far in a direction to within this; the first one counts


class SphereOnPlane(NamedTuple):
    """Method for a sphere and a plane."""


class CornersOnPlane(NamedTuple):
    """Method for a solid with at most eight corners and a plane."""


class HullOnPlane(NamedTuple):
    """Method for a polyhedron and a plane, with work space for the numbers of MOST_POINTS corners."""

    corners: Indices


def new_corner_list() -> Indices:
    """Work space for the numbers of the corners that touch."""
    return np.empty(MOST_POINTS, dtype=np.int64)


class Over(NamedTuple):
    """A body over a plane.

    Parameters
    ----------
    c : int
        The body's collider.
    face : int
        Row of the normal of the plane, from the plane to the body.
    sign : float
        1 if the plane is the first of the two, else −1.
    height : float
        Of the centre of the body (m).
    """

    c: int
    face: int
    sign: float
    height: float


@subroutine
def over_plane(meeting: Meeting, shapes: Shapes) -> Over:
    """The plane and the body of a pair, and the height of the body. A plane is its own image."""
    plane, c, sign = meeting.i, meeting.j, 1.0
    if shapes.pieces[c].kind == PLANE:
        plane, c, sign = c, plane, -1.0
    face = as_int64(shapes.pieces[plane].face)
    n, x, o = shapes.faces[face], shapes.centres[c], shapes.centres[plane]
    return Over(c, face, sign, n.x * (x.x - o.x) + n.y * (x.y - o.y) + n.z * (x.z - o.z))


@subroutine
def touch_sphere_plane(
    method: SphereOnPlane, rows: Records, count: int, meeting: Meeting, shapes: Shapes
) -> int:
    """The contact of a sphere: code 0."""
    over = over_plane(meeting, shapes)
    r = shapes.pieces[over.c].rounding
    return below(rows, count, meeting, 0, shapes, over, 0.0, 0.0, 0.0, r, over.height - r)


@subroutine
def touch_corners_plane(
    method: CornersOnPlane, rows: Records, count: int, meeting: Meeting, shapes: Shapes
) -> int:
    """Contacts of a solid of few corners: the code is the number of the corner."""
    over = over_plane(meeting, shapes)
    piece = shapes.pieces[over.c]
    if over.height - piece.bound > meeting.distance:
        return count
    for corner in range(piece.n_vertices):
        count = touch_corner(rows, count, meeting, shapes, over, corner)
    return count


@subroutine
def touch_hull_plane(method: HullOnPlane, rows: Records, count: int, meeting: Meeting, shapes: Shapes) -> int:
    """Contacts of a polyhedron: the code is the number of the corner."""
    over = over_plane(meeting, shapes)
    piece = shapes.pieces[over.c]
    if over.height - piece.bound > meeting.distance:
        return count
    limit = meeting.distance + piece.rounding - over.height
    for k in range(low_corners(shapes, over.c, over.face, limit, method.corners)):
        count = touch_corner(rows, count, meeting, shapes, over, method.corners[k])
    return count


@subroutine
def touch_corner(rows: Records, count: int, meeting: Meeting, shapes: Shapes, over: Over, corner: int) -> int:
    """The contact of a corner of a body, if it is low enough."""
    piece = shapes.pieces[over.c]
    v = shapes.vertices[piece.vertex + corner]
    gap = over.height + height_of(shapes, piece.vertex + corner, over.face) - piece.rounding
    return below(rows, count, meeting, corner, shapes, over, v.x, v.y, v.z, piece.rounding, gap)


@subroutine
def below(
    rows: Records,
    count: int,
    meeting: Meeting,
    code: int,
    shapes: Shapes,
    over: Over,
    vx: float,
    vy: float,
    vz: float,
    r: float,
    gap: float,
) -> int:
    """Write the contact of a ball of radius r, centred at v from the centre of a body, with the plane."""
    if gap > meeting.distance:
        return count
    n, o, sign, down = shapes.faces[over.face], shapes.centres[over.c], over.sign, r + 0.5 * gap
    x, y, z = o.x + vx - down * n.x, o.y + vy - down * n.y, o.z + vz - down * n.z
    return write(rows, count, meeting, code, x, y, z, sign * n.x, sign * n.y, sign * n.z, gap)


@subroutine
def height_of(shapes: Shapes, row: int, face: int) -> float:
    """Component of a corner along the normal of a face (m)."""
    v, n = shapes.vertices[row], shapes.faces[face]
    return n.x * v.x + n.y * v.y + n.z * v.z


@subroutine
def low_corners(shapes: Shapes, c: int, face: int, limit: float, corners: Indices) -> int:
    """Corners of c not higher than the limit, at most eight, by increasing number. Returns how many."""
    n_found, deepest, depth = 0, -1, np.inf
    first = shapes.pieces[c].vertex
    for k in range(shapes.pieces[c].n_vertices):
        h = height_of(shapes, first + k, face)
        if h <= limit:
            if n_found < MOST_POINTS:
                corners[n_found] = k
            n_found += 1
            if h < depth:
                deepest, depth = k, h
    if n_found <= MOST_POINTS:
        return n_found
    n_found = 0
    for direction in range(MOST_POINTS):
        angle = 2.0 * np.pi * direction / MOST_POINTS
        n_found = insert(
            corners, n_found, extreme_corner(shapes, c, face, limit, np.cos(angle), np.sin(angle))
        )
    return with_deepest(shapes, first, face, corners, n_found, deepest, depth, TIE * shapes.pieces[c].bound)


@subroutine
def extreme_corner(shapes: Shapes, c: int, face: int, limit: float, cosine: float, sine: float) -> int:
    """The low corner furthest in a direction of the plane."""
    best, corner = -np.inf, -1
    first, tie = shapes.pieces[c].vertex, TIE * shapes.pieces[c].bound
    for k in range(shapes.pieces[c].n_vertices):
        far = cosine * height_of(shapes, first + k, face + 1) + sine * height_of(shapes, first + k, face + 2)
        if far > best + tie and height_of(shapes, first + k, face) <= limit:
            best, corner = far, k
    return corner


@subroutine
def insert(corners: Indices, n_found: int, corner: int) -> int:
    """Insert a number into an increasing list unless it is there. Returns the length."""
    at = n_found
    while at > 0 and corners[at - 1] >= corner:
        at -= 1
    if at < n_found and corners[at] == corner:
        return n_found
    for k in range(n_found, at, -1):
        corners[k] = corners[k - 1]
    corners[at] = corner
    return n_found + 1


@subroutine
def with_deepest(
    shapes: Shapes,
    first: int,
    face: int,
    corners: Indices,
    n_found: int,
    deepest: int,
    depth: float,
    tie: float,
) -> int:
    """Replace the highest corner by the deepest, if that is deeper by ``tie`` (m) than all in the list."""
    highest, top, lowest = 0, -np.inf, np.inf
    for k in range(n_found):
        h = height_of(shapes, first + corners[k], face)
        lowest = min(lowest, h)
        if h > top:
            highest, top = k, h
    if lowest <= depth + tie:
        return n_found
    for k in range(highest, n_found - 1):
        corners[k] = corners[k + 1]
    return insert(corners, n_found - 1, deepest)
