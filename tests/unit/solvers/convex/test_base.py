"""The convex problem at frozen friction: its data, its judge."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import ProblemError
from clapas.problems import ContactProblem, gallery
from clapas.solvers import NSGS, solve
from clapas.solvers.convex import ConvexProblem
from clapas.solvers.convex.base import admissible_solution, require_conic, symmetric_part
from tests.random_problems import random_global

PROBLEM = random_global(3, n=4)


def test_at_the_fixed_point_the_residual_is_the_natural_map_of_the_law() -> None:
    r = np.random.default_rng(0).normal(size=(4, 3))
    s = np.linalg.norm(PROBLEM.velocity(r)[:, 1:], axis=1)
    assert ConvexProblem.conic(PROBLEM, s).residual(r) == pytest.approx(
        PROBLEM.report(r).natural_map, rel=1e-12
    )


def test_a_solution_of_the_law_solves_both_convex_problems() -> None:
    solution = solve(PROBLEM, NSGS(tol=1e-13))
    speeds, thresholds = np.linalg.norm(solution.u[:, 1:], axis=1), PROBLEM.mu * solution.r[:, 0]
    assert ConvexProblem.conic(PROBLEM, speeds).residual(solution.r) <= 1e-12
    assert ConvexProblem.tresca(PROBLEM, thresholds).residual(solution.r) <= 1e-12


def test_gradient_and_energy_belong_together() -> None:
    frozen = ConvexProblem.conic(PROBLEM, np.full(4, 0.3))
    rng = np.random.default_rng(1)
    r, d = rng.normal(size=(2, 4, 3))
    h = 1e-6
    ahead, behind = r + h * d, r - h * d
    slope = (
        frozen.energy(ahead, frozen.velocity(ahead)) - frozen.energy(behind, frozen.velocity(behind))
    ) / (2 * h)
    assert slope == pytest.approx(float(np.vdot(frozen.velocity(r), d)), rel=1e-6)


def test_lag_joins_the_free_velocity() -> None:
    lag = np.ones((4, 3))
    s = np.full(4, 0.5)
    shift = np.zeros((4, 3))
    shift[:, 0] = PROBLEM.mu * s
    np.testing.assert_allclose(ConvexProblem.conic(PROBLEM, s, lag).b, PROBLEM.q + lag + shift)
    np.testing.assert_allclose(ConvexProblem.tresca(PROBLEM, s, lag).b, PROBLEM.q + lag)


def test_scale_has_a_way_out_when_nothing_moves() -> None:
    still = ContactProblem(W=np.eye(3), q=np.zeros((1, 3)), mu=[0.5])
    assert ConvexProblem.conic(still, np.array([2.0])).scale == 1.0  # |b| = mu s
    assert ConvexProblem.tresca(still, np.array([2.0])).scale == 1.0


def test_symmetric_problems_are_kept() -> None:
    assert symmetric_part(PROBLEM) == (PROBLEM, None)
    reduced = gallery.get("one-slide").problem
    assert symmetric_part(reduced) == (reduced, None)


@pytest.mark.filterwarnings("ignore:W is not symmetric")
def test_symmetric_and_skew_part_add_up() -> None:
    rng = np.random.default_rng(0)
    W = np.eye(6) + 0.01 * rng.normal(size=(6, 6))
    problem = ContactProblem(W=W, q=rng.normal(size=(2, 3)), mu=0.2)
    symmetric, skew = symmetric_part(problem)
    assert skew is not None
    np.testing.assert_allclose(symmetric.W.toarray() + skew.toarray(), W, atol=1e-15)
    np.testing.assert_allclose(skew.toarray(), -skew.toarray().T)


def test_answers_are_in_the_set() -> None:
    frozen = ConvexProblem.conic(PROBLEM, np.zeros(4))
    found = admissible_solution(frozen, np.random.default_rng(0).normal(size=(4, 3)), 7)
    assert frozen.admissible.contains(found.r, tol=1e-15).all()
    assert found.residual == frozen.residual(found.r)
    assert found.iterations == 7


def test_tresca_is_refused_by_methods_for_cones() -> None:
    with pytest.raises(ProblemError, match="minimises over friction cones only, not over Tresca's sets"):
        require_conic(ConvexProblem.tresca(PROBLEM, np.ones(4)), "this method")
