"""The surface of an elastic body for detection: balls at its nodes, slabs under its sides.

Rigid faces touch the nodes, and rigid corners and grains touch the sides. Each node has a small ball that
touches the surface from inside; gaps are measured from the node. Each side is a segment in the plane, a
triangle in space (quadratic sides are several), with a slab under it that moves with it but keeps its initial
size and serves to find pairs. Contacts are then corrected on the deformed side: the point x of the other
body is projected on it,

    x = Σ β_k x_k + g n,     Σ β_k = 1,

and there is a contact with gap g along the outward normal n if the projection is on the side, and not at one
of its nodes, which has its ball. The contact moves with the nodes by the weights β. In space a ball on a
ridge between two triangles projects beyond their common edge on both: it touches the edge. Pairs found along
another normal are not those of a side and a corner: they are faces of other bodies, which touch the
nodes, and in space crossing edges, which are not detected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from clapas.bodies.elastic.contact import side_normals
from clapas.bodies.elastic.elements import element
from clapas.bodies.elastic.mesh import Mesh
from clapas.bodies.kind import Poses, Touches
from clapas.bodies.touched import Neighbourhood, Sides
from clapas.geometry import rotations
from clapas.geometry.colliders import Contacts, Kind
from clapas.geometry.shapes import Disk, Polygon, Sphere
from clapas.geometry.shapes.base import Shape
from clapas.geometry.shapes.polyhedron import Polyhedron
from clapas.typing import Array, Indices, Mask

SKIN = 1e-4  # radius of the balls at the nodes, as a share of the shortest side
DEPTH = 0.2  # of the slabs, as a share of the shortest side
LONGER = {2: 1.1, 3: 1.5}  # length of a slab per length of its side, which may stretch, by d
AT_NODE = 1e-6  # of a side: a contact this near to a node belongs to the node
BEYOND = 1e-9  # of a side: gap between neighbours due to rounding
ALONG = 1.0 - 1e-6  # cosine: a corner before a side is found along the normal of the side
FACING = 0.9999  # cosine: balls of two nodes touch along the normal of the surface
ALIKE = 4.0  # ratio of radii up to which another ball is that of a node, and no grain

SIMPLICES = {  # linear parts of the sides of elements
    "L2": ((0, 1),),
    "L3": ((0, 2), (2, 1)),
    "T3": ((0, 1, 2),),
    "T6": ((0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)),
    "Q4": ((0, 1, 2), (0, 2, 3)),
}


@dataclass(frozen=True, eq=False)
class SurfaceCarriers:
    """Balls at the nodes of a surface, then slabs under its sides.

    Parameters
    ----------
    mesh : Mesh
        The undeformed body.
    groups : tuple of str, or None
        The surface; the whole boundary by default.
    with_sides : bool
        Whether sides touch, or nodes alone.
    skin : float or None
        Radius of the balls (m).
    """

    mesh: Mesh
    groups: tuple[str, ...] | None
    with_sides: bool
    skin: float | None

    @cached_property
    def faces(self) -> list[tuple[str, Indices]]:
        """Sides of the surface, by element."""
        names: Sequence[str | None] = (None,) if self.groups is None else self.groups
        return [item for name in names for item in self.mesh.sides(name).items()]

    @cached_property
    def nodes(self) -> Indices:
        """Nodes of the surface."""
        return np.unique(np.concatenate([rows.ravel() for _, rows in self.faces]))

    @cached_property
    def sides(self) -> Indices:
        """Nodes of the linear parts of the sides, (k, d)."""
        if not self.with_sides:
            return np.empty((0, self.mesh.d), dtype=np.int64)
        return np.vstack([rows[:, list(part)] for kind, rows in self.faces for part in SIMPLICES[kind]])

    @cached_property
    def neighbours(self) -> Indices:
        """The side across the edge opposite to each node of a triangle, (k, d); −1 where there is none."""
        across = np.full(self.sides.shape, -1)
        if self.mesh.d == 2 or not len(self.sides):
            return across
        edges = np.sort(self.sides[:, [[1, 2], [2, 0], [0, 1]]], axis=2).reshape(-1, 2)
        order = np.lexsort(edges.T)
        same = np.flatnonzero((edges[order][1:] == edges[order][:-1]).all(axis=1))
        first, second = order[same], order[same + 1]
        across.ravel()[first], across.ravel()[second] = second // 3, first // 3
        return across

    @property
    def n(self) -> int:
        """Number of carriers."""
        return len(self.nodes) + len(self.sides)

    @cached_property
    def shortest(self) -> float:
        """Length of the shortest side of the boundary (m)."""
        x = self.mesh.nodes
        return min(
            float(np.linalg.norm(x[rows[:, 1]] - x[rows[:, 0]], axis=1).min())
            for rows in self.mesh.boundary.values()
        )

    @property
    def radius(self) -> float:
        """Radius of the balls (m)."""
        return SKIN * self.shortest if self.skin is None else self.skin

    @cached_property
    def shapes(self) -> list[tuple[int, Shape]]:
        """Carriers with their shapes."""
        ball: Shape = Disk(self.radius) if self.mesh.d == 2 else Sphere(self.radius)
        shapes: list[tuple[int, Shape]] = [(k, ball) for k in range(len(self.nodes))]
        corners, depth = self.mesh.nodes[self.sides], DEPTH * self.shortest
        poses = self._slabs(self.mesh.nodes)
        for k, points in enumerate(corners):
            if self.mesh.d == 2:
                length = LONGER[2] * float(np.linalg.norm(points[1] - points[0]))
                slab: Shape = Polygon.rectangle(length, depth)
            else:
                local = rotations.rotate_back(
                    np.tile(poses.orientation[k], (3, 1)), LONGER[3] * (points - points.mean(axis=0))
                )
                local[:, 2] = 0.5 * depth
                slab = Polyhedron(np.concatenate((local, local - np.array([0.0, 0.0, depth]))))
            shapes.append((len(self.nodes) + k, slab))
        return shapes

    @property
    def names(self) -> list[str]:
        """Names of the carriers: nodes by their numbers in the mesh, sides by those of their nodes."""
        sides = [f"side {'-'.join(map(str, nodes))}" for nodes in self.sides]
        return [f"node {node}" for node in self.nodes] + sides

    # ---------------------------------------------------------------- positions

    def poses(self, position: Array) -> Poses:
        """Balls inside their nodes by their radius, slabs under their sides, from positions of all nodes."""
        centres = position[self.nodes] - self.radius * self.normals(position)
        still = np.tile(rotations.identity(self.mesh.d), (len(centres), 1))
        slabs = self._slabs(position)
        return Poses(np.concatenate((centres, slabs.position)), np.concatenate((still, slabs.orientation)))

    def normals(self, position: Array) -> Array:
        """Mean outward normals at the nodes of the surface, (n_nodes of it, d)."""
        normal = np.zeros_like(position)
        for kind, rows in self.faces:
            side = element(kind)
            for corner in range(rows.shape[1]):
                contribution = side_normals(position[rows], kind, np.tile(side.nodes[corner], (len(rows), 1)))
                for axis in range(self.mesh.d):
                    normal[:, axis] += np.bincount(
                        rows[:, corner], contribution[:, axis], minlength=len(position)
                    )
        outward = normal[self.nodes]
        length = np.linalg.norm(outward, axis=1)
        return np.asarray(outward / np.where(length > 0.0, length, 1.0)[:, None])

    def _slabs(self, position: Array) -> Poses:
        corners = position[self.sides]
        if not len(corners):
            return Poses(np.empty((0, self.mesh.d)), np.empty((0, 1 if self.mesh.d == 2 else 4)))
        normal = simplex_normals(corners)
        centre = corners.mean(axis=1) - 0.5 * DEPTH * self.shortest * normal
        along = corners[:, 1] - corners[:, 0]
        if self.mesh.d == 2:
            # The slab lies under its upper edge: x along the side reversed, y outwards.
            return Poses(centre, np.arctan2(-normal[:, 0], normal[:, 1])[:, None])
        along = along / np.linalg.norm(along, axis=1)[:, None]
        axes = np.stack((along, np.cross(normal, along), normal), axis=2)
        return Poses(centre, rotations.from_matrix(axes))

    # ---------------------------------------------------------------- motion

    def weights(self, position: Array, at: Touches) -> tuple[Indices, Array]:
        """Nodes (n, d) and their weights at points of carriers; a ball has one node, with weight 1."""
        d, count = self.mesh.d, len(self.nodes)
        on_side = at.carrier >= count
        nodes = np.empty((len(at.carrier), d), dtype=np.int64)
        beta = np.zeros((len(at.carrier), d))
        nodes[~on_side] = self.nodes[at.carrier[~on_side]][:, None]
        beta[~on_side, 0] = 1.0
        nodes[on_side] = self.sides[at.carrier[on_side] - count]
        projection, _ = projected(at.point[on_side], position[nodes[on_side]])
        beta[on_side] = projection
        return nodes, beta

    def jacobian(self, position: Array, at: Touches, column: Indices, n_dof: int) -> sparse.csr_array:
        """Velocities of points of carriers, (d·n × n_dof); ``column`` numbers the free displacements."""
        d = self.mesh.d
        nodes, beta = self.weights(position, at)
        columns = column[nodes[:, :, None] * d + np.arange(d)]  # (n, d nodes, d)
        rows = np.broadcast_to(np.arange(len(nodes))[:, None, None] * d + np.arange(d), columns.shape)
        values = np.broadcast_to(beta[:, :, None], columns.shape)
        present = (columns >= 0) & (values != 0.0)
        entries = values[present], (rows[present], columns[present])
        return sparse.csr_array(sparse.coo_array(entries, shape=(len(nodes) * d, n_dof)).tocsr())

    # ---------------------------------------------------------------- contacts

    def refined(self, position: Array, found: Contacts, own: Sides, others: Neighbourhood) -> Contacts:
        """The contacts on the true sides; those at nodes, beside sides and of folded pairs are left out."""
        count = len(self.nodes)
        keep = np.ones(len(found), dtype=bool)
        point, normal, gap = found.point.copy(), found.normal.copy(), found.gap.copy()
        both = (own.a >= 0) & (own.b >= 0)
        if both.any():
            keep[both] = self._may_touch(own.a[both], own.b[both])
        for mine, other, sign in ((own.a, own.b, 1.0), (own.b, own.a, -1.0)):
            # ``sign`` · normal points out of this body. Of two own carriers the ball is the other.
            at = np.flatnonzero(keep & (mine >= count) & (other < count))
            if at.size:
                outward, shift = sign * found.normal[at], (0.0 if sign > 0 else 1.0) * found.shift[at]
                x = found.point[at] + 0.5 * found.gap[at, None] * outward
                corners = position[self.sides[mine[at] - count]]
                beta, true_gap = projected(x - shift, corners)
                true_normal = simplex_normals(corners)
                facing = np.einsum("nd,nd->n", true_normal, outward) > ALONG
                facing &= beta.max(axis=1) <= 1.0 - AT_NODE
                on = facing & (beta.min(axis=1) >= -BEYOND)
                keep[at] = on
                normal[at], gap[at] = sign * true_normal, true_gap
                point[at] = x - 0.5 * true_gap[:, None] * true_normal
                row = (found.collider_b if sign > 0 else found.collider_a)[at]
                ball = facing & ~on & (others.colliders.kind[row] == Kind.SPHERE)
                if self.mesh.d == 3 and ball.any():
                    at, row, side = at[ball], row[ball], mine[at[ball]] - count
                    radius = others.colliders.size[row, 0]
                    centre = x[ball] - shift[ball] + radius[:, None] * outward[ball]
                    ridge, away, on_edge = self._on_ridges(position, centre, beta[ball], side, row)
                    at, away, on_edge = at[ridge], away[ridge], on_edge[ridge]
                    length = np.linalg.norm(away, axis=1)
                    keep[at] = True
                    gap[at] = length - radius[ridge]
                    unit = away / length[:, None]
                    normal[at] = sign * unit
                    point[at] = on_edge + 0.5 * gap[at, None] * unit + shift[ball][ridge]
            balls = np.flatnonzero(keep & (mine >= 0) & (mine < count) & (other < 0))
            if balls.size:
                outward = sign * found.normal[balls]
                cosine = np.einsum("nd,nd->n", self.normals(position)[mine[balls]], outward)
                keep[balls] = self._faces_it(found, balls, cosine, sign, others)
                # The ball of a node at a corner protrudes from the adjacent faces: use the gap of the node.
                beyond = self.radius * (1.0 - cosine)
                gap[balls] += beyond
                point[balls] -= 0.5 * beyond[:, None] * outward
        refined = replace(found, point=point, normal=normal, gap=gap)
        return refined if keep.all() else refined.take(np.flatnonzero(keep))

    def _on_ridges(
        self, position: Array, centre: Array, beta: Array, side: Indices, collider: Indices
    ) -> tuple[Mask, Array, Array]:
        """Balls before an edge: beyond it for the triangles on both sides, each edge once.

        Returns a mask (n,), and for all the vectors from the edge to the centre and the points of the edge,
        (n, 3).
        """
        opposite = beta.argmin(axis=1)
        across = self.neighbours[side, opposite]
        ends = self.sides[side[:, None], (opposite[:, None] + np.array([1, 2])) % 3]
        start, along = position[ends[:, 0]], position[ends[:, 1]] - position[ends[:, 0]]
        part = np.einsum("nd,nd->n", centre - start, along) / np.einsum("nd,nd->n", along, along)
        on_edge = start + part[:, None] * along
        beyond, _ = projected(centre, position[self.sides[across]])
        far = (self.sides[across][:, :, None] != ends[:, None, :]).all(axis=2)  # the node not on the edge
        ridge = (across >= 0) & (beyond[far] < 0.0) & (part > AT_NODE) & (part < 1.0 - AT_NODE)
        pair = collider * len(self.sides)
        twice = np.isin(pair + across, (pair + side)[ridge]) & (across < side)
        return ridge & ~twice, centre - on_edge, on_edge

    def _may_touch(self, a: Indices, b: Indices) -> Mask:
        """Own carriers that may touch each other: a ball and a slab that is not at its node."""
        count = len(self.nodes)
        ball, slab = np.minimum(a, b), np.maximum(a, b)
        pair = (ball < count) & (slab >= count)
        node = self.nodes[np.where(pair, ball, 0)]
        side = self.sides[np.where(pair, slab - count, 0)] if len(self.sides) else np.empty((len(a), 0))
        return np.asarray(pair & ~(side == node[:, None]).any(axis=1))

    def _faces_it(
        self, found: Contacts, at: Indices, cosine: Array, sign: float, others: Neighbourhood
    ) -> Mask:
        """Whether balls of nodes touch along the normal of the surface, by cosines with it.

        Two balls of nodes that nearly face each other would touch obliquely; the side of one has the contact.
        """
        table = others.colliders
        row = (found.collider_b if sign > 0 else found.collider_a)[at]
        node = (table.kind[row] == Kind.SPHERE) & (table.size[row, 0] <= ALIKE * self.radius)
        if not node.any() or not len(self.sides):
            return np.ones(len(at), dtype=bool)
        return np.asarray(~node | (cosine > FACING))


def simplex_normals(corners: Array) -> Array:
    """Outward unit normals (n, d) of segments (n, 2, 2) or triangles (n, 3, 3)."""
    along = corners[:, 1:] - corners[:, :1]
    if corners.shape[2] == 2:
        normal = np.stack((along[:, 0, 1], -along[:, 0, 0]), axis=1)
    else:
        normal = np.cross(along[:, 0], along[:, 1])
    return np.asarray(normal / np.linalg.norm(normal, axis=1)[:, None])


def projected(x: Array, corners: Array) -> tuple[Array, Array]:
    """Weights β (n, d) of the projections of points on the lines or planes of sides, and the heights g (n,).

    Examples
    --------
    >>> projected(np.array([[0.25, -1.0]]), np.array([[[0.0, 0.0], [1.0, 0.0]]]))
    (array([[0.75, 0.25]]), array([1.]))
    """
    along = corners[:, 1:] - corners[:, :1]
    away = x - corners[:, 0]
    metric = along @ along.transpose(0, 2, 1)
    part = np.linalg.solve(metric, np.einsum("nkd,nd->nk", along, away)[:, :, None])[:, :, 0]
    beta = np.concatenate((1.0 - part.sum(axis=1, keepdims=True), part), axis=1)
    return beta, np.einsum("nd,nd->n", simplex_normals(corners), away)
