"""Projected Gauss-Seidel sweeps on compressed rows."""

from __future__ import annotations

from clapas.compiled import kernel
from clapas.typing import Array, Indices


@kernel
def sweep(
    indptr: Indices,
    indices: Indices,
    data: Array,
    diagonal: Array,
    q: Array,
    z: Array,
    omega: float,
    count: int,
) -> None:
    """Visit each unknown ``count`` times: z_i ← max(0, z_i − ω w_i / M_ii), in place."""
    for _ in range(count):
        for i in range(len(z)):
            w = q[i]
            for k in range(indptr[i], indptr[i + 1]):
                w += data[k] * z[indices[k]]
            z[i] = max(0.0, z[i] - omega * w / diagonal[i])
