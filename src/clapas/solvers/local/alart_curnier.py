"""Alart and Curnier's generalised Newton method on one contact.

Newton on f_AC(u, r) = 0 with u = W_ii r + q̄. The normal equation decides open or closed at once
(u_N = 0); for a closed contact the tangential one is

    stick   u_T = 0                              if |y| < mu r_N,      y = r_T − ρ u_T
    slide   r_T = mu r_N y/|y|, linearised       otherwise.

Quadratic near the solution, but it may cycle; then the exact scalar equation is used, so that
the contact is solved whenever possible.

Reference: Alart, Curnier 1991; Cadoux 2009, 1.3.1 and appendix D.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import inlined
from clapas.solvers.local.canonical import Coefficients
from clapas.solvers.local.exact import ExactPart, solve_exact


class AlartCurnierPart(NamedTuple):
    """Compile-time tag of the Newton local solver, with its limits."""

    max_iterations: int
    tol: float


@inlined
def solve_alart_curnier(
    part: AlartCurnierPart,
    r_n: float,
    r_1: float,
    r_2: float,
    u_n: float,
    u_1: float,
    u_2: float,
    k: Coefficients,
) -> tuple[float, float, float]:
    """New impulse by Newton's method, or by the exact equation where Newton does not converge."""
    c_1, c_2, s_1, s_2, mu = k[1], k[2], k[3], k[4], k[5]
    a = r_n + c_1 * r_1 + c_2 * r_2 - k[0] * u_n
    if a <= 0.0:
        return 0.0, 0.0, 0.0
    if mu == 0.0:
        return a, 0.0, 0.0
    b_1 = u_1 - c_1 * u_n - s_1 * r_1
    b_2 = u_2 - c_2 * u_n - s_2 * r_2
    rho = 2.0 / (s_1 + s_2) if s_1 + s_2 > 0.0 else k[0]
    # With u_N = 0 eliminated, r_N = a − c·t and u_T = S t + b: two equations in t = r_T.
    t_1, t_2 = r_1, r_2
    for _ in range(part.max_iterations):
        n = a - c_1 * t_1 - c_2 * t_2
        y_1, y_2 = t_1 - rho * (s_1 * t_1 + b_1), t_2 - rho * (s_2 * t_2 + b_2)
        size = np.sqrt(y_1 * y_1 + y_2 * y_2)
        radius = mu * max(n, 0.0)
        if size <= radius:  # stick
            if s_1 <= 0.0 or s_2 <= 0.0:
                break
            new_1, new_2 = -b_1 / s_1, -b_2 / s_2
        else:  # slide: (I − B(I − ρS) + mu d cᵀ) dt = radius d − t, B the derivative of y ↦ radius y/|y|
            d_1, d_2 = y_1 / size, y_2 / size
            scale = radius / size
            drag = mu if n > 0.0 else 0.0
            g_1, g_2 = 1.0 - rho * s_1, 1.0 - rho * s_2
            j_11 = 1.0 - scale * d_2 * d_2 * g_1 + drag * d_1 * c_1
            j_12 = scale * d_1 * d_2 * g_2 + drag * d_1 * c_2
            j_21 = scale * d_1 * d_2 * g_1 + drag * d_2 * c_1
            j_22 = 1.0 - scale * d_1 * d_1 * g_2 + drag * d_2 * c_2
            determinant = j_11 * j_22 - j_12 * j_21
            if determinant == 0.0:
                break
            f_1, f_2 = radius * d_1 - t_1, radius * d_2 - t_2
            new_1 = t_1 + (j_22 * f_1 - j_12 * f_2) / determinant
            new_2 = t_2 + (j_11 * f_2 - j_21 * f_1) / determinant
        change = abs(new_1 - t_1) + abs(new_2 - t_2)
        t_1, t_2 = new_1, new_2
        if change <= part.tol * (abs(t_1) + abs(t_2)):
            n = a - c_1 * t_1 - c_2 * t_2
            if n >= 0.0 and t_1 * t_1 + t_2 * t_2 <= mu * mu * n * n * (1.0 + 8.0 * part.tol):
                return n, t_1, t_2
            break
    return solve_exact(ExactPart(100), r_n, r_1, r_2, u_n, u_1, u_2, k)
