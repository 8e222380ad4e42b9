"""Face-to-face contact between deformable bodies: gaps and forces by integrals over the common surface.

A node of one surface has the mean gap around it, weighted by its shape function,

    g_i = n_i · ∫ N_i (x − x̂) / ∫ N_i,        x on the surface, x̂ facing it on the other,

and a contact force r_i acts as a pressure r_i N_i / ∫N_i on both. A constant pressure is transmitted exactly
between non-matching meshes (the patch test), unlike with node-to-side contact. The integrals are over
the overlap of each pair of sides: intervals in the plane, clipped polygons in space, with Gauss
points in each. Complementarity holds for mean gaps, so single nodes may penetrate by a fraction of a cell's
sagitta.

References
----------
Puso, Laursen 2004 (segments and patch test); Popp, Gitterle, Gee, Wall 2010 (weighted gaps).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from clapas.bodies.elastic.contact import (
    ContactRows,
    check_friction,
    check_surfaces,
    frames_of,
    one_kind,
    side_normals,
)
from clapas.bodies.elastic.elements import CORNERS, conical, element, gauss
from clapas.bodies.elastic.solid import Solid
from clapas.compiled import kernel
from clapas.errors import SceneError
from clapas.typing import Array, Indices

REACH = 2.0  # sizes of the largest side: range of the search beyond the nearest pair
SMALL = 1e-10  # of a side: negligible overlap
ROUNDS = 25  # iterations of Newton's method for a point that faces another
CORNERS_LEFT = 10  # bound on the corners of a triangle or quadrilateral clipped by another


@dataclass(frozen=True, kw_only=True)
class MortarContact:
    """Two surfaces that must not overlap on average around each node of the first: face to face.

    Parameters
    ----------
    surface, other : str
        Groups; the first carries the multipliers: take the finer or the softer one.
    mu : float
        Coefficient of friction, ≥ 0.
    reach : float, optional
        Distance (m) of the search for facing sides; by default twice the largest side farther than the
        nearest pair. Pairs are found at the start of each increment.

    Examples
    --------
    >>> MortarContact(surface="high/bottom", other="low/top", mu=0.3).mu
    0.3
    """

    surface: str
    other: str
    mu: float = 0.0
    reach: float | None = None

    @property
    def motion(self) -> None:
        """None: both surfaces move with their bodies."""
        return None

    def __post_init__(self) -> None:
        check_friction(self.mu)
        check_surfaces(self.surface, self.other)
        if self.reach is not None and not self.reach > 0.0:
            raise SceneError(f"reach must be positive, got {self.reach!r}")

    def place(self, solid: Solid, u: Array, shift: Array, step: Array) -> PlacedMortar:
        """Weights of the mean gaps at displacement u."""
        nodes = solid.mesh.group(self.surface)
        kind, rows = one_kind(solid, self.surface)
        other_kind, others = one_kind(solid, self.other)
        for group, word in ((self.surface, kind), (self.other, other_kind)):
            if word == "T6":
                raise SceneError(
                    f"surface '{group}' has quadratic triangles, whose corners have no share of a constant "
                    "pressure: take Hex8 or Tet4 for face-to-face contact, or SurfaceContact"
                )
        on_axis = solid.kinematics == "axisymmetric" and (solid.mesh.nodes[rows, 0] <= 0.0).any()
        if kind == "L3" and on_axis:
            raise SceneError(
                f"surface '{self.surface}' has quadratic sides at the axis, whose node there has no share of "
                "a constant pressure: take linear cells, or the other surface as the first"
            )
        shared = np.intersect1d(rows, others)
        if shared.size:
            raise SceneError(
                f"surfaces '{self.surface}' and '{self.other}' share node {shared[0]}: a side cannot face "
                "itself"
            )
        position = solid.mesh.nodes + u.reshape(-1, solid.d)
        pairs = facing_pairs(position, kind, rows, other_kind, others, self.reach)
        cut = _intervals if solid.d == 2 else _polygons
        points = cut(position, kind, rows, other_kind, others, pairs)
        weight = points.weight * solid.thickness
        N = element(kind).functions(points.own)
        if solid.kinematics == "axisymmetric":
            weight = weight * 2.0 * np.pi * np.einsum("qk,qk->q", N, position[rows[points.side], 0])
        N_other = element(other_kind).functions(points.other)
        n = solid.mesh.n_nodes
        own = _integrals(N, rows[points.side], N, rows[points.side], weight, n)
        across = _integrals(N, rows[points.side], N_other, others[points.facing], weight, n)
        covered: Array = np.bincount(
            rows[points.side].ravel(), (weight[:, None] * N).ravel(), minlength=n
        ).astype(float)
        frames = frames_of(-_nodal_normals(position, kind, rows, nodes))
        least = SMALL * float(solid.areas(self.surface)[nodes].max())
        return _placed(nodes, frames, (own - across).tocsr()[nodes], covered[nodes], least, position, u)


class Points(NamedTuple):
    """Gauss points of the common parts: sides, reference points on both, areas (m or m²)."""

    side: Indices
    facing: Indices
    own: Array
    other: Array
    weight: Array


@dataclass(frozen=True, eq=False)
class PlacedMortar:
    """Mean gaps around nodes, linear in displacements from the last equilibrium ``last``."""

    nodes: Indices
    dofs: Indices
    H: Array
    frames: Array
    gap: Array
    last: Array

    def rows(self, u: Array) -> ContactRows:
        """Rows at u; see :class:`clapas.bodies.elastic.contact.Placed`."""
        motion = np.einsum("ncm,nm->nc", self.H, (u - self.last)[self.dofs])
        return ContactRows(self.dofs, self.H, self.gap + motion[:, 0], motion[:, 1:], frames=self.frames)


def _placed(
    nodes: Indices,
    frames: Array,
    C: sparse.csr_array,
    covered: Array,
    least: float,
    position: Array,
    u: Array,
) -> PlacedMortar:
    """Rows of mean gaps from weights C (n, n_nodes) of all nodes; nodes that face no side stay open."""
    n, d = len(nodes), position.shape[1]
    faced = covered > least
    share = sparse.diags_array(np.where(faced, 1.0 / np.where(faced, covered, 1.0), 0.0))
    C = sparse.csr_array(share @ C)
    C.eliminate_zeros()
    # As many columns as the longest row, the node itself first; shorter rows repeat it with weight zero.
    own = sparse.csr_array((np.ones(n), (np.arange(n), nodes)), shape=C.shape)
    counts = np.diff(sparse.csr_array(abs(C) + own).indptr)
    width = int(counts.max(initial=1))
    columns = np.repeat(nodes[:, None], width, axis=1)
    values = np.zeros((n, width))
    coo = C.tocoo()
    on_diagonal = coo.col == nodes[coo.row]
    values[coo.row[on_diagonal], 0] = coo.data[on_diagonal]
    row, column, value = coo.row[~on_diagonal], coo.col[~on_diagonal], coo.data[~on_diagonal]
    order = np.argsort(row, kind="stable")
    row, column, value = row[order], column[order], value[order]
    slot = 1 + np.arange(len(row)) - np.searchsorted(row, np.arange(n))[row]
    columns[row, slot], values[row, slot] = column, value
    values[~faced, 0] = 1.0
    mean = np.einsum("nk,nkd->nd", values, position[columns])
    gap = np.einsum("nd,nd->n", frames[:, 0], mean)
    size = float(np.ptp(position, axis=0).max())
    gap = np.where(faced, gap, size)
    H = (values[:, None, :, None] * frames[:, :, None, :]).reshape(n, d, -1)
    dofs = (columns[:, :, None] * d + np.arange(d)).reshape(n, -1)
    return PlacedMortar(nodes, dofs, H, frames, gap, u)


def _integrals(
    a: Array, rows: Indices, b: Array, columns: Indices, weight: Array, n: int
) -> sparse.csr_array:
    """Σ w a_i b_k over the points, as a matrix between nodes."""
    values = weight[:, None, None] * a[:, :, None] * b[:, None, :]
    row = np.broadcast_to(rows[:, :, None], values.shape).ravel()
    column = np.broadcast_to(columns[:, None, :], values.shape).ravel()
    return sparse.csr_array(sparse.coo_array((values.ravel(), (row, column)), shape=(n, n)).tocsr())


def _nodal_normals(position: Array, kind: str, rows: Indices, nodes: Indices) -> Array:
    """Mean outward normals at the nodes of a surface, (n, d)."""
    normal = np.zeros_like(position)
    for corner, place in enumerate(element(kind).nodes):
        contribution = side_normals(position[rows], kind, np.tile(place, (len(rows), 1)))
        np.add.at(normal, rows[:, corner], contribution)
    normals = normal[nodes]
    length = np.linalg.norm(normals, axis=1)
    normals[length == 0.0] = np.eye(position.shape[1])[-1]  # nodes of the group without a side
    return np.asarray(normals / np.where(length > 0.0, length, 1.0)[:, None])


def facing_pairs(
    position: Array, kind: str, rows: Indices, other_kind: str, others: Indices, reach: float | None
) -> tuple[Indices, Indices]:
    """Sides that may overlap: near each other, with opposed normals."""
    centre, facing = position[rows].mean(axis=1), position[others].mean(axis=1)
    radius = np.linalg.norm(position[rows] - centre[:, None], axis=2).max(axis=1)
    other_radius = np.linalg.norm(position[others] - facing[:, None], axis=2).max(axis=1)
    tree = cKDTree(facing)
    if reach is None:
        largest = max(float(radius.max()), float(other_radius.max()))
        reach = float(tree.query(centre)[0].min()) + 2.0 * REACH * largest
    near = tree.query_ball_point(centre, radius + float(other_radius.max()) + reach)
    a = np.repeat(np.arange(len(rows)), [len(candidates) for candidates in near])
    b = np.concatenate([np.asarray(sorted(candidates), dtype=np.int64) for candidates in near])
    opposed = np.einsum(
        "nd,nd->n", _middle_normals(position, kind, rows)[a], _middle_normals(position, other_kind, others)[b]
    )
    return a[opposed < 0.0], b[opposed < 0.0]


def _middle_normals(position: Array, kind: str, rows: Indices) -> Array:
    middle = element(kind).nodes[: CORNERS[kind]].mean(axis=0)
    return side_normals(position[rows], kind, np.tile(middle, (len(rows), 1)))


# ------------------------------------------------------------------ common parts


def _intervals(
    position: Array,
    kind: str,
    rows: Indices,
    other_kind: str,
    others: Indices,
    pairs: tuple[Indices, Indices],
) -> Points:
    """In the plane: the other's ends are projected on the chord of a side, along its normal."""
    a, b = pairs
    start, end = position[rows[a, 0]], position[rows[a, 1]]
    chord = end - start
    ends = np.stack(
        [
            2.0 * np.einsum("nd,nd->n", position[others[b, k]] - start, chord) / (chord**2).sum(axis=1) - 1.0
            for k in (0, 1)
        ]
    )
    low, high = np.maximum(ends.min(axis=0), -1.0), np.minimum(ends.max(axis=0), 1.0)
    kept = high - low > SMALL
    a, b, low, high = a[kept], b[kept], low[kept], high[kept]
    rule = gauss(4, 1)
    xi = (0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * rule.points[:, 0]).reshape(-1, 1)
    g = len(rule.weights)
    a, b, half = np.repeat(a, g), np.repeat(b, g), np.repeat(0.5 * (high - low), g)
    side = element(kind)
    x = np.einsum("qk,qkd->qd", side.functions(xi), position[rows[a]])
    along = np.einsum("qkd,qke->qde", position[rows[a]], side.gradients(xi))[:, :, 0]
    normal = side_normals(position[rows[a]], kind, xi)
    eta = seen_along(x, normal, position[others[b]], other_kind)
    weight = np.tile(rule.weights, len(low)) * half * np.linalg.norm(along, axis=1)
    return Points(a, b, xi, eta, weight)


def _polygons(
    position: Array,
    kind: str,
    rows: Indices,
    other_kind: str,
    others: Indices,
    pairs: tuple[Indices, Indices],
) -> Points:
    """In space: both sides are projected on the plane of the first, and clipped against each other."""
    a, b = pairs
    own_corners, other_corners = CORNERS[kind], CORNERS[other_kind]
    normal = _middle_normals(position, kind, rows)
    centre = position[rows[:, :own_corners]].mean(axis=1)
    tangents = frames_of(normal)[:, 1:]
    flat = np.einsum("nkd,nad->nka", position[rows[:, :own_corners]] - centre[:, None], tangents)
    facing = position[others[b][:, :other_corners]] - centre[a][:, None]
    window = np.einsum("nkd,nad->nka", facing, tangents[a])[:, ::-1]  # reversed: it faces the first
    corners, count = np.zeros((len(a), CORNERS_LEFT, 2)), np.zeros(len(a), dtype=np.int64)
    clip(flat[a], np.ascontiguousarray(window), corners, count)
    # A fan of triangles about the middle of each part.
    real = np.arange(CORNERS_LEFT) < count[:, None]
    middle = (corners * real[:, :, None]).sum(axis=1) / np.maximum(count, 1)[:, None]
    following = np.where(np.arange(CORNERS_LEFT) + 1 < count[:, None], np.arange(CORNERS_LEFT) + 1, 0)
    after = np.take_along_axis(corners, following[:, :, None], axis=1)
    e, f = corners - middle[:, None], after - middle[:, None]
    area = np.where(real, 0.5 * (e[:, :, 0] * f[:, :, 1] - e[:, :, 1] * f[:, :, 0]), 0.0)
    size = np.ptp(flat, axis=1).max(axis=1)[a] ** 2
    pair, corner = np.nonzero(area > SMALL * size[:, None])
    rule = conical(3, 2)
    y = (
        middle[pair][:, None]
        + rule.points[:, 0][:, None] * e[pair, corner][:, None]
        + rule.points[:, 1][:, None] * f[pair, corner][:, None]
    ).reshape(-1, 2)
    weight = (2.0 * area[pair, corner][:, None] * rule.weights).ravel()
    pair = np.repeat(pair, len(rule.weights))
    a, b = a[pair], b[pair]
    x = centre[a] + np.einsum("qa,qad->qd", y, tangents[a])
    xi = seen_along(x, normal[a], position[rows[a]], kind)
    eta = seen_along(x, normal[a], position[others[b]], other_kind)
    return Points(a, b, xi, eta, weight)


def seen_along(x: Array, direction: Array, corners: Array, kind: str) -> Array:
    """Reference points of sides with nodes (n, k, d) hit by rays from points x (n, d) along a direction.

    Newton's method on x(ξ) − t n − x = 0 for ξ and t.
    """
    side = element(kind)
    xi = np.tile(side.nodes[: CORNERS[kind]].mean(axis=0), (len(x), 1))
    t = np.zeros(len(x))
    for _ in range(ROUNDS):
        defect = np.einsum("qk,qkd->qd", side.functions(xi), corners) - t[:, None] * direction - x
        slope = np.einsum("qkd,qke->qde", corners, side.gradients(xi))
        matrix = np.concatenate((slope, -direction[:, :, None]), axis=2)
        change = np.linalg.solve(matrix, defect[:, :, None])[:, :, 0]
        xi, t = xi - change[:, :-1], t - change[:, -1]
        if np.abs(change[:, :-1]).max(initial=0.0) < 1e-13:
            break
    return xi


@kernel
def clip(subjects: Array, windows: Array, corners: Array, count: Indices) -> None:
    """Cut convex polygons (p, k, 2) by convex windows (p, m, 2), both counterclockwise.

    The common parts are written to ``corners`` (p, most, 2) with their numbers of corners (p,). Sutherland
    and Hodgman's method: each edge of the window cuts off the part to its right.
    """
    work = np.empty((corners.shape[1], 2))
    for p in range(subjects.shape[0]):
        n = subjects.shape[1]
        for i in range(n):
            corners[p, i] = subjects[p, i]
        m = windows.shape[1]
        for j in range(m):
            x, y = windows[p, j, 0], windows[p, j, 1]
            dx, dy = windows[p, (j + 1) % m, 0] - x, windows[p, (j + 1) % m, 1] - y
            for i in range(n):
                work[i] = corners[p, i]
            kept = 0
            for i in range(n):
                current, following = work[i], work[(i + 1) % n]
                left = dx * (current[1] - y) - dy * (current[0] - x)
                next_left = dx * (following[1] - y) - dy * (following[0] - x)
                if left >= 0.0 and kept < corners.shape[1]:
                    corners[p, kept] = current
                    kept += 1
                if left * next_left < 0.0 and kept < corners.shape[1]:
                    share = left / (left - next_left)
                    corners[p, kept, 0] = current[0] + share * (following[0] - current[0])
                    corners[p, kept, 1] = current[1] + share * (following[1] - current[1])
                    kept += 1
            n = kept
            if n == 0:
                break
        count[p] = n
