"""Contact manifold of two convex solids: the intersection of the two faces that face each other.

Given the normal n, the face of each solid most aligned with it is projected along n to a polygon. The corners of
the intersection of the two polygons are the contact points; the gap of each is measured along n between the
two faces, so that the deepest has the depth of the pair. The points do not depend on which of the two solids
is called the first, and each is either a corner of one of them or a crossing of an edge of one with an edge
of the other. That is its identity: it stays while the point slides, and while n turns.

Impulses are carried from one step to the next by identity, so a point must also keep its *position* under changes
of the order of rounding. Two equal squares rotated by 10⁻⁹ rad against each other have eight common corners: four
near the corners of the squares, with codes that depend on the last bit, and four somewhere along the sides, at
(offset)/(angle). Three rules leave the four expected corners:

* points nearer than ``merge`` are one, at a corner rather than at a crossing, and at a crossing of two sides at an
  angle rather than of two that are nearly parallel, whose position is ill-conditioned;
* a point nearer than STRAIGHT to the line through its neighbours adds no support and is dropped;
* a point within this length of a corner has the code of the corner, of B before A.

None of them loses depth: a point deeper than its neighbours by LEVEL stays.

Codes, for a radix above all numbers of corners and edges: edge of A · radix + edge of B for a crossing,
2 radix² + corner for a corner of A, 3 radix² + corner for one of B.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting, write
from clapas.collision.narrow.axes import EDGES, Axis
from clapas.collision.narrow.gjk import furthest
from clapas.collision.records import BOX, Records, Shapes, as_int64, record
from clapas.compiled import subroutine

MOST_POINTS = 8
FLAT = 0.985  # cosine of the angle (10°) under which a face counts as perpendicular to the normal
STEEP = 1e-3  # cosine under which a face is seen edge-on
ON = 1e-9  # of the bound: a corner this far from a face is on it
STRAIGHT = 1e-4  # of the size: a point nearer than this to the line through its neighbours is on it
LEVEL = 1e-8  # of the size: gaps that differ by less are equal
PLACED = 1e-12  # of the size: distances from the polygon without the point that differ by less are equal
TIE = 1e-6  # of the size: tolerance of areas and depths in the choice among many points

CORNER = record("corner edge", "x y z gap", long="code")
"""A corner of a polygon projected along n.

x, y, z: coordinates across n and along it (m). corner: its number in the solid, −1 for a crossing. edge: the
side that starts here, an edge of its own solid or −1 − (side of the clip polygon that cut it). gap (m) and code of
the contact point it becomes.
"""


class Clipping(NamedTuple):
    """Work space: the subject polygon, the clip polygon, and a copy."""

    subject: Records
    clip: Records
    spare: Records


def new_clipping(faces: Records) -> Clipping:
    """Work space for the faces of a scene. A polygon of n sides clipped by one of m has at most n + m."""
    room = 2 * max(4, int(faces["n_sides"].max(initial=4))) + 4
    return Clipping(np.empty(room, dtype=CORNER), np.empty(room, dtype=CORNER), np.empty(room, dtype=CORNER))


class View(NamedTuple):
    """Projection frame: n, and two directions across it, e × f = n."""

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
    """Projection frame along a unit vector."""
    if abs(nx) > abs(nz):
        scale = 1.0 / np.sqrt(nx * nx + ny * ny)
        ex, ey, ez = -ny * scale, nx * scale, 0.0
    else:
        scale = 1.0 / np.sqrt(ny * ny + nz * nz)
        ex, ey, ez = 0.0, -nz * scale, ny * scale
    return View(nx, ny, nz, ex, ey, ez, ny * ez - nz * ey, nz * ex - nx * ez, nx * ey - ny * ex)


@subroutine
def supporting_face(shapes: Shapes, c: int, nx: float, ny: float, nz: float) -> tuple[int, float]:
    """The face most aligned with n among those that contain the highest feature, and its cosine; −1 and −2 if none.

    The highest feature is a corner, an edge or a face. Another face may be more aligned with n and yet be
    lower; it would lack the deepest point.
    """
    piece = shapes.pieces[c]
    best, face = -2.0, -1
    if piece.kind == BOX:  # of a box it is always the face most aligned with n
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
def project_face(
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
    """Project the face of a solid, moved by t, along n; the whole segment if it has no face."""
    vertex, f = shapes.pieces[c].vertex, shapes.faces[shapes.pieces[c].face + max(face, 0)]
    count = f.n_sides
    for k in range(count):
        side = count - 1 - k if reverse else k
        # Reversed, the side that starts at a corner is the one that ended there.
        leaving = (side + count - 1) % count if reverse else side
        v, p = shapes.vertices[vertex + shapes.sides[f.side + side].corner], out[k]
        x, y, z = v.x + tx, v.y + ty, v.z + tz
        p.x = x * view.ex + y * view.ey + z * view.ez
        p.y = x * view.fx + y * view.fy + z * view.fz
        p.z = x * view.nx + y * view.ny + z * view.nz
        p.corner, p.edge = shapes.sides[f.side + side].corner, shapes.sides[f.side + leaving].edge
    return count


@subroutine
def clip_by(subject: Records, count: int, clip: Records, n_clip: int, spare: Records) -> int:
    """Clip a polygon by all sides of another (Sutherland and Hodgman), tracking the origin of each side."""
    polygon, next_polygon, swaps = subject, spare, 0
    for k in range(n_clip):
        u, v = clip[k], clip[(k + 1) % n_clip]
        ux, uy, ox, oy = v.x - u.x, v.y - u.y, u.x, u.y
        is_clipped = False
        for m in range(count):
            p = polygon[m]
            # Positive to the left of the side, inside; stored in the field of the gap for now.
            p.gap = ux * (p.y - oy) - uy * (p.x - ox)
            is_clipped |= p.gap < 0.0
        if not is_clipped:
            continue
        n_points = 0
        for m in range(count):
            p, q = polygon[m], polygon[m + 1 if m + 1 < count else 0]
            h, g = p.gap, q.gap
            if h >= 0.0 and n_points < len(spare):
                next_polygon[n_points] = p
                n_points += 1
            if (h >= 0.0) != (g >= 0.0) and n_points < len(spare):
                s, new = h / (h - g), next_polygon[n_points]
                new.x, new.y, new.z = p.x + s * (q.x - p.x), p.y + s * (q.y - p.y), p.z + s * (q.z - p.z)
                new.corner, new.edge = -1, -1 - k if h >= 0.0 else p.edge
                n_points += 1
        count, swaps = n_points, swaps + 1
        polygon, next_polygon = next_polygon, polygon
    if swaps % 2 == 1:
        for m in range(count):
            subject[m] = spare[m]
    return count


@subroutine
def code_of(subject: Records, count: int, k: int, clip: Records, subject_is_b: bool, radix: int) -> int:
    """Identity of a point: corner of the subject polygon, corner of the clip polygon, or a crossing."""
    subject_corner, clip_corner = (3, 2) if subject_is_b else (2, 3)
    if subject[k].corner >= 0:
        return subject_corner * radix * radix + subject[k].corner
    before, after = subject[(k + count - 1) % count].edge, subject[k].edge
    if before < 0 and after < 0:
        return clip_corner * radix * radix + clip[-1 - after].corner
    own, other = max(before, after), min(before, after)
    if other < 0:
        other = clip[-1 - other].edge
    return other * radix + own if subject_is_b else own * radix + other


class Overlap(NamedTuple):
    """Intersection of the two faces that face each other: the frame, their numbers, which was clipped, and its corners.

    The corners are the first ``n_points`` rows of the spare polygon; ``least`` is the least of their gaps (m).
    """

    frame: View
    face_a: int
    face_b: int
    n_clip: int
    subject_is_b: bool
    n_points: int
    least: float


@subroutine
def face_points(
    rows: Records,
    count: int,
    meeting: Meeting,
    shapes: Shapes,
    axis: Axis,
    merge: float,
    radix: int,
    clipping: Clipping,
) -> tuple[int, float]:
    """Write the contacts of the faces that face each other along the axis, if they do.

    Points nearer than ``merge`` (m) are merged. Returns the number of contacts so far and the least gap of
    the new ones.
    """
    both = overlap_of_faces(meeting, shapes, axis, radix, clipping)
    return write_overlap(
        rows, count, meeting, shapes, both, both.n_points, merge, radix, clipping
    ), both.least


@subroutine
def overlap_of_faces(meeting: Meeting, shapes: Shapes, axis: Axis, radix: int, clipping: Clipping) -> Overlap:
    """The corners of the intersection of two faces, with their gaps and codes."""
    a, b, nx, ny, nz = meeting.i, meeting.j, axis.x, axis.y, axis.z
    tx, ty, tz = meeting.x, meeting.y, meeting.z
    face_a, cos_a = supporting_face(shapes, a, nx, ny, nz)
    face_b, cos_b = supporting_face(shapes, b, -nx, -ny, -nz)
    subject_is_b = cos_a >= cos_b - 1e-9
    flatter, steeper = max(cos_a, cos_b), min(cos_a, cos_b)
    view = view_along(nx, ny, nz)
    if flatter < (STEEP if axis.kind < EDGES else FLAT) or -1.5 < steeper < STEEP:
        return Overlap(view, face_a, face_b, 0, subject_is_b, 0, np.inf)
    if subject_is_b:
        n_clip = project_face(shapes, a, face_a, False, 0.0, 0.0, 0.0, view, clipping.clip)
        n_subject = project_face(shapes, b, face_b, True, tx, ty, tz, view, clipping.subject)
        m = shapes.faces[shapes.pieces[a].face + face_a]
    else:
        n_clip = project_face(shapes, b, face_b, True, tx, ty, tz, view, clipping.clip)
        n_subject = project_face(shapes, a, face_a, False, 0.0, 0.0, 0.0, view, clipping.subject)
        m = shapes.faces[shapes.pieces[b].face + face_b]
    n_subject = clip_by(clipping.subject, n_subject, clipping.clip, n_clip, clipping.spare)
    # Plane of the clip polygon: its height along n at (x, y) is z0 + gx (x − x0) + gy (y − y0).
    along = m.x * nx + m.y * ny + m.z * nz
    gx = -(m.x * view.ex + m.y * view.ey + m.z * view.ez) / along
    gy = -(m.x * view.fx + m.y * view.fy + m.z * view.fz) / along
    r_a, r_b = shapes.pieces[a].rounding, shapes.pieces[b].rounding
    o, n_points, least = clipping.clip[0], 0, np.inf
    for k in range(n_subject):
        c = clipping.subject[k]
        height = o.z + gx * (c.x - o.x) + gy * (c.y - o.y)
        gap = (c.z - height if subject_is_b else height - c.z) - r_a - r_b
        if gap > meeting.distance:
            continue
        new, least = clipping.spare[n_points], min(least, gap)
        new.x, new.y, new.gap = c.x, c.y, gap
        new.z = (height if subject_is_b else c.z) + r_a + 0.5 * gap
        new.code = code_of(clipping.subject, n_subject, k, clipping.clip, subject_is_b, radix)
        n_points += 1
    return Overlap(view, face_a, face_b, as_int64(n_clip), subject_is_b, n_points, least)


@subroutine
def write_overlap(
    rows: Records,
    count: int,
    meeting: Meeting,
    shapes: Shapes,
    both: Overlap,
    n_points: int,
    merge: float,
    radix: int,
    clipping: Clipping,
) -> int:
    """Write the first ``n_points`` corners of an intersection, with those nearer than ``merge`` (m) merged."""
    if n_points == 0:
        return count
    a, b, view, n_clip = meeting.i, meeting.j, both.frame, both.n_clip
    size = min(shapes.pieces[a].bound, shapes.pieces[b].bound)
    straight = min(merge, STRAIGHT * size)
    n_points = merged(clipping.spare, n_points, merge, size, 2 * radix * radix)
    n_points = straightened(clipping.spare, n_points, straight, LEVEL * size)
    corner_of_a, corner_of_b = 2 * radix * radix, 3 * radix * radix
    if both.subject_is_b:
        name_corners(clipping.spare, n_points, clipping.clip, n_clip, corner_of_a, straight)
        n_subject = project_face(
            shapes, b, both.face_b, True, meeting.x, meeting.y, meeting.z, view, clipping.subject
        )
        name_corners(clipping.spare, n_points, clipping.subject, n_subject, corner_of_b, straight)
    else:
        n_subject = project_face(shapes, a, both.face_a, False, 0.0, 0.0, 0.0, view, clipping.subject)
        name_corners(clipping.spare, n_points, clipping.subject, n_subject, corner_of_a, straight)
        name_corners(clipping.spare, n_points, clipping.clip, n_clip, corner_of_b, straight)
    n_points = thinned(clipping.spare, n_points, TIE * size)
    return write_points(rows, count, meeting, shapes, view, clipping.spare, n_points)


@subroutine
def write_points(
    rows: Records, count: int, meeting: Meeting, shapes: Shapes, view: View, points: Records, n_points: int
) -> int:
    """Write contact points by increasing code."""
    o, last = shapes.centres[meeting.i], -1
    for _ in range(n_points):
        k = -1
        for m in range(n_points):
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
def remove(points: Records, n_points: int, k: int) -> int:
    """Remove a point, keeping the order of the others."""
    for m in range(k, n_points - 1):
        points[m] = points[m + 1]
    return n_points - 1


@subroutine
def merged(points: Records, n_points: int, merge: float, size: float, first_corner: int) -> int:
    """Merge neighbours nearer than ``merge``; returns how many points are left.

    The point with the larger code stays, so a corner rather than a crossing: codes of corners are
    ``first_corner`` and more. Of two crossings the one further from the polygon without it stays. If the
    gaps differ by more than LEVEL the deeper point stays, with the larger code.
    """
    k = 0
    while k < n_points and n_points > 1:
        after = (k + 1) % n_points
        u, v = points[k], points[after]
        if (u.x - v.x) ** 2 + (u.y - v.y) ** 2 <= merge * merge:
            drop = k if u.code < v.code else after
            if abs(u.gap - v.gap) > LEVEL * size:
                drop = k if u.gap > v.gap else after
                u.code = v.code = max(u.code, v.code)
            elif n_points > 3 and max(u.code, v.code) < first_corner:
                off_u = off_line(points[(k + n_points - 1) % n_points], u, v)
                off_v = off_line(u, v, points[(k + 2) % n_points])
                if abs(off_u - off_v) > PLACED * size:
                    drop = k if off_u < off_v else after
            n_points = remove(points, n_points, drop)
            k = max(k - 1, 0)
        else:
            k += 1
    return n_points


@subroutine
def off_line(u: Records, v: Records, w: Records) -> float:
    """Distance of v from the line through u and w (m): twice the area of the triangle over its base."""
    area = (v.x - u.x) * (w.y - u.y) - (v.y - u.y) * (w.x - u.x)
    base = (w.x - u.x) ** 2 + (w.y - u.y) ** 2
    return abs(area) / np.sqrt(base) if base > 0.0 else 0.0


@subroutine
def straightened(points: Records, n_points: int, straight: float, level: float) -> int:
    """Drop points on the line through their neighbours while there are more than three; returns how many are left.

    The distance from that line is twice the area of the triangle over its base.
    """
    k = 0
    while k < n_points and n_points > 3:
        u, v, w = points[(k + n_points - 1) % n_points], points[k], points[(k + 1) % n_points]
        area = (v.x - u.x) * (w.y - u.y) - (v.y - u.y) * (w.x - u.x)
        base = (w.x - u.x) ** 2 + (w.y - u.y) ** 2
        is_deeper = v.gap < min(u.gap, w.gap) - level
        if not is_deeper and area * area <= straight * straight * base:
            n_points = remove(points, n_points, k)
            k = max(k - 2, 0)  # the two before have new neighbours
        else:
            k += 1
    return n_points


@subroutine
def name_corners(
    points: Records, n_points: int, polygon: Records, n_corners: int, first: int, near: float
) -> None:
    """Assign the code of each corner of a polygon, ``first`` + its number, to the point nearest to it.

    Only within the distance ``near`` (m).
    """
    for m in range(n_corners):
        c, best, nearest = polygon[m], near * near, -1
        for k in range(n_points):
            square = (points[k].x - c.x) ** 2 + (points[k].y - c.y) ** 2
            if square <= best:
                best, nearest = square, k
        if nearest >= 0:
            points[nearest].code = first + c.corner


@subroutine
def thinned(points: Records, n_points: int, tie: float) -> int:
    """Drop the points that add the least area until eight are left; returns how many are left.

    Of those with equal area to within ``tie`` (m, times the extent of the points), as in a regular polygon, the
    one with the smallest code is dropped. Where that loses more than ``tie`` of depth, the deepest point
    replaces the nearest that is left.
    """
    if n_points <= MOST_POINTS:
        return n_points
    deepest, across = 0, 0.0
    for k in range(n_points):
        if points[k].gap < points[deepest].gap:
            deepest = k
        across = max(across, abs(points[k].x - points[0].x), abs(points[k].y - points[0].y))
    kept = points[len(points) - 1]  # beyond all points
    points[len(points) - 1] = points[deepest]
    while n_points > MOST_POINTS:
        least, drop = np.inf, -1
        for k in range(n_points):
            u, v, w = points[(k + n_points - 1) % n_points], points[k], points[(k + 1) % n_points]
            area = (v.x - u.x) * (w.y - u.y) - (v.y - u.y) * (w.x - u.x)
            if area < least - tie * across or (area < least + tie * across and v.code < points[drop].code):
                least, drop = area, k
        n_points = remove(points, n_points, drop)
    lowest, nearest, best = np.inf, 0, np.inf
    for k in range(n_points):
        lowest = min(lowest, points[k].gap)
        square = (points[k].x - kept.x) ** 2 + (points[k].y - kept.y) ** 2
        if square < best:
            best, nearest = square, k
    if lowest > kept.gap + tie:
        points[nearest] = kept
    return n_points
