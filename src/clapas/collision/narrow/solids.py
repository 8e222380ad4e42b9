"""Two solids (box, polyhedron, triangle, capsule with one of these): distance or depth, then the points.

Apart, the normal is that between the nearest points (:mod:`gjk`); overlapping, or so near that this vector has
lost its digits, it is the axis of least penetration (:mod:`axes`). If a face of one of them lies across the
normal, the contact points are those of the faces (:mod:`manifold`); else the nearest points alone, or, for a
capsule along an edge, those of two segments (:mod:`segments`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.lean import lean_kernel
from clapas.collision.meshes import is_ghost
from clapas.collision.narrow.axes import EDGES, FACE_A, Axis, Guide, Heights, best_axis, new_heights
from clapas.collision.narrow.gjk import APART, BEYOND, Simplex, furthest, gjk, new_simplex
from clapas.collision.narrow.manifold import Bench, face_points, new_bench
from clapas.collision.narrow.segments import Segments, gap_at, nearest, segment_points, segments_between
from clapas.collision.records import CAPSULE, TRIANGLE, Records, Shapes
from clapas.collision.rows import Pairs, between, write
from clapas.compiled import subroutine
from clapas.typing import Indices

NEAR = 1e-6  # of the size: nearer, the vector between nearest points is not trusted
CORNERS = 1e-8  # of the size: further apart than along any axis by this, only corners face each other
MERGE = 1e-5  # of the size: points nearer than this are one
ALONG = 0.1  # sine under which a capsule lies along an edge

POINTS = 3
"""Sort of an axis between nearest points, after those of faces and edges."""


class Tools(NamedTuple):
    """Work space of the kernels."""

    simplex: Simplex
    heights: Heights
    bench: Bench


def new_tools(shapes: Shapes) -> Tools:
    """Work space for the solids of a scene."""
    return Tools(new_simplex(), new_heights(shapes.pieces), new_bench(shapes.faces))


@lean_kernel
def touch_solids(
    which: Indices, pairs: Pairs, shapes: Shapes, distance: float, radix: int, tools: Tools, rows: Records
) -> int:
    """Contacts of pairs of solids, at most nine points each: eight of the faces, and the nearest."""
    count = 0
    for k in range(len(which)):
        p = which[k]
        a, b = pairs.listed[p].i, pairs.listed[p].j
        x, y, z = between(pairs, shapes, p)
        limit = shapes.pieces[a].bound + shapes.pieces[b].bound + distance
        if limit < 0.0 or x * x + y * y + z * z > limit * limit:
            continue
        anywhere = Guide(0.0, 0.0, 0.0, -1.0)
        axis, n_points = axis_between(shapes, a, b, x, y, z, distance, anywhere, tools)
        if axis.s <= distance:
            merge = MERGE * min(shapes.pieces[a].bound, shapes.pieces[b].bound)
            count = solid_points(
                rows, count, p, shapes, a, b, x, y, z, axis, n_points, merge, distance, radix, tools
            )
    return count


@subroutine
def axis_between(
    shapes: Shapes, a: int, b: int, x: float, y: float, z: float, distance: float, guide: Guide, tools: Tools
) -> tuple[Axis, int]:
    """Normal from a to b and signed distance, roundings counted; and how many points the simplex has.

    The distance is infinite when it is beyond the one asked for. The guide is heeded by solids that overlap.
    """
    r, v = shapes.pieces[a].rounding + shapes.pieces[b].rounding, tools.simplex.v
    status, n_points = gjk(shapes, a, b, x, y, z, distance + r, tools.simplex)
    if status == BEYOND:
        return Axis(np.inf, 0.0, 0.0, 1.0, POINTS, -1, -1), n_points
    size = min(shapes.pieces[a].bound, shapes.pieces[b].bound)
    length = 0.0
    if status == APART:
        length = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        if length > NEAR * size:
            return Axis(length - r, v[0] / length, v[1] / length, v[2] / length, POINTS, -1, -1), n_points
    axis = best_axis(shapes, a, b, x, y, z, guide, tools.heights)
    if status == APART and length > max(axis.s, 0.0) + CORNERS * size:
        return Axis(length - r, v[0] / length, v[1] / length, v[2] / length, POINTS, -1, -1), n_points
    return Axis(axis.s - r, axis.x, axis.y, axis.z, axis.sort, axis.i, axis.j), n_points


@subroutine
def solid_points(
    rows: Records,
    count: int,
    p: int,
    shapes: Shapes,
    a: int,
    b: int,
    x: float,
    y: float,
    z: float,
    axis: Axis,
    n_points: int,
    merge: float,
    distance: float,
    radix: int,
    tools: Tools,
) -> int:
    """Write the contact points of a pair whose normal is known."""
    kind_a, kind_b = shapes.pieces[a].kind, shapes.pieces[b].kind
    if axis.sort == POINTS and (
        is_seam(shapes, a, axis, True, n_points, tools.simplex)
        or is_seam(shapes, b, axis, False, n_points, tools.simplex)
    ):
        return count
    is_face = axis.sort < EDGES
    count, least = face_points(
        rows, count, p, shapes, a, b, x, y, z, axis.x, axis.y, axis.z, is_face, merge, distance, radix,
        tools.bench,
    )  # fmt: skip
    # A nearest point on the rim of both faces may be lost by rounding; then it is added.
    if least <= axis.s + CORNERS * min(shapes.pieces[a].bound, shapes.pieces[b].bound):
        return count
    if is_face:
        if kind_a == TRIANGLE or kind_b == TRIANGLE:
            return count  # over a neighbour in the mesh, which has the contact
        return lowest_corner(rows, count, p, shapes, a, b, x, y, z, axis, radix)
    if axis.sort == EDGES:
        return crossing_edges(rows, count, p, shapes, a, b, x, y, z, axis, radix)
    if kind_a == CAPSULE or kind_b == CAPSULE:
        before = count
        count = along_an_edge(rows, count, p, shapes, a, b, x, y, z, axis, distance, radix)
        if count > before:
            return count
    return nearest_points(rows, count, p, shapes, a, b, axis, n_points, radix, tools.simplex)


@subroutine
def is_seam(shapes: Shapes, c: int, axis: Axis, is_first: bool, n_points: int, simplex: Simplex) -> bool:
    """Is the nearest point of c on an inner edge or corner of a mesh, so that a neighbour has it too?"""
    if shapes.pieces[c].kind != TRIANGLE:
        return False
    used, first = 0, shapes.pieces[c].vertex
    for k in range(n_points):
        used |= 1 << ((simplex.points[k].a if is_first else simplex.points[k].b) - first)
    feature = (0, 1, 2, 4, 3, 6, 5, 0)[used]  # corners 1 to 3, sides 4 to 6
    sign = 1.0 if is_first else -1.0
    return is_ghost(shapes, c, feature, sign * axis.x, sign * axis.y, sign * axis.z)


@subroutine
def lowest_corner(
    rows: Records,
    count: int,
    p: int,
    shapes: Shapes,
    a: int,
    b: int,
    x: float,
    y: float,
    z: float,
    axis: Axis,
    radix: int,
) -> int:
    """The deepest corner under a face: what is left when rounding lets the faces miss each other."""
    c, kind, sign = b, 3, -1.0
    if axis.sort != FACE_A:
        c, kind, sign = a, 2, 1.0
        x = y = z = 0.0
    piece, o = shapes.pieces[c], shapes.centres[a]
    row = furthest(shapes, piece.vertex, piece.n_vertices, sign * axis.x, sign * axis.y, sign * axis.z)
    half, v = sign * (piece.rounding + 0.5 * axis.s), shapes.vertices[row]
    x, y, z = o.x + x + v.x + half * axis.x, o.y + y + v.y + half * axis.y, o.z + z + v.z + half * axis.z
    code = kind * radix * radix + row - piece.vertex
    return write(rows, count, p, code, x, y, z, axis.x, axis.y, axis.z, axis.s)


@subroutine
def crossing_edges(
    rows: Records,
    count: int,
    p: int,
    shapes: Shapes,
    a: int,
    b: int,
    x: float,
    y: float,
    z: float,
    axis: Axis,
    radix: int,
) -> int:
    """Contact of two edges, half-way where they pass each other."""
    one, two = shapes.pieces[a], shapes.pieces[b]
    e, f = shapes.edges[one.edge + axis.i], shapes.edges[two.edge + axis.j]
    both = segments_between(
        shapes,
        one.vertex + e.corner_0,
        one.vertex + e.corner_1,
        two.vertex + f.corner_0,
        two.vertex + f.corner_1,
        x,
        y,
        z,
        one.rounding,
        two.rounding,
    )
    s, t = nearest(both)
    half, o = 0.5 * (both.r_a - both.r_b), shapes.centres[a]
    x = o.x + 0.5 * (both.px + s * both.ax + both.qx + t * both.bx) + half * axis.x
    y = o.y + 0.5 * (both.py + s * both.ay + both.qy + t * both.by) + half * axis.y
    z = o.z + 0.5 * (both.pz + s * both.az + both.qz + t * both.bz) + half * axis.z
    return write(rows, count, p, axis.i * radix + axis.j, x, y, z, axis.x, axis.y, axis.z, axis.s)


@subroutine
def along_an_edge(
    rows: Records,
    count: int,
    p: int,
    shapes: Shapes,
    a: int,
    b: int,
    x: float,
    y: float,
    z: float,
    axis: Axis,
    distance: float,
    radix: int,
) -> int:
    """Contacts of a capsule that lies along the edge of the other which n touches. None if it does not."""
    capsule_first = shapes.pieces[a].kind == CAPSULE
    one, two = shapes.pieces[a], shapes.pieces[b]
    c, sign = (two, -1.0) if capsule_first else (one, 1.0)
    top = furthest(shapes, c.vertex, c.n_vertices, sign * axis.x, sign * axis.y, sign * axis.z) - c.vertex
    for k in range(c.n_edges):
        e = shapes.edges[c.edge + k]
        if e.corner_0 != top and e.corner_1 != top:
            continue
        if capsule_first:
            i, i_end, j, j_end = one.vertex, one.vertex + 1, two.vertex + e.corner_0, two.vertex + e.corner_1
        else:
            i, i_end, j, j_end = one.vertex + e.corner_0, one.vertex + e.corner_1, two.vertex, two.vertex + 1
        both = segments_between(shapes, i, i_end, j, j_end, x, y, z, one.rounding, two.rounding)
        if are_along(both, axis):
            s, t = nearest(both)
            if gap_at(both, s, t) <= axis.s + NEAR * min(one.bound, two.bound):
                face = one.face if capsule_first else two.face
                return segment_points(
                    rows, count, p, 4 * radix * radix + 3 * k, both, shapes, a, face, distance
                )
    return count


@subroutine
def are_along(both: Segments, axis: Axis) -> bool:
    """Are two segments nearly parallel, and nearly at right angles to the axis?"""
    ax, ay, az, bx, by, bz = both.ax, both.ay, both.az, both.bx, both.by, both.bz
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    aa, bb = ax * ax + ay * ay + az * az, bx * bx + by * by + bz * bz
    rise_a = axis.x * ax + axis.y * ay + axis.z * az
    rise_b = axis.x * bx + axis.y * by + axis.z * bz
    least = ALONG * ALONG
    return (
        aa * bb > 0.0
        and x * x + y * y + z * z <= least * aa * bb
        and rise_a * rise_a <= least * aa
        and rise_b * rise_b <= least * bb
    )


@subroutine
def nearest_points(
    rows: Records,
    count: int,
    p: int,
    shapes: Shapes,
    a: int,
    b: int,
    axis: Axis,
    n_points: int,
    radix: int,
    simplex: Simplex,
) -> int:
    """The contact half-way between the nearest points of the simplex."""
    o, first = shapes.centres[a], simplex.points[0]
    x, y, z = o.x, o.y, o.z
    one_a = one_b = True
    for k in range(n_points):
        s = simplex.points[k]
        v = shapes.vertices[s.a]
        x, y, z = x + s.weight * v.x, y + s.weight * v.y, z + s.weight * v.z
        one_a &= s.a == first.a
        one_b &= s.b == first.b
    code = radix * radix
    if one_a:
        code = 2 * radix * radix + first.a - shapes.pieces[a].vertex
    elif one_b:
        code = 3 * radix * radix + first.b - shapes.pieces[b].vertex
    along = shapes.pieces[a].rounding + 0.5 * axis.s
    x, y, z = x + along * axis.x, y + along * axis.y, z + along * axis.z
    return write(rows, count, p, code, x, y, z, axis.x, axis.y, axis.z, axis.s)
