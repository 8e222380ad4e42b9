"""Gradient methods for the convex problem: same minimum, always in the set, honest residual."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.convex import CoulombCone, TrescaSet
from clapas.errors import SettingsError
from clapas.problems import ContactProblem, gallery
from clapas.solvers.convex import (
    AcceleratedGradient,
    ConvexProblem,
    ConvexSolver,
    ProjectedGradient,
    SpectralGradient,
)
from clapas.solvers.convex.projections import projection
from tests.random_problems import random_global

METHODS = [
    ProjectedGradient(max_iterations=20_000),
    AcceleratedGradient(max_iterations=20_000),
    SpectralGradient(max_iterations=20_000),
]


def names(solver: object) -> str:
    return type(solver).__name__


def frozen_problems(d: int) -> list[ConvexProblem]:
    rng = np.random.default_rng(d)
    problems = [random_global(seed, n=6, d=d) for seed in (1, 2)]
    s = rng.uniform(0, 1, 6) * (rng.random(6) > 0.3)
    return [kind(p, s) for p in problems for kind in (ConvexProblem.conic, ConvexProblem.tresca)]


@pytest.mark.parametrize("solver", METHODS, ids=names)
@pytest.mark.parametrize("d", [2, 3])
def test_minimum(solver: ConvexSolver, d: int) -> None:
    for frozen in frozen_problems(d):
        method = solver.start(frozen.contacts)
        found = method.solve(frozen, np.zeros(frozen.b.shape), 1e-10)
        assert found.residual <= 1e-10
        assert found.residual == pytest.approx(frozen.residual(found.r), abs=1e-13)
        np.testing.assert_allclose(found.u, frozen.velocity(found.r), atol=1e-9)
        assert frozen.admissible.contains(found.r, tol=1e-12).all()
        rng = np.random.default_rng(0)
        least = frozen.energy(found.r, found.u)
        for _ in range(20):
            other = frozen.admissible.project(found.r + 0.1 * rng.normal(size=found.r.shape))
            assert frozen.energy(other, frozen.velocity(other)) >= least - 1e-12


@pytest.mark.parametrize("solver", METHODS, ids=names)
def test_warm_start_and_memory(solver: ConvexSolver) -> None:
    problem = gallery.get("alea-54-11").problem
    frozen = ConvexProblem.conic(problem, np.full(11, 0.1))
    method = solver.start(problem)
    cold = method.solve(frozen, np.zeros((11, 3)), 1e-8)
    assert method.solve(frozen, cold.r, 1e-8).iterations <= 1
    assert method.solve(frozen, cold.r * 1.001, 1e-8).iterations < cold.iterations


@pytest.mark.parametrize("solver", [ProjectedGradient, AcceleratedGradient, SpectralGradient])
def test_truncated_answers_are_in_the_set_and_do_not_lie(solver: Any) -> None:
    problem = gallery.get("alea-54-11").problem
    frozen = ConvexProblem.conic(problem, np.zeros(11))
    found = solver(max_iterations=3).start(problem).solve(frozen, -np.ones((11, 3)), 1e-12)
    assert found.iterations == 3
    assert frozen.admissible.contains(found.r, tol=1e-12).all()
    assert found.residual == pytest.approx(frozen.residual(found.r), rel=1e-9)
    assert found.residual > 1e-12


@pytest.mark.parametrize("solver", METHODS, ids=names)
def test_accuracy_beyond_rounding_ends_with_the_best_point(solver: ConvexSolver) -> None:
    problem = random_global(1, n=4)
    frozen = ConvexProblem.conic(problem, np.full(4, 0.1))
    found = solver.start(problem).solve(frozen, np.zeros((4, 3)), 1e-30)
    assert found.residual <= 1e-12


@pytest.mark.parametrize("solver", METHODS, ids=names)
def test_unbounded_problems_return(solver: ConvexSolver) -> None:
    """The Painlevé rod at s = 0: the energy has no minimum (Cadoux 2009)."""
    problem = gallery.get("painleve-up-two").problem
    frozen = ConvexProblem.conic(problem, np.zeros(1))
    found = solver.start(problem).solve(frozen, np.zeros((1, 2)), 1e-8)
    assert np.isfinite(found.r).all()
    assert found.residual > 1e-3


@pytest.mark.parametrize("solver", METHODS, ids=names)
def test_no_contact(solver: ConvexSolver) -> None:
    problem = gallery.get("no-contact").problem
    frozen = ConvexProblem.conic(problem, np.zeros(0))
    assert solver.start(problem).solve(frozen, np.zeros((0, 3)), 1e-8).residual == 0.0


def test_descent_is_monotone() -> None:
    """Armijo's rule: the energy never grows, step after step."""
    problem = gallery.get("alea-42-5").problem
    frozen = ConvexProblem.conic(problem, np.full(5, 0.1))
    r, last = np.zeros((5, 3)), np.inf
    method = ProjectedGradient(max_iterations=1).start(problem)
    for _ in range(50):
        r = method.solve(frozen, r, 1e-14).r
        energy = frozen.energy(r, frozen.velocity(r))
        assert energy <= last + 1e-12
        last = energy


def test_units_do_not_matter() -> None:
    problem = random_global(3, n=4)
    heavy = ContactProblem(M=problem.M * 1e6, H=problem.H, f=problem.f * 1e6, w=problem.w, mu=problem.mu)
    counts = {
        AcceleratedGradient()
        .start(p)
        .solve(ConvexProblem.conic(p, np.full(4, 0.1)), np.zeros((4, 3)), 1e-8)
        .iterations
        for p in (problem, heavy)
    }
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("d", [2, 3])
def test_compiled_projections_are_those_of_the_sets(d: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, d))
    x[0], x[1, 1:] = 0.0, 0.0
    parameter, scale = rng.uniform(-0.2, 1.0, 40), rng.uniform(0.5, 2, 40)
    threshold = projection(TrescaSet(parameter), scale)(x)
    np.testing.assert_allclose(threshold, TrescaSet(parameter * scale).project(x), atol=1e-15)
    mu = np.abs(parameter)
    np.testing.assert_allclose(
        projection(CoulombCone(mu, d), scale)(x), CoulombCone(mu, d).project(x), atol=1e-15
    )


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (ProjectedGradient, {"max_iterations": 0}, "max_iterations must be at least 1, got 0"),
        (ProjectedGradient, {"shorten": 1.0}, "shorten must be between 0 and 1"),
        (ProjectedGradient, {"lengthen": 0.5}, "lengthen must be at least 1"),
        (ProjectedGradient, {"decrease": 1.0}, "decrease must be between 0 and 1"),
        (AcceleratedGradient, {"relax": 0.0}, r"relax must be in \]0, 1\]"),
        (SpectralGradient, {"memory": 0}, "memory must be at least 1, got 0"),
    ],
)
def test_bad_settings(make: Any, settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make(**settings)
