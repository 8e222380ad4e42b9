"""ADMM: answers on paper, both spaces, agreement with other methods, settings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clapas.errors import ProblemError, SettingsError
from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers.admm import ADMM
from clapas.solvers.loop import solve
from clapas.solvers.nsgs import NSGS
from tests.random_problems import particle, random_global

TIGHT = ADMM(tol=1e-10, max_iterations=20_000)


def test_sliding_particle():
    solution = solve(particle(mu=0.5), TIGHT)
    np.testing.assert_allclose(solution.r, [[0.0981, -0.04905, 0.0]], atol=1e-10)


@pytest.mark.parametrize("name", ["one-stick", "one-slide", "one-no-friction", "one-cone-edge"])
def test_one_contact(name: str):
    entry = gallery.get(name)
    assert entry.recognises(solve(entry.problem, TIGHT).r, 1e-7) is True


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_gauss_seidel_on_random_problems(d: int, seed: int):
    problem = random_global(seed, d=d)
    r = solve(problem, TIGHT).r
    expected = solve(problem, NSGS(tol=1e-12, max_iterations=50_000)).r
    np.testing.assert_allclose(problem.velocity(r), problem.velocity(expected), atol=1e-7)


@pytest.mark.parametrize("space", ["bodies", "contacts"])
@pytest.mark.parametrize("proximal", [0.0, 0.3])
def test_both_spaces_walk_alike(space: str, proximal: float):
    problem = random_global(3)
    auto = ADMM(tol=1e-12, max_iterations=30, proximal=proximal)
    expected = solve(problem, auto, check=False)
    solution = solve(problem, replace(auto, space=space), check=False)
    np.testing.assert_allclose(solution.history.residuals, expected.history.residuals, rtol=1e-6)


def test_reduced_form():
    problem = random_global(5)
    r = solve(reduce(problem), TIGHT).r
    assert problem.residual(r) < 1e-9


def test_stack_that_sweeps_find_slow():
    problem = gallery.get("box-stack-10").problem
    assert solve(problem, ADMM(tol=1e-6, max_iterations=2000)).residual <= 1e-6


def test_warm_start_from_the_solution_ends_at_once():
    problem = random_global(1)
    solution = solve(problem, TIGHT)
    assert solve(problem, TIGHT, guess=solution).iterations == 0
    near = solve(problem, TIGHT, guess=solution.r * (1 + 1e-6))
    assert near.iterations < solution.iterations


def test_units_do_not_matter():
    problem = gallery.get("block-on-floor").problem
    heavy = ContactProblem(
        M=1e9 * problem.M, H=problem.H, f=1e6 * problem.f, w=1e-3 * problem.w, mu=problem.mu
    )
    few = ADMM(tol=1e-12, max_iterations=20)
    here, there = solve(problem, few, check=False), solve(heavy, few, check=False)
    np.testing.assert_allclose(there.history.residuals, here.history.residuals, rtol=1e-5, atol=1e-12)


def test_without_contacts():
    assert solve(gallery.get("no-contact").problem, ADMM()).status.is_solved


def test_status_is_honest():
    solution = solve(gallery.get("crushed-disc").problem, ADMM(max_iterations=200), check=False)
    assert not solution.status.is_solved
    assert np.isfinite(solution.r).all()


def test_body_space_needs_bodies():
    with pytest.raises(ProblemError, match="body space needs the global form"):
        solve(particle(), ADMM(space="bodies"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rho": 0.0}, "rho must be positive, got 0.0"),
        ({"relaxation": 2.0}, "relaxation must be between 0 and 2, got 2.0"),
        ({"proximal": -1.0}, "proximal must be at least 0, got -1.0"),
        ({"space": "bodys"}, "space must be 'auto', 'bodies' or 'contacts', got 'bodys'"),
    ],
)
def test_bad_settings(settings: dict, message: str):
    with pytest.raises(SettingsError, match=message):
        ADMM(**settings)
