"""Exact solution of one contact with a polygonal friction cone, by trying sides and corners.

In the notation of :mod:`clapas.solvers.local.canonical`, with unrotated tangents and S a full matrix,

    r_N = a − c·r_T,    u_T = b + S r_T,    r_T ∈ mu r_N P,    −u_T normal to mu r_N P at r_T.

The contact sticks (u_T = 0) if that point is inside. Else r_T = mu r_N p with p on the boundary of P, where
r_N = a / (1 + mu c·p), and

* on a side from p to p + e, the slip is normal to it: u_T·e = 0, linear in the position s along the side,

      s = −[(1 + mu c·p) b·e + mu a e·S p] / [mu (c·e) b·e + mu a e·S e];

* at a corner there is nothing to solve.

Of these points the one is taken where friction dissipates most, that is where the gap
mu r_N σ(−u_T) + u_T·r_T ≥ 0 is least, σ the support function of P: it is zero at a solution. Where S is
singular a side gives the sticking solution. In the plane P is an interval, a polygon of two corners.
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import inlined, subroutine
from clapas.solvers.local.canonical import SINGULAR, Coefficients
from clapas.typing import Array


@subroutine
def solve_polygon(
    corners: Array,
    i: int,
    s_12: float,
    r_n: float,
    r_1: float,
    r_2: float,
    u_n: float,
    u_1: float,
    u_2: float,
    k: Coefficients,
) -> tuple[float, float, float]:
    """New impulse of contact i, from its impulse r, its velocity u at that r, coefficients k and S_12.

    ``corners`` (n, m, 2) are those of all contacts, counter-clockwise.
    """
    c_1, c_2, s_1, s_2, mu = k[1], k[2], k[3], k[4], k[5]
    a = r_n + c_1 * r_1 + c_2 * r_2 - k[0] * u_n
    if a <= 0.0:
        return 0.0, 0.0, 0.0
    if mu == 0.0:
        return a, 0.0, 0.0
    b_1 = u_1 - c_1 * u_n - s_1 * r_1 - s_12 * r_2
    b_2 = u_2 - c_2 * u_n - s_12 * r_1 - s_2 * r_2
    determinant = s_1 * s_2 - s_12 * s_12
    if determinant > SINGULAR * s_1 * s_2:
        t_1, t_2 = (s_12 * b_2 - s_2 * b_1) / determinant, (s_12 * b_1 - s_1 * b_2) / determinant
        n = a - c_1 * t_1 - c_2 * t_2
        if n >= 0.0 and is_inside(corners, i, mu * n, t_1, t_2):
            return n, t_1, t_2
    best_n, best_1, best_2 = a, 0.0, 0.0
    least = mu * a * support(corners, i, -b_1, -b_2)
    m = corners.shape[1]
    for corner in range(m):
        after = corner + 1 if corner + 1 < m else 0
        p_1, p_2 = corners[i, corner, 0], corners[i, corner, 1]
        e_1, e_2 = corners[i, after, 0] - p_1, corners[i, after, 1] - p_2
        b_e, c_e = b_1 * e_1 + b_2 * e_2, c_1 * e_1 + c_2 * e_2
        se_1, se_2 = s_1 * e_1 + s_12 * e_2, s_12 * e_1 + s_2 * e_2
        numerator = (1.0 + mu * (c_1 * p_1 + c_2 * p_2)) * b_e + mu * a * (se_1 * p_1 + se_2 * p_2)
        denominator = mu * c_e * b_e + mu * a * (se_1 * e_1 + se_2 * e_2)
        fraction = (
            -numerator / denominator if abs(numerator) < abs(denominator) else 0.0
        )  # otherwise beyond the side
        for position in (0.0, fraction):
            if not (0.0 <= position < 1.0):
                continue
            at_1, at_2 = p_1 + position * e_1, p_2 + position * e_2
            slope = 1.0 + mu * (c_1 * at_1 + c_2 * at_2)
            if slope <= 0.0:  # no normal impulse corresponds to this point
                continue
            n = a / slope
            t_1, t_2 = mu * n * at_1, mu * n * at_2
            v_1, v_2 = b_1 + s_1 * t_1 + s_12 * t_2, b_2 + s_12 * t_1 + s_2 * t_2
            gap = mu * n * support(corners, i, -v_1, -v_2) + v_1 * t_1 + v_2 * t_2
            if gap < least:
                least, best_n, best_1, best_2 = gap, n, t_1, t_2
    return best_n, best_1, best_2


@inlined
def support(corners: Array, i: int, z_1: float, z_2: float) -> float:
    """Largest p·z over the corners of polygon i."""
    best = corners[i, 0, 0] * z_1 + corners[i, 0, 1] * z_2
    for corner in range(1, corners.shape[1]):
        best = max(best, corners[i, corner, 0] * z_1 + corners[i, corner, 1] * z_2)
    return float(best)


@inlined
def is_inside(corners: Array, i: int, size: float, t_1: float, t_2: float) -> bool:
    """Whether t is in polygon i scaled by ``size``: to the left of every side."""
    m = corners.shape[1]
    for corner in range(m):
        after = corner + 1 if corner + 1 < m else 0
        p_1, p_2 = corners[i, corner, 0], corners[i, corner, 1]
        e_1, e_2 = corners[i, after, 0] - p_1, corners[i, after, 1] - p_2
        if e_1 * (t_2 - size * p_2) - e_2 * (t_1 - size * p_1) < 0.0:
            return False
    return True


@subroutine
def relaxed_in_polygon(
    omega: float,
    corners: Array,
    i: int,
    mu: float,
    r_n: float,
    r_1: float,
    r_2: float,
    n: float,
    t_1: float,
    t_2: float,
) -> tuple[float, float, float]:
    """The impulse r + ω (r_new − r), its tangential part projected on the section of its normal part."""
    x_n = max(r_n + omega * (n - r_n), 0.0)
    x_1, x_2 = r_1 + omega * (t_1 - r_1), r_2 + omega * (t_2 - r_2)
    m, size = corners.shape[1], mu * x_n
    if m > 2 and is_inside(corners, i, size, x_1, x_2):
        return x_n, x_1, x_2
    best, y_1, y_2 = np.inf, 0.0, 0.0
    for corner in range(m):
        after = corner + 1 if corner + 1 < m else 0
        p_1, p_2 = size * corners[i, corner, 0], size * corners[i, corner, 1]
        e_1, e_2 = size * corners[i, after, 0] - p_1, size * corners[i, after, 1] - p_2
        square = e_1 * e_1 + e_2 * e_2
        fraction = ((x_1 - p_1) * e_1 + (x_2 - p_2) * e_2) / square if square > 0.0 else 0.0
        fraction = min(max(fraction, 0.0), 1.0)
        z_1, z_2 = p_1 + fraction * e_1, p_2 + fraction * e_2
        distance = (x_1 - z_1) ** 2 + (x_2 - z_2) ** 2
        if distance < best:
            best, y_1, y_2 = distance, z_1, z_2
    return x_n, y_1, y_2
