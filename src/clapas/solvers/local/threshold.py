"""Exact solution of one contact with a given friction threshold, regularised or not.

With the normal eliminated (:mod:`clapas.solvers.local.canonical`: r_N = a − c·r_T, u_T = b + S r_T) the
tangential impulse minimises ½ r_T·(S + κ) r_T + b·r_T in the disc |r_T| ≤ s. Where that leaves r_N < 0 the
contact opens: r_N = 0, and r_T minimises the same with W_TT in place of S and the free tangential velocity in
place of b. Either is a trust-region problem in the plane: r_T = −(A + β)⁻¹ b, β ≥ 0 by bisection along the
principal axes of A, β = 0 unless |r_T| = s.
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import inlined, subroutine
from clapas.solvers.local.canonical import Coefficients

HALVINGS = 200
ROUNDING = 4e-16


@subroutine
def solve_threshold(
    limit: float,
    softness: float,
    r_n: float,
    r_1: float,
    r_2: float,
    u_n: float,
    u_1: float,
    u_2: float,
    k: Coefficients,
    in_space: bool,
) -> tuple[float, float, float]:
    """New impulse of a contact, from its impulse r, its velocity u at that r, and coefficients k."""
    w_nn, c_1, c_2, s_1, s_2 = 1.0 / k[0], k[1], k[2], k[3], k[4]
    a = r_n + c_1 * r_1 + c_2 * r_2 - k[0] * u_n
    b_1, b_2 = u_1 - c_1 * u_n - s_1 * r_1, u_2 - c_2 * u_n - s_2 * r_2
    if not in_space:
        b_2 = 0.0
    t_1, t_2 = in_disc(s_1 + softness, 0.0, s_2 + softness, b_1, b_2, limit)
    n = a - c_1 * t_1 - c_2 * t_2
    if n >= 0.0:
        return n, t_1, t_2
    # Open: W_TT = S + W_NN c cᵀ, and the tangential velocity without impulses, b − c W_NN a.
    g_1, g_2 = b_1 - c_1 * w_nn * a, b_2 - c_2 * w_nn * a
    t_1, t_2 = in_disc(
        s_1 + w_nn * c_1 * c_1 + softness,
        w_nn * c_1 * c_2,
        s_2 + w_nn * c_2 * c_2 + softness,
        g_1,
        g_2,
        limit,
    )
    return 0.0, t_1, t_2


@inlined
def in_disc(
    a_11: float, a_12: float, a_22: float, b_1: float, b_2: float, limit: float
) -> tuple[float, float]:
    """The t that minimises ½ t·A t + b·t with |t| ≤ limit, A positive semidefinite."""
    size = np.sqrt(b_1 * b_1 + b_2 * b_2)
    if size == 0.0 or limit == 0.0:
        return 0.0, 0.0
    cosine, sine = 1.0, 0.0
    e_1, e_2 = a_11, a_22
    if a_12 != 0.0:
        angle = 0.5 * np.arctan2(2.0 * a_12, a_11 - a_22)
        cosine, sine = np.cos(angle), np.sin(angle)
        radius, mean = np.hypot(0.5 * (a_11 - a_22), a_12), 0.5 * (a_11 + a_22)
        e_1, e_2 = mean + radius, max(mean - radius, 0.0)
    p_1, p_2 = cosine * b_1 + sine * b_2, cosine * b_2 - sine * b_1
    low, high, beta = 0.0, size / limit, 0.0
    if not is_short(e_1, e_2, p_1, p_2, 0.0, limit):
        for _ in range(HALVINGS):
            beta = 0.5 * (low + high)
            if is_short(e_1, e_2, p_1, p_2, beta, limit):
                high = beta
            else:
                low = beta
            if high - low <= ROUNDING * high:
                break
        beta = high
    t_1 = -p_1 / (e_1 + beta) if p_1 != 0.0 else 0.0
    t_2 = -p_2 / (e_2 + beta) if p_2 != 0.0 else 0.0
    return cosine * t_1 - sine * t_2, sine * t_1 + cosine * t_2


@inlined
def is_short(e_1: float, e_2: float, p_1: float, p_2: float, beta: float, limit: float) -> bool:
    """Whether (A + β)⁻¹ b is within the disc; False along a direction without resistance."""
    x = e_1 + beta
    y = e_2 + beta
    if (x <= 0.0 and p_1 != 0.0) or (y <= 0.0 and p_2 != 0.0):
        return False
    t_1 = p_1 / x if p_1 != 0.0 else 0.0
    t_2 = p_2 / y if p_2 != 0.0 else 0.0
    return bool(t_1 * t_1 + t_2 * t_2 <= limit * limit)
