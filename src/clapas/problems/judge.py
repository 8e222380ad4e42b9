"""The natural-map residual in one compiled pass, for problems with many contacts.

The definition to read is :func:`clapas.problems.coulomb.natural_map`; this is its twin for speed.
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import kernel
from clapas.typing import Array


@kernel
def missed(u: Array, r: Array, mu: Array, response: Array) -> float:
    """Return |λ_i (r_i − P_K(r_i − ũ_i / λ_i))| over all contacts, without allocating."""
    n, d = r.shape
    total = 0.0
    for i in range(n):
        scale, friction = response[i], mu[i]
        slip2, size2 = 0.0, 0.0
        for k in range(1, d):
            slip2 += u[i, k] * u[i, k]
            wish = r[i, k] - u[i, k] / scale
            size2 += wish * wish
        slip, size = np.sqrt(slip2), np.sqrt(size2)
        normal = r[i, 0] - (u[i, 0] + friction * slip) / scale
        # P_K(wish) = (p, shrink · wish_T)
        if size <= friction * normal:
            p, shrink = normal, 1.0
        elif friction * size <= -normal:
            p, shrink = 0.0, 0.0
        else:
            p = (normal + friction * size) / (1.0 + friction * friction)
            shrink = friction * p / size
        gap = r[i, 0] - p
        square = gap * gap
        for k in range(1, d):
            gap = r[i, k] - shrink * (r[i, k] - u[i, k] / scale)
            square += gap * gap
        total += scale * scale * square
    return float(np.sqrt(total))
