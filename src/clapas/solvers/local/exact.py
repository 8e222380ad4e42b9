"""Exact solution of one contact by a scalar equation.

In canonical coordinates (see ``canonical``) a sliding contact is one number α > 0 such that

    φ(α) = mu r_N(α) / |r_T(α)| − 1 = 0,     r_T = −(S + α)⁻¹ b,   r_N = a − c·r_T.

If sticking is not possible φ(0) < 0, and φ(α) → ∞ as α → ∞ because a > 0: a root exists and Newton's
method inside a bracket finds it to rounding. When s_1 = s_2 (spheres; always in 2-D) φ is affine
and the first step is exact. A block that is singular along b may leave no root: then the contact
alone has no solution and one projection is taken instead, so that a sweep can continue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import inlined
from clapas.solvers.local.canonical import Coefficients
from clapas.solvers.local.de_saxce import project_once

ROUNDING = 4e-16
IDLE = 1e-12  # velocity along a tangent with s = 0 that counts as rounding, relative to its terms
MAX_STEPS = 100


class ExactPart(NamedTuple):
    """Compile-time tag of the exact local solver."""

    max_steps: int


@inlined
def solve_exact(
    part: ExactPart, r_n: float, r_1: float, r_2: float, u_n: float, u_1: float, u_2: float, k: Coefficients
) -> tuple[float, float, float]:
    """New impulse of a contact, from its impulse r, its velocity u at that r, and coefficients k."""
    c_1, c_2, s_1, s_2, mu = k[1], k[2], k[3], k[4], k[5]
    a = r_n + c_1 * r_1 + c_2 * r_2 - k[0] * u_n
    if a <= 0.0:
        return 0.0, 0.0, 0.0
    if mu == 0.0:
        return a, 0.0, 0.0
    b_1 = u_1 - c_1 * u_n - s_1 * r_1
    b_2 = u_2 - c_2 * u_n - s_2 * r_2
    if s_1 > 0.0 and s_2 > 0.0:
        t_1, t_2 = -b_1 / s_1, -b_2 / s_2
    else:
        t_1, t_2 = stick_singular(a, b_1, b_2, c_1, c_2, s_1, s_2, mu, abs(u_n), abs(u_1), abs(u_2))
    n = a - c_1 * t_1 - c_2 * t_2
    if n >= 0.0 and t_1 * t_1 + t_2 * t_2 <= mu * mu * n * n:
        return n, t_1, t_2
    d_1, d_2 = slip_direction(part.max_steps, a, b_1, b_2, c_1, c_2, s_1, s_2, mu)
    n = a / (1.0 + mu * (c_1 * d_1 + c_2 * d_2))
    if n > 0.0 and n < np.inf:
        return n, mu * n * d_1, mu * n * d_2
    return project_once(r_n, r_1, r_2, u_n, u_1, u_2, k)


@inlined
def stick_singular(
    a: float,
    b_1: float,
    b_2: float,
    c_1: float,
    c_2: float,
    s_1: float,
    s_2: float,
    mu: float,
    u_n: float,
    u_1: float,
    u_2: float,
) -> tuple[float, float]:
    """Sticking tangential impulse when s_1 or s_2 is zero; NaN if there is a velocity along that tangent.

    Along a tangent with s = 0 and b = 0 no impulse changes u_T: the one that best
    fits the cone is taken, which minimises |t| + mu c·t.
    """
    idle_1, idle_2 = s_1 <= 0.0, s_2 <= 0.0
    if (idle_1 and abs(b_1) > IDLE * (u_1 + abs(c_1) * u_n)) or (
        idle_2 and abs(b_2) > IDLE * (u_2 + abs(c_2) * u_n)
    ):
        return np.nan, np.nan
    if idle_1 and idle_2:
        return 0.0, 0.0
    if idle_1:
        t = -b_2 / s_2
        return free_impulse(a - c_2 * t, t, c_1, mu), t
    t = -b_1 / s_1
    return t, free_impulse(a - c_1 * t, t, c_2, mu)


@inlined
def free_impulse(a: float, t: float, c: float, mu: float) -> float:
    """An x with (t, x) in the disc of radius mu (a − c x), if there is one."""
    k = mu * abs(c)
    side = -1.0 if c > 0.0 else 1.0
    if k < 1.0:
        x = k * abs(t) / np.sqrt(1.0 - k * k)
        return side * float(x)
    x = abs(t) + abs(a) / abs(c)
    for _ in range(200):  # the radius grows faster than x: a large enough x is inside
        if t * t + x * x <= mu * mu * (a + abs(c) * x) ** 2 and a + abs(c) * x >= 0.0:
            break
        x *= 2.0
    return side * x


@inlined
def slip_direction(
    max_steps: int,
    a: float,
    b_1: float,
    b_2: float,
    c_1: float,
    c_2: float,
    s_1: float,
    s_2: float,
    mu: float,
) -> tuple[float, float]:
    """Unit vector along r_T of a sliding contact; NaN if the contact alone has no solution."""
    b = np.sqrt(b_1 * b_1 + b_2 * b_2)
    low, high = 0.0, b * (1.0 + mu * (abs(c_1) + abs(c_2))) / (mu * a)
    # Exact when s_1 = s_2, and inside the bracket otherwise.
    alpha = (b - mu * (c_1 * b_1 + c_2 * b_2)) / (mu * a) - 0.5 * (s_1 + s_2)
    if not (low < alpha < high):
        alpha = 0.5 * high
    for _ in range(max_steps):
        g_1, g_2 = 1.0 / (s_1 + alpha), 1.0 / (s_2 + alpha)
        t_1, t_2 = -b_1 * g_1, -b_2 * g_2
        size2 = t_1 * t_1 + t_2 * t_2
        n = a - c_1 * t_1 - c_2 * t_2
        ratio = mu * n / np.sqrt(size2)
        phi = ratio - 1.0
        if phi < 0.0:
            low = alpha
        else:
            high = alpha
        if abs(phi) <= ROUNDING or high - low <= ROUNDING * high:
            break
        slope_n = c_1 * t_1 * g_1 + c_2 * t_2 * g_2
        slope_size = -(t_1 * t_1 * g_1 + t_2 * t_2 * g_2) / size2
        slope = mu * slope_n / np.sqrt(size2) - ratio * slope_size
        step = alpha - phi / slope if slope != 0.0 else low
        alpha = step if low < step < high else 0.5 * (low + high)
    g_1, g_2 = 1.0 / (s_1 + alpha), 1.0 / (s_2 + alpha)
    t_1, t_2 = -b_1 * g_1, -b_2 * g_2
    size = np.sqrt(t_1 * t_1 + t_2 * t_2)
    # The bracket converges to a root, or to α = 0 when there is none: the ratio then is not 1.
    if abs(mu * (a - c_1 * t_1 - c_2 * t_2) - size) > 1e-6 * size:
        return np.nan, np.nan
    return t_1 / size, t_2 / size
