"""De Saxcé's projection on one contact: r ← P_K(r − ρ ũ).

One projection per visit is the cheapest local step; more converge linearly to the exact solution. The
step ρ is the inverse of a bound of the largest eigenvalue of W_ii.

Reference: De Saxcé, Feng 1998.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import inlined
from clapas.convex.coulomb_kernels import project_3d
from clapas.solvers.local.canonical import Coefficients


class DeSaxcePart(NamedTuple):
    """Compile-time tag of the projection: number per visit, and stopping tolerance."""

    projections: int
    tol: float


@inlined
def project_once(
    r_n: float, r_1: float, r_2: float, u_n: float, u_1: float, u_2: float, k: Coefficients
) -> tuple[float, float, float]:
    """One projected step P_K(r − ρ ũ) with the local step length."""
    mu = k[5]
    rho = k[0] / (1.0 + k[1] * k[1] + k[2] * k[2] + k[0] * max(k[3], k[4]))
    x_n = r_n - rho * (u_n + mu * np.sqrt(u_1 * u_1 + u_2 * u_2))
    x_1, x_2 = r_1 - rho * u_1, r_2 - rho * u_2
    return project_3d(x_n, x_1, x_2, mu)


@inlined
def solve_de_saxce(
    part: DeSaxcePart, r_n: float, r_1: float, r_2: float, u_n: float, u_1: float, u_2: float, k: Coefficients
) -> tuple[float, float, float]:
    """New impulse after ``part.projections`` projections, u following r through W_ii."""
    c_1, c_2, s_1, s_2 = k[1], k[2], k[3], k[4]
    for step in range(part.projections):
        n, t_1, t_2 = project_once(r_n, r_1, r_2, u_n, u_1, u_2, k)
        d_n, d_1, d_2 = n - r_n, t_1 - r_1, t_2 - r_2
        r_n, r_1, r_2 = n, t_1, t_2
        if step + 1 == part.projections:
            break
        if d_n * d_n + d_1 * d_1 + d_2 * d_2 <= part.tol * part.tol * (n * n + t_1 * t_1 + t_2 * t_2):
            break
        push = (d_n + c_1 * d_1 + c_2 * d_2) / k[0]
        u_n += push
        u_1 += c_1 * push + s_1 * d_1
        u_2 += c_2 * push + s_2 * d_2
    return r_n, r_1, r_2
