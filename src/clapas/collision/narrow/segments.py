"""Contacts of two capsules: segments with a radius.

Besides the nearest points, capsules that lie along each other touch at the ends of their overlap: at an end of
one of them and the point of the other nearest to it. Each is the exact contact of a
ball with a segment, so capsules that cross keep one point and capsules side by side have two; the nearest
point is kept too if it is clearly deeper than both.

Codes: 0 nearest, 1 and 2 the ends of the overlap along the axis of the first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting, write
from clapas.collision.records import Records, Shapes, as_int64
from clapas.compiled import subroutine

CLEARLY = 1e-6  # of the radii: how much deeper than the ends the nearest point must be
PARALLEL = 1e-12  # square of the sine


class Segments(NamedTuple):
    """Two segments P + s A and Q + t B, 0 ≤ s, t ≤ 1, and their radii."""

    px: float
    py: float
    pz: float
    ax: float
    ay: float
    az: float
    qx: float
    qy: float
    qz: float
    bx: float
    by: float
    bz: float
    r_a: float
    r_b: float


class Capsules(NamedTuple):
    """Method for two capsules."""


@subroutine
def segments_between(shapes: Shapes, meeting: Meeting, p: int, p_end: int, q: int, q_end: int) -> Segments:
    """The segments between two corners of each, given by rows; the second as placed relative to the first."""
    P, A, Q, B = shapes.vertices[p], shapes.vertices[p_end], shapes.vertices[q], shapes.vertices[q_end]
    r_a, r_b = shapes.pieces[meeting.i].rounding, shapes.pieces[meeting.j].rounding
    return Segments(
        P.x, P.y, P.z, A.x - P.x, A.y - P.y, A.z - P.z,
        Q.x + meeting.x, Q.y + meeting.y, Q.z + meeting.z, B.x - Q.x, B.y - Q.y, B.z - Q.z,
        r_a, r_b,
    )  # fmt: skip


@subroutine
def touch_capsules(method: Capsules, rows: Records, count: int, meeting: Meeting, shapes: Shapes) -> int:
    """Contacts of two capsules."""
    i, j = as_int64(shapes.pieces[meeting.i].vertex), as_int64(shapes.pieces[meeting.j].vertex)
    both = segments_between(shapes, meeting, i, i + 1, j, j + 1)
    return segment_points(rows, count, meeting, 0, both, shapes, shapes.pieces[meeting.i].face)


@subroutine
def segment_points(
    rows: Records,
    count: int,
    meeting: Meeting,
    code: int,
    both: Segments,
    shapes: Shapes,
    face: int,
) -> int:
    """Contacts of two segments with their radii, relative to the centre of the first collider.

    The normal of ``face`` is used when the segments intersect and are parallel.
    """
    s, t = nearest(both)
    least, distance = gap_at(both, s, t), meeting.distance
    if least > distance:
        return count
    s_low, t_low, s_high, t_high = overlap_ends(both)
    low = high = np.inf
    if s_low < s_high:
        low, high = gap_at(both, s_low, t_low), gap_at(both, s_high, t_high)
    if min(low, high) > distance or least < min(low, high) - CLEARLY * (both.r_a + both.r_b):
        count = ball_contact(rows, count, meeting, code, both, s, t, shapes, face)
    if low <= distance:
        count = ball_contact(rows, count, meeting, code + 1, both, s_low, t_low, shapes, face)
    if high <= distance:
        count = ball_contact(rows, count, meeting, code + 2, both, s_high, t_high, shapes, face)
    return count


@subroutine
def clamp(x: float) -> float:
    """Nearest point of [0, 1]."""
    return min(max(x, 0.0), 1.0)


@subroutine
def nearest(both: Segments) -> tuple[float, float]:
    """Parameters s, t of the nearest points."""
    ax, ay, az, bx, by, bz = both.ax, both.ay, both.az, both.bx, both.by, both.bz
    rx, ry, rz = both.px - both.qx, both.py - both.qy, both.pz - both.qz
    aa, bb, ab = ax * ax + ay * ay + az * az, bx * bx + by * by + bz * bz, ax * bx + ay * by + az * bz
    ar, br = ax * rx + ay * ry + az * rz, bx * rx + by * ry + bz * rz
    if aa == 0.0 and bb == 0.0:
        return 0.0, 0.0
    if aa == 0.0:
        return 0.0, clamp(br / bb)
    if bb == 0.0:
        return clamp(-ar / aa), 0.0
    det = aa * bb - ab * ab
    s = clamp((ab * br - ar * bb) / det) if det > PARALLEL * aa * bb else 0.0
    t = (ab * s + br) / bb
    if t < 0.0:
        return clamp(-ar / aa), 0.0
    if t > 1.0:
        return clamp((ab - ar) / aa), 1.0
    return s, t


@subroutine
def overlap_ends(both: Segments) -> tuple[float, float, float, float]:
    """Ends of the overlap of two segments along the axis of the first: s, t at both.

    An end is an end of one segment and the nearest point of the other. Empty if s_low ≥ s_high.
    """
    ax, ay, az, bx, by, bz = both.ax, both.ay, both.az, both.bx, both.by, both.bz
    aa, bb, ab = ax * ax + ay * ay + az * az, bx * bx + by * by + bz * bz, ax * bx + ay * by + az * bz
    if aa == 0.0 or bb == 0.0:
        return 1.0, 0.0, 0.0, 0.0
    rx, ry, rz = both.px - both.qx, both.py - both.qy, both.pz - both.qz
    start = -(ax * rx + ay * ry + az * rz) / aa
    stop = start + ab / aa
    t_start, t_stop = 0.0, 1.0
    if start > stop:
        start, stop, t_start, t_stop = stop, start, 1.0, 0.0
    if start >= 1.0 or stop <= 0.0:
        return 1.0, 0.0, 0.0, 0.0
    br = bx * rx + by * ry + bz * rz
    if start <= 0.0:
        start, t_start = 0.0, clamp(br / bb)
    if stop >= 1.0:
        stop, t_stop = 1.0, clamp((br + ab) / bb)
    return start, t_start, stop, t_stop


@subroutine
def gap_at(both: Segments, s: float, t: float) -> float:
    """Gap between the balls at P + s A and Q + t B (m)."""
    x = both.qx + t * both.bx - both.px - s * both.ax
    y = both.qy + t * both.by - both.py - s * both.ay
    z = both.qz + t * both.bz - both.pz - s * both.az
    return np.sqrt(x * x + y * y + z * z) - both.r_a - both.r_b


@subroutine
def ball_contact(
    rows: Records,
    count: int,
    meeting: Meeting,
    code: int,
    both: Segments,
    s: float,
    t: float,
    shapes: Shapes,
    face: int,
) -> int:
    """Write the contact of the balls at P + s A and Q + t B."""
    x, y, z = both.px + s * both.ax, both.py + s * both.ay, both.pz + s * both.az
    nx, ny, nz = both.qx + t * both.bx - x, both.qy + t * both.by - y, both.qz + t * both.bz - z
    length = np.sqrt(nx * nx + ny * ny + nz * nz)
    gap = length - both.r_a - both.r_b
    if length <= 0.0:  # the axes intersect: normal to both
        nx, ny = both.ay * both.bz - both.az * both.by, both.az * both.bx - both.ax * both.bz
        nz = both.ax * both.by - both.ay * both.bx
        length = np.sqrt(nx * nx + ny * ny + nz * nz)
        aa, bb = both.ax**2 + both.ay**2 + both.az**2, both.bx**2 + both.by**2 + both.bz**2
        if length <= 1e-9 * np.sqrt(aa * bb):
            n = shapes.faces[face]
            nx, ny, nz, length = n.x, n.y, n.z, 1.0
    nx, ny, nz = nx / length, ny / length, nz / length
    along, o = both.r_a + 0.5 * gap, shapes.centres[meeting.i]
    x, y, z = o.x + x + along * nx, o.y + y + along * ny, o.z + z + along * nz
    return write(rows, count, meeting, code, x, y, z, nx, ny, nz, gap)
