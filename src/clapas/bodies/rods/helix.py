"""Kinematics of a helical arc: closed forms for a rod of constant twist and curvatures.

The section at arc length s has the frame R = (n₀, n₁, n₂), n₀ the tangent. Along an arc its rate of turn is
constant in the section, R' = R [u]×, u = (τ, κ₁, κ₂): twist and two curvatures (1/m). Hence, from the start
of the arc, the section is moved by the exponential of a twist, exp(s ξ) with ξ = (e₀, u): with φ = s u,

    R(s) = 1 + S₁ [φ]× + S₂ [φ]×²,    r(s) = s (e₀ + S₂ φ × e₀ + S₃ φ × (φ × e₀)).

When u changes at the rate w, the section moves by the twist η (velocity of the point at the start of the arc,
angular velocity, along the axes there),

    angular:  s (S₁ w + S₂ φ × w + S₃ (φ·w) φ),
    linear:   s ((½ − 2 x S₄) ρ × w + (3 S₄ − S₃) (ρ·φ) φ × w + S₃ ((φ·w) ρ + (ρ·w) φ)
                 + S₄ (φ × ρ·w φ − φ·w φ × ρ) − (S₄ − 3 S₅) (ρ·φ) ((φ·w) φ − x w) − 2 S₃ (ρ·φ) w),

with ρ = s e₀, x = |φ|²: the left Jacobian of the exponential of (ρ, φ) on (0, s w). The rate of η at constant
w follows by the product rule. S_k(x) = Σ (−x)ʲ/(2j + k)! are Stumpff's functions: S₀ = cos, S₁ = sin φ/φ.
There is no division by a curvature, so straight rods are not a special case.

Vectors are tuples of three numbers, twists pairs (velocity, angular velocity) of them, frames triples of
axes: the compiler keeps them in registers.

References
----------
Bertails et al. 2006 (super-helices); Barfoot and Furgale 2014, eq. 102 (the derivative of the exponential).
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

from clapas.compiled import inlined, subroutine
from clapas.typing import Array

Vec: TypeAlias = tuple[float, float, float]
Twist: TypeAlias = tuple[Vec, Vec]
Frame: TypeAlias = tuple[Vec, Vec, Vec]

SERIES = 4.0  # |φ|² below which S₆ and S₇ are summed as series; above, closed formulas are accurate
TERMS = 14
SHORT, SHORT_TERMS = 0.25, 7
SIXTH, SEVENTH = (tuple((-1) ** j / math.factorial(2 * j + k) for j in range(TERMS)) for k in (6, 7))


class Stumpff(NamedTuple):
    """The functions S₁ … S₇ at x."""

    s1: float
    s2: float
    s3: float
    s4: float
    s5: float
    s6: float
    s7: float


# ---------------------------------------------------------------- vectors


@inlined
def add(a: Vec, b: Vec) -> Vec:
    """Sum."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def times(k: float, a: Vec) -> Vec:
    """Product by a number."""
    return k * a[0], k * a[1], k * a[2]


@inlined
def plus(a: Vec, k: float, b: Vec) -> Vec:
    """Sum a + k b."""
    return a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]


@inlined
def less(a: Vec, b: Vec) -> Vec:
    """Difference."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def dot(a: Vec, b: Vec) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a: Vec, b: Vec) -> Vec:
    """Vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def turned(R: Frame, a: Vec) -> Vec:
    """R a: components along the axes of a frame to those of the world."""
    return (
        R[0][0] * a[0] + R[1][0] * a[1] + R[2][0] * a[2],
        R[0][1] * a[0] + R[1][1] * a[1] + R[2][1] * a[2],
        R[0][2] * a[0] + R[1][2] * a[1] + R[2][2] * a[2],
    )


@subroutine
def turned_frame(R: Frame, F: Frame) -> Frame:
    """The product R F of two rotations."""
    return turned(R, F[0]), turned(R, F[1]), turned(R, F[2])


# ---------------------------------------------------------------- twists


@inlined
def bracket(x: Twist, y: Twist) -> Twist:
    """The product ad_x y of two twists."""
    return add(cross(x[1], y[0]), cross(x[0], y[1])), cross(x[1], y[1])


@inlined
def combined(x: Twist, k: float, y: Twist) -> Twist:
    """Sum x + k y."""
    return plus(x[0], k, y[0]), plus(x[1], k, y[1])


@subroutine
def carried(p: Vec, R: Frame, x: Twist) -> Twist:
    """A twist given along a frame R at p, about the origin of the world and along its axes."""
    spin = turned(R, x[1])
    return add(turned(R, x[0]), cross(p, spin)), spin


# ---------------------------------------------------------------- the arc


@inlined
def two_series(x: float, even: tuple[float, ...], odd: tuple[float, ...]) -> tuple[float, float]:
    """Two of Stumpff's functions at x < SERIES, from their coefficients."""
    a = b = 0.0
    if x < SHORT:  # most arcs turn by less than half a radian: half the terms, unrolled
        for j in range(SHORT_TERMS - 1, -1, -1):
            a, b = a * x + even[j], b * x + odd[j]
    else:
        for j in range(TERMS - 1, -1, -1):
            a, b = a * x + even[j], b * x + odd[j]
    return a, b


@subroutine
def stumpff(x: float) -> Stumpff:
    """S₁(x) … S₇(x)."""
    if x < SERIES:
        s6, s7 = two_series(x, SIXTH, SEVENTH)
        s5, s4 = 1.0 / 120.0 - x * s7, 1.0 / 24.0 - x * s6
        s3, s2 = 1.0 / 6.0 - x * s5, 0.5 - x * s4
        return Stumpff(1.0 - x * s3, s2, s3, s4, s5, s6, s7)
    size = math.sqrt(x)
    s1, s2 = math.sin(size) / size, 2.0 * math.sin(0.5 * size) ** 2 / x
    s3 = (1.0 - s1) / x
    s4, s5 = (0.5 - s2) / x, (1.0 / 6.0 - s3) / x
    return Stumpff(s1, s2, s3, s4, s5, (1.0 / 24.0 - s4) / x, (1.0 / 120.0 - s5) / x)


@subroutine
def arc_frame(u: Vec, s: float) -> tuple[Vec, Frame]:
    """Point and frame at arc length s, from the start of the arc (s may be negative)."""
    f = times(s, u)
    k = stumpff(dot(f, f))
    return arc_point_frame(f, s, k)


@inlined
def arc_point_frame(f: Vec, s: float, k: Stumpff) -> tuple[Vec, Frame]:
    """The same from φ and Stumpff's functions."""
    x, y, z = f
    a, b, c = k.s1, k.s2, k.s3
    n0 = 1.0 - b * (y * y + z * z), a * z + b * x * y, -a * y + b * x * z
    n1 = -a * z + b * x * y, 1.0 - b * (x * x + z * z), a * x + b * y * z
    n2 = a * y + b * x * z, -a * x + b * y * z, 1.0 - b * (x * x + y * y)
    p = s * (1.0 - c * (y * y + z * z)), s * (b * z + c * x * y), s * (-b * y + c * x * z)
    return p, (n0, n1, n2)


@inlined
def arc_twist(f: Vec, s: float, k: Stumpff, w: Vec) -> Twist:
    """Twist η of the section at s when u changes at the rate w."""
    x, k4 = dot(f, f), k.s4 - 3.0 * k.s5
    across, side, p = (0.0, -w[2], w[1]), cross(f, w), s * f[0]
    a, n = dot(f, w), s * (f[2] * w[1] - f[1] * w[2])
    spin = plus(plus(times(k.s1, w), k.s2, side), k.s3 * a, f)
    push = plus(times(s * (0.5 - 2.0 * x * k.s4), across), (3.0 * k.s4 - k.s3) * p, side)
    push = plus(push, k.s3 * s * w[0] + k.s4 * n - k4 * p * a, f)
    push = plus(push, p * (k4 * x - 2.0 * k.s3), w)
    push = push[0] + k.s3 * a * s, push[1] - k.s4 * a * s * f[2], push[2] + k.s4 * a * s * f[1]
    return times(s, push), times(s, spin)


@inlined
def arc_twist_rate(f: Vec, s: float, k: Stumpff, w: Vec) -> Twist:
    """Rate of η at constant w, as φ grows at the rate s w."""
    x, k4 = dot(f, f), k.s4 - 3.0 * k.s5
    across, side, p = (0.0, -w[2], w[1]), cross(f, w), s * f[0]
    a, n = dot(f, w), s * (f[2] * w[1] - f[1] * w[2])
    # Rates of x, of a = φ·w and of p = s φ₀; derivatives of coefficients, by S_k' = ½ (k S_{k+2} − S_{k+1})
    dx, da, dp = 2.0 * s * a, s * dot(w, w), s * s * w[0]
    d1, d2, d3 = 0.5 * (k.s3 - k.s2), 0.5 * (2.0 * k.s4 - k.s3), 0.5 * (3.0 * k.s5 - k.s4)
    d4 = 0.5 * (4.0 * k.s6 - k.s5)
    e4 = d4 - 1.5 * (5.0 * k.s7 - k.s6)
    spin = plus(plus(times(dx * d1 + k.s3 * a * s, w), dx * d2, side), dx * d3 * a + k.s3 * da, f)
    push = times(s * (k.s4 * a * s - 2.0 * dx * (k.s4 + x * d4)), across)
    push = plus(push, (3.0 * d4 - d3) * dx * p + (3.0 * k.s4 - k.s3) * dp, side)
    along = dx * (d3 * s * w[0] + d4 * n - e4 * p * a) - k4 * (dp * a + p * da)
    push = plus(push, along, f)
    own = k.s3 * s * s * w[0] + k.s4 * n * s - k4 * p * a * s
    own += dp * (k4 * x - 2.0 * k.s3) + p * dx * (e4 * x + k4 - 2.0 * d3)
    push = plus(push, own, w)
    tangent, normal = s * (dx * d3 * a + k.s3 * da), s * (dx * d4 * a + k.s4 * da)
    push = push[0] + tangent, push[1] - normal * f[2], push[2] + normal * f[1]
    return times(s, push), times(s, spin)


@inlined
def frame_of(rows: Array, k: int) -> Frame:
    """A rotation matrix of an array (n, 3, 3) as its axes."""
    return (
        (rows[k, 0, 0], rows[k, 1, 0], rows[k, 2, 0]),
        (rows[k, 0, 1], rows[k, 1, 1], rows[k, 2, 1]),
        (rows[k, 0, 2], rows[k, 1, 2], rows[k, 2, 2]),
    )


@inlined
def vec(rows: Array, k: int) -> Vec:
    """A row of an array (n, 3) as a vector."""
    return rows[k, 0], rows[k, 1], rows[k, 2]
