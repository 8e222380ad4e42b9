"""Contact and friction as a projection of augmented forces, with its derivatives and regions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.bodies.elastic.contact import ContactRows
from clapas.compiled import inlined, kernel
from clapas.solvers.newton.augmentation import Augmentation
from clapas.solvers.newton.maps import Regions
from clapas.typing import Array


class Law(NamedTuple):
    """The projection p of augmented forces, its derivatives, and the region of each contact."""

    p: Array  # (n, d)
    by_r: Array  # (n, d, d)
    by_u: Array  # (n, d, m)
    region: Regions  # (n,) 0 open, 1 stick, 2 and more slip


def project(rows: ContactRows, gradient: Array, r: Array, mu: Array, rho: Augmentation) -> Law:
    """The projection p(u, r) of the augmented forces at all contacts, with its derivatives.

    ``gradient`` (n, d, m) is the derivative of (gap, slip) by the displacements.
    """
    n, d, m = gradient.shape
    p, by_r, by_u = np.zeros((n, d)), np.zeros((n, d, d)), np.zeros((n, d, m))
    region = np.zeros(n, dtype=np.int8)
    moved = np.column_stack((rows.gap, rows.slip))
    _project(moved, gradient, r, mu, rho.normal, rho.tangent, p, by_r, by_u, region)
    return Law(p, by_r, by_u, region)


@kernel
def _project(
    moved: Array,
    gradient: Array,
    r: Array,
    mu: Array,
    normal: Array,
    tangent: Array,
    p: Array,
    by_r: Array,
    by_u: Array,
    region: Regions,
) -> None:
    """Evaluate the law contact by contact; entries of open contacts stay zero."""
    n, d, m = gradient.shape
    unit = np.empty(d - 1)
    for i in range(n):
        x = r[i, 0] - normal[i] * moved[i, 0]
        if not x > 0.0:
            continue
        square = 0.0
        for a in range(1, d):
            unit[a - 1] = r[i, a] - tangent[i] * moved[i, a]
            square += unit[a - 1] ** 2
        length, radius = np.sqrt(square), mu[i] * x
        slips = length > radius
        p[i, 0], by_r[i, 0, 0] = x, 1.0
        for a in range(1, d):
            if not slips:
                p[i, a], by_r[i, a, a] = unit[a - 1], 1.0
                continue
            unit[a - 1] /= length
            p[i, a] = radius * unit[a - 1]
            by_r[i, a, 0] = mu[i] * unit[a - 1]
        region[i] = 1
        if slips:
            region[i] = 2 + _sector(unit)
            for a in range(1, d):
                for b in range(1, d):  # rotation of p_T with its direction
                    across = (1.0 if a == b else 0.0) - unit[a - 1] * unit[b - 1]
                    by_r[i, a, b] = radius / length * across
        for a in range(d):
            for b in range(d):
                slope = -by_r[i, a, b] * (normal[i] if b == 0 else tangent[i])
                for k in range(m):
                    by_u[i, a, k] += slope * gradient[i, b, k]


@inlined
def _sector(unit: Array) -> int:
    """Side of the line, or eighth of the circle, in which a direction of slip lies."""
    if len(unit) == 1:
        return 1 if unit[0] < 0.0 else 0
    return int(np.floor(np.arctan2(unit[1], unit[0]) / (0.25 * np.pi))) % 8
