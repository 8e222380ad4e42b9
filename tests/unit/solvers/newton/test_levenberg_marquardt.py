"""Levenberg-Marquardt: answers on paper, agreement, descent, settings."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import gallery
from clapas.solvers.loop import solve
from clapas.solvers.newton import (
    AlartCurnierMap,
    ContactMap,
    FischerBurmeisterMap,
    JeanMoreauMap,
    LevenbergMarquardt,
    NaturalMap,
)
from clapas.solvers.newton import levenberg_marquardt as module
from tests.random_problems import particle, random_global
from tests.unit.solvers import contract


def test_sliding_particle():
    solution = solve(particle(mu=0.5), LevenbergMarquardt(tol=1e-12))
    np.testing.assert_allclose(solution.r, [[0.0981, -0.04905, 0.0]], atol=1e-12)


def test_answers_on_paper():
    contract.knows_answers_on_paper(LevenbergMarquardt)


@pytest.mark.parametrize("d", [2, 3])
def test_agrees_with_gauss_seidel(d: int):
    contract.agrees_with_gauss_seidel(LevenbergMarquardt, d)


@pytest.mark.parametrize(
    "function", [AlartCurnierMap(), JeanMoreauMap(), NaturalMap(), FischerBurmeisterMap()], ids=repr
)
def test_every_function(function: ContactMap):
    problem = random_global(3, n=4, bodies=4)
    assert solve(problem, LevenbergMarquardt(tol=1e-9, function=function)).residual <= 1e-9


def test_general_promises():
    contract.forgets_units(LevenbergMarquardt)
    contract.treats_frictionless_contacts(LevenbergMarquardt)
    contract.accepts_no_contact(LevenbergMarquardt)
    contract.starts_from_guesses(LevenbergMarquardt)
    contract.tells_the_truth(LevenbergMarquardt)


def test_hyperstatic_stack():
    """Three boxes; with ten the path, and so where it ends, depends on the rounding of the processor."""
    problem = gallery.box_stack(3).problem
    assert solve(problem, LevenbergMarquardt(tol=1e-8)).residual <= 1e-8


def test_every_step_decreases_the_merit():
    """With the natural map at ρ = 1/λ the merit is the residual itself, for contacts of equal response."""
    problem = gallery.get("block-on-floor").problem
    residuals = solve(
        problem, LevenbergMarquardt(function=NaturalMap(), tol=1e-9), check=False
    ).history.residuals
    assert all(after <= before for before, after in pairwise(residuals))


def test_full_and_sparse_matrices_walk_alike(monkeypatch: pytest.MonkeyPatch):
    problem = random_global(3, n=8, bodies=6)
    few = partial(LevenbergMarquardt, tol=1e-12, max_iterations=6)
    full = solve(problem, few(), check=False)
    monkeypatch.setattr(module, "FULL", 0)
    monkeypatch.setattr(module, "CROWDED", 1.1)
    sparse = solve(problem, few(), check=False)
    np.testing.assert_allclose(sparse.history.residuals, full.history.residuals, rtol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"augmentation": -1.0}, "augmentation must be positive, got -1.0"),
        ({"damping": 0.0}, "damping must be positive, got 0.0"),
    ],
)
def test_bad_settings(settings: dict, message: str):
    with pytest.raises(SettingsError, match=message):
        LevenbergMarquardt(**settings)
