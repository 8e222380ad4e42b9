"""Connected pieces of a mesh: nodes joined by cells, without a matrix of the graph."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.typing import Indices


def pieces(cells: Iterable[Indices], n_nodes: int) -> Indices:
    """Number of the piece of each node, pieces being numbered by their lowest nodes.

    Examples
    --------
    >>> pieces([np.array([[0, 2], [4, 2]])], n_nodes=5)
    array([0, 1, 0, 2, 0])
    """
    label = np.arange(n_nodes)
    for rows in cells:
        _join(rows, label)
    return np.asarray(_numbered(label))


@kernel
def _join(cells: Indices, label: Indices) -> None:
    """Join the nodes of each cell: ``label`` leads from a node to a lower one of its piece."""
    for c in range(len(cells)):
        low = _root(label, cells[c, 0])
        for k in range(1, cells.shape[1]):
            other = _root(label, cells[c, k])
            label[max(low, other)] = min(low, other)
            low = min(low, other)


@inlined
def _root(label: Indices, node: int) -> int:
    """The lowest known node of the piece of a node, with path compression."""
    while label[node] != node:
        label[node] = label[label[node]]
        node = label[node]
    return node


@kernel
def _numbered(label: Indices) -> Indices:
    """Pieces numbered by their lowest nodes."""
    piece = np.empty_like(label)
    count = 0
    for node in range(len(label)):
        if label[node] == node:
            piece[node] = count
            count += 1
        else:
            piece[node] = piece[label[node]]  # leads to a lower node
    return piece
