"""Cut a graph into slabs so that each touches only its two neighbours.

Nodes are numbered by reverse Cuthill-McKee: neighbours get close numbers, and memory is accessed in
order. Consecutive nodes are then cut into slabs, each reaching at least as far as the edges of the
one before. Slabs 0, 2, 4 … share no neighbour, nor do 1, 3, 5 …: two parallel stages sweep all.
One barrier per stage, against a dozen for a plain colouring of the contacts.
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import kernel
from clapas.compiled.sorting import counting_sort
from clapas.typing import Indices


def cuthill_mckee(n_nodes: int, a: Indices, b: Indices) -> Indices:
    """New number of each node so that the edges (a_k, b_k) join close numbers.

    From a node with few edges outward, layer by layer, nodes with few edges first; then in reverse. Edges
    to node ``n_nodes`` or beyond, and from a node to itself, are left out.
    """
    start, neighbours = adjacency(n_nodes, a, b)
    by_degree = counting_sort(np.diff(start), np.arange(n_nodes), int(np.diff(start).max(initial=0)) + 1)
    return np.asarray(numbered_by_layers(start, neighbours, by_degree))


@kernel
def adjacency(n_nodes: int, a: Indices, b: Indices) -> tuple[Indices, Indices]:
    """Neighbours of node i: neighbours[start[i]:start[i + 1]], one entry per edge."""
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    for k in range(len(a)):
        if a[k] < n_nodes and b[k] < n_nodes and a[k] != b[k]:
            start[a[k] + 1] += 1
            start[b[k] + 1] += 1
    for i in range(n_nodes):
        start[i + 1] += start[i]
    place, neighbours = start.copy(), np.empty(start[n_nodes], dtype=np.int64)
    for k in range(len(a)):
        i, j = a[k], b[k]
        if i < n_nodes and j < n_nodes and i != j:
            neighbours[place[i]], neighbours[place[j]] = j, i
            place[i] += 1
            place[j] += 1
    return start, neighbours


@kernel
def numbered_by_layers(start: Indices, neighbours: Indices, by_degree: Indices) -> Indices:
    """Reverse of the order of a breadth-first search that starts from the nodes of ``by_degree`` in turn."""
    n_nodes = len(by_degree)
    number, queue = np.full(n_nodes, -1, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    reached = 0
    for seed in by_degree:
        if number[seed] >= 0:
            continue
        queue[reached], number[seed] = seed, n_nodes - 1 - reached
        expanded, reached = reached, reached + 1
        while expanded < reached:
            node, first = queue[expanded], reached
            expanded += 1
            for k in range(start[node], start[node + 1]):
                other = neighbours[k]
                if number[other] >= 0:
                    continue
                number[other] = 0  # reached; numbered below, once those reached from this node are sorted
                degree, place = start[other + 1] - start[other], reached
                while place > first and start[queue[place - 1] + 1] - start[queue[place - 1]] > degree:
                    queue[place] = queue[place - 1]
                    place -= 1
                queue[place] = other
                reached += 1
            for place in range(first, reached):
                number[queue[place]] = n_nodes - 1 - place
    return number


def cut(n_nodes: int, low: Indices, high: Indices, smallest: int) -> Indices:
    """Bounds of the slabs (first node of each, then n_nodes), given edges from low to high ≥ low.

    Each slab has at least ``smallest`` nodes, and no edge from slab k goes beyond slab k + 1.
    """
    reach = furthest(n_nodes, low, high)
    bounds = [0]
    while bounds[-1] < n_nodes:
        start = bounds[-1]
        end = start + smallest
        if start > 0:  # neighbours of the previous slab must lie in this one
            end = max(end, int(reach[start - 1]) + 1)
        bounds.append(min(end, n_nodes))
    if len(bounds) > 2 and bounds[-1] - bounds[-2] < smallest:
        del bounds[-2]  # the last slab is too small for a thread
    return np.array(bounds, dtype=np.int64)


@kernel
def furthest(n_nodes: int, low: Indices, high: Indices) -> Indices:
    """The highest node that an edge from node i, or from one before it, leads to."""
    reach = np.arange(n_nodes)
    for k in range(len(low)):
        reach[low[k]] = max(reach[low[k]], high[k])
    for i in range(1, n_nodes):
        reach[i] = max(reach[i], reach[i - 1])
    return reach
