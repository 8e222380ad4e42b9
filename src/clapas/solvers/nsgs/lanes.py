"""The one-contact problem solved on eight contacts side by side.

The type of the part selects ``solve_lanes`` at compile time. Each method does the same as its scalar twin in
``clapas.solvers.local`` with masks in place of branches: all lanes compute the open, sticking and
sliding solutions and keep one. Rare cases (a root that Newton's method does not find quickly, a contact
without solution) are left to the scalar solver, whose bracketing always terminates.

Impulses r, velocities u are (normal, tangent 1, tangent 2) and coefficients k are (1/W_NN, c_1, c_2,
s_1, s_2, mu), each a tuple of lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from clapas.compiled import chosen_by_type, inlined
from clapas.compiled.simd import WIDTH, absolute, any_lane, lane_of, sqrt, where, with_lane
from clapas.solvers.local.alart_curnier import AlartCurnierPart
from clapas.solvers.local.de_saxce import DeSaxcePart
from clapas.solvers.local.dispatch import solve_contact
from clapas.solvers.local.exact import MAX_STEPS, ExactPart

Lanes: TypeAlias = Any
Triple: TypeAlias = tuple[Lanes, Lanes, Lanes]

NEWTON_STEPS = 6
# Newton's error is squared by the last step: this reaches rounding.
SETTLED = 1e-8


@inlined
def lane_by_lane(chosen: Lanes, new: Triple, r: Triple, u: Triple, k: Any) -> Triple:
    """Replace the chosen lanes by the result of the exact scalar solver."""
    n, t_1, t_2 = new
    for l in range(WIDTH):
        if lane_of(chosen, l):
            coefficients = (
                lane_of(k[0], l),
                lane_of(k[1], l),
                lane_of(k[2], l),
                lane_of(k[3], l),
                lane_of(k[4], l),
                lane_of(k[5], l),
            )
            x_n, x_1, x_2 = solve_contact(
                ExactPart(MAX_STEPS),
                lane_of(r[0], l),
                lane_of(r[1], l),
                lane_of(r[2], l),
                lane_of(u[0], l),
                lane_of(u[1], l),
                lane_of(u[2], l),
                coefficients,
            )
            n, t_1, t_2 = with_lane(n, l, x_n), with_lane(t_1, l, x_1), with_lane(t_2, l, x_2)
    return n, t_1, t_2


@inlined
def free_values(r: Triple, u: Triple, k: Any) -> Triple:
    """Return a and b of the canonical form: see ``clapas.solvers.local.canonical``."""
    inverse, c_1, c_2, s_1, s_2, _ = k
    a = r[0] + c_1 * r[1] + c_2 * r[2] - inverse * u[0]
    return a, u[1] - c_1 * u[0] - s_1 * r[1], u[2] - c_2 * u[0] - s_2 * r[2]


@inlined
def solve_exact_lanes(part: ExactPart, r: Triple, u: Triple, k: Any) -> Triple:
    """The exact local solver."""
    _, c_1, c_2, s_1, s_2, mu = k
    a, b_1, b_2 = free_values(r, u, k)
    closed = a > 0.0
    # One division for both tangents. A singular block (s = 0) gives infinity or NaN, which never sticks.
    scale = -1.0 / (s_1 * s_2)
    t_1, t_2 = b_1 * (s_2 * scale), b_2 * (s_1 * scale)
    n = a - c_1 * t_1 - c_2 * t_2
    limit = mu * n
    slides = closed & ~((limit >= 0.0) & (t_1 * t_1 + t_2 * t_2 <= limit * limit))
    n, t_1, t_2 = where(closed, n, 0.0), where(closed, t_1, 0.0), where(closed, t_2, 0.0)
    if any_lane(slides):
        # Exact when s_1 = s_2 (spheres, discs) and without friction: r_T = −mu r_N b/|b|.
        size = sqrt(b_1 * b_1 + b_2 * b_2)
        ratio = a / (size - mu * (c_1 * b_1 + c_2 * b_2))
        n = where(slides, ratio * size, n)
        t_1 = where(slides, -mu * ratio * b_1, t_1)
        t_2 = where(slides, -mu * ratio * b_2, t_2)
        rest = slides & ~(((s_1 == s_2) | (mu == 0.0)) & (n > 0.0))
        if any_lane(rest):
            return slide_anisotropic(rest, (a, b_1, b_2), (n, t_1, t_2), r, u, k)
    return n, t_1, t_2


@inlined
def slide_anisotropic(slides: Lanes, free: Triple, new: Triple, r: Triple, u: Triple, k: Any) -> Triple:
    """Sliding lanes with s_1 ≠ s_2: Newton's method on φ(α); the scalar solver where it does not converge."""
    _, c_1, c_2, s_1, s_2, mu = k
    a, b_1, b_2 = free
    size = sqrt(b_1 * b_1 + b_2 * b_2)
    scale = 1.0 / (mu * a)
    high = size * (1.0 + mu * (absolute(c_1) + absolute(c_2))) * scale
    alpha = (size - mu * (c_1 * b_1 + c_2 * b_2)) * scale - 0.5 * (s_1 + s_2)
    alpha = where(alpha > 0.0, alpha, 0.5 * high)
    off = slides
    for _ in range(NEWTON_STEPS):
        inverse = 1.0 / ((s_1 + alpha) * (s_2 + alpha))
        g_1, g_2 = (s_2 + alpha) * inverse, (s_1 + alpha) * inverse
        t_1, t_2 = -b_1 * g_1, -b_2 * g_2
        inverse = 1.0 / sqrt(t_1 * t_1 + t_2 * t_2)
        e_1, e_2 = t_1 * inverse, t_2 * inverse
        ratio = mu * (a * inverse - c_1 * e_1 - c_2 * e_2)
        slope = mu * (c_1 * e_1 * g_1 + c_2 * e_2 * g_2) + ratio * (e_1 * e_1 * g_1 + e_2 * e_2 * g_2)
        step = alpha - (ratio - 1.0) / slope
        step = where(step > 0.0, step, 0.5 * alpha)
        alpha = where(step < high, step, 0.5 * (alpha + high))
        off = slides & ~(absolute(ratio - 1.0) <= SETTLED)
        if not any_lane(off):
            break
    # On the cone, with u_N = 0.
    t_1, t_2 = -b_1 / (s_1 + alpha), -b_2 / (s_2 + alpha)
    factor = mu / sqrt(t_1 * t_1 + t_2 * t_2)
    f_1, f_2 = t_1 * factor, t_2 * factor
    n = a / (1.0 + c_1 * f_1 + c_2 * f_2)
    off = off | (slides & ~(n > 0.0))
    new = where(slides, n, new[0]), where(slides, n * f_1, new[1]), where(slides, n * f_2, new[2])
    if any_lane(off):
        new = lane_by_lane(off, new, r, u, k)
    return new


@inlined
def solve_alart_curnier_lanes(part: AlartCurnierPart, r: Triple, u: Triple, k: Any) -> Triple:
    """Newton's method of Alart and Curnier; the exact solver where it does not converge."""
    inverse, c_1, c_2, s_1, s_2, mu = k
    a, b_1, b_2 = free_values(r, u, k)
    closed = a > 0.0
    sum_s = s_1 + s_2
    rho = where(sum_s > 0.0, 2.0 / sum_s, inverse)
    stick_1, stick_2 = -b_1 / s_1, -b_2 / s_2
    g_1, g_2 = 1.0 - rho * s_1, 1.0 - rho * s_2
    t_1, t_2, n = r[1], r[2], r[0]
    active, solved = closed & (mu > 0.0), ~closed
    for _ in range(part.max_iterations):
        n = a - c_1 * t_1 - c_2 * t_2
        y_1, y_2 = t_1 - rho * (s_1 * t_1 + b_1), t_2 - rho * (s_2 * t_2 + b_2)
        size2 = y_1 * y_1 + y_2 * y_2
        inverse_size = 1.0 / sqrt(size2)
        pressed = n > 0.0
        radius, drag = where(pressed, mu * n, 0.0), where(pressed, mu, 0.0)
        d_1, d_2 = y_1 * inverse_size, y_2 * inverse_size
        scale = radius * inverse_size
        j_11 = 1.0 - scale * d_2 * d_2 * g_1 + drag * d_1 * c_1
        j_12 = scale * d_1 * d_2 * g_2 + drag * d_1 * c_2
        j_21 = scale * d_1 * d_2 * g_1 + drag * d_2 * c_1
        j_22 = 1.0 - scale * d_1 * d_1 * g_2 + drag * d_2 * c_2
        determinant = 1.0 / (j_11 * j_22 - j_12 * j_21)
        f_1, f_2 = radius * d_1 - t_1, radius * d_2 - t_2
        sticks = size2 <= radius * radius
        new_1 = where(sticks, stick_1, t_1 + (j_22 * f_1 - j_12 * f_2) * determinant)
        new_2 = where(sticks, stick_2, t_2 + (j_11 * f_2 - j_21 * f_1) * determinant)
        change = absolute(new_1 - t_1) + absolute(new_2 - t_2)
        t_1, t_2 = where(active, new_1, t_1), where(active, new_2, t_2)
        settled = active & (change <= part.tol * (absolute(t_1) + absolute(t_2)))
        n = a - c_1 * t_1 - c_2 * t_2
        limit = mu * n
        inside = t_1 * t_1 + t_2 * t_2 <= limit * limit * (1.0 + 8.0 * part.tol)
        solved = solved | (settled & (n >= 0.0) & inside)
        active = active & ~settled
        if not any_lane(active):
            break
    n, t_1, t_2 = where(closed, n, 0.0), where(closed, t_1, 0.0), where(closed, t_2, 0.0)
    if any_lane(~solved):
        x_n, x_1, x_2 = solve_exact_lanes(ExactPart(MAX_STEPS), r, u, k)
        n, t_1, t_2 = where(solved, n, x_n), where(solved, t_1, x_1), where(solved, t_2, x_2)
    return n, t_1, t_2


@inlined
def solve_de_saxce_lanes(part: DeSaxcePart, r: Triple, u: Triple, k: Any) -> Triple:
    """Projections r ← P_K(r − ρ ũ), with u updated through W_ii."""
    inverse, c_1, c_2, s_1, s_2, mu = k
    rho = inverse / (1.0 + c_1 * c_1 + c_2 * c_2 + inverse * where(s_1 > s_2, s_1, s_2))
    w_n = 1.0 / inverse
    u_n, u_1, u_2 = u
    r_n, r_1, r_2 = r
    for step in range(part.projections):
        x_n = r_n - rho * (u_n + mu * sqrt(u_1 * u_1 + u_2 * u_2))
        n, t_1, t_2 = project(x_n, r_1 - rho * u_1, r_2 - rho * u_2, mu)
        d_n, d_1, d_2 = n - r_n, t_1 - r_1, t_2 - r_2
        r_n, r_1, r_2 = n, t_1, t_2
        if step + 1 == part.projections:
            break
        push = w_n * (d_n + c_1 * d_1 + c_2 * d_2)
        u_n, u_1, u_2 = u_n + push, u_1 + (c_1 * push + s_1 * d_1), u_2 + (c_2 * push + s_2 * d_2)
    return r_n, r_1, r_2


@inlined
def project(x_n: Lanes, x_1: Lanes, x_2: Lanes, mu: Lanes) -> Triple:
    """Projection onto the cone of slope mu."""
    size = sqrt(x_1 * x_1 + x_2 * x_2)
    n = projected_normal(x_n, size, mu)
    limit = mu * n
    factor = where(size > limit, limit / size, 1.0)
    return n, factor * x_1, factor * x_2


@inlined
def projected_normal(normal: Lanes, size: Lanes, mu: Lanes) -> Lanes:
    """Normal part of the projection of vectors with this normal part and tangential size.

    The tangential part of the projection is that of the vector, cut to mu times the result.
    """
    # With mu = 0 the first test alone would take a vector along −e_N for one inside the cone.
    outside = (size > mu * normal) | (normal < 0.0)
    nearest = (normal + mu * size) / (1.0 + mu * mu)
    return where(outside, where(nearest > 0.0, nearest, 0.0), normal)


@inlined
def relax_lanes(omega: float, mu: Lanes, r: Triple, new: Triple) -> Triple:
    """P_K(r + ω (r_new − r)): see ``relax``."""
    x_n = r[0] + omega * (new[0] - r[0])
    return project(x_n, r[1] + omega * (new[1] - r[1]), r[2] + omega * (new[2] - r[2]), mu)


METHODS: dict[type, Callable[..., Triple]] = {
    ExactPart: solve_exact_lanes,
    AlartCurnierPart: solve_alart_curnier_lanes,
    DeSaxcePart: solve_de_saxce_lanes,
}


def solve_lanes(part: Any, r: Triple, u: Triple, k: Any) -> Triple:
    """Compute the new impulses of eight contacts; inside kernels only."""
    raise NotImplementedError("solve_lanes has a meaning only inside a kernel")


@chosen_by_type(solve_lanes, is_inlined=True)
def _select(part: Any, r: Any, u: Any, k: Any) -> Callable[..., Triple]:
    return METHODS[part.instance_class]
