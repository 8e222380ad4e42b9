"""Thickness and width of the bodies of a table of colliders."""

from __future__ import annotations

import numpy as np

from clapas.geometry.colliders import Colliders, Kind
from clapas.typing import Array


def thickness(colliders: Colliders, n_bodies: int) -> Array:
    """Half the least thickness of each body (m), (n_bodies,): the radius of a ball, half an edge of a box.

    For a polyhedron, the distance from the mean of its corners to its nearest face. Infinite for planes and
    triangles, which only walls are made of.
    """
    size, kind = colliders.size, colliders.kind
    half = np.full(len(colliders), np.inf)
    is_round = (kind == Kind.SPHERE) | (kind == Kind.CAPSULE)
    half[is_round] = size[is_round, 0]
    half[kind == Kind.CYLINDER] = size[kind == Kind.CYLINDER, :2].min(axis=1)
    half[kind == Kind.BOX] = size[kind == Kind.BOX].min(axis=1)
    hulls = np.flatnonzero(kind == Kind.POLYHEDRON)
    inner = {hull: _inner_radius(colliders, int(hull)) for hull in np.unique(colliders.hull[hulls])}
    half[hulls] = [inner[hull] for hull in colliders.hull[hulls]]
    result = np.full(n_bodies, np.inf)
    np.minimum.at(result, colliders.body, half)
    return result


def reach(colliders: Colliders, n_bodies: int) -> Array:
    """Upper bound of the distance of a body's points from its centre of mass (m); infinite for planes."""
    result = np.zeros(n_bodies)
    np.maximum.at(result, colliders.body, np.linalg.norm(colliders.position, axis=1) + colliders.bound)
    return result


def _inner_radius(colliders: Colliders, hull: int) -> float:
    hulls = colliders.hulls
    vertices = hulls.vertices[hulls.vertex_start[hull] : hulls.vertex_start[hull + 1]]
    normals = hulls.normals[hulls.face_start[hull] : hulls.face_start[hull + 1]]
    return float(((vertices @ normals.T).max(axis=0) - vertices.mean(axis=0) @ normals.T).min())
