"""Cadoux's conic fixed point on sliding speeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, gallery
from clapas.solvers import solve
from clapas.solvers.backends import Clarabel
from clapas.solvers.conic_fixed_point import ConicFixedPoint
from clapas.solvers.convex import AcceleratedGradient, ProjectedGradient
from clapas.solvers.fixed_point import Anderson, Broyden, Newton, Picard
from clapas.solvers.interior_point import ConvexInteriorPoint
from clapas.status import Status
from tests.unit.solvers import contract


def make(**settings: Any) -> ConicFixedPoint:
    return ConicFixedPoint(**settings)


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


@pytest.mark.parametrize(
    "inner", [AcceleratedGradient(max_iterations=3), Clarabel()], ids=["truncated", "conic"]
)
def test_impulses_are_always_in_the_cones(inner: Any) -> None:
    problem = gallery.get("alea-54-11").problem
    iteration = make(inner=inner).start(problem, -np.ones((11, 3)))
    for _ in range(4):
        iteration.advance(1)
        r = iteration.impulses()
        assert (np.linalg.norm(r[:, 1:], axis=1) <= problem.mu * r[:, 0] * (1 + 1e-12)).all()


def test_map_of_the_painleve_rod() -> None:
    """F(s) = 2 s − 1 on [½, 5/4] and 3/2 beyond (derived; rod of Cadoux 2009, 1.4.4, θ = π/4, mu = 2)."""
    problem = gallery.get("painleve-up-two").problem
    for s, value in ((0.75, 0.5), (1.0, 1.0), (1.2, 1.4), (2.0, 1.5)):
        iteration: Any = make(accuracy=1e-12).start(problem, np.zeros((1, 2)))
        point = iteration.evaluate(np.array([s / iteration.speed]))
        np.testing.assert_allclose(point.value * iteration.speed, [value], atol=1e-7)


def test_map_of_the_spurious_fixed_point() -> None:
    """Data of Cadoux 2009, example 3.21. Derived: F(0.1) = .38585, F(0.5) = .72527, true fixed point 1."""
    problem = gallery.get("spurious-fixed-point").problem
    for s, value in ((0.1, 0.38585), (0.5, 0.72527), (1.0, 1.0)):
        iteration: Any = make(accuracy=1e-10, inner=Clarabel()).start(problem, np.zeros((1, 3)))
        point = iteration.evaluate(np.array([s / iteration.speed]))
        np.testing.assert_allclose(point.value * iteration.speed, [value], atol=2e-5)


@pytest.mark.parametrize(
    "scheme", [Picard(), Anderson(), Broyden(), Newton()], ids=lambda s: type(s).__name__
)
def test_schemes(scheme: Any) -> None:
    assert solve(gallery.get("alea-60-14").problem, make(scheme=scheme)).status.is_solved


@pytest.mark.parametrize("scheme", [Picard(), Broyden(), Newton(halvings=12)], ids=lambda s: type(s).__name__)
def test_thesis_settings(scheme: Any) -> None:
    """Table 5.6: projected gradient, 250 iterations, 1e-10 (NA-pf, NA-Broyden, NA-Newton)."""
    thesis = make(tol=1e-4, inner=ProjectedGradient(max_iterations=250), accuracy=1e-10, scheme=scheme)
    assert solve(gallery.get("alea-42-5").problem, thesis).status.is_solved


@pytest.mark.parametrize("name", ["box-stack-10", "mass-ratio-1e6", "pyramid-8", "tower-10", "alea-102-35"])
def test_reaches_high_accuracy_where_gauss_seidel_crawls(name: str) -> None:
    assert solve(gallery.get(name).problem, make(tol=1e-8)).status.is_solved


def test_huge_friction() -> None:
    entry = gallery.get("one-huge-friction")
    assert entry.recognises(solve(entry.problem, make(tol=1e-8)).r, tol=1e-6)


def test_without_friction_there_is_nothing_to_iterate() -> None:
    problem = gallery.get("elastic-row-4").problem
    exact = make(accuracy=1e-12, inner=AcceleratedGradient(max_iterations=10_000))
    assert solve(problem, exact).iterations == 1


@pytest.mark.filterwarnings("ignore:W is not symmetric")
def test_skew_part_is_lagged() -> None:
    """A gyroscopic W: no minimisation, yet the same fixed point."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(12, 12))
    skew = 1e-2 * (A - A.T)
    W = A @ A.T + 6 * np.eye(12) + skew
    problem = ContactProblem(W=W, q=rng.normal(size=(4, 3)) - [1.0, 0, 0], mu=0.3)
    solution = solve(problem, make(tol=1e-10))
    assert problem.residual(solution.r) <= 1e-10


def test_a_hopeless_search_ends() -> None:
    solution = solve(gallery.get("subset-sum-none").problem, make(), check=False)
    assert solution.status is Status.STALLED


@pytest.mark.parametrize("name", ["brick-wall-6-5", "tower-10", "pyramid-8"])
def test_what_rests_is_solved_by_one_exact_minimisation_at_zero_speed(name: str) -> None:
    problem = gallery.get(name).problem
    exact = make(tol=1e-8, inner=ConvexInteriorPoint(), accuracy=1e-10, initial_speeds="zero")
    solution = solve(problem, exact)
    assert solution.iterations == 1
    assert problem.residual(solution.r) <= 1e-8


def test_what_slides_is_found_from_zero_speeds_as_well() -> None:
    """From s = 0 a sliding particle needs the outer iteration, and finds the same answer."""
    particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5])
    solution = solve(particle, make(tol=1e-10, initial_speeds="zero"))
    assert solution.iterations > 1
    np.testing.assert_allclose(solution.r, [[1.0, -0.5, 0.0]], atol=1e-9)


def test_bad_settings() -> None:
    with pytest.raises(SettingsError, match="initial_speeds must be 'guess' or 'zero', got 'none'"):
        make(initial_speeds="none")
    for part, message in (
        (lambda: Anderson(depth=0), "depth must be at least 1, got 0"),
        (lambda: Broyden(memory=0), "memory must be at least 1, got 0"),
        (lambda: Newton(halvings=0), "halvings must be at least 1, got 0"),
    ):
        with pytest.raises(SettingsError, match=message):
            part()
