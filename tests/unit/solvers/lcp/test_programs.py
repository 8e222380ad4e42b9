"""Newton, interior points, quadratic and mixed-integer programs, enumeration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.errors import ProblemError
from clapas.problems.lcp import LCP
from clapas.solvers.lcp import (
    FischerBurmeisterNewton,
    InteriorPoint,
    LCPEnumeration,
    Lemke,
    MinimumMap,
    MixedInteger,
    QuadraticProgram,
    enumerate_lcp,
    solve_lcp,
)
from clapas.solvers.lcp import fischer_burmeister_function as function
from clapas.solvers.lcp.polishing import polished
from clapas.solvers.lcp.proximal import Proximal
from clapas.status import Status
from tests.unit.solvers.lcp import families


@settings(max_examples=60)
@given(st.integers(0, 100_000), st.integers(1, 5))
def test_mixed_integers_agree_with_enumeration(seed: int, n: int) -> None:
    """Any matrix at all: a solution, or none exists."""
    rng = np.random.default_rng(seed)
    problem = LCP(rng.integers(-3, 4, size=(n, n)).astype(float), rng.integers(-3, 4, size=n).astype(float))
    known = enumerate_lcp(problem)
    solution = solve_lcp(problem, MixedInteger(), check=False)
    assert solution.status is (Status.SOLVED if known else Status.NO_SOLUTION)
    for z in known:
        assert problem.residual(z) < 1e-9


def test_enumeration_lists_all() -> None:
    """Three equations −z + 1 = w: each unknown is 0 or 1."""
    found = enumerate_lcp(LCP(-np.eye(3), np.ones(3)))
    assert sorted(z.tolist() for z in found) == sorted(
        [[float(a), float(b), float(c)] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    )


def test_enumeration_takes_the_nearest() -> None:
    problem = LCP(-np.eye(2), np.ones(2))
    solution = solve_lcp(problem, LCPEnumeration(), guess=[0.9, 0.2])
    assert solution.z.tolist() == [1.0, 0.0]
    assert solution.notes == ("4 solutions found",)


def test_enumeration_finds_points_of_continua() -> None:
    found = enumerate_lcp(LCP(np.ones((2, 2)), [-1.0, -1.0]))
    assert found
    assert all(z.sum() == pytest.approx(1.0) for z in found)


def test_enumeration_refuses_many_unknowns() -> None:
    with pytest.raises(ProblemError, match="stops at 14 unknowns, got 15"):
        enumerate_lcp(families.definite(0, 15))


def test_quadratic_programs() -> None:
    general = families.monotone(2, 9)
    for problem, form in (
        (families.semidefinite(2, 9), "symmetric"),
        (general, "general"),
        (general, "auto"),
    ):
        solution = solve_lcp(problem, QuadraticProgram(tol=1e-10, form=form))  # type: ignore[arg-type]
        assert "Clarabel" in solution.notes[0]
    with pytest.raises(ProblemError, match="needs a symmetric M"):
        solve_lcp(general, QuadraticProgram(form="symmetric"))


def test_programs_made_convex() -> None:
    """Three solutions, none of them the minimum of a convex function."""
    problem = LCP([[1.0, 2.0], [2.0, 1.0]], [-1.0, -1.0])
    solution = solve_lcp(problem, QuadraticProgram(tol=1e-10), guess=[0.9, 0.2])
    np.testing.assert_allclose(solution.z, [1.0, 0.0], atol=1e-9)
    p_matrix = families.p_general(1, 9)
    expected = solve_lcp(p_matrix, Lemke()).z
    np.testing.assert_allclose(solve_lcp(p_matrix, QuadraticProgram()).z, expected, atol=1e-7)


def test_programs_are_solved_to_the_last_digits() -> None:
    """The settings that the engine comes with leave it at 3e-4, too far for the active set to be right."""
    solution = solve_lcp(families.degenerate(500, 500), QuadraticProgram())
    assert solution.notes[0].startswith("Clarabel: Solved")


def test_interior_points_take_few_steps_whatever_the_conditioning() -> None:
    n = 40
    for decades in (0, 6, 12):
        Q = np.linalg.qr(np.random.default_rng(decades).normal(size=(n, n)))[0]
        M = (Q * 10.0 ** -np.linspace(0, decades, n)) @ Q.T
        problem = families.with_solution(0.5 * (M + M.T), np.random.default_rng(1))
        assert solve_lcp(problem, InteriorPoint()).iterations < 40


def test_the_function_of_fischer_and_burmeister() -> None:
    """Its derivatives against differences, and no cancellation at 1e-12."""
    z, w = np.random.default_rng(2).normal(size=(2, 5))
    step = 1e-6
    by_z, by_w = function.jacobian(z, w)
    difference_z = (function.values(z + step, w) - function.values(z - step, w)) / (2 * step)
    difference_w = (function.values(z, w + step) - function.values(z, w - step)) / (2 * step)
    np.testing.assert_allclose(by_z, difference_z, atol=1e-6)
    np.testing.assert_allclose(by_w, difference_w, atol=1e-6)
    assert function.values(np.array([1e-12]), np.array([1.0]))[0] == pytest.approx(1e-12, rel=1e-6)


def test_newton_solves_singular_problems_by_proximal_steps() -> None:
    """The active block of both unknowns is singular: M = 1 1ᵀ."""
    problem = LCP(np.ones((2, 2)), [-1.0, -1.0])
    for solver in (MinimumMap(), FischerBurmeisterNewton()):
        assert solve_lcp(problem, solver).z.sum() == pytest.approx(1.0)


def test_proximal_steps_of_a_symmetric_problem_must_descend() -> None:
    """M has the eigenvalues 3 and −1, f(z) = ½ zᵀM z + qᵀz its minimum on an axis, a saddle at (1/3, 1/3)."""
    problem = LCP([[1.0, 2.0], [2.0, 1.0]], [-1.0, -1.0])
    proximal = Proximal(problem, np.array([0.9, 0.0]))
    proximal.raise_shift()
    assert proximal.descends(np.array([1.0, 0.0]))
    assert not proximal.descends(np.array([1.0, 1.0]) / 3.0)


def test_proximal_shifts_are_lowered_again() -> None:
    problem = LCP([[1.0, 2.0], [2.0, 1.0]], [-1.0, -1.0])
    proximal = Proximal(problem, np.zeros(2))
    for _ in range(6):
        proximal.raise_shift()
    shift = proximal.shift
    assert proximal.recentre(np.array([0.1, 0.0]))
    assert 0.0 < proximal.shift < shift
    np.testing.assert_allclose(proximal.problem.dense - problem.dense, proximal.shift * np.eye(2), atol=1e-15)


@pytest.mark.parametrize("family", [families.semidefinite, families.monotone])
def test_interior_points_keep_near_their_path(family: Callable[[int, int], LCP]) -> None:
    """Mehrotra's steps alone go round on some of these."""
    for seed in range(60):
        assert solve_lcp(family(seed, 2), InteriorPoint()).iterations < 30


@pytest.mark.parametrize("solver", [MinimumMap(tol=1e-10), FischerBurmeisterNewton(tol=1e-10)])
def test_newton_ends_in_few_steps(solver: MinimumMap) -> None:
    problem = families.p_matrix(3, 50)
    cold = solve_lcp(problem, solver)
    assert cold.iterations < 30
    assert solve_lcp(problem, solver, guess=cold.z + 1e-6).iterations <= 3


def test_polishing_keeps_the_better() -> None:
    problem = families.definite(4, 12)
    z = solve_lcp(problem, Lemke()).z
    near = polished(problem, z + 1e-6)
    assert problem.residual(near) < 1e-13
    far = np.full(12, 5.0)
    assert problem.residual(polished(problem, far)) <= problem.residual(far)
