"""Interfaces: the nodes that two substructures share, strong or weak, with or without a macro basis.

A strong interface has more components than the macro basis has vectors (4 nodes or more in space); the others
are weak. At the corners of boxes a single node is shared by substructures that face each other diagonally.
Keeping such an interface with the micro direction alone ties the node to the other side by the stiffness d
against rigid motions that no coarse unknown corrects: convergence is very slow. Three policies:

``drop``    leave a weak interface out wherever continuity at its nodes follows from strong ones: at each of
            its nodes, the substructures that meet there stay connected through strong interfaces. Where they
            would not, the interface is kept with the macro basis its nodes allow.
``macro``   keep all, with the vectors that are independent on their few nodes (3, 6 or 9 in space).
``micro``   keep all, weak ones without macro basis: as in the thesis; for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from clapas.errors import SettingsError
from clapas.multiscale.macro_basis import full_size
from clapas.multiscale.problem import LinkProblem
from clapas.typing import Indices, Mask

WeakPolicy = Literal["drop", "macro", "micro"]
POLICIES = ("drop", "macro", "micro")


@dataclass(frozen=True, eq=False)
class Interface:
    """Nodes shared by the substructures ``a`` < ``b``.

    ``has_macro`` says whether it is part of the coarse problem.
    """

    a: int
    b: int
    nodes: Indices
    is_strong: bool
    has_macro: bool


@dataclass(frozen=True, eq=False)
class Interfaces:
    """The interfaces kept from a partition, and the numbers of all.

    ``nodes_of`` lists the nodes of each substructure; ``sharing`` counts the substructures of each node.
    """

    kept: tuple[Interface, ...]
    n_strong: int
    n_weak: int
    nodes_of: tuple[Indices, ...]
    sharing: Indices


def find_interfaces(
    problem: LinkProblem, labels: Indices, weak: WeakPolicy = "drop", macro: bool = True
) -> Interfaces:
    """Interfaces between the substructures defined by the labels of the links.

    Parameters
    ----------
    problem : LinkProblem
        The whole.
    labels : array (links,)
        Substructure of each link, from 0 without gaps.
    weak : "drop", "macro" or "micro"
        Treatment of weak interfaces.
    macro : bool
        False for no coarse problem.
    """
    if weak not in POLICIES:
        raise SettingsError(f"weak must be 'drop', 'macro' or 'micro', got {weak!r}")
    count = int(labels.max(initial=0)) + 1
    member = sparse.csr_array(
        (np.ones(problem.n_links), (labels, np.arange(problem.n_links))), shape=(count, problem.n_links)
    )
    contains = (member @ problem.incidence).tocsr()  # substructures × nodes
    contains.sort_indices()
    nodes_of = tuple(
        contains.indices[contains.indptr[i] : contains.indptr[i + 1]].astype(np.int64) for i in range(count)
    )
    sharing = np.bincount(contains.indices, minlength=problem.n_nodes)
    free: Mask = np.logical_not(problem.is_blocked).reshape(problem.n_nodes, -1).any(axis=1)  # type: ignore[assignment]
    dimension = 3 if problem.points is None else problem.points.shape[1]
    least = full_size(dimension) if problem.points is not None else problem.dofs_per_node
    pairs = _pairs(contains)
    candidates: list[tuple[int, int, Indices, bool]] = []
    for a, b in pairs:
        shared = np.intersect1d(nodes_of[a], nodes_of[b], assume_unique=True)
        if free[shared].any():
            candidates.append((a, b, shared, len(shared) * problem.dofs_per_node > least))
    strong = [each for each in candidates if each[3]]
    kept = [Interface(*each, has_macro=macro) for each in strong]
    strong_pairs = _strong_pairs_by_node(strong) if weak == "drop" else {}
    for a, b, shared, is_strong in candidates:
        if is_strong or (weak == "drop" and _is_redundant(a, b, shared[free[shared]], strong_pairs)):
            continue
        kept.append(Interface(a, b, shared, False, has_macro=macro and weak != "micro"))
    kept.sort(key=lambda each: (each.a, each.b))
    return Interfaces(tuple(kept), len(strong), len(candidates) - len(strong), nodes_of, sharing)


def _pairs(contains: sparse.csr_array) -> list[tuple[int, int]]:
    """Substructures that share a node, smaller first."""
    pattern = sparse.csr_array(
        (np.ones(contains.nnz), contains.indices, contains.indptr), shape=contains.shape
    )
    common = sparse.triu(pattern @ pattern.T, k=1).tocoo()
    return sorted(zip(common.row.tolist(), common.col.tolist(), strict=True))


def _strong_pairs_by_node(strong: list[tuple[int, int, Indices, bool]]) -> dict[int, list[tuple[int, int]]]:
    """Pairs of substructures that strong interfaces join at each node."""
    pairs: dict[int, list[tuple[int, int]]] = {}
    for a, b, nodes, _ in strong:
        for node in nodes.tolist():
            pairs.setdefault(node, []).append((a, b))
    return pairs


def _is_redundant(a: int, b: int, nodes: Indices, strong_pairs: dict[int, list[tuple[int, int]]]) -> bool:
    """Whether a path of strong interfaces joins a and b at each of the nodes."""
    for node in nodes.tolist():
        edges = strong_pairs.get(node, [])
        if not edges:
            return False
        names = sorted({name for edge in edges for name in edge})
        if a not in names or b not in names:
            return False
        place = {name: i for i, name in enumerate(names)}
        ends = np.array([[place[x], place[y]] for x, y in edges])
        graph = sparse.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(names),) * 2)
        labels = csgraph.connected_components(graph, directed=False)[1]
        if labels[place[a]] != labels[place[b]]:
            return False
    return True
