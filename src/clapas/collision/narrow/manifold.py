"""Where two convex solids touch: the common part of the two faces that look at each other.

Given the normal n, the face of each solid that looks most along it is seen along n as a polygon. The corners of
the common part of the two polygons are the contact points; the gap of each is measured along n between the
two faces, so that the deepest has the depth of the pair. The points do not depend on which of the two solids
is called the first, and each is either a corner of one of them or a crossing of an edge of one with an edge
of the other. That is its identity: it stays while the point slides, and while n turns.

Impulses are carried from one step to the next by identity, so a point must also keep its *place* while nothing
moves but by rounding. Two equal squares turned by 10⁻⁹ rad against each other have eight common corners: four near
the corners of the squares, under names that depend on the last bit, and four somewhere along the sides, at
(offset)/(angle). Three rules leave the four corners that a mason would name:

* points nearer than ``merge`` are one, at a corner rather than at a crossing, and where two sides cross that
  make an angle rather than where two cross that are nearly parallel: that place travels;
* a point nearer than STRAIGHT to the line through its neighbours carries nothing they cannot: it is dropped;
* a point within this length of a corner has the name of the corner, of B before A.

None of them hides depth: a point deeper than its neighbours by LEVEL stays.

Codes, for a radix above all numbers of corners and edges: edge of A · radix + edge of B for a crossing,
2 radix² + corner for a corner of A, 3 radix² + corner for one of B.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting, write
from clapas.collision.narrow.axes import EDGES, Axis
from clapas.collision.narrow.gjk import furthest
from clapas.collision.records import BOX, Records, Shapes, record
from clapas.compiled import subroutine

MOST_POINTS = 8
FLAT = 0.985  # cosine of the angle (10°) under which a face is taken to lie across the normal
STEEP = 1e-3  # cosine under which a face is seen from its side
ON = 1e-9  # of the bound: a corner this far from a face is on it
STRAIGHT = 1e-4  # of the size: a point nearer than this to the line through its neighbours is on it
LEVEL = 1e-8  # of the size: gaps that differ by less are equal
PLACED = (
    1e-12  # of the size: points of which neither is further than this off the polygon without it are equal
)
TIE = 1e-6  # of the size: of many points, those that span as much to within this are equal

CORNER = record("corner edge", "x y z gap", long="code")
"""A corner of a polygon seen along n.

x, y, z: coordinates across n and along it (m). corner: its number in the solid, −1 for a crossing. edge: the
side that starts here, an edge of its own solid or −1 − (side of the polygon that cut it). gap (m) and code of
the contact point it becomes.
"""


class Bench(NamedTuple):
    """Work space: the polygon that is cut, that which cuts, and a copy."""

    cut: Records
    knife: Records
    spare: Records


def new_bench(faces: Records) -> Bench:
    """Work space for the faces of a scene. A polygon of n sides cut by one of m has at most n + m."""
    room = 2 * max(4, int(faces["n_sides"].max(initial=4))) + 4
    return Bench(np.empty(room, dtype=CORNER), np.empty(room, dtype=CORNER), np.empty(room, dtype=CORNER))


class View(NamedTuple):
    """Directions of a view: n, and two across it, e × f = n."""

    nx: float
    ny: float
    nz: float
    ex: float
    ey: float
    ez: float
    fx: float
    fy: float
    fz: float


@subroutine
def view_along(nx: float, ny: float, nz: float) -> View:
    """The view along a unit vector."""
    if abs(nx) > abs(nz):
        scale = 1.0 / np.sqrt(nx * nx + ny * ny)
        ex, ey, ez = -ny * scale, nx * scale, 0.0
    else:
        scale = 1.0 / np.sqrt(ny * ny + nz * nz)
        ex, ey, ez = 0.0, -nz * scale, ny * scale
    return View(nx, ny, nz, ex, ey, ez, ny * ez - nz * ey, nz * ex - nx * ez, nx * ey - ny * ex)


@subroutine
def most_along(shapes: Shapes, c: int, nx: float, ny: float, nz: float) -> tuple[int, float]:
    """The face that looks most along n among those that hold what is highest; −1 and −2 if there is none.

    What is highest is a corner, an edge or a face. Another face may look more along n and yet be lower;
    it would miss the deepest point.
    """
    piece = shapes.pieces[c]
    best, face = -2.0, -1
    if piece.kind == BOX:  # of a box it is always the face that looks most along n
        for k in range(piece.n_faces):
            m = shapes.faces[piece.face + k]
            cosine = m.x * nx + m.y * ny + m.z * nz
            if cosine > best:
                best, face = cosine, k
        return face, best
    first = furthest(shapes, c, nx, ny, nz)
    u, close = shapes.vertices[first], ON * piece.bound
    top = u.x * nx + u.y * ny + u.z * nz - close
    last = piece.vertex + piece.n_vertices - 1
    while shapes.vertices[last].x * nx + shapes.vertices[last].y * ny + shapes.vertices[last].z * nz < top:
        last -= 1
    v = shapes.vertices[last]
    for k in range(piece.n_faces):
        m = shapes.faces[piece.face + k]
        cosine, level = m.x * nx + m.y * ny + m.z * nz, m.height - close
        if (
            m.is_real == 1
            and cosine > best
            and m.x * u.x + m.y * u.y + m.z * u.z >= level
            and m.x * v.x + m.y * v.y + m.z * v.z >= level
        ):
            best, face = cosine, k
    return face, best


@subroutine
def load(
    shapes: Shapes,
    c: int,
    face: int,
    reverse: bool,
    tx: float,
    ty: float,
    tz: float,
    view: View,
    out: Records,
) -> int:
    """The face of a solid moved by t, seen along n; the whole segment if it has no face."""
    vertex, f = shapes.pieces[c].vertex, shapes.faces[shapes.pieces[c].face + max(face, 0)]
    count = f.n_sides
    for k in range(count):
        side = count - 1 - k if reverse else k
        # Reversed, the side that leaves a corner is the one that came to it.
        leaving = (side + count - 1) % count if reverse else side
        v, p = shapes.vertices[vertex + shapes.sides[f.side + side].corner], out[k]
        x, y, z = v.x + tx, v.y + ty, v.z + tz
        p.x = x * view.ex + y * view.ey + z * view.ez
        p.y = x * view.fx + y * view.fy + z * view.fz
        p.z = x * view.nx + y * view.ny + z * view.nz
        p.corner, p.edge = shapes.sides[f.side + side].corner, shapes.sides[f.side + leaving].edge
    return count


@subroutine
def cut_by(cut: Records, count: int, knife: Records, n_knife: int, spare: Records) -> int:
    """Cut a polygon by all sides of another (Sutherland and Hodgman), keeping track of which side is what."""
    polygon, next_polygon, swaps = cut, spare, 0
    for k in range(n_knife):
        u, v = knife[k], knife[(k + 1) % n_knife]
        ux, uy, ox, oy = v.x - u.x, v.y - u.y, u.x, u.y
        is_cut = False
        for m in range(count):
            p = polygon[m]
            # Positive to the left of the side, inside; kept where the gap will be.
            p.gap = ux * (p.y - oy) - uy * (p.x - ox)
            is_cut |= p.gap < 0.0
        if not is_cut:
            continue
        found = 0
        for m in range(count):
            p, q = polygon[m], polygon[m + 1 if m + 1 < count else 0]
            h, g = p.gap, q.gap
            if h >= 0.0 and found < len(spare):
                next_polygon[found] = p
                found += 1
            if (h >= 0.0) != (g >= 0.0) and found < len(spare):
                s, new = h / (h - g), next_polygon[found]
                new.x, new.y, new.z = p.x + s * (q.x - p.x), p.y + s * (q.y - p.y), p.z + s * (q.z - p.z)
                new.corner, new.edge = -1, -1 - k if h >= 0.0 else p.edge
                found += 1
        count, swaps = found, swaps + 1
        polygon, next_polygon = next_polygon, polygon
    if swaps % 2 == 1:
        for m in range(count):
            cut[m] = spare[m]
    return count


@subroutine
def code_of(cut: Records, count: int, k: int, knife: Records, cut_is_b: bool, radix: int) -> int:
    """Identity of a point: corner of the cut polygon, corner of the knife, or a crossing."""
    corner_of_cut, corner_of_knife = (3, 2) if cut_is_b else (2, 3)
    if cut[k].corner >= 0:
        return corner_of_cut * radix * radix + cut[k].corner
    before, after = cut[(k + count - 1) % count].edge, cut[k].edge
    if before < 0 and after < 0:
        return corner_of_knife * radix * radix + knife[-1 - after].corner
    own, other = max(before, after), min(before, after)
    if other < 0:
        other = knife[-1 - other].edge
    return other * radix + own if cut_is_b else own * radix + other


@subroutine
def face_points(
    rows: Records,
    count: int,
    meeting: Meeting,
    shapes: Shapes,
    axis: Axis,
    merge: float,
    radix: int,
    bench: Bench,
) -> tuple[int, float]:
    """Write the contacts of the faces that look at each other along the axis, if they do.

    Points nearer than ``merge`` (m) are one. Returns the number of contacts so far and the least gap of
    the new ones.
    """
    a, b, nx, ny, nz = meeting.i, meeting.j, axis.x, axis.y, axis.z
    tx, ty, tz = meeting.x, meeting.y, meeting.z
    face_a, cos_a = most_along(shapes, a, nx, ny, nz)
    face_b, cos_b = most_along(shapes, b, -nx, -ny, -nz)
    cut_is_b = cos_a >= cos_b - 1e-9
    flatter, steeper = max(cos_a, cos_b), min(cos_a, cos_b)
    if flatter < (STEEP if axis.sort < EDGES else FLAT) or -1.5 < steeper < STEEP:
        return count, np.inf
    view = view_along(nx, ny, nz)
    if cut_is_b:
        n_knife = load(shapes, a, face_a, False, 0.0, 0.0, 0.0, view, bench.knife)
        n_cut = load(shapes, b, face_b, True, tx, ty, tz, view, bench.cut)
        m = shapes.faces[shapes.pieces[a].face + face_a]
    else:
        n_knife = load(shapes, b, face_b, True, tx, ty, tz, view, bench.knife)
        n_cut = load(shapes, a, face_a, False, 0.0, 0.0, 0.0, view, bench.cut)
        m = shapes.faces[shapes.pieces[b].face + face_b]
    n_cut = cut_by(bench.cut, n_cut, bench.knife, n_knife, bench.spare)
    # Plane of the knife: its height along n at (x, y) is z0 + gx (x − x0) + gy (y − y0).
    along = m.x * nx + m.y * ny + m.z * nz
    gx = -(m.x * view.ex + m.y * view.ey + m.z * view.ez) / along
    gy = -(m.x * view.fx + m.y * view.fy + m.z * view.fz) / along
    r_a, r_b = shapes.pieces[a].rounding, shapes.pieces[b].rounding
    o, found, least = bench.knife[0], 0, np.inf
    for k in range(n_cut):
        c = bench.cut[k]
        height = o.z + gx * (c.x - o.x) + gy * (c.y - o.y)
        gap = (c.z - height if cut_is_b else height - c.z) - r_a - r_b
        if gap > meeting.distance:
            continue
        new, least = bench.spare[found], min(least, gap)
        new.x, new.y, new.gap = c.x, c.y, gap
        new.z = (height if cut_is_b else c.z) + r_a + 0.5 * gap
        new.code = code_of(bench.cut, n_cut, k, bench.knife, cut_is_b, radix)
        found += 1
    size = min(shapes.pieces[a].bound, shapes.pieces[b].bound)
    straight = min(merge, STRAIGHT * size)
    found = merged(bench.spare, found, merge, size, 2 * radix * radix)
    found = straightened(bench.spare, found, straight, LEVEL * size)
    corner_of_a, corner_of_b = 2 * radix * radix, 3 * radix * radix
    if cut_is_b:
        name_corners(bench.spare, found, bench.knife, n_knife, corner_of_a, straight)
        n_cut = load(shapes, b, face_b, True, tx, ty, tz, view, bench.cut)
        name_corners(bench.spare, found, bench.cut, n_cut, corner_of_b, straight)
    else:
        n_cut = load(shapes, a, face_a, False, 0.0, 0.0, 0.0, view, bench.cut)
        name_corners(bench.spare, found, bench.cut, n_cut, corner_of_a, straight)
        name_corners(bench.spare, found, bench.knife, n_knife, corner_of_b, straight)
    found = thinned(bench.spare, found, TIE * size)
    return write_points(rows, count, meeting, shapes, view, bench.spare, found), least


@subroutine
def write_points(
    rows: Records, count: int, meeting: Meeting, shapes: Shapes, view: View, points: Records, found: int
) -> int:
    """Write contact points by growing code."""
    o, last = shapes.centres[meeting.i], -1
    for _ in range(found):
        k = -1
        for m in range(found):
            if points[m].code > last and (k < 0 or points[m].code < points[k].code):
                k = m
        if k < 0:
            break
        c = points[k]
        last = c.code
        x = o.x + c.x * view.ex + c.y * view.fx + c.z * view.nx
        y = o.y + c.x * view.ey + c.y * view.fy + c.z * view.ny
        z = o.z + c.x * view.ez + c.y * view.fz + c.z * view.nz
        count = write(rows, count, meeting, last, x, y, z, view.nx, view.ny, view.nz, c.gap)
    return count


@subroutine
def remove(points: Records, found: int, k: int) -> int:
    """Take a point out, the others keep their order."""
    for m in range(k, found - 1):
        points[m] = points[m + 1]
    return found - 1


@subroutine
def merged(points: Records, found: int, merge: float, size: float, first_corner: int) -> int:
    """Make one of neighbours nearer than ``merge``; returns how many points are left.

    The point with the larger code stays, a corner rather than a crossing, at its place: codes of corners are
    ``first_corner`` and more. Of two crossings that stays which is further off the polygon without it. If
    the gaps differ by more than LEVEL it is the deeper one that stays, under the larger code.
    """
    k = 0
    while k < found and found > 1:
        after = (k + 1) % found
        u, v = points[k], points[after]
        if (u.x - v.x) ** 2 + (u.y - v.y) ** 2 <= merge * merge:
            drop = k if u.code < v.code else after
            if abs(u.gap - v.gap) > LEVEL * size:
                drop = k if u.gap > v.gap else after
                u.code = v.code = max(u.code, v.code)
            elif found > 3 and max(u.code, v.code) < first_corner:
                off_u = off_line(points[(k + found - 1) % found], u, v)
                off_v = off_line(u, v, points[(k + 2) % found])
                if abs(off_u - off_v) > PLACED * size:
                    drop = k if off_u < off_v else after
            found = remove(points, found, drop)
            k = max(k - 1, 0)
        else:
            k += 1
    return found


@subroutine
def off_line(u: Records, v: Records, w: Records) -> float:
    """Distance of v from the line through u and w (m): twice the area of the triangle over its base."""
    area = (v.x - u.x) * (w.y - u.y) - (v.y - u.y) * (w.x - u.x)
    base = (w.x - u.x) ** 2 + (w.y - u.y) ** 2
    return abs(area) / np.sqrt(base) if base > 0.0 else 0.0


@subroutine
def straightened(points: Records, found: int, straight: float, level: float) -> int:
    """Drop points on the line through their neighbours while more than three are left; returns how many are.

    The distance from that line is twice the area of the triangle over its base.
    """
    k = 0
    while k < found and found > 3:
        u, v, w = points[(k + found - 1) % found], points[k], points[(k + 1) % found]
        area = (v.x - u.x) * (w.y - u.y) - (v.y - u.y) * (w.x - u.x)
        base = (w.x - u.x) ** 2 + (w.y - u.y) ** 2
        is_deeper = v.gap < min(u.gap, w.gap) - level
        if not is_deeper and area * area <= straight * straight * base:
            found = remove(points, found, k)
            k = max(k - 2, 0)  # the two before have new neighbours
        else:
            k += 1
    return found


@subroutine
def name_corners(
    points: Records, found: int, polygon: Records, n_corners: int, first: int, near: float
) -> None:
    """Give the code of each corner of a polygon, ``first`` + its number, to the point that is nearest to it.

    Only within the distance ``near`` (m).
    """
    for m in range(n_corners):
        c, best, nearest = polygon[m], near * near, -1
        for k in range(found):
            square = (points[k].x - c.x) ** 2 + (points[k].y - c.y) ** 2
            if square <= best:
                best, nearest = square, k
        if nearest >= 0:
            points[nearest].code = first + c.corner


@subroutine
def thinned(points: Records, found: int, tie: float) -> int:
    """Drop the points that span least until eight are left; returns how many are.

    Of those that span as much to within ``tie`` (m, times the distance of the outermost points), as in a regular
    polygon, the one with the smallest code goes. Where that loses more than ``tie`` of depth, the deepest point
    takes the place of the nearest that is left.
    """
    if found <= MOST_POINTS:
        return found
    deepest, across = 0, 0.0
    for k in range(found):
        if points[k].gap < points[deepest].gap:
            deepest = k
        across = max(across, abs(points[k].x - points[0].x), abs(points[k].y - points[0].y))
    kept = points[len(points) - 1]  # beyond all points
    points[len(points) - 1] = points[deepest]
    while found > MOST_POINTS:
        least, drop = np.inf, -1
        for k in range(found):
            u, v, w = points[(k + found - 1) % found], points[k], points[(k + 1) % found]
            area = (v.x - u.x) * (w.y - u.y) - (v.y - u.y) * (w.x - u.x)
            if area < least - tie * across or (area < least + tie * across and v.code < points[drop].code):
                least, drop = area, k
        found = remove(points, found, drop)
    lowest, nearest, best = np.inf, 0, np.inf
    for k in range(found):
        lowest = min(lowest, points[k].gap)
        square = (points[k].x - kept.x) ** 2 + (points[k].y - kept.y) ** 2
        if square < best:
            best, nearest = square, k
    if lowest > kept.gap + tie:
        points[nearest] = kept
    return found
