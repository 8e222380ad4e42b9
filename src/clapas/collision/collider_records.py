"""Records of the colliders for the kernels, made from the collider table once per scene.

The table describes shapes by size and orientation. Here each collider becomes a centre and, unless it is a
sphere, the corners and normals of a solid, relative to that centre and in the frame of its body; a step then
only rotates them with the body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision import topology as solid_types
from clapas.collision.meshes import seams_of
from clapas.collision.records import (
    BOX,
    CAPSULE,
    CENTRE,
    CYLINDER,
    EDGE,
    FACE,
    PIECE,
    PLANE,
    POINT,
    POLYHEDRON,
    SIDE,
    SPHERE,
    TRIANGLE,
    Records,
    Shapes,
)
from clapas.collision.topology import PRISM_SIDES, Topology, next_side, ranges, starts, topology
from clapas.errors import SceneError
from clapas.geometry.colliders import Colliders
from clapas.typing import Array, Indices

# The prism of a cylinder contains a cylinder of this fraction of its radius, however its corners are moved.
INSCRIBED = 0.9
# Sine by which an edge of a convex hull may be reentrant, to allow for rounding.
CONVEX_TOLERANCE = 1e-6


class Local(NamedTuple):
    """Centres, corners and normals in the frames of the bodies.

    Parameters
    ----------
    centres : array (n, 3)
        Mean of the corners; any point of a plane (m).
    vertices : array (n_vertices, 3)
        Relative to the centre, along the axes of the body (m).
    normals : array (n_faces, 3)
        Outward.
    """

    centres: Array
    vertices: Array
    normals: Array


def collider_shapes(table: Colliders) -> tuple[Shapes, Local]:
    """Records of a table of colliders with all bodies at the origin, and their geometry in body frames."""
    kind = np.asarray(table.kind, dtype=np.int64)
    used, rank = np.unique(table.hull[kind == POLYHEDRON], return_inverse=True)
    parts = topology(table.hulls, used.astype(np.int64), table.d)
    solid = _solids(kind, rank, len(used))
    pieces = _pieces(table, kind, solid, parts)
    local = Local(
        np.zeros((len(table), 3)),
        np.zeros((pieces["n_vertices"].sum(), 3)),
        np.zeros((pieces["n_faces"].sum(), 3)),
    )
    local.centres[:, : table.d] = table.position
    faces = np.zeros(len(local.normals), dtype=FACE)
    if np.any(kind != SPHERE):
        _fill_solids(table, pieces, solid, parts, faces, local)
    seams, neighbours = seams_of(pieces, local.centres, local.vertices)
    sides, edges = np.empty(len(parts.loop), dtype=SIDE), np.empty(len(parts.edge), dtype=EDGE)
    sides["corner"], sides["edge"] = parts.loop, parts.loop_edge
    for column, name in enumerate(EDGE.names or ()):
        edges[name] = parts.edge[:, column]
    centres, vertices = np.zeros(len(table), dtype=CENTRE), np.zeros(len(local.vertices), dtype=POINT)
    centres["bound"] = pieces["bound"]
    return Shapes(pieces, centres, vertices, faces, sides, edges, seams, neighbours), local


def _solids(kind: Indices, hull_rank: Indices, n_hulls: int) -> Indices:
    """Topology number of each collider, −1 for spheres and planes."""
    solid = np.full(len(kind), -1, dtype=np.int64)
    special = {
        CAPSULE: solid_types.SEGMENT,
        TRIANGLE: solid_types.TRIANGLE,
        BOX: solid_types.BOX,
        CYLINDER: solid_types.PRISM,
    }
    for collider_kind, number in special.items():
        solid[kind == collider_kind] = n_hulls + number
    solid[kind == POLYHEDRON] = hull_rank
    return solid


def _pieces(table: Colliders, kind: Indices, solid: Indices, parts: Topology) -> Records:
    pieces = np.zeros(len(table), dtype=PIECE)
    pieces["kind"], pieces["body"] = kind, table.body
    is_solid = solid >= 0
    pieces["n_vertices"][is_solid] = parts.n_vertices[solid[is_solid]]
    pieces["n_faces"] = np.where(kind == PLANE, 3, 0)
    pieces["n_faces"][is_solid] = np.diff(parts.face_start)[solid[is_solid]]
    pieces["edge"][is_solid] = parts.edge_start[:-1][solid[is_solid]]
    pieces["n_edges"][is_solid] = np.diff(parts.edge_start)[solid[is_solid]]
    pieces["vertex"] = starts(pieces["n_vertices"])[:-1]
    pieces["face"] = starts(pieces["n_faces"])[:-1]
    radius = np.asarray(table.size[:, 0], dtype=np.float64)
    pieces["rounding"] = np.where((kind == SPHERE) | (kind == CAPSULE), radius, 0.0)
    pieces["bound"] = np.where(kind == PLANE, np.inf, radius)
    pieces["radius"], pieces["half"] = radius, table.size[:, 1]
    return pieces


def _fill_solids(
    table: Colliders, pieces: Records, solid: Indices, parts: Topology, faces: Records, local: Local
) -> None:
    """Fill centres, corners, faces and bounds of all but spheres."""
    turn = rotation_matrices(table.orientation)
    planes = np.flatnonzero(pieces["kind"] == PLANE)
    for k in range(3):
        up = (k + table.d - 1) % 3  # local z in space, y in the plane, comes first
        local.normals[pieces["face"][planes] + k] = turn[planes][:, :, up]
    rows = np.flatnonzero(solid >= 0)
    if not len(rows):
        return
    counts, first = pieces["n_vertices"][rows], pieces["vertex"][rows]
    V = np.einsum("rij,rj->ri", turn[np.repeat(rows, counts)], _local_corners(table, pieces))
    mean = np.add.reduceat(V, first) / counts[:, None]
    mean[~np.isin(pieces["kind"][rows], (POLYHEDRON, TRIANGLE))] = 0.0  # by symmetry, and without rounding
    local.centres[rows] += mean
    local.vertices[:] = V - np.repeat(mean, counts, axis=0)
    far = np.maximum.reduceat(np.linalg.norm(local.vertices, axis=1), first)
    pieces["bound"][rows] = far + pieces["rounding"][rows]
    _fill_faces(pieces, solid, parts, rows, faces, local)
    _refuse_nonconvex(table, pieces, parts, local)


def rotation_matrices(orientation: Array) -> Array:
    """Matrices (n, 3, 3) of quaternions (n, 4), or of angles (n, 1) about z."""
    if orientation.shape[1] == 1:
        half = orientation[:, 0] / 2.0
        w, z = np.cos(half), np.sin(half)
        x = y = np.zeros(len(half))
    else:
        w, x, y, z = orientation.T
    R = np.empty((len(orientation), 3, 3))
    s = 2.0 / (w * w + x * x + y * y + z * z)
    R[:, 0] = np.column_stack((1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)))
    R[:, 1] = np.column_stack((s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)))
    R[:, 2] = np.column_stack((s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)))
    return R


def _local_corners(table: Colliders, pieces: Records) -> Array:
    """Corners of all solids in the frames of the colliders."""
    V = np.zeros((pieces["n_vertices"].sum(), 3))

    def fill(collider_kind: int, template: Array, scale: tuple[int, int, int]) -> None:
        rows = np.flatnonzero(pieces["kind"] == collider_kind)
        at = pieces["vertex"][rows][:, None] + np.arange(len(template))
        V[at] = template * table.size[rows][:, None, scale]

    angle = 2.0 * np.pi * np.arange(PRISM_SIDES) / PRISM_SIDES
    rim = np.column_stack((np.cos(angle), np.sin(angle), -np.ones(PRISM_SIDES)))
    fill(BOX, 2.0 * ((np.arange(8)[:, None] >> np.array([2, 1, 0])) & 1) - 1.0, (0, 1, 2))
    fill(CAPSULE, np.array([(0.0, 0.0, -1.0), (0.0, 0.0, 1.0)]), (0, 0, 1))
    fill(CYLINDER, np.concatenate((rim, rim * (1.0, 1.0, -1.0))), (0, 0, 1))
    with_hull = np.flatnonzero((pieces["kind"] == POLYHEDRON) | (pieces["kind"] == TRIANGLE))
    source = ranges(table.hulls.vertex_start, table.hull[with_hull])
    lengths = np.diff(table.hulls.vertex_start)[table.hull[with_hull]]
    target = np.repeat(pieces["vertex"][with_hull] - starts(lengths)[:-1], lengths) + np.arange(len(source))
    V[target, : table.d] = table.hulls.vertices[source]
    return V


def _fill_faces(
    pieces: Records, solid: Indices, parts: Topology, rows: Indices, faces: Records, local: Local
) -> None:
    """Fill in the normals, sides and heights of the faces."""
    counts = pieces["n_faces"][rows]
    which = ranges(parts.face_start, solid[rows])  # in the topology, one entry per face of each collider
    owner = np.repeat(rows, counts)
    place = pieces["face"][owner] + which - parts.face_start[solid[owner]]
    faces["side"][place] = parts.loop_start[:-1][which]
    faces["n_sides"][place] = lengths = np.diff(parts.loop_start)[which]
    faces["is_real"][place] = parts.is_real[which]
    sides = ranges(parts.loop_start, which)
    first = np.repeat(pieces["vertex"][owner], lengths)
    here, after = parts.loop[sides] + first, parts.loop[next_side(parts.loop_start)[sides]] + first
    begin = starts(lengths)[:-1]
    local.normals[place] = _normals(local.vertices, here, after, begin, lengths)
    _fill_false_faces(pieces, local)
    along = np.sum(np.repeat(local.normals[place], lengths, axis=0) * local.vertices[here], axis=1)
    faces["height"][place] = np.maximum.reduceat(along, begin)
    inner = np.minimum.reduceat(faces["height"][place], starts(counts)[:-1])
    is_cylinder = pieces["kind"][rows] == CYLINDER
    inner[is_cylinder] = np.minimum(inner[is_cylinder], INSCRIBED * pieces["radius"][rows[is_cylinder]])
    pieces["inner"][rows] = np.maximum(inner, 0.0)


def _normals(V: Array, here: Indices, after: Indices, begin: Indices, lengths: Indices) -> Array:
    """Mean normal over each face (Newell); in the plane, the outward normal of a side of a polygon."""
    p = V[here[begin]]
    u, v = (V[rows] - np.repeat(p, lengths, axis=0) for rows in (here, after))
    normal = np.add.reduceat(np.cross(u, v), begin)
    flat = lengths == 2
    edge = V[after[begin[flat]]] - p[flat]
    normal[flat] = np.column_stack((edge[:, 1], -edge[:, 0], np.zeros(len(edge))))
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    return np.divide(normal, length, out=np.zeros_like(normal), where=length > 0.0)


def _fill_false_faces(pieces: Records, local: Local) -> None:
    """Fill in the normals of false faces: in the plane of each triangle, around the axis of each segment."""
    N, V = local.normals, local.vertices
    triangles = np.flatnonzero(pieces["kind"] == TRIANGLE)
    vertex, face = pieces["vertex"][triangles], pieces["face"][triangles]
    for k in range(3):
        out = np.cross(V[vertex + (k + 1) % 3] - V[vertex + k], N[face])
        N[face + 2 + k] = out / np.linalg.norm(out, axis=1, keepdims=True)
    capsules = np.flatnonzero(pieces["kind"] == CAPSULE)
    axis, face = V[pieces["vertex"][capsules] + 1], pieces["face"][capsules]
    length = np.linalg.norm(axis, axis=1, keepdims=True)
    axis = np.where(length > 0.0, axis, (0.0, 0.0, 1.0)) / np.where(length > 0.0, length, 1.0)
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis), axis=1)])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    N[face], N[face + 1] = across, np.cross(axis, across)
    N[face + 2], N[face + 3] = -N[face], -N[face + 1]


def _refuse_nonconvex(table: Colliders, pieces: Records, parts: Topology, local: Local) -> None:
    """Raise an error unless each polyhedron is convex: no edge reentrant, and its centre inside."""
    rows = np.flatnonzero(pieces["kind"] == POLYHEDRON)
    owner = np.repeat(rows, pieces["n_edges"][rows])
    within = np.arange(len(owner)) - np.repeat(starts(pieces["n_edges"][rows])[:-1], pieces["n_edges"][rows])
    edge = parts.edge[pieces["edge"][owner] + within]
    vertex, face = pieces["vertex"][owner], pieces["face"][owner]
    e = local.vertices[vertex + edge[:, 1]] - local.vertices[vertex + edge[:, 0]]
    turn = np.cross(local.normals[face + edge[:, 3]], local.normals[face + edge[:, 2]])
    inward = np.sum(turn * e, axis=1) < -CONVEX_TOLERANCE * np.linalg.norm(e, axis=1)
    bad = np.concatenate((owner[inward], rows[pieces["inner"][rows] <= 0.0]))
    if bad.size:
        raise SceneError(
            f"collider {bad[0]} (body {table.body[bad[0]]}): hull {table.hull[bad[0]]} is not convex, or a "
            "face is given clockwise; split it into convex pieces, or take the convex hull of its corners"
        )
