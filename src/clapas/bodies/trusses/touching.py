"""Contact shapes of a moving truss: balls at its nodes and capsules along its bars."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy import sparse

from clapas.bodies.kind import Poses, Touches
from clapas.bodies.trusses.members import Members, Shapes
from clapas.bodies.trusses.structure import Truss
from clapas.geometry import rotations
from clapas.geometry.shapes import Capsule, Disk, Sphere
from clapas.geometry.shapes.base import Shape
from clapas.typing import Array, Indices, Mask


class Touching:
    """Nodes that touch, then bars that touch: the carriers of a truss.

    Parameters
    ----------
    truss : Truss
        The structure.
    members : Members
        Its members.
    node_radius, bar_radius : float
        Radii (m); 0 for no contact.
    """

    def __init__(self, truss: Truss, members: Members, node_radius: float, bar_radius: float) -> None:
        self.truss, self.members = truss, members
        self.node_radius, self.bar_radius = node_radius, bar_radius
        self.n_nodes = truss.n_nodes if node_radius > 0.0 else 0
        bars = np.flatnonzero(~truss.is_cable)
        self.bars: Indices = bars if bar_radius > 0.0 else bars[:0]

    def __len__(self) -> int:
        return self.n_nodes + len(self.bars)

    @cached_property
    def shapes(self) -> Sequence[tuple[int, Shape]]:
        """A ball for each node, a capsule for each bar."""
        radius = self.node_radius or 1.0
        ball: Shape = Sphere(radius) if self.truss.d == 3 else Disk(radius)
        nodes: list[tuple[int, Shape]] = [(k, ball) for k in range(self.n_nodes)]
        bars: list[tuple[int, Shape]] = [
            (self.n_nodes + k, Capsule(self.bar_radius, float(self.truss.lengths[bar])))
            for k, bar in enumerate(self.bars)
        ]
        return nodes + bars

    @cached_property
    def names(self) -> Sequence[str]:
        """Nodes by their labels, bars by their numbers."""
        nodes = [f"node {self.truss.label(k)}" for k in range(self.n_nodes)]
        return nodes + [f"bar {bar}" for bar in self.bars]

    def poses(self, x: Array, shapes: Shapes) -> Poses:
        """Poses of nodes, and of the middles of bars with z along them."""
        still = np.tile(rotations.identity(self.truss.d), (self.n_nodes, 1))
        ends = self.truss.members[self.bars]
        turned = rotations.up_to(shapes.direction[self.bars]) if len(ends) else still[:0]
        middles = 0.5 * (x[ends[:, 0]] + x[ends[:, 1]])
        return Poses(np.concatenate((x[: self.n_nodes], middles)), np.concatenate((still, turned)))

    def twists(self, v: Array, shapes: Shapes) -> Array:
        """Velocities of nodes, from all of them (n × d), and of middles of bars.

        Bars do not spin about themselves.
        """
        d, count = self.truss.d, self.n_nodes
        result = np.zeros((len(self), 6 if d == 3 else 3))
        result[:count, :d] = v[:count]
        if len(self.bars):
            ends = self.truss.members[self.bars]
            along, length = shapes.direction[self.bars], shapes.length[self.bars]
            result[count:, :d] = 0.5 * (v[ends[:, 0]] + v[ends[:, 1]])
            turning = np.cross(along, v[ends[:, 1]] - v[ends[:, 0]]) / length[:, None]
            result[count:, 3:] = rotations.rotate_back(rotations.up_to(along), turning)
        return result

    def jacobian(self, x: Array, shapes: Shapes, at: Touches) -> sparse.csr_array:
        """Points of a node move with it; those of a bar with its two ends, by the lever.

        On a bar between x_a and x_b, with c its direction and l its length, the point p = x_a + s l c + y, y
        across the bar, moves with the middle and as the bar turns, whatever its rate of elongation: with
        Δ = v_b − v_a, at (v_a + v_b)/2 + (s − ½)(Δ − c (c·Δ)) − c (y·Δ)/l.
        """
        d, count, n, n_dof = self.truss.d, self.n_nodes, len(at.carrier), self.truss.n_dof
        is_bar = at.carrier >= count
        ends = np.stack((at.carrier, at.carrier), axis=1)
        weights = np.zeros((n, 2, d, d))
        weights[~is_bar, 0] = np.eye(d)
        if is_bar.any():
            bars = self.bars[at.carrier[is_bar] - count]
            ends[is_bar] = self.truss.members[bars]
            along, length = shapes.direction[bars], shapes.length[bars]
            arm = at.point[is_bar] - x[ends[is_bar, 0]]
            share = np.einsum("ni,ni->n", arm, along) / length
            across = arm - (share * length)[:, None] * along
            side = np.eye(d) - along[:, :, None] * along[:, None, :]
            lever = (share - 0.5)[:, None, None] * side
            lever -= along[:, :, None] * across[:, None, :] / length[:, None, None]
            weights[is_bar, 0], weights[is_bar, 1] = 0.5 * np.eye(d) - lever, 0.5 * np.eye(d) + lever
        number = np.full(self.truss.nodes.size, -1)
        number[self.truss.free] = np.arange(n_dof)
        columns = np.broadcast_to(number[d * ends[:, :, None] + np.arange(d)][:, :, None, :], weights.shape)
        rows = np.broadcast_to((d * np.arange(n)[:, None] + np.arange(d))[:, None, :, None], weights.shape)
        is_entry: Mask = (columns >= 0) & (weights != 0.0)
        entries = sparse.coo_array(
            (weights[is_entry], (rows[is_entry], columns[is_entry])), shape=(n * d, n_dof)
        )
        return sparse.csr_array(entries.tocsr())
