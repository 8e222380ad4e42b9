"""The pairs worth a closer look, kept from step to step.

The list holds every pair nearer than ``distance`` + skin. As long as no point of any body has gone further than
half the skin since the list was made, a pair that is not in it is further apart than ``distance``: the
list holds every contact and can be used again. What is *found* never depends on the age of the list.

Making the list costs as much as some ten looks at its pairs. Where something moves so fast that lists last only a
few steps, the skin grows, up to four times; where they last long it shrinks again.

The list is sorted by pair when it is made, so that contacts come out sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.collision.all_pairs import pairs_of_few
from clapas.collision.grid import Rules, boxes_around, filled_grid, levels_of, near_pairs, pairs_with_planes
from clapas.collision.narrow.solids import UNKNOWN
from clapas.collision.pair_kernels import Group, group_table
from clapas.collision.records import FEW, PAIR, PLANE, Records, Shapes
from clapas.collision.transforms import Frames, largest_motion
from clapas.compiled import bound
from clapas.compiled.sorting import counting_sort
from clapas.typing import Array, Indices

SKIN = 0.2  # of the median bound
OFTEN, SELDOM = 12, 48  # looks at a list: made after fewer, the skin grows, after more it shrinks
STEP, WIDEST = 1.5, 4.0  # by which factor, and how far beyond where it began
FEW_PAIRS = 2000  # sorted by NumPy


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
        n = len(rules.movable)
        self._shapes, self._rules, self._d = shapes, rules, d
        self._levels = levels_of(shapes.pieces, rules.movable)
        self._reach_of_bodies = reach_of_bodies
        self._are_few = len(shapes.pieces) <= FEW and not rules.period.any()
        self._has_planes = bool((shapes.pieces["kind"] == PLANE).any())
        turning = int(np.flatnonzero(reach_of_bodies)[-1]) + 1 if reach_of_bodies.any() else 0
        self._before = Frames(np.empty((n, 3)), np.empty((turning, 4)))
        self._groups = group_table(d)
        self._reach, self._looks = -1.0, 0
        # With a period what is near depends on images, which a wider skin would meet twice.
        self._widest = skin if self._are_few or rules.period.any() else WIDEST * skin
        self._narrowest = skin
        self._measure: Any = None
        self._room = 4 * len(shapes.pieces) + 64
        self.skin = skin
        self.wraps = np.zeros((n if rules.period.any() else 0, 2), dtype=np.int32)
        self.pairs: Records = np.empty(0, dtype=PAIR)
        self.rows: dict[Group, Indices] = {}
        self.separated: Indices = np.empty(0, dtype=np.int64)
        self.n_made = 0

    def update(self, frames: Frames, distance: float) -> None:
        """Make the list again if it may miss a pair within ``distance``."""
        if self._reach >= 0.0 and distance + 2.0 * self._motion(frames) <= self._reach:
            self._looks += 1
            return
        if self.n_made:
            self.skin = self._suited_skin()
        self._make(distance + self.skin)
        self._looks = 1
        self._before.position[:] = frames.position
        self._before.orientation[:] = frames.orientation[: len(self._before.orientation)]
        self.wraps[:] = 0

    def _suited_skin(self) -> float:
        """A skin with which the next list should last neither too short nor too long (m)."""
        if self._looks < OFTEN:
            return min(STEP * self.skin, self._widest)
        return max(self.skin / STEP, self._narrowest) if self._looks > SELDOM else self.skin

    def _motion(self, frames: Frames) -> float:
        """Bound on how far any point has gone since the list was made (m)."""
        before, reach, period = self._before, self._reach_of_bodies, self._rules.period
        given = frames, before, self._d, reach, period, self.wraps
        self._measure = self._measure or bound(largest_motion, *given)
        return float(self._measure(*given))

    def _make(self, reach: float) -> None:
        pieces = self._shapes.pieces
        self.pairs = sorted_pairs(self._search(reach), pieces["body"], len(self._rules.movable))
        group = self._groups[pieces["kind"][self.pairs["i"]], pieces["kind"][self.pairs["j"]]]
        there = [Group(int(g)) for g in np.flatnonzero(np.bincount(group))]
        self.rows = {g: np.flatnonzero(group == g).astype(np.int32) for g in there}
        self.separated = np.full(len(self.pairs) if Group.SOLIDS in there else 0, UNKNOWN, dtype=np.int64)
        self._reach = reach
        self.n_made += 1

    def _search(self, reach: float) -> Records:
        shapes, levels, rules = self._shapes, self._levels, self._rules
        if self._are_few:
            return pairs_of_few(shapes, rules, reach)
        boxes = np.empty((len(shapes.pieces) if len(shapes.vertices) else 0, 6))
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
    if len(pairs) <= FEW_PAIRS:
        return pairs[np.lexsort((pairs["image_y"], pairs["image_x"], j, i, body[j], body[i]))]
    order: Indices = np.arange(len(pairs), dtype=np.int32)
    if pairs["image_x"].any() or pairs["image_y"].any():
        order = np.lexsort((pairs["image_y"], pairs["image_x"])).astype(np.int32)
    digits = [(j, len(body)), (i, len(body))]
    if np.any(np.diff(body) == 0):
        digits += [(body[j], n_bodies), (body[i], n_bodies)]
    for digit, base in digits:
        order = counting_sort(digit, order, base)
    return pairs[order]
