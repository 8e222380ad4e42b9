"""Extragradient with a self-adaptive step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import gallery
from clapas.problems.coulomb import shifted
from clapas.solvers import solve
from clapas.solvers.extragradient import Extragradient
from clapas.solvers.steps import FixedStep
from tests.unit.solvers import contract


def make(**settings: Any) -> Extragradient:
    return Extragradient(**settings)


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


def test_one_step_is_the_published_one() -> None:
    from clapas.convex import coulomb

    problem = gallery.get("alea-42-5").problem
    rho = 0.1
    r = np.abs(np.random.default_rng(0).normal(size=(5, 3)))
    iteration = make(step=FixedStep(rho=rho, relative=False)).start(problem, r)
    iteration.advance(1)
    ahead = coulomb.project(r - rho * shifted(problem.velocity(r), problem.mu), problem.mu)
    expected = coulomb.project(r - rho * shifted(problem.velocity(ahead), problem.mu), problem.mu)
    np.testing.assert_allclose(iteration.impulses(), expected, atol=1e-13)


@pytest.mark.parametrize(
    "name", ["alea-66-17", "box-stack-10", "packing-plane-100", "painleve-down-backward"]
)
def test_reaches_moderate_accuracy(name: str) -> None:
    assert solve(gallery.get(name).problem, make(tol=1e-4)).status.is_solved


def test_bad_settings() -> None:
    with pytest.raises(SettingsError, match="max_iterations must be at least 0"):
        make(max_iterations=-1)
