"""Proximal point: answers on paper, agreement, hyperstatic structures, settings."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers.loop import solve
from clapas.solvers.proximal_point import ProximalPoint
from clapas.status import Status
from tests.random_problems import particle, random_global
from tests.unit.solvers import contract


def test_sliding_particle():
    solution = solve(particle(mu=0.5), ProximalPoint(tol=1e-12))
    np.testing.assert_allclose(solution.r, [[0.0981, -0.04905, 0.0]], atol=1e-12)


def test_answers_on_paper():
    contract.knows_answers_on_paper(ProximalPoint)


@pytest.mark.parametrize("d", [2, 3])
def test_agrees_with_gauss_seidel(d: int):
    contract.agrees_with_gauss_seidel(ProximalPoint, d)


def test_general_promises():
    contract.forgets_units(ProximalPoint)
    contract.treats_frictionless_contacts(ProximalPoint)
    contract.accepts_no_contact(ProximalPoint)
    contract.starts_from_guesses(ProximalPoint)
    contract.tells_the_truth(ProximalPoint)


@pytest.mark.parametrize(
    "name", ["box-stack-10", "brick-wall-6-5", "pyramid-8", "tower-10", "mass-ratio-1e6"]
)
def test_hyperstatic_structures(name: str):
    problem = gallery.get(name).problem
    for form in (problem, reduce(problem)):
        assert solve(form, ProximalPoint(tol=1e-9)).residual <= 1e-9


@pytest.mark.parametrize("name", ["packing-100", "packing-plane-100", "alea-126-47"])
def test_packings_and_random_families(name: str):
    assert solve(gallery.get(name).problem, ProximalPoint(tol=1e-9)).residual <= 1e-9


def test_huge_friction():
    problem = random_global(3, n=4, bodies=4)
    rough = ContactProblem(M=problem.M, H=problem.H, f=problem.f, w=problem.w, mu=np.full(4, 1e3))
    solution = solve(rough, ProximalPoint(tol=1e-8), check=False)
    assert np.isfinite(solution.r).all()
    assert solution.status.is_solved is (solution.residual <= 1e-8)


@pytest.mark.parametrize("name", ["subset-sum-six", "crushed-disc", "painleve-down-edge"])
def test_hopeless_problems_end_honestly(name: str):
    solution = solve(gallery.get(name).problem, ProximalPoint(), check=False)
    # A singular system ends the one, steps without progress the other: rounding decides which comes first.
    assert solution.status in (Status.STALLED, Status.NUMERICAL_ERROR)
    assert np.isfinite(solution.r).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inner_accuracy": 1.0}, "inner_accuracy must be between 0 and 1, got 1.0"),
        ({"inner_steps": 0}, "inner_steps must be at least 1, got 0"),
        ({"caution": 0.5}, "caution must be at least 1, got 0.5"),
    ],
)
def test_bad_settings(settings: dict, message: str):
    with pytest.raises(SettingsError, match=message):
        ProximalPoint(**settings)
