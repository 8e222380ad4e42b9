"""Factorisations against dense algebra; what is refused, and how."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clapas.errors import ProblemError
from clapas.linalg.factor import BlockDiagonalFactor, DenseFactor, SparseFactor, factorise


def laplacian(m: int, shift: float = 0.1) -> sparse.csr_array:
    line = sparse.diags_array([-np.ones(m - 1), 2 * np.ones(m), -np.ones(m - 1)], offsets=[-1, 0, 1])
    return sparse.csr_array(
        sparse.kron(line, sparse.eye_array(m))
        + sparse.kron(sparse.eye_array(m), line)
        + shift * sparse.eye_array(m * m)
    )


def mixed_blocks(rng: np.random.Generator) -> sparse.csr_array:
    """Blocks of sizes 1, 2, 3, 6 whose unknowns are scattered by a permutation."""
    blocks = [A @ A.T + np.eye(len(A)) for A in (rng.normal(size=(k, k)) for k in (3, 1, 6, 2, 3, 1))]
    M = sparse.csr_array(sparse.block_diag(blocks))
    order = rng.permutation(M.shape[0])
    return M[order][:, order]


@pytest.mark.parametrize(
    ("M", "kind"),
    [
        (mixed_blocks(np.random.default_rng(0)), BlockDiagonalFactor),
        (sparse.csr_array(np.eye(80) + np.ones((80, 80))), DenseFactor),
        (laplacian(12), SparseFactor),
    ],
)
def test_solves_like_dense_algebra(M: sparse.csr_array, kind: type) -> None:
    factor = factorise(M)
    assert isinstance(factor, kind)
    b = np.random.default_rng(1).normal(size=(M.shape[0], 3))
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(M.toarray(), b), atol=1e-10)
    np.testing.assert_allclose(factor.solve(b[:, 0]), factor.solve(b)[:, 0], atol=1e-12)


def test_inverse_root_squares_to_the_inverse() -> None:
    M = mixed_blocks(np.random.default_rng(3))
    factor = factorise(M)
    assert isinstance(factor, BlockDiagonalFactor)
    assert factor.largest_block == 6
    R = factor.inverse_root.toarray()
    np.testing.assert_allclose(R @ R.T, np.linalg.inv(M.toarray()), atol=1e-12)
    assert factor.inverse_root.nnz < M.nnz  # triangular inside the blocks


def test_nothing_to_factorise() -> None:
    assert factorise(sparse.csr_array((0, 0))).solve(np.zeros(0)).shape == (0,)


@pytest.mark.parametrize(
    ("M", "where"),
    [
        (sparse.csr_array(np.diag([1.0, 2.0, -3.0])), r"degrees of freedom \[2\]"),
        (sparse.csr_array(np.eye(80) - np.ones((80, 80))), "the whole matrix"),
        (laplacian(12, shift=-0.5), "pivot of degree of freedom"),
    ],
)
def test_indefinite_matrices_are_refused_by_name(M: sparse.csr_array, where: str) -> None:
    with pytest.raises(ProblemError, match=where):
        factorise(M)


def test_a_massless_unknown_is_refused() -> None:
    M = laplacian(12).tolil()
    M[5, :] = 0.0
    M[:, 5] = 0.0
    with pytest.raises(ProblemError, match="positive definite"):
        factorise(sparse.csr_array(M))
