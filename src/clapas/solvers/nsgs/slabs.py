"""Cut a graph into slabs so that each touches only its two neighbours.

Nodes are numbered by reverse Cuthill-McKee: neighbours get close numbers, and memory is met in
order. Consecutive nodes are then cut into slabs, each reaching at least as far as the edges of the
one before. Slabs 0, 2, 4 … share no neighbour, nor do 1, 3, 5 …: two parallel stages sweep all.
One barrier per stage, against a dozen for a plain colouring of the contacts.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from clapas.typing import Indices


def cuthill_mckee(n_nodes: int, a: Indices, b: Indices) -> Indices:
    """New number of each node so that the edges (a_k, b_k) join close numbers."""
    ones = np.ones(len(a), dtype=np.int8)
    graph = sparse.csr_array(sparse.coo_array((ones, (a, b)), shape=(n_nodes, n_nodes)))
    order = csgraph.reverse_cuthill_mckee(sparse.csr_matrix(graph + graph.T), symmetric_mode=True)
    number = np.empty(n_nodes, dtype=np.int64)
    number[order] = np.arange(n_nodes)
    return number


def cut(n_nodes: int, low: Indices, high: Indices, smallest: int) -> Indices:
    """Bounds of the slabs (first node of each, then n_nodes), given edges from low to high ≥ low.

    Each slab has at least ``smallest`` nodes, and no edge from slab k goes beyond slab k + 1.
    """
    reach = np.arange(n_nodes)
    np.maximum.at(reach, low, high)
    reach = np.maximum.accumulate(reach)
    bounds = [0]
    while bounds[-1] < n_nodes:
        start = bounds[-1]
        end = start + smallest
        if start > 0:  # what the previous slab touches must lie in this one
            end = max(end, int(reach[start - 1]) + 1)
        bounds.append(min(end, n_nodes))
    if len(bounds) > 2 and bounds[-1] - bounds[-2] < smallest:
        del bounds[-2]  # a last slab too small to be worth a thread
    return np.array(bounds, dtype=np.int64)
