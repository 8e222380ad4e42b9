"""Compiled projection on Coulomb's cone and its derivative, for d = 2 and 3.

The formulas are those of :mod:`clapas.convex.coulomb`, which is the reference of their tests. The functions
of one contact can be called inside other kernels; those of all contacts write into an array of the caller
and allocate nothing. Nothing is checked: shapes, finite values and mu ≥ 0 are up to the caller.
"""

from __future__ import annotations

import math

from clapas.compiled import inlined, kernel
from clapas.typing import Array


@inlined
def length_of(a: float, b: float) -> float:
    """√(a² + b²) without overflow, in a third of the time of the library's hypot."""
    a, b = abs(a), abs(b)
    larger = max(a, b)
    if larger == 0.0:
        return 0.0
    ratio = min(a, b) / larger
    return larger * math.sqrt(1.0 + ratio * ratio)


@inlined
def is_inside(normal: float, length: float, mu: float) -> bool:
    """Whether a vector of tangential length ``length`` is in the cone."""
    return normal >= 0.0 and length <= mu * normal


@inlined
def is_polar(normal: float, length: float, mu: float) -> bool:
    """Whether a vector of tangential length ``length`` is in the polar cone."""
    return normal <= 0.0 and mu * length <= -normal


@inlined
def project_2d(normal: float, tangent: float, mu: float) -> tuple[float, float]:
    """Project one vector in the plane on the cone |x_T| ≤ mu x_N."""
    length = abs(tangent)
    if is_inside(normal, length, mu):
        return normal, tangent
    if is_polar(normal, length, mu):
        return 0.0, 0.0
    size = length_of(1.0, mu)
    cos, sin = 1.0 / size, mu / size
    foot = cos * normal + sin * length
    return cos * foot, math.copysign(sin * foot, tangent)


@inlined
def project_3d(normal: float, tangent: float, tangent2: float, mu: float) -> tuple[float, float, float]:
    """Project one vector in space on the cone |x_T| ≤ mu x_N."""
    length = length_of(tangent, tangent2)
    if is_inside(normal, length, mu):
        return normal, tangent, tangent2
    if is_polar(normal, length, mu):
        return 0.0, 0.0, 0.0
    size = length_of(1.0, mu)
    cos, sin = 1.0 / size, mu / size
    foot = cos * normal + sin * length
    # Here |x_T| > 0: a point on the axis is in the cone or in its polar.
    return cos * foot, sin * foot * (tangent / length), sin * foot * (tangent2 / length)


@inlined
def jacobian_2d(normal: float, tangent: float, mu: float, out: Array) -> None:
    """Write the derivative of :func:`project_2d` into ``out`` (2, 2)."""
    length = abs(tangent)
    out[:] = 0.0
    if is_inside(normal, length, mu) and mu > 0.0:
        out[0, 0] = out[1, 1] = 1.0
    elif not is_polar(normal, length, mu):
        size = length_of(1.0, mu)
        cos, sin = 1.0 / size, math.copysign(mu / size, tangent)
        out[0, 0] = cos * cos
        out[0, 1] = out[1, 0] = cos * sin
        out[1, 1] = sin * sin


@inlined
def jacobian_3d(normal: float, tangent: float, tangent2: float, mu: float, out: Array) -> None:
    """Write the derivative of :func:`project_3d` into ``out`` (3, 3)."""
    length = length_of(tangent, tangent2)
    out[:] = 0.0
    if is_inside(normal, length, mu) and mu > 0.0:
        out[0, 0] = out[1, 1] = out[2, 2] = 1.0
    elif not is_polar(normal, length, mu):
        size = length_of(1.0, mu)
        cos, sin = 1.0 / size, mu / size
        out[0, 0] = cos * cos
        if length > 0.0:  # otherwise mu = 0, the cone is a ray and this point is on it
            a, b = tangent / length, tangent2 / length
            slope = min(max(sin * (cos * normal + sin * length) / length, 0.0), 1.0)
            out[0, 1] = out[1, 0] = cos * sin * a
            out[0, 2] = out[2, 0] = cos * sin * b
            out[1, 1] = sin * sin * a * a + slope * b * b  # I − s sᵀ with s = (a, b): b² = 1 − a²
            out[1, 2] = out[2, 1] = (sin * sin - slope) * a * b
            out[2, 2] = sin * sin * b * b + slope * a * a


@kernel
def project_contacts(x: Array, mu: Array, out: Array) -> None:
    """Project each row of x (n, d) on the cone of its contact, into ``out`` (n, d), which may be x."""
    if x.shape[1] == 2:
        for i in range(x.shape[0]):
            out[i, 0], out[i, 1] = project_2d(x[i, 0], x[i, 1], mu[i])
    else:
        for i in range(x.shape[0]):
            out[i, 0], out[i, 1], out[i, 2] = project_3d(x[i, 0], x[i, 1], x[i, 2], mu[i])


@kernel
def jacobian_contacts(x: Array, mu: Array, out: Array) -> None:
    """Write the derivative of the projection at each row of x (n, d) into ``out`` (n, d, d)."""
    if x.shape[1] == 2:
        for i in range(x.shape[0]):
            jacobian_2d(x[i, 0], x[i, 1], mu[i], out[i])
    else:
        for i in range(x.shape[0]):
            jacobian_3d(x[i, 0], x[i, 1], x[i, 2], mu[i], out[i])
