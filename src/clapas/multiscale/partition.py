"""Partition of a graph of links into substructures: a label per link.

Links are distributed; a node belongs to all substructures whose links touch it, and is shared by them. A
partition of the nodes becomes one of the links by assigning a link across to the substructure of the
smaller number (:func:`links_of_nodes`), so that one end of it is shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from clapas.errors import MissingDependency, ProblemError
from clapas.multiscale.problem import LinkProblem
from clapas.typing import Array, Indices

PARTITIONERS = ("metis", "kahip")
IMBALANCE = 0.03  # by which the largest part may exceed the mean, for KaHIP
EDGE = 1e-9  # relative to a box: midpoints of links on the wall between two boxes go to the lower one


def boxes(problem: LinkProblem, counts: Sequence[int]) -> Indices:
    """Equal boxes along the axes of space: the method of the thesis.

    A link goes to the box of its midpoint; if this lies on a wall, to the lower box. In grids
    of modules with parallel links along the walls, label the links by their modules instead.

    Parameters
    ----------
    problem : LinkProblem
        With points.
    counts : sequence of int
        Boxes along each axis; axes left out are not cut.
    """
    points = _points(problem)
    sums = problem.incidence.sum(axis=1)
    middles = (problem.incidence @ points) / sums[:, None]
    low, high = points.min(axis=0), points.max(axis=0)
    label = np.zeros(problem.n_links, dtype=np.int64)
    stride = 1
    for axis, count in enumerate(counts):
        if count < 1:
            raise ProblemError(f"boxes: counts must be at least 1, got {list(counts)}")
        width = (high[axis] - low[axis]) / count or 1.0
        place = np.floor((middles[:, axis] - low[axis]) / width - EDGE).astype(np.int64)
        label += stride * np.clip(place, 0, count - 1)
        stride *= count
    return compact(label)


def graph_parts(
    problem: LinkProblem, parts: int, *, partitioner: Literal["metis", "kahip"] = "metis"
) -> Indices:
    """Partition of the nodes by METIS or KaHIP with few links across; links follow (:func:`links_of_nodes`).

    Needs no coordinates. Deterministic. KaHIP takes longer and leaves somewhat fewer links across.

    Parameters
    ----------
    problem : LinkProblem
        Its graph of nodes and links is cut.
    parts : int
        Number of substructures.
    partitioner : "metis" or "kahip"
        Library: ``pip install 'clapas[graph]'`` or ``'clapas[kahip]'``.
    """
    if parts < 1 or parts > problem.n_nodes:
        raise ProblemError(f"parts must be between 1 and the number of nodes, {problem.n_nodes}; got {parts}")
    if partitioner not in PARTITIONERS:
        raise ProblemError(f"partitioner must be one of {', '.join(PARTITIONERS)}; got {partitioner!r}")
    graph = neighbours(problem)
    label = _metis(graph, parts) if partitioner == "metis" else _kahip(graph, parts)
    return links_of_nodes(problem, np.asarray(label, dtype=np.int64))


def _metis(graph: sparse.csr_array, parts: int) -> Sequence[int]:
    try:
        import pymetis
    except ImportError:
        raise MissingDependency("pymetis", "graph", "a partition by METIS") from None
    adjacency = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    _, label = pymetis.part_graph(parts, adjacency=adjacency, options=pymetis.Options(seed=0))
    return list(label)


def _kahip(graph: sparse.csr_array, parts: int) -> Sequence[int]:
    try:
        import kahip
    except ImportError:
        raise MissingDependency("kahip", "kahip", "a partition by KaHIP") from None
    weights = np.ones(graph.shape[0], dtype=int).tolist(), np.ones(graph.nnz, dtype=int).tolist()
    pattern = graph.indptr.tolist(), graph.indices.tolist()
    _, label = kahip.kaffpa(
        weights[0], pattern[0], weights[1], pattern[1], parts, IMBALANCE, True, 0, kahip.ECO
    )
    return list(label)


def layers(problem: LinkProblem, parts: int) -> Indices:
    """Partition of the nodes into layers of a breadth-first search; needs no extra package.

    Interfaces are larger than those of METIS.
    """
    order = np.asarray(csgraph.reverse_cuthill_mckee(neighbours(problem), symmetric_mode=True))
    label = np.empty(problem.n_nodes, dtype=np.int64)
    label[order] = np.arange(problem.n_nodes) * parts // max(problem.n_nodes, 1)
    return links_of_nodes(problem, label)


def links_of_nodes(problem: LinkProblem, labels: npt.ArrayLike) -> Indices:
    """Labels of the links from labels of the nodes: a link across goes to the smaller of the two.

    A node all of whose components are blocked does not count: the link goes with its other end.
    """
    label = np.asarray(labels)
    if label.shape != (problem.n_nodes,):
        raise ProblemError(f"labels must have one entry per node, {problem.n_nodes}, got {label.shape}")
    fixed = problem.is_blocked.reshape(problem.n_nodes, -1).all(axis=1)
    large = int(label.max(initial=0)) + 1
    rank = np.where(fixed, large, label)
    incidence = problem.incidence
    if problem.n_links == 0:
        return np.empty(0, dtype=np.int64)
    least = np.minimum.reduceat(rank[incidence.indices], incidence.indptr[:-1])
    return compact(np.where(least == large, 0, least))


def compact(labels: npt.ArrayLike) -> Indices:
    """Labels without gaps, in the same order."""
    return np.asarray(np.unique(np.asarray(labels), return_inverse=True)[1].ravel(), dtype=np.int64)


def neighbours(problem: LinkProblem) -> sparse.csr_array:
    """Graph of the nodes: an edge where a link joins two."""
    incidence = problem.incidence
    graph = (incidence.T @ incidence).tocsr()
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    return graph


def _points(problem: LinkProblem) -> Array:
    if problem.points is None:
        raise ProblemError(
            "boxes need the points of the nodes, and this problem has none: cut it with graph_parts or layers"
        )
    return problem.points
