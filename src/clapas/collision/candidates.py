"""List of candidate pairs, kept from step to step (a Verlet list).

The list holds every pair nearer than ``distance`` + skin. As long as no point of any body has moved further than
half the skin since the list was built, a pair that is not in it is further apart than ``distance``: the
list holds every contact and can be used again. The contacts never depend on the age of the list.

Building the list costs about as much as using it ten times. Where bodies move so fast that lists last only a
few steps, the skin grows, up to four times; where they last long it shrinks again.

The list is sorted by pair when it is built, so that contacts come out sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.collision.all_pairs import all_near_pairs
from clapas.collision.contact_table import Pairs
from clapas.collision.grid import Rules, boxes_around, filled_grid, levels_of, near_pairs, pairs_with_planes
from clapas.collision.narrow.solids import UNKNOWN
from clapas.collision.pair_kernels import Group, group_table
from clapas.collision.records import FEW, PAIR, PLANE, Records, Shapes
from clapas.collision.transforms import Frames, largest_motion
from clapas.compiled import bound
from clapas.compiled.sorting import counting_sort
from clapas.typing import Array, Indices

SKIN = 0.2  # of the median bound
FEW_USES, MANY_USES = (
    12,
    48,
)  # of a list before the next: below the first the skin grows, above the second it shrinks
SKIN_FACTOR, WIDEST = 1.5, 4.0  # of one change of the skin; of the widest skin relative to the first
FEW_PAIRS = 2000  # up to this many are sorted by NumPy


def default_skin(pieces: Records, rules: Rules) -> float:
    """Default skin: a fifth of the median bound of the movable colliders (m).

    A wider skin tests more pairs in vain at each step; a narrower one rebuilds the list more often.
    """
    free = rules.movable[pieces["body"]] & (pieces["kind"] != PLANE)
    return SKIN * float(np.median(pieces["bound"][free])) if free.any() else 0.0


class Candidates:
    """Pairs of colliders near each other, sorted by bodies, and the row numbers of each group of pairs.

    Parameters
    ----------
    shapes : Shapes
        The colliders.
    rules : Rules
        Which bodies may touch.
    reach_of_bodies : array (n_bodies,)
        Largest distance from the centre of each body to a point that its rotation displaces (m).
    d : 2 or 3
        Dimension.
    skin : float
        Margin added to the search distance, at the least (m).
    stretch : float
        Times this margin is the one of the first list, 1 to 4 (see :attr:`next_stretch`).
    """

    def __init__(
        self,
        shapes: Shapes,
        rules: Rules,
        reach_of_bodies: Array,
        d: int,
        skin: float,
        stretch: float = 1.0,
    ) -> None:
        n = len(rules.movable)
        self._shapes, self._rules, self._d = shapes, rules, d
        self._levels = levels_of(shapes.pieces, rules.movable)
        self._reach_of_bodies = reach_of_bodies
        self._is_small = len(shapes.pieces) <= FEW and not rules.period.any()
        self._has_planes = bool((shapes.pieces["kind"] == PLANE).any())
        turning = int(np.flatnonzero(reach_of_bodies)[-1]) + 1 if reach_of_bodies.any() else 0
        self._reference = Frames(np.empty((n, 3)), np.empty((turning, 4)))
        self._groups = group_table(d)
        self._reach, self._uses = -1.0, 0
        # Not with a period: a wider skin could list the same pair of images twice.
        self._widest = skin if self._is_small or rules.period.any() else WIDEST * skin
        self._narrowest = skin
        self._motion_kernel: Any = None
        self._most = 0  # pairs found so far in one search
        self.skin = min(stretch * skin, self._widest)
        self.wraps = np.zeros((n if rules.period.any() else 0, 2), dtype=np.int32)
        self.pairs: Records = np.empty(0, dtype=PAIR)
        self.rows: dict[Group, Indices] = {}
        self.separated: Indices = np.empty(0, dtype=np.int64)
        self.n_made = 0

    def update(self, frames: Frames, distance: float) -> None:
        """Rebuild the list if it may lack a pair within ``distance``."""
        if self._reach >= 0.0 and distance + 2.0 * self._motion(frames) <= self._reach:
            self._uses += 1
            return
        if self.n_made:
            self.skin = self._adapted_skin()
        self._build(distance + self.skin)
        self._uses = 1
        self._reference.position[:] = frames.position
        self._reference.orientation[:] = frames.orientation[: len(self._reference.orientation)]
        self.wraps[:] = 0

    @property
    def next_stretch(self) -> float:
        """Stretch of the first list of a detector that takes over, of mostly the same bodies."""
        skin = self._adapted_skin() if self.n_made else self.skin
        return skin / self._narrowest if self._narrowest else 1.0

    def with_images(self) -> Pairs:
        """The list, with the data that determine the periodic images of its pairs."""
        period = self._rules.period
        return Pairs(self.pairs, self.wraps, period, bool(period.any()))

    def _adapted_skin(self) -> float:
        """Skin of the next list, from the number of uses of the last one (m)."""
        if self._uses < FEW_USES:
            return min(SKIN_FACTOR * self.skin, self._widest)
        return max(self.skin / SKIN_FACTOR, self._narrowest) if self._uses > MANY_USES else self.skin

    def _motion(self, frames: Frames) -> float:
        """Upper bound on the motion of any point since the list was built (m)."""
        reference, reach, period = self._reference, self._reach_of_bodies, self._rules.period
        arguments = frames, reference, self._d, reach, period, self.wraps
        self._motion_kernel = self._motion_kernel or bound(largest_motion, *arguments)
        return float(self._motion_kernel(*arguments))

    def _build(self, reach: float) -> None:
        pieces = self._shapes.pieces
        self.pairs = sorted_pairs(self._search(reach), pieces["body"], len(self._rules.movable))
        group = self._groups[pieces["kind"][self.pairs["i"]], pieces["kind"][self.pairs["j"]]]
        present = [Group(int(g)) for g in np.flatnonzero(np.bincount(group))]
        self.rows = {g: np.flatnonzero(group == g).astype(np.int32) for g in present}
        self.separated = np.full(len(self.pairs) if Group.SOLIDS in present else 0, UNKNOWN, dtype=np.int64)
        self._reach = reach
        self.n_made += 1

    def _search(self, reach: float) -> Records:
        shapes, levels, rules = self._shapes, self._levels, self._rules
        if self._is_small:
            return all_near_pairs(shapes, rules, reach)
        boxes = np.empty((len(shapes.pieces) if len(shapes.vertices) else 0, 6))
        boxes_around(shapes, boxes)
        grid = filled_grid(shapes, levels, rules, reach)
        stretch = self.skin / self._narrowest if self._narrowest else 1.0
        # A dense packing has fewer; what is not written takes no memory, a second search takes as long as the first.
        capacity = max(int((3.0 + stretch) * len(shapes.pieces)) + 64, self._most + self._most // 4)
        while True:
            pairs = np.empty(capacity, dtype=PAIR)
            count = near_pairs(shapes, boxes, levels, rules, grid, self._d, reach, pairs)
            if self._has_planes:
                count = pairs_with_planes(shapes, rules, reach, count, pairs)
            self._most = max(self._most, count)
            if count <= capacity:
                return pairs[:count]
            capacity = count


def sorted_pairs(pairs: Records, body: Indices, n_bodies: int) -> Records:
    """Pairs sorted by bodies, then colliders, then image.

    Counting sort is stable, so the least significant key is sorted first. With one collider per body, the
    passes by body are skipped.
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
