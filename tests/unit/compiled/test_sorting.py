"""Sorting whole numbers by their digits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clapas.compiled.sorting import counting_sort


def test_equals_keep_their_order() -> None:
    digit = np.array([2, 0, 1, 0, 2])
    assert counting_sort(digit, np.array([4, 3, 2, 1, 0]), 3).tolist() == [3, 1, 2, 4, 0]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=40))
def test_digit_after_digit_sorts_pairs(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array([pair[k] for pair in pairs], dtype=np.int64) for k in range(2))
    order = counting_sort(first, counting_sort(second, np.arange(len(pairs)), 7), 5)
    np.testing.assert_array_equal(order, np.lexsort((second, first)))
