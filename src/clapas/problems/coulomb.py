"""Coulomb's law written in the forms the package uses, vectorised over contacts.

``u`` and ``r`` have shape (n, d), normal component first; ``mu`` has shape (n,).
"""

from __future__ import annotations

import numpy as np

from clapas.convex import coulomb
from clapas.convex.base import length_and_direction
from clapas.typing import Array


def shifted(u: Array, mu: Array) -> Array:
    """De Saxcé's velocity ũ = u + mu |u_T| e_N, which turns the law into K* ∋ ũ ⟂ r ∈ K."""
    result = u.copy()
    result[:, 0] += mu * np.linalg.norm(u[:, 1:], axis=1)
    return result


def violation(u: Array, x: Array, mu: Array) -> Array:
    """Velocity by which each part of the law is violated, (n, d), given x = λ r as velocities.

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
    """Distance x − P_disc(x − u) of x (n, k) from the law of a slider that holds up to ``radius`` (n,)."""
    length, direction = length_and_direction(x - u)
    nearest = np.where((length > radius)[:, None], radius[:, None] * direction, x - u)
    return np.asarray(x - nearest)


def natural_map(u: Array, r: Array, mu: Array, rho: Array) -> Array:
    """Distance from the law: r − P_K(r − ρ ũ), zero exactly when (u, r) obeys it (any ρ > 0)."""
    return r - coulomb.project(r - rho[:, None] * shifted(u, mu), mu)


def alart_curnier(u: Array, r: Array, mu: Array, rho: Array) -> Array:
    """Alart and Curnier's function, zero exactly when (u, r) obeys the law.

        f_N = max(0, r_N − ρ u_N) − r_N,   f_T = P_disc(mu r_N)(r_T − ρ u_T) − r_T,

    where the projection on a disc of negative radius is zero (Cadoux 2009, 1.23-1.25).
    """
    normal = np.maximum(0.0, r[:, 0] - rho * u[:, 0])
    wish = r[:, 1:] - rho[:, None] * u[:, 1:]
    size = np.linalg.norm(wish, axis=1)
    radius = np.maximum(0.0, mu * r[:, 0])
    shrink = np.where(size > radius, radius / np.where(size > 0, size, 1.0), 1.0)
    return np.column_stack((normal, shrink[:, None] * wish)) - r


def bipotential(u: Array, r: Array, mu: Array) -> Array:
    """Gap u·r + mu r_N |u_T| per contact; zero at the law, positive for u_N ≥ 0 and r ∈ K."""
    friction: Array = mu * r[:, 0] * np.linalg.norm(u[:, 1:], axis=1)
    power: Array = np.sum(u * r, axis=1)
    return power + friction
