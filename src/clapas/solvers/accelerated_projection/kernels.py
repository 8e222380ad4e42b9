"""Compiled accelerated step in few passes over the contacts; the formulas are in the package docstring.

Written with NumPy the same takes a dozen passes, more than the product by W.
"""

from __future__ import annotations

import math

from clapas.compiled import kernel
from clapas.convex.coulomb_kernels import length_of, project_2d, project_3d
from clapas.typing import Array


@kernel
def projected_step(
    y: Array, u: Array, mu: Array, rho: float, x: Array, components: tuple[int, ...], trial: Array
) -> tuple[float, float]:
    """Write P_K(y − ρ ũ) into ``trial``; return |trial − y|² and the slope ũ·(trial − x).

    u (n, d) is the velocity at y, ũ = u + mu |u_T| e_N. The length of ``components`` is d.
    """
    square, slope = 0.0, 0.0
    for i in range(len(y)):
        if len(components) == 3:
            normal = u[i, 0] + mu[i] * length_of(u[i, 1], u[i, 2])
            p_0, p_1, p_2 = project_3d(
                y[i, 0] - rho * normal, y[i, 1] - rho * u[i, 1], y[i, 2] - rho * u[i, 2], mu[i]
            )
            square += (p_0 - y[i, 0]) ** 2 + (p_1 - y[i, 1]) ** 2 + (p_2 - y[i, 2]) ** 2
            slope += normal * (p_0 - x[i, 0]) + u[i, 1] * (p_1 - x[i, 1]) + u[i, 2] * (p_2 - x[i, 2])
            trial[i, 2] = p_2
        else:
            normal = u[i, 0] + mu[i] * abs(u[i, 1])
            p_0, p_1 = project_2d(y[i, 0] - rho * normal, y[i, 1] - rho * u[i, 1], mu[i])
            square += (p_0 - y[i, 0]) ** 2 + (p_1 - y[i, 1]) ** 2
            slope += normal * (p_0 - x[i, 0]) + u[i, 1] * (p_1 - x[i, 1])
        trial[i, 0] = p_0
        trial[i, 1] = p_1
    return square, slope


@kernel
def curvature(trial: Array, y: Array, u_trial: Array, u_y: Array) -> float:
    """(trial − y)·(u_trial − u_y), the curvature of the energy along the step."""
    n, d = y.shape
    total = 0.0
    for i in range(n):
        for k in range(d):
            total += (trial[i, k] - y[i, k]) * (u_trial[i, k] - u_y[i, k])
    return total


@kernel
def extrapolate(trial: Array, u_trial: Array, x: Array, u: Array, beta: float, y: Array, u_y: Array) -> float:
    """Write trial + β (trial − x) into y and the same of the velocities into u_y; return |trial − x|."""
    n, d = x.shape
    square = 0.0
    for i in range(n):
        for k in range(d):
            change = trial[i, k] - x[i, k]
            square += change * change
            y[i, k] = trial[i, k] + beta * change
            u_y[i, k] = u_trial[i, k] + beta * (u_trial[i, k] - u[i, k])
    return math.sqrt(square)
