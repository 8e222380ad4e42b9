"""AC and GS as the thesis has them: the printed function, ρ = 1, nothing added."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from clapas import solve
from clapas.problems import ContactProblem, coulomb, gallery
from clapas.solvers.newton import JeanMoreauMap
from clapas.solvers.newton.augmentation import Augmentation
from clapas.studies import as_printed, printed
from clapas.studies.as_printed import PrintedGaussSeidel, PrintedNewton
from clapas.studies.race import race, thesis_measure
from clapas.studies.thesis import thesis_methods


@pytest.mark.parametrize("d", [2, 3])
def test_the_kernels_are_the_function_of_the_thesis(d: int) -> None:
    random = np.random.default_rng(d)
    one = np.ones(1)
    for _ in range(50):
        u, r, mu = random.normal(size=d), random.normal(size=d), random.uniform(0.1, 1.0)
        root = random.normal(size=(d, d))
        W, f, J = root @ root.T, np.empty(d), np.empty((d, d))
        square = as_printed._value(u, r, mu, f)
        tangent = JeanMoreauMap().linearise(u[None], r[None], np.array([mu]), Augmentation(one, one))
        assert_allclose(f, tangent.value[0], atol=1e-14)
        assert_allclose(f, -coulomb.alart_curnier(u[None], r[None], np.array([mu]), one)[0], atol=1e-14)
        assert square == pytest.approx(float(f @ f))
        as_printed._matrix(W, u, r, mu, J)
        assert_allclose(J, tangent.by_u[0] @ W + tangent.by_r[0], atol=1e-13)


def test_elimination_solves_and_says_when_it_cannot() -> None:
    random = np.random.default_rng(0)
    J, b = random.normal(size=(3, 3)), random.normal(size=3)
    expected = np.linalg.solve(J, b)
    assert as_printed._eliminate(J.copy(), b)
    assert_allclose(b, expected, rtol=1e-10)
    assert not as_printed._eliminate(np.zeros((3, 3)), np.ones(3))


@pytest.mark.parametrize("name", ["one-open", "one-stick", "one-slide"])
@pytest.mark.parametrize("method", [PrintedNewton(tol=1e-9), PrintedGaussSeidel(tol=1e-3, searches=True)])
def test_single_contacts(name: str, method: PrintedNewton | PrintedGaussSeidel) -> None:
    assert solve(gallery.get(name).problem, method).status.is_solved


def test_newton_stops_at_a_singular_matrix() -> None:
    # Two contacts that push on the same body: W is singular, and nothing is regularised.
    H = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    problem = ContactProblem(M=np.eye(2), H=H, f=[1.0, 0.1], w=np.zeros((2, 2)), mu=[0.5, 0.5])
    assert not solve(problem, PrintedNewton(), guess=np.ones((2, 2)), check=False).status.is_solved


def test_counts_on_the_first_draws_are_those_measured_independently() -> None:
    """Solved with the inner search and not without it: what moves the count of GS."""
    methods = thesis_methods()
    problem = gallery.alea(6, 7, 5, seed=5)
    outcomes = {
        name: race(problem, methods[name], thesis_measure, 1e-6, 5.0) for name in ("AC", "GS with search")
    }
    assert all(outcome.is_reached for outcome in outcomes.values())
    few = PrintedGaussSeidel(tol=1e-14, max_iterations=2000)
    assert not race(problem, few, thesis_measure, 1e-6, 5.0).is_reached


def test_the_tables_printed_agree_with_their_own_text() -> None:
    solved = [sum(row[k].is_solved for row in printed.SMALL.values()) for k in range(8)]
    assert dict(zip(printed.SMALL_METHODS, solved, strict=True)) == {
        "AC": 12,
        "DS": 0,
        "GS": 7,
        "FB": 2,
        "H-pf": 15,
        "NA-Newton": 14,
        "NA-Broyden": 15,
        "NA-pf": 14,
    }
    assert [sum(not row[k].is_solved for row in printed.LARGE.values()) for k in range(3)] == [7, 11, 5]
    for (m_ss, n_ss, n), described in printed.PROBLEMS.items():
        assert 3 * n / (m_ss * n_ss) == pytest.approx(described.ratio, abs=0.0051)
        assert described.is_certified == (described.ratio < 1.0)
