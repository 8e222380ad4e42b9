"""Semismooth Newton: every function with every line search, cycles, hyperstatic stacks, settings."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from clapas.errors import ProblemError, SettingsError
from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers.loop import solve
from clapas.solvers.newton import (
    AlartCurnierMap,
    Armijo,
    ContactMap,
    Elastoplastic,
    FischerBurmeisterMap,
    FullStep,
    GoldsteinPrice,
    JeanMoreauMap,
    Katzenelson,
    LineSearch,
    NaturalMap,
    Nonmonotone,
    SemismoothNewton,
)
from clapas.status import Status
from tests.random_problems import particle, random_global
from tests.unit.solvers import contract

MAPS = [AlartCurnierMap(), JeanMoreauMap(), NaturalMap(), FischerBurmeisterMap()]
SEARCHES = [FullStep(), Armijo(), Nonmonotone(), GoldsteinPrice()]


def test_sliding_particle_in_two_steps():
    solution = solve(particle(mu=0.5), SemismoothNewton(tol=1e-12, function=AlartCurnierMap()))
    np.testing.assert_allclose(solution.r, [[0.0981, -0.04905, 0.0]], atol=1e-12)
    assert solution.iterations <= 3


@pytest.mark.parametrize("function", MAPS, ids=repr)
def test_answers_on_paper(function: ContactMap):
    contract.knows_answers_on_paper(partial(SemismoothNewton, function=function))


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("function", MAPS, ids=repr)
def test_agrees_with_gauss_seidel(function: ContactMap, d: int):
    contract.agrees_with_gauss_seidel(partial(SemismoothNewton, function=function), d)


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
@pytest.mark.parametrize("function", MAPS, ids=repr)
def test_every_function_with_every_search(function: ContactMap, search: LineSearch):
    for d in (2, 3):
        problem = random_global(3, n=4, bodies=4, d=d)
        solution = solve(problem, SemismoothNewton(tol=1e-10, function=function, line_search=search))
        assert problem.residual(solution.r) <= 1e-10


@pytest.mark.parametrize("function", MAPS, ids=repr)
def test_units_do_not_matter(function: ContactMap):
    contract.forgets_units(partial(SemismoothNewton, function=function))


@pytest.mark.parametrize("function", MAPS, ids=repr)
def test_without_friction(function: ContactMap):
    contract.treats_frictionless_contacts(partial(SemismoothNewton, function=function))


def test_without_contacts():
    contract.accepts_no_contact(SemismoothNewton)


def test_guesses():
    contract.starts_from_guesses(SemismoothNewton)


@pytest.mark.parametrize("function", MAPS, ids=repr)
def test_no_solution_is_not_claimed(function: ContactMap):
    contract.tells_the_truth(partial(SemismoothNewton, function=function))


def test_quadratic_at_the_end():
    problem = random_global(5, n=6, bodies=5, d=3)
    residuals = solve(problem, SemismoothNewton(tol=1e-13)).history.residuals
    assert residuals[-1] < 1e-3 * residuals[-2]


@pytest.mark.parametrize("name", ["box-stack-10", "brick-wall-6-5", "pyramid-8", "tower-10"])
def test_hyperstatic_structures_to_the_last_digits(name: str):
    problem = gallery.get(name).problem
    assert solve(problem, SemismoothNewton(tol=1e-10)).residual <= 1e-10


def test_both_forms_walk_alike():
    problem = random_global(4, n=5, bodies=4)
    one = solve(problem, SemismoothNewton(tol=1e-11))
    two = solve(reduce(problem), SemismoothNewton(tol=1e-11))
    np.testing.assert_allclose(one.r, two.r, atol=1e-8 * np.abs(two.r).max())


# ---------------------------------------------------------------- cycles


def held_node() -> ContactProblem:
    """An elastic node that is pressed and sticks: r = (1, 0)."""
    return ContactProblem(W=np.array([[1.0, 0.5], [0.5, 1.0]]), q=[[-1.0, -0.5]], mu=[0.4])


FAR = np.array([[3.5, -5.0]])  # in contact, and sliding fast
PLAIN = {"function": AlartCurnierMap(), "line_search": FullStep()}
DAMPED = {"function": AlartCurnierMap(), "line_search": Katzenelson()}


def test_cycle_is_reported_with_its_order_and_answered_by_a_smaller_augmentation():
    """A single contact that sticks cycles between the two slidings above Alart's bound (74)."""
    large = SemismoothNewton(tol=1e-12, augmentation=3.0, **PLAIN)
    solution = solve(held_node(), large, guess=FAR)
    assert solution.notes == ("cycle of order 2: augmentation reduced to 0.75 of Alart's bound",)
    np.testing.assert_allclose(solution.u, 0.0, atol=1e-11)


def test_no_cycle_below_the_bound():
    small = SemismoothNewton(tol=1e-12, augmentation=0.99, **PLAIN)
    assert solve(held_node(), small, guess=FAR).notes == ()


def test_elastoplastic_safeguard_keeps_the_answer():
    problem = random_global(3, n=4, bodies=4, d=3)
    material = Elastoplastic(stiffness=1.0, hardening=0.1, yield_force=1.0)
    guarded = solve(problem, SemismoothNewton(tol=1e-11, safeguard=material))
    free = solve(problem, SemismoothNewton(tol=1e-11))
    np.testing.assert_allclose(guarded.r, free.r, atol=1e-8)


def test_elastoplastic_safeguard_prevents_the_cycle_of_a_large_augmentation():
    large = {"tol": 1e-12, "augmentation": 3.0, **PLAIN}
    material = Elastoplastic(stiffness=1.0, hardening=0.2, yield_force=1.0)
    assert solve(held_node(), SemismoothNewton(**large), guess=FAR).notes
    assert not solve(held_node(), SemismoothNewton(**large, safeguard=material), guess=FAR).notes


# ---------------------------------------------------------------- Katzenelson's damping


@pytest.mark.parametrize("function", [AlartCurnierMap(), JeanMoreauMap()], ids=repr)
def test_katzenelson_solves_plane_problems(function: ContactMap):
    solver = SemismoothNewton(tol=1e-10, function=function, line_search=Katzenelson())
    for seed in range(4):
        problem = random_global(seed, n=4, bodies=4, d=2)
        assert solve(problem, solver).residual <= 1e-10


def test_katzenelson_never_cycles():
    large = SemismoothNewton(tol=1e-12, augmentation=30.0, **DAMPED)
    solution = solve(held_node(), large, guess=FAR)
    np.testing.assert_allclose(solution.u, 0.0, atol=1e-11)
    assert solution.notes == ()


def test_katzenelson_in_space_without_friction():
    given = random_global(2, n=4, bodies=4, d=3)
    problem = ContactProblem(M=given.M, H=given.H, f=given.f, w=given.w, mu=np.zeros(4))
    assert solve(problem, SemismoothNewton(tol=1e-10, **DAMPED)).residual <= 1e-10


def test_katzenelson_refuses_what_is_not_linear_by_regions():
    with pytest.raises(ProblemError, match="in 3-D with friction sliding turns"):
        solve(particle(), SemismoothNewton(**DAMPED))
    with pytest.raises(
        SettingsError, match=r"linear by regions, AlartCurnierMap\(\) or JeanMoreauMap\(\), got Nat"
    ):
        SemismoothNewton(function=NaturalMap(), line_search=Katzenelson())


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": 0.0}, "tol must be positive, got 0.0"),
        ({"augmentation": 0.0}, "augmentation must be positive, got 0.0"),
        ({"proximal_term": 1.0}, "proximal_term must be between 0 and 1, got 1.0"),
        ({"refinements": -1}, "refinements must be at least 0, got -1"),
    ],
)
def test_bad_settings(settings: dict, message: str):
    with pytest.raises(SettingsError, match=message):
        SemismoothNewton(**settings)


def test_gives_up_when_stuck():
    solution = solve(gallery.get("crushed-disc").problem, SemismoothNewton(), check=False)
    assert solution.status in (Status.STALLED, Status.NUMERICAL_ERROR, Status.MAX_ITERATIONS)


def test_the_safeguard_follows_the_pressure_under_katzenelson() -> None:
    """ρ is computed anew at each border; frozen at a zero guess it would stay at its floor."""
    problem = gallery.get("elastic-node-slide").problem
    safeguard = Elastoplastic(stiffness=10.0, hardening=1.0, yield_force=1.0)
    solver = SemismoothNewton(
        tol=1e-12, function=AlartCurnierMap(), line_search=Katzenelson(), safeguard=safeguard
    )
    iteration = solver.start(problem, np.zeros((1, 2)))
    first = iteration._rho.tangent.copy()  # type: ignore[attr-defined]
    iteration.advance(2)
    assert iteration._rho.tangent > 2.0 * first  # type: ignore[attr-defined]
    assert solve(problem, solver).status.is_solved
