"""Shapes of bodies in place: tests whether they contain points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clapas.geometry import rotations
from clapas.geometry.colliders import Colliders, Kind
from clapas.typing import Array, Indices, Mask


@dataclass(frozen=True)
class Parts:
    """The convex parts of bodies in the world: a body has one, a clump several.

    Parameters
    ----------
    colliders : Colliders
        The parts in the frames of their bodies, m rows.
    position, orientation : arrays (N, d), (N, 4) or (N, 1)
        Positions (m) and orientations (quaternions or angles) of the bodies.
    """

    colliders: Colliders
    position: Array
    orientation: Array

    @cached_property
    def centre(self) -> Array:
        """Centres of the parts in the world, (m, d) (m)."""
        body = self.colliders.body
        offset = rotations.rotate(self.orientation[body], self.colliders.position)
        return np.asarray(self.position[body] + offset)

    def contain(self, rows: Indices, offsets: Array) -> Mask:
        """Whether part ``rows[k]`` contains the point at ``offsets[k]`` (m) from its centre, (k,).

        Planes and triangles bound no volume: they contain nothing.
        """
        table = self.colliders
        turn = rotations.compose(self.orientation[table.body[rows]], table.orientation[rows])
        local = rotations.rotate_back(turn, offsets)
        size, kind = table.size[rows], table.kind[rows]
        inside = np.zeros(len(rows), dtype=bool)
        tests = {
            Kind.SPHERE: _in_ball,
            Kind.CAPSULE: _in_capsule,
            Kind.CYLINDER: _in_cylinder,
            Kind.BOX: _in_box,
        }
        for chosen in np.unique(kind).tolist():
            if chosen in tests:
                rows_of_kind = kind == chosen
                inside[rows_of_kind] = tests[Kind(chosen)](local[rows_of_kind], size[rows_of_kind])
        hulls = np.where(kind == Kind.POLYHEDRON, table.hull[rows], -1)
        for hull in np.unique(hulls[hulls >= 0]):
            inside[hulls == hull] = self._in_hull(int(hull), local[hulls == hull])
        return inside

    def _in_hull(self, hull: int, local: Array) -> Mask:
        """Behind every face; the corner that is farthest along a normal lies on its face."""
        table, d = self.colliders.hulls, local.shape[1]
        vertices = table.vertices[table.vertex_start[hull] : table.vertex_start[hull + 1], :d]
        normals = table.normals[table.face_start[hull] : table.face_start[hull + 1], :d]
        return np.asarray(np.all(local @ normals.T <= (vertices @ normals.T).max(axis=0), axis=1))


def _in_ball(local: Array, size: Array) -> Mask:
    return np.asarray(np.linalg.norm(local, axis=1) <= size[:, 0])


def _in_capsule(local: Array, size: Array) -> Mask:
    beyond = np.maximum(np.abs(local[:, 2]) - size[:, 1], 0.0)
    return np.asarray(np.hypot(np.hypot(local[:, 0], local[:, 1]), beyond) <= size[:, 0])


def _in_cylinder(local: Array, size: Array) -> Mask:
    across = np.hypot(local[:, 0], local[:, 1])
    return np.asarray((across <= size[:, 0]) & (np.abs(local[:, 2]) <= size[:, 1]))


def _in_box(local: Array, size: Array) -> Mask:
    return np.asarray(np.all(np.abs(local) <= size, axis=1))
