"""The one-contact problem solved on LANES contacts side by side.

``solve_lanes`` is chosen at compile time by the part: the exact solver has a vector form, the
others visit the lanes one by one.

The vector form of the exact solver does the same as ``local.exact`` with masks in place of
branches: all lanes compute the open, sticking and sliding answers and keep one. Newton's method on
φ(α) runs until every sliding lane has settled, once for spheres; the few lanes that do not settle in
some steps are handed to the scalar solver, whose bracket always ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from clapas.compiled import FAST_MATH, inlined
from clapas.solvers.local.dispatch import solve_contact
from clapas.solvers.local.exact import ExactPart
from clapas.typing import Array

LANES = 32
NEWTON_STEPS = 6
# Newton's error is squared by the last step: this reaches rounding.
SETTLED = 1e-8

# Rows of LANES numbers in flat arrays. Constant offsets into few arrays, rather than many row
# arrays, let the compiler see that rows do not overlap: otherwise it gives up vectorising.
INVERSE, C_1, C_2, S_1, S_2, MU = (row * LANES for row in range(6))
NORMAL, TANGENT_1, TANGENT_2 = (row * LANES for row in range(3))
A, B_1, B_2, ALPHA, HIGH, SLIDES, OFF = (row * LANES for row in range(7))
WORK_SIZE = 7 * LANES


@inlined
def lane_alone(part: Any, k: Array, u: Array, r: Array, new: Array, l: int) -> None:
    """One lane by the scalar solver."""
    n, t_1, t_2 = solve_contact(
        part,
        r[NORMAL + l],
        r[TANGENT_1 + l],
        r[TANGENT_2 + l],
        u[NORMAL + l],
        u[TANGENT_1 + l],
        u[TANGENT_2 + l],
        k[l::LANES],
    )
    new[NORMAL + l] = n
    new[TANGENT_1 + l] = t_1
    new[TANGENT_2 + l] = t_2


@inlined
def lanes_one_by_one(part: Any, k: Array, u: Array, r: Array, new: Array, work: Array) -> None:
    """Any local solver: flat rows k (6), u (3), r (3) of LANES contacts give the rows ``new`` (3)."""
    for l in range(LANES):
        lane_alone(part, k, u, r, new, l)


@inlined
def lanes_exact(part: ExactPart, k: Array, u: Array, r: Array, new: Array, work: Array) -> None:
    """The exact local solver in vector form."""
    stick_or_open(k, u, r, new, work)
    if not any_row(work, SLIDES):
        return
    start_slip(k, work)
    for _ in range(NEWTON_STEPS):
        newton_step(k, work)
        if not any_row(work, OFF):
            break
    slide(k, new, work)
    if any_row(work, OFF):
        for l in range(LANES):
            if work[OFF + l] > 0.0:
                lane_alone(part, k, u, r, new, l)


@inlined
def any_row(work: Array, row: int) -> bool:
    """Whether a row of flags has one set."""
    count = 0.0
    for l in range(LANES):
        count += work[row + l]
    return count > 0.0


@inlined
def stick_or_open(k: Array, u: Array, r: Array, new: Array, work: Array) -> None:
    """Compute a and b, the sticking answer, zero where open; flag the lanes that must slide."""
    for l in range(LANES):
        u_n, r_1, r_2 = u[NORMAL + l], r[TANGENT_1 + l], r[TANGENT_2 + l]
        c_1, c_2, s_1, s_2 = k[C_1 + l], k[C_2 + l], k[S_1 + l], k[S_2 + l]
        work[A + l] = r[NORMAL + l] + c_1 * r_1 + c_2 * r_2 - k[INVERSE + l] * u_n
        work[B_1 + l] = u[TANGENT_1 + l] - c_1 * u_n - s_1 * r_1
        work[B_2 + l] = u[TANGENT_2 + l] - c_2 * u_n - s_2 * r_2
    for l in range(LANES):
        a, mu = work[A + l], k[MU + l]
        # A tangent along which the contact does not answer (s = 0) sticks only if nothing pushes it:
        # the tiny divisor makes t overflow, and a frictionless contact never sticks sideways.
        t_1 = -work[B_1 + l] / max(k[S_1 + l], 1e-300)
        t_2 = -work[B_2 + l] / max(k[S_2 + l], 1e-300)
        n = a - k[C_1 + l] * t_1 - k[C_2 + l] * t_2
        excess = np.sqrt(t_1 * t_1 + t_2 * t_2) - mu * n
        closed = 1.0 if a > 0.0 else 0.0
        slides = 0.0 if excess <= 0.0 else closed
        work[SLIDES + l] = slides
        new[NORMAL + l] = n if closed > 0.0 else 0.0
        new[TANGENT_1 + l] = t_1 if closed > 0.0 else 0.0
        new[TANGENT_2 + l] = t_2 if closed > 0.0 else 0.0


@inlined
def start_slip(k: Array, work: Array) -> None:
    """First α of the sliding lanes: exact when s_1 = s_2; and an upper bound of it."""
    for l in range(LANES):
        a, b_1, b_2, mu = work[A + l], work[B_1 + l], work[B_2 + l], k[MU + l]
        c_1, c_2 = k[C_1 + l], k[C_2 + l]
        size = np.sqrt(b_1 * b_1 + b_2 * b_2)
        scale = 1.0 / (mu * a)
        high = size * (1.0 + mu * (abs(c_1) + abs(c_2))) * scale
        guess = (size - mu * (c_1 * b_1 + c_2 * b_2)) * scale - 0.5 * (k[S_1 + l] + k[S_2 + l])
        work[HIGH + l] = high
        work[ALPHA + l] = guess if guess > 0.0 else 0.5 * high


@inlined
def newton_step(k: Array, work: Array) -> None:
    """One Newton step on φ(α) for every lane; flag those whose φ before it was not small."""
    for l in range(LANES):
        alpha, high, mu = work[ALPHA + l], work[HIGH + l], k[MU + l]
        g_1, g_2 = 1.0 / (k[S_1 + l] + alpha), 1.0 / (k[S_2 + l] + alpha)
        t_1, t_2 = -work[B_1 + l] * g_1, -work[B_2 + l] * g_2
        inverse_size = 1.0 / np.sqrt(t_1 * t_1 + t_2 * t_2)
        e_1, e_2 = t_1 * inverse_size, t_2 * inverse_size
        ratio = mu * (work[A + l] * inverse_size - k[C_1 + l] * e_1 - k[C_2 + l] * e_2)
        slope = mu * (k[C_1 + l] * e_1 * g_1 + k[C_2 + l] * e_2 * g_2) + ratio * (
            e_1 * e_1 * g_1 + e_2 * e_2 * g_2
        )
        step = alpha - (ratio - 1.0) / slope
        step = step if step > 0.0 else 0.5 * alpha
        work[ALPHA + l] = step if step < high else 0.5 * (alpha + high)
        frictional = work[SLIDES + l] if mu > 0.0 else 0.0
        work[OFF + l] = 0.0 if abs(ratio - 1.0) <= SETTLED else frictional


@inlined
def slide(k: Array, new: Array, work: Array) -> None:
    """Impulse of the sliding lanes from their α: on the cone, with u_N = 0."""
    for l in range(LANES):
        alpha, mu = work[ALPHA + l], k[MU + l]
        t_1 = -work[B_1 + l] / (k[S_1 + l] + alpha)
        t_2 = -work[B_2 + l] / (k[S_2 + l] + alpha)
        factor = mu / np.sqrt(t_1 * t_1 + t_2 * t_2) if mu > 0.0 else 0.0
        f_1, f_2 = t_1 * factor, t_2 * factor
        n = work[A + l] / (1.0 + k[C_1 + l] * f_1 + k[C_2 + l] * f_2)
        slides = work[SLIDES + l]
        new[NORMAL + l] = n if slides > 0.0 else new[NORMAL + l]
        new[TANGENT_1 + l] = n * f_1 if slides > 0.0 else new[TANGENT_1 + l]
        new[TANGENT_2 + l] = n * f_2 if slides > 0.0 else new[TANGENT_2 + l]


def solve_lanes(part: Any, k: Array, u: Array, r: Array, new: Array, work: Array) -> None:
    """New impulses of LANES contacts (plain Python twin of the compiled dispatch)."""
    lanes_one_by_one(part, k, u, r, new, work)


@overload(solve_lanes, strict=False, jit_options={"error_model": "numpy", "fastmath": FAST_MATH})
def _select(part: Any, k: Any, u: Any, r: Any, new: Any, work: Any) -> Callable[..., None]:
    return lanes_exact if part.instance_class is ExactPart else lanes_one_by_one
