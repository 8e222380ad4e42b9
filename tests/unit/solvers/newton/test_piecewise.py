"""Alart's elementary problems: paths, cycles and bounds of the generalised Newton method."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from clapas.solvers.newton.augmentation import Elastoplastic, node_bound, two_springs_bound
from clapas.solvers.newton.piecewise import (
    Path,
    PiecewiseLinear,
    elastoplastic_spring,
    katzenelson_path,
    newton_path,
    node_with_friction,
    obstacle,
    springs_with_friction,
)

OSCILLATOR = np.array([[2.0, -1.0], [-1.0, 1.0]])
LOAD = np.array([3.0, -1.5])  # the first spring slides, the second sticks


def oscillator(r: float, load: np.ndarray = LOAD) -> PiecewiseLinear:
    return springs_with_friction(OSCILLATOR, load, 1.0, r)


def paths_from_every_region(r: float, load: np.ndarray = LOAD) -> list[Path]:
    starts = [np.array([0.0, 0.0, a, b]) for a, b in product((-5.0, 0.0, 5.0), repeat=2)]
    return [newton_path(oscillator(r, load), start) for start in starts]


def random_stiffness(rng: np.random.Generator, n: int) -> np.ndarray:
    A = rng.normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


# ---------------------------------------------------------------- obstacle


@pytest.mark.parametrize("seed", range(10))
def test_obstacle_is_solved_without_cycles_of_order_two(seed: int):
    rng = np.random.default_rng(seed)
    n = 4
    A, f = random_stiffness(rng, n), rng.normal(size=n)
    path = newton_path(obstacle(A, f, r=1.0), np.zeros(2 * n))
    assert path.cycle != 2
    for x in path.points[1:]:
        np.testing.assert_allclose(x[:n] * x[n:], 0.0, atol=1e-12)
    if path.is_solved:
        assert (path.end[:n] >= -1e-12).all()
        assert (path.end[n:] <= 1e-12).all()


def test_obstacle_converges_monotonically_where_the_flexibility_is_an_m_matrix():
    """Theorems 2 and 3: off-diagonal flexibilities are negative, at most 2^(n−1) iterations."""
    flexibility = np.array([[2.214, -0.1424, -0.0714], [-0.1424, 0.8916, -0.1424], [-0.0714, -0.1424, 2.214]])
    A = np.linalg.inv(flexibility)
    for load in product((-1.0, 0.4), repeat=3):
        path = newton_path(obstacle(A, np.array(load), r=0.4), np.zeros(6))
        assert path.is_solved
        assert path.iterations <= 4


def test_augmentation_plays_no_role_on_obstacles():
    A, f = random_stiffness(np.random.default_rng(3), 3), np.array([-1.0, 0.5, -0.3])
    start = np.array([1.0, -1.0, 1.0, 0.0, 0.0, 0.0])
    small, large = (newton_path(obstacle(A, f, r), start) for r in (0.01, 100.0))
    for a, b in zip(small.points, large.points, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


# ---------------------------------------------------------------- springs with friction


@pytest.mark.parametrize(("r", "cycle"), [(0.5, 0), (1.0, 0), (1.99, 0), (2.01, 2), (10.0, 2)])
def test_one_spring_cycles_beyond_twice_its_stiffness(r: float, cycle: int):
    path = newton_path(springs_with_friction([[1.0]], [0.0], 1.0, r), [5.0, 0.0])
    assert path.is_solved is (cycle == 0)
    assert path.cycle == cycle


@pytest.mark.parametrize("r", [0.25, 0.75, 1.5])
def test_oscillator_converges_from_every_region(r: float):
    for path in paths_from_every_region(r):
        assert path.is_solved
        np.testing.assert_allclose(path.end, [1.0, 0.0, 1.0, -0.5], atol=1e-12)


def test_oscillator_goes_round_in_threes_beyond_the_bound():
    assert two_springs_bound(OSCILLATOR) == pytest.approx(2.0)
    cycles = {path.cycle for path in paths_from_every_region(2.1)}
    assert cycles == {0, 3}


def test_cycle_repeats_the_same_points():
    once = next(path for path in paths_from_every_region(2.1) if path.cycle)
    again = newton_path(oscillator(2.1), once.end)
    assert again.iterations == again.cycle == once.cycle
    np.testing.assert_allclose(again.end, once.end, atol=1e-12)


def test_other_loads_cycle_below_the_bound_of_two_springs():
    """The bound 2 max(1/c_ii) is for the load of the example; 2 min(1/c_ii) = 1 serves them all."""
    rng = np.random.default_rng(0)
    loads = rng.uniform(-3.0, 3.0, (60, 2))
    assert all(path.is_solved for load in loads for path in paths_from_every_region(0.99, load))
    assert any(path.cycle == 2 for load in loads for path in paths_from_every_region(1.5, load))


@pytest.mark.parametrize("r", [0.25, 0.75, 1.5, 2.1, 20.0])
def test_katzenelson_never_cycles_on_the_oscillator(r: float):
    for start in ([5.0, 3.0, 0.1, 0.2], [-5.0, 3.3, 0.0, 0.0], [1.0, -7.0, 0.3, 0.1]):
        path = katzenelson_path(oscillator(r), start)
        assert path.is_solved
        np.testing.assert_allclose(path.end, [1.0, 0.0, 1.0, -0.5], atol=1e-12)


def test_image_of_katzenelsons_path_is_a_straight_segment():
    equation = oscillator(2.1)
    path = katzenelson_path(equation, [5.0, 3.0, 0.1, 0.2])
    first = equation.value(path.points[0])
    shares = [float(np.vdot(equation.value(x), first) / np.vdot(first, first)) for x in path.points]
    assert all(a > b for a, b in pairwise(shares))
    for x, share in zip(path.points, shares, strict=True):
        np.testing.assert_allclose(equation.value(x), share * first, atol=1e-10)


# ---------------------------------------------------------------- one node with friction


NODE = np.linalg.inv(np.array([[1.0, 0.5], [0.5, 1.0]]))  # stiffness; c_nt/c_nn = ½: one answer for mu < 2
NODE_BOUND = float(node_bound(np.linalg.inv(NODE)[None])[0])


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ([1.0, 0.0], (0.0, 0.0)),  # taken off
        ([-1.0, 0.0], (-1.0, 0.0)),  # held
        ([-1.0, 1.0], None),  # slides on
        ([-1.0, -1.0], None),  # slides back
    ],
)
def test_node_in_every_state(load: list[float], expected: tuple[float, float] | None):
    mu = 0.4
    path = newton_path(node_with_friction(NODE, load, mu, r=0.5 * NODE_BOUND), np.zeros(4))
    assert path.is_solved
    u, force = path.end[:2], path.end[2:]
    np.testing.assert_allclose(NODE @ u + force, load, atol=1e-12)
    if expected is not None:
        np.testing.assert_allclose(force, expected, atol=1e-12)
    else:
        assert abs(force[1]) == pytest.approx(-mu * force[0])
        assert np.sign(force[1]) == np.sign(u[1]) == np.sign(load[1])


def test_node_cycles_only_beyond_its_bound():
    rng = np.random.default_rng(2)
    starts = [rng.uniform(-3.0, 3.0, 4) for _ in range(40)]

    def cycles(r: float) -> set[int]:
        return {newton_path(node_with_friction(NODE, [-1.0, 0.05], 0.4, r), start).cycle for start in starts}

    assert cycles(0.99 * NODE_BOUND) == {0}
    assert cycles(1.5 * NODE_BOUND) == {0, 2}


# ---------------------------------------------------------------- friction and plasticity


def test_elastoplastic_spring_cycles_beyond_its_bound():
    """Yielding in tension with forward sliding, then in compression with backward sliding, for ever."""
    material, threshold = Elastoplastic(stiffness=9.0, hardening=1.0, yield_force=1.0), 0.1
    bound = float(material.bound(1.0, threshold))

    def path(r: float) -> Path:
        return newton_path(elastoplastic_spring(material, threshold, load=0.0, r=r), [-5.0, -1.0])

    assert path(0.95 * bound).is_solved
    assert path(1.05 * bound).cycle == 2
    large = elastoplastic_spring(material, threshold, load=0.01, r=2.0 * bound)
    assert katzenelson_path(large, [-5.0, -1.0]).is_solved
