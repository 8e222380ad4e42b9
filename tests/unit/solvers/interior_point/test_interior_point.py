"""The interior point: the promises of every solver, hyperstatic structures, proximal finish, fixed point."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import ProblemError, SettingsError
from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers import NSGS, ConicFixedPoint, solve
from clapas.solvers.convex import ConvexProblem
from clapas.solvers.interior_point import ConvexInteriorPoint, InteriorPoint
from clapas.status import Status
from tests.random_problems import random_global
from tests.unit.solvers import contract


@pytest.mark.parametrize("d", [2, 3])
def test_agrees_with_gauss_seidel(d: int):
    contract.agrees_with_gauss_seidel(InteriorPoint, d)


@pytest.mark.parametrize(
    "promise",
    [
        contract.knows_answers_on_paper,
        contract.forgets_units,
        contract.treats_frictionless_contacts,
        contract.accepts_no_contact,
        contract.starts_from_guesses,
    ],
)
def test_promise(promise: contract.Make):
    promise(InteriorPoint)


def test_tells_the_truth():
    assert contract.tells_the_truth(InteriorPoint).status in (Status.STALLED, Status.MAX_ITERATIONS)


@pytest.mark.parametrize("name", ["crushed-disc", "crushed-disc-rough", "painleve-down-none"])
def test_where_there_is_no_inside_it_stalls(name: str):
    solution = solve(gallery.get(name).problem, InteriorPoint(), check=False)
    assert solution.status is Status.STALLED
    assert np.isfinite(solution.r).all()


@pytest.mark.parametrize(
    "name", ["box-stack-10", "brick-wall-6-5", "pyramid-8", "tower-10", "mass-ratio-1e6"]
)
@pytest.mark.parametrize("form", ["global", "reduced"])
def test_hyperstatic_structures(name: str, form: str):
    problem = gallery.get(name).problem
    solution = solve(reduce(problem) if form == "reduced" else problem, InteriorPoint(tol=1e-8))
    assert problem.residual(solution.r) <= 2e-8


def test_from_the_answer_of_gauss_seidel():
    problem = gallery.get("packing-1000").problem
    sweeps = solve(problem, NSGS(tol=1e-3))
    warm = solve(problem, InteriorPoint(tol=1e-8), guess=sweeps)
    assert warm.iterations < solve(problem, InteriorPoint(tol=1e-8)).iterations


def test_proximal_steps_go_on_where_the_walk_is_stuck():
    solution = solve(gallery.get("packing-plane-100").problem, InteriorPoint(tol=1e-6))
    assert solution.status is Status.SOLVED
    assert "proximal steps from a residual of" in solution.notes[0]


def test_huge_friction_and_no_friction_together():
    given = random_global(1, n=5, bodies=4, d=3)
    mu = np.array([0.0, 1e4, 0.3, 0.0, 0.5])
    problem = ContactProblem(M=given.M, H=given.H, f=given.f, w=given.w, mu=mu)
    assert solve(problem, InteriorPoint(tol=1e-8)).status is Status.SOLVED


def test_settings():
    with pytest.raises(SettingsError, match="tol must be positive"):
        InteriorPoint(tol=0.0)
    with pytest.raises(SettingsError, match="max_iterations must be at least 1, got 0"):
        ConvexInteriorPoint(max_iterations=0)


@pytest.mark.parametrize("name", ["alea-42-5", "tower-10", "elastic-row-4"])
def test_inside_the_conic_fixed_point(name: str):
    solver = ConicFixedPoint(tol=1e-8, inner=ConvexInteriorPoint())
    assert solve(gallery.get(name).problem, solver).status is Status.SOLVED


@pytest.mark.parametrize("polish", [True, False])
def test_convex_minimum(polish: bool):
    problem = gallery.get("packing-100").problem
    frozen = ConvexProblem.conic(problem, np.full(100, 0.01))
    inner = ConvexInteriorPoint() if polish else ConvexInteriorPoint(polish=None)
    method = inner.start(problem)
    found = method.solve(frozen, np.zeros((100, 3)), 1e-9)
    assert frozen.residual(found.r) == found.residual <= 1e-9
    assert method.solve(frozen, found.r, 1e-9).iterations == 0
    near = method.solve(frozen, 1.001 * found.r, 1e-9)
    assert 0 < near.iterations < found.iterations


def test_convex_answers_are_in_the_cones_however_early_it_stops():
    problem = gallery.get("packing-100").problem
    frozen = ConvexProblem.conic(problem, np.full(100, 0.01))
    found = (
        ConvexInteriorPoint(max_iterations=1, polish=None)
        .start(problem)
        .solve(frozen, np.ones((100, 3)), 1e-9)
    )
    assert (np.linalg.norm(found.r[:, 1:], axis=1) <= problem.mu * found.r[:, 0] * (1 + 1e-12)).all()


def test_convex_refuses_the_sets_of_tresca():
    problem = gallery.get("alea-42-5").problem
    frozen = ConvexProblem.tresca(problem, np.ones(5))
    with pytest.raises(ProblemError, match="the interior point minimises over friction cones only"):
        ConvexInteriorPoint().start(problem).solve(frozen, np.zeros((5, 3)), 1e-9)


@pytest.mark.parametrize("name", ["brick-wall-6-5", "tower-10", "pyramid-8"])
def test_what_rests_is_solved_at_zero_sliding_speed(name: str, monkeypatch: pytest.MonkeyPatch):
    problem = gallery.get(name).problem
    at_rest = solve(problem, InteriorPoint(tol=1e-8)).iterations
    monkeypatch.setattr("clapas.solvers.interior_point.AT_REST", 0)
    assert at_rest < solve(problem, InteriorPoint(tol=1e-8)).iterations


def test_what_slides_is_handed_over_to_the_coupled_walk(monkeypatch: pytest.MonkeyPatch):
    """On a sliding problem the walk at rest is left after a few steps, long before it has converged."""
    problem = gallery.get("one-slide").problem
    solution = solve(problem, InteriorPoint(tol=1e-10))
    assert solution.status is Status.SOLVED
    monkeypatch.setattr("clapas.solvers.interior_point.AT_REST", 0)
    coupled = solve(problem, InteriorPoint(tol=1e-10))
    assert coupled.iterations < solution.iterations <= coupled.iterations + 10
    np.testing.assert_allclose(solution.r, coupled.r, atol=1e-8 * np.abs(coupled.r).max())
