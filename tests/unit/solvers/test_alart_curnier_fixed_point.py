"""Alart and Curnier's map iterated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import gallery
from clapas.solvers import solve
from clapas.solvers.alart_curnier_fixed_point import AlartCurnierFixedPoint
from clapas.solvers.steps import FixedStep
from clapas.status import Status
from tests.unit.solvers import contract


def make(**settings: Any) -> AlartCurnierFixedPoint:
    return AlartCurnierFixedPoint(**settings)


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


def test_one_step_is_the_published_map() -> None:
    problem = gallery.get("one-slide").problem
    rho = 0.3
    guess = np.array([[0.7, 0.2, -0.1]])
    iteration = make(step=FixedStep(rho=rho, relative=False)).start(problem, guess)
    iteration.advance(1)
    u, mu = problem.velocity(guess), problem.mu[0]
    wish = guess[0] - rho * u[0]
    size = np.linalg.norm(wish[1:])
    friction = wish[1:] * min(1.0, mu * guess[0, 0] / size)
    np.testing.assert_allclose(iteration.impulses()[0], [max(0.0, wish[0]), *friction], atol=1e-14)


def test_fixed_step_diverges_on_many_contacts_and_says_so() -> None:
    problem = gallery.get("alea-54-11").problem
    solution = solve(problem, make(step=FixedStep(rho=20.0), max_iterations=2000), check=False)
    assert solution.status in (Status.NUMERICAL_ERROR, Status.MAX_ITERATIONS)
    assert np.isfinite(solution.r).all()


def test_bad_settings() -> None:
    with pytest.raises(SettingsError, match="tol must be positive"):
        make(tol=-1.0)
