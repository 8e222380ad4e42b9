"""The natural-map residual in one compiled pass, for problems with many contacts.

The definition to read is :func:`clapas.problems.coulomb.natural_map`; this is its twin for speed.
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.typing import Array, Indices

ROUNDING = float(np.finfo(float).eps)


@inlined
def missed_square(u: Array, r: Array, mu: float, response: float) -> float:
    """Return |λ (r − P_K(r − ũ / λ))|² of one contact."""
    d = len(r)
    slip2, size2 = 0.0, 0.0
    for k in range(1, d):
        slip2 += u[k] * u[k]
        wish = r[k] - u[k] / response
        size2 += wish * wish
    slip, size = np.sqrt(slip2), np.sqrt(size2)
    normal = r[0] - (u[0] + mu * slip) / response
    # P_K(wish) = (p, shrink · wish_T)
    if size <= mu * normal:
        p, shrink = normal, 1.0
    elif mu * size <= -normal:
        p, shrink = 0.0, 0.0
    else:
        p = (normal + mu * size) / (1.0 + mu * mu)
        shrink = mu * p / size
    square = (r[0] - p) * (r[0] - p)
    for k in range(1, d):
        gap = r[k] - shrink * (r[k] - u[k] / response)
        square += gap * gap
    return float(response * response * square)


@kernel
def missed(u: Array, r: Array, mu: Array, response: Array) -> float:
    """Return |λ_i (r_i − P_K(r_i − ũ_i / λ_i))| over all contacts, at least what rounding hides."""
    total, hidden = 0.0, 0.0
    for i in range(len(r)):
        total += missed_square(u[i], r[i], mu[i], response[i])
        for k in range(r.shape[1]):
            hidden += (response[i] * r[i, k]) ** 2
    return float(max(np.sqrt(total), ROUNDING * np.sqrt(hidden)))


@kernel
def missed_by_blocks(
    G: Array,
    bodies: Indices,
    y: Array,
    w: Array,
    r: Array,
    mu: Array,
    response: Array,
    components: tuple[int, ...],
    size: tuple[int, ...],
) -> float:
    """Return the same from the body velocities y: u = G y + w is used as it is computed."""
    total, hidden = 0.0, 0.0
    u = np.empty(len(components))
    for i in range(len(r)):
        y_a, y_b = y[bodies[i, 0]], y[bodies[i, 1]]
        for k in range(len(components)):
            row_a, row_b = G[i, 0, k], G[i, 1, k]
            velocity = w[i, k]
            for j in range(len(size)):
                velocity += row_a[j] * y_a[j] + row_b[j] * y_b[j]
            u[k] = velocity
            hidden += (response[i] * r[i, k]) ** 2
        total += missed_square(u, r[i], mu[i], response[i])
    return float(max(np.sqrt(total), ROUNDING * np.sqrt(hidden)))
