"""Coulomb's law as a minimum: Fischer-Burmeister's merit and the bipotential."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, gallery
from clapas.solvers import NSGS, solve
from clapas.solvers.minimisation import Bipotential, FischerBurmeister, MeritFunction
from clapas.solvers.minimisation.fischer_burmeister import Merit
from clapas.solvers.minimisation.quasi_newton import QuasiNewton
from clapas.solvers.newton import AlartCurnierMap, ContactMap, JeanMoreauMap, NaturalMap
from clapas.solvers.products import ScaledDelassus
from clapas.typing import Array
from tests.random_problems import random_global
from tests.unit.solvers import contract


def merit(**settings: Any) -> FischerBurmeister:
    return FischerBurmeister(**settings)


def bipotential(**settings: Any) -> Bipotential:
    return Bipotential(**settings)


@pytest.mark.parametrize("d", [2, 3])
def test_merit_agrees_with_gauss_seidel(d: int) -> None:
    contract.agrees_with_gauss_seidel(merit, d)


def test_bipotential_agrees_with_gauss_seidel() -> None:
    for seed in (3, 5):
        problem = random_global(seed, n=4, bodies=4)
        reference = solve(problem, NSGS(tol=1e-13)).r
        r = solve(problem, bipotential(tol=1e-6)).r
        assert np.abs(r - reference).max() <= 1e-3 * np.abs(reference).max()


def test_answers_on_paper() -> None:
    contract.knows_answers_on_paper(merit)
    for name in ("one-open", "one-slide", "one-no-friction"):
        entry = gallery.get(name)
        assert entry.recognises(solve(entry.problem, bipotential(tol=1e-7)).r, tol=1e-4), name


@pytest.mark.parametrize("make", [merit, bipotential])
def test_contract(make: Any) -> None:
    contract.accepts_no_contact(make)
    contract.tells_the_truth(make)


def test_merit_warm_start_and_units() -> None:
    contract.starts_from_guesses(merit)
    contract.forgets_units(merit)
    contract.treats_frictionless_contacts(merit)


def check_gradient(function: Any, x: Array) -> None:
    _, gradient = function(x)
    for direction in np.eye(len(x)):
        h = 1e-6
        slope = (function(x + h * direction)[0] - function(x - h * direction)[0]) / (2 * h)
        assert slope == pytest.approx(float(gradient @ direction), rel=1e-5, abs=1e-7)


@pytest.mark.filterwarnings("ignore:W is not symmetric")
@pytest.mark.parametrize("d", [2, 3])
def test_gradients(d: int) -> None:
    given = random_global(7, n=4, d=d)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4 * d, 4 * d))
    W = A @ A.T + 0.1 * (A - A.T)  # with a skew part
    problem = ContactProblem(W=W, q=given.q, mu=[0.3, 0.0, 0.8, 5.0], d=d)
    x = rng.normal(size=4 * d)
    check_gradient(Merit(ScaledDelassus(problem), problem), x)
    program: Any = bipotential().start(problem, np.zeros((4, d)))
    program.a, program.z = rng.uniform(size=4), rng.normal(size=(4, d))
    check_gradient(program._lagrangian, x)


def test_merit_vanishes_exactly_at_solutions() -> None:
    problem = random_global(3, n=4)
    scaled = ScaledDelassus(problem)
    function = Merit(scaled, problem)
    r = solve(problem, NSGS(tol=1e-14, max_iterations=100_000), check=False).r
    assert function(scaled.from_impulses(r).ravel())[0] < 1e-24
    assert function(scaled.from_impulses(r * 1.01).ravel())[0] > 1e-8


@pytest.mark.parametrize("memory", [None, 8])
def test_quasi_newton_on_rosenbrock(memory: int | None) -> None:
    def rosenbrock(x: Array) -> tuple[float, Array]:
        a, b = 1 - x[0], x[1] - x[0] ** 2
        return float(a * a + 100 * b * b), np.array([-2 * a - 400 * b * x[0], 200 * b])

    search = QuasiNewton(rosenbrock, np.array([-1.2, 1.0]), memory, line_search=12)
    for _ in range(100):
        if not search.descend():
            break
    np.testing.assert_allclose(search.x, [1.0, 1.0], atol=1e-6)


def test_limited_memory_gives_the_same_answer() -> None:
    problem = random_global(3, n=4)
    full, limited = (solve(problem, merit(update=update, tol=1e-9)).r for update in ("bfgs", "lbfgs"))
    np.testing.assert_allclose(full, limited, atol=1e-6 * np.abs(full).max())


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (FischerBurmeister, {"update": "newton"}, "update must be 'auto', 'bfgs' or 'lbfgs', got 'newton'"),
        (FischerBurmeister, {"line_search": 0}, "line_search must be at least 1, got 0"),
        (Bipotential, {"penalty": 0.0}, "penalty must be positive"),
        (Bipotential, {"inner_iterations": 0}, "inner_iterations must be at least 1, got 0"),
    ],
)
def test_bad_settings(make: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make(**settings)


@pytest.mark.parametrize("trials", [1, 2, 12])
def test_trials_of_the_line_search_count(trials: int) -> None:
    asked: list[Array] = []

    def valley(x: Array) -> tuple[float, Array]:
        asked.append(x)
        return float(50.0 * x @ x), 100.0 * x  # the step 1 along the gradient is 50 times too long

    search = QuasiNewton(valley, np.array([1.0, -2.0]), None, line_search=trials)
    went_down = search.descend()
    assert went_down is (trials == 12)
    assert len(asked) - 1 <= trials


def test_time_is_heeded_within_a_subproblem() -> None:
    problem = gallery.box_stack(2).problem
    method = Bipotential(inner_iterations=500).start(problem, np.zeros((problem.n_contacts, 3)))
    evaluations = 0
    merit = method._lagrangian

    def counted(x: Array) -> tuple[float, Array]:
        nonlocal evaluations
        evaluations += 1
        return merit(x)

    method._lagrangian, method.deadline = counted, -1.0
    method.advance(1)
    assert 0 < evaluations < 50


@pytest.mark.parametrize("function", [NaturalMap(), AlartCurnierMap(), JeanMoreauMap()])
def test_other_merit_functions_solve_single_contacts(function: ContactMap) -> None:
    for name in ("one-open", "one-stick", "one-slide", "one-no-friction"):
        assert solve(gallery.get(name).problem, MeritFunction(tol=1e-6, function=function)).status.is_solved


def test_the_gradient_of_a_merit_function_is_its_derivative() -> None:
    problem = random_global(3, n=3)
    iteration: Any = MeritFunction(function=NaturalMap()).start(problem, np.ones((3, 3)))
    x = np.random.default_rng(0).normal(size=9)
    _, gradient = iteration.merit(x)
    h = 1e-6
    expected = [(iteration.merit(x + h * e)[0] - iteration.merit(x - h * e)[0]) / (2 * h) for e in np.eye(9)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)


def test_settings_of_merit_functions_are_checked() -> None:
    with pytest.raises(SettingsError, match="update must be 'auto', 'bfgs' or 'lbfgs', got 'newton'"):
        MeritFunction(update="newton")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="line_search must be at least 1"):
        MeritFunction(line_search=0)
