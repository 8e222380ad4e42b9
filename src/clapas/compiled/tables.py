"""Plain passes over large tables, shared by threads; small ones are left to NumPy."""

from __future__ import annotations

import numpy as np

from clapas.compiled import WORTH_THREADS, kernel, rounded
from clapas.compiled.sharing import launch, share_visits
from clapas.compiled.threads import Worker, chunk, thread_count
from clapas.typing import Array, Indices


def are_equal(one: Array | Indices, other: Array | Indices) -> bool:
    """Whether two arrays hold the same numbers; NaN equals nothing."""
    if one.shape != other.shape or not _is_large(one) or not _is_large(other):
        return np.array_equal(one, other)
    threads = thread_count(None, len(one), len(one))
    differences = np.empty(threads, dtype=np.int64)
    launch(threads, count_differences, one, other, differences)
    return not differences.any()


def positive(numbers: Array) -> Array:
    """A copy in which -0.0 is 0.0."""
    if not _is_large(numbers):
        return numbers + 0.0
    copy = np.empty_like(numbers)
    share_visits(len(numbers), add_zero, numbers, copy)
    return copy


def are_finite(numbers: Array) -> bool:
    """Whether all numbers are finite."""
    if not _is_large(numbers) or numbers.dtype != np.float64:
        return bool(np.isfinite(numbers).all())
    threads = thread_count(None, len(numbers), len(numbers))
    flaws = np.empty(threads, dtype=np.int64)
    launch(threads, count_flaws, numbers, flaws)
    return not flaws.any()


def _is_large(table: Array | Indices) -> bool:
    return table.ndim == 2 and len(table) >= WORTH_THREADS and table.flags.c_contiguous


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


@kernel
def count_flaws(worker: Worker, numbers: Array, flaws: Indices) -> None:
    """One thread's part of the numbers that are not finite."""
    first, last = chunk(worker, len(numbers))
    count = 0
    for i in range(first, last):
        for k in range(numbers.shape[1]):
            count += not np.isfinite(numbers[i, k])
    flaws[worker.rank] = count


@kernel
def add_zero(worker: Worker, numbers: Array, copy: Array) -> None:
    """One thread's part of a copy in which -0.0 is 0.0."""
    first, last = chunk(worker, len(numbers))
    for i in range(first, last):
        for k in range(numbers.shape[1]):
            copy[i, k] = unsigned(numbers[i, k])


@rounded
def unsigned(x: float) -> float:
    """0.0 for -0.0, any other number as it is."""
    return x + 0.0
