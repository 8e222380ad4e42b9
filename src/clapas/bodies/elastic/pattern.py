"""Assembly of cell matrices in one sparse matrix, whose pattern is computed once."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.compiled import kernel
from clapas.typing import Array, Indices


class Pattern:
    """Sparsity pattern: positions of the entries of cell matrices in one sparse matrix.

    Nodes that share a cell are joined by a full d × d block, so neighbours of nodes are listed, not pairs of
    displacements: d² times fewer.

    Parameters
    ----------
    cells : list of arrays (m, k)
        Nodes of the cells, one array per batch.
    n_nodes : int
        Number of nodes.
    d : int
        Displacements of a node, numbered d·node + axis.

    Examples
    --------
    Two springs in a row, each with the matrix ((1, −1), (−1, 1)):

    >>> pattern = Pattern([np.array([[0, 1], [1, 2]])], n_nodes=3, d=1)
    >>> pattern.matrix(np.tile([1.0, -1.0, -1.0, 1.0], 2)).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """

    def __init__(self, cells: list[Indices], n_nodes: int, d: int) -> None:
        sizes = np.concatenate([np.full(len(part), part.shape[1]) for part in cells])
        first = np.concatenate(([0], np.cumsum(sizes)))
        corners = np.concatenate([part.ravel() for part in cells])
        pointers, neighbours = _neighbours(corners, first, n_nodes)
        count = np.diff(pointers)
        axis = np.arange(d)
        # The rows of a node hold d entries for each of its neighbours, one row after the other.
        starts = d * (d * pointers[:-1, None] + axis * count[:, None])
        self._indptr = np.append(starts, d * d * len(neighbours)).astype(np.int32)
        self._place, self._indices = _places(corners, first, pointers, neighbours, d)
        self._size = d * n_nodes

    def matrix(self, entries: Array | None) -> sparse.csr_array:
        """The sum of cell matrices whose entries come in the order of the cells."""
        nnz = len(self._indices)
        data = np.zeros(nnz) if entries is None else np.bincount(self._place, entries, minlength=nnz)
        return sparse.csr_array(
            (data, self._indices, self._indptr), shape=(self._size, self._size), copy=False
        )


@kernel
def _neighbours(corners: Indices, first: Indices, n_nodes: int) -> tuple[Indices, Indices]:
    """Nodes that share a cell with each node, itself included, in rising order: pointers and numbers.

    Cell c has the nodes ``corners[first[c]:first[c + 1]]``.
    """
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    bound = 0  # on the number of neighbours, each counted once per cell
    for c in range(len(first) - 1):
        size = first[c + 1] - first[c]
        bound += size * size
        for a in range(first[c], first[c + 1]):
            start[corners[a] + 1] += 1
    for node in range(n_nodes):
        start[node + 1] += start[node]
    filled = start[:-1].copy()
    around = np.empty(len(corners), dtype=np.int64)  # cells of each node
    for c in range(len(first) - 1):
        for a in range(first[c], first[c + 1]):
            around[filled[corners[a]]] = c
            filled[corners[a]] += 1
    pointers = np.zeros(n_nodes + 1, dtype=np.int64)
    neighbours = np.empty(bound, dtype=np.int64)
    last_visit = np.full(n_nodes, -1, dtype=np.int64)
    count = 0
    for node in range(n_nodes):
        for p in range(start[node], start[node + 1]):
            c = around[p]
            for b in range(first[c], first[c + 1]):
                other = corners[b]
                if last_visit[other] != node:
                    last_visit[other] = node
                    place = count
                    while place > pointers[node] and neighbours[place - 1] > other:
                        neighbours[place] = neighbours[place - 1]
                        place -= 1
                    neighbours[place] = other
                    count += 1
        pointers[node + 1] = count
    return pointers, neighbours[:count].copy()


@kernel
def _places(
    corners: Indices, first: Indices, pointers: Indices, neighbours: Indices, d: int
) -> tuple[Indices, Indices]:
    """Position of each entry of the cell matrices, cell by cell, row by row, and the columns of all rows."""
    total = 0
    for c in range(len(first) - 1):
        size = d * (first[c + 1] - first[c])
        total += size * size
    places = np.empty(total, dtype=np.int64)
    k = 0
    for c in range(len(first) - 1):
        for a in range(first[c], first[c + 1]):
            node = corners[a]
            low, high = pointers[node], pointers[node + 1]
            for i in range(d):
                row = d * (d * low + i * (high - low))
                for b in range(first[c], first[c + 1]):
                    place = low
                    while neighbours[place] != corners[b]:
                        place += 1
                    for j in range(d):
                        places[k] = row + d * (place - low) + j
                        k += 1
    columns = np.empty(d * d * len(neighbours), dtype=np.int32)
    k = 0
    for node in range(len(pointers) - 1):
        for _ in range(d):
            for p in range(pointers[node], pointers[node + 1]):
                for j in range(d):
                    columns[k] = d * neighbours[p] + j
                    k += 1
    return places, columns
