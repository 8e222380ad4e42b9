"""Sums of cell matrices in one sparse matrix, whose pattern is found once."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.typing import Array, Indices


class Pattern:
    """Places of the entries of cell matrices in one sparse matrix.

    Parameters
    ----------
    dofs : list of arrays (m, k)
        Unknowns of the cells, one array per batch.
    size : int
        Number of unknowns.
    """

    def __init__(self, dofs: list[Indices], size: int) -> None:
        row = np.concatenate([np.repeat(part, part.shape[1], axis=1).ravel() for part in dofs])
        column = np.concatenate([np.tile(part, (1, part.shape[1])).ravel() for part in dofs])
        key, place = np.unique(row * size + column, return_inverse=True)
        self._place = place.ravel().astype(np.int32 if len(key) < 2**31 else np.int64)
        self._indices = (key % size).astype(np.int32)
        self._indptr = np.searchsorted(key, np.arange(size + 1) * size).astype(np.int32)
        self._size = size

    def matrix(self, entries: Array | None) -> sparse.csr_array:
        """The sum of cell matrices whose entries come in the order of the cells."""
        nnz = len(self._indices)
        data = np.zeros(nnz) if entries is None else np.bincount(self._place, entries, minlength=nnz)
        return sparse.csr_array(
            (data, self._indices, self._indptr), shape=(self._size, self._size), copy=False
        )
