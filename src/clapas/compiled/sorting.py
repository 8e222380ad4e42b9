"""Sorting whole numbers in linear time."""

from __future__ import annotations

import numpy as np

from clapas.compiled import kernel
from clapas.typing import Indices


@kernel
def counting_sort(digit: Indices, order: Indices, base: int) -> Indices:
    """``order`` sorted by the digits (below ``base``) of its entries, equal ones in the order they came.

    Sort by the last digit first, then by those before it, and the whole number is sorted.
    """
    start = np.zeros(base + 1, dtype=np.int64)
    for k in range(len(order)):
        start[digit[order[k]] + 1] += 1
    for k in range(base):
        start[k + 1] += start[k]
    result = np.empty_like(order)
    for k in range(len(order)):
        d = digit[order[k]]
        result[start[d]] = order[k]
        start[d] += 1
    return result
