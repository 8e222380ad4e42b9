"""Saddle-point matrices of contact, factorised again and again."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse

from clapas.linalg.symmetric_pattern import SymmetricPattern


def saddle(seed: int) -> tuple[sparse.coo_array, np.ndarray]:
    """[K −Hᵀ; H 0] of a chain of nodes, each third in contact, and its groups (node and contact together)."""
    rng = np.random.default_rng(seed)
    n = 30
    K = sparse.diags_array([2.0 + rng.uniform(0, 1, n), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1])
    touched = np.arange(0, n, 3)
    H = sparse.coo_array((np.ones(len(touched)), (np.arange(len(touched)), touched)), shape=(len(touched), n))
    A = sparse.coo_array(sparse.block_array([[K, -H.T], [H, None]]))
    return A, np.concatenate((np.arange(n), touched))


@pytest.mark.parametrize("engine", ["superlu", "multifrontal"])
@pytest.mark.parametrize("metis", [True, False])
def test_a_zero_diagonal_is_no_obstacle(engine: str, metis: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not metis:
        monkeypatch.setitem(sys.modules, "pymetis", None)
    else:
        pytest.importorskip("pymetis")
    A, groups = saddle(0)
    pattern = SymmetricPattern(A.row, A.col, A.shape[0], groups, engine)
    right = np.random.default_rng(1).normal(size=A.shape[0])
    for seed in (0, 1):  # new numbers, same pattern
        B, _ = saddle(seed)
        np.testing.assert_allclose(B.toarray() @ pattern.solve(B.data, right), right, atol=1e-11)


@pytest.mark.parametrize("engine", ["superlu", "multifrontal"])
def test_pivoting_helps_where_the_order_does_not(engine: str) -> None:
    # zero leading pivots, regular all the same
    A = sparse.coo_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 1.0]]))
    pattern = SymmetricPattern(A.row, A.col, 3, np.arange(3), engine)
    x = pattern.solve(A.data, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(A @ x, [1.0, 2.0, 3.0], atol=1e-12)


@pytest.mark.parametrize("engine", ["superlu", "multifrontal"])
def test_a_singular_matrix_is_said_to_be(engine: str) -> None:
    A = sparse.coo_array(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    pattern = SymmetricPattern(A.row, A.col, 2, np.array([0, 0]), engine)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        pattern.solve(A.data, np.array([1.0, 0.0]))
