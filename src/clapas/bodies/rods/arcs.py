"""A segment of a rod as a curve in the world: points, tangents and their derivatives along it.

With u = (τ, κ₁, κ₂) and t₀, b₀ = κ₂ n₁ − κ₁ n₂ the tangent and its derivative at the middle of the segment,
u·b₀ = 0, so powers of [u]× on b₀ end: with c₀ = u × b₀ and Stumpff's functions at x = |u|² s²,

    r(s) = r₀ + s t₀ + S₂ s² b₀ + S₃ s³ c₀,    t(s) = t₀ + S₁ s b₀ + S₂ s² c₀,    t'(s) = S₀ b₀ + S₁ s c₀.

Searches for nearest points need only these, at a fraction of the cost of a frame.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from clapas.bodies.rods.helix import SERIES, TERMS, Frame, Vec, cross, plus, times, turned, two_series
from clapas.compiled import inlined, subroutine

SECOND, THIRD = (tuple((-1) ** j / math.factorial(2 * j + k) for j in range(TERMS)) for k in (2, 3))


class Arc(NamedTuple):
    """One segment as plain numbers, as reference counts of arrays would cost more than the formulas.

    Parameters
    ----------
    middle, tangent, bend, rise : 3 floats each
        r₀, t₀, b₀ and c₀, in the world.
    square : float
        |u|² (1/m²).
    half, radius : float
        Half its length, and the radius of its surface (m).
    """

    middle: Vec
    tangent: Vec
    bend: Vec
    rise: Vec
    square: float
    half: float
    radius: float


@inlined
def arc_through(middle: Vec, frame: Frame, u: Vec, half: float, radius: float) -> Arc:
    """The arc of strains u whose section at ``middle`` has a frame."""
    bend = plus(times(u[2], frame[1]), -u[1], frame[2])
    square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2]
    return Arc(middle, frame[0], bend, cross(turned(frame, u), bend), square, half, radius)


@subroutine
def arc_at(arc: Arc, s: float) -> tuple[Vec, Vec, Vec]:
    """Point, tangent and its derivative at arc length s from the middle."""
    x = arc.square * s * s
    if x < SERIES:
        s2, s3 = two_series(x, SECOND, THIRD)
        s1 = 1.0 - x * s3
    else:
        size = math.sqrt(x)
        s1, s2 = math.sin(size) / size, 2.0 * math.sin(0.5 * size) ** 2 / x
        s3 = (1.0 - s1) / x
    a, b, c = s1 * s, s2 * s * s, s3 * s * s * s
    point = plus(plus(plus(arc.middle, s, arc.tangent), b, arc.bend), c, arc.rise)
    tangent = plus(plus(arc.tangent, a, arc.bend), b, arc.rise)
    return point, tangent, plus(times(1.0 - x * s2, arc.bend), a, arc.rise)
