"""A half-space and anything: the points of the body nearest to the plane.

A body with corners touches at all corners within the distance. When these are more than eight, the extreme
ones in eight directions of the plane are kept, and the deepest. A cylinder touches at up to five points:
the lowest point of each rim and, on the lower cap, the point opposite and the two points between. A
cylinder that stands upright has no lowest point; then the points are fixed to the body.
"""

from __future__ import annotations

import numpy as np

from clapas.collision.lean import lean_kernel
from clapas.collision.records import CYLINDER, PLANE, Records, Shapes
from clapas.collision.rows import Pairs, write
from clapas.collision.topology import PRISM_SIDES
from clapas.compiled import subroutine
from clapas.typing import Indices

MOST_POINTS = 8
UPRIGHT = 1e-7  # sine of the tilt below which a cylinder has no lowest point


@lean_kernel
def touch_planes(
    which: Indices, pairs: Pairs, shapes: Shapes, distance: float, kept: Indices, rows: Records
) -> int:
    """Contacts of pairs with a plane: code 0 for a sphere, the number of the corner for a solid.

    ``kept`` is work space for MOST_POINTS numbers.
    """
    count = 0
    for k in range(len(which)):
        p = which[k]
        plane, c = pairs.listed[p].i, pairs.listed[p].j
        sign = 1.0
        if shapes.pieces[c].kind == PLANE:
            plane, c, sign = c, plane, -1.0
        face = shapes.pieces[plane].face
        n, x, o = shapes.faces[face], shapes.centres[c], shapes.centres[plane]
        height = n.x * (x.x - o.x) + n.y * (x.y - o.y) + n.z * (x.z - o.z)
        piece = shapes.pieces[c]
        if height - piece.bound > distance:
            continue
        if piece.n_vertices == 0:
            gap = height - piece.rounding
            count = below(rows, count, p, 0, shapes, c, 0.0, 0.0, 0.0, n, sign, piece.rounding, gap, distance)
        elif piece.kind == CYLINDER:
            count = cylinder_points(rows, count, p, shapes, c, n, sign, height, distance)
        else:
            r = piece.rounding
            found = low_corners(shapes, c, face, distance + r - height, kept)
            for m in range(found):
                v = shapes.vertices[piece.vertex + kept[m]]
                gap = height + n.x * v.x + n.y * v.y + n.z * v.z - r
                count = below(rows, count, p, kept[m], shapes, c, v.x, v.y, v.z, n, sign, r, gap, distance)
    return count


@subroutine
def below(
    rows: Records,
    count: int,
    p: int,
    code: int,
    shapes: Shapes,
    c: int,
    vx: float,
    vy: float,
    vz: float,
    n: Records,
    sign: float,
    r: float,
    gap: float,
    distance: float,
) -> int:
    """Write the contact of a ball of radius r, at v from the centre of c, with the plane below it."""
    if gap > distance:
        return count
    down, o = r + 0.5 * gap, shapes.centres[c]
    x, y, z = o.x + vx - down * n.x, o.y + vy - down * n.y, o.z + vz - down * n.z
    return write(rows, count, p, code, x, y, z, sign * n.x, sign * n.y, sign * n.z, gap)


@subroutine
def height_of(shapes: Shapes, row: int, face: int) -> float:
    """Corner along a direction."""
    v, n = shapes.vertices[row], shapes.faces[face]
    return n.x * v.x + n.y * v.y + n.z * v.z


@subroutine
def low_corners(shapes: Shapes, c: int, face: int, limit: float, kept: Indices) -> int:
    """Corners of c not higher than the limit, at most eight, by growing number. Returns how many."""
    found, deepest, depth = 0, -1, np.inf
    first = shapes.pieces[c].vertex
    for k in range(shapes.pieces[c].n_vertices):
        h = height_of(shapes, first + k, face)
        if h <= limit:
            if found < MOST_POINTS:
                kept[found] = k
            found += 1
            if h < depth:
                deepest, depth = k, h
    if found <= MOST_POINTS:
        return found
    found = 0
    for direction in range(MOST_POINTS):
        angle = 2.0 * np.pi * direction / MOST_POINTS
        found = insert(kept, found, extreme_corner(shapes, c, face, limit, np.cos(angle), np.sin(angle)))
    return with_deepest(shapes, first, face, kept, found, deepest, depth)


@subroutine
def extreme_corner(shapes: Shapes, c: int, face: int, limit: float, cosine: float, sine: float) -> int:
    """The low corner furthest in a direction of the plane."""
    best, corner = -np.inf, -1
    first = shapes.pieces[c].vertex
    for k in range(shapes.pieces[c].n_vertices):
        far = cosine * height_of(shapes, first + k, face + 1) + sine * height_of(shapes, first + k, face + 2)
        if far > best and height_of(shapes, first + k, face) <= limit:
            best, corner = far, k
    return corner


@subroutine
def insert(kept: Indices, found: int, corner: int) -> int:
    """Put a number into its place in a growing list, once. Returns the length."""
    at = found
    while at > 0 and kept[at - 1] >= corner:
        at -= 1
    if at < found and kept[at] == corner:
        return found
    for k in range(found, at, -1):
        kept[k] = kept[k - 1]
    kept[at] = corner
    return found + 1


@subroutine
def with_deepest(
    shapes: Shapes, first: int, face: int, kept: Indices, found: int, deepest: int, depth: float
) -> int:
    """See that the deepest corner is kept: in the place of the highest, if need be."""
    highest, top, lowest = 0, -np.inf, np.inf
    for k in range(found):
        h = height_of(shapes, first + kept[k], face)
        lowest = min(lowest, h)
        if h > top:
            highest, top = k, h
    if lowest <= depth:
        return found
    for k in range(highest, found - 1):
        kept[k] = kept[k + 1]
    return insert(kept, found - 1, deepest)


@subroutine
def cylinder_points(
    rows: Records,
    count: int,
    p: int,
    shapes: Shapes,
    c: int,
    n: Records,
    sign: float,
    height: float,
    distance: float,
) -> int:
    """Contacts of a cylinder: code 4·cap + quarter turns from the lowest point."""
    piece = shapes.pieces[c]
    r, half, a = piece.radius, piece.half, shapes.faces[piece.face + 1]
    rise = n.x * a.x + n.y * a.y + n.z * a.z
    # u is the steepest way down in the caps, w across it.
    ux, uy, uz = rise * a.x - n.x, rise * a.y - n.y, rise * a.z - n.z
    sine = np.sqrt(ux * ux + uy * uy + uz * uz)
    if sine > UPRIGHT:
        ux, uy, uz = ux / sine, uy / sine, uz / sine
    else:
        v = shapes.vertices[piece.vertex + PRISM_SIDES]
        ux, uy, uz = (v.x - half * a.x) / r, (v.y - half * a.y) / r, (v.z - half * a.z) / r
        sine = -(n.x * ux + n.y * uy + n.z * uz)
    wx, wy, wz = a.y * uz - a.z * uy, a.z * ux - a.x * uz, a.x * uy - a.y * ux
    lower = 0 if rise > 0.0 else 1
    for cap in range(2):
        along = half if cap == 1 else -half
        for quarter in range(4 if cap == lower else 1):
            down = (r, 0.0, -r, 0.0)[quarter]
            across = (0.0, r, 0.0, -r)[quarter]
            vx = along * a.x + down * ux + across * wx
            vy = along * a.y + down * uy + across * wy
            vz = along * a.z + down * uz + across * wz
            gap = height + along * rise - down * sine
            code = 4 * cap + quarter
            count = below(rows, count, p, code, shapes, c, vx, vy, vz, n, sign, 0.0, gap, distance)
    return count
