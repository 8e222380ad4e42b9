"""A cylinder and another solid: a prism with corners on its rims, refined where it touches.

A cylinder has no corners to clip, so it is replaced by a prism of 16 sides inside it. That alone would be wrong
by up to 2 % of the radius. But the normal found says where on the rims the contact is: nine of the sixteen
corners are moved there, four times closer together at each round, and the normal is found again. A corner
stands exactly where the last normal says, so after six rounds the distance is that of the cylinder to
some 10⁻⁹ of its radius. When the normal is along the axis the contact is on the cap and the regular prism
stays: contact points on the rim are then fixed to the body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.lean import lean_kernel
from clapas.collision.narrow.axes import Axis, Guide
from clapas.collision.narrow.solids import Tools, axis_between, solid_points
from clapas.collision.records import CYLINDER, FACE, POINT, Records, Shapes
from clapas.collision.rows import Pairs, between
from clapas.collision.topology import PRISM_SIDES
from clapas.compiled import subroutine
from clapas.typing import Indices

ROUNDS = 6
FINE = 3  # rounds after which a normal that does not change ends them
CLUSTER = 4  # corners on each side of the middle one
CLOSER = 0.25
NEARBY = 1.5  # spacings within which the next normal is
STEADY = 1e-10
SAGITTA = 0.02  # 1 − cos(π/16): how far the regular prism is inside, of the radius
ALONG_AXIS = 1e-6  # sine of the angle between normal and axis
MERGE = 0.01  # of the radius: generators nearer than this are one


class Prism(NamedTuple):
    """The regular prism of a cylinder, kept while it is refined."""

    vertices: Records
    faces: Records


def new_prism() -> Prism:
    """Room for a prism."""
    return Prism(np.empty(2 * PRISM_SIDES, dtype=POINT), np.empty(PRISM_SIDES + 2, dtype=FACE))


@lean_kernel
def touch_cylinders(
    which: Indices,
    pairs: Pairs,
    shapes: Shapes,
    distance: float,
    radix: int,
    tools: Tools,
    kept_a: Prism,
    kept_b: Prism,
    rows: Records,
) -> int:
    """Contacts of cylinders with solids."""
    count = 0
    for k in range(len(which)):
        p = which[k]
        a, b = pairs.listed[p].i, pairs.listed[p].j
        x, y, z = between(pairs, shapes, p)
        limit = shapes.pieces[a].bound + shapes.pieces[b].bound + distance
        if limit < 0.0 or x * x + y * y + z * z > limit * limit:
            continue
        r_a, r_b = radius_of(shapes, a), radius_of(shapes, b)
        wide = distance + SAGITTA * (r_a + r_b)
        axis, n_points = axis_between(shapes, a, b, x, y, z, wide, Guide(0.0, 0.0, 0.0, -1.0), tools)
        if axis.s > wide:
            continue
        keep(shapes, a, kept_a)
        keep(shapes, b, kept_b)
        spacing = 2.0 * np.pi / PRISM_SIDES
        for turn in range(ROUNDS):
            # Away from the contact the refined prism is thinner, and would seem easier to leave there.
            guide = Guide(axis.x, axis.y, axis.z, np.cos(NEARBY * spacing))
            spacing *= CLOSER
            refine(shapes, a, axis.x, axis.y, axis.z, spacing, kept_a)
            refine(shapes, b, -axis.x, -axis.y, -axis.z, spacing, kept_b)
            last = axis
            axis, n_points = axis_between(shapes, a, b, x, y, z, wide, guide, tools)
            if axis.s == -np.inf:
                axis = last
                break
            change = (axis.x - last.x) ** 2 + (axis.y - last.y) ** 2 + (axis.z - last.z) ** 2
            if axis.s > wide or (turn >= FINE and change <= STEADY * STEADY):
                break
        if axis.s <= distance:
            if is_on_cap(shapes, a, axis):
                give_back(shapes, a, kept_a)
            if is_on_cap(shapes, b, axis):
                give_back(shapes, b, kept_b)
            merge = MERGE * (min(r_a, r_b) if min(r_a, r_b) > 0.0 else max(r_a, r_b))
            count = solid_points(
                rows, count, p, shapes, a, b, x, y, z, axis, n_points, merge, distance, radix, tools
            )
        give_back(shapes, a, kept_a)
        give_back(shapes, b, kept_b)
    return count


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
def refine(shapes: Shapes, c: int, x: float, y: float, z: float, spacing: float, kept: Prism) -> None:
    """Move corners of the prism of a cylinder to where it is furthest along (x, y, z)."""
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
    middle = np.arctan2(across, along)
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
