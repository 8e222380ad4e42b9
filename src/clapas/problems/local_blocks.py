"""Diagonal blocks of the Delassus matrix, from W itself or from H and the mass, without forming W."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.linalg.factor import BlockDiagonalFactor, Factor
from clapas.typing import Array

CHUNK = 256  # contacts solved together with a sparse factor: bounds the memory
DENSE = 200_000  # entries (zeros included) up to which a dense product is faster than a sparse one


def diagonal_blocks(W: sparse.bsr_array, n: int, d: int) -> Array:
    """Diagonal blocks (n, d, d) of a W stored by blocks."""
    row = np.repeat(np.arange(n), np.diff(W.indptr))
    diagonal = np.zeros((n, d, d))
    on_diagonal = row == W.indices
    diagonal[row[on_diagonal]] = W.data[on_diagonal]
    return diagonal


def local_blocks(H: sparse.csr_array, mass: Factor, d: int) -> Array:
    """Diagonal blocks (n, d, d) of H M⁻¹ Hᵀ."""
    if isinstance(mass, BlockDiagonalFactor):
        return _row_products((H @ mass.inverse_root).tocsr(), d)
    n = H.shape[0] // d
    blocks = np.empty((n, d, d))
    for start in range(0, n, CHUNK):
        rows = H[start * d : (start + CHUNK) * d]
        count = rows.shape[0] // d
        W = (rows @ mass.solve(rows.T.toarray())).reshape(count, d, count, d)
        blocks[start : start + count] = W[np.arange(count), :, np.arange(count)]
    return blocks


def _row_products(G: sparse.csr_array, d: int) -> Array:
    """Diagonal d×d blocks of G Gᵀ."""
    if G.shape[0] * G.shape[1] <= DENSE:
        full = G.toarray().reshape(G.shape[0] // d, d, G.shape[1])
        return np.asarray(full @ full.transpose(0, 2, 1))
    blocks = np.empty((G.shape[0] // d, d, d))
    for i in range(d):
        for j in range(i, d):
            product = G[i::d].multiply(G[j::d]).sum(axis=1)
            blocks[:, i, j] = blocks[:, j, i] = np.asarray(product).ravel()
    return blocks
