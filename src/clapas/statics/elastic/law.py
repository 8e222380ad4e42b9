"""Contact and friction as a projection of augmented forces, with its derivatives and regions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.bodies.elastic.contact import ContactRows
from clapas.solvers.newton.augmentation import Augmentation
from clapas.solvers.newton.maps import Regions
from clapas.typing import Array, Indices


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
    n, d = r.shape
    x = r[:, 0] - rho.normal * rows.gap
    y = r[:, 1:] - rho.tangent[:, None] * rows.slip
    closed = x > 0.0
    radius = mu * np.where(closed, x, 0.0)
    length = np.linalg.norm(y, axis=1)
    slips = closed & (length > radius)
    sticks = closed & ~slips
    unit = y / np.where(length > 0.0, length, 1.0)[:, None]
    p = np.zeros((n, d))
    p[closed, 0] = x[closed]
    p[sticks, 1:] = y[sticks]
    p[slips, 1:] = (radius[:, None] * unit)[slips]
    by_r = np.zeros((n, d, d))
    by_r[closed, 0, 0] = 1.0
    turn = np.zeros((n, d - 1, d - 1))  # ∂p_T/∂y
    turn[sticks] = np.eye(d - 1)
    across = np.eye(d - 1) - unit[:, :, None] * unit[:, None, :]
    ratio = radius / np.where(length > 0.0, length, 1.0)
    turn[slips] = (ratio[:, None, None] * across)[slips]
    by_r[:, 1:, 1:] = turn
    by_r[slips, 1:, 0] = (mu[:, None] * unit)[slips]
    scale = np.concatenate((rho.normal[:, None], np.repeat(rho.tangent[:, None], d - 1, axis=1)), axis=1)
    by_u = -by_r @ (scale[:, :, None] * gradient)
    direction = np.where(unit[:, 0] < 0.0, 3, 2) if d == 2 else 2 + _sector(unit)
    region = np.where(slips, direction, sticks.astype(int))
    return Law(p, by_r, by_u, region.astype(np.int8))


def _sector(unit: Array) -> Indices:
    """Eighth of the circle in which a direction (n, 2) lies."""
    return np.asarray(((np.arctan2(unit[:, 1], unit[:, 0]) / (0.25 * np.pi)) % 8).astype(int))
