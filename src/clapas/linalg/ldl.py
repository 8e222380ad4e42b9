"""Repeated factorisation of small or narrow sparse symmetric matrices: A = Pᵀ L D Lᵀ P.

The order of elimination and the pattern of L are computed once (:mod:`clapas.linalg.elimination`). Then each
factorisation and each solve is one compiled pass over the entries of L: for matrices that stay sparse,
such as those of trees, where calls to LAPACK on small full matrices would cost more than the work.

A nearly zero pivot marks an unknown that the previous ones determine: it is left out (its part of every
solution is zero) and reported.

Reference: Davis 2006, *Direct Methods for Sparse Linear Systems*, chapter 4 (left-looking).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.compiled import kernel
from clapas.linalg.elimination import column_structures, elimination_tree, minimum_degree
from clapas.typing import Array, Indices, Mask


class SparsePattern:
    """The pattern of a symmetric matrix, analysed once.

    Parameters
    ----------
    rows, columns : arrays (nnz,) of int
        Positions of the entries, one of (i, j) and (j, i); repeated positions are summed. The diagonal must
        be among them.
    size : int
        Order of the matrix.

    Examples
    --------
    >>> pattern = SparsePattern(np.array([0, 1, 1]), np.array([0, 0, 1]), 2)
    >>> pattern.factorise(np.array([4.0, 2.0, 3.0])).solve(np.array([2.0, 1.0]))
    array([0.5, 0. ])
    """

    def __init__(self, rows: Indices, columns: Indices, size: int) -> None:
        self.size = size
        ones = np.ones(2 * len(rows))
        both = np.concatenate((rows, columns)), np.concatenate((columns, rows))
        graph = sparse.coo_array((ones, both), shape=(size, size)).tocsr()
        graph.setdiag(0.0)
        graph.eliminate_zeros()
        graph.data[:] = 1.0
        self.order = np.asarray(minimum_degree(graph), dtype=np.int64)
        place = np.empty(size, dtype=np.int64)
        place[self.order] = np.arange(size)
        upper = sparse.triu(graph[self.order][:, self.order], k=1, format="csc")
        parent = elimination_tree(upper.indptr, upper.indices)
        self.pointers, self.structure = column_structures(upper.indptr, upper.indices, parent)
        # Entries by column of the lower triangle, in the order of elimination.
        i, j = place[rows], place[columns]
        low, high = np.minimum(i, j), np.maximum(i, j)
        self.entry = np.argsort(low, kind="stable")
        self.entry_row = high[self.entry]
        self.entry_start = np.searchsorted(low[self.entry], np.arange(size + 1))

    def factorise(self, values: Array, negligible: float = 0.0) -> LDL:
        """Factorise the matrix with these entries (nnz,), in the order of ``rows, columns``.

        Pivots of at most ``negligible`` times the diagonal entry they come from are left out.
        """
        L, inverse = np.empty(len(self.structure)), np.empty(self.size)
        weak = np.zeros(self.size, dtype=np.bool_)
        where = self.entry_start, self.entry_row, self.entry
        factorise_columns(*where, values, self.pointers, self.structure, negligible, L, inverse, weak)
        return LDL(self, L, inverse, weak)


@dataclass(frozen=True, eq=False)
class LDL:
    """A factorised matrix: entries of L below its unit diagonal, inverse pivots, and which were left out."""

    pattern: SparsePattern
    L: Array
    inverse: Array
    weak: Mask

    @property
    def left_out(self) -> Indices:
        """Unknowns that the others determine."""
        return np.asarray(self.pattern.order[self.weak])

    def solve(self, right: Array) -> Array:
        """Solve for right-hand sides (n,) or (n, k)."""
        pattern = self.pattern
        columns = right.shape[1] if right.ndim == 2 else 1
        x = np.ascontiguousarray(right[pattern.order], dtype=float).reshape(pattern.size, columns)
        substitute(pattern.pointers, pattern.structure, self.L, self.inverse, x)
        result = np.empty_like(x)
        result[pattern.order] = x
        return result.reshape(right.shape)


@kernel
def factorise_columns(
    entry_start: Indices,
    entry_row: Indices,
    entry: Indices,
    values: Array,
    pointers: Indices,
    structure: Indices,
    negligible: float,
    L: Array,
    inverse: Array,
    weak: Mask,
) -> None:
    """Fill the columns of L, the inverse pivots and the mask of pivots left out."""
    n = len(inverse)
    x = np.zeros(n)
    # Columns j < k with an entry in row k form a linked list: first[k], then following[j]. at[j] indexes
    # that entry; rows of a column are ascending, so it only increases.
    first = np.full(n, -1, dtype=np.int64)
    following = np.full(n, -1, dtype=np.int64)
    at = np.zeros(n, dtype=np.int64)
    pivot = np.zeros(n)
    for k in range(n):
        x[k] = 0.0
        for p in range(pointers[k], pointers[k + 1]):
            x[structure[p]] = 0.0
        for p in range(entry_start[k], entry_start[k + 1]):
            x[entry_row[p]] += values[entry[p]]
        diagonal = x[k]
        j = first[k]
        while j != -1:
            after = following[j]
            p = at[j]
            factor = L[p] * pivot[j]
            for q in range(p, pointers[j + 1]):
                x[structure[q]] -= factor * L[q]
            at[j] = p + 1
            if p + 1 < pointers[j + 1]:
                row = structure[p + 1]
                following[j] = first[row]
                first[row] = j
            j = after
        if x[k] > negligible * diagonal and x[k] > 0.0:
            pivot[k], inverse[k] = x[k], 1.0 / x[k]
        else:
            pivot[k], inverse[k], weak[k] = 0.0, 0.0, True
        for p in range(pointers[k], pointers[k + 1]):
            L[p] = x[structure[p]] * inverse[k]
        at[k] = pointers[k]
        if pointers[k] < pointers[k + 1]:
            row = structure[pointers[k]]
            following[k] = first[row]
            first[row] = k


@kernel
def substitute(pointers: Indices, structure: Indices, L: Array, inverse: Array, x: Array) -> None:
    """Solve L D Lᵀ y = x in place, for the columns of x (n, m)."""
    n, m = x.shape
    for j in range(n):
        for p in range(pointers[j], pointers[j + 1]):
            for c in range(m):
                x[structure[p], c] -= L[p] * x[j, c]
    for j in range(n - 1, -1, -1):
        for c in range(m):
            x[j, c] *= inverse[j]
        for p in range(pointers[j], pointers[j + 1]):
            for c in range(m):
                x[j, c] -= L[p] * x[structure[p], c]
