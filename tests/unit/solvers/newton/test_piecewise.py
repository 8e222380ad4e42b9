"""Alart's elementary problems: paths, cycles and bounds of the generalised Newton method."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from clapas.errors import ProblemError
from clapas.solvers.newton.augmentation import Elastoplastic, node_bound, two_springs_bound
from clapas.solvers.newton.piecewise import (
    Path,
    PiecewiseLinear,
    elastoplastic_spring,
    katzenelson_path,
    newton_path,
    node_with_friction,
    obstacle,
    reduced_obstacle,
    reduced_springs,
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


def test_few_iterations_where_the_flexibility_is_an_m_matrix():
    """Theorem 3: at most 2^(n−1) iterations, on the second matrix of figure 3."""
    flexibility = np.array([[2.214, -0.1424, -0.0714], [-0.1424, 0.8916, -0.1424], [-0.0714, -0.1424, 2.214]])
    A = np.linalg.inv(flexibility)
    for load in product((-1.0, 0.4), repeat=3):
        path = newton_path(obstacle(A, np.array(load), r=0.4), np.zeros(6))
        assert path.is_solved
        assert path.iterations <= 4


@pytest.mark.parametrize("seed", range(60))
def test_obstacle_converges_monotonically_where_flexibilities_are_negative_off_the_diagonal(seed: int):
    """Theorem 2 (by theorem 1): from the second iterate on γ decreases, if r ≤ min 1/(A⁻¹)_ii."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    flexibility = negative_off_the_diagonal(rng, n)
    r = rng.uniform(0.2, 0.99) / flexibility.diagonal().max()
    A, f = np.linalg.inv(flexibility), rng.normal(size=n)
    path = newton_path(obstacle(A, f, r), 5.0 * rng.normal(size=2 * n))
    assert path.is_solved
    gamma = np.array([x[n:] + r * x[:n] for x in path.points[1:]])
    assert (np.diff(gamma, axis=0) <= 1e-9).all()


def negative_off_the_diagonal(rng: np.random.Generator, n: int) -> np.ndarray:
    """A definite matrix with entries ≤ 0 off its diagonal."""
    off = -np.abs(rng.normal(size=(n, n))) * (rng.random((n, n)) < 0.6)
    off = (off + off.T) / 2
    np.fill_diagonal(off, 0.0)
    return off + np.diag(-off.sum(axis=1) + rng.uniform(0.05, 1.0, n))


@pytest.mark.parametrize("seed", range(20))
def test_the_corollary_of_theorem_1(seed: int):
    """F(x) = B x + φ(x), B an M-matrix, φ diagonal, convex, isotone: iterates decrease to the zero."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    B, shift = negative_off_the_diagonal(rng, n), rng.normal(size=n)

    def piece(region):
        return B + np.diag(np.where(region, 1.0, 0.0)), shift

    equation = PiecewiseLinear(np.eye(n), np.zeros(n), piece, np.eye(n))  # φ_i(x) = max(0, x_i)
    path = newton_path(equation, 3.0 * rng.normal(size=n))
    assert path.is_solved
    assert (np.diff(np.array(path.points[1:]), axis=0) <= 1e-9).all()


@pytest.mark.parametrize("seed", range(50))
def test_the_conjecture_18_is_an_identity(seed: int):
    """1 − e_p·J_{p−1}⁻¹e_p = r |C_p|/|C_{p−1}| for any square C, symmetric or not.

    With Sylvester's determinant identity det J_p = det(I − r C)⁻¹ det(I_p − E_pᵀ(I − r C)E_p) =
    det(I − r C)⁻¹ r^p |C_p|, and det J_p / det J_{p−1} = 1 − e_p·J_{p−1}⁻¹e_p, since J_p = J_{p−1} − e_p
    e_pᵀ.
    """
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, 8)), rng.uniform(0.05, 3.0)
    C = rng.normal(size=(n, n))
    if seed % 2:
        C = C @ C.T + 0.1 * np.eye(n)
    J = np.linalg.inv(np.eye(n) - r * C)
    minors = [1.0, *(np.linalg.det(C[:p, :p]) for p in range(1, n + 1))]
    for p in range(1, n + 1):
        before = J - np.diag(np.arange(n) < p - 1).astype(float)
        left = 1.0 - np.linalg.inv(before)[p - 1, p - 1]
        assert left == pytest.approx(r * minors[p] / minors[p - 1], rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_reduced_equation_has_the_same_path(seed: int):
    rng = np.random.default_rng(seed)
    n, r = 3, 0.37
    A, f, start = random_stiffness(rng, n), rng.normal(size=n), rng.normal(size=2 * n)
    for whole, alone in (
        (obstacle(A, f, r), reduced_obstacle(A, f, r)),
        (springs_with_friction(A, f, 0.4, r), reduced_springs(A, f, 0.4, r)),
    ):
        path = newton_path(whole, start)
        short = newton_path(alone, start[n:] + r * start[:n])
        assert len(path.points) == len(short.points)
        for x, gamma in zip(path.points[1:], short.points[1:], strict=True):
            np.testing.assert_allclose(x[n:] + r * x[:n], gamma, atol=1e-8)


def test_the_reduced_equation_needs_r_off_the_spectrum_of_A():
    """Misprint after (3): r must differ from the eigenvalues of A, not of A⁻¹."""
    A = np.diag([2.0, 3.0])
    with pytest.raises(ProblemError, match="r = 2 is an eigenvalue of A"):
        reduced_obstacle(A, [1.0, 1.0], 2.0)
    assert newton_path(
        reduced_obstacle(A, [1.0, 1.0], 0.5), np.zeros(2)
    ).is_solved  # ½ of the spectrum of A⁻¹


@pytest.mark.parametrize("r", [0.3, 0.9])
def test_functions_of_the_first_kind_always_converge(r: float):
    """Theorem 5: one spring with r < a, from everywhere and for every load."""
    for f, start in product((-2.0, -0.3, 0.0, 0.7, 1.9), (-7.0, -1.0, 0.1, 4.0)):
        assert newton_path(reduced_springs([[1.0]], [f], 1.0, r), [start]).is_solved


@pytest.mark.parametrize(("r", "converges"), [(1.5, True), (1.9, True), (2.2, False), (4.0, False)])
def test_functions_of_the_second_kind_need_slopes_within_a_factor_two(r: float, converges: bool):
    """Theorem 6: slopes (1 − r/a)⁻¹ and that − 1; C_M < 2 C_m is r < 2 a, and is sharp where it sticks."""
    slope = 1.0 / (1.0 - r)
    slopes = sorted((abs(slope), abs(slope - 1.0)))
    assert (slopes[1] < 2.0 * slopes[0]) == converges
    paths = [newton_path(reduced_springs([[1.0]], [0.0], 1.0, r), [x]) for x in (-5.0, 2.5)]
    assert all(path.is_solved == converges for path in paths)
    assert all(path.cycle == (0 if converges else 2) for path in paths)


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
