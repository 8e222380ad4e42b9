"""Exact normals of two cylinders, or of a cylinder and a capsule.

*Sides.* Let the axes be nearest at two feet, d apart along n, each foot on a cylinder at least a radius away from its
ends. Then n is across the axes of the cylinders, and s(n) = d − r_a − r_b. Both solids contain the ball about their
foot, so no direction separates them more: s(m) ≤ d m·n − r_a − r_b ≤ s(n). That is the contact, or, for axes that
are parallel, the two where their overlap ends (:mod:`segments`).

*Rims.* Elsewhere an approximate normal n is polished by Newton steps. Let p(n) be the point of a solid furthest along n, and
w = p_B(−n) − p_A(n); for smooth p the separation s = n·w is largest where w is along n. With q across the axis and
n, p changes by (r/ρ) q q·δn when n does by δn, ρ the sine of the angle between n and the axis, so Newton's step solves

    (s 1 + Σ (r/ρ) q qᵀ) δn = w − s n        across n.

A solid that touches with its side keeps n across its axis; if both do, n is across both axes.
"""

from __future__ import annotations

import numpy as np

from clapas.collision.contact_table import Meeting
from clapas.collision.narrow.axes import Axis
from clapas.collision.narrow.seams import reach_along
from clapas.collision.narrow.segments import (
    Segments,
    ball_contact,
    gap_at,
    nearest,
    overlap_ends,
    segment_points,
)
from clapas.collision.records import CAPSULE, CYLINDER, Records, Shapes
from clapas.compiled import subroutine

PARALLEL = 1e-6  # square of the sine under which axes are taken to be parallel
ON_SIDE = 3e-4  # cosine of the angle between normal and axis, as refined, under which a side touches
ON_CAP = 1e-6  # sine of that angle under which a cap touches
NEARBY = 0.05  # largest distance of a polished normal from the refined one
NEWTON = 8


@subroutine
def are_round(shapes: Shapes, meeting: Meeting) -> bool:
    """Whether each of the two is a cylinder or a capsule."""
    one, two = shapes.pieces[meeting.i].kind, shapes.pieces[meeting.j].kind
    return one in (CYLINDER, CAPSULE) and two in (CYLINDER, CAPSULE)


@subroutine
def axis_of(shapes: Shapes, c: int) -> tuple[float, float, float, float]:
    """From the centre to the upper end of the axis of a cylinder or a capsule, and the radius (m)."""
    piece = shapes.pieces[c]
    if piece.kind == CYLINDER:
        a = shapes.faces[piece.face + 1]
        return piece.half * a.x, piece.half * a.y, piece.half * a.z, piece.radius
    v = shapes.vertices[piece.vertex + 1]
    return v.x, v.y, v.z, piece.rounding


@subroutine
def touch_sides(rows: Records, count: int, meeting: Meeting, shapes: Shapes) -> tuple[bool, int]:
    """Contacts of two that touch with their sides; False if that is not certain."""
    ax, ay, az, r_a = axis_of(shapes, meeting.i)
    bx, by, bz, r_b = axis_of(shapes, meeting.j)
    tx, ty, tz = meeting.x, meeting.y, meeting.z
    both = Segments(
        -ax, -ay, -az, 2.0 * ax, 2.0 * ay, 2.0 * az,
        tx - bx, ty - by, tz - bz, 2.0 * bx, 2.0 * by, 2.0 * bz,
        r_a, r_b,
    )  # fmt: skip
    half_a, half_b = np.sqrt(ax * ax + ay * ay + az * az), np.sqrt(bx * bx + by * by + bz * bz)
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    along = x * x + y * y + z * z <= PARALLEL * (half_a * half_b) ** 2
    s, t = nearest(both)
    if along:
        s_low, t_low, s_high, t_high = overlap_ends(both)
        if s_low < s_high:
            s, t = 0.5 * (s_low + s_high), 0.5 * (t_low + t_high)
    gap = gap_at(both, s, t)
    if (
        gap <= -min(r_a, r_b)
        or not is_inside(shapes, meeting.i, s, half_a, r_a)
        or not is_inside(shapes, meeting.j, t, half_b, r_b)
    ):
        return False, count
    face = shapes.pieces[meeting.i].face
    if along:
        return True, segment_points(rows, count, meeting, 0, both, shapes, face)
    if gap > meeting.distance:
        return True, count
    return True, ball_contact(rows, count, meeting, 0, both, s, t, shapes, face)


@subroutine
def is_inside(shapes: Shapes, c: int, s: float, half: float, r: float) -> bool:
    """Whether the solid contains the ball of radius r about the point s of its axis; a capsule always does."""
    return shapes.pieces[c].kind == CAPSULE or min(s, 1.0 - s) * 2.0 * half >= r


@subroutine
def polished(shapes: Shapes, meeting: Meeting, axis: Axis) -> Axis:
    """The direction of largest separation near an approximate one; unchanged if Newton steps fail."""
    ax, ay, az, r_a = axis_of(shapes, meeting.i)
    bx, by, bz, r_b = axis_of(shapes, meeting.j)
    half_a, half_b = np.sqrt(ax * ax + ay * ay + az * az), np.sqrt(bx * bx + by * by + bz * bz)
    if half_a <= 0.0 or half_b <= 0.0:
        return axis
    ax, ay, az, bx, by, bz = ax / half_a, ay / half_a, az / half_a, bx / half_b, by / half_b, bz / half_b
    if shapes.pieces[meeting.i].kind == CAPSULE:
        r_a = 0.0  # an end of its axis does not move as n turns
    if shapes.pieces[meeting.j].kind == CAPSULE:
        r_b = 0.0
    nx, ny, nz = axis.x, axis.y, axis.z
    on_a = abs(nx * ax + ny * ay + nz * az) <= ON_SIDE
    on_b = abs(nx * bx + ny * by + nz * bz) <= ON_SIDE
    if on_a and on_b:
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        square = x * x + y * y + z * z
        if square > PARALLEL:
            scale = 1.0 / np.sqrt(square)
            if x * nx + y * ny + z * nz < 0.0:
                scale = -scale
            return best_of(shapes, meeting, axis, scale * x, scale * y, scale * z)
        on_b = False
    if on_a or on_b:
        cx, cy, cz = (ax, ay, az) if on_a else (bx, by, bz)
        along = nx * cx + ny * cy + nz * cz
        nx, ny, nz = unit(nx - along * cx, ny - along * cy, nz - along * cz)
    for _ in range(NEWTON):
        # Points furthest along n, and the directions q in which they move with n.
        along = nx * ax + ny * ay + nz * az
        ux, uy, uz = nx - along * ax, ny - along * ay, nz - along * az
        rho_a = np.sqrt(ux * ux + uy * uy + uz * uz)
        if rho_a <= ON_CAP:
            return best_of(shapes, meeting, axis, axis.x, axis.y, axis.z)
        up = 0.0 if on_a else (half_a if along > 0.0 else -half_a)
        px, py, pz = up * ax + r_a * ux / rho_a, up * ay + r_a * uy / rho_a, up * az + r_a * uz / rho_a
        qx, qy, qz = unit(ay * nz - az * ny, az * nx - ax * nz, ax * ny - ay * nx)
        along = -(nx * bx + ny * by + nz * bz)
        ux, uy, uz = -nx - along * bx, -ny - along * by, -nz - along * bz
        rho_b = np.sqrt(ux * ux + uy * uy + uz * uz)
        if rho_b <= ON_CAP:
            return best_of(shapes, meeting, axis, axis.x, axis.y, axis.z)
        up = 0.0 if on_b else (half_b if along > 0.0 else -half_b)
        wx = meeting.x + up * bx + r_b * ux / rho_b - px
        wy = meeting.y + up * by + r_b * uy / rho_b - py
        wz = meeting.z + up * bz + r_b * uz / rho_b - pz
        kx, ky, kz = unit(by * nz - bz * ny, bz * nx - bx * nz, bx * ny - by * nx)
        s, k_a, k_b = wx * nx + wy * ny + wz * nz, r_a / rho_a, r_b / rho_b
        # e and f across n; a side keeps n on the circle across its axis.
        if on_a or on_b:
            ex, ey, ez = (qx, qy, qz) if on_a else (kx, ky, kz)
            e_a, e_b = ex * qx + ey * qy + ez * qz, ex * kx + ey * ky + ez * kz
            bend = s + k_a * e_a * e_a + k_b * e_b * e_b
            if bend <= 0.0:
                return axis
            step = (ex * wx + ey * wy + ez * wz) / bend
            dx, dy, dz = step * ex, step * ey, step * ez
        else:
            ex, ey, ez = qx, qy, qz
            fx, fy, fz = ny * ez - nz * ey, nz * ex - nx * ez, nx * ey - ny * ex
            e_b, f_b = ex * kx + ey * ky + ez * kz, fx * kx + fy * ky + fz * kz
            ee, ef, ff = s + k_a + k_b * e_b * e_b, k_b * e_b * f_b, s + k_b * f_b * f_b
            det = ee * ff - ef * ef
            if ee <= 0.0 or det <= 0.0:
                return axis
            g, h = ex * wx + ey * wy + ez * wz, fx * wx + fy * wy + fz * wz
            c, d = (ff * g - ef * h) / det, (ee * h - ef * g) / det
            dx, dy, dz = c * ex + d * fx, c * ey + d * fy, c * ez + d * fz
        nx, ny, nz = unit(nx + dx, ny + dy, nz + dz)
        if dx * dx + dy * dy + dz * dz <= 1e-30:
            break
    return best_of(shapes, meeting, axis, nx, ny, nz)


@subroutine
def unit(x: float, y: float, z: float) -> tuple[float, float, float]:
    """A vector divided by its length."""
    scale = 1.0 / np.sqrt(x * x + y * y + z * z)
    return scale * x, scale * y, scale * z


@subroutine
def separation(shapes: Shapes, meeting: Meeting, x: float, y: float, z: float) -> float:
    """Separation of the two along a direction (m)."""
    s = meeting.x * x + meeting.y * y + meeting.z * z
    return s - reach_along(shapes, meeting.i, x, y, z) - reach_along(shapes, meeting.j, -x, -y, -z)


@subroutine
def best_of(shapes: Shapes, meeting: Meeting, axis: Axis, x: float, y: float, z: float) -> Axis:
    """The axis, or the direction (x, y, z) if it is near and separates as much to rounding."""
    s, s_axis = separation(shapes, meeting, x, y, z), separation(shapes, meeting, axis.x, axis.y, axis.z)
    rounding = 1e-12 * (shapes.pieces[meeting.i].bound + shapes.pieces[meeting.j].bound)
    is_near = (axis.x - x) ** 2 + (axis.y - y) ** 2 + (axis.z - z) ** 2 <= NEARBY * NEARBY
    if is_near and s >= s_axis - rounding:
        return Axis(s, x, y, z, axis.kind, axis.i, axis.j)
    return Axis(s_axis, axis.x, axis.y, axis.z, axis.kind, axis.i, axis.j)
