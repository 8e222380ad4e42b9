"""LATIN with friction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, gallery
from clapas.solvers import solve
from clapas.solvers.latin import LATIN
from tests.unit.solvers import contract


def make(**settings: Any) -> LATIN:
    return LATIN(**settings)


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


@pytest.mark.parametrize("speed", [3.0, -3.0])
def test_friction_acts_on_both_sides(speed: float) -> None:
    """Published with one bound only, which lets blocks slide freely one way."""
    problem = ContactProblem(W=np.eye(2), q=[[-1.0, speed]], mu=0.5)
    r = solve(problem, LATIN(tol=1e-10)).r
    np.testing.assert_allclose(r, [[1.0, -0.5 * np.sign(speed)]], atol=1e-8)


def test_a_stack_and_a_packing() -> None:
    assert solve(gallery.box_stack(3).problem, make(tol=1e-6)).status.is_solved
    assert solve(gallery.get("packing-plane-100").problem, make(tol=1e-6)).status.is_solved


@pytest.mark.parametrize("wrong", [{"k": 0.0}, {"relaxation": 0.0}, {"relaxation": 1.1}])
def test_settings(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=f"{next(iter(wrong))} must be"):
        LATIN(**wrong)
