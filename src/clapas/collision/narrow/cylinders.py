"""A cylinder and another solid: a prism with corners on its rims, refined where it touches.

A cylinder has no corners to clip, so it is replaced by a prism of 16 sides inside it. That alone would be wrong
by up to 2 % of the radius. But the normal found says where on the rims the contact is: nine of the sixteen
corners are moved there, four times closer together at each round, and the normal is found again. A corner
stands exactly where the last normal says, so after six rounds the distance is that of the cylinder to
some 10⁻⁹ of its radius. When the normal is along the axis the contact is on the cap and the regular prism
stays: contact points on the rim are then fixed to the body.

Overlapping solids can be separated along several directions that are each the best nearby, and the regular
prism, thinner than its cylinder, may prefer one that is not the best of all. It is never worse than the
cylinder along any direction: so the next best one of the regular prism is refined too, as long as it
promises more than what was found.

Against another cylinder or a capsule no digit is lost: where both touch with their sides the contact is that of two
axes, and elsewhere the normal is polished (:mod:`round_pairs`). Nor against the edge or the corner of a solid that
overlaps (:mod:`cylinder_solid`): there the normal may turn faster than the corners of the prism come together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting
from clapas.collision.narrow.axes import EDGES, POINTS, Axis, Trials, best_axis
from clapas.collision.narrow.axis_filters import Elsewhere, Guide, Seams
from clapas.collision.narrow.capsules_triangles import thin_points
from clapas.collision.narrow.cylinder_solid import FIRST_SIDE, sharpened
from clapas.collision.narrow.gjk import Simplex
from clapas.collision.narrow.manifold import Bench
from clapas.collision.narrow.round_pairs import are_round, polished, touch_sides
from clapas.collision.narrow.seams import axis_over_tips
from clapas.collision.narrow.solids import axis_between
from clapas.collision.records import CYLINDER, FACE, POINT, Records, Shapes
from clapas.collision.topology import PRISM_SIDES
from clapas.compiled import subroutine
from clapas.typing import Array

ROUNDS = 6
FINE = 3  # rounds after which a normal that does not change ends them
CLUSTER = 4  # corners on each side of the middle one
CLOSER = 0.25
FINEST = 1e-4  # spacing of the corners of a prism where a polished normal says the contact is (rad)
ASIDE = 1e-3  # spacings by which an edge touches beside a corner, so that rounding does not choose between two sides
NEARBY = 0.8  # spacings within which the next normal is
STEADY = 1e-10
SAGITTA = 0.02  # 1 − cos(π/16): how far the regular prism is inside, of the radius
ALONG_AXIS = 1e-6  # sine of the angle between normal and axis
ON_SIDE = 1e-9  # its cosine under which a side touches
MERGE = 0.01  # of the radius: generators nearer than this are one
STARTS = 12  # directions refined at most
APARTNESS = 0.98  # cosine (11°, half a side of the prism) of two directions that lead to the same


class Prism(NamedTuple):
    """The regular prism of a cylinder, kept while it is refined."""

    vertices: Records
    faces: Records


def new_prism() -> Prism:
    """Room for a prism."""
    return Prism(np.empty(2 * PRISM_SIDES, dtype=POINT), np.empty(PRISM_SIDES + 2, dtype=FACE))


class Cylinders(NamedTuple):
    """How pairs with a cylinder are met: work space, directions tried, and the radix of the codes."""

    simplex: Simplex
    trials: Trials
    bench: Bench
    kept_a: Prism
    kept_b: Prism
    tried: Array
    radix: int


def new_tried() -> Array:
    """Room for the directions tried."""
    return np.empty((2 * STARTS, 3))


@subroutine
def touch_cylinders(way: Cylinders, rows: Records, count: int, meeting: Meeting, shapes: Shapes) -> int:
    """Contacts of a cylinder with a solid."""
    both_round = are_round(shapes, meeting)
    if both_round:
        is_done, count = touch_sides(rows, count, meeting, shapes)
        if is_done:
            return count
    r_a, r_b = radius_of(shapes, meeting.i), radius_of(shapes, meeting.j)
    wide = meeting.distance + SAGITTA * (r_a + r_b)
    start, _ = axis_between(shapes, meeting, wide, Seams(), way.simplex, way.trials)
    if start.s > wide:
        return count
    keep(shapes, meeting.i, way.kept_a)
    keep(shapes, meeting.j, way.kept_b)
    promised = -np.inf
    if start.sort != POINTS:  # apart, the nearest points are unique
        note(way.tried, 0, start)
        promised = axis_elsewhere_than(way, meeting, shapes, 1).s
    axis, n_points = refined(way, meeting, shapes, start, wide)
    if promised > axis.s:
        start = best_start(way, meeting, shapes, start, axis, wide)
        axis, n_points = refined(way, meeting, shapes, start, wide)
    if both_round and axis.s <= wide:
        axis = polished(shapes, meeting, axis)
        refine(shapes, meeting.i, axis.x, axis.y, axis.z, FINEST, 0.0, way.kept_a)
        refine(shapes, meeting.j, -axis.x, -axis.y, -axis.z, FINEST, 0.0, way.kept_b)
    elif axis.s <= wide and axis.sort != POINTS:
        axis = sharpened(shapes, meeting, axis)
        axis = axis_over_tips(shapes, meeting, axis, True)
        axis = axis_over_tips(shapes, meeting, axis, False)
        axis = centred(shapes, meeting, axis, way)
    if axis.s <= meeting.distance:
        if is_on_cap(shapes, meeting.i, axis):
            give_back(shapes, meeting.i, way.kept_a)
        if is_on_cap(shapes, meeting.j, axis):
            give_back(shapes, meeting.j, way.kept_b)
        merge = MERGE * (min(r_a, r_b) if min(r_a, r_b) > 0.0 else max(r_a, r_b))
        count = thin_points(
            rows, count, meeting, shapes, axis, n_points, merge, way.radix, way.simplex, way.bench
        )
    give_back(shapes, meeting.i, way.kept_a)
    give_back(shapes, meeting.j, way.kept_b)
    return count


@subroutine
def best_start(
    way: Cylinders, meeting: Meeting, shapes: Shapes, start: Axis, axis: Axis, wide: float
) -> Axis:
    """The axis of the regular prisms that leads to the best of the cylinders; one leads to ``axis``."""
    best, best_s = start, axis.s
    for k in range(1, STARTS):
        give_back(shapes, meeting.i, way.kept_a)
        give_back(shapes, meeting.j, way.kept_b)
        note(way.tried, 2 * k - 2, start)
        note(way.tried, 2 * k - 1, axis)
        start = axis_elsewhere_than(way, meeting, shapes, 2 * k)
        if start.s <= best_s:
            break
        axis, _ = refined(way, meeting, shapes, start, wide)
        if axis.s > best_s:
            best, best_s = start, axis.s
    give_back(shapes, meeting.i, way.kept_a)
    give_back(shapes, meeting.j, way.kept_b)
    return best


@subroutine
def note(tried: Array, k: int, axis: Axis) -> None:
    """Keep a direction."""
    tried[k, 0], tried[k, 1], tried[k, 2] = axis.x, axis.y, axis.z


@subroutine
def axis_elsewhere_than(way: Cylinders, meeting: Meeting, shapes: Shapes, count: int) -> Axis:
    """The best axis of two regular prisms that is not near the first ``count`` directions tried."""
    return best_axis(shapes, meeting, Elsewhere(way.tried, count, APARTNESS), way.trials, np.inf)


@subroutine
def refined(way: Cylinders, meeting: Meeting, shapes: Shapes, axis: Axis, wide: float) -> tuple[Axis, int]:
    """The axis of the cylinders near one of their regular prisms, and the points of its simplex."""
    spacing, n_points = 2.0 * np.pi / PRISM_SIDES, 0
    for turn in range(ROUNDS):
        # Away from the contact the refined prism is thinner, and would seem easier to leave there.
        guide = Guide(axis.x, axis.y, axis.z, np.cos(NEARBY * spacing))
        spacing *= CLOSER
        refine(shapes, meeting.i, axis.x, axis.y, axis.z, spacing, 0.0, way.kept_a)
        refine(shapes, meeting.j, -axis.x, -axis.y, -axis.z, spacing, 0.0, way.kept_b)
        last = axis
        axis, n_points = axis_between(shapes, meeting, wide, guide, way.simplex, way.trials)
        if axis.sort == POINTS and last.sort != POINTS:
            # A prism is inside its cylinder: where one overlaps, another that is apart has missed the contact.
            axis = best_axis(shapes, meeting, guide, way.trials, np.inf)
            r = shapes.pieces[meeting.i].rounding + shapes.pieces[meeting.j].rounding
            axis = Axis(axis.s - r, axis.x, axis.y, axis.z, axis.sort, axis.i, axis.j)
        if axis.s == -np.inf:
            return last, n_points
        change = (axis.x - last.x) ** 2 + (axis.y - last.y) ** 2 + (axis.z - last.z) ** 2
        if axis.s > wide or (turn >= FINE and change <= STEADY * STEADY):
            break
    return axis, n_points


@subroutine
def centred(shapes: Shapes, meeting: Meeting, axis: Axis, way: Cylinders) -> Axis:
    """The axis, once the prism of a cylinder is refined where an edge or a corner of a solid touches it.

    An edge touches beside a corner of the prism, a corner in the middle of one of its sides.
    """
    is_first = shapes.pieces[meeting.i].kind == CYLINDER
    c, sign, kept = (meeting.i, 1.0, way.kept_a) if is_first else (meeting.j, -1.0, way.kept_b)
    x, y, z, mine = sign * axis.x, sign * axis.y, sign * axis.z, axis.i if is_first else axis.j
    if is_on_cap(shapes, c, axis) or (axis.sort != EDGES and mine < FIRST_SIDE):
        return axis
    if axis.sort != EDGES:
        refine(shapes, c, x, y, z, FINEST, 0.5, kept)
        mine = FIRST_SIDE + CLUSTER
    else:
        refine(shapes, c, x, y, z, FINEST, ASIDE, kept)
        if mine >= 0:
            mine = edge_along(shapes, c, x, y, z)
    if is_first:
        return Axis(axis.s, axis.x, axis.y, axis.z, axis.sort, mine, axis.j)
    return Axis(axis.s, axis.x, axis.y, axis.z, axis.sort, axis.i, mine)


@subroutine
def edge_along(shapes: Shapes, c: int, x: float, y: float, z: float) -> int:
    """The edge of the refined prism of a cylinder that is furthest along (x, y, z): of a rim, or of its side."""
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
def keep(shapes: Shapes, c: int, kept: Prism) -> None:
    """Keep the prism of a cylinder."""
    piece = shapes.pieces[c]
    if piece.kind == CYLINDER:
        for k in range(2 * PRISM_SIDES):
            kept.vertices[k] = shapes.vertices[piece.vertex + k]
        for k in range(PRISM_SIDES + 2):
            kept.faces[k] = shapes.faces[piece.face + k]


@subroutine
def give_back(shapes: Shapes, c: int, kept: Prism) -> None:
    """Give a cylinder its regular prism back."""
    piece = shapes.pieces[c]
    if piece.kind == CYLINDER:
        for k in range(2 * PRISM_SIDES):
            shapes.vertices[piece.vertex + k] = kept.vertices[k]
        for k in range(PRISM_SIDES + 2):
            shapes.faces[piece.face + k] = kept.faces[k]


@subroutine
def is_on_cap(shapes: Shapes, c: int, axis: Axis) -> bool:
    """Is the normal along the axis of a cylinder?"""
    if shapes.pieces[c].kind != CYLINDER:
        return False
    a = shapes.faces[shapes.pieces[c].face + 1]
    along = axis.x * a.x + axis.y * a.y + axis.z * a.z
    return 1.0 - along * along <= ALONG_AXIS * ALONG_AXIS


@subroutine
def refine(
    shapes: Shapes, c: int, x: float, y: float, z: float, spacing: float, before: float, kept: Prism
) -> None:
    """Move corners of the prism of a cylinder to where it is furthest along (x, y, z).

    The middle one is ``before`` spacings before that place.
    """
    piece = shapes.pieces[c]
    if piece.kind != CYLINDER:
        return
    r, half, a, v = piece.radius, piece.half, kept.faces[1], kept.vertices[PRISM_SIDES]
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
