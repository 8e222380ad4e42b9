"""Accelerated projection: momentum on De Saxcé's map."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from clapas.convex import coulomb
from clapas.errors import SettingsError
from clapas.problems import gallery
from clapas.problems.coulomb import natural_map
from clapas.solvers import solve
from clapas.solvers.accelerated_projection import AcceleratedProjection
from clapas.solvers.accelerated_projection.iteration import FRICTION, LESS, Bound
from tests.random_problems import random_global
from tests.unit.solvers import contract


def make(**settings: Any) -> AcceleratedProjection:
    return AcceleratedProjection(**settings)


@pytest.mark.parametrize("d", [2, 3])
def test_agrees_with_gauss_seidel(d: int) -> None:
    contract.agrees_with_gauss_seidel(make, d)


def test_answers_on_paper() -> None:
    contract.knows_answers_on_paper(make)


def test_units_do_not_matter() -> None:
    contract.forgets_units(make)


def test_contacts_without_friction() -> None:
    contract.treats_frictionless_contacts(make)


def test_no_contact() -> None:
    contract.accepts_no_contact(make)


def test_warm_start() -> None:
    contract.starts_from_guesses(make)


def test_honest_status() -> None:
    contract.tells_the_truth(make)


@pytest.mark.parametrize(
    "name",
    [
        "alea-48-8",
        "alea-102-35",
        "alea-1005-200-by-15",
        "box-stack-10",
        "brick-wall-6-5",
        "pyramid-8",
        "tower-10",
    ],
)
def test_reaches_high_accuracy_where_gauss_seidel_crawls(name: str) -> None:
    assert solve(gallery.get(name).problem, make(tol=1e-8, max_iterations=3000)).status.is_solved


def test_iterates_stay_in_the_cones() -> None:
    problem = gallery.get("alea-54-11").problem
    iteration = make().start(problem, -np.ones((11, 3)))
    for _ in range(5):
        iteration.advance(7)
        r = iteration.impulses()
        assert (np.linalg.norm(r[:, 1:], axis=1) <= problem.mu * r[:, 0] * (1 + 1e-12)).all()


@pytest.mark.parametrize("d", [2, 3])
def test_first_step_is_de_saxces(d: int) -> None:
    """Without momentum yet: r ← P_K(r − ρ ũ), from the kernels and from NumPy."""
    problem = random_global(1, n=5, d=d)
    guess = coulomb.project(np.random.default_rng(0).normal(size=(5, d)), problem.mu)
    iteration: Any = make().start(problem, guess)
    iteration.advance(1)
    rho = iteration.rho * 0.95 / problem.response
    expected = guess - natural_map(problem.velocity(guess), guess, problem.mu, rho)
    np.testing.assert_allclose(iteration.impulses(), expected, atol=1e-12)
    np.testing.assert_allclose(
        iteration.scaled.to_velocities(iteration.u), problem.velocity(expected), atol=1e-11
    )


def test_momentum_follows_the_shape_of_the_path() -> None:
    bound = Bound(window=12)
    for k in range(60):
        bound.follow(np.array([[k, 0.0]]), np.array([[k + 1, 0.0]]), 1.0)  # straight on
    assert bound.friction == pytest.approx(max(FRICTION[0] * LESS**5, FRICTION[1]))
    circle = [np.array([[np.cos(a), np.sin(a)]]) for a in np.linspace(0, 40 * np.pi, 241)]
    for before, after in pairwise(circle):
        bound.follow(before, after, float(np.linalg.norm(after - before)))
    assert bound.friction == FRICTION[2]


def test_bad_settings() -> None:
    with pytest.raises(SettingsError, match="window must be at least 1, got 0"):
        make(window=0)
