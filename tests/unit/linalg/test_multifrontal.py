"""Sparse factorisation along a tree of fronts, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clapas.linalg import elimination
from clapas.linalg.multifrontal import Multifrontal, SingularMatrix
from clapas.problems import gallery


def random_matrix(seed: int, size: int, density: float) -> sparse.coo_array:
    rng = np.random.default_rng(seed)
    A = sparse.random_array((size, size), density=density, rng=rng, data_sampler=rng.standard_normal)
    return (A + 4.0 * sparse.eye_array(size)).tocoo()


@pytest.mark.parametrize("size", [1, 2, 7, 40, 150])
@pytest.mark.parametrize("density", [0.01, 0.1, 0.6])
def test_solves_like_a_dense_factorisation(size: int, density: float):
    A = random_matrix(size, size, density)
    b = np.arange(1.0, size + 1.0)
    x = Multifrontal(A.row, A.col, size).factorise(A.data).solve(b)
    np.testing.assert_allclose(x, np.linalg.solve(A.toarray(), b), rtol=1e-8, atol=1e-10)


def test_one_analysis_serves_other_numbers():
    A = random_matrix(0, 60, 0.05)
    pattern = Multifrontal(A.row, A.col, 60)
    for seed in range(3):
        values = A.data * np.random.default_rng(seed).uniform(0.5, 1.0, A.nnz)
        B = sparse.coo_array((values, (A.row, A.col)), shape=A.shape)
        b = np.ones(60)
        np.testing.assert_allclose(B @ pattern.factorise(values).solve(b), b, atol=1e-10)


def test_places_that_repeat_are_added():
    pattern = Multifrontal(np.array([0, 0, 1]), np.array([0, 0, 1]), 2)
    factor = pattern.factorise(np.array([1.0, 3.0, 2.0]))
    np.testing.assert_allclose(factor.solve(np.array([4.0, 4.0])), [1, 2])


def test_groups_stay_together():
    H = gallery.get("packing-100").problem.H
    A = (H.T @ H + sparse.eye_array(H.shape[1])).tocoo()
    groups = np.arange(A.shape[0]) // 6
    tree = elimination.fronts(A.row, A.col, groups)
    for front in tree:
        assert set(np.bincount(groups[front.pivots])) <= {0, 6}
    assert sorted(np.concatenate([front.pivots for front in tree])) == list(range(A.shape[0]))
    b = np.ones(A.shape[0])
    factor = Multifrontal(A.row, A.col, A.shape[0], groups).factorise(A.data)
    np.testing.assert_allclose(A @ factor.solve(b), b)


@pytest.mark.parametrize("size", [3, 400])
def test_singular_matrices_are_told(size: int):
    pattern = Multifrontal(np.arange(size), np.arange(size), size)
    values = np.ones(size)
    values[size // 2] = 0.0
    with pytest.raises(SingularMatrix, match="zero pivot"):
        pattern.factorise(values)
    with pytest.raises(SingularMatrix):
        pattern.factorise(np.full(size, np.nan))


def test_no_unknowns():
    empty = np.empty(0, dtype=int)
    assert Multifrontal(empty, empty, 0).factorise(np.empty(0)).solve(np.empty(0)).shape == (0,)
