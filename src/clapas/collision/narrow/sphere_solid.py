"""Contact of a ball and a solid (box, polyhedron, triangle, polygon, capsule, cylinder): the nearest point.

With flat faces: if the centre is inside, it is on the nearest face. If outside and over the face it is highest
above, the foot on that face is the nearest point: the distance to a convex set is the largest height over its
faces when the foot is in that face. Else the nearest point is on an edge of a face seen from the centre. No
iteration, and the only rounding is that of the last square root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting, write
from clapas.collision.meshes import is_ghost
from clapas.collision.records import SPHERE, Records, Shapes
from clapas.collision.topology import PRISM_SIDES
from clapas.compiled import subroutine

NEAR = 1e-9  # of the bound: nearer to the surface, the normal is that of the face


class Foot(NamedTuple):
    """Nearest point of a solid to a ball: signed distance of the centre, direction to it, and feature.

    The feature is that of a triangle: 0 for the face, 1 + k for corner k, 4 + k for side k.
    """

    distance: float
    x: float
    y: float
    z: float
    feature: int


class SphereOnCapsule(NamedTuple):
    """Method for a sphere and a capsule."""


class SphereOnCylinder(NamedTuple):
    """Method for a sphere and a cylinder."""


class SphereOnFaces(NamedTuple):
    """Method for a sphere and a closed solid with flat faces, or a polygon."""


class SphereOnTriangle(NamedTuple):
    """Method for a sphere and a triangle of a mesh."""


class Ball(NamedTuple):
    """A ball relative to a solid: the solid's collider, the ball's position relative to it and radius (m)."""

    c: int
    x: float
    y: float
    z: float
    r: float


@subroutine
def ball_of(meeting: Meeting, shapes: Shapes) -> Ball:
    """The sphere of a pair, relative to the other collider."""
    if shapes.pieces[meeting.i].kind == SPHERE:
        r = shapes.pieces[meeting.i].rounding
        return Ball(meeting.j, -meeting.x, -meeting.y, -meeting.z, r)
    return Ball(meeting.i, meeting.x, meeting.y, meeting.z, shapes.pieces[meeting.j].rounding)


@subroutine
def write_foot(rows: Records, count: int, meeting: Meeting, shapes: Shapes, ball: Ball, foot: Foot) -> int:
    """Write the contact of a ball at its foot if it is near enough, with code 0."""
    gap = foot.distance - ball.r
    if gap > meeting.distance:
        return count
    down, o = ball.r + 0.5 * gap, shapes.centres[meeting.i]
    x, y, z = o.x - down * foot.x, o.y - down * foot.y, o.z - down * foot.z
    sign = -1.0  # the normal is from i to j, the foot's from the solid to the ball
    if meeting.i == ball.c:  # the point is near the first body: from the solid to the image of the ball
        x, y, z, sign = x + ball.x, y + ball.y, z + ball.z, 1.0
    return write(rows, count, meeting, 0, x, y, z, sign * foot.x, sign * foot.y, sign * foot.z, gap)


@subroutine
def touch_sphere_capsule(
    method: SphereOnCapsule, rows: Records, count: int, meeting: Meeting, shapes: Shapes
) -> int:
    """The contact of a sphere with a capsule."""
    ball = ball_of(meeting, shapes)
    foot = foot_on_segment(shapes, ball.c, ball.x, ball.y, ball.z)
    return write_foot(rows, count, meeting, shapes, ball, foot)


@subroutine
def touch_sphere_cylinder(
    method: SphereOnCylinder, rows: Records, count: int, meeting: Meeting, shapes: Shapes
) -> int:
    """The contact of a sphere with a cylinder."""
    ball = ball_of(meeting, shapes)
    foot = foot_on_cylinder(shapes, ball.c, ball.x, ball.y, ball.z)
    return write_foot(rows, count, meeting, shapes, ball, foot)


@subroutine
def touch_sphere_faces(
    method: SphereOnFaces, rows: Records, count: int, meeting: Meeting, shapes: Shapes
) -> int:
    """The contact of a sphere with a solid that has flat faces."""
    ball = ball_of(meeting, shapes)
    foot = foot_on_faces(shapes, ball.c, ball.x, ball.y, ball.z, ball.r + meeting.distance)
    return write_foot(rows, count, meeting, shapes, ball, foot)


@subroutine
def touch_sphere_triangle(
    method: SphereOnTriangle, rows: Records, count: int, meeting: Meeting, shapes: Shapes
) -> int:
    """The contact of a sphere with a triangle, unless a neighbour in the mesh has it."""
    ball = ball_of(meeting, shapes)
    foot = foot_on_faces(shapes, ball.c, ball.x, ball.y, ball.z, ball.r + meeting.distance)
    if foot.distance - ball.r > meeting.distance:
        return count
    if is_ghost(shapes, ball.c, foot.feature, foot.x, foot.y, foot.z):
        return count
    return write_foot(rows, count, meeting, shapes, ball, foot)


@subroutine
def foot_on_segment(shapes: Shapes, c: int, x: float, y: float, z: float) -> Foot:
    """Foot on a capsule of a point relative to its centre; for points on the axis, the direction is fixed to the body."""
    v, r = shapes.vertices[shapes.pieces[c].vertex + 1], shapes.pieces[c].rounding
    square = v.x * v.x + v.y * v.y + v.z * v.z
    s = 0.0
    if square > 0.0:
        s = min(max((x * v.x + y * v.y + z * v.z) / square, -1.0), 1.0)
    nx, ny, nz = x - s * v.x, y - s * v.y, z - s * v.z
    length = np.sqrt(nx * nx + ny * ny + nz * nz)
    if length > 0.0:
        return Foot(length - r, nx / length, ny / length, nz / length, 0)
    n = shapes.faces[shapes.pieces[c].face]
    return Foot(-r, n.x, n.y, n.z, 0)


@subroutine
def foot_on_cylinder(shapes: Shapes, c: int, x: float, y: float, z: float) -> Foot:
    """Foot on a cylinder of a point relative to its centre."""
    piece = shapes.pieces[c]
    r, half, a = piece.radius, piece.half, shapes.faces[piece.face + 1]
    along = x * a.x + y * a.y + z * a.z
    ux, uy, uz = x - along * a.x, y - along * a.y, z - along * a.z
    across = np.sqrt(ux * ux + uy * uy + uz * uz)
    if across > 0.0:
        ux, uy, uz = ux / across, uy / across, uz / across
    else:
        v = shapes.vertices[piece.vertex + PRISM_SIDES]
        ux, uy, uz = (v.x - half * a.x) / r, (v.y - half * a.y) / r, (v.z - half * a.z) / r
    up = 1.0 if along >= 0.0 else -1.0
    out, above = across - r, abs(along) - half
    if out <= 0.0 or above <= 0.0:
        if out > above:
            return Foot(out, ux, uy, uz, 0)
        return Foot(above, up * a.x, up * a.y, up * a.z, 0)
    length = np.sqrt(out * out + above * above)
    e, f = out / length, up * above / length
    return Foot(length, e * ux + f * a.x, e * uy + f * a.y, e * uz + f * a.z, 0)


@subroutine
def foot_on_faces(shapes: Shapes, c: int, x: float, y: float, z: float, limit: float) -> Foot:
    """Foot on a solid with flat faces of a point relative to its centre; only a lower bound beyond the limit."""
    piece = shapes.pieces[c]
    top, best = -np.inf, piece.face
    for k in range(piece.face, piece.face + piece.n_faces):
        n = shapes.faces[k]
        h = n.x * x + n.y * y + n.z * z - n.height
        if h > top:
            top, best = h, k
    n = shapes.faces[best]
    if top > limit or top <= 0.0 or is_over_face(shapes, piece.vertex, best, x, y, z):
        return Foot(top, n.x, n.y, n.z, 0)
    least, fx, fy, fz, feature = np.inf, 0.0, 0.0, 0.0, 0
    for k in range(piece.face, piece.face + piece.n_faces):
        m = shapes.faces[k]
        if m.x * x + m.y * y + m.z * z <= m.height:
            continue
        for side in range(m.n_sides):
            corner, after = shapes.sides[m.side + side], shapes.sides[m.side + (side + 1) % m.n_sides].corner
            u, v = shapes.vertices[piece.vertex + corner.corner], shapes.vertices[piece.vertex + after]
            ex, ey, ez = v.x - u.x, v.y - u.y, v.z - u.z
            dx, dy, dz = x - u.x, y - u.y, z - u.z
            s = min(max((ex * dx + ey * dy + ez * dz) / (ex * ex + ey * ey + ez * ez), 0.0), 1.0)
            dx, dy, dz = dx - s * ex, dy - s * ey, dz - s * ez
            square = dx * dx + dy * dy + dz * dz
            if square < least:
                least, fx, fy, fz = square, dx, dy, dz
                feature = 4 + corner.edge // 2  # side k of a triangle is its edges 2k and 2k + 1
                if s == 0.0:
                    feature = 1 + corner.corner
                elif s == 1.0:
                    feature = 1 + after
    length = np.sqrt(least)
    if length <= NEAR * piece.bound:
        return Foot(length, n.x, n.y, n.z, feature)
    return Foot(length, fx / length, fy / length, fz / length, feature)


@subroutine
def is_over_face(shapes: Shapes, vertex: int, face: int, x: float, y: float, z: float) -> bool:
    """Whether a point is within the prism over a face; False for a side of a polygon in the plane."""
    n = shapes.faces[face]
    if n.n_sides < 3:
        return False
    for side in range(n.n_sides):
        u = shapes.vertices[vertex + shapes.sides[n.side + side].corner]
        v = shapes.vertices[vertex + shapes.sides[n.side + (side + 1) % n.n_sides].corner]
        ex, ey, ez = v.x - u.x, v.y - u.y, v.z - u.z
        sx, sy, sz = ey * n.z - ez * n.y, ez * n.x - ex * n.z, ex * n.y - ey * n.x
        if sx * (x - u.x) + sy * (y - u.y) + sz * (z - u.z) > 0.0:
            return False
    return True
