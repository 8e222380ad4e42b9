"""Cutting graphs of links."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from clapas.bodies.trusses.generators import grid, module
from clapas.errors import MissingDependency, ProblemError
from clapas.multiscale.interfaces import find_interfaces
from clapas.multiscale.partition import boxes, graph_parts, layers, links_of_nodes
from clapas.statics.trusses.substructured import link_problem, module_blocks


def test_boxes_follow_the_axes() -> None:
    problem = link_problem(grid(4))
    labels = boxes(problem, (2, 1))
    middles = problem.points[problem.incidence.indices.reshape(-1, 2)].mean(axis=1)[:, 0]
    wall = 0.5 * (problem.points[:, 0].min() + problem.points[:, 0].max())
    assert labels[middles < wall - 1e-6].max() == 0
    assert labels[middles > wall + 1e-6].min() == 1


@pytest.mark.parametrize("cut", [graph_parts, layers])
def test_graph_partitions_are_balanced_and_whole(cut: object) -> None:
    pytest.importorskip("pymetis")
    problem = link_problem(grid(6))
    labels = cut(problem, 4)  # type: ignore[operator]
    sizes = np.bincount(labels)
    assert len(sizes) == 4
    assert sizes.max() < 2.5 * sizes.min()


def test_kahip_cuts_as_metis_does() -> None:
    """The same number of parts, as balanced, and about as few nodes shared."""
    pytest.importorskip("pymetis")
    pytest.importorskip("kahip")
    problem = link_problem(grid(6))
    shared = {}
    for partitioner in ("metis", "kahip"):
        labels = graph_parts(problem, 4, partitioner=partitioner)  # type: ignore[arg-type]
        assert len(np.bincount(labels)) == 4
        again = graph_parts(problem, 4, partitioner=partitioner)  # type: ignore[arg-type]
        assert (again == labels).all()
        shared[partitioner] = int((find_interfaces(problem, labels).sharing > 1).sum())
    assert shared["kahip"] <= 1.2 * shared["metis"]


def test_partitioners_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = link_problem(grid(2))
    with pytest.raises(ProblemError, match="partitioner must be one of metis, kahip; got 'scotch'"):
        graph_parts(problem, 2, partitioner="scotch")  # type: ignore[arg-type]
    for module_name, partitioner in (("pymetis", "metis"), ("kahip", "kahip")):
        monkeypatch.setitem(sys.modules, module_name, None)
        with pytest.raises(MissingDependency, match=f"'{module_name}'"):
            graph_parts(problem, 2, partitioner=partitioner)  # type: ignore[arg-type]


def test_links_follow_nodes() -> None:
    problem = link_problem(module())
    nodes = (problem.points[:, 2] > 0.1).astype(int)
    labels = links_of_nodes(problem, nodes)
    both = problem.incidence @ nodes
    assert (labels == (both == 2)).all()  # only links between upper nodes are in the second part


def test_the_thesis_has_24_strong_interfaces_and_18_corners() -> None:
    truss = grid(16)
    found = find_interfaces(link_problem(truss), module_blocks(truss, 16, 4))
    assert (found.n_strong, found.n_weak, len(found.kept)) == (24, 18, 24)
    everything = find_interfaces(link_problem(truss), module_blocks(truss, 16, 4), weak="macro")
    assert len(everything.kept) == 42
    alone = find_interfaces(link_problem(truss), module_blocks(truss, 16, 4), macro=False)
    assert not any(each.has_macro for each in alone.kept)


def test_weak_interfaces_without_a_strong_path_are_kept() -> None:
    truss = grid(4)
    found = find_interfaces(link_problem(truss), module_blocks(truss, 4, 4))  # one module each: all weak
    assert found.n_strong == 0
    assert len(found.kept) == found.n_weak


def test_errors_say_the_way_out() -> None:
    problem = link_problem(grid(2))
    with pytest.raises(ProblemError, match="graph_parts or layers"):
        boxes(problem.with_(points=None), (2, 2))
    with pytest.raises(ProblemError, match="between 1 and the number of nodes"):
        graph_parts(problem, 10_000)
    with pytest.raises(ProblemError, match="one entry per node"):
        links_of_nodes(problem, [0, 1])
    with pytest.raises(ProblemError, match="counts must be at least 1"):
        boxes(problem, (0,))
    with pytest.raises(ProblemError, match="not those of 3 × 3"):
        module_blocks(grid(4), 3, 1)
