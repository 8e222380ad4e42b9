"""A helical arc and how it moves: closed forms for a rod of constant twist and curvatures.

The section at arc length s has the frame R = (n₀, n₁, n₂), n₀ the tangent. Along an arc its rate of turn is
constant in the section, R' = R [u]×, u = (τ, κ₁, κ₂): twist and two curvatures (1/m). Hence, from the start
of the arc, the section is moved by the exponential of a twist, exp(s ξ) with ξ = (e₀, u): with φ = s u,

    R(s) = 1 + S₁ [φ]× + S₂ [φ]×²,    r(s) = s (e₀ + S₂ φ × e₀ + S₃ φ × (φ × e₀)).

When u changes at the rate w, the section moves by the twist η (velocity of the point at the start of the arc,
angular velocity, along the axes there),

    η = (1 + c₁ ad + c₂ ad² + c₃ ad³ + c₄ ad⁴) (0, s w),    ad (a, b) = (φ × a + s e₀ × b, φ × b),

since on twists ad⁵ = −2|φ|² ad³ − |φ|⁴ ad. The rate of η at constant w follows by the product rule. All
coefficients are combinations of Stumpff's functions S_k(x) = Σ (−x)ʲ/(2j + k)!, x = |φ|²: S₀ = cos,
S₁ = sin φ/φ. Nothing is divided by a curvature, and straight rods are no special case.

Vectors are tuples of three numbers, twists pairs (velocity, angular velocity) of them, frames triples of
axes: the compiler keeps them in registers.

References
----------
Bertails et al. 2006 (super-helices); Selig 2005, 4.5 (the derivative of the exponential of a twist).
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

from clapas.compiled import inlined, subroutine
from clapas.typing import Array

Vec: TypeAlias = tuple[float, float, float]
Twist: TypeAlias = tuple[Vec, Vec]
Frame: TypeAlias = tuple[Vec, Vec, Vec]

SERIES = 4.0  # |φ|² below which S₆ and S₇ are summed; above, formulas lose fewer digits than that
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


@subroutine
def stumpff(x: float) -> Stumpff:
    """S₁(x) … S₇(x)."""
    if x < SERIES:
        s6 = s7 = 0.0
        if x < SHORT:  # most arcs turn by less than half a radian: half the terms, unrolled
            for j in range(SHORT_TERMS - 1, -1, -1):
                s6, s7 = s6 * x + SIXTH[j], s7 * x + SEVENTH[j]
        else:
            for j in range(TERMS - 1, -1, -1):
                s6, s7 = s6 * x + SIXTH[j], s7 * x + SEVENTH[j]
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


@subroutine
def arc_twist(f: Vec, s: float, k: Stumpff, w: Vec) -> Twist:
    """Twist η of the section at s when u changes at the rate w."""
    X = (s, 0.0, 0.0), f
    x1 = cross((s * s, 0.0, 0.0), w), cross(f, times(s, w))
    x2 = bracket(X, x1)
    x3 = bracket(X, x2)
    x4 = bracket(X, x3)
    c1, c2, c3, c4 = (
        2.0 * k.s2 - 0.5 * k.s1,
        0.5 * (5.0 * k.s3 - k.s2),
        0.5 * k.s3 - k.s4,
        0.5 * (k.s4 - 3.0 * k.s5),
    )
    lin = plus(plus(plus(times(c1, x1[0]), c2, x2[0]), c3, x3[0]), c4, x4[0])
    ang = plus(plus(plus(plus(times(s, w), c1, x1[1]), c2, x2[1]), c3, x3[1]), c4, x4[1])
    return lin, ang


@subroutine
def arc_twist_rate(f: Vec, s: float, k: Stumpff, w: Vec) -> tuple[Twist, Twist]:
    """Twist η, and its rate at constant w."""
    X, D = ((s, 0.0, 0.0), f), ((0.0, 0.0, 0.0), times(s, w))
    x1 = bracket(X, D)
    x2 = bracket(X, x1)
    x3 = bracket(X, x2)
    x4 = bracket(X, x3)
    c1, c2, c3, c4 = (
        2.0 * k.s2 - 0.5 * k.s1,
        0.5 * (5.0 * k.s3 - k.s2),
        0.5 * k.s3 - k.s4,
        0.5 * (k.s4 - 3.0 * k.s5),
    )
    eta = combined(combined(combined(combined(D, c1, x1), c2, x2), c3, x3), c4, x4)
    # Rates of ad² D, ad³ D, ad⁴ D (that of ad D is [D, D] = 0) ...
    y2 = bracket(D, x1)
    y3 = combined(bracket(X, y2), 1.0, bracket(D, x2))
    y4 = combined(bracket(X, y3), 1.0, bracket(D, x3))
    # ... and of the coefficients, by S_k' = ½ (k S_{k+2} − S_{k+1})
    d1, d2, d3 = 0.5 * (k.s3 - k.s2), 0.5 * (2.0 * k.s4 - k.s3), 0.5 * (3.0 * k.s5 - k.s4)
    d4, d5 = 0.5 * (4.0 * k.s6 - k.s5), 0.5 * (5.0 * k.s7 - k.s6)
    growth = 2.0 * s * dot(f, w)  # of |φ|²
    rate = combined(combined(((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), c2, y2), c3, y3)
    rate = combined(rate, c4, y4)
    rate = combined(rate, growth * (2.0 * d2 - 0.5 * d1), x1)
    rate = combined(rate, growth * 0.5 * (5.0 * d3 - d2), x2)
    rate = combined(rate, growth * (0.5 * d3 - d4), x3)
    return eta, combined(rate, growth * 0.5 * (d4 - 3.0 * d5), x4)


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
