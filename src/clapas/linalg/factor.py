"""Factorisations of a symmetric positive definite matrix, for many solves.

Three kinds, chosen by :func:`factorise` from the matrix itself:

* block diagonal (rigid bodies): a batch of small dense Cholesky factors, whose inverse is kept
  sparse, so that W = H M⁻¹ Hᵀ is a product of sparse matrices;
* sparse (finite elements): CHOLMOD when scikit-sparse is installed, otherwise SciPy's SuperLU in
  symmetric mode, with a nested-dissection order when pymetis is installed (about six times faster
  on three-dimensional meshes);
* dense: LAPACK.

Each raises an error for a matrix that is not positive definite and says where the factorisation failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from clapas.errors import ProblemError
from clapas.typing import Array, Indices

LARGEST_BLOCK = 64
DENSE_FILL = 0.3
PIVOT = 1e-14  # pivots below this fraction of their diagonal entry count as zero: the matrix is singular


class NotDefinite(ProblemError):
    """A matrix that must be positive definite is singular or indefinite."""


class Factor(Protocol):
    """A factorised matrix M."""

    def solve(self, right: Array) -> Array:
        """Return M⁻¹ b, for a vector or for each column of a matrix."""
        ...


def factorise(M: sparse.csr_array, order: Indices | None = None) -> Factor:
    """Factorise M (m×m, symmetric positive definite) by the method that suits its pattern.

    ``order`` is a known fill-reducing order (:func:`nested_dissection`), for callers that factorise
    many matrices of one pattern.

    Raises
    ------
    NotDefinite
        M is singular or indefinite; the message names the degree of freedom.

    Examples
    --------
    >>> factorise(sparse.csr_array(np.diag([2.0, 4.0]))).solve(np.array([1.0, 1.0]))
    array([0.5 , 0.25])
    """
    labels = csgraph.connected_components(M, directed=False)[1]
    if M.shape[0] == 0 or np.bincount(labels).max() <= LARGEST_BLOCK:
        return BlockDiagonalFactor(M, labels.astype(np.int64))
    if M.nnz > DENSE_FILL * M.shape[0] ** 2:
        return DenseFactor(M.toarray())
    return SparseFactor(M, order)


class BlockDiagonalFactor:
    """Cholesky factors of the diagonal blocks of M, one block per connected set of unknowns.

    With M = L Lᵀ the sparse matrix :attr:`inverse_root` is R = L⁻ᵀ, so that M⁻¹ = R Rᵀ. Velocities
    measured as Rᵀ M v = Lᵀ v have unit mass: the form in which Gauss-Seidel works.
    """

    def __init__(self, M: sparse.csr_array, labels: Indices) -> None:
        self.n_dof = int(M.shape[0])
        self.labels = labels
        self.inverse_root = _inverse_root(M, labels)

    @property
    def largest_block(self) -> int:
        """Size of the largest block."""
        return int(np.bincount(self.labels).max()) if self.n_dof else 0

    @cached_property
    def inverse(self) -> sparse.csr_array:
        """M⁻¹, block diagonal."""
        return (self.inverse_root @ self.inverse_root.T).tocsr()

    def solve(self, right: Array) -> Array:
        """Return M⁻¹ b."""
        return np.asarray(self.inverse @ right)


def _inverse_root(M: sparse.csr_array, labels: Indices) -> sparse.csr_array:
    sizes = np.bincount(labels, minlength=1)
    order = np.argsort(labels, kind="stable")
    first = np.concatenate(([0], np.cumsum(sizes)))
    position = np.empty(labels.size, dtype=np.int64)
    position[order] = np.arange(labels.size) - first[labels[order]]
    coo = M.tocoo()
    rows, columns, values = [], [], []
    for size in np.unique(sizes[sizes > 0]):
        chosen = np.flatnonzero(sizes == size)
        rank = np.full(sizes.size, -1)
        rank[chosen] = np.arange(chosen.size)
        selected = rank[labels[coo.row]] >= 0
        row, column = coo.row[selected], coo.col[selected]
        blocks = np.zeros((chosen.size, size, size))
        np.add.at(blocks, (rank[labels[row]], position[row], position[column]), coo.data[selected])
        dofs = order[first[chosen][:, None] + np.arange(size)]
        root = np.linalg.inv(_cholesky(blocks, dofs)).transpose(0, 2, 1)
        rows.append(np.repeat(dofs, size, axis=1).ravel())
        columns.append(np.tile(dofs, (1, size)).ravel())
        values.append(root.ravel())
    if not rows:
        return sparse.csr_array(M.shape)
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    result = sparse.coo_array(entries, shape=M.shape).tocsr()
    result.eliminate_zeros()
    return result


def _cholesky(blocks: Array, dofs: Indices) -> Array:
    try:
        lower = np.asarray(np.linalg.cholesky(blocks), dtype=np.float64)
        refuse_small_pivots(lower, blocks)
        return lower
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(blocks)[:, 0]
        worst = int(np.argmin(smallest))
        raise _not_definite(
            f"its block on degrees of freedom {dofs[worst].tolist()}", smallest[worst]
        ) from None


def refuse_small_pivots(lower: Array, M: Array) -> None:
    """Raise LinAlgError where a Cholesky factor (…, m, m) exists only because of rounding."""
    pivots = np.einsum("...ii->...i", lower) ** 2
    if (pivots <= PIVOT * np.einsum("...ii->...i", M)).any():
        raise np.linalg.LinAlgError("singular up to rounding")


@dataclass
class DenseFactor:
    """LAPACK's Cholesky factor of a full matrix."""

    M: Array

    def __post_init__(self) -> None:
        try:
            self._factor = linalg.cho_factor(self.M, lower=True)
            refuse_small_pivots(self._factor[0], self.M)
        except linalg.LinAlgError:
            raise _not_definite("the whole matrix", linalg.eigvalsh(self.M)[0]) from None

    def solve(self, right: Array) -> Array:
        """Return M⁻¹ b."""
        return np.asarray(linalg.cho_solve(self._factor, right))


class SparseFactor:
    """Sparse factor of a large matrix with one or few connected parts."""

    def __init__(self, M: sparse.csr_array, order: Indices | None = None) -> None:
        self._solve = _cholmod(M) or _superlu(M, nested_dissection(M) if order is None else order)

    def solve(self, right: Array) -> Array:
        """Return M⁻¹ b."""
        return np.asarray(self._solve(right))


def _cholmod(M: sparse.csr_array) -> Any:
    try:
        from sksparse import cholmod
    except ImportError:
        return None
    try:
        return cholmod.cholesky(sparse.csc_matrix(M))
    except cholmod.CholmodNotPositiveDefiniteError:
        return None  # SuperLU names the pivot


def _superlu(M: sparse.csr_array, order: Indices | None) -> Any:
    permuted = M if order is None else M[order][:, order]
    options = {"permc_spec": "MMD_AT_PLUS_A" if order is None else "NATURAL"}
    # No pivoting: then U = D Lᵀ and the signs of its diagonal are those of the eigenvalues of M.
    try:
        lu = sparse_linalg.splu(
            sparse.csc_array(permuted), diag_pivot_thresh=0.0, options={"SymmetricMode": True}, **options
        )
    except RuntimeError:
        raise _not_definite("the factorisation met a zero pivot", 0.0) from None
    pivots = lu.U.diagonal()
    diagonal = permuted.diagonal()[np.argsort(lu.perm_c)]
    if (pivots <= PIVOT * diagonal).any() or not np.array_equal(lu.perm_r, lu.perm_c):
        column = int(np.flatnonzero(lu.perm_c == int(np.argmin(pivots)))[0])
        dof = column if order is None else int(order[column])
        raise _not_definite(f"the pivot of degree of freedom {dof}", pivots.min())
    if order is None:
        return lu.solve
    back = np.argsort(order)
    return lambda right: lu.solve(np.ascontiguousarray(right[order]))[back]


def nested_dissection(M: sparse.csr_array) -> Indices | None:
    """A fill-reducing order of the unknowns from the pattern of M; None where pymetis is not installed."""
    try:
        import pymetis
    except ImportError:
        return None
    graph = (M - sparse.diags_array(M.diagonal())).tocsr()
    graph.eliminate_zeros()
    adjacency = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    return np.asarray(pymetis.nested_dissection(adjacency)[0], dtype=np.int64)


def _not_definite(where: str, value: float) -> NotDefinite:
    return NotDefinite(
        f"M must be symmetric positive definite, but {where} gives {value:.3e}. Check masses and inertias; a "
        "degree of freedom without mass needs its own row in M."
    )
