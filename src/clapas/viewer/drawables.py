"""Drawables of the viewer page: the shapes of the bodies, grouped for the graphics card.

A drawable is one of

    sphere      spheres, disks in the plane: radius
    box         boxes: half edges
    cylinder    cylinders along local z: radius, half length
    mesh        convex polyhedra, polygons: triangles and the edges to be shown, shared by all copies
    surface     a triangle mesh, likewise, with one copy
    ground      a flat polygon, the visible part of a half-space

each with, for every copy, the body that carries it and its position and orientation in the body frame.
A capsule is two spheres and a cylinder. Deformable bodies (rods, cables, elastic bodies) are drawn by their
skins, see :mod:`clapas.viewer.skins`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clapas.dynamics.model import Model
from clapas.geometry import rotations
from clapas.geometry.colliders import Colliders, Hulls, Kind
from clapas.typing import Array, Indices
from clapas.viewer.frames import quaternions, single, spatial

NO_KIND = -1  # of a shape that is not drawn


@dataclass(frozen=True)
class Drawable:
    """Copies of a shape, each carried by a body.

    Parameters
    ----------
    kind : str
        See the head of this file.
    body : array (n,)
        Body of each copy.
    position, orientation : arrays (n, 3), (n, 4)
        Of each copy in the frame of its body.
    arrays : dict
        Other arrays of the kind.
    """

    kind: str
    body: Indices
    position: Array
    orientation: Array
    arrays: dict[str, npt.NDArray[Any]]

    def packed(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays for transmission to the page."""
        return {
            "body": self.body.astype("i4"),
            "position": single(self.position),
            "orientation": single(self.orientation),
            **self.arrays,
        }


def drawables(model: Model, centre: Array, reach: float, but: Indices | Sequence[int] = ()) -> list[Drawable]:
    """The drawables of a model.

    Parameters
    ----------
    model : Model
        Bodies and shapes.
    centre, reach : array (3,), float
        A ball around the visible part (m): half-spaces are drawn within it.
    but : sequence of int
        Bodies that are not drawn by their shapes.
    """
    from clapas.viewer.ground import grounds

    makers: list[Callable[[Colliders], Iterator[Drawable]]] = [
        _spheres,
        _boxes,
        _cylinders,
        _meshes,
        _surfaces,
    ]
    hidden = np.isin(model.colliders.body, but)
    colliders = replace(model.colliders, kind=np.where(hidden, NO_KIND, model.colliders.kind))
    shapes = [drawable for make in makers for drawable in make(colliders)]
    return shapes + list(grounds(model, centre, reach))


def _spheres(colliders: Colliders) -> Iterator[Drawable]:
    rows = np.flatnonzero(colliders.kind == Kind.SPHERE)
    if len(rows):
        yield _copies("sphere", colliders, rows, radius=single(colliders.size[rows, 0]))
    capsules = np.flatnonzero(colliders.kind == Kind.CAPSULE)
    for end in (-1.0, 1.0) if len(capsules) else ():
        yield _copies(
            "sphere",
            colliders,
            capsules,
            offset=end * colliders.size[capsules, 1],
            radius=single(colliders.size[capsules, 0]),
        )


def _boxes(colliders: Colliders) -> Iterator[Drawable]:
    rows = np.flatnonzero(colliders.kind == Kind.BOX)
    if len(rows):
        yield _copies("box", colliders, rows, half=single(colliders.size[rows]))


def _cylinders(colliders: Colliders) -> Iterator[Drawable]:
    rows = np.flatnonzero((colliders.kind == Kind.CYLINDER) | (colliders.kind == Kind.CAPSULE))
    if len(rows):
        yield _copies("cylinder", colliders, rows, size=single(colliders.size[rows, :2]))


def _meshes(colliders: Colliders) -> Iterator[Drawable]:
    """Convex polyhedra and polygons: one drawable per hull, a copy per collider that has it."""
    rows = np.flatnonzero(colliders.kind == Kind.POLYHEDRON)
    for hull in np.unique(colliders.hull[rows]):
        vertices, triangles, edges = hull_surface(colliders.hulls, int(hull), colliders.d)
        yield _copies(
            "mesh",
            colliders,
            rows[colliders.hull[rows] == hull],
            vertices=single(vertices),
            triangles=triangles.astype("i4"),
            edges=edges.astype("i4"),
        )


def _surfaces(colliders: Colliders) -> Iterator[Drawable]:
    """Triangle meshes: all the triangles of a body in one drawable."""
    rows = np.flatnonzero(colliders.kind == Kind.TRIANGLE)
    for body in np.unique(colliders.body[rows]):
        triangles_of_body = rows[colliders.body[rows] == body]
        first = colliders.hulls.vertex_start[colliders.hull[triangles_of_body]]
        local = colliders.hulls.vertices[first[:, None] + np.arange(3)]
        turn = rotations.to_matrix(colliders.orientation[triangles_of_body])
        corners = np.einsum("nij,nkj->nki", turn, local) + colliders.position[triangles_of_body][:, None]
        vertices = corners.reshape(-1, 3)
        triangles = np.arange(len(vertices)).reshape(-1, 3)
        yield Drawable(
            "surface",
            np.array([body]),
            np.zeros((1, 3)),
            np.array([[1.0, 0.0, 0.0, 0.0]]),
            {
                "vertices": single(vertices),
                "triangles": triangles.astype("i4"),
                "edges": sharp_edges(vertices, triangles).astype("i4"),
            },
        )


def hull_surface(hulls: Hulls, hull: int, d: int) -> tuple[Array, Indices, Indices]:
    """Vertices (n, 3), triangles (m, 3) and edges (k, 2) of a hull."""
    start, end = hulls.vertex_start[hull], hulls.vertex_start[hull + 1]
    vertices = spatial(hulls.vertices[start:end])
    if d == 2:
        ring = np.arange(len(vertices))
        return vertices, _fan(ring), np.column_stack((ring, np.roll(ring, -1)))
    loops = [
        hulls.face_vertices[hulls.loop_start[k] : hulls.loop_start[k + 1]]
        for k in range(hulls.face_start[hull], hulls.face_start[hull + 1])
    ]
    edges = np.concatenate([np.column_stack((loop, np.roll(loop, -1))) for loop in loops])
    triangles = np.concatenate([_fan(loop) for loop in loops])
    return vertices, triangles, np.unique(np.sort(edges, axis=1), axis=0)


def sharp_edges(vertices: Array, triangles: Indices, least: float = 0.02) -> Indices:
    """Visible edges (k, 2) of a mesh: its border, and angles between faces above ``least`` (rad)."""
    _, same = np.unique(vertices.round(9), axis=0, return_inverse=True)
    corners = vertices[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    sides: dict[tuple[int, int], list[int]] = {}
    for face, triangle in enumerate(same[triangles].reshape(-1, 3).tolist()):
        for k in range(3):
            p, q = triangle[k], triangle[(k + 1) % 3]
            sides.setdefault((min(p, q), max(p, q)), []).append(face)
    shown = [
        pair
        for pair, faces in sides.items()
        if len(faces) != 2 or abs(normal[faces[0]] @ normal[faces[1]]) < np.cos(least)
    ]
    where = np.unique(same, return_index=True)[1]
    return np.asarray(where[np.array(shown, dtype=np.int64).reshape(-1, 2)])


def volumes(model: Model) -> Array:
    """Volume of each body (m³; m² in the plane), its pieces added up; 0 for walls without one."""
    colliders = model.colliders
    size, pi = colliders.size, np.pi
    first, second = size[:, 0], size[:, 1]
    ball = pi * first**2 if model.d == 2 else 4.0 / 3.0 * pi * first**3
    by_kind = {
        Kind.SPHERE: ball,
        Kind.BOX: 8.0 * size.prod(axis=1),
        Kind.CYLINDER: 2.0 * pi * first**2 * second,
        Kind.CAPSULE: ball + 2.0 * pi * first**2 * second,
        Kind.POLYHEDRON: _hull_volumes(colliders)[colliders.hull],
    }
    volume = np.zeros(len(colliders))
    for kind, values in by_kind.items():
        volume = np.where(colliders.kind == kind, values, volume)
    return np.asarray(np.bincount(colliders.body, weights=volume, minlength=model.n_bodies), dtype=float)


def _hull_volumes(colliders: Colliders) -> Array:
    """Volume of each hull, and a zero at the end for the colliders without one."""
    hulls, d = colliders.hulls, colliders.d
    volume_of_hull = np.zeros(len(hulls.vertex_start))
    for hull in np.unique(colliders.hull[colliders.kind == Kind.POLYHEDRON]):
        vertices, triangles, _ = hull_surface(hulls, int(hull), d)
        a, b, c = vertices[triangles].transpose(1, 0, 2)
        flat, solid = np.cross(b - a, c - a)[:, 2] / 2.0, (a * np.cross(b, c)).sum(axis=1) / 6.0
        volume_of_hull[hull] = (flat if d == 2 else solid).sum()
    return volume_of_hull


def _copies(
    kind: str,
    colliders: Colliders,
    rows: Indices,
    offset: Array | None = None,
    **arrays: npt.NDArray[Any],
) -> Drawable:
    """The colliders of some rows; ``offset`` moves each along its own z."""
    position = colliders.position[rows]
    if offset is not None:
        position = position + rotations.rotate(
            colliders.orientation[rows], np.array([0.0, 0.0, 1.0]) * offset[:, None]
        )
    turn = quaternions(colliders.orientation[rows])
    return Drawable(kind, colliders.body[rows], spatial(position), turn, arrays)


def _fan(loop: Indices) -> Indices:
    return np.column_stack((np.full(len(loop) - 2, loop[0]), loop[1:-1], loop[2:]))
