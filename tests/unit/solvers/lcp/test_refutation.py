"""Proofs that an LCP has no solution: by cases, checked in whole numbers, never where one exists."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from clapas.problems.lcp import LCP, Infeasibility
from clapas.problems.mixed_lcp import MixedLCP
from clapas.problems.relay import Relay
from clapas.solvers.lcp import (
    Auto,
    BlockPivoting,
    LCPEnumeration,
    Lemke,
    MixedInteger,
    enumerate_lcp,
    refute,
    solve_lcp,
)
from clapas.solvers.lcp.refutation import Cases, Leaf, Refutation
from clapas.solvers.lcp.scaling import Equilibrated
from clapas.status import Status


def random_lcp(random: np.random.Generator) -> LCP:
    n = int(random.integers(1, 6))
    return LCP(random.integers(-3, 4, (n, n)).astype(float), random.integers(-4, 4, n).astype(float))


def test_decides_small_problems_as_enumeration_does() -> None:
    random = np.random.default_rng(5)
    proved = 0
    for _ in range(150):
        problem = random_lcp(random)
        attempt = refute(problem)
        solutions = enumerate_lcp(problem)
        if attempt.refutation is not None:
            assert attempt.refutation.proves(problem)
            assert not solutions
            proved += 1
        else:
            assert attempt.z is not None
            assert problem.residual(attempt.z) < 1e-12
            assert solutions
    assert 30 < proved < 140


def test_a_proof_of_one_problem_is_not_one_of_another() -> None:
    problem, other = LCP([[0.0, 1.0], [0.0, 0.0]], [-1.0, 1.0]), LCP([[1.0, 1.0], [0.0, 1.0]], [-1.0, 1.0])
    proof = refute(problem).refutation
    assert proof is not None
    assert repr(proof) == "Refutation(2 cases)"
    assert proof.proves(problem)
    assert not proof.proves(other)
    assert isinstance(proof.tree, Cases)
    assert not Refutation(proof.tree.without_z).proves(problem)  # half of the cases
    assert not Refutation(replace(proof.tree, without_w=Leaf(-np.ones(2)))).proves(problem)
    assert not Refutation(Leaf(np.array([np.nan, 1.0]))).proves(problem)


@pytest.mark.parametrize("solver", [LCPEnumeration(), MixedInteger(), Auto()], ids=repr)
def test_rows_and_columns_of_any_unit_are_never_denied(solver: LCPEnumeration) -> None:
    random = np.random.default_rng(1)
    solved = 0
    for _ in range(25):
        n = int(random.integers(2, 6))
        A = random.integers(-3, 4, (n, n)).astype(float)
        rows, columns = 10.0 ** random.integers(-8, 9, (2, n))
        definite = rows[:, None] * (A @ A.T + np.eye(n)) * columns
        problem = LCP(definite, rows * random.integers(-3, 4, n))
        solution = solve_lcp(problem, solver, check=False)
        assert solution.status is not Status.NO_SOLUTION
        solved += solution.status.is_solved
    assert solved >= 18  # the others lie where rounding leaves a larger residual


@pytest.mark.parametrize("ratio", [1e6, 1e10, 1e13])
def test_nearly_singular_but_definite_is_never_denied(ratio: float) -> None:
    problem = LCP([[1.0, -1.0], [-1.0, 1.0 + 1.0 / ratio]], [-1.0, 0.0])
    for solver in (LCPEnumeration(), MixedInteger(), Auto(), Lemke()):
        assert solve_lcp(problem, solver, check=False).status is not Status.NO_SOLUTION
    # The proof that a singular M would allow excludes solutions up to the size of this one only.
    almost = Infeasibility(np.array([1.0, 1.0]))
    assert almost.radius(problem) < 3.0 * ratio
    assert not almost.proves(problem)
    singular = LCP([[1.0, -1.0], [-1.0, 1.0]], [-1.0, 0.0])
    assert almost.radius(singular) == math.inf
    assert solve_lcp(singular, check=False).status is Status.NO_SOLUTION


def test_a_rough_proof_is_sharpened() -> None:
    random = np.random.default_rng(2)
    A = random.standard_normal((12, 5))
    M = A @ A.T
    y = random.standard_normal(12)
    kernel = np.abs(y - A @ np.linalg.lstsq(A, y, rcond=None)[0])
    signs = np.sign(y - A @ np.linalg.lstsq(A, y, rcond=None)[0])
    problem = LCP(signs[:, None] * M * signs, -np.ones(12))
    rough = Infeasibility(kernel * (1.0 + 1e-9 * random.standard_normal(12)))
    assert not rough.proves(problem)
    sharp = rough.established(problem, 1e-6)
    assert sharp is not None
    assert sharp.radius(problem) > 1e12


def test_lemke_hands_over_singular_mixed_problems_and_dual_relays() -> None:
    random = np.random.default_rng(3)
    rescued = 0
    for _ in range(40):
        n = int(random.integers(2, 5))
        M, q = random.integers(-3, 4, (n, n)).astype(float), random.integers(-4, 4, n).astype(float)
        equations = random.random(n) < 0.5
        singular = M.copy()
        singular[np.ix_(equations, equations)] = 0.0
        for lcp in (MixedLCP(singular, q, equations).as_lcp()[0], Relay(M, q, -1.0, 1.0, "dual").lcp()):
            exact = solve_lcp(lcp, MixedInteger(), check=False)
            assert solve_lcp(lcp, check=False).status is exact.status
            rescued += solve_lcp(lcp, Lemke(), check=False).status is Status.STALLED
    assert rescued > 10


def test_iterates_that_overflow_give_a_status() -> None:
    problem = LCP([[-3.0, 0.0, 0.0], [-2.0, -2.0, 1.0], [1.0, -3.0, 2.0]], [2.0, -2.0, 4.0])
    solution = solve_lcp(problem, BlockPivoting(), check=False)
    assert solution.status is Status.NUMERICAL_ERROR
    assert np.isfinite(solution.z).all()


@pytest.mark.parametrize("size", [1e-250, 1e-160, 1e160, 1e250])
def test_residual_of_huge_and_tiny_data(size: float) -> None:
    problem = LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0 * size, -6.0 * size])
    assert problem.residual([0.0, 0.0]) == pytest.approx(1.0)
    assert problem.residual([4 / 3 * size, 7 / 3 * size]) < 1e-15
    assert solve_lcp(problem).z == pytest.approx([4 / 3 * size, 7 / 3 * size], rel=1e-12)


def test_residual_beyond_the_doubles_is_infinite() -> None:
    assert LCP([[1e300]], [-1.0]).residual([1e300]) == math.inf


def test_equilibrated_keeps_solutions_to_the_last_bit() -> None:
    given = LCP([[3e-9, 1e7], [-2e3, 5e-4]], [-1e-5, 7e8])
    scaled = Equilibrated.of(given)
    assert np.abs(scaled.problem.M).max(axis=1) == pytest.approx([1.0, 1.0], rel=1.0)
    z = np.array([0.3, 0.7])
    ratio = given.slack(scaled.back(z)) / scaled.problem.slack(z)
    assert np.array_equal(np.frexp(ratio)[0], [0.5, 0.5])  # powers of two
