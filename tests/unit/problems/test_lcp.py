"""Linear complementarity problems: data, judge, diagnostics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clapas.errors import ProblemError
from clapas.problems import matrix_classes
from clapas.problems.lcp import LCP, Infeasibility


def random_lcp(seed: int, n: int = 6) -> LCP:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    return LCP(A @ A.T + 0.1 * np.eye(n), rng.normal(size=n))


def test_answer_on_paper() -> None:
    problem = LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    assert problem.residual([4 / 3, 7 / 3]) < 1e-15
    assert problem.residual([0.0, 0.0]) == 1.0
    assert problem.residual([0.0, 3.0]) == pytest.approx(2.0 / np.sqrt(61.0))


@given(st.integers(0, 100), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_the_residual_forgets_units(seed: int, z_unit: float, w_unit: float) -> None:
    problem = random_lcp(seed)
    z = np.random.default_rng(seed + 1).normal(size=6)
    other = LCP(problem.dense * (w_unit / z_unit), problem.q * w_unit)
    assert other.residual(z * z_unit) == pytest.approx(problem.residual(z), rel=1e-9)


def test_dense_and_sparse_are_the_same_problem() -> None:
    problem = random_lcp(0)
    other = LCP(sparse.csr_array(problem.dense), problem.q)
    z = np.arange(6.0)
    np.testing.assert_allclose(other.slack(z), problem.slack(z))
    np.testing.assert_allclose(other.response, problem.response)
    assert repr(other) == "LCP(6 unknowns, sparse)"


def test_scales_where_the_diagonal_has_none() -> None:
    M = np.array([[0.0, 3.0, 0.0], [0.0, 2.0, 0.0], [5.0, 0.0, 0.0]])
    np.testing.assert_array_equal(LCP(M, np.zeros(3)).response, [3.0, 2.0, 5.0])
    np.testing.assert_array_equal(LCP(np.zeros((2, 2)), np.zeros(2)).response, [1.0, 1.0])


def test_no_unknowns() -> None:
    problem = LCP(np.zeros((0, 0)), [])
    assert problem.residual([]) == 0.0
    assert problem.report([]).complementarity == 0.0
    assert problem.traits().is_p_matrix


def test_report() -> None:
    problem = LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    report = problem.report([0.0, 3.0], reference=[4 / 3, 7 / 3])
    assert (report.smallest_z, report.smallest_w, report.active) == (0.0, -2.0, 2)
    assert report.complementarity == 0.0
    gap, known = np.array([-4 / 3, 2 / 3]), np.array([4 / 3, 7 / 3])
    expected = np.sqrt((gap @ problem.M @ gap) / (known @ problem.M @ known))
    assert report.distance == pytest.approx(expected)
    assert "energy distance" in str(report)


def test_the_report_does_not_claim_that_a_slack_is_zero() -> None:
    report = LCP([[-1.0]], [-1.0]).report([0.0])
    assert (report.smallest_w, report.active) == (-1.0, 1)
    assert str(report).splitlines()[0] == "1 unknown where w rather than z is to vanish"


def test_energy_distance_ignores_the_kernel() -> None:
    problem = LCP([[1.0, 1.0], [1.0, 1.0]], [-1.0, -1.0])
    assert problem.energy_distance([1.0, 0.0], [0.0, 1.0]) == 0.0
    assert problem.energy_distance([1.0, 0.0], [0.0, 0.0]) == np.inf


@pytest.mark.parametrize(
    ("M", "q", "words"),
    [
        ([[1.0, 2.0]], [1.0], "square"),
        ([[1.0]], [1.0, 2.0], r"q has shape \(2,\), expected \(1,\)"),
        ([[np.nan]], [1.0], "M must be finite"),
        ([[1j]], [1.0], "M must be real, got complex numbers"),
        ([["a"]], [1.0], "M must be made of numbers"),
        ([[1.0]], [np.inf], "q must be finite"),
    ],
)
def test_data_that_do_not_fit(M: list[list[float]], q: list[float], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        LCP(M, q)


def test_unknowns_that_do_not_fit() -> None:
    with pytest.raises(ProblemError, match="z has 3 values, expected 2"):
        LCP(np.eye(2), [1.0, 1.0]).residual(np.zeros(3))


# -------------------------------------------------------------------- classes of matrices


@given(st.integers(0, 300), st.integers(1, 5))
def test_p_matrices_have_positive_minors(seed: int, n: int) -> None:
    M = np.random.default_rng(seed).normal(size=(n, n)) + 1.5 * np.eye(n)
    sets = (s for k in range(1, n + 1) for s in itertools.combinations(range(n), k))
    smallest = min(np.linalg.det(M[np.ix_(s, s)]) for s in sets)
    assert matrix_classes.is_p_matrix(M) == (smallest > 0)


def test_classes_by_hand() -> None:
    skew = np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert matrix_classes.is_positive_semidefinite(skew)
    assert matrix_classes.is_copositive_plus(skew)
    assert matrix_classes.is_p_matrix(skew) is False
    assert not matrix_classes.is_symmetric(skew)
    assert matrix_classes.is_copositive_plus(np.array([[1.0, -2.0], [-2.0, 1.0]])) is False
    game = np.array([[0.0, 1.0], [1.0, 0.0]])  # copositive, not plus: e_1 has no energy
    assert matrix_classes.is_copositive_plus(game) is False


def test_large_matrices_are_left_undecided() -> None:
    M = np.eye(9)
    M[0, 1], M[1, 0] = 3.0, -3.0
    M[0, 2] = 3.0  # the symmetric part is indefinite
    assert matrix_classes.is_p_matrix(M, largest=8) is None
    assert matrix_classes.is_p_matrix(M) is True


# -------------------------------------------------------------------- proofs


def test_proofs_are_checked() -> None:
    problem = LCP([[0.0, 1.0], [-1.0, 0.0]], [1.0, -1.0])
    assert Infeasibility(np.array([0.0, 1.0])).proves(problem)
    for wrong in ([1.0, 0.0], [0.0, -1.0], [1.0, 1.0], [0.0, 0.0], [0.0, np.nan]):
        assert not Infeasibility(np.array(wrong)).proves(problem), wrong
