"""Conjugate projected gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import gallery
from clapas.solvers import solve
from clapas.solvers.conjugate_gradient import ConjugateGradient
from tests.unit.solvers import contract


def make(**settings: Any) -> ConjugateGradient:
    return ConjugateGradient(**settings)


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


def test_a_structure_at_rest_takes_as_many_steps_as_it_has_levels() -> None:
    """Nothing slides: conjugate directions end after as many steps as there are distinct eigenvalues."""
    for levels in (2, 5, 10):
        solution = solve(gallery.box_stack(levels).problem, make(tol=1e-10))
        assert solution.iterations <= levels + 1


@pytest.mark.parametrize("name", ["sliding-block", "alea-54-11", "tower-10", "brick-wall-6-5"])
def test_solves(name: str) -> None:
    assert solve(gallery.get(name).problem, make(tol=1e-6)).status.is_solved


def test_published_form_circles_where_contacts_slide() -> None:
    problem = gallery.get("sliding-block").problem
    published = make(tol=1e-6, slack=np.inf, max_iterations=3000)
    assert not solve(problem, published, check=False).status.is_solved


def test_bad_settings() -> None:
    with pytest.raises(SettingsError, match="slack must be at least 0, got -1"):
        make(slack=-1)
