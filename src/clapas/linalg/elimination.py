"""Elimination order of the unknowns of a sparse matrix, and its fill-in.

Eliminating an unknown connects all its neighbours. A good order keeps these sets of neighbours
small; it depends on the pattern alone, so that it is computed once for all matrices of that pattern.
The result is a tree of *fronts*: small full matrices, each with unknowns to eliminate (its pivots) and
unknowns to pass on to the front above (its border).

Unknowns that always appear together (the six velocities of a body) are ordered as one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.compiled import kernel
from clapas.typing import Array, Indices

# Two fronts are merged when the zeros this stores cost less than the call it saves: always below the first
# number of pivots, else up to a fraction of zeros that decreases with their number.
MERGED_ALWAYS = 8
MERGED_BELOW = ((32, 0.5), (96, 0.2))
MERGED_ELSE = 0.05


@dataclass(frozen=True)
class Front:
    """Pivots and border of a front, in their order of elimination, and the front above it (or −1)."""

    pivots: Indices
    border: Indices
    parent: int


def fronts(rows: Indices, columns: Indices, groups: Indices, order: Indices | None = None) -> list[Front]:
    """The tree of fronts of a matrix with entries at (rows, columns), children before parents.

    Parameters
    ----------
    rows, columns : arrays of int
        Positions of the entries. The pattern is taken as symmetric, with a full diagonal.
    groups : array of int
        Group of each unknown, numbered from 0 without gaps.
    order : array of int, optional
        Groups in their order of elimination; minimum degree by default.
    """
    count = int(groups.max(initial=-1)) + 1
    graph = _graph(groups[rows], groups[columns], count)
    order = minimum_degree(graph) if order is None else order
    indptr, indices = _upper(graph, order)
    parent = elimination_tree(indptr, indices)
    post = postorder(parent)
    order = order[post]
    indptr, indices = _upper(graph, order)
    parent = elimination_tree(indptr, indices)
    pointers, structure = column_structures(indptr, indices, parent)
    weights = np.bincount(groups, minlength=count)[order]
    return _expand(_merge(pointers, structure, parent, weights), order, groups)


def _graph(a: Indices, b: Indices, count: int) -> sparse.csr_array:
    off = a != b
    a, b = a[off], b[off]
    entries = np.ones(2 * len(a)), (np.concatenate((a, b)), np.concatenate((b, a)))
    graph = sparse.coo_array(entries, shape=(count, count)).tocsr()
    graph.data[:] = 1.0
    return graph


def minimum_degree(graph: sparse.csr_array) -> Indices:
    """Minimum-degree order: the unknown with fewest neighbours is eliminated first.

    SuperLU computes such an order but returns it only with a factorisation, so it is given the cheapest
    matrix of that pattern: the Laplacian of the graph, one number per group of unknowns.
    """
    count = graph.shape[0]
    if count < 3 or graph.nnz == 0:
        return np.arange(count)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    laplacian = sparse.diags_array(degrees + 1.0) - graph
    lu = sparse_linalg.splu(
        sparse.csc_array(laplacian),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return np.argsort(lu.perm_c)


def _upper(graph: sparse.csr_array, order: Indices) -> tuple[Indices, Indices]:
    """Neighbours of each unknown that are eliminated before it, in the given order."""
    upper = sparse.triu(graph[order][:, order], k=1, format="csc")
    return upper.indptr, upper.indices


@kernel
def elimination_tree(indptr: Indices, indices: Indices) -> Indices:
    """First unknown of the border of each column: the parent in the elimination tree (−1 at a root).

    ``indptr, indices`` list for each unknown its neighbours of lower number. (Liu 1990, with compressed
    paths.)
    """
    count = len(indptr) - 1
    parent = np.full(count, -1, dtype=np.int64)
    ancestor = np.full(count, -1, dtype=np.int64)
    for j in range(count):
        for p in range(indptr[j], indptr[j + 1]):
            i = np.int64(indices[p])
            while i != -1 and i < j:
                above = ancestor[i]
                ancestor[i] = j
                if above == -1:
                    parent[i] = j
                i = above
    return parent


@kernel
def postorder(parent: Indices) -> Indices:
    """Postorder of the tree: each subtree is contiguous, children before parents."""
    count = len(parent)
    first_child = np.full(count, -1, dtype=np.int64)
    sibling = np.full(count, -1, dtype=np.int64)
    for j in range(count - 1, -1, -1):
        if parent[j] != -1:
            sibling[j] = first_child[parent[j]]
            first_child[parent[j]] = j
    order = np.empty(count, dtype=np.int64)
    stack = np.empty(count, dtype=np.int64)
    n_ordered = 0
    for root in range(count):
        if parent[root] != -1:
            continue
        top = 0
        stack[0] = root
        while top >= 0:
            j = stack[top]
            child = first_child[j]
            if child == -1:
                order[n_ordered] = j
                n_ordered += 1
                top -= 1
            else:
                first_child[j] = sibling[child]
                top += 1
                stack[top] = child
    return order


@kernel
def column_structures(indptr: Indices, indices: Indices, parent: Indices) -> tuple[Indices, Indices]:
    """Rows below the diagonal of each column of the factor, ascending: pointers and rows.

    Row j of the factor is the part of the elimination tree between the neighbours of j and j itself.
    """
    count = len(parent)
    pointers = np.zeros(count + 1, dtype=np.int64)
    filled = np.zeros(count, dtype=np.int64)
    structure = np.empty(0, dtype=np.int64)
    for stage in range(2):  # count, then fill
        mark = np.full(count, -1, dtype=np.int64)
        if stage == 1:
            for j in range(count):  # a loop, since an assignment to a slice takes seconds to compile
                pointers[j + 1] = pointers[j] + filled[j]
                filled[j] = 0
            structure = np.empty(pointers[count], dtype=np.int64)
        for j in range(count):
            mark[j] = j
            for p in range(indptr[j], indptr[j + 1]):
                i = np.int64(indices[p])
                while mark[i] != j:
                    mark[i] = j
                    if stage == 1:
                        structure[pointers[i] + filled[i]] = j
                    filled[i] += 1
                    i = parent[i]
    return pointers, structure


@dataclass
class _Group:
    """Columns eliminated together, while fronts are merged."""

    pivots: list[Indices]
    border: Indices
    width: int  # unknowns among the pivots
    height: int  # unknowns in the border
    parent: int


def _merge(pointers: Indices, structure: Indices, parent: Indices, weights: Indices) -> list[_Group]:
    """Merge columns into fronts: those of equal border first, then those where it is profitable."""
    groups: dict[int, _Group] = {}
    for j in range(len(parent)):
        border = structure[pointers[j] : pointers[j + 1]]
        width, height = int(weights[j]), int(weights[border].sum())
        groups[j] = _Group([np.array([j])], border, width, height, int(parent[j]))
    front_of = np.arange(len(parent))  # the front that contains each column
    for j in range(len(parent)):
        child = groups[j]
        if child.parent == -1:
            continue
        host = groups[child.parent]
        if _is_profitable(child, host):
            host.pivots = child.pivots + host.pivots
            host.width += child.width
            front_of[j] = child.parent
            del groups[j]
    for j in range(len(parent) - 1, -1, -1):
        front_of[j] = front_of[front_of[j]]
    number = {j: k for k, j in enumerate(groups)}
    for group in groups.values():
        group.parent = number[int(front_of[group.parent])] if group.parent != -1 else -1
    return list(groups.values())


def _is_profitable(child: _Group, host: _Group) -> bool:
    zeros = child.width * (host.width + host.height - child.height)
    width = child.width + host.width
    if zeros == 0 or width <= MERGED_ALWAYS:
        return True
    fraction = zeros / (width * (width + host.height))
    return fraction <= next((limit for size, limit in MERGED_BELOW if width <= size), MERGED_ELSE)


def _expand(merged: list[_Group], order: Indices, groups: Indices) -> list[Front]:
    """Convert columns of groups to unknowns; borders in the order of elimination of their fronts."""
    by_group = np.argsort(groups, kind="stable")
    first = np.concatenate(([0], np.cumsum(np.bincount(groups, minlength=len(order)))))
    position = np.empty(len(order), dtype=np.int64)  # of a column in the final order
    columns = [np.concatenate(group.pivots) for group in merged]
    if columns:
        position[np.concatenate(columns)] = np.arange(len(order))

    def unknowns(chosen: Indices) -> Indices:
        members = order[chosen]
        sizes = first[members + 1] - first[members]
        start = np.repeat(first[members] - np.cumsum(sizes) + sizes, sizes)
        return by_group[start + np.arange(len(start))]

    return [
        Front(unknowns(pivots), unknowns(group.border[np.argsort(position[group.border])]), group.parent)
        for pivots, group in zip(columns, merged, strict=True)
    ]


def flops(tree: list[Front]) -> float:
    """Multiplications and additions of an unsymmetric factorisation along a tree of fronts."""
    k = np.array([len(front.pivots) for front in tree], dtype=float)
    b = np.array([len(front.border) for front in tree], dtype=float)
    return float(np.sum(2.0 / 3.0 * k**3 + 2.0 * k**2 * b + 2.0 * k * b**2))


def entries(tree: list[Front]) -> int:
    """Number of entries stored by an unsymmetric factorisation along a tree of fronts."""
    return sum(len(front.pivots) * (len(front.pivots) + 2 * len(front.border)) for front in tree)


def same_pattern(rows: Indices, columns: Indices, size: int) -> Indices:
    """Group unknowns whose rows have entries in the same columns; groups numbered from 0."""
    everywhere = np.arange(size)
    places = np.concatenate((rows, everywhere)), np.concatenate((columns, everywhere))
    pattern = sparse.coo_array((np.ones(len(places[0])), places), shape=(size, size)).tocsr()
    pattern.sort_indices()
    pattern.data[:] = 1.0
    # Each column has two random weights: their sums distinguish patterns, and are equal for equal patterns.
    sums: Array = pattern @ np.random.default_rng(0).random((size, 2))
    return np.unique(sums, axis=0, return_inverse=True)[1].reshape(size)
