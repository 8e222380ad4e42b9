"""Adjacency of the triangles of a mesh, and the removal of ghost contacts at shared corners and edges.

A ball that rolls over a flat floor of triangles stands on one of them; for the next one, taken alone, the ball is
beyond its edge and the contact has a tilted normal: a ghost contact. But the surface does not end at that
edge. The mesh can push along n at an edge (a corner) only if the triangles around it are all below:
n·(w − v) ≤ 0 for their other corners w. Contacts on an edge or a corner with any other normal are dropped,
since a neighbour is nearer and has the true one. On a ridge all triangles around have the same contact; only
the first in the table reports it.

A body that overlaps several triangles around a ridge is separated along one direction, that of least depth, as
from the solid they bound (:mod:`clapas.collision.narrow.seams`).
"""

from __future__ import annotations

import numpy as np

from clapas.collision.records import NEIGHBOUR, SEAM, TRIANGLE, Records, Shapes
from clapas.collision.topology import starts
from clapas.compiled import subroutine
from clapas.typing import Array, Indices

WELD = 1e-9  # of the size of the mesh: corners nearer than this are one
RISE = 1e-9  # sine above which a neighbour is not below: that of rounding, since normals are wrong by as much
LEVEL = 1e-6  # sine below which a seam is flat (coordinates of 32 bits): its triangles push along their own normals


def seams_of(pieces: Records, centres: Array, vertices: Array) -> tuple[Records, Records]:
    """Ranges of neighbours around each corner and side of the triangles, by row of the corner; the neighbours.

    For a corner the neighbours are the other corners of the triangles around it, for a side the corners opposite.
    """
    seams = np.zeros(len(vertices), dtype=SEAM)
    triangles = np.flatnonzero(pieces["kind"] == TRIANGLE)
    if not len(triangles):
        return seams, np.empty(0, dtype=NEIGHBOUR)
    rows = pieces["vertex"][triangles][:, None] + np.arange(3)
    points = _welded(pieces["body"][triangles], vertices[rows] + centres[triangles][:, None, :])
    after, before = np.roll(rows, -1, axis=1), np.roll(rows, 1, axis=1)
    owner = np.repeat(triangles, 3)
    tips = np.roll(points, -1, axis=1)
    ends = np.stack((np.minimum(points, tips), np.maximum(points, tips)), axis=-1).reshape(-1, 2)
    _, lines = np.unique(ends, axis=0, return_inverse=True)
    around = _neighbour_lists(
        np.tile(points.ravel(), 2), np.concatenate((after, before)).ravel(), np.tile(owner, 2)
    )
    across = _neighbour_lists(lines.ravel(), before.ravel(), owner)
    neighbours = np.concatenate((around[1], across[1]))
    for name, key, (start, entries), shift in (
        ("corner", points.ravel(), around, 0),
        ("side", lines.ravel(), across, len(around[1])),
    ):
        seams[name][rows.ravel()] = start[key] + shift
        seams[f"n_{name}s"][rows.ravel()] = np.diff(start)[key]
        # Entries come by growing triangle, so the first is the least.
        seams[f"{name}_first"][rows.ravel()] = entries["piece"][start[key]]
    return seams, neighbours


def _welded(body: Indices, places: Array) -> Indices:
    """Point number of each corner (n, 3), the same for coincident corners of one body."""
    size = np.ptp(places.reshape(-1, 3), axis=0).max()
    cells = np.rint(places.reshape(-1, 3) / (WELD * size)).astype(np.int64)
    _, number = np.unique(np.column_stack((np.repeat(body, 3), cells)), axis=0, return_inverse=True)
    return np.asarray(number).reshape(-1, 3)


def _neighbour_lists(key: Indices, vertex: Indices, piece: Indices) -> tuple[Indices, Records]:
    """Neighbours by key, in a compressed array; the order within a key is kept."""
    order = np.argsort(key, kind="stable")
    entries = np.empty(len(key), dtype=NEIGHBOUR)
    entries["vertex"], entries["piece"] = vertex[order], piece[order]
    return starts(np.bincount(key)), entries


@subroutine
def rises(shapes: Shapes, first: int, count: int, at: int, c: int, nx: float, ny: float, nz: float) -> bool:
    """Whether a neighbour of triangle c rises above its corner at row ``at``, along n."""
    v, o = shapes.vertices[at], shapes.centres[c]
    for k in range(first, first + count):
        w, p = shapes.vertices[shapes.neighbours[k].vertex], shapes.centres[shapes.neighbours[k].piece]
        x, y, z = w.x + p.x - v.x - o.x, w.y + p.y - v.y - o.y, w.z + p.z - v.z - o.z
        if nx * x + ny * y + nz * z > RISE * np.sqrt(x * x + y * y + z * z):
            return True
    return False


@subroutine
def is_ghost(shapes: Shapes, c: int, feature: int, nx: float, ny: float, nz: float) -> bool:
    """Whether a contact on triangle c, with outward normal n, belongs to a neighbour.

    ``feature`` is 0 for its face, 1 + k for corner k, 4 + k for side k.
    """
    if feature == 0:
        return False
    if feature < 4:
        at = shapes.pieces[c].vertex + feature - 1
        seam = shapes.seams[at]
        return seam.corner_first != c or rises(shapes, seam.corner, seam.n_corners, at, c, nx, ny, nz)
    at = shapes.pieces[c].vertex + feature - 4
    seam = shapes.seams[at]
    return seam.side_first != c or rises(shapes, seam.side, seam.n_sides, at, c, nx, ny, nz)


@subroutine
def highest_of(shapes: Shapes, c: int, nx: float, ny: float, nz: float) -> int:
    """Corners of triangle c that are highest along n, as bits 1, 2 and 4; 7 for the whole face."""
    first = shapes.pieces[c].vertex
    p, q, r = shapes.vertices[first], shapes.vertices[first + 1], shapes.vertices[first + 2]
    h0 = nx * p.x + ny * p.y + nz * p.z
    h1 = nx * q.x + ny * q.y + nz * q.z
    h2 = nx * r.x + ny * r.y + nz * r.z
    top = max(h0, h1, h2) - RISE * shapes.pieces[c].bound
    return (h0 >= top) + 2 * (h1 >= top) + 4 * (h2 >= top)


@subroutine
def start_of(highest: int) -> int:
    """The highest corner, or the corner where the highest side starts."""
    if highest == 2 or highest == 6:
        return 1
    return 2 if highest == 4 or highest == 5 else 0


@subroutine
def can_push(shapes: Shapes, c: int, nx: float, ny: float, nz: float) -> bool:
    """Whether a collider can push along n where it is highest: a triangle only if no neighbour rises.

    On a flat seam it cannot, unless n is its normal. There the neighbours are level with it or below by
    rounding: a ridge would be where rounding puts it.
    """
    if shapes.pieces[c].kind != TRIANGLE:
        return True
    highest = highest_of(shapes, c, nx, ny, nz)
    if highest == 7:
        return True
    feature = start_of(highest) + (4 if highest == 3 or highest == 5 or highest == 6 else 1)
    if is_flat_at(shapes, c, feature):
        return False
    at = shapes.pieces[c].vertex + start_of(highest)
    seam = shapes.seams[at]
    if feature >= 4:
        return not rises(shapes, seam.side, seam.n_sides, at, c, nx, ny, nz)
    return not rises(shapes, seam.corner, seam.n_corners, at, c, nx, ny, nz)


@subroutine
def is_flat_at(shapes: Shapes, c: int, feature: int) -> bool:
    """Whether the surface continues flat at a corner (1 + k) or a side (4 + k) of triangle c."""
    n = shapes.faces[shapes.pieces[c].face]
    if feature < 4:
        return is_flat_around(shapes, c, feature - 1, n.x, n.y, n.z)
    return is_flat_beyond(shapes, c, feature - 4, n.x, n.y, n.z)


@subroutine
def is_level(
    shapes: Shapes, first: int, count: int, at: int, c: int, nx: float, ny: float, nz: float
) -> bool:
    """Whether all neighbours of triangle c are level, along n, with its corner at row ``at``."""
    v, o = shapes.vertices[at], shapes.centres[c]
    for k in range(first, first + count):
        w, p = shapes.vertices[shapes.neighbours[k].vertex], shapes.centres[shapes.neighbours[k].piece]
        x, y, z = w.x + p.x - v.x - o.x, w.y + p.y - v.y - o.y, w.z + p.z - v.z - o.z
        if abs(nx * x + ny * y + nz * z) > LEVEL * np.sqrt(x * x + y * y + z * z):
            return False
    return True


@subroutine
def is_flat_beyond(shapes: Shapes, c: int, k: int, nx: float, ny: float, nz: float) -> bool:
    """Whether the surface continues flat, normal to n, beyond side k of triangle c."""
    at = shapes.pieces[c].vertex + k
    seam = shapes.seams[at]
    return seam.n_sides > 1 and is_level(shapes, seam.side, seam.n_sides, at, c, nx, ny, nz)


@subroutine
def is_flat_around(shapes: Shapes, c: int, k: int, nx: float, ny: float, nz: float) -> bool:
    """Whether the surface continues flat, normal to n, around corner k of triangle c."""
    at = shapes.pieces[c].vertex + k
    seam = shapes.seams[at]
    return (
        is_flat_beyond(shapes, c, k, nx, ny, nz)
        and is_flat_beyond(shapes, c, (k + 2) % 3, nx, ny, nz)
        and is_level(shapes, seam.corner, seam.n_corners, at, c, nx, ny, nz)
    )
