"""The cone of a contact that also carries a couple: several discs whose radii grow with r_N.

    K = {r : |r_T| ≤ mu r_N,  |p| ≤ r_N for each part p of the couple}

Components are normal, tangents, then the couple divided by its lengths, so that all are impulses:
(N, T, R) in the plane, (N, T_1, T_2, S, R_1, R_2) in space, with S for spin about the normal and R for
rolling. The discs share r_N, hence K is no product; without couples it is the cone of Coulomb's law.
"""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np

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

    With t_k the size of part k and c_k its coefficient, the normal component n of the answer minimises
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
