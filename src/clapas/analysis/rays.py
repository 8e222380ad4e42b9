"""The room that spheres (or disks) fill in a box, by rays along the last axis.

The length of a ray inside a sphere is a formula, and lengths that overlap count once: what is left to sample
is where rays are, across. Spheres that the box cuts along one axis at most have exact volumes, so that only
the difference between the union and their sum is sampled: overlaps, and the spheres at edges and corners.

Rays are at the points of a sequence without a period of its own (golden ratio, and its kin in the plane),
moved several times at random: a raster would fall in step with grains on a lattice, and the spread between
the moves tells the error.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats
from scipy.spatial import cKDTree

from clapas.typing import Array

MOVES = 8
ROUNDING = 1e-9  # of a radius
STEPS = {1: (0.6180339887498949,), 2: (0.7548776662466927, 0.5698402909980532)}  # 1/g, 1/g²: g = 1 + 1/g^k


def filled_by_spheres(
    centre: Array, radius: Array, low: Array, high: Array, rays: int
) -> tuple[float, float]:
    """Share of a box that the union of spheres fills, and half the width of its 95 % interval.

    Parameters
    ----------
    centre, radius : arrays (n, d), (n,)
        The spheres, all images included (m).
    low, high : arrays (d,)
        Corners of the box (m).
    rays : int
        How many there are in each of the eight moves.

    Examples
    --------
    A sphere in its cube:

    >>> share, error = filled_by_spheres(np.zeros((1, 3)), np.ones(1), -np.ones(3), np.ones(3), 100)
    >>> round(share * 6 / math.pi, 12), round(error, 12)
    (1.0, 0.0)
    """
    size = high - low
    reach = (1.0 - ROUNDING) * radius[:, None]  # a sphere that touches a face is not cut by it
    near = np.all((centre + reach > low) & (centre - reach < high), axis=1)
    centre, radius, reach = centre[near] - low, radius[near], reach[near]
    if len(radius) == 0:
        return 0.0, 0.0
    cut = (centre - reach < 0.0) | (centre + reach > size)
    is_exact = cut.sum(axis=1) <= 1
    exact = _clipped(centre[is_exact], radius[is_exact], cut[is_exact], size).sum() / size.prod()
    tree = cKDTree(centre[:, :-1])
    rng, steps = np.random.default_rng(0), np.array(STEPS[len(size) - 1])
    moves = [(rng.random(len(steps)) + np.outer(np.arange(rays), steps)) % 1.0 for _ in range(MOVES)]
    rest = np.array([_remainder(tree, centre, radius, is_exact, size, at) for at in moves])
    width = float(stats.t.ppf(0.975, MOVES - 1)) * float(rest.std(ddof=1)) / math.sqrt(MOVES)
    return float(exact + rest.mean()), width


def _clipped(centre: Array, radius: Array, cut: Array, size: Array) -> Array:
    """Volumes (areas) of spheres (disks) between the two faces of the axis along which each is cut."""
    axis = cut.argmax(axis=1)
    at = centre[np.arange(len(centre)), axis]
    begin = np.maximum(-at / radius, -1.0)
    end = np.minimum((size[axis] - at) / radius, 1.0)

    def primitive(t: Array) -> Array:
        if len(size) == 3:
            return np.asarray(math.pi * (t - t**3 / 3.0))
        return np.asarray(t * np.sqrt(1.0 - t**2) + np.arcsin(t))

    return np.asarray(radius ** len(size) * (primitive(end) - primitive(begin)))


def _remainder(tree: cKDTree, centre: Array, radius: Array, is_exact: Array, size: Array, at: Array) -> float:
    """Mean share of rays in the union of all spheres, less the sum of those in spheres that are exact."""
    found = tree.query_ball_point(at * size[:-1], radius.max(), return_sorted=False)
    sphere = np.concatenate([np.asarray(each, dtype=np.int64) for each in found])
    ray = np.repeat(np.arange(len(at)), [len(each) for each in found])
    square = radius[sphere] ** 2 - ((centre[sphere, :-1] - at[ray] * size[:-1]) ** 2).sum(axis=1)
    sphere, ray, half = sphere[square > 0.0], ray[square > 0.0], np.sqrt(square[square > 0.0])
    length = float(size[-1])
    begin, end = (np.clip(centre[sphere, -1] + side * half, 0.0, length) for side in (-1.0, 1.0))
    counted = float((end - begin)[is_exact[sphere]].sum())
    # One ray after another on a line, so that one sweep finds all unions.
    order = np.lexsort((begin, ray))
    start = 2.0 * length * ray[order]
    begin, end = begin[order] + start, end[order] + start
    reached = np.concatenate(([-1.0], np.maximum.accumulate(end)[:-1])) if len(end) else end
    union = float(np.maximum(end - np.maximum(begin, reached), 0.0).sum())
    return (union - counted) / (length * len(at))
