"""Topology of solids: faces and edges as corner numbers, without coordinates.

Every collider with flat sides, and every segment, is a *solid*: corners, faces, edges. Their incidence is
the same for all boxes, so it is stored once per type of solid.

The method of separating axes needs the two outward normals on either side of an edge: its *arc* on the
sphere of normals. A solid without volume has arcs of half a turn and more, which two normals do not
define. So a triangle gets three false faces (its sides, with a normal in its plane) and a segment four
(around its axis), which cut these arcs into quarter turns; false faces never have contacts.

Edges are directed against the product of their two normals: (corner 1 − corner 0) is along b × a for faces
(a, b).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from clapas.errors import SceneError
from clapas.geometry.colliders import Hulls
from clapas.typing import Indices

PRISM_SIDES = 16

BOX_LOOPS = ((0, 2, 6, 4), (1, 5, 7, 3), (0, 4, 5, 1), (2, 3, 7, 6), (0, 1, 3, 2), (4, 6, 7, 5))
"""Corner number 4·(x > 0) + 2·(y > 0) + (z > 0)."""


class Topology(NamedTuple):
    """Incidence of corners, faces and edges of each type of solid, in compressed arrays.

    Parameters
    ----------
    n_vertices : array (m,)
        Corners of each solid.
    face_start : array (m + 1,)
        Faces of each solid.
    is_real : array (n_faces,)
        0 for a false face.
    loop_start : array (n_faces + 1,)
        Sides of each face.
    loop : array
        Corner where each side starts, counterclockwise seen from outside.
    loop_edge : array
        Edge of each side.
    edge_start : array (m + 1,)
        Edges of each solid.
    edge : array (n_edges, 4)
        Two corners, two faces.
    """

    n_vertices: Indices
    face_start: Indices
    is_real: Indices
    loop_start: Indices
    loop: Indices
    loop_edge: Indices
    edge_start: Indices
    edge: Indices


SEGMENT, TRIANGLE, BOX, PRISM = range(4)
"""Numbers of the special solids, counted after the last hull."""


def topology(hulls: Hulls, used: Indices, d: int) -> Topology:
    """Topology of a scene: the hulls used, then segment, triangle, box and prism."""
    parts = [_of_hulls(hulls, used, d), *_special()]
    return Topology(
        n_vertices=np.concatenate([part.n_vertices for part in parts]),
        face_start=_joined_starts([part.face_start for part in parts]),
        is_real=np.concatenate([part.is_real for part in parts]),
        loop_start=_joined_starts([part.loop_start for part in parts]),
        loop=np.concatenate([part.loop for part in parts]),
        loop_edge=np.concatenate([part.loop_edge for part in parts]),
        edge_start=_joined_starts([part.edge_start for part in parts]),
        edge=np.concatenate([part.edge for part in parts]),
    )


@cache
def _special() -> tuple[Topology, ...]:
    return _segment(), _triangle(), _from_loops(8, BOX_LOOPS), _prism(PRISM_SIDES)


def starts(lengths: Indices) -> Indices:
    """Start of each row of these lengths in a compressed array, and the end.

    >>> starts(np.array([2, 0, 1]))
    array([0, 2, 2, 3])
    """
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def ranges(start: Indices, rows: Indices) -> Indices:
    """Indices of the entries of some rows of a compressed array, row after row.

    >>> ranges(np.array([0, 2, 2, 3]), np.array([2, 0]))
    array([2, 0, 1])
    """
    lengths = np.diff(start)[rows]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.asarray(np.repeat(start[:-1][rows], lengths) + within, dtype=np.int64)


def next_side(loop_start: Indices) -> Indices:
    """The next side around the face, for each side.

    >>> next_side(np.array([0, 3, 5]))
    array([1, 2, 0, 4, 3])
    """
    following = np.arange(1, loop_start[-1] + 1)
    lengths = np.diff(loop_start)
    following[loop_start[1:][lengths > 0] - 1] = loop_start[:-1][lengths > 0]
    return following


def _joined_starts(parts: list[Indices]) -> Indices:
    return starts(np.concatenate([np.diff(start) for start in parts]))


def _int_array(values: object) -> Indices:
    return np.array(values, dtype=np.int64)


def _of_hulls(hulls: Hulls, used: Indices, d: int) -> Topology:
    faces = ranges(hulls.face_start, used)
    loop = _int_array(hulls.face_vertices)[ranges(hulls.loop_start, faces)]
    face_start = starts(np.diff(hulls.face_start)[used])
    loop_start = starts(np.diff(hulls.loop_start)[faces])
    edge_start: Indices
    edge: Indices
    if d == 2:
        edge_start, edge = np.zeros(len(used) + 1, dtype=np.int64), np.empty((0, 4), dtype=np.int64)
        loop_edge = np.zeros_like(loop)
    else:
        edge_start, edge, loop_edge = edges_of_loops(face_start, loop_start, loop)
    return Topology(
        n_vertices=_int_array(np.diff(hulls.vertex_start)[used]),
        face_start=face_start,
        is_real=np.ones(len(faces), dtype=np.int64),
        loop_start=loop_start,
        loop=loop,
        loop_edge=loop_edge,
        edge_start=edge_start,
        edge=edge,
    )


def edges_of_loops(
    face_start: Indices, loop_start: Indices, loop: Indices
) -> tuple[Indices, Indices, Indices]:
    """Edges of closed solids: each is shared by two sides of opposite direction.

    Returns
    -------
    edge_start, edge, loop_edge : arrays
        See :class:`Topology`.
    """
    n_solids, n_sides = len(face_start) - 1, len(loop)
    face = np.repeat(np.arange(len(loop_start) - 1), np.diff(loop_start))
    solid = np.repeat(np.arange(n_solids), np.diff(loop_start[face_start]))
    tip = loop[next_side(loop_start)]
    base = loop.max(initial=0) + 1
    here, back = (solid * base + loop) * base + tip, (solid * base + tip) * base + loop
    order = np.argsort(here)
    twin = order[np.minimum(np.searchsorted(here[order], back), n_sides - 1)] if n_sides else order
    open_sides = np.flatnonzero(here[twin] != back)
    if open_sides.size:
        raise SceneError(
            f"hull {solid[open_sides[0]]}: its faces do not close, one edge belongs to one face only; "
            "give each face counterclockwise seen from outside, and all of them"
        )
    first = np.flatnonzero(np.arange(n_sides) < twin)
    number = np.searchsorted(first, np.minimum(np.arange(n_sides), twin))
    edge_start = starts(np.bincount(solid[first], minlength=n_solids))
    local = face - face_start[solid]
    edge = np.column_stack((tip[first], loop[first], local[first], local[twin[first]]))
    return edge_start, edge.astype(np.int64), number - edge_start[solid]


def _from_loops(n_vertices: int, loops: tuple[tuple[int, ...], ...]) -> Topology:
    face_start = _int_array([0, len(loops)])
    loop_start = starts(_int_array([len(loop) for loop in loops]))
    loop = _int_array([corner for loop in loops for corner in loop])
    edge_start, edge, loop_edge = edges_of_loops(face_start, loop_start, loop)
    real = np.ones(len(loops), dtype=np.int64)
    return Topology(_int_array([n_vertices]), face_start, real, loop_start, loop, loop_edge, edge_start, edge)


def _prism(n: int) -> Topology:
    """Corners 0 to n − 1 around the bottom, n to 2n − 1 around the top; faces bottom, top, sides."""
    sides = tuple((k, (k + 1) % n, n + (k + 1) % n, n + k) for k in range(n))
    return _from_loops(2 * n, (tuple(range(n - 1, -1, -1)), tuple(range(n, 2 * n)), *sides))


def _triangle() -> Topology:
    """Faces front, back, and the three false ones; each side is two edges, front to side, side to back."""
    edges = [[((k + 1) % 3, k, 0, 2 + k), ((k + 1) % 3, k, 2 + k, 1)] for k in range(3)]
    return Topology(
        n_vertices=_int_array([3]),
        face_start=_int_array([0, 5]),
        is_real=_int_array([1, 1, 0, 0, 0]),
        loop_start=_int_array([0, 3, 6, 8, 10, 12]),
        loop=_int_array([0, 1, 2, 0, 2, 1, 0, 1, 1, 2, 2, 0]),
        loop_edge=_int_array([0, 2, 4, 4, 2, 0, 0, 0, 2, 2, 4, 4]),
        edge_start=_int_array([0, 6]),
        edge=_int_array(edges).reshape(6, 4),
    )


def _segment() -> Topology:
    """Corners bottom and top; four false faces around the axis."""
    return Topology(
        n_vertices=_int_array([2]),
        face_start=_int_array([0, 4]),
        is_real=_int_array([0, 0, 0, 0]),
        loop_start=_int_array([0, 2, 4, 6, 8]),
        loop=_int_array([0, 1] * 4),
        loop_edge=_int_array([0] * 8),
        edge_start=_int_array([0, 4]),
        edge=_int_array([(1, 0, k, (k + 1) % 4) for k in range(4)]),
    )
