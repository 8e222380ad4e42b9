"""The residual computed in one compiled pass, for problems with many contacts.

The reference definition is :func:`clapas.convex.coulomb.violation`; this is its fast version.
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.typing import Array, Indices

ROUNDING = float(np.finfo(float).eps)


@inlined
def violation_square(
    u_n: float, u_1: float, u_2: float, r_n: float, r_1: float, r_2: float, mu: float, response: float
) -> float:
    """Return the squared violation of the law at one contact; in the plane the second tangent is zero.

    Takes scalars: reference counting of array views would cost more than the formula.
    """
    x_n, x_1, x_2 = response * r_n, response * r_1, response * r_2
    trial_1, trial_2 = x_1 - u_1, x_2 - u_2
    size, radius = np.sqrt(trial_1 * trial_1 + trial_2 * trial_2), mu * max(x_n, 0.0)
    shrink = radius / size if size > radius else 1.0
    e_n, e_1, e_2 = min(u_n, x_n), x_1 - shrink * trial_1, x_2 - shrink * trial_2
    return float(e_n * e_n + e_1 * e_1 + e_2 * e_2)


@kernel
def violation_norm(u: Array, r: Array, mu: Array, response: Array) -> float:
    """Return the norm of the violation over all contacts, or of its rounding error if that is larger."""
    total, hidden, in_space = 0.0, 0.0, r.shape[1] == 3
    for i in range(len(r)):
        u_2, r_2, size = 0.0, 0.0, response[i]
        if in_space:
            u_2, r_2 = u[i, 2], r[i, 2]
        total += violation_square(u[i, 0], u[i, 1], u_2, r[i, 0], r[i, 1], r_2, mu[i], size)
        hidden += size * size * (r[i, 0] * r[i, 0] + r[i, 1] * r[i, 1] + r_2 * r_2)
    return float(max(np.sqrt(total), ROUNDING * np.sqrt(hidden)))


@kernel
def violation_by_blocks(
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
    """Return the same from the body velocities y: u = G y + w is computed contact by contact."""
    total, hidden = 0.0, 0.0
    for i in range(len(r)):
        a, b, m = bodies[i, 0], bodies[i, 1], response[i]
        u_n, u_1, u_2, r_2 = w[i, 0], w[i, 1], 0.0, 0.0
        for j in range(len(size)):
            u_n += G[i, 0, 0, j] * y[a, j] + G[i, 1, 0, j] * y[b, j]
            u_1 += G[i, 0, 1, j] * y[a, j] + G[i, 1, 1, j] * y[b, j]
        if len(components) == 3:
            u_2, r_2 = w[i, 2], r[i, 2]
            for j in range(len(size)):
                u_2 += G[i, 0, 2, j] * y[a, j] + G[i, 1, 2, j] * y[b, j]
        total += violation_square(u_n, u_1, u_2, r[i, 0], r[i, 1], r_2, mu[i], m)
        hidden += m * m * (r[i, 0] * r[i, 0] + r[i, 1] * r[i, 1] + r_2 * r_2)
    return float(max(np.sqrt(total), ROUNDING * np.sqrt(hidden)))


@kernel
def couples_violation_norm(
    u: Array, r: Array, mu: Array, response: Array, diagonals: Array, sliding: int
) -> float:
    """Return the same for contacts with couples: ``sliding`` components, then spin (in space) and rolling.

    A component whose diagonal of W is zero cannot move: its length is zero, and it does not count.
    """
    total, hidden, width = 0.0, 0.0, r.shape[1]
    for i in range(len(r)):
        size = response[i]
        u_2, r_2 = 0.0, 0.0
        if sliding == 3:
            u_2, r_2 = u[i, 2], r[i, 2]
        total += violation_square(u[i, 0], u[i, 1], u_2, r[i, 0], r[i, 1], r_2, mu[i], size)
        limit, k = size * max(r[i, 0], 0.0), sliding
        while k < width:
            last = (
                k + 2 if sliding == 3 and k > sliding else k + 1
            )  # spin is one component, rolling in space two
            square = 0.0
            for j in range(k, last):
                if diagonals[i, j] > 0.0:
                    trial = size * r[i, j] - u[i, j]
                    square += trial * trial
            shrink = limit / np.sqrt(square) if square > limit * limit else 1.0
            for j in range(k, last):
                if diagonals[i, j] > 0.0:
                    error = size * r[i, j] - shrink * (size * r[i, j] - u[i, j])
                    total += error * error
            k = last
        for j in range(width):
            hidden += size * size * r[i, j] * r[i, j]
    return float(max(np.sqrt(total), ROUNDING * np.sqrt(hidden)))
