"""Sparse LDLᵀ with a pattern analysed once, against full matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.linalg.ldl import SparsePattern


def entries_of(A):
    rows, columns = np.nonzero(np.tril(np.ones_like(A)) * (A != 0.0) + np.eye(len(A)))
    return rows, columns, A[rows, columns]


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 30), density=st.floats(0.0, 1.0), seed=st.integers(0, 2**32 - 1))
def test_it_solves_as_full_matrices_do(n, density, seed):
    rng = np.random.default_rng(seed)
    B = np.where(rng.random((n, n)) < density, rng.normal(size=(n, n)), 0.0)
    A = B @ B.T + np.eye(n)
    rows, columns, values = entries_of(A)
    pattern = SparsePattern(rows, columns, n)
    right = rng.normal(size=(n, 3))
    for scale in (1.0, 3.0):  # the same pattern twice
        found = pattern.factorise(scale * values).solve(right)
        np.testing.assert_allclose(found, np.linalg.solve(scale * A, right), atol=1e-10)
    np.testing.assert_allclose(pattern.factorise(values).solve(right[:, 0]), np.linalg.solve(A, right[:, 0]))


def test_unknowns_that_others_determine_are_left_out():
    A = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 1.0], [0.5, 1.0, 1.0]])  # the last two are the same
    rows, columns, values = entries_of(A)
    factor = SparsePattern(rows, columns, 3).factorise(values, 1e-12)
    assert len(factor.left_out) == 1
    right = A @ np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(A @ factor.solve(right), right, atol=1e-14)


def test_places_that_repeat_are_added_and_a_chain_stays_narrow():
    n = 1000
    i = np.arange(n - 1)
    rows = np.concatenate((np.arange(n), np.arange(n), i + 1))
    columns = np.concatenate((np.arange(n), np.arange(n), i))
    values = np.concatenate((np.full(n, 1.5), np.full(n, 1.0), np.full(n - 1, -1.0)))
    pattern = SparsePattern(rows, columns, n)
    assert len(pattern.structure) == n - 1
    A = np.diag(np.full(n, 2.5)) + np.diag(np.full(n - 1, -1.0), 1) + np.diag(np.full(n - 1, -1.0), -1)
    right = np.sin(np.arange(n))
    np.testing.assert_allclose(pattern.factorise(values).solve(right), np.linalg.solve(A, right), atol=1e-12)


@pytest.mark.parametrize("n", [0, 1])
def test_small_sizes(n):
    whole = np.arange(n)
    factor = SparsePattern(whole, whole, n).factorise(np.full(n, 2.0))
    np.testing.assert_array_equal(factor.solve(np.ones(n)), np.full(n, 0.5))
