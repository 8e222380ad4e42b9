"""Connected solid pieces of a triangulated surface, and how far each is from convex.

Blocks of a wall touch. Where a file gives them equal corners, two faces coincide and four or more triangles
meet at an edge, so a common edge is not enough to tell blocks apart. Around such an edge the neighbour of a
triangle is the next one reached *through matter*: turning about the edge from the inner side of the triangle,
the first triangle that runs along the edge in the opposite direction. Coincident triangles bound different
solids, so the turn from one to the other is a full one.

Reference: Weiler 1988 (the radial order of faces about an edge).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError, cKDTree

from clapas.typing import Array, Indices, Mask

SAME_PLACE = 1e-7  # of the size of the mesh: corners nearer than this are one
SAME_FACE = 1e-4  # angle (rad) under which two triangles at an edge lie on each other


@dataclass(frozen=True)
class SolidPiece:
    """A connected surface.

    Parameters
    ----------
    vertices : array (n, 3)
        Corners (m).
    triangles : array (m, 3)
        Rows of vertices, counterclockwise seen from outside if the surface is closed.
    is_closed : bool
        Whether every triangle has a neighbour at each of its edges, so that the surface has an inside.
    """

    vertices: Array
    triangles: Indices
    is_closed: bool

    @cached_property
    def volume(self) -> float:
        """Volume inside a closed surface (m³); NaN if it is open."""
        return signed_volume(self.vertices, self.triangles) if self.is_closed else float("nan")

    @cached_property
    def hull_volume(self) -> float:
        """Volume of the convex hull (m³); 0 for flat pieces."""
        try:
            return float(ConvexHull(self.vertices - self.vertices.mean(axis=0)).volume)
        except QhullError:
            return 0.0

    @property
    def excess(self) -> float:
        """Volume of the hull relative to that of the piece, minus 1; NaN if it is open."""
        return self.hull_volume / self.volume - 1.0 if self.volume != 0.0 else float("inf")

    @property
    def extent(self) -> Array:
        """Lengths along x, y and z, (3,) (m)."""
        return np.asarray(np.ptp(self.vertices, axis=0))


def split(vertices: Array, triangles: Indices) -> list[SolidPiece]:
    """The connected pieces of a mesh, in the order of their first triangles.

    Coincident corners are merged first. Pieces that are inside out are reversed.

    Examples
    --------
    Two cubes that share a face are two pieces:

    >>> from clapas.geometry.shapes import Polyhedron
    >>> from clapas.geometry.shapes.hull import fan
    >>> corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    >>> cube = fan(Polyhedron(corners).hull.faces)
    >>> both = np.concatenate((corners, corners + (1, 0, 0))), np.concatenate((cube, cube + 8))
    >>> [piece.volume for piece in split(*both)]
    [1.0, 1.0]
    """
    points, rows = _welded(vertices, triangles)
    if len(rows) == 0:
        return []
    if signed_volume(points, rows) < 0.0:  # all of it is inside out
        rows = rows[:, ::-1]
    first, second = _partners(points, rows)
    graph = sparse.coo_array((np.ones(len(first)), (first // 3, second // 3)), shape=(len(rows),) * 2)
    label = connected_components(graph, directed=False)[1]
    paired = np.zeros(3 * len(rows), dtype=bool)
    paired[first] = paired[second] = True
    complete: Mask = np.all(paired.reshape(-1, 3), axis=1)
    _, start = np.unique(label, return_index=True)
    pieces = []
    for piece in np.argsort(start, kind="stable"):
        in_piece = label == piece
        used, renumbered = np.unique(rows[in_piece], return_inverse=True)
        pieces.append(_oriented(points[used], renumbered.reshape(-1, 3), bool(complete[in_piece].all())))
    return pieces


def signed_volume(points: Array, rows: Indices) -> float:
    """Volume inside a closed surface (m³), negative if it is inside out: Σ a·(b × c)/6 over its triangles."""
    a, b, c = (points - points.mean(axis=0))[rows].transpose(1, 0, 2)
    return float(np.einsum("ni,ni->", a, np.cross(b, c)) / 6.0)


def _oriented(points: Array, rows: Indices, is_closed: bool) -> SolidPiece:
    piece = SolidPiece(points, rows, is_closed)
    return SolidPiece(points, rows[:, ::-1], True) if is_closed and piece.volume < 0.0 else piece


def _welded(vertices: Array, triangles: Indices) -> tuple[Array, Indices]:
    """The mesh with coincident vertices merged, without triangles that became an edge or a point."""
    size = float(np.ptp(vertices, axis=0).max(initial=0.0))
    pairs = cKDTree(vertices).query_pairs(SAME_PLACE * size, output_type="ndarray")
    graph = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(vertices),) * 2)
    place = connected_components(graph, directed=False)[1]
    _, first = np.unique(place, return_index=True)
    rows = place[triangles]
    proper = (rows[:, 0] != rows[:, 1]) & (rows[:, 1] != rows[:, 2]) & (rows[:, 2] != rows[:, 0])
    return vertices[first], rows[proper].astype(np.int64)


def _partners(points: Array, rows: Indices) -> tuple[Indices, Indices]:
    """Pairs of half-edges (3 · triangle + k, from corner k to the next) across which a solid continues."""
    tail, head = rows.ravel(), np.roll(rows, -1, axis=1).ravel()
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    order = np.lexsort((high, low))
    ends = np.flatnonzero(np.diff(low[order]) | np.diff(high[order])) + 1
    first, second = [], []
    for group in np.split(order, ends):
        up, down = group[tail[group] < head[group]], group[tail[group] > head[group]]
        if len(up) == len(down) == 1:
            first.append(int(up[0]))
            second.append(int(down[0]))
        elif len(up) and len(down):
            for one, other in _through_matter(
                points, rows, up, down, (int(low[group[0]]), int(high[group[0]]))
            ):
                first.append(one)
                second.append(other)
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)


def _through_matter(
    points: Array, rows: Indices, up: Indices, down: Indices, edge: tuple[int, int]
) -> list[tuple[int, int]]:
    """Partners among half-edges that run along an edge (``up``) and against it (``down``).

    Seen against the direction of the edge a triangle is a ray. With corners counterclockwise seen from
    outside, matter lies clockwise of a ray whose half-edge runs along the edge.
    """
    start, end = points[edge[0]], points[edge[1]]
    along = (end - start) / np.linalg.norm(end - start)
    third = rows.ravel()[3 * (np.r_[up, down] // 3) + (np.r_[up, down] + 2) % 3]
    arm = points[third] - start
    arm = arm - np.outer(arm @ along, along)
    across = arm[0] / np.linalg.norm(arm[0])
    angle = np.arctan2(arm @ np.cross(along, across), arm @ across)
    turn = np.mod(angle[None, len(up) :] - angle[: len(up), None], 2.0 * np.pi)  # (up, down)
    turn = 2.0 * np.pi - turn  # matter is clockwise
    turn = np.where(turn > 2.0 * np.pi - SAME_FACE, turn - 2.0 * np.pi, turn)
    turn = np.where(turn < SAME_FACE, turn + 2.0 * np.pi, turn)
    pairs, free_up, free_down = [], set(range(len(up))), set(range(len(down)))
    for k in np.argsort(turn, axis=None, kind="stable"):
        i, j = divmod(int(k), len(down))
        if i in free_up and j in free_down:
            pairs.append((int(up[i]), int(down[j])))
            free_up.discard(i)
            free_down.discard(j)
    return pairs
