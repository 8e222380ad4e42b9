"""Passes over large tables, by threads, and over small ones."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.compiled import limited_threads
from clapas.compiled.tables import are_equal, are_finite, positive

SMALL, LARGE = 100, 20_000


@pytest.mark.parametrize("n", [0, 1, SMALL, LARGE])
@pytest.mark.parametrize("sort", [np.int64, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_table_and_its_copy(n: int, sort: type, threads: int) -> None:
    table = np.arange(3 * n, dtype=sort).reshape(n, 3)
    with limited_threads(threads, n):
        assert are_equal(table, table.copy())
        if n:
            other = table.copy()
            other[-1, 2] += 1
            assert not are_equal(table, other)


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_tables_of_other_sizes_differ(n: int) -> None:
    assert not are_equal(np.zeros((n, 2)), np.zeros((n + 1, 2)))
    assert not are_equal(np.zeros((n, 2)), np.zeros((n, 3)))


def test_arrays_of_one_and_of_three_dimensions_and_of_other_layouts() -> None:
    row, block, turned = np.arange(1.0 * LARGE), np.ones((LARGE, 2, 2)), np.ones((2, LARGE)).T
    for array in (row, block, turned):
        assert are_equal(array, array.copy())
        assert not are_equal(array, array + 1.0)
        assert are_finite(array)
        np.testing.assert_array_equal(positive(array), array)


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("flaw", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("threads", [1, 2])
def test_one_number_that_is_not_finite(n: int, flaw: float, threads: int) -> None:
    table = np.zeros((n, 2))
    with limited_threads(threads, n):
        assert are_finite(table)
        table[n // 3, 1] = flaw
        assert not are_finite(table)
        assert are_equal(table, table.copy()) is not np.isnan(flaw)


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("threads", [1, 2])
def test_zeros_lose_their_sign(n: int, threads: int) -> None:
    table = np.linspace(-1.0, 1.0, 2 * n).reshape(n, 2)
    table[::3] = -0.0
    with limited_threads(threads, n):
        copy = positive(table)
    np.testing.assert_array_equal(copy, table)
    assert not np.signbit(copy[::3]).any()
    assert np.signbit(table[::3]).all()
