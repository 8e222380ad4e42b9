"""Contacts near shared edges of a mesh, corrected by the neighbouring triangles.

A single triangle does not show whether the surface bends down beyond its side or continues flat. Four rules give
a mesh the contacts of the solid that it bounds:

* *One direction over a ridge.* Let T be behind the plane of a triangle T' that it shares a corner or a side with, and let the
  convex body B come from the front of T', with normal n'. B is no deeper than −s(n') under that plane, s(n') = min_B n'·x − max_T' n'·x,
  so it overlaps T only so near to what the two share. If B is deeper along the axis n that is best for T, s(n) < s(n'), the contact
  is that of T'. n may point to either side of T: where the faces of B are tilted towards T', no axis across the ridge is
  allowed, and the best of T alone is its own normal, even the inner one if the centre of B is behind T.
* *One direction at a tip.* At a corner v where all the triangles around are below, B may be separated along every
  direction of the normal cone of v. The faces of this cone are normal to the ridges from v, and T has only two of them. If B is less
  deep along an axis across one of the others and an edge of B, this is the axis for T too.
* *One face along a direction.* Where T is highest along n at a corner or a side only, so are its neighbours there. The
  one most aligned with n has the points, as it would among the faces of a solid.
* *No points on flat seams.* Where the surface continues flat beyond a side, the intersection of T and a face of B
  continues in the neighbour: points on that side are interior, and left out, before near points are
  merged: a corner of the contact must not go with them. So that the neighbour has the rest, triangles
  with a flat seam between them push along their own normals only, and each keeps its contact.

So a box has the same contacts on a mesh as on a plane, or as on the box whose surface the mesh is.
"""

from __future__ import annotations

import numpy as np

from clapas.collision.contact_table import Meeting
from clapas.collision.meshes import RISE, highest_of, is_flat_around, is_flat_beyond, rises, start_of
from clapas.collision.narrow.axes import EDGES, POINTS, Axis
from clapas.collision.narrow.manifold import View
from clapas.collision.narrow.rims import crest
from clapas.collision.records import CYLINDER, TRIANGLE, Records, Shapes, as_int64
from clapas.compiled import subroutine

TIE = 1e-9  # of the size: directions as good as each other
# Sine below which a bend is no ridge. The depth over it may be longer than a triangle, so that the neighbour has no part in the
# contact; and nothing is wrong with that of the triangle: its points are over it, its normal differs by less than this.
BEND = 1e-3
LOOK = 1e-9  # cosine by which a face is more aligned with a direction than another
UPRIGHT = 1e-3  # square of the sine between an axis and a direction: below it, by the cross product
SKEW = 1e-6  # sine between edges that are not parallel
SAME = 1e-6  # of the length: ridges that differ by less are the same
AT_CORNER = 1e-7  # of the size: a crossing this near the end of an edge is that end


@subroutine
def reach_along(shapes: Shapes, c: int, x: float, y: float, z: float) -> float:
    """Support function of a collider: its extent from the centre along a unit vector (m)."""
    piece = shapes.pieces[c]
    if piece.kind == CYLINDER:
        a = shapes.faces[piece.face + 1]
        along = x * a.x + y * a.y + z * a.z
        square = max(0.0, 1.0 - along * along)
        if square < UPRIGHT:
            # 1 − cos² has no digits left where the axis is along n: its root is wrong by 10⁻⁸, more than a tie.
            u, v, w = y * a.z - z * a.y, z * a.x - x * a.z, x * a.y - y * a.x
            square = u * u + v * v + w * w
        return piece.half * abs(along) + piece.radius * np.sqrt(square)
    far = -np.inf
    for row in range(piece.vertex, piece.vertex + piece.n_vertices):
        v = shapes.vertices[row]
        far = max(far, v.x * x + v.y * y + v.z * z)
    return far + piece.rounding


@subroutine
def belongs_to_neighbour(shapes: Shapes, meeting: Meeting, axis: Axis, is_first: bool) -> bool:
    """Whether the contact of a triangle with a body along an axis belongs to a neighbour over a ridge.

    ``is_first`` says that the triangle is the first of the two. False for anything but a triangle.
    """
    c, other, sign = (meeting.i, meeting.j, 1.0) if is_first else (meeting.j, meeting.i, -1.0)
    if shapes.pieces[c].kind != TRIANGLE:
        return False
    nx, ny, nz = sign * axis.x, sign * axis.y, sign * axis.z
    tie = TIE * min(shapes.pieces[c].bound, shapes.pieces[other].bound)
    highest = highest_of(shapes, c, nx, ny, nz)
    # In a tie, an axis along the normal of the triangle stays, one across a corner or a side is left to the neighbour.
    to_beat = axis.s + tie if highest == 7 else axis.s - tie
    for k in range(3):
        if is_better_beyond(shapes, meeting, is_first, k, to_beat):
            return True
    if highest == 7 or axis.kind == POINTS:
        return False
    seam = shapes.seams[shapes.pieces[c].vertex + start_of(highest)]
    first, count = seam.corner, seam.n_corners
    if highest == 3 or highest == 5 or highest == 6:
        first, count = seam.side, seam.n_sides
    return is_neighbour_more_aligned(shapes, c, first, count, nx, ny, nz)


@subroutine
def is_better_beyond(shapes: Shapes, meeting: Meeting, is_first: bool, k: int, to_beat: float) -> bool:
    """Whether the separation along the normal of a neighbour at corner k of the triangle exceeds ``to_beat``.

    Only neighbours across a ridge count, with the triangle behind them and the centre of the body in front.
    """
    c, other, sign = (meeting.i, meeting.j, 1.0) if is_first else (meeting.j, meeting.i, -1.0)
    first = shapes.pieces[c].vertex
    seam, v, bound = shapes.seams[first + k], shapes.vertices[first + k], shapes.pieces[c].bound
    u, w = shapes.vertices[first + (k + 1) % 3], shapes.vertices[first + (k + 2) % 3]
    n = shapes.faces[shapes.pieces[c].face]
    bx, by, bz = sign * meeting.x - v.x, sign * meeting.y - v.y, sign * meeting.z - v.z
    # Each triangle around the corner is there twice, for its corner after this one and for the one before.
    for row in range(seam.corner, seam.corner + seam.n_corners // 2):
        m = shapes.faces[shapes.pieces[shapes.neighbours[row].piece].face]
        if abs(m.x * n.x + m.y * n.y + m.z * n.z) > 1.0 - 0.5 * BEND * BEND:
            continue
        height = m.x * bx + m.y * by + m.z * bz
        side = 1.0 if height > 0.0 else -1.0
        mx, my, mz = side * m.x, side * m.y, side * m.z
        over_u = mx * (u.x - v.x) + my * (u.y - v.y) + mz * (u.z - v.z)
        over_w = mx * (w.x - v.x) + my * (w.y - v.y) + mz * (w.z - v.z)
        if max(over_u, over_w) <= RISE * bound and (
            abs(height) - reach_along(shapes, other, -mx, -my, -mz) > to_beat
        ):
            return True
    return False


@subroutine
def axis_over_tips(shapes: Shapes, meeting: Meeting, axis: Axis, is_first: bool) -> Axis:
    """The axis of a triangle and a body, or a better one across a ridge that starts at a corner of the triangle.

    Only ridges of neighbours are tried, its own were before. ``is_first`` says that the triangle is the first
    of the two; for anything else the axis is unchanged. An axis of a neighbour has edge numbers −1.
    """
    c, other, sign = (meeting.i, meeting.j, 1.0) if is_first else (meeting.j, meeting.i, -1.0)
    if shapes.pieces[c].kind != TRIANGLE or axis.kind == POINTS:
        return axis
    nx, ny, nz = sign * axis.x, sign * axis.y, sign * axis.z
    to_beat = axis.s + TIE * min(shapes.pieces[c].bound, shapes.pieces[other].bound)
    highest, body = highest_of(shapes, c, nx, ny, nz), shapes.pieces[other]
    for k in range(3):
        if not (highest >> k) & 1:
            continue
        at = shapes.pieces[c].vertex + k
        seam, v, o = shapes.seams[at], shapes.vertices[at], shapes.centres[c]
        bx, by, bz = sign * meeting.x - v.x, sign * meeting.y - v.y, sign * meeting.z - v.z
        for t in range(seam.n_corners):
            near = shapes.neighbours[seam.corner + t]
            if near.piece == c:
                continue
            w, p, piece = shapes.vertices[near.vertex], shapes.centres[near.piece], shapes.pieces[near.piece]
            ex, ey, ez = w.x + p.x - v.x - o.x, w.y + p.y - v.y - o.y, w.z + p.z - v.z - o.z
            length = np.sqrt(ex * ex + ey * ey + ez * ez)
            if nx * ex + ny * ey + nz * ez > RISE * length or is_along_side(shapes, c, k, ex, ey, ez):
                continue
            # The first half of the neighbours come after v in their triangles, the others before.
            start, m = near.vertex - piece.vertex, shapes.faces[piece.face]
            if 2 * t < seam.n_corners:
                start = (start + 2) % 3
            if is_flat_beyond(shapes, near.piece, start, m.x, m.y, m.z):
                continue
            if body.kind == CYLINDER:
                s, x, y, z = crest(shapes, other, bx, by, bz, ex, ey, ez, nx, ny, nz, 0.5 * np.pi)
                if s > to_beat and not rises(shapes, seam.corner, seam.n_corners, at, c, x, y, z):
                    to_beat, axis = s, Axis(s, sign * x, sign * y, sign * z, EDGES, -1, -1)
                continue
            for j in range(body.n_edges):
                f = shapes.edges[body.edge + j]
                q, end = shapes.vertices[body.vertex + f.corner_0], shapes.vertices[body.vertex + f.corner_1]
                fx, fy, fz = end.x - q.x, end.y - q.y, end.z - q.z
                x, y, z = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
                size = np.sqrt(x * x + y * y + z * z)
                if size <= SKEW * length * np.sqrt(fx * fx + fy * fy + fz * fz):
                    continue
                scale = (1.0 if x * nx + y * ny + z * nz >= 0.0 else -1.0) / size
                x, y, z = scale * x, scale * y, scale * z
                height = x * bx + y * by + z * bz
                if height - body.inner <= to_beat or rises(
                    shapes, seam.corner, seam.n_corners, at, c, x, y, z
                ):
                    continue
                s = height - reach_along(shapes, other, -x, -y, -z)
                if s > to_beat:
                    to_beat, axis = s, Axis(s, sign * x, sign * y, sign * z, EDGES, -1, -1)
    return axis


@subroutine
def is_along_side(shapes: Shapes, c: int, k: int, ex: float, ey: float, ez: float) -> bool:
    """Whether the ridge of a neighbour from corner k of triangle c along e is a side of c."""
    first = shapes.pieces[c].vertex
    v, near = shapes.vertices[first + k], SAME * (abs(ex) + abs(ey) + abs(ez))
    for turn in range(1, 3):
        w = shapes.vertices[first + (k + turn) % 3]
        if abs(w.x - v.x - ex) + abs(w.y - v.y - ey) + abs(w.z - v.z - ez) <= near:
            return True
    return False


@subroutine
def owns_contact_at(shapes: Shapes, c: int, feature: int, nx: float, ny: float, nz: float) -> bool:
    """Whether triangle c has the contact with normal n at one of its corners (1 + k) or sides (4 + k).

    No triangle has it if one of those around rises along n. Else it is the one most aligned with n, whose face the
    body may also lie on; of several equally aligned, the first.
    """
    at = shapes.pieces[c].vertex + (feature - 1 if feature < 4 else feature - 4)
    seam, own_face = shapes.seams[at], shapes.faces[shapes.pieces[c].face]
    first, count = (seam.corner, seam.n_corners) if feature < 4 else (seam.side, seam.n_sides)
    if rises(shapes, first, count, at, c, nx, ny, nz):
        return False
    cosine = abs(own_face.x * nx + own_face.y * ny + own_face.z * nz)
    for row in range(first, first + count):
        piece = shapes.neighbours[row].piece
        m = shapes.faces[shapes.pieces[piece].face]
        more = abs(m.x * nx + m.y * ny + m.z * nz) - cosine
        if more > LOOK or (piece < c and more >= -LOOK):
            return False
    return True


@subroutine
def is_neighbour_more_aligned(
    shapes: Shapes, c: int, first: int, count: int, nx: float, ny: float, nz: float
) -> bool:
    """Whether one of ``count`` neighbours of triangle c, from row ``first`` on, is more aligned with n than c."""
    own_face = shapes.faces[shapes.pieces[c].face]
    cosine = abs(own_face.x * nx + own_face.y * ny + own_face.z * nz) + LOOK
    for row in range(first, first + count):
        m = shapes.faces[shapes.pieces[shapes.neighbours[row].piece].face]
        if abs(m.x * nx + m.y * ny + m.z * nz) > cosine:
            return True
    return False


@subroutine
def without_seams(
    points: Records, count: int, meeting: Meeting, shapes: Shapes, view: View, radix: int
) -> int:
    """Remove points on flat seams of a triangle from the corners of the intersection of two faces; returns the count."""
    for turn in range(2):
        c, other = (meeting.i, meeting.j) if turn == 0 else (meeting.j, meeting.i)
        if shapes.pieces[c].kind != TRIANGLE:
            continue
        n = shapes.faces[shapes.pieces[c].face]
        nx, ny, nz = n.x, n.y, n.z
        own_corner = 2 + turn
        kept = 0
        for row in range(count):
            kind, rest = points[row].code // (radix * radix), points[row].code % (radix * radix)
            is_inner = False
            if kind == own_corner:
                is_inner = is_flat_around(shapes, c, rest, nx, ny, nz)
            elif kind == 0:
                edge, edge_of_other = rest // radix, rest % radix
                if turn == 1:
                    edge, edge_of_other = edge_of_other, edge
                is_inner = (
                    is_flat_beyond(shapes, c, edge // 2, nx, ny, nz)
                    and end_at(points[row], meeting, shapes, other, edge_of_other, view) < 0
                )
                if is_inner:  # unless the seam ends there, at a tip
                    tip = end_at(points[row], meeting, shapes, c, edge, view)
                    is_inner = tip < 0 or is_flat_around(shapes, c, tip, nx, ny, nz)
            if not is_inner:
                points[kept] = points[row]
                kept += 1
        count = kept
    return count


@subroutine
def end_at(point: Records, meeting: Meeting, shapes: Shapes, c: int, edge: int, view: View) -> int:
    """The corner of a solid that is the end of its edge at a point, in projection; −1 if the point is elsewhere."""
    piece, tx, ty, tz = shapes.pieces[c], 0.0, 0.0, 0.0
    if c == meeting.j:
        tx, ty, tz = meeting.x, meeting.y, meeting.z
    e, close = shapes.edges[piece.edge + edge], AT_CORNER * piece.bound
    for turn in range(2):
        corner = as_int64(e.corner_0 if turn == 0 else e.corner_1)
        v = shapes.vertices[piece.vertex + corner]
        x, y, z = v.x + tx, v.y + ty, v.z + tz
        dx = x * view.ex + y * view.ey + z * view.ez - point.x
        dy = x * view.fx + y * view.fy + z * view.fz - point.y
        if dx * dx + dy * dy <= close * close:
            return corner
    return -1
