"""Copositivity on small matrices, against samples of the simplex and known families."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.problems.matrix_classes import copositive_condition, is_strictly_copositive, least_on_simplex


@pytest.mark.parametrize("seed", range(20))
def test_the_least_value_on_the_simplex_is_below_all_samples_and_reached(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    M = rng.normal(size=(n, n))
    x = rng.dirichlet(np.full(n, 0.5), 20_000)
    sampled = float(np.einsum("ki,ij,kj->k", x, M, x).min())
    least = least_on_simplex(M)
    assert least is not None
    assert least <= sampled + 1e-12
    assert least == pytest.approx(sampled, abs=0.05)
    assert is_strictly_copositive(M) == (least > 1e-12)


def test_the_horn_matrix_is_copositive_and_not_strictly() -> None:
    """Horn's form is copositive, yet no sum of a semidefinite and a nonnegative matrix."""
    H = np.array(
        [[1, -1, 1, 1, -1], [-1, 1, -1, 1, 1], [1, -1, 1, -1, 1], [1, 1, -1, 1, -1], [-1, 1, 1, -1, 1]]
    )
    assert least_on_simplex(H.astype(float)) == pytest.approx(0.0, abs=1e-12)
    assert is_strictly_copositive(H.astype(float)) is False
    assert is_strictly_copositive(H + 0.01 * np.eye(5)) is True


def test_large_matrices_are_not_decided() -> None:
    n = 30
    M = np.eye(n) - 0.5 * np.ones((n, n))
    assert is_strictly_copositive(np.eye(n)) is True
    assert is_strictly_copositive(M) is None
    assert copositive_condition(M, np.ones(n)) is None


def test_theorem_4_6() -> None:
    """The plane rod that is pulled off its floor: the theorem certifies what has a solution."""
    skew = np.array([[0.0, 1.0], [-1.0, 0.0]])  # copositive with x·Mx = 0 everywhere
    assert copositive_condition(skew, np.array([1.0, 1.0]))
    # v = e_1 has M v = (0, −1), not ≥ 0; v = e_2 has M v = (1, 0) ≥ 0: only q_2 ≥ 0 is asked for.
    assert copositive_condition(skew, np.array([-1.0, 1.0]))
    assert copositive_condition(skew, np.array([1.0, -1.0])) is False
    assert copositive_condition(-np.eye(2), np.ones(2)) is False
    assert copositive_condition(np.eye(2), -np.ones(2))
