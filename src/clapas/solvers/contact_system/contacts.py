"""Contact space: (A W + P) dr = b, with W full or sparse."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.solvers.contact_system.base import (
    ContactSystem,
    Linearised,
    Solve,
    block_pattern,
    full_factor,
)
from clapas.typing import Array


class FullContactSpace(ContactSystem):
    """Contact space with W as a full matrix: up to some thousand unknowns."""

    def __init__(self, W: Array, d: int) -> None:
        self._W, self._d = W, d

    def factorise(self, law: Linearised) -> Solve:
        """Form and factorise A W + P."""
        n, d = len(law.P), self._d
        matrix = np.matmul(law.A, self._W.reshape(n, d, n * d)).reshape(n, d, n, d)
        contacts = np.arange(n)
        matrix[contacts, :, contacts, :] += law.P
        factor = full_factor(matrix.reshape(n * d, n * d))
        return lambda b: factor(b.ravel()).reshape(n, d)


class SparseContactSpace(ContactSystem):
    """Contact space with W in sparse blocks."""

    def __init__(self, W: sparse.bsr_array, d: int) -> None:
        self._d = d
        n = W.shape[0] // d
        self._row = np.concatenate((np.repeat(np.arange(n), np.diff(W.indptr)), np.arange(n)))
        column = np.concatenate((W.indices, np.arange(n)))
        self._data = W.data
        self._pattern = block_pattern(self._row, column, d, n)

    def factorise(self, law: Linearised) -> Solve:
        """Form and factorise A W + P."""
        n, d = len(law.P), self._d
        products = np.matmul(law.A[self._row[: len(self._data)]], self._data)
        factor = self._pattern.factorise(np.concatenate((products, law.P)).ravel())
        return lambda b: factor.solve(b.ravel()).reshape(n, d)
