"""The table of colliders: the geometry of the bodies for collision detection, as arrays.

A collider is one convex piece (or one triangle, or a half-space) fixed to a body. A body has one, a
clump several, a triangle mesh one per triangle. The table is constant during a run; positions and
orientations of the bodies come from the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np

from clapas.typing import Array, Indices


class Kind(IntEnum):
    """Kinds of colliders, numbered as in the kernels.

    3-D sizes are (radius, 0, 0) for a SPHERE; (radius, half length, 0) for a CAPSULE or a CYLINDER,
    whose axis is local z; half edges for a BOX; unused for a PLANE, the half-space local z ≤ 0; the
    vertices of a POLYHEDRON and of a TRIANGLE are in the hull table. 2-D: a SPHERE is a disk, a
    POLYHEDRON a convex polygon (vertices counterclockwise), a PLANE the half-plane local y ≤ 0.
    """

    SPHERE = 0
    PLANE = 1
    CAPSULE = 2
    BOX = 3
    CYLINDER = 4
    POLYHEDRON = 5
    TRIANGLE = 6


@dataclass(frozen=True)
class Hulls:
    """Convex polyhedra (polygons in 2-D, triangles) in compressed arrays, in local coordinates.

    Hull h has vertices ``vertices[vertex_start[h]:vertex_start[h+1]]`` and faces number
    ``face_start[h]`` to ``face_start[h+1]``; face k has the (local) vertex numbers
    ``face_vertices[loop_start[k]:loop_start[k+1]]``, counterclockwise seen from outside, and the outward
    unit normal ``normals[k]``. In 2-D faces are edges (two vertices).
    """

    vertices: Array
    vertex_start: Indices
    normals: Array
    face_start: Indices
    face_vertices: Indices
    loop_start: Indices

    def __repr__(self) -> str:
        return f"Hulls({len(self.vertex_start) - 1} with {len(self.vertices)} vertices)"


@dataclass(frozen=True)
class Colliders:
    """Table of colliders, one row each.

    Parameters
    ----------
    d : 2 or 3
        Dimension.
    body : array (n,)
        Body of each collider. Rows are sorted by body.
    kind : array (n,) of int8
        See :class:`Kind`.
    position : array (n, d)
        Centre in the body frame (m).
    orientation : array (n, 4) in 3-D, (n, 1) in 2-D
        Quaternion (w, x, y, z), or angle, in the body frame.
    size : array (n, 3)
        See :class:`Kind` (m).
    bound : array (n,)
        Radius of the sphere about ``position`` that contains it; infinite for a PLANE.
    material : array (n,)
        Number of the material.
    hull : array (n,)
        Its row in ``hulls``, or −1.
    hulls : Hulls
        Vertices and faces.
    """

    d: int
    body: Indices
    kind: Indices
    position: Array
    orientation: Array
    size: Array
    bound: Array
    material: Indices
    hull: Indices
    hulls: Hulls

    def __len__(self) -> int:
        return len(self.body)

    def __repr__(self) -> str:
        return f"Colliders({len(self)} in {self.d}-D)"

    def of_first_bodies(self, count: int) -> Colliders:
        """The rows of the first bodies; hulls are shared."""
        return self._rows(slice(0, int(np.searchsorted(self.body, count))))

    def rows_of(self, bodies: Indices) -> Indices:
        """Rows of some bodies, in increasing order."""
        first, last = np.searchsorted(self.body, bodies), np.searchsorted(self.body, bodies, side="right")
        count = last - first
        return np.repeat(first - np.cumsum(count) + count, count) + np.arange(int(count.sum()))

    def of_bodies(self, bodies: Indices) -> Colliders:
        """The rows of some bodies, in increasing order and renumbered from 0; hulls are shared."""
        part = self._rows(self.rows_of(bodies))
        return replace(part, body=np.searchsorted(bodies, part.body))

    def _rows(self, rows: slice | Indices) -> Colliders:
        columns = "body kind position orientation size bound material hull".split()
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})


ONE_ZERO = bytes(8)
MANY_ROWS = 10_000  # that threads share


def zeros_without_room(shape: tuple[int, ...]) -> Array:
    """A read-only array of zeros that are all one number in memory (strides 0)."""
    return np.ndarray(shape, np.float64, ONE_ZERO, strides=(0,) * len(shape))


def order_by_identity(a: Indices, b: Indices, feature: Indices) -> Indices:
    """Order of contacts by their two bodies, then by feature; quick where they come in a few sorted runs."""
    pair = a * (b.max(initial=0) + 1) + b
    order = np.argsort(pair, kind="stable")
    pair, features = pair[order], feature[order]
    if np.any((pair[1:] == pair[:-1]) & (features[1:] < features[:-1])):
        return np.lexsort((feature, b, a))
    return order


def rows_of(table: Any, rows: Indices) -> Any:
    """Some rows of a table, in the given order; tables with strides 0 stay so."""
    if table.ndim == 2 and table.strides == (0, 0):
        return zeros_without_room((len(rows), table.shape[1]))
    if table.ndim == 2 and table.strides[0] == 0 and len(table):
        return np.broadcast_to(table[0], (len(rows), table.shape[1]))
    return table.take(rows, axis=0)  # half the time of table[rows]


def rows_of_all(columns: Sequence[Any], rows: Indices) -> list[Any]:
    """Some rows of several tables of the same length; those that share one array still do."""
    tables = {id(column): column for column in columns}
    if len(rows) < MANY_ROWS:
        taken = {key: rows_of(table, rows) for key, table in tables.items()}
    else:
        taken = _rows_by_threads(tables, rows)
    return [taken[id(column)] for column in columns]


def _rows_by_threads(tables: dict[int, Any], rows: Indices) -> dict[int, Any]:
    from clapas.compiled.sharing import share_rows  # loads the compiler

    taken, whole = {}, []
    for key, table in tables.items():
        if table.strides[0]:
            taken[key] = np.empty((len(rows), *table.shape[1:]), table.dtype)
            whole.append((table, taken[key]))
        else:
            taken[key] = rows_of(table, rows)

    def take(part: slice) -> None:
        for table, new in whole:
            np.take(table, rows[part], axis=0, out=new[part], mode="clip")  # others copy the output once more

    share_rows(len(rows), take)
    return taken


def one_row_if_alike(table: Array) -> Array:
    """The table (n, k); if its rows are all equal, a read-only view of a single row."""
    if len(table) < 2 or not (table == table[0]).all():
        return table
    return np.broadcast_to(table[0].copy(), table.shape)


@dataclass(frozen=True)
class Contacts:
    """Contacts found, one row each, sorted by identity (a, b, feature).

    Parameters
    ----------
    a, b : arrays (n,)
        The two bodies, a < b; the normal goes from a to b.
    collider_a, collider_b : arrays (n,)
        Rows of the collider table; the arrays a and b themselves where collider k is that of body k.
    feature : array (n,) of int64
        Identity of the point within the pair (edge, vertex, face clipping): stable from step to step, so
        that impulses can be carried over.
    point : array (n, d)
        Contact point in world coordinates (m): in the middle of the gap.
    normal : array (n, d)
        Unit normal from a to b.
    gap : array (n,)
        Signed distance (m), positive when apart.
    shift : array (n, d)
        Vector from b to its periodic image that touches a (m); zero without periodic boundaries.
    """

    a: Indices
    b: Indices
    collider_a: Indices
    collider_b: Indices
    feature: Indices
    point: Array
    normal: Array
    gap: Array
    shift: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if self.shift.size == 0:
            object.__setattr__(self, "shift", zeros_without_room(self.point.shape))

    def __len__(self) -> int:
        return len(self.a)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} in {self.point.shape[1]}-D)"

    @property
    def bodies(self) -> Indices:
        """The two bodies of each contact, (n, 2); a new array at each call."""
        pairs = np.empty((len(self.a), 2), dtype=np.int64)
        pairs[:, 0], pairs[:, 1] = self.a, self.b
        return pairs

    def take(self, rows: Indices) -> Contacts:
        """Some of the contacts, in the given order."""
        return Contacts(*rows_of_all([getattr(self, name) for name in Contacts.__dataclass_fields__], rows))

    @staticmethod
    def none(d: int) -> Contacts:
        """No contact."""
        whole, vectors = np.empty(0, dtype=np.int64), np.empty((0, d))
        return Contacts(whole, whole, whole, whole, whole, vectors, vectors, np.empty(0))
