"""Exact integers, scaling by powers of two, definiteness and linear systems without rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clapas.linalg import exact

DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@given(hnp.arrays(float, (3, 4), elements=DOUBLES), hnp.arrays(float, 4, elements=DOUBLES))
def test_products_are_those_of_fractions(A: np.ndarray, x: np.ndarray) -> None:
    product = exact.integers(A) @ exact.integers(x)
    for row, k in zip(A, product.k, strict=True):
        expected = sum((Fraction(a) * Fraction(b) for a, b in zip(row, x, strict=True)), start=Fraction(0))
        assert Fraction(int(k)) * Fraction(2) ** product.exponent == expected


def test_subnormal_and_huge_numbers_meet_without_loss() -> None:
    product = exact.integers([[5e-324, 1.0]]) @ exact.integers([1.7e308, 0.0])
    assert product.nearest() == 5e-324 * 1.7e308
    assert (exact.integers([[1e308]]) @ exact.integers([1e308])).nearest() == np.inf


def test_empty_and_zero_arrays() -> None:
    assert exact.integers(np.zeros((0, 3))).nearest().shape == (0, 3)
    assert not exact.integers(np.zeros(3)).nearest().any()
    assert exact.is_positive_definite(np.zeros((0, 0)))


@given(st.floats(1e-290, 1e290))
def test_scaling_by_a_power_of_two_costs_no_digit(x: float) -> None:
    scale = float(exact.nearest_power_of_two(x))
    assert (x / scale) * scale == x
    assert 0.7 < x / scale < 1.42


def test_definiteness_beyond_rounding() -> None:
    ratio = 2.0**-50
    column = np.array([[1.0, -1.0], [-1.0, 1.0 + ratio]])
    assert exact.is_positive_definite(column)
    rows = np.diag([1e-8, 1e8])
    assert exact.is_positive_definite(rows @ column @ rows)
    assert not exact.is_positive_definite(np.array([[1.0, 2.0], [2.0, 4.0]]))
    assert not exact.is_positive_definite(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert exact.is_positive_definite(np.array([[1.0, 5.0], [-5.0, 1.0]]))  # the symmetric part decides


def test_systems_with_free_unknowns_and_contradictions() -> None:
    one, two = Fraction(1), Fraction(2)
    assert exact.solve([[one, two], [two, Fraction(4)]], [one, two], [Fraction(0), one]) == [-one, one]
    assert exact.solve([[one, two], [two, Fraction(4)]], [one, one], [one, one]) is None
    assert exact.solve([], [], [one]) == [one]
