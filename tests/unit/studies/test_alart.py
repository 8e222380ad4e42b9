"""Alart's elementary problems: regions, cycles and bounds, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.problems import reduce
from clapas.problems.gallery.alart import ROWS
from clapas.solvers.newton.piecewise import springs_with_friction
from clapas.studies.regions import cycles, has_cycle, path_from, solutions, steps, threshold
from clapas.studies.strip import strip

A = np.array([[2.0, -1.0], [-1.0, 1.0]])
FIGURES = np.array([-2.5 + 1e-4, 1.25 + 3e-4])


def orders(f: np.ndarray, r: float) -> list[int]:
    return [len(loop) for loop in cycles(steps(springs_with_friction(A, f, 1.0, r)))]


@pytest.mark.parametrize("a", [0.5, 3.0])
def test_one_degree_of_freedom_cycles_from_twice_its_stiffness_on(a: float) -> None:
    found = threshold(lambda r: has_cycle([springs_with_friction([[a]], [0.0], 1.0, r)]), 1e-3, 10 * a)
    assert found == pytest.approx(2 * a, rel=1e-3)


@pytest.mark.parametrize(("r", "expected"), [(0.25, []), (0.75, []), (1.5, []), (2.1, [3])])
def test_the_double_oscillator_of_the_figures(r: float, expected: list[int]) -> None:
    map_ = steps(springs_with_friction(A, FIGURES, 1.0, r))
    assert len(map_) == 9
    assert solutions(map_) == 1
    assert orders(FIGURES, r) == expected


def test_the_bound_of_the_figures_does_not_hold_for_all_loads() -> None:
    other = np.array([-5.0, 2.0])  # the first mass slides, the second sticks
    assert orders(other, 1.01) == [2]
    assert orders(other, 0.99) == []


def test_a_path_ends_where_it_repeats() -> None:
    map_ = steps(springs_with_friction(A, FIGURES, 1.0, 0.25))
    for region in map_:
        path = path_from(region, map_)
        assert path[-1] == path[-2]  # the solution
        assert len(set(path)) == len(path) - 1


@pytest.mark.parametrize(("nodes", "close"), [(2, 5e-3), (3, 5e-4), (4, 5e-3)])
def test_flexibility_of_elastic_rows_is_the_printed_one(nodes: int, close: float) -> None:
    W = reduce(strip(nodes - 1)).W.toarray()[::2, ::2]
    np.testing.assert_allclose(W, ROWS[nodes], atol=close)
