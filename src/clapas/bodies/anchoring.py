"""Anchors of joints at nodes without orientation, shared by several kinds of bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from clapas.bodies.joined import Anchor, Anchored
from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.typing import Array, Indices

AT = 1e-6  # of the size of the bodies: a point nearer than this to a node is at the node


def tolerance(nodes: Array) -> float:
    """Largest distance between a node and a point taken to be that node (m)."""
    return AT * float(np.ptp(nodes, axis=0).max(initial=0.0))


def nearest(nodes: Array, point: Array) -> tuple[int, float]:
    """The nearest of nodes (n, d) to a point, and its distance (m)."""
    away = np.linalg.norm(nodes - point, axis=1)
    k = int(np.argmin(away))
    return k, float(away[k])


def refuse_point(point: Array, what: str, place: Array, away: float) -> SceneError:
    """The error for a point without an anchor."""
    return SceneError(
        f"there is nothing to hold at {np.round(point, 9).tolist()}: the nearest is {what} at "
        f"{np.round(place, 9).tolist()}, {away:.3g} m away; join it there"
    )


def weighted_nodes(anchors: Sequence[Anchor], nodes: Array, column: Indices, n_dof: int) -> Anchored:
    """Anchors that are weighted means of nodes, at positions (n, d) of the nodes.

    Parameters
    ----------
    anchors : sequence of Anchor
        Nodes in ``place``, their weights in ``share``; a weight of 1 if there is none.
    nodes : array (n, d)
        Positions of the nodes (m).
    column : array (n·d,)
        Number of each displacement among the velocities; −1 where it is fixed.
    n_dof : int
        Number of velocities.
    """
    k, d = len(anchors), nodes.shape[1]
    size = 6 if d == 3 else 3
    position, rows, columns, data = np.zeros((k, d)), [], [], []
    for i, anchor in enumerate(anchors):
        for node, weight in zip(anchor.place, anchor.share or (1.0,), strict=True):
            position[i] += weight * nodes[node]
            for j in range(d):
                if column[node * d + j] >= 0:
                    rows.append(i * size + j)
                    columns.append(int(column[node * d + j]))
                    data.append(weight)
    J = sparse.csr_array((data, (rows, columns)), shape=(k * size, n_dof))
    return Anchored(position, np.tile(rotations.identity(d), (k, 1)), J, np.zeros((k, size)))
