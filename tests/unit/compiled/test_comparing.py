"""Comparison of large tables."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.compiled import limited_threads
from clapas.compiled.comparing import are_equal


@pytest.mark.parametrize("n", [0, 1, 100, 20_000])
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


@pytest.mark.parametrize("n", [100, 20_000])
def test_tables_of_other_sizes_differ(n: int) -> None:
    assert not are_equal(np.zeros((n, 2)), np.zeros((n + 1, 2)))
    assert not are_equal(np.zeros((n, 2)), np.zeros((n, 3)))


def test_arrays_of_one_and_of_three_dimensions() -> None:
    row, block = np.arange(20_000.0), np.zeros((20_000, 2, 2))
    assert are_equal(row, row.copy())
    assert not are_equal(row, row + 1.0)
    assert are_equal(block, block.copy())


@pytest.mark.parametrize("n", [100, 20_000])
def test_nan_equals_nothing(n: int) -> None:
    table = np.zeros((n, 2))
    table[n // 3, 1] = np.nan
    assert not are_equal(table, table.copy())
