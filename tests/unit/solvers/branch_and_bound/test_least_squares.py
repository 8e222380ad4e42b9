"""Nonnegative least squares against SciPy's, and the digits that certificates need."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from clapas.solvers.branch_and_bound.least_squares import nonnegative_least_squares
from clapas.typing import Array


def random_system(seed: int) -> tuple[Array, Array]:
    """Tall, wide, badly scaled or dependent columns; one may vanish."""
    random = np.random.default_rng(seed)
    m, k = int(random.integers(1, 40)), int(random.integers(1, 100))
    A = random.standard_normal((m, k))
    if seed % 3 == 1:
        A *= 10.0 ** random.uniform(-3.0, 3.0, k)
    if seed % 3 == 2:
        rank = max(1, m // 2)
        A = random.standard_normal((m, rank)) @ random.standard_normal((rank, k))
    A[:, random.integers(k)] *= random.integers(2)
    return A, random.standard_normal(m) - A.mean(axis=1)


@pytest.mark.parametrize("seed", range(60))
def test_against_scipy(seed: int) -> None:
    A, b = random_system(seed)
    z, missed, ended = nonnegative_least_squares(A, b)
    least = optimize.nnls(A, b)[1]
    assert ended
    assert (z >= 0.0).all()
    np.testing.assert_allclose(b - A @ z, missed, atol=1e-9)
    assert np.linalg.norm(missed) == pytest.approx(least, abs=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_missed_is_orthogonal_to_what_is_used(seed: int) -> None:
    """However small it is: a certificate of length one must keep all its digits."""
    random = np.random.default_rng(seed)
    A = random.standard_normal((12, 8))
    inside = A @ random.uniform(0.1, 1.0, 8)
    out = np.linalg.qr(np.column_stack((A, random.standard_normal(12))))[0][:, -1]
    z, missed, _ = nonnegative_least_squares(A, inside + 1e-9 * out)
    y = missed / np.linalg.norm(missed)
    assert (z > 0.0).all()
    assert np.abs(A.T @ y).max() < 1e-14
    assert abs(abs(y @ out) - 1.0) < 1e-5


def test_nothing_to_do() -> None:
    z, missed, ended = nonnegative_least_squares(np.zeros((3, 0)), np.ones(3))
    assert ended
    assert z.shape == (0,)
    np.testing.assert_array_equal(missed, np.ones(3))
    z, missed, ended = nonnegative_least_squares(-np.eye(3), np.ones(3))
    np.testing.assert_array_equal(z, np.zeros(3))


def test_columns_of_rounding_are_not_used() -> None:
    z, missed, _ = nonnegative_least_squares(np.array([[1e-16], [0.0]]), np.array([1.0, 0.0]))
    assert z[0] == 0.0
    np.testing.assert_array_equal(missed, [1.0, 0.0])
