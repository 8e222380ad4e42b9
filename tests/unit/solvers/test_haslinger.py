"""Haslinger's fixed point on friction thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import gallery
from clapas.solvers import solve
from clapas.solvers.convex import AcceleratedGradient, ProjectedGradient, SpectralGradient
from clapas.solvers.fixed_point import Anderson, Broyden, Newton, Picard
from clapas.solvers.fixed_point import newton as newton_module
from clapas.solvers.haslinger import Haslinger
from tests.unit.solvers import contract


def make(**settings: Any) -> Haslinger:
    return Haslinger(**settings)


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


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_truncated_answers_do_not_interpenetrate(count: int) -> None:
    """u_N ≥ 0 up to the accuracy of the minimisation, however early the outer loop is stopped."""
    problem = gallery.get("alea-54-11").problem
    solver = make(accuracy=1e-9, inner=AcceleratedGradient(max_iterations=5000))
    iteration = solver.start(problem, np.zeros((11, 3)))
    iteration.advance(count)
    u = problem.velocity(iteration.impulses())
    assert u[:, 0].min() >= -1e-8 * np.linalg.norm(problem.q)
    assert problem.residual(iteration.impulses()) > 1e-6  # not solved yet


def test_map_of_the_painleve_rod() -> None:
    """The map is s ↦ 2 max(0, s − 1): it repels at 2, attracts at 0 (derived, θ = π/4, mu = 2)."""
    problem = gallery.get("painleve-up-two").problem
    for s, value in ((0.5, 0.0), (1.5, 1.0), (1.75, 1.5)):
        iteration: Any = make(accuracy=1e-12).start(problem, np.zeros((1, 2)))
        unit = problem.response[0] / iteration.speed
        point = iteration.evaluate(np.array([s * unit]))
        np.testing.assert_allclose(point.value / unit, [value], atol=1e-8)


@pytest.mark.parametrize("inner", [ProjectedGradient(), SpectralGradient(max_iterations=2000)])
@pytest.mark.parametrize("scheme", [Picard(), Anderson(), Broyden()])
def test_parts(inner: Any, scheme: Any) -> None:
    assert solve(gallery.get("alea-60-14").problem, make(inner=inner, scheme=scheme)).status.is_solved


def test_thesis_settings() -> None:
    """Table 5.6: projected gradient, 250 iterations, 1e-10; Table 5.7: solved."""
    thesis = make(tol=1e-4, inner=ProjectedGradient(max_iterations=250), accuracy=1e-10)
    assert solve(gallery.get("alea-42-5").problem, thesis).status.is_solved


def test_newton_finds_the_fixed_point_that_repels() -> None:
    """The map 2 max(0, s − 1) repels at 2: the plain iteration leaves it, Newton's step lands on it."""
    problem = gallery.get("painleve-up-two").problem
    start = np.array([[0.8, -1.6]])
    plain = solve(problem, make(tol=1e-10, scheme=Picard()), start, check=False)
    newton = solve(problem, make(tol=1e-10, scheme=Newton()), start)
    np.testing.assert_allclose(newton.r, [[1.0, -2.0]], atol=1e-8)
    np.testing.assert_allclose(plain.r, [[0.0, 0.0]], atol=1e-8)


def test_newton_derivative_of_the_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = gallery.get("alea-42-5").problem
    solver = make(accuracy=1e-13, inner=AcceleratedGradient(max_iterations=20_000))
    iteration: Any = solver.start(problem, np.zeros((5, 3)))
    s, h = np.full(5, 0.2), 1e-6
    point = iteration.evaluate(s)
    columns = [
        (iteration.evaluate(s + h * e).value - iteration.evaluate(s - h * e).value) / (2 * h)
        for e in np.eye(5)
    ]
    expected = np.linalg.solve(np.eye(5) - np.array(columns).T, point.gap)
    assert np.abs(columns).max() > 1e-2
    full = Newton().start_on_thresholds(problem).direction(point)  # type: ignore[attr-defined]
    np.testing.assert_allclose(full, expected, rtol=1e-4, atol=1e-7)
    monkeypatch.setattr(newton_module, "LARGEST_FULL", 0)
    products = Newton().start_on_thresholds(problem).direction(point)  # type: ignore[attr-defined]
    np.testing.assert_allclose(products, full, atol=1e-6 * np.abs(full).max())


def test_newton_solves_a_random_problem() -> None:
    assert solve(gallery.get("alea-42-5").problem, make(tol=1e-9, scheme=Newton())).status.is_solved


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"forcing": 1.0}, "forcing must be between 0 and 1, got 1.0"),
        ({"accuracy": 0.0}, "accuracy must be positive, got 0.0"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make(**settings)
