"""Sums of cell matrices in one sparse matrix, whose pattern is found once."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.typing import Array, Indices


class Pattern:
    """Places of the entries of cell matrices in one sparse matrix.

    Nodes that share a cell are joined by a full d × d block, so pairs of nodes are sorted, not pairs of
    displacements: d² times fewer.

    Parameters
    ----------
    cells : list of arrays (m, k)
        Nodes of the cells, one array per batch.
    n_nodes : int
        Number of nodes.
    d : int
        Displacements of a node, numbered d·node + axis.
    """

    def __init__(self, cells: list[Indices], n_nodes: int, d: int) -> None:
        key = np.concatenate([(part[:, :, None] * n_nodes + part[:, None, :]).ravel() for part in cells])
        pairs, pair = np.unique(key, return_inverse=True)
        first = np.searchsorted(pairs, np.arange(n_nodes + 1) * n_nodes)
        count = np.diff(first)
        other = pairs % n_nodes
        axis = np.arange(d)
        # The rows of a node hold d entries for each of its neighbours, one row after the other.
        self._indptr = np.append(d * (d * first[:-1, None] + axis * count[:, None]), d * d * len(pairs))
        self._indptr = self._indptr.astype(np.int32)
        owner = pairs // n_nodes
        start = d * d * first[owner] + d * (np.arange(len(pairs)) - first[owner])
        down = d * count[owner]  # from one row of a block to the next
        block = start[:, None, None] + down[:, None, None] * axis[:, None] + axis  # (pairs, d, d)
        self._indices = np.empty(d * d * len(pairs), dtype=np.int32)
        self._indices[block] = (d * other)[:, None, None] + axis
        places, done = [], 0
        for part in cells:
            m, k = part.shape
            mine = pair.ravel()[done : done + m * k * k].reshape(m, k, k)
            places.append(block[mine].transpose(0, 1, 3, 2, 4).ravel())
            done += m * k * k
        self._place = np.concatenate(places)
        self._size = d * n_nodes

    def matrix(self, entries: Array | None) -> sparse.csr_array:
        """The sum of cell matrices whose entries come in the order of the cells."""
        nnz = len(self._indices)
        data = np.zeros(nnz) if entries is None else np.bincount(self._place, entries, minlength=nnz)
        return sparse.csr_array(
            (data, self._indices, self._indptr), shape=(self._size, self._size), copy=False
        )
