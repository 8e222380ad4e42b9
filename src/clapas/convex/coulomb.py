"""Coulomb's friction cone, its dual, and the projections on both.

In the plane of x_N and |x_T| the cone K = {|x_T| ≤ mu x_N} is a wedge of angle φ, tan φ = mu, and its dual
K* = {mu |x_T| ≤ x_N} a wedge of angle π/2 − φ. Both are circular cones

    C(p, q) = {p |x_T| ≤ q x_N, x_N ≥ 0},    K = C(1, mu),  K* = C(mu, 1),

so one projection covers both, written with the cosine and the sine of the wedge. No square of mu and no
quotient by mu appears: mu = 0 and mu = 1e300 are ordinary values. (The dual could follow from Moreau's
x + P_K(−x); but where the two terms nearly cancel, only rounding remains. Here the result is on the cone.)

Components that are infinite or NaN give NaN or the right limit, without a warning: divergence of an
iteration is detected by its own test, not by the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.convex.base import Cone, FrictionCone, length_and_direction, one_per_contact, require_contacts
from clapas.errors import ProblemError
from clapas.typing import Array, Mask


def project(x: Array, mu: Array) -> Array:
    """Nearest point of the friction cone K = {|x_T| ≤ mu x_N}.

    x itself inside K; 0 inside the polar cone {mu |x_T| ≤ −x_N}; elsewhere the foot on the nearest ray,

        P_N = (x_N + mu |x_T|) / (1 + mu²),   P_T = mu P_N x_T / |x_T|.

    Parameters
    ----------
    x : array (n, d)
        Points, normal component first.
    mu : array (n,)
        Coefficients of friction, finite and ≥ 0.

    References
    ----------
    Cadoux 2009, appendix E.

    Examples
    --------
    >>> project(np.array([[1.0, 2.0, 0.0], [-3.0, 1.0, 0.0]]), np.array([1.0, 1.0]))
    array([[1.5, 1.5, 0. ],
           [0. , 0. , 0. ]])
    """
    return _project(x, 1.0, mu)


def project_dual(x: Array, mu: Array) -> Array:
    """Nearest point of the dual cone K* = {mu |x_T| ≤ x_N}, a half-space when mu = 0.

    Examples
    --------
    >>> project_dual(np.array([[1.0, 3.0, 0.0], [-1.0, 3.0, 0.0]]), np.array([1.0, 0.0]))
    array([[2., 2., 0.],
           [0., 3., 0.]])
    """
    return _project(x, mu, 1.0)


def jacobian(x: Array, mu: Array) -> Array:
    """Derivative of the projection on the friction cone, (n, d, d), symmetric, eigenvalues in [0, 1].

    I inside K, 0 inside the polar cone, and elsewhere, with s = x_T / |x_T|, the unit vector
    c = (cos φ, sin φ s) along the nearest ray and a = c·x the length of the foot on it,

        c cᵀ + (a sin φ / |x_T|) diag(0, I − s sᵀ).

    On the boundary of K the result is I, on the rest of the boundary of the polar cone 0: limits of
    derivatives from inside these cones. When mu = 0, K is a ray without interior and the result on it is
    e_N e_Nᵀ, the derivative of max(x_N, 0) e_N (0 at the origin).

    References
    ----------
    Cadoux 2009, (E.11), written with unit vectors.

    Examples
    --------
    >>> jacobian(np.array([[0.0, 1.0, 0.0]]), np.array([1.0]))
    array([[[0.5, 0.5, 0. ],
            [0.5, 0.5, 0. ],
            [0. , 0. , 0.5]]])
    """
    return _jacobian(x, 1.0, mu)


def jacobian_dual(x: Array, mu: Array) -> Array:
    """Derivative of the projection on the dual cone, (n, d, d): :func:`jacobian` with φ for π/2 − φ.

    I inside K* and on its boundary, 0 inside the polar cone −K and on the rest of its boundary. When
    mu = 0 the cone −K is a ray without interior, where the result is diag(0, I).
    """
    return _jacobian(x, mu, 1.0)


def _project(x: Array, p: Array | float, q: Array | float) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        length, direction = length_and_direction(x[:, 1:])
        cos, sin = _angle(p, q)
        foot = cos * x[:, 0] + sin * length
        on_ray = foot[:, None] * _ray(cos, sin, direction)
        inside, polar = _regions(x[:, 0], length, p, q)
    return np.where(inside[:, None], x, np.where(polar[:, None], 0.0, on_ray))


def _jacobian(x: Array, p: Array | float, q: Array | float) -> Array:
    d = x.shape[1]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        length, direction = length_and_direction(x[:, 1:])
        cos, sin = _angle(p, q)
        ray = _ray(cos, sin, direction)
        foot = cos * x[:, 0] + sin * length
        # |x_T| = 0 outside both cones occurs when one of them is a ray: the slope then has this limit.
        slope = np.clip(np.where(length > 0.0, sin * foot / length, sin**2), 0.0, 1.0)
        inside, polar = _regions(x[:, 0], length, p, q)
        on_ray = ray[:, :, None] * ray[:, None, :]
        across = np.eye(d - 1) - direction[:, :, None] * direction[:, None, :]
        on_ray[:, 1:, 1:] += slope[:, None, None] * across
    inside, polar = inside & np.greater(q, 0.0), polar & np.greater(p, 0.0)
    outer = np.where(polar[:, None, None], 0.0, on_ray)
    return np.where(inside[:, None, None], np.eye(d), outer)


def _angle(p: Array | float, q: Array | float) -> tuple[Array, Array]:
    """Cosine and sine of the angle between the axis of C(p, q) and its boundary."""
    size = np.hypot(p, q)
    return np.asarray(p / size), np.asarray(q / size)


def _ray(cos: Array, sin: Array, direction: Array) -> Array:
    """Unit vector of the boundary of the cone on the side of ``direction``."""
    ray = np.empty((len(direction), direction.shape[1] + 1))
    ray[:, 0] = cos
    ray[:, 1:] = sin[..., None] * direction
    return ray


def _regions(normal: Array, length: Array, p: Array | float, q: Array | float) -> tuple[Mask, Mask]:
    """Whether points are in the cone C(p, q), and in its polar. (Overflowing products compare correctly.)"""
    inside = (p * length <= q * normal) & (normal >= 0.0)
    polar = (q * length <= -p * normal) & (normal <= 0.0)
    return inside, polar


@dataclass(frozen=True, eq=False)
class CoulombCone(FrictionCone):
    """Friction cone: the impulses that dry friction allows, K = {|x_T| ≤ mu x_N} at each contact.

    With mu = 0 it is the ray of normal impulses {x_T = 0, x_N ≥ 0}.

    Parameters
    ----------
    mu : array (n,)
        Coefficients of friction, finite and ≥ 0.
    d : 2 or 3
        Components per contact.

    Examples
    --------
    >>> cone = CoulombCone([0.5], d=3)
    >>> cone.contains(np.array([[2.0, 1.0, 0.0]]))
    array([ True])
    >>> cone.project(np.array([[0.0, 0.0, 5.0]]))
    array([[2., 0., 1.]])
    """

    mu: Array
    d: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _friction(self.mu))
        _require_dimension(self.d)

    @staticmethod
    def of_checked(mu: Array, d: int) -> CoulombCone:
        """The cone for coefficients already checked, which are neither checked again nor copied."""
        cone = object.__new__(CoulombCone)
        object.__setattr__(cone, "mu", mu)
        object.__setattr__(cone, "d", d)
        return cone

    def project(self, x: Array) -> Array:
        """Nearest point: the function :func:`project`."""
        require_contacts(x, len(self.mu), self.d)
        return project(x, self.mu)

    def jacobian(self, x: Array) -> Array:
        """Derivative of the projection: the function :func:`jacobian`."""
        require_contacts(x, len(self.mu), self.d)
        return jacobian(x, self.mu)

    def dual(self) -> DualCoulombCone:
        """The cone {mu |x_T| ≤ x_N} of the same contacts."""
        return DualCoulombCone(self.mu, self.d)

    def shift(self, u: Array) -> Array:
        """De Saxcé's shift mu |u_T|."""
        return np.asarray(self.mu * length_and_direction(u[:, 1:])[0])

    def violation(self, u: Array, x: Array) -> Array:
        """Velocity by which each part of the law is violated: the function :func:`violation`."""
        return violation(u, x, self.mu)


def violation(u: Array, x: Array, mu: Array) -> Array:
    """Velocity by which each part of Coulomb's law is violated, (n, d), given x = λ r as velocities.

        e_N = min(u_N, x_N),    e_T = x_T − P_disc(mu x_N)(x_T − u_T)

    Zero exactly when (u, x) obeys the law. The normal part bounds the penetration velocity −u_N, a
    pulling impulse −x_N and the smaller of the two where both are positive (complementarity); the
    tangential part bounds |x_T| − mu x_N (the cone), |u_T| inside the cone (sticking) and, on its
    edge, the angle between −u_T and r_T times the smaller of |u_T| and |x_T|. No part is multiplied
    or divided by mu: the same violation has the same size for mu = 0 and for mu = 1e16. (The natural
    map divides the penetration velocity of a sliding contact by √(1 + mu²).)

    It is Alart and Curnier's function with ρ = 1/λ, as a velocity.
    """
    result = np.empty_like(x)
    result[:, 0] = np.minimum(u[:, 0], x[:, 0])
    result[:, 1:] = disc_violation(u[:, 1:], x[:, 1:], mu * np.maximum(x[:, 0], 0.0))
    return result


def disc_violation(u: Array, x: Array, radius: Array) -> Array:
    """Violation x − P_disc(x − u) of the law of a slider with threshold ``radius`` (n,), for x (n, k)."""
    length, direction = length_and_direction(x - u)
    nearest = np.where((length > radius)[:, None], radius[:, None] * direction, x - u)
    return np.asarray(x - nearest)


@dataclass(frozen=True, eq=False)
class DualCoulombCone(Cone):
    """Dual of the friction cone, K* = {mu |x_T| ≤ x_N}: where the shifted velocity ũ must lie.

    With mu = 0 it is the half-space x_N ≥ 0: bodies may slide freely and not interpenetrate.

    Parameters
    ----------
    mu : array (n,)
        Coefficients of friction, finite and ≥ 0.
    d : 2 or 3
        Components per contact.

    Examples
    --------
    >>> DualCoulombCone([0.5], d=2).contains(np.array([[1.0, 2.0]]))
    array([ True])
    """

    mu: Array
    d: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _friction(self.mu))
        _require_dimension(self.d)

    def project(self, x: Array) -> Array:
        """Nearest point: the function :func:`project_dual`."""
        require_contacts(x, len(self.mu), self.d)
        return project_dual(x, self.mu)

    def jacobian(self, x: Array) -> Array:
        """Derivative of the projection: the function :func:`jacobian_dual`."""
        require_contacts(x, len(self.mu), self.d)
        return jacobian_dual(x, self.mu)

    def dual(self) -> CoulombCone:
        """The friction cone itself, K** = K."""
        return CoulombCone(self.mu, self.d)


def _friction(value: Array) -> Array:
    mu = one_per_contact("mu", value)
    refused = ~np.isfinite(mu) | (mu < 0.0)
    if refused.any():
        i = int(np.argmax(refused))
        raise ProblemError(
            f"mu of contact {i} must be finite and ≥ 0, got {mu[i]}; for a contact that never slides "
            "take a large finite value, such as 1e8"
        )
    return mu


def _require_dimension(d: int) -> None:
    if d not in (2, 3):
        raise ProblemError(f"a contact has d = 2 or 3 components, got d = {d}")
