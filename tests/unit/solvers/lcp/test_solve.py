"""The driver: guesses, limits, failure, watching; and the registry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from clapas.errors import NotSolved, ProblemError, SettingsError
from clapas.problems.lcp import LCP
from clapas.problems.mixed_lcp import MixedLCP
from clapas.solvers.lcp import (
    GaussSeidel,
    LCPEnumeration,
    LCPSolution,
    Lemke,
    MixedInteger,
    prove_infeasible,
    registry,
    solve_lcp,
)
from clapas.solvers.lcp.advice import advise
from clapas.solvers.loop import Progress
from clapas.status import Status
from tests.unit.solvers.lcp import families

PROBLEM = families.definite(0, 20)


def test_failure_is_loud_and_carries_the_solution() -> None:
    with pytest.raises(NotSolved, match="MAX_ITERATIONS: residual") as caught:
        solve_lcp(PROBLEM, GaussSeidel(max_iterations=2))
    solution = caught.value.solution
    assert isinstance(solution, LCPSolution)
    assert solution.residual == PROBLEM.residual(solution.z)
    assert len(solution.history) == 3


def test_a_solution_is_recognised_as_a_guess() -> None:
    known = solve_lcp(PROBLEM)
    assert solve_lcp(PROBLEM, GaussSeidel(), guess=known.z).iterations == 0


def test_a_guess_nearby_spares_iterations() -> None:
    cold = solve_lcp(PROBLEM, GaussSeidel())
    warm = solve_lcp(PROBLEM, GaussSeidel(), guess=cold.z * (1 + 1e-6))
    assert 0 < warm.iterations < cold.iterations


def test_guesses_must_be_finite() -> None:
    with pytest.raises(ProblemError, match="the guess must be finite"):
        solve_lcp(PROBLEM, guess=np.full(20, np.nan))


def test_watching_and_stopping() -> None:
    seen: list[Progress] = []

    def watch(progress: Progress) -> bool:
        seen.append(progress)
        return progress.iterations >= 4

    solution = solve_lcp(PROBLEM, GaussSeidel(polish=False), check=False, progress=watch)
    assert solution.status is Status.STOPPED
    assert [row.iterations for row in seen] == [0, 1, 2, 3, 4]


def test_a_time_limit() -> None:
    solution = solve_lcp(PROBLEM, GaussSeidel(tol=1e-300, time_limit=1e-9), check=False)
    assert solution.status is Status.TIME_LIMIT


def test_iterates_that_overflow() -> None:
    diverging = LCP([[1.0, -9.0], [-9.0, 1.0]], [-1.0, -1.0])
    solution = solve_lcp(diverging, GaussSeidel(), check=False)
    assert solution.status in (Status.NUMERICAL_ERROR, Status.NO_SOLUTION)
    assert np.isfinite(solution.z).all()


def test_description() -> None:
    solution = solve_lcp(LCP([[1.0]], [-1.0]), Lemke())
    assert repr(solution).startswith("LCPSolution(SOLVED, residual")
    assert solution.as_dict()["report"]["smallest_w"] == 0.0


@pytest.mark.parametrize("sparse", [False, True])
def test_proofs_of_infeasibility(sparse: bool) -> None:
    for n in (1, 2, 7, 60):
        problem = families.infeasible(n, n)
        given = LCP(csr_array(problem.dense), problem.q) if sparse else problem
        proof = prove_infeasible(given)
        assert proof is not None
        assert proof.proves(problem)


def test_advice_names_a_method() -> None:
    """A failure says which class the problem belongs to, and who solves that."""
    with pytest.raises(NotSolved, match=r"M is positive semidefinite: Lemke\(\) and InteriorPoint\(\)"):
        solve_lcp(PROBLEM, GaussSeidel(max_iterations=1))
    circular = LCP([[1.0, 3.0, 0.0], [0.0, 1.0, 3.0], [3.0, 0.0, 1.0]], [-1.0, -1.0, -1.0])
    failed = solve_lcp(circular, GaussSeidel(max_iterations=1), check=False)
    assert failed.notes[-1] == "M is a P-matrix: Lemke() and BlockPivoting() solve such problems."


def test_feasible_problems_are_not_proved_infeasible() -> None:
    for seed in range(10):
        assert prove_infeasible(families.monotone(seed, 7)) is None


def test_the_registry_guesses_names() -> None:
    with pytest.raises(SettingsError, match="did you mean 'lemke'"):
        registry.find("lemk")
    assert registry.make("latin", k=0.5).k == 0.5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("lemke", {"refactorise": 0}),
        ("principal-pivoting", {"refactorise": 0}),
        ("block-pivoting", {"patience": -1}),
        ("gauss-seidel", {"relaxation": 2.0}),
        ("conjugate-gradient", {"slack": -1.0}),
        ("latin", {"k": 0.0}),
        ("latin", {"relaxation": 1.5}),
        ("latin", {"direction": "normal"}),
        ("lemke-tableau", {"ties": "last"}),
        ("lemke-tableau", {"precision": "half"}),
        ("quadratic-program", {"form": "skew"}),
        ("lemke", {"tol": 0.0}),
    ],
)
def test_settings_outside_their_range(name: str, wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=f"{next(iter(wrong))} must be"):
        registry.make(name, **wrong)


# Game-like: the only solution has all w = 0, and λ z from 1e-4 to 3e7 where |q| is 2e-3.
UNLIKE = LCP(
    [
        [0.0, 0.2787560823935089, 1.10749708289022e-08, -2.5514280381137865e-11],
        [-0.002787560823935089, 0.0, 191.7229483036136, 0.1839341025396062],
        [-1.1074970828902197e-11, -19.172294830361356, 0.0, 1.8573250576457538e-09],
        [2.551428038113786e-10, -183.9341025396062, -1.8573250576457536e-05, 0.0],
    ],
    [1e-06, 0.0, 2e-05, -0.002],
)


@pytest.mark.parametrize("solver", [LCPEnumeration(), MixedInteger()])
def test_all_that_rounding_leaves_is_almost_solved(solver: LCPEnumeration | MixedInteger) -> None:
    solution = solve_lcp(UNLIKE, solver, check=False)
    assert solution.status is Status.ALMOST_SOLVED
    assert solution.residual == pytest.approx(UNLIKE.rounding_floor(solution.z), rel=0.1)
    assert "rounding of these data leaves residuals of 3e-06 and more" in solution.notes[-1]
    assert solve_lcp(UNLIKE, replace(solver, tol=1e-5)).status is Status.SOLVED


def test_the_floor_of_one_unknown() -> None:
    """At z = 1e6 the terms of w = z − 1e6 are 1e6 each."""
    assert LCP([[1.0]], [-1e6]).rounding_floor([1e6]) == pytest.approx(2.0 * np.finfo(float).eps)


def test_a_method_that_failed_is_not_recommended() -> None:
    problem = LCP([[-1.0, 2.0], [3.0, -1.0]], [-1.0, -1.0])
    assert "MixedInteger()" in advise(problem)
    assert "MixedInteger()" not in advise(problem, tried="MixedInteger")


def test_what_is_no_lcp_is_refused_in_words() -> None:
    mixed: Any = MixedLCP([[1.0]], [-1.0], [True])
    with pytest.raises(ProblemError, match=r"expected an LCP, got MixedLCP.*as_lcp\(\)"):
        solve_lcp(mixed)


def test_solutions_are_compared_as_things_not_by_their_arrays() -> None:
    problem = LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    assert len({solve_lcp(problem), solve_lcp(problem)}) == 2
