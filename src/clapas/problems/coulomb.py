"""Coulomb's law in the forms used by the package, vectorised over contacts.

``u`` and ``r`` have shape (n, d), normal component first; ``mu`` has shape (n,).
"""

from __future__ import annotations

import numpy as np

from clapas.convex import coulomb
from clapas.typing import Array


def shifted(u: Array, mu: Array) -> Array:
    """De Saxcé's velocity ũ = u + mu |u_T| e_N, which turns the law into K* ∋ ũ ⟂ r ∈ K."""
    result = u.copy()
    result[:, 0] += mu * np.linalg.norm(u[:, 1:], axis=1)
    return result


def natural_map(u: Array, r: Array, mu: Array, rho: Array) -> Array:
    """Distance from the law: r − P_K(r − ρ ũ), zero exactly when (u, r) obeys it (any ρ > 0)."""
    return r - coulomb.project(r - rho[:, None] * shifted(u, mu), mu)


def alart_curnier(u: Array, r: Array, mu: Array, rho: Array) -> Array:
    """Alart and Curnier's function, zero exactly when (u, r) obeys the law.

        f_N = max(0, r_N − ρ u_N) − r_N,   f_T = P_disc(mu r_N)(r_T − ρ u_T) − r_T,

    where the projection on a disc of negative radius is zero (Cadoux 2009, 1.23-1.25).
    """
    normal = np.maximum(0.0, r[:, 0] - rho * u[:, 0])
    trial = r[:, 1:] - rho[:, None] * u[:, 1:]
    size = np.linalg.norm(trial, axis=1)
    radius = np.maximum(0.0, mu * r[:, 0])
    shrink = np.where(size > radius, radius / np.where(size > 0, size, 1.0), 1.0)
    return np.column_stack((normal, shrink[:, None] * trial)) - r


def bipotential(u: Array, r: Array, mu: Array) -> Array:
    """Gap u·r + mu r_N |u_T| per contact; zero at the law, positive for u_N ≥ 0 and r ∈ K."""
    friction: Array = mu * r[:, 0] * np.linalg.norm(u[:, 1:], axis=1)
    power: Array = np.sum(u * r, axis=1)
    return power + friction
