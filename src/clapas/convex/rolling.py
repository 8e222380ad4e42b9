"""The cone of a contact that also transmits a couple: several discs whose radii grow with r_N.

    K = {r : |r_T| ≤ mu r_N,  |p| ≤ r_N for each part p of the couple}

Components are normal, tangents, then the couple divided by its lengths, so that all are impulses:
(N, T, R) in the plane, (N, T_1, T_2, S, R_1, R_2) in space, with S for spin about the normal and R for
rolling. The discs share r_N, hence K is not a product; without couples it is the cone of Coulomb's law.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from clapas.convex.base import Cone, DualCone, FrictionCone, require_contacts
from clapas.convex.coulomb import disc_violation
from clapas.errors import ProblemError
from clapas.typing import Array

DISCS = {3: (slice(1, 2), slice(2, 3)), 6: (slice(1, 3), slice(3, 4), slice(4, 6))}
"""Columns of each disc by the number of components: friction first, then the parts of the couple."""


def sizes(x: Array) -> Array:
    """Lengths (n, k) of the parts of x that the discs bound."""
    return np.stack([np.linalg.norm(x[:, part], axis=1) for part in DISCS[x.shape[1]]], axis=1)


def coefficients(mu: Array, width: int) -> Array:
    """Radii (n, k) of the discs per unit of r_N: mu, then ones."""
    return np.column_stack([mu, *[np.ones_like(mu)] * (len(DISCS[width]) - 1)])


def project(x: Array, mu: Array) -> Array:
    """Nearest points of K, row by row.

    With t_k the size of part k and c_k its coefficient, the normal component n of the projection minimises
    (n − x_N)² + Σ max(0, t_k − c_k n)². The derivative is increasing and is the least of those in which
    only some subset S of the discs counts; its root is therefore the largest of theirs,

        n = max_S (x_N + Σ_S c_k t_k) / (1 + Σ_S c_k²),   or 0 if that is negative.

    >>> project(np.array([[1.0, 2.0, 0.5], [-9.0, 1.0, 1.0]]), np.array([1.0, 1.0]))
    array([[1.5, 1.5, 0.5],
           [0. , 0. , 0. ]])
    """
    t, c = sizes(x), coefficients(mu, x.shape[1])
    discs = range(t.shape[1])
    subsets = chain.from_iterable(combinations(discs, count) for count in range(len(discs) + 1))
    roots = [
        (x[:, 0] + (c * t)[:, s].sum(axis=1)) / (1.0 + (c**2)[:, s].sum(axis=1)) for s in map(list, subsets)
    ]
    normal = np.maximum(np.max(roots, axis=0), 0.0)
    radius = c * normal[:, None]
    shrink = np.where(t > radius, radius / np.where(t > 0.0, t, 1.0), 1.0)
    result = np.empty_like(x)
    result[:, 0] = normal
    for k, part in enumerate(DISCS[x.shape[1]]):
        result[:, part] = shrink[:, k, None] * x[:, part]
    return result


@dataclass(frozen=True, eq=False)
class RollingCone(FrictionCone):
    """Cone of contacts that resist sliding, rolling and spinning.

    Parameters
    ----------
    mu : array (n,)
        Coefficients of friction, finite and ≥ 0.
    d : 3 or 6
        Components per contact: (N, T, R) in the plane, (N, T_1, T_2, S, R_1, R_2) in space.

    Examples
    --------
    >>> cone = RollingCone(np.array([0.5]), d=3)
    >>> cone.contains(np.array([[2.0, 1.0, -2.0]]))
    array([ True])
    """

    mu: Array
    d: int

    def __post_init__(self) -> None:
        if self.d not in DISCS:
            raise ProblemError(f"a rolling contact has d = 3 or 6 components, got d = {self.d}")

    def project(self, x: Array) -> Array:
        """Nearest point: the function :func:`project`."""
        require_contacts(x, len(self.mu), self.d)
        return project(x, self.mu)

    def jacobian(self, x: Array) -> Array:
        """Derivative of the projection, (n, d, d), from the discs that are active at x.

        With s_k = x_k/t_k along the parts that are cut and n = (x_N + Σ c_k t_k)/(1 + Σ c_k²) the normal
        part, dn = (e_N + Σ c_k s_k)/(1 + Σ c_k²) and d(c_k n s_k) = c_k s_k dnᵀ + (c_k n/t_k)(I − s_k s_kᵀ);
        the other parts have the identity. Zero where n = 0.
        """
        require_contacts(x, len(self.mu), self.d)
        t, c = sizes(x), coefficients(self.mu, self.d)
        n = project(x, self.mu)[:, 0]
        cut = t > c * n[:, None]
        inside = np.where(t > 0.0, t, 1.0)
        slope = np.zeros_like(x)  # dn
        slope[:, 0] = 1.0
        result = np.tile(np.eye(self.d), (len(x), 1, 1))
        for k, part in enumerate(DISCS[self.d]):
            slope[:, part] = np.where(cut[:, k, None], c[:, k, None] * x[:, part] / inside[:, k, None], 0.0)
        slope /= 1.0 + np.sum(np.where(cut, c**2, 0.0), axis=1)[:, None]
        result[:, 0] = slope
        for k, part in enumerate(DISCS[self.d]):
            along = x[:, part] / inside[:, k, None]
            block = c[:, k, None, None] * along[:, :, None] * slope[:, None, :]
            across = np.eye(along.shape[1]) - along[:, :, None] * along[:, None, :]
            block[:, :, part] += (c[:, k] * n / inside[:, k])[:, None, None] * across
            result[:, part] = np.where(cut[:, k, None, None], block, result[:, part])
        return np.where((n > 0.0)[:, None, None], result, 0.0)

    def dual(self) -> Cone:
        """Dual cone, {x_N ≥ mu |x_T| + Σ |p|}: through Moreau's decomposition."""
        return DualCone(self)

    def shift(self, u: Array) -> Array:
        """De Saxcé's shift mu |u_T| + Σ |u_p|."""
        return np.asarray(np.sum(coefficients(self.mu, self.d) * sizes(u), axis=1))

    def violation(self, u: Array, x: Array) -> Array:
        """Velocity by which each part of the law is violated: a slider for each part."""
        result = np.empty_like(x)
        result[:, 0] = np.minimum(u[:, 0], x[:, 0])
        radii = coefficients(self.mu, self.d) * np.maximum(x[:, :1], 0.0)
        for k, part in enumerate(DISCS[self.d]):
            result[:, part] = disc_violation(u[:, part], x[:, part], radii[:, k])
        return result
