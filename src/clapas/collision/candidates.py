"""The pairs worth a closer look, kept from step to step.

The list holds every pair nearer than ``distance`` + skin. As long as no point of any body has gone further than
half the skin since the list was made, a pair that is not in it is further apart than ``distance``: the
list holds every contact and can be used again. What is *found* never depends on the age of the list.

The list is sorted by pair when it is made, so that contacts come out sorted.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from clapas.collision.grid import Rules, boxes_around, filled_grid, levels_of, near_pairs, pairs_with_planes
from clapas.collision.placing import Frames, blank_frames, largest_motion
from clapas.collision.records import PAIR, PLANE, Records, Shapes
from clapas.compiled import kernel
from clapas.geometry.colliders import Kind
from clapas.typing import Array, Indices

SKIN = 0.2  # of the median bound


class Group(IntEnum):
    """Pairs that one kernel treats."""

    SPHERES = 0
    PLANES = 1
    SPHERE_SOLID = 2
    SEGMENTS = 3
    SOLIDS = 4
    CYLINDERS = 5
    POLYGONS = 6


def group_table(d: int) -> Indices:
    """Group of two kinds of colliders."""
    table = np.full((len(Kind), len(Kind)), Group.SOLIDS if d == 3 else Group.POLYGONS, dtype=np.int64)
    table[Kind.CAPSULE, Kind.CAPSULE] = Group.SEGMENTS
    table[Kind.CYLINDER, :] = table[:, Kind.CYLINDER] = Group.CYLINDERS
    table[Kind.SPHERE, :] = table[:, Kind.SPHERE] = Group.SPHERE_SOLID
    table[Kind.SPHERE, Kind.SPHERE] = Group.SPHERES
    table[Kind.PLANE, :] = table[:, Kind.PLANE] = Group.PLANES
    return table


def default_skin(pieces: Records, rules: Rules) -> float:
    """A fifth of the median bound of what can move (m).

    Wider, and each step looks at more pairs in vain; narrower, and the list is made more often.
    """
    free = rules.movable[pieces["body"]] & (pieces["kind"] != PLANE)
    return SKIN * float(np.median(pieces["bound"][free])) if free.any() else 0.0


class Candidates:
    """Pairs of colliders near each other, sorted by bodies, with the rows of each group.

    Parameters
    ----------
    shapes : Shapes
        The colliders.
    rules : Rules
        Who may meet whom.
    reach_of_bodies : array (n_bodies,)
        Largest distance from the centre of each body to a point that its turning displaces (m).
    d : 2 or 3
        Dimension.
    skin : float
        How much further than asked the list looks (m).
    """

    def __init__(self, shapes: Shapes, rules: Rules, reach_of_bodies: Array, d: int, skin: float) -> None:
        self._shapes, self._rules, self._d = shapes, rules, d
        self._levels = levels_of(shapes.pieces, rules.movable)
        self._reach_of_bodies = reach_of_bodies
        self._has_planes = bool((shapes.pieces["kind"] == PLANE).any())
        self._before = blank_frames(len(rules.movable))
        self._groups, self._kind = group_table(d), np.ascontiguousarray(shapes.pieces["kind"])
        self._body = np.ascontiguousarray(shapes.pieces["body"])
        self._reach = -1.0
        self._room = 8 * len(shapes.pieces) + 64
        self.skin = skin
        self.wraps = np.zeros((len(rules.movable), 2), dtype=np.int64)
        self.pairs: Records = np.empty(0, dtype=PAIR)
        self.rows: dict[Group, Indices] = {}
        self.n_made = 0

    def update(self, frames: Frames, distance: float) -> None:
        """Make the list again if it may miss a pair within ``distance``."""
        if self._reach >= 0.0:
            motion = largest_motion(
                frames, self._before, self._d, self._reach_of_bodies, self._rules.period, self.wraps
            )
            if distance + 2.0 * motion <= self._reach:
                return
        self._make(distance + self.skin)
        self._before.position[:] = frames.position
        self._before.orientation[:] = frames.orientation
        self.wraps[:] = 0

    def _make(self, reach: float) -> None:
        self.pairs = sorted_pairs(self._search(reach), self._body, len(self._rules.movable))
        group = self._groups[self._kind[self.pairs["i"]], self._kind[self.pairs["j"]]]
        self.rows = {Group(int(g)): np.flatnonzero(group == g) for g in np.flatnonzero(np.bincount(group))}
        self._reach = reach
        self.n_made += 1

    def _search(self, reach: float) -> Records:
        shapes, levels, rules = self._shapes, self._levels, self._rules
        boxes = np.empty((len(shapes.pieces), 6))
        boxes_around(shapes, boxes)
        grid = filled_grid(shapes, levels, rules, reach)
        while True:
            pairs = np.empty(self._room, dtype=PAIR)
            count = near_pairs(shapes, boxes, levels, rules, grid, self._d, reach, pairs)
            if self._has_planes:
                count = pairs_with_planes(shapes, rules, reach, count, pairs)
            if count <= self._room:
                return pairs[:count]
            self._room = count + count // 4


def sorted_pairs(pairs: Records, body: Indices, n_bodies: int) -> Records:
    """Pairs by bodies, then colliders, then image.

    Each counting sort keeps the order of the one before, so the last digit is sorted first. With one
    collider per body, bodies need no pass of their own.
    """
    i, j = np.ascontiguousarray(pairs["i"]), np.ascontiguousarray(pairs["j"])
    order: Indices = np.arange(len(pairs))
    if pairs["image_x"].any() or pairs["image_y"].any():
        order = np.lexsort((pairs["image_y"], pairs["image_x"]))
    digits = [(j, len(body)), (i, len(body))]
    if np.any(np.diff(body) == 0):
        digits += [(body[j], n_bodies), (body[i], n_bodies)]
    for digit, base in digits:
        order = counting_sort(digit, order, base)
    return pairs[order]


@kernel
def counting_sort(digit: Indices, order: Indices, base: int) -> Indices:
    """Sort ``order`` by the digits of its entries, equal ones in the order they came."""
    start = np.zeros(base + 1, dtype=np.int64)
    for k in range(len(order)):
        start[digit[order[k]] + 1] += 1
    for k in range(base):
        start[k + 1] += start[k]
    result = np.empty_like(order)
    for k in range(len(order)):
        d = digit[order[k]]
        result[start[d]] = order[k]
        start[d] += 1
    return result
