"""Products of small blocks, summed into the matrix of the bodies."""

from __future__ import annotations

import numpy as np

from clapas.compiled import kernel
from clapas.typing import Array, Indices


@kernel
def add_products(G: Array, bodies: Indices, D: Array, slots: Indices, values: Array) -> None:
    """Add G_aᵀ D G_b of every contact to the block of its bodies a, b."""
    n, d, size = G.shape[0], G.shape[2], G.shape[3]
    right = np.empty((d, size))
    for i in range(n):
        for b in range(2):
            for k in range(d):
                for j in range(size):
                    total = 0.0
                    for l in range(d):
                        total += D[i, k, l] * G[i, b, l, j]
                    right[k, j] = total
            for a in range(2):
                slot = slots[i, a, b]
                if slot < 0:
                    continue
                for j in range(size):
                    for l in range(size):
                        total = 0.0
                        for k in range(d):
                            total += G[i, a, k, j] * right[k, l]
                        values[slot, j, l] += total


@kernel
def local_products(H: Array, first: Indices, D: Array) -> Array:
    """Entries of Hᵢᵀ Dᵢ Hᵢ for every contact, flat."""
    n, d = len(D), len(H)
    total = 0
    for i in range(n):
        total += (first[i + 1] - first[i]) ** 2
    out = np.empty(total)
    p = 0
    for i in range(n):
        for a in range(first[i], first[i + 1]):
            for b in range(first[i], first[i + 1]):
                entry = 0.0
                for k in range(d):
                    for l in range(d):
                        entry += H[k, a] * D[i, k, l] * H[l, b]
                out[p] = entry
                p += 1
    return out
