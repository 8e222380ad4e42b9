"""Lemke's method, its tableau, and principal pivoting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.io.lcp import read_lcp
from clapas.problems.lcp import LCP
from clapas.solvers.lcp import (
    Auto,
    BlockPivoting,
    FischerBurmeisterNewton,
    Lemke,
    LemkeTableau,
    MixedInteger,
    PrincipalPivoting,
    Ray,
    enumerate_lcp,
    solve_lcp,
)
from clapas.solvers.lcp.basis import Basis
from clapas.status import Status
from tests.unit.solvers.lcp import families

CIRCULAR = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])  # a P-matrix


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 7))
def test_lemke_finds_one_of_the_solutions(seed: int, n: int) -> None:
    """Copositive matrices have several solutions; the path ends at one of them."""
    problem = families.copositive(seed, n)
    z = solve_lcp(problem, Lemke(tol=1e-10)).z
    assert min(np.abs(z - known).max() for known in enumerate_lcp(problem)) < 1e-6


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 9))
def test_degenerate_problems_do_not_cycle(seed: int, n: int) -> None:
    problem = families.degenerate(seed, n)
    for solver in (Lemke(max_iterations=4**n + 10), PrincipalPivoting(max_iterations=4**n + 10)):
        assert solve_lcp(problem, solver).residual <= 1e-8


def test_a_tie_that_makes_careless_pivots_cycle() -> None:
    """All slacks are tied from the first pivot on: the plain tableau cycles, lexicographic pivots end."""
    problem = LCP(CIRCULAR, -np.ones(3))
    careless = LemkeTableau(ties="first", max_iterations=1000)
    assert solve_lcp(problem, careless, check=False).status is Status.MAX_ITERATIONS
    for solver in (Lemke(max_iterations=20), LemkeTableau(max_iterations=20)):
        np.testing.assert_allclose(solve_lcp(problem, solver).z, np.full(3, 1 / 3))


@pytest.mark.parametrize("guess", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
def test_the_least_index_rule_ends_where_blocks_circle(guess: list[float]) -> None:
    """Exchanging all that is wrong goes round for ever; falling back on single exchanges does not."""
    problem = LCP(CIRCULAR, -np.ones(3))
    blocks = BlockPivoting(patience=10**6, max_iterations=100)
    assert solve_lcp(problem, blocks, guess=guess, check=False).status is Status.MAX_ITERATIONS
    for patience in (0, 10):
        solution = solve_lcp(problem, BlockPivoting(patience=patience, max_iterations=40), guess=guess)
        np.testing.assert_allclose(solution.z, np.full(3, 1 / 3))


@pytest.mark.parametrize("n", [1, 3, 6, 9])
def test_paths_of_exponential_length(n: int) -> None:
    solution = solve_lcp(families.murty(n), Lemke())
    np.testing.assert_allclose(solution.z, np.eye(n)[n - 1], atol=1e-9)


def is_on_ray(problem: LCP, ray: Ray, t: float) -> bool:
    """Whether a point of the ray is nonnegative, complementary and obeys w = M z + q + z₀ d."""
    z, w, z0 = ray.z + t * ray.dz, ray.w + t * ray.dw, ray.z0 + t * ray.dz0
    expected = problem.slack(z) + z0 * ray.cover
    scale = 1.0 + np.abs(w).max() + z0
    return bool(
        np.abs(w - expected).max() <= 1e-9 * scale
        and min(z.min(), w.min()) >= 0.0
        and z0 > 0.0
        and np.abs(z * w).max() <= 1e-9 * scale
    )


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, 8))
def test_rays_are_rays(seed: int, n: int) -> None:
    problem = families.infeasible(seed, n)
    solution = solve_lcp(problem, Lemke(), check=False)
    assert solution.status is Status.NO_SOLUTION
    assert solution.ray is not None
    assert all(is_on_ray(problem, solution.ray, t) for t in (0.0, 1.0, 100.0))
    proof = solution.ray.infeasibility(problem)
    assert proof is not None
    assert proof.proves(problem)


def test_a_ray_that_proves_nothing() -> None:
    """The matrix is far from copositive: the path runs away from (1, 0), which is a solution."""
    problem = LCP([[-1.0, -1.0], [1.0, -1.0]], [1.0, -1.0])
    solution = solve_lcp(problem, Lemke(), check=False)
    assert solution.status is Status.STALLED
    assert solution.infeasibility is None
    assert solution.ray is not None
    assert is_on_ray(problem, solution.ray, 3.0)
    assert "a solution may exist" in solution.notes[0]
    assert "MixedInteger() decides any" in solution.notes[-1]
    assert problem.residual([1.0, 0.0]) < 1e-15


def test_games_start_with_a_pair_missing() -> None:
    """Each player's cost is that of the other's strategy: matching pennies, shifted to be positive."""
    A, B = np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([[1.0, 3.0], [3.0, 1.0]])
    game = LCP(np.block([[np.zeros((2, 2)), A], [B.T, np.zeros((2, 2))]]), -np.ones(4))
    solution = solve_lcp(game, Lemke())
    np.testing.assert_allclose(solution.z, np.full(4, 0.25))
    assert solve_lcp(game, LemkeTableau(), check=False).status is Status.STALLED


def test_a_game_whose_start_is_an_equilibrium_is_solved_there() -> None:
    """Cottle, Pang, Stone 2009, example 4.4.23: the first pure strategies answer each other."""
    A = np.array([[10.0, 30.0], [20.0, 15.0]])
    problem = LCP(np.block([[np.zeros((2, 2)), A], [A, np.zeros((2, 2))]]), -np.ones(4))
    for solver in (Auto(), Lemke()):
        solution = solve_lcp(problem, solver)
        np.testing.assert_allclose(solution.z, [0.1, 0.0, 0.1, 0.0], atol=1e-15)
        assert solution.notes == ()


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, 8))
def test_games_end_at_one_of_their_equilibria(seed: int, n: int) -> None:
    game = families.game(seed, n)
    z = solve_lcp(game, Lemke(tol=1e-10)).z
    assert min(np.abs(z - known).max() for known in enumerate_lcp(game)) < 1e-6


def test_fresh_factorisations_keep_the_digits() -> None:
    """Hilbert's matrix: both are pivots on the same data, only one of them forgets its rounding."""
    n = 12
    i = np.arange(n)
    problem = LCP(1.0 / (1.0 + i[:, None] + i), -np.cos(i))
    careful = solve_lcp(problem, Lemke(refactorise=1), check=False)
    careless = solve_lcp(problem, LemkeTableau(), check=False)
    assert careful.residual < 1e-9
    assert careless.residual >= careful.residual


def test_the_interval_of_factorisations_does_not_matter() -> None:
    problem = families.definite(5, 60)
    answers = [solve_lcp(problem, Lemke(refactorise=k)) for k in (1, 7, 10_000)]
    assert len({answer.iterations for answer in answers}) == 1
    for answer in answers:
        np.testing.assert_allclose(answer.z, answers[0].z, atol=1e-10)


def test_the_inverse_of_the_basis_is_an_inverse() -> None:
    """Exchanges touch only columns that changed; compared with the whole matrix inverted."""
    problem = families.p_matrix(1, 6)
    basis = Basis(problem, np.ones(6), refactorise=1000)
    for row, variable in ((2, 8), (4, 12), (0, 6), (2, 4), (4, 10)):
        basis.exchange(row, variable, basis.direction(variable))
    B = np.column_stack([basis.column(int(v)) for v in basis.variables])
    np.testing.assert_allclose(basis.columns.T @ B, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(B @ basis.values, problem.q, atol=1e-10)
    before = basis.columns.copy()
    basis.renew()
    np.testing.assert_allclose(basis.columns, before, atol=1e-10)


def test_block_pivoting_goes_round_singular_blocks() -> None:
    problem = LCP(np.ones((2, 2)), [-1.0, -1.0])
    solution = solve_lcp(problem, BlockPivoting())
    assert solution.z.sum() == pytest.approx(1.0)
    assert solution.notes == ("M is not a P-matrix: proximal problems were solved",)


def test_block_pivoting_needs_few_factorisations_and_warms_up() -> None:
    problem = families.definite(2, 200)
    cold = solve_lcp(problem, BlockPivoting())
    assert cold.iterations < 30
    near = solve_lcp(problem, BlockPivoting(), guess=cold.z * 1.001)
    assert near.iterations <= 1


# -------------------------------------------------------------------- published problems


def published(folder: Path, name: str) -> LCP:
    return read_lcp(folder / "lcp" / f"lcp_{name}.dat").problem


@pytest.mark.parametrize(
    ("name", "z"),
    [
        ("CPS_2", [0.0, 1.0, 3.0]),
        ("deudeu", [4 / 3, 7 / 3]),
        ("trivial", 1.0 / np.arange(1, 10)),
        ("trivial_block", 1.0 / np.arange(1, 10)),
        ("exp_murty", [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
    ],
)
def test_published_answers(shared_data: Path, name: str, z: list[float]) -> None:
    np.testing.assert_allclose(solve_lcp(published(shared_data, name), Lemke()).z, z, atol=1e-12)


def test_a_published_continuum(shared_data: Path) -> None:
    z = solve_lcp(published(shared_data, "CPS_1"), Lemke()).z
    assert z.sum() == pytest.approx(1.0)


def test_a_published_game(shared_data: Path) -> None:
    game = published(shared_data, "CPS_3")
    known = enumerate_lcp(game)
    assert len(known) == 3
    for solver in (Lemke(), MixedInteger(), FischerBurmeisterNewton()):
        z = solve_lcp(game, solver, guess=np.full(4, 0.05)).z
        assert min(np.abs(z - each).max() for each in known) < 1e-7


def test_a_published_structure(shared_data: Path) -> None:
    problem = published(shared_data, "mmc")
    traits = problem.traits()
    assert traits.is_symmetric
    assert traits.is_p_matrix
    answers = [
        solve_lcp(problem, s).z for s in (Lemke(), PrincipalPivoting(), BlockPivoting(), LemkeTableau())
    ]
    for z in answers[1:]:
        np.testing.assert_allclose(z, answers[0], rtol=1e-9)
