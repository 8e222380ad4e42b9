"""Edges of the cones of a domain: the velocities and impulses allowed at a contact, as nonnegative sums.

In the plane the cones are polyhedral. In space a cone over an arc of directions is replaced by a polyhedral
one around it, which touches it along the impulses opposite to some directions, the *tangents*: what is
impossible in the larger cone is impossible in the true one, and the smaller the arc the closer they are.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from clapas.solvers.branch_and_bound.checker import Domain, signs
from clapas.typing import Array, Mask

TANGENTS = tuple(0.25 * math.pi * k for k in range(8))  # of the whole cone K, initially


def velocities(domain: Domain, mu: float, d: int) -> tuple[Array, Mask]:
    """Edges (k, d) of the cone of velocities, and the mask of components that are free in addition."""
    free = np.zeros(d, dtype=bool)
    normal = np.eye(d)[:1] if domain.opens else np.zeros((0, d))
    wide = domain.arc is not None and domain.arc[1] - domain.arc[0] >= math.pi
    free[1:] = domain.opens or mu == 0.0 or wide
    if domain.arc is None or free[1]:
        return normal, free
    slides = np.array([[0.0, *along] for along in _directions(domain.arc, d)])
    return np.concatenate((normal, slides)), free


def impulses(domain: Domain, mu: float, d: int, tangents: tuple[float, ...] = TANGENTS) -> Array:
    """Edges (k, d) of a cone around that of impulses; ``tangents`` (in order) are those of K in space."""
    if not domain.sticks and domain.arc is None:
        return np.zeros((0, d))
    if mu == 0.0:
        return np.eye(d)[:1]
    if d == 2:
        slips = [(1.0,), (-1.0,)] if domain.sticks or domain.arc is None else _directions(domain.arc, 2)
    elif domain.sticks or domain.arc is None or domain.arc[1] - domain.arc[0] > 0.5 * math.pi:
        slips = _corners((*tangents, tangents[0] + 2.0 * math.pi))
    else:
        low, high = domain.arc
        slips = [*_directions(domain.arc, 3), *_corners((low, 0.5 * (low + high), high))]
    return np.array([[1.0, *(-mu * part for part in along)] for along in slips]) / max(1.0, mu)


def _directions(arc: tuple[float, float], d: int) -> list[tuple[float, ...]]:
    """The two ends of an arc; in the plane the directions it contains."""
    if d == 2:
        return [(sign,) for sign in signs(arc)]
    return [(math.cos(angle), math.sin(angle)) for angle in sorted(set(arc))]


def _corners(tangents: tuple[float, ...]) -> list[tuple[float, ...]]:
    """Intersections of the tangents of the unit circle at successive angles."""
    corners: list[tuple[float, ...]] = []
    for low, high in pairwise(tangents):
        middle, far = 0.5 * (low + high), 1.0 / math.cos(0.5 * (high - low))
        corners.append((far * math.cos(middle), far * math.sin(middle)))
    return corners
