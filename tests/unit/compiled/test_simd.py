"""Lanes inside kernels against the same formulas on arrays of eight numbers."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from clapas.compiled import simd
from clapas.compiled.simd import WIDTH, aligned_zeros, load, store


@numba.njit(error_model="numpy")
def arithmetic(x: np.ndarray, out: np.ndarray) -> None:
    a, b = load(x, 0), load(x, WIDTH)
    store(out, 0, a + b * 2.0 - 1.0 / a)
    store(out, WIDTH, simd.sqrt(simd.absolute(a * b)) - (-b))
    store(out, 2 * WIDTH, 3.0 - a / b)


@numba.njit(error_model="numpy")
def choices(x: np.ndarray, out: np.ndarray) -> tuple[bool, bool]:
    a, b = load(x, 0), load(x, WIDTH)
    store(out, 0, simd.where((a > b) & ~(a <= 0.0), a, b))
    store(out, WIDTH, simd.where((a < 0.0) | (b >= a), 1.0, b))
    store(out, 2 * WIDTH, simd.where(a == b, 0.0, simd.with_lane(a, 2, 7.0)))
    return simd.any_lane(a > 1e9), simd.any_lane(a > b)


@numba.njit(error_model="numpy")
def lanes(x: np.ndarray, lane: int) -> tuple[float, bool]:
    a = load(x, 0)
    return simd.lane_of(a, lane), simd.lane_of(a > 0.0, lane)


@numba.njit(error_model="numpy")
def add_to_rows(
    table: np.ndarray, rows: np.ndarray, matrix: np.ndarray, weights: np.ndarray, size: tuple[int, ...]
) -> None:
    before = simd.gather_rows(table, rows, WIDTH, size)
    change = load(weights, 0), load(weights, WIDTH), load(weights, 2 * WIDTH)
    simd.scatter_rows(table, rows, WIDTH, simd.plus_transposed_product(before, matrix, 0, change))


@numba.njit(error_model="numpy")
def rows_times(
    table: np.ndarray, rows: np.ndarray, matrix: np.ndarray, out: np.ndarray, size: tuple[int, ...]
) -> None:
    columns = simd.gather_rows(table, rows, 0, size)
    store(out, 0, simd.plus_product(load(out, 0), matrix, WIDTH, columns))


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).normal(size=2 * WIDTH)


def test_arithmetic(x: np.ndarray) -> None:
    a, b, out = x[:WIDTH], x[WIDTH:], np.zeros(3 * WIDTH)
    arithmetic(x, out)
    expected = [a + 2 * b - 1 / a, np.sqrt(np.abs(a * b)) + b, 3 - a / b]
    np.testing.assert_allclose(out, np.concatenate(expected), rtol=1e-14)


def test_masks_choose(x: np.ndarray) -> None:
    x[3] = x[WIDTH + 3]
    a, b, out = x[:WIDTH], x[WIDTH:], np.zeros(3 * WIDTH)
    assert choices(x, out) == (False, bool((a > b).any()))
    changed = a.copy()
    changed[2] = 7.0
    expected = [
        np.where((a > b) & (a > 0), a, b),
        np.where((a < 0) | (b >= a), 1.0, b),
        np.where(a == b, 0.0, changed),
    ]
    np.testing.assert_array_equal(out, np.concatenate(expected))


def test_comparisons_with_nan_are_false(x: np.ndarray) -> None:
    x[0] = np.nan
    assert lanes(x, 0)[1] is False


def test_single_lanes(x: np.ndarray) -> None:
    for lane in range(WIDTH):
        assert lanes(x, lane) == (x[lane], x[lane] > 0)


@pytest.mark.parametrize("size", [1, 3, 6, 8, 12])
def test_rows_are_gathered_multiplied_and_scattered(size: int) -> None:
    random = np.random.default_rng(size)
    padded = -(-size // WIDTH) * WIDTH
    table = np.zeros((20, padded))
    table[:, :size] = random.normal(size=(20, size))
    rows = random.permutation(20)[: 2 * WIDTH].astype(np.uint32)
    matrix, weights = random.normal(size=(3, size, WIDTH)), random.normal(size=(3, WIDTH))
    expected = table.copy()
    expected[rows[WIDTH:], :size] += np.einsum("kjl,kl->lj", matrix, weights)
    out, shifted = random.normal(size=WIDTH), np.concatenate((np.zeros(WIDTH), matrix[0].ravel()))
    product = out + np.einsum("jl,lj->l", matrix[0], table[rows[:WIDTH], :size])
    rows_times(table, rows, shifted, out, (0,) * size)
    np.testing.assert_allclose(out, product, rtol=1e-13)
    add_to_rows(table, rows, matrix.ravel(), weights.ravel(), (0,) * size)
    np.testing.assert_allclose(table, expected, rtol=1e-13)


def test_singles_are_lanes_too() -> None:
    """Half the room; single numbers in a formula are rounded to the precision of the lanes."""
    x = np.random.default_rng(1).normal(size=2 * WIDTH).astype(np.float32)
    a, b, out = x[:WIDTH], x[WIDTH:], np.zeros(3 * WIDTH, dtype=np.float32)
    arithmetic(x, out)
    expected = [a + 2 * b - 1 / a, np.sqrt(np.abs(a * b)) + b, 3 - a / b]
    np.testing.assert_allclose(out, np.concatenate(expected), rtol=2e-6)
    assert choices(x, out) == (False, bool((a > b).any()))
    np.testing.assert_array_equal(out[:WIDTH], np.where((a > b) & (a > 0), a, b))
    assert lanes(x, 3) == (x[3], x[3] > 0)


def test_rows_of_singles_are_gathered_and_scattered() -> None:
    random = np.random.default_rng(2)
    table = random.normal(size=(20, WIDTH)).astype(np.float32)
    rows = random.permutation(20)[: 2 * WIDTH].astype(np.uint32)
    matrix = random.normal(size=(3, WIDTH, WIDTH)).astype(np.float32)
    weights = random.normal(size=(3, WIDTH)).astype(np.float32)
    expected = table.copy()
    expected[rows[WIDTH:]] += np.einsum("kjl,kl->lj", matrix, weights)
    add_to_rows(table, rows, matrix.ravel(), weights.ravel(), (0,) * WIDTH)
    np.testing.assert_allclose(table, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (5, 3, WIDTH), (1000, WIDTH)])
def test_aligned_zeros_start_on_a_cache_line(shape: tuple[int, ...], precision: type) -> None:
    zeros = aligned_zeros(shape, precision)
    assert zeros.shape == shape
    assert zeros.dtype == precision
    assert zeros.ctypes.data % 64 == 0 or zeros.size == 0
    assert not zeros.any()
