"""Proofs without rounding: unsymmetric W as given, mass ratios never denied, limits of time."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from clapas.problems import ContactProblem, gallery
from clapas.solvers import solve
from clapas.solvers.branch_and_bound import BranchAndBound, all_solutions, checker, search, verify
from clapas.solvers.branch_and_bound.least_squares import nonnegative_least_squares
from clapas.solvers.branch_and_bound.search import without_units
from clapas.solvers.loop import Halt
from clapas.status import Status

BARE = BranchAndBound(heuristics=(), restarts=0)


@pytest.mark.filterwarnings("ignore:W is not symmetric")
def test_unsymmetric_matrix_is_used_as_given() -> None:
    problem = ContactProblem(W=[[0.5, 5.5], [1.5, 22.5]], q=[[-4.0, 2.0]], mu=10.0)
    stick = -np.linalg.solve(problem.W.toarray(), problem.q.ravel())
    (only,) = all_solutions(problem).isolated
    assert only.ravel() == pytest.approx(stick)
    assert search(problem, BARE).solution.status is Status.SOLVED
    assert solve(problem, check=False).status is Status.SOLVED


@pytest.mark.filterwarnings("ignore:W is not symmetric")
def test_proof_for_an_unsymmetric_matrix_needs_its_transpose() -> None:
    # u_N = r_N·0 − r_T − 1 with the other sense of sliding excluded: no solution, by the rows of W only.
    problem = ContactProblem(W=[[1.0, 2.0], [0.0, 1.0]], q=[[-1.0, 3.0]], mu=1.0)
    listed, outcome = all_solutions(problem), search(problem, BARE)
    assert (outcome.solution.status is Status.SOLVED) == bool(listed.isolated or listed.continua)
    if outcome.proof is not None:
        assert verify(problem, outcome.proof).accepted


@pytest.mark.parametrize("form", ["reduced", "global"])
@pytest.mark.parametrize("ratio", [1e6, 1e8, 1e9, 1e11, 1e13])
def test_a_heavy_body_on_a_light_one_is_never_denied(ratio: float, form: str) -> None:
    if form == "reduced":
        W = np.diag([1.0, 1.0, 1.0 + 1.0 / ratio, 1.0])
        W[0, 2] = W[2, 0] = -1.0
        problem = ContactProblem(W=W, q=[[-1.0, 0.0], [0.0, 0.0]], mu=0.5)
    else:
        H = [[1.0, 0, 0, 0], [0, 1, 0, 0], [-1, 0, 1, 0], [0, -1, 0, 1]]
        M = np.diag([1.0, 1.0, ratio, ratio])
        problem = ContactProblem(M=M, H=H, f=[0.1, 0.0, 0.1 * ratio, 0.0], mu=0.5, d=2)
    solution = search(problem, BARE).solution
    if ratio <= 1e6:
        assert solution.status is Status.SOLVED
    elif solution.status is Status.ALMOST_SOLVED:
        assert "rounding alone leaves a residual of about" in solution.notes[0]
        assert solution.residual < 1e-6
    else:
        assert ratio > 1e8
        assert solution.status is Status.NUMERICAL_ERROR
        assert "a solution exists" in solution.notes[0]


@pytest.mark.parametrize("name", ["painleve-down-none", "subset-sum-none", "crushed-disc-rough"])
def test_true_proofs_reach_as_far_as_rounding_allows(name: str) -> None:
    problem = gallery.get(name).problem
    outcome = search(problem, BARE)
    assert outcome.proof is not None
    assert verify(problem, outcome.proof).radius > 1e11


def test_whole_numbers_give_proofs_without_bound() -> None:
    W = np.array([[1.0, 0, -1, 0], [0, 1, 0, 0], [-1, 0, 1, 0], [0, 0, 0, 1]])
    problem = ContactProblem(W=W, q=[[-1.0, 0.0], [-1.0, 0.0]], mu=0.25)
    outcome = search(problem, BARE)
    assert outcome.proof is not None
    assert verify(problem, outcome.proof).radius == math.inf


def test_units_are_powers_of_two() -> None:
    problem = gallery.get("painleve-up-two").problem
    data, unit = without_units(problem)
    assert np.array_equal(np.frexp(unit)[0], np.full_like(unit, 0.5))
    assert data.spread > 0.0  # W was computed from M and H


def test_time_is_heeded_within_the_least_squares() -> None:
    random = np.random.default_rng(0)
    columns, b = random.standard_normal((300, 900)), random.standard_normal(300)
    with pytest.raises(Halt) as halt:
        nonnegative_least_squares(columns, b, deadline=time.perf_counter() - 1.0)
    assert halt.value.status is Status.TIME_LIMIT
    assert nonnegative_least_squares(columns, b)[2]


def test_margins_are_on_the_safe_side() -> None:
    assert checker._is_surely_positive(1.0, 0.0)
    assert checker._is_surely_positive(1e-300, 0.0)
    assert not checker._is_surely_positive(1.0, -1.0 + 1e-16)
    assert checker._is_surely_positive(1.0, -0.5)
