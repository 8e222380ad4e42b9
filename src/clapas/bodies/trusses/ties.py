"""Bolts between coincident nodes, which join separate modules of a grid.

A bolt ties two nodes in each direction. As a *bilateral* tie it holds whatever the force,

    J v⁺ + J q_m/(θ h) = 0,

so that the nodes are together at the end of a step. As a *preloaded* one, tightened to the force r⁰, it is
one-sided in each direction, the law of a cable that cannot stretch (LMGC thesis, 6.18): with e = J q,

    0 ≤ r̂ ⟂ −J v⁺ − e/(θ h) ≥ 0,    r̂ = r + h r⁰,

and the nodes feel −Jᵀ r: the preload is internal to the bolt. It opens where r falls to −h r⁰; with r⁰ above
every force it is the bilateral tie.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.bodies.trusses.structure import Truss
from clapas.errors import SceneError
from clapas.typing import Array, Indices

TOGETHER = 1e-6  # of the size of the structure: largest distance of tied nodes


class Ties:
    """Pairs of nodes that bolts hold together.

    Parameters
    ----------
    truss : Truss
        The structure.
    pairs : array (t, 2)
        Nodes at the same place.
    """

    def __init__(self, truss: Truss, pairs: npt.ArrayLike) -> None:
        array = np.asarray(pairs)
        if array.size == 0:
            array = np.empty((0, 2), dtype=np.int64)
        if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
            raise SceneError(f"ties: pairs of node numbers, got an array {array.shape} of {array.dtype}")
        outside = array[(array < 0) | (array >= truss.n_nodes)]
        if len(outside):
            raise SceneError(f"ties: no node {outside[0]}; the truss has nodes 0 to {truss.n_nodes - 1}")
        same = array[array[:, 0] == array[:, 1]]
        if len(same):
            raise SceneError(f"ties: node {truss.label(int(same[0, 0]))} cannot be tied to itself")
        apart = np.linalg.norm(truss.nodes[array[:, 1]] - truss.nodes[array[:, 0]], axis=1)
        far = np.flatnonzero(apart > TOGETHER * float(np.ptp(truss.nodes, axis=0).max()))
        if len(far):
            a, b = (truss.label(int(node)) for node in array[far[0]])
            raise SceneError(
                f"ties: nodes {a} and {b} are {apart[far[0]]:.3g} m apart; bolts join nodes at one place, a "
                "short bar joins others"
            )
        self.pairs: Indices = array.astype(np.int64)
        self.truss = truss

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def _all_rows(self) -> sparse.csr_array:
        """Differences (t d × n d) of the places of both nodes, component by component."""
        t, n = len(self.pairs), self.truss.n_nodes
        ends = np.repeat(np.arange(t), 2), self.pairs.ravel()
        signs = np.tile([-1.0, 1.0], t)
        rows = sparse.coo_array((signs, ends), shape=(t, n)).tocsr()
        return sparse.csr_array(sparse.kron(rows, np.eye(self.truss.d), format="csr"))

    @cached_property
    def _moving(self) -> Indices:
        """Rows that some free component enters: ties between two supports are left out."""
        rows = self._all_rows[:, self.truss.free]
        return np.flatnonzero(np.diff(rows.indptr))

    @cached_property
    def J(self) -> sparse.csr_array:
        """Rows (j × n_dof) on the free velocities, one for each tie and direction."""
        return sparse.csr_array(self._all_rows[:, self.truss.free][self._moving])

    def opening(self, x: Array) -> Array:
        """Distance of the nodes along each row (j,) with all nodes at x (n × d) (m)."""
        return np.asarray((self._all_rows @ x.ravel())[self._moving])
