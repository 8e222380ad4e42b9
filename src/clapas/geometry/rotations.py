"""Rotations: quaternions in space, angles in the plane.

An orientation is a unit quaternion q = (w, x, y, z) in 3-D or one angle (rad) in 2-D. It maps the
components X of a vector in the body frame to those in the world, x = q X qᶜ (C.22), or x = R(angle) X.
The size of the last axis, 4 or 1, says which one it is; every function takes one orientation or an array of
them. An angular velocity ω is always in the *body* frame here:

    q̇ = ½ q ω,    so that    q(t + h) = q(t) exp(h ω)    for constant ω.

The exponential of a vector is a unit quaternion whatever the step, which a finite difference of q̇ = ½ q ω
is not; the remaining rounding error is removed by dividing q by its norm.

References
----------
Cadoux 2009, appendix C; its equation numbers are quoted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clapas.typing import Array

Numbers = npt.ArrayLike


def product(p: Numbers, q: Numbers) -> Array:
    """Product of quaternions: the rotation q followed by the rotation p, both seen from the world (C.2).

    p q = (p₀ q₀ − p·q, p₀ q + q₀ p + p × q)

    Examples
    --------
    >>> product([0, 1, 0, 0], [0, 0, 1, 0])  # e₁ e₂ = e₃
    array([0., 0., 0., 1.])
    """
    a, b, c, d = _components(p)
    w, x, y, z = _components(q)
    return np.stack(
        (
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ),
        axis=-1,
    )


def conjugate(q: Numbers) -> Array:
    """Quaternion with the opposite vector part: for a unit quaternion, the inverse rotation (C.3).

    >>> conjugate([0.5, 0.5, 0.5, 0.5])
    array([ 0.5, -0.5, -0.5, -0.5])
    """
    return np.asarray(np.asarray(q, dtype=np.float64) * np.array([1.0, -1.0, -1.0, -1.0]))


def norm(q: Numbers) -> Array:
    """Euclidean norm, |q|² = q qᶜ (C.4)."""
    return np.asarray(np.linalg.norm(np.asarray(q, dtype=np.float64), axis=-1))


def inverse(q: Numbers) -> Array:
    """Inverse of a nonzero quaternion, qᶜ / |q|².

    >>> inverse([2.0, 0.0, 0.0, 0.0])
    array([ 0.5, -0. , -0. , -0. ])
    """
    return np.asarray(conjugate(q) / norm(q)[..., None] ** 2)


def normalise(q: Numbers) -> Array:
    """Unit quaternion of the same direction. The zero quaternion has none and becomes NaN.

    Safe against overflow and underflow for components of any size.

    >>> normalise([3e200, 4e200, 0.0, 0.0])
    array([0.6, 0.8, 0. , 0. ])
    """
    components = np.asarray(q, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = components / np.max(np.abs(components), axis=-1, keepdims=True)
        return np.asarray(scaled / norm(scaled)[..., None])


def left_matrix(q: Numbers) -> Array:
    """Matrix (..., 4, 4) of p ↦ q p (C.7)."""
    w, x, y, z = _components(q)
    return _matrix([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])


def right_matrix(q: Numbers) -> Array:
    """Matrix (..., 4, 4) of p ↦ p q (C.8)."""
    w, x, y, z = _components(q)
    return _matrix([[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]])


def cross_matrix(p: Numbers) -> Array:
    """Matrix S(p), (..., 3, 3), of x ↦ p × x (C.12)."""
    x, y, z = _components(p)
    zero = np.zeros_like(x)
    return _matrix([[zero, -z, y], [z, zero, -x], [-y, x, zero]])


def from_axis_angle(axis: Numbers, angle: Numbers) -> Array:
    """Rotation by an angle (rad) about an axis, of any length but zero (theorem C.5).

    q = (cos θ/2, sin θ/2 p),  p = axis / |axis|

    Examples
    --------
    A quarter of a turn about z brings x onto y:

    >>> rotate(from_axis_angle([0, 0, 1], np.pi / 2), [1, 0, 0]).round(12)
    array([0., 1., 0.])
    """
    axis, half = np.asarray(axis, dtype=np.float64), np.asarray(angle, dtype=np.float64)[..., None] / 2.0
    unit = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
    shape = np.broadcast_shapes(unit.shape[:-1], half.shape[:-1])
    return np.concatenate(
        (np.broadcast_to(np.cos(half), (*shape, 1)), np.broadcast_to(np.sin(half) * unit, (*shape, 3))),
        axis=-1,
    )


def from_matrix(Q: Numbers) -> Array:
    """Unit quaternion of rotation matrices (..., 3, 3), of nonnegative real part.

    From the largest of the four squares w², x², y², z², which avoids cancellation near half turns.

    Examples
    --------
    >>> from_matrix(np.diag([1.0, -1.0, -1.0]))
    array([0., 1., 0., 0.])
    """
    Q = np.asarray(Q, dtype=np.float64)
    a, b, c = Q[..., 0, 0], Q[..., 1, 1], Q[..., 2, 2]
    yz, zx, xy = Q[..., 2, 1] - Q[..., 1, 2], Q[..., 0, 2] - Q[..., 2, 0], Q[..., 1, 0] - Q[..., 0, 1]
    pyz, pzx, pxy = Q[..., 2, 1] + Q[..., 1, 2], Q[..., 0, 2] + Q[..., 2, 0], Q[..., 1, 0] + Q[..., 0, 1]
    # Row k of 4 q qᵀ, which is proportional to q; take the row with the largest diagonal entry.
    rows = _matrix(
        [
            [1 + a + b + c, yz, zx, xy],
            [yz, 1 + a - b - c, pxy, pzx],
            [zx, pxy, 1 - a + b - c, pyz],
            [xy, pzx, pyz, 1 - a - b + c],
        ]
    )
    best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    q = normalise(np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :])
    # Adding 0 turns −0 into 0.
    return np.asarray(np.where(q[..., :1] < 0.0, -q, q) + 0.0)


def exponential(vector: Numbers) -> Array:
    """Quaternion of a rotation vector (..., 3): its direction is the axis, its length the angle (rad).

    exp θ = (cos |θ|/2, (sin |θ|/2) θ/|θ|)

    Examples
    --------
    >>> exponential([0.0, 0.0, np.pi])  # half a turn about z
    array([6.123234e-17, 0.000000e+00, 0.000000e+00, 1.000000e+00])
    """
    half = np.asarray(vector, dtype=np.float64) / 2.0
    angle = np.linalg.norm(half, axis=-1, keepdims=True)
    # np.sinc(x) is sin(πx)/(πx), with its limit 1 at 0.
    return np.concatenate((np.cos(angle), np.sinc(angle / np.pi) * half), axis=-1)


def derivative(q: Numbers, omega: Numbers) -> Array:
    """Rate of an orientation quaternion, q̇ = ½ q ω, with ω in the body frame (C.25)."""
    omega = np.asarray(omega, dtype=np.float64)
    pure = np.concatenate((np.zeros((*omega.shape[:-1], 1)), omega), axis=-1)
    return 0.5 * product(q, pure)


# ------------------------------------------------------------------ both dimensions


def identity(d: int) -> tuple[float, ...]:
    """The identity orientation.

    >>> identity(3), identity(2)
    ((1.0, 0.0, 0.0, 0.0), (0.0,))
    """
    return (1.0, 0.0, 0.0, 0.0) if d == 3 else (0.0,)


def origin(d: int) -> tuple[float, ...]:
    """The origin, one shared tuple, as :func:`identity` is.

    >>> origin(3), origin(2)
    ((0.0, 0.0, 0.0), (0.0, 0.0))
    """
    return (0.0, 0.0, 0.0) if d == 3 else (0.0, 0.0)


def compose(first: Numbers, second: Numbers) -> Array:
    """Orientation of a frame given relative to another: ``first`` of the other, ``second`` relative to it.

    The product of quaternions, the sum of angles.

    >>> compose([0.25], [0.5])
    array([0.75])
    """
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return product(first, second) if first.shape[-1] == 4 else np.asarray(first + second)


def opposite(orientation: Numbers) -> Array:
    """The inverse rotation of unit quaternions or angles."""
    orientation = np.asarray(orientation, dtype=np.float64)
    return conjugate(orientation) if orientation.shape[-1] == 4 else np.asarray(-orientation)


def to_matrix(orientation: Numbers) -> Array:
    """Rotation matrices Q, (..., 3, 3) or (..., 2, 2): x = Q X from body to world.

    In space Q = cos θ I + (1 − cos θ) p pᵀ + sin θ S(p) (C.13), written without the angle: with
    q = (w, v), Q = (w² − v·v) I + 2 v vᵀ + 2 w S(v).

    Examples
    --------
    >>> to_matrix([0.0]).tolist()
    [[1.0, -0.0], [0.0, 1.0]]
    """
    orientation = np.asarray(orientation, dtype=np.float64)
    if orientation.shape[-1] == 1:
        cos, sin = np.cos(orientation[..., 0]), np.sin(orientation[..., 0])
        return _matrix([[cos, -sin], [sin, cos]])
    w, x, y, z = _components(orientation)
    return _matrix(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def rotate(orientation: Numbers, vector: Numbers) -> Array:
    """World components of vectors given in the body frame, q X qᶜ (theorem C.5).

    Examples
    --------
    >>> rotate([np.pi / 2], [1.0, 0.0]).round(12)
    array([0., 1.])
    """
    return np.asarray(np.einsum("...ij,...j->...i", to_matrix(orientation), np.asarray(vector, dtype=float)))


def rotate_back(orientation: Numbers, vector: Numbers) -> Array:
    """Components in the body frame of vectors given in the world, qᶜ x q."""
    return np.asarray(np.einsum("...ji,...j->...i", to_matrix(orientation), np.asarray(vector, dtype=float)))


def integrate(orientation: Numbers, omega: Numbers, dt: Numbers) -> Array:
    """Orientations after a time ``dt`` (s) at constant angular velocity ω in the body frame (rad/s).

    q exp(dt ω) divided by its norm, so that q stays unit to rounding over any number of steps; in the
    plane, angle + dt ω.

    Parameters
    ----------
    orientation : array (..., 4) or (..., 1)
        Unit quaternions or angles.
    omega : array (..., 3) or (..., 1)
        Angular velocities.
    dt : float or array (...,)
        Time.

    Examples
    --------
    >>> integrate([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0], 0.5 * np.pi).round(12)
    array([0., 0., 0., 1.])
    """
    orientation, omega = np.asarray(orientation, dtype=np.float64), np.asarray(omega, dtype=np.float64)
    turn = np.asarray(dt, dtype=np.float64)[..., None] * omega
    if orientation.shape[-1] == 1:
        return np.asarray(orientation + turn)
    return normalise(product(orientation, exponential(turn)))


def up_to(normal: Numbers) -> Array:
    """Shortest rotation that brings the last axis (z, or y in 2-D) onto a unit vector.

    For −z any half turn about a horizontal axis would do; the one about x is returned.

    Examples
    --------
    >>> rotate(up_to([1.0, 0.0, 0.0]), [0.0, 0.0, 1.0]).round(12)
    array([1., 0., 0.])
    >>> rotate(up_to([1.0, 0.0]), [0.0, 1.0]).round(12)
    array([1., 0.])
    """
    normal = np.asarray(normal, dtype=np.float64)
    if normal.shape[-1] == 2:
        return np.asarray(np.arctan2(-normal[..., :1], normal[..., 1:]))
    x, y, z = _components(normal)
    # |z × n|² / (1 − n_z) equals 1 + n_z, without cancellation where n_z is near −1.
    tilt = x * x + y * y
    half = np.where(z > 0.0, 1.0 + z, tilt / np.maximum(1.0 - z, 1.0))
    q = np.stack((half, -y, x, np.zeros_like(x)), axis=-1)
    turned_over = np.stack((half * 0.0, half * 0.0 + 1.0, half * 0.0, half * 0.0), axis=-1)
    return normalise(np.where((tilt[..., None] == 0.0) & (z[..., None] < 0.0), turned_over, q))


def _components(q: Numbers) -> tuple[Array, ...]:
    return tuple(np.moveaxis(np.asarray(q, dtype=np.float64), -1, 0))


def _matrix(rows: list[list[Array]]) -> Array:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
