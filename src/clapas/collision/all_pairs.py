"""Candidate pairs of a small scene in NumPy, which saves compiling the grid.

The pairs are those of :mod:`grid` and some more, as bounding boxes are not tested. No direction may be periodic.
"""

from __future__ import annotations

import numpy as np

from clapas.collision.grid import Rules
from clapas.collision.records import PAIR, PLANE, Records, Shapes, float_view
from clapas.typing import Indices, Mask


def all_near_pairs(shapes: Shapes, rules: Rules, reach: float) -> Records:
    """Pairs of colliders within ``reach`` by their bounding spheres."""
    i, j = np.triu_indices(len(shapes.pieces), 1)
    body, kind = shapes.pieces["body"], shapes.pieces["kind"]
    a, b = body[i].astype(np.int64), body[j].astype(np.int64)
    allowed = (a != b) & (rules.movable[a] | rules.movable[b])
    allowed &= ~np.isin(a * len(rules.movable) + b, rules.excluded)
    allowed &= (kind[i] != PLANE) | (kind[j] != PLANE)
    i, j = i[allowed], j[allowed]
    near = _near_planes(shapes, i, j, reach) & _near_planes(shapes, j, i, reach)
    near &= _near_spheres(shapes, i, j, reach)
    pairs = np.zeros(np.count_nonzero(near), dtype=PAIR)
    pairs["i"], pairs["j"] = i[near], j[near]
    return pairs


def _near_spheres(shapes: Shapes, i: Indices, j: Indices, reach: float) -> Mask:
    centres, bound = float_view(shapes.centres, "x", "y", "z"), shapes.pieces["bound"]
    with np.errstate(over="ignore"):  # infinitely far: not near
        away = np.linalg.norm(centres[j] - centres[i], axis=1)
    return np.asarray(away <= bound[i] + bound[j] + reach)


def _near_planes(shapes: Shapes, i: Indices, j: Indices, reach: float) -> Mask:
    """True where i is not a plane, or j is within ``reach`` of it."""
    centres, bound = float_view(shapes.centres, "x", "y", "z"), shapes.pieces["bound"]
    near = np.ones(len(i), dtype=bool)
    rows = np.flatnonzero(shapes.pieces["kind"][i] == PLANE)
    normals = float_view(shapes.faces, "x", "y", "z")[shapes.pieces["face"][i[rows]]]
    height = np.sum(normals * (centres[j[rows]] - centres[i[rows]]), axis=1)
    near[rows] = height - bound[j[rows]] <= reach
    return near
