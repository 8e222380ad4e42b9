"""Comparison of large tables."""

from __future__ import annotations

import numpy as np

from clapas.compiled import WORTH_THREADS, kernel
from clapas.compiled.sharing import launch
from clapas.compiled.threads import Worker, chunk, thread_count
from clapas.typing import Array, Indices


def are_equal(one: Array | Indices, other: Array | Indices) -> bool:
    """Whether two arrays hold the same numbers; NaN equals nothing."""
    if one.shape != other.shape or one.ndim != 2 or len(one) < WORTH_THREADS:
        return np.array_equal(one, other)
    threads = thread_count(None, len(one), len(one))
    differences = np.empty(threads, dtype=np.int64)
    launch(threads, count_differences, one, other, differences)
    return not differences.any()


@kernel
def count_differences(
    worker: Worker, one: Array | Indices, other: Array | Indices, differences: Indices
) -> None:
    """One thread's part of the numbers in which two tables (n, k) differ."""
    first, last = chunk(worker, len(one))
    count = 0
    for i in range(first, last):
        for k in range(one.shape[1]):
            count += one[i, k] != other[i, k]
    differences[worker.rank] = count
