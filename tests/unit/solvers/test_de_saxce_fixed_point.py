"""De Saxcé's projection, with a fixed step and with one that adapts itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import gallery
from clapas.solvers import solve
from clapas.solvers.de_saxce_fixed_point import DeSaxceFixedPoint
from clapas.solvers.steps import AdaptiveStep, FixedStep
from clapas.status import Status
from tests.unit.solvers import contract


def make(**settings: Any) -> DeSaxceFixedPoint:
    return DeSaxceFixedPoint(**settings)


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
    problem = gallery.get("alea-42-5").problem
    rho = 0.2
    guess = np.abs(np.random.default_rng(0).normal(size=(5, 3)))
    iteration = make(step=FixedStep(rho=rho, relative=False)).start(problem, guess)
    iteration.advance(1)
    # natural_map is r − P_K(r − ρ ũ)
    from clapas.problems.coulomb import natural_map

    expected = guess - natural_map(problem.velocity(guess), guess, problem.mu, np.full(5, rho))
    np.testing.assert_allclose(iteration.impulses(), expected, atol=1e-13)


def test_thesis_step_overflows_and_says_so() -> None:
    """Cadoux 2009, Table 5.7: with ρ = 1 the method diverges on every random problem."""
    problem = gallery.get("alea-54-11").problem
    thesis = make(step=FixedStep(rho=1.0, relative=False))
    solution = solve(problem, thesis, check=False)
    assert solution.status is Status.NUMERICAL_ERROR
    assert np.isfinite(solution.r).all()


def test_fixed_step_serves_one_contact() -> None:
    entry = gallery.get("one-slide")
    assert entry.recognises(solve(entry.problem, make(step=FixedStep())).r, tol=1e-6)


def test_adaptive_step_settles_below_its_bound() -> None:
    """The quotient ρ |F(x) − F(x̄)| / |x − x̄| of an accepted step is at most ``upper``."""
    problem = gallery.get("alea-54-11").problem
    iteration: Any = make(step=AdaptiveStep(upper=0.8)).start(problem, np.zeros((11, 3)))
    for _ in range(50):
        x, here, field = iteration.x, iteration.here, iteration.shifted_velocity
        move = iteration.stepper.move(x, here, field, iteration.project)
        moved = np.linalg.norm(move.x - x)
        assert move.rho * np.linalg.norm(move.field - here) <= 0.8 * moved + 1e-14
        iteration.x, iteration.here = move.x, move.field


@pytest.mark.parametrize(
    ("rule", "settings", "message"),
    [
        (FixedStep, {"rho": 0.0}, "rho must be positive, got 0.0"),
        (AdaptiveStep, {"upper": 1.5}, "need 0 < lower < upper < 1, got lower 0.3, upper 1.5"),
        (AdaptiveStep, {"lower": 0.95}, "need 0 < lower < upper < 1"),
        (AdaptiveStep, {"shorten": 1.0}, "need shorten < 1 < lengthen, got shorten 1.0"),
        (AdaptiveStep, {"lengthen": 0.5}, "need shorten < 1 < lengthen"),
    ],
)
def test_bad_steps(rule: Any, settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        rule(**settings)
