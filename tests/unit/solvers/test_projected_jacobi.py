"""Projected Jacobi, relaxed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, gallery
from clapas.solvers import AlartCurnier, DeSaxce, solve
from clapas.solvers.projected_jacobi import ProjectedJacobi
from tests.unit.solvers import contract


def make(**settings: Any) -> ProjectedJacobi:
    return ProjectedJacobi(**settings)


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


def test_one_contact_is_solved_in_one_iteration() -> None:
    entry = gallery.get("one-slide-coupled")
    solution = solve(entry.problem, make(tol=1e-12, relaxation=1.0))
    assert solution.iterations <= 2


def test_contacts_that_do_not_meet_are_solved_at_once() -> None:
    W = np.kron(np.diag([1.0, 4.0]), np.eye(3))
    problem = ContactProblem(W=W, q=[[-1.0, 0.3, 0.0], [-1.0, 2.0, 0.0]], mu=0.5)
    assert solve(problem, make(tol=1e-12, relaxation=1.0)).iterations <= 2


@pytest.mark.parametrize("local", [AlartCurnier(), DeSaxce(projections=2)], ids=lambda s: type(s).__name__)
def test_other_local_solvers(local: Any) -> None:
    assert solve(gallery.box_stack(3).problem, make(tol=1e-6, local=local)).status.is_solved


def test_relaxation_keeps_solutions() -> None:
    problem = gallery.get("alea-42-5").problem
    r = solve(problem, make(tol=1e-11)).r
    for relaxation in (0.2, 1.0, 1.7):
        iteration = make(relaxation=relaxation).start(problem, r)
        iteration.advance(1)
        assert np.abs(iteration.impulses() - r).max() <= 1e-8 * np.abs(r).max()


def test_bad_settings() -> None:
    with pytest.raises(SettingsError, match="relaxation must be between 0 and 2, got 3"):
        make(relaxation=3)
