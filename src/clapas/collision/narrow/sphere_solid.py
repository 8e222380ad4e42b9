"""A ball and a solid (box, polyhedron, triangle, polygon, capsule, cylinder): the nearest point of the solid.

With flat faces: if the centre is inside, the face it is nearest to. If outside and over the face it is highest
above, the foot on that face is the nearest point: the distance to a convex set is the largest height over its
faces when the foot is in that face. Else the nearest point is on an edge of a face seen from the centre. No
iteration, and the only rounding is that of the last square root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.lean import lean_kernel
from clapas.collision.meshes import is_ghost
from clapas.collision.records import CAPSULE, CYLINDER, SPHERE, TRIANGLE, Records, Shapes
from clapas.collision.rows import Pairs, between, write
from clapas.collision.topology import PRISM_SIDES
from clapas.compiled import subroutine
from clapas.typing import Indices

NEAR = 1e-9  # of the bound: nearer to the surface, the normal is that of the face


class Foot(NamedTuple):
    """Where a ball touches a solid: signed distance of the centre, direction to it, and which part.

    The part is told for triangles: 0 for the face, 1 + k for corner k, 4 + k for side k.
    """

    distance: float
    x: float
    y: float
    z: float
    feature: int


@lean_kernel
def touch_sphere_solid(which: Indices, pairs: Pairs, shapes: Shapes, distance: float, rows: Records) -> int:
    """Contacts of spheres with solids: one point each, code 0."""
    count = 0
    for k in range(len(which)):
        p = which[k]
        i = pairs.listed[p].i
        ball, c = i, pairs.listed[p].j
        x, y, z = between(pairs, shapes, p)
        sign = -1.0  # the normal is from i to j, the foot's from the solid to the ball
        if shapes.pieces[ball].kind == SPHERE:
            x, y, z = -x, -y, -z
        else:
            ball, c, sign = c, ball, 1.0
        r, kind = shapes.pieces[ball].rounding, shapes.pieces[c].kind
        limit = shapes.pieces[c].bound + r + distance
        if limit < 0.0 or x * x + y * y + z * z > limit * limit:
            continue
        if kind == CAPSULE:
            foot = foot_on_segment(shapes, c, x, y, z)
        elif kind == CYLINDER:
            foot = foot_on_cylinder(shapes, c, x, y, z)
        else:
            foot = foot_on_faces(shapes, c, x, y, z, r + distance)
        gap = foot.distance - r
        if gap > distance:
            continue
        if kind == TRIANGLE and is_ghost(shapes, c, foot.feature, foot.x, foot.y, foot.z):
            continue
        down, o = r + 0.5 * gap, shapes.centres[i]
        px, py, pz = o.x - down * foot.x, o.y - down * foot.y, o.z - down * foot.z
        if i == c:  # the point is near the first body: from the solid to the image of the ball
            px, py, pz = px + x, py + y, pz + z
        count = write(rows, count, p, 0, px, py, pz, sign * foot.x, sign * foot.y, sign * foot.z, gap)
    return count


@subroutine
def foot_on_segment(shapes: Shapes, c: int, x: float, y: float, z: float) -> Foot:
    """From a capsule, relative to its centre; on its axis, a direction across it fixed to the body."""
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
    """From a cylinder, relative to its centre."""
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
    """From a solid with flat faces, relative to its centre. Stops early beyond the limit."""
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
    """Is a point within the prism over a face? Never, over a side of a polygon of the plane."""
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
