"""Volumes of bodies from their colliders (areas in 2-D)."""

from __future__ import annotations

import math

import numpy as np

from clapas.geometry.colliders import Colliders, Hulls, Kind
from clapas.geometry.mass import of_polygon, of_triangles
from clapas.typing import Array


def body_volumes(colliders: Colliders, n_bodies: int) -> Array:
    """Volume of each body (m³; m² in 2-D), (N,): the sum over its parts.

    Parts of a clump that overlap count twice. Planes and triangles, which bound no volume, count 0.
    """
    volume = np.zeros(n_bodies)
    np.add.at(volume, colliders.body, _of_simple_kinds(colliders))
    for row in np.flatnonzero(colliders.kind == Kind.POLYHEDRON):
        volume[colliders.body[row]] += _of_hull(colliders.hulls, int(colliders.hull[row]), colliders.d)
    return volume


def _of_simple_kinds(colliders: Colliders) -> Array:
    r, h = colliders.size[:, 0], colliders.size[:, 1]
    ball = math.pi * r**2 if colliders.d == 2 else 4 / 3 * math.pi * r**3
    volumes = {
        Kind.SPHERE: ball,
        Kind.CAPSULE: 4 / 3 * math.pi * r**3 + 2 * math.pi * r**2 * h,
        Kind.CYLINDER: 2 * math.pi * r**2 * h,
        Kind.BOX: 8 * np.prod(colliders.size, axis=1),
    }
    volume = np.zeros(len(colliders))
    for kind, values in volumes.items():
        rows = colliders.kind == kind
        volume[rows] = values[rows]
    return volume


def _of_hull(hulls: Hulls, hull: int, d: int) -> float:
    vertices = hulls.vertices[hulls.vertex_start[hull] : hulls.vertex_start[hull + 1]]
    if d == 2:
        return of_polygon(vertices[:, :2])[0]
    triangles = []
    for face in range(hulls.face_start[hull], hulls.face_start[hull + 1]):
        loop = hulls.face_vertices[hulls.loop_start[face] : hulls.loop_start[face + 1]]
        triangles += [(loop[0], loop[k], loop[k + 1]) for k in range(1, len(loop) - 1)]
    return of_triangles(vertices, np.array(triangles))[0]
