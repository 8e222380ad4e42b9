"""Smoothed Newton: answers on paper, agreement, hyperstatic structures, settings."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import gallery
from clapas.solvers.loop import solve
from clapas.solvers.newton import SmoothedNewton
from tests.random_problems import particle
from tests.unit.solvers import contract


def test_sliding_particle():
    solution = solve(particle(mu=0.5), SmoothedNewton(tol=1e-12))
    np.testing.assert_allclose(solution.r, [[0.0981, -0.04905, 0.0]], atol=1e-12)


def test_answers_on_paper():
    contract.knows_answers_on_paper(SmoothedNewton)


@pytest.mark.parametrize("d", [2, 3])
def test_agrees_with_gauss_seidel(d: int):
    contract.agrees_with_gauss_seidel(SmoothedNewton, d)


def test_general_promises():
    contract.forgets_units(SmoothedNewton)
    contract.treats_frictionless_contacts(SmoothedNewton)
    contract.accepts_no_contact(SmoothedNewton)
    contract.starts_from_guesses(SmoothedNewton)
    contract.tells_the_truth(SmoothedNewton)


@pytest.mark.parametrize("name", ["box-stack-10", "brick-wall-6-5", "pyramid-8", "tower-10"])
def test_hyperstatic_structures(name: str):
    problem = gallery.get(name).problem
    assert solve(problem, SmoothedNewton(tol=1e-8)).residual <= 1e-8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decrease": 1.0}, "decrease must be between 0 and 1, got 1.0"),
        ({"nearness": 0.0}, "nearness must be positive, got 0.0"),
        ({"proximal_term": 0.0}, "proximal_term must be between 0 and 1, got 0.0"),
    ],
)
def test_bad_settings(settings: dict, message: str):
    with pytest.raises(SettingsError, match=message):
        SmoothedNewton(**settings)
