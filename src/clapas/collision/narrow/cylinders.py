"""Contacts of a cylinder and another solid: a prism inscribed in the cylinder, refined where it touches.

A cylinder has no corners to clip, so it is replaced by a prism of 16 sides inside it. That alone would be wrong
by up to 2 % of the radius. But the normal found locates the contact on the rims: nine of the sixteen
corners are moved there, four times closer together at each round, and the normal is computed again. One corner
is exactly where the last normal puts it, so after six rounds the distance is that of the cylinder to
some 10⁻⁹ of its radius. When the normal is along the axis the contact is on the cap and the regular prism
is kept: contact points on the rim are then fixed to the body.

The separation of overlapping solids can have several local maxima, and that of the regular prism, thinner than
its cylinder, may be largest at another one. It is an upper bound of that of the cylinder along any direction: so
the next best axis of the regular prism is refined too, as long as its separation exceeds the best one found. So it is
where the regular prism is apart and the cylinder overlaps: the nearest points of the prism are one start among others.

Against another cylinder or a capsule the normal is exact to rounding: where both touch with their sides the contact
is that of two axes, and elsewhere the normal is polished (:mod:`round_pairs`). So it is against the edge or the
corner of a solid that overlaps (:mod:`cylinder_solid`), where the normal may vary too fast for the refined prism.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting
from clapas.collision.meshes import is_flat_beyond
from clapas.collision.narrow.axes import EDGES, POINTS, Axis, Trials, best_axis
from clapas.collision.narrow.axis_filters import AwayFromAxes, MeshAxes, NearAxis
from clapas.collision.narrow.capsules_triangles import thin_points
from clapas.collision.narrow.cylinder_solid import FIRST_SIDE, with_exact_normal
from clapas.collision.narrow.gjk import Simplex
from clapas.collision.narrow.manifold import Clipping
from clapas.collision.narrow.round_pairs import are_round, polished, touch_sides
from clapas.collision.narrow.seams import axis_over_tips
from clapas.collision.narrow.solids import axis_between
from clapas.collision.records import CYLINDER, FACE, POINT, TRIANGLE, Records, Shapes
from clapas.collision.topology import PRISM_SIDES
from clapas.compiled import subroutine
from clapas.typing import Array

ROUNDS = 6
FINE = 3  # rounds after which an unchanged normal ends the refinement
CLUSTER = 4  # corners on each side of the middle one
CLOSER = 0.25
FINEST = 1e-4  # spacing of the corners of a prism about the contact of an exact normal (rad)
ASIDE = 1e-3  # spacings by which an edge touches beside a corner, so that rounding does not choose between two sides
NEARBY = 0.8  # spacings within which the next normal is
STEADY = 1e-10
SAGITTA = 0.02  # 1 − cos(π/16): how far the regular prism is inside, of the radius
ALONG_AXIS = 1e-6  # sine of the angle between normal and axis
ON_SIDE = 1e-9  # its cosine under which a side touches
MERGE = 0.01  # of the radius: generators nearer than this are one
STARTS = 12  # directions refined at most
SAME_DIRECTION = (
    0.98  # cosine (11°, half a side of the prism) above which two directions are refined to the same one
)


class Prism(NamedTuple):
    """The regular prism of a cylinder, kept while it is refined."""

    vertices: Records
    faces: Records


def new_prism() -> Prism:
    """Work space for a prism."""
    return Prism(np.empty(2 * PRISM_SIDES, dtype=POINT), np.empty(PRISM_SIDES + 2, dtype=FACE))


class Cylinders(NamedTuple):
    """Method for pairs with a cylinder: work space, directions tried, and the radix of the codes."""

    simplex: Simplex
    trials: Trials
    clipping: Clipping
    saved_a: Prism
    saved_b: Prism
    directions: Array
    radix: int


def new_directions() -> Array:
    """Work space for the directions tried."""
    return np.empty((2 * STARTS, 3))


@subroutine
def touch_cylinders(method: Cylinders, rows: Records, count: int, meeting: Meeting, shapes: Shapes) -> int:
    """Contacts of a cylinder with a solid."""
    both_round = are_round(shapes, meeting)
    if both_round:
        is_done, count = touch_sides(rows, count, meeting, shapes)
        if is_done:
            return count
    r_a, r_b = radius_of(shapes, meeting.i), radius_of(shapes, meeting.j)
    limit = meeting.distance + SAGITTA * (r_a + r_b)
    start, _ = axis_between(shapes, meeting, limit, MeshAxes(), method.simplex, method.trials)
    if start.s > limit:
        return count
    save_prism(shapes, meeting.i, method.saved_a)
    save_prism(shapes, meeting.j, method.saved_b)
    next_best = -np.inf
    if start.kind != POINTS:  # apart, the nearest points are unique
        store_direction(method.directions, 0, start)
        next_best = axis_away_from(method, meeting, shapes, 1).s
    axis, n_points = refined(method, meeting, shapes, start, limit)
    if start.kind == POINTS and axis.kind != POINTS:
        next_best = np.inf  # only the prism is apart: its nearest points are one start among others
    if next_best > axis.s:
        start = best_start(method, meeting, shapes, start, axis, limit)
        axis, n_points = refined(method, meeting, shapes, start, limit)
    if both_round and axis.s <= limit:
        axis = polished(shapes, meeting, axis)
        refine(shapes, meeting.i, axis.x, axis.y, axis.z, FINEST, 0.0, method.saved_a)
        refine(shapes, meeting.j, -axis.x, -axis.y, -axis.z, FINEST, 0.0, method.saved_b)
    elif axis.s <= limit and axis.kind != POINTS:
        axis = with_exact_normal(shapes, meeting, axis)
        axis = axis_over_tips(shapes, meeting, axis, True)
        axis = axis_over_tips(shapes, meeting, axis, False)
        axis = centred(shapes, meeting, axis, method)
    if axis.s <= meeting.distance:
        if is_on_cap(shapes, meeting.i, axis):
            restore_prism(shapes, meeting.i, method.saved_a)
        if is_on_cap(shapes, meeting.j, axis):
            restore_prism(shapes, meeting.j, method.saved_b)
        merge = MERGE * (min(r_a, r_b) if min(r_a, r_b) > 0.0 else max(r_a, r_b))
        before = count
        count = prism_points(method, rows, count, meeting, shapes, axis, n_points, merge)
        if count == before and turned_to_triangle(shapes, meeting, axis, method):
            count = prism_points(method, rows, count, meeting, shapes, axis, n_points, merge)
    restore_prism(shapes, meeting.i, method.saved_a)
    restore_prism(shapes, meeting.j, method.saved_b)
    return count


@subroutine
def prism_points(
    method: Cylinders,
    rows: Records,
    count: int,
    meeting: Meeting,
    shapes: Shapes,
    axis: Axis,
    n_points: int,
    merge: float,
) -> int:
    """Write the contacts along an axis of the prisms as they are; returns the count so far."""
    return thin_points(
        rows, count, meeting, shapes, axis, n_points, merge, method.radix, method.simplex, method.clipping
    )


@subroutine
def best_start(
    method: Cylinders, meeting: Meeting, shapes: Shapes, start: Axis, axis: Axis, limit: float
) -> Axis:
    """The axis of the regular prisms whose refinement separates the cylinders most; that of ``start`` is ``axis``."""
    best, best_s = start, axis.s
    for k in range(1, STARTS):
        restore_prism(shapes, meeting.i, method.saved_a)
        restore_prism(shapes, meeting.j, method.saved_b)
        store_direction(method.directions, 2 * k - 2, start)
        store_direction(method.directions, 2 * k - 1, axis)
        start = axis_away_from(method, meeting, shapes, 2 * k)
        if start.s <= best_s:
            break
        axis, _ = refined(method, meeting, shapes, start, limit)
        if axis.s > best_s:
            best, best_s = start, axis.s
    restore_prism(shapes, meeting.i, method.saved_a)
    restore_prism(shapes, meeting.j, method.saved_b)
    return best


@subroutine
def store_direction(directions: Array, k: int, axis: Axis) -> None:
    """Store the direction of an axis in row k."""
    directions[k, 0], directions[k, 1], directions[k, 2] = axis.x, axis.y, axis.z


@subroutine
def axis_away_from(method: Cylinders, meeting: Meeting, shapes: Shapes, count: int) -> Axis:
    """The best axis of two regular prisms that is not near the first ``count`` directions tried."""
    return best_axis(
        shapes, meeting, AwayFromAxes(method.directions, count, SAME_DIRECTION), method.trials, np.inf
    )


@subroutine
def refined(
    method: Cylinders, meeting: Meeting, shapes: Shapes, axis: Axis, limit: float
) -> tuple[Axis, int]:
    """The axis of the cylinders near one of their regular prisms, and the points of its simplex."""
    spacing, n_points = 2.0 * np.pi / PRISM_SIDES, 0
    for turn in range(ROUNDS):
        # Away from the contact the refined prism is thinner, which would give wrong axes there.
        guide = NearAxis(axis.x, axis.y, axis.z, np.cos(NEARBY * spacing))
        spacing *= CLOSER
        refine(shapes, meeting.i, axis.x, axis.y, axis.z, spacing, 0.0, method.saved_a)
        refine(shapes, meeting.j, -axis.x, -axis.y, -axis.z, spacing, 0.0, method.saved_b)
        last = axis
        axis, n_points = axis_between(shapes, meeting, limit, guide, method.simplex, method.trials)
        if axis.kind == POINTS and last.kind != POINTS:
            # Prisms are inside their cylinders: where one overlaps, one that is apart is too thin at the contact.
            axis = best_axis(shapes, meeting, guide, method.trials, np.inf)
            r = shapes.pieces[meeting.i].rounding + shapes.pieces[meeting.j].rounding
            axis = Axis(axis.s - r, axis.x, axis.y, axis.z, axis.kind, axis.i, axis.j)
        if axis.s == -np.inf and last.kind != POINTS:
            return last, n_points
        if axis.s == -np.inf:
            # The regular prism was beside a triangle that cannot push there, the cylinder overlaps it: start again.
            restore_prism(shapes, meeting.i, method.saved_a)
            restore_prism(shapes, meeting.j, method.saved_b)
            spacing = 2.0 * np.pi / PRISM_SIDES
            axis = best_axis(shapes, meeting, MeshAxes(), method.trials, np.inf)
            r = shapes.pieces[meeting.i].rounding + shapes.pieces[meeting.j].rounding
            axis = Axis(axis.s - r, axis.x, axis.y, axis.z, axis.kind, axis.i, axis.j)
        change = (axis.x - last.x) ** 2 + (axis.y - last.y) ** 2 + (axis.z - last.z) ** 2
        if axis.s > limit or (turn >= FINE and change <= STEADY * STEADY):
            break
    return axis, n_points


@subroutine
def centred(shapes: Shapes, meeting: Meeting, axis: Axis, method: Cylinders) -> Axis:
    """The axis, once the prism of a cylinder is refined where an edge or a corner of a solid touches it.

    An edge touches beside a corner of the prism, a corner in the middle of one of its sides.
    """
    is_first = shapes.pieces[meeting.i].kind == CYLINDER
    c, sign, saved = (meeting.i, 1.0, method.saved_a) if is_first else (meeting.j, -1.0, method.saved_b)
    x, y, z, feature = sign * axis.x, sign * axis.y, sign * axis.z, axis.i if is_first else axis.j
    if is_on_cap(shapes, c, axis) or (axis.kind != EDGES and feature < FIRST_SIDE):
        return axis
    if axis.kind != EDGES:
        refine(shapes, c, x, y, z, FINEST, 0.5, saved)
        feature = FIRST_SIDE + CLUSTER
    else:
        refine(shapes, c, x, y, z, FINEST, ASIDE, saved)
        if feature >= 0:
            feature = edge_along(shapes, c, x, y, z)
    if is_first:
        return Axis(axis.s, axis.x, axis.y, axis.z, axis.kind, feature, axis.j)
    return Axis(axis.s, axis.x, axis.y, axis.z, axis.kind, axis.i, feature)


@subroutine
def turned_to_triangle(shapes: Shapes, meeting: Meeting, axis: Axis, method: Cylinders) -> bool:
    """Turn the prism of a cap so that a corner of it points to a triangle it is beside, if only its rim reaches over that.

    Not over a flat seam, where a neighbour has the contact.
    """
    is_first = shapes.pieces[meeting.i].kind == CYLINDER
    c, other, sign, saved = meeting.j, meeting.i, 1.0, method.saved_b
    if is_first:
        c, other, sign, saved = meeting.i, meeting.j, -1.0, method.saved_a
    if shapes.pieces[other].kind != TRIANGLE or not is_on_cap(shapes, c, axis):
        return False
    piece, tx, ty, tz = shapes.pieces[c], sign * meeting.x, sign * meeting.y, sign * meeting.z
    nx, ny, nz, vertex = axis.x, axis.y, axis.z, shapes.pieces[other].vertex
    best, side, x, y, z = np.inf, -1, 0.0, 0.0, 0.0
    for k in range(3):
        p, q = shapes.vertices[vertex + k], shapes.vertices[vertex + (k + 1) % 3]
        ex, ey, ez, px, py, pz = q.x - p.x, q.y - p.y, q.z - p.z, p.x - tx, p.y - ty, p.z - tz
        e, w = ex * nx + ey * ny + ez * nz, px * nx + py * ny + pz * nz
        ex, ey, ez, px, py, pz = ex - e * nx, ey - e * ny, ez - e * nz, px - w * nx, py - w * ny, pz - w * nz
        square = ex * ex + ey * ey + ez * ez
        t = -(px * ex + py * ey + pz * ez) / square if square > 0.0 else 0.0
        t = min(max(t, 0.0), 1.0)
        px, py, pz = px + t * ex, py + t * ey, pz + t * ez
        square = px * px + py * py + pz * pz
        if square < best:
            best, side, x, y, z = square, k, px, py, pz
    inner = (1.0 - SAGITTA) * piece.radius
    n = shapes.faces[shapes.pieces[other].face]
    if not inner * inner < best < piece.radius * piece.radius or is_flat_beyond(
        shapes, other, side, n.x, n.y, n.z
    ):
        return False
    refine(shapes, c, x, y, z, 2.0 * np.pi / PRISM_SIDES, 0.0, saved)
    return True


@subroutine
def edge_along(shapes: Shapes, c: int, x: float, y: float, z: float) -> int:
    """The edge of the refined prism of a cylinder furthest along (x, y, z), on a rim or on the side."""
    piece = shapes.pieces[c]
    a = shapes.faces[piece.face + 1]
    along = x * a.x + y * a.y + z * a.z
    p, q = CLUSTER, CLUSTER + 1
    if abs(along) <= ON_SIDE:
        q = CLUSTER + PRISM_SIDES
    elif along > 0.0:
        p, q = p + PRISM_SIDES, q + PRISM_SIDES
    for k in range(piece.n_edges):
        e = shapes.edges[piece.edge + k]
        if min(e.corner_0, e.corner_1) == p and max(e.corner_0, e.corner_1) == q:
            return k
    return -1


@subroutine
def radius_of(shapes: Shapes, c: int) -> float:
    """Radius of a cylinder, 0 of anything else."""
    return shapes.pieces[c].radius if shapes.pieces[c].kind == CYLINDER else 0.0


@subroutine
def save_prism(shapes: Shapes, c: int, saved: Prism) -> None:
    """Save the regular prism of a cylinder."""
    piece = shapes.pieces[c]
    if piece.kind == CYLINDER:
        for k in range(2 * PRISM_SIDES):
            saved.vertices[k] = shapes.vertices[piece.vertex + k]
        for k in range(PRISM_SIDES + 2):
            saved.faces[k] = shapes.faces[piece.face + k]


@subroutine
def restore_prism(shapes: Shapes, c: int, saved: Prism) -> None:
    """Restore the regular prism of a cylinder."""
    piece = shapes.pieces[c]
    if piece.kind == CYLINDER:
        for k in range(2 * PRISM_SIDES):
            shapes.vertices[piece.vertex + k] = saved.vertices[k]
        for k in range(PRISM_SIDES + 2):
            shapes.faces[piece.face + k] = saved.faces[k]


@subroutine
def is_on_cap(shapes: Shapes, c: int, axis: Axis) -> bool:
    """Whether the normal is along the axis of a cylinder."""
    if shapes.pieces[c].kind != CYLINDER:
        return False
    a = shapes.faces[shapes.pieces[c].face + 1]
    along = axis.x * a.x + axis.y * a.y + axis.z * a.z
    return 1.0 - along * along <= ALONG_AXIS * ALONG_AXIS


@subroutine
def refine(
    shapes: Shapes, c: int, x: float, y: float, z: float, spacing: float, before: float, saved: Prism
) -> None:
    """Move corners of the prism of a cylinder to where it is furthest along (x, y, z).

    The middle one is ``before`` spacings before that point.
    """
    piece = shapes.pieces[c]
    if piece.kind != CYLINDER:
        return
    r, half, a, v = piece.radius, piece.half, saved.faces[1], saved.vertices[PRISM_SIDES]
    # e towards the first corner of the regular prism, g = a × e across.
    ex, ey, ez = (v.x - half * a.x) / r, (v.y - half * a.y) / r, (v.z - half * a.z) / r
    gx, gy, gz = a.y * ez - a.z * ey, a.z * ex - a.x * ez, a.x * ey - a.y * ex
    along, across = x * ex + y * ey + z * ez, x * gx + y * gy + z * gz
    if along * along + across * across <= ALONG_AXIS * ALONG_AXIS:
        return
    middle = np.arctan2(across, along) - before * spacing
    rest = (2.0 * np.pi - 2.0 * CLUSTER * spacing) / (PRISM_SIDES - 2 * CLUSTER)
    for k in range(PRISM_SIDES):
        angle, step = middle + (k - CLUSTER) * spacing, spacing
        if k >= 2 * CLUSTER:
            angle, step = middle + CLUSTER * spacing + (k - 2 * CLUSTER) * rest, rest
        low, high = shapes.vertices[piece.vertex + k], shapes.vertices[piece.vertex + PRISM_SIDES + k]
        cosine, sine = r * np.cos(angle), r * np.sin(angle)
        ox, oy, oz = cosine * ex + sine * gx, cosine * ey + sine * gy, cosine * ez + sine * gz
        low.x, low.y, low.z = ox - half * a.x, oy - half * a.y, oz - half * a.z
        high.x, high.y, high.z = ox + half * a.x, oy + half * a.y, oz + half * a.z
        n, cosine, sine = (
            shapes.faces[piece.face + 2 + k],
            np.cos(angle + 0.5 * step),
            np.sin(angle + 0.5 * step),
        )
        n.x, n.y, n.z = cosine * ex + sine * gx, cosine * ey + sine * gy, cosine * ez + sine * gz
        n.height = r * np.cos(0.5 * step)
