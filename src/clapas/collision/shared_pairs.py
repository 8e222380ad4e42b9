"""The pairs of a list, shared by threads: each computes the contacts of a range of pairs, then tables them.

Contacts are sorted by pair. A thread that has consecutive pairs, of all groups, has consecutive rows of the
table: once all have counted their contacts each sorts and writes its own, and nothing is left to merge. Few
pairs are the share of a single thread.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from clapas.collision.candidates import Candidates
from clapas.collision.contact_table import Numbering, Pairs, Table, deliver
from clapas.collision.narrow.touching import touch_pairs
from clapas.collision.pair_kernels import WORK, Group, PairKernels
from clapas.collision.records import ROW, Records, Shapes
from clapas.compiled import WORTH_THREADS, bound
from clapas.compiled.sharing import run_on_threads
from clapas.compiled.threads import Worker, thread_count
from clapas.typing import Indices

KEPT = 4096  # rows of work space that a share keeps from step to step
NO_ROWS: Records = np.empty(0, dtype=ROW)


class Call(NamedTuple):
    """Contacts of the pairs of one group: row numbers of the pairs, pair method, bound kernel."""

    selected: Indices
    method: Any
    touch: Any


class Share:
    """The contacts of a range of pairs, computed by one thread.

    Parameters
    ----------
    pairs : Pairs
        The whole list.
    first, last : int
        The range.
    calls : list of Call
        Its pairs by group.
    shapes : Shapes
        The colliders. Kernels of cylinders move corners while they work: each of several threads then has
        its own.
    room : int
        Contacts to expect.
    """

    def __init__(
        self, pairs: Pairs, first: int, last: int, calls: list[Call], shapes: Shapes, room: int
    ) -> None:
        self._pairs, self._first, self._n_pairs = pairs, first, last - first
        self._calls, self._shapes = calls, shapes
        self._room, self._rows = room, NO_ROWS
        self._deliver: Any = None
        self.count = 0

    def copy_corners_of(self, shapes: Shapes) -> None:
        """Copy corners and normals that have moved, where this share has its own."""
        if shapes is not self._shapes:
            self._shapes.vertices[:] = shapes.vertices
            self._shapes.faces[:] = shapes.faces

    def touch(self, distance: float) -> None:
        """Compute and count the contacts; the work space grows until they fit."""
        while True:
            if len(self._rows) < self._room:
                self._rows = np.empty(self._room, dtype=ROW)
            count, rows = 0, self._rows
            for selected, method, touch in self._calls:
                count = touch(selected, self._pairs, self._shapes, distance, method, rows, count)
            self.count, self._room = count, room_for(count)
            if count <= len(rows):
                return

    def deliver(self, at: int, distance: float, numbering: Numbering, table: Table) -> bool:
        """Copy the contacts to the table from row ``at`` on; return whether features are out of order."""
        if not self.count:
            return False
        starts = np.empty(self._n_pairs + 1, dtype=np.int32)
        found = self._rows, self.count, starts, self._first, at
        arguments = *found, self._pairs, self._shapes, distance, numbering, table
        self._deliver = self._deliver or bound(deliver, *arguments)
        is_unsorted = self._deliver(*arguments)
        if len(self._rows) > KEPT:  # a million grains need the memory for the rest of the step
            self._rows = NO_ROWS
        return bool(is_unsorted)


class SharedPairs:
    """The contacts of the pairs of a list, by as many threads as pay.

    Parameters
    ----------
    shapes : Shapes
        The colliders.
    numbering : Numbering
        That of the features.
    d : 2 or 3
        Dimension.
    radix : int
        Base of the feature numbers.
    """

    def __init__(self, shapes: Shapes, numbering: Numbering, d: int, radix: int) -> None:
        self._shapes, self._numbering, self._d, self._radix = shapes, numbering, d, radix
        self.pair_kernels: list[PairKernels] = []
        self._list_number, self._work, self._n_pairs = 0, 0, 0
        self._shares: list[Share] = []
        self._filled = 0.5  # contacts found per pair of the last list

    def of(self, candidates: Candidates) -> SharedPairs:
        """These pairs, shared anew if the list or the number of threads has changed."""
        is_new = self._list_number != candidates.n_made
        if is_new:
            self._list_number, self._n_pairs = candidates.n_made, len(candidates.pairs)
            self._work = int(sum(WORK.get(group, 1.0) * len(rows) for group, rows in candidates.rows.items()))
        n = 1 if self._work < WORTH_THREADS else thread_count(None, self._work, self._n_pairs)
        if is_new or n != len(self._shares):
            self._shares = self._shared(candidates, n)
        return self

    def touch(self, distance: float) -> int:
        """Compute the contacts with gap ≤ ``distance`` (m); return their number."""
        shares = self._shares
        for share in shares:
            share.copy_corners_of(self._shapes)
        if len(shares) == 1:
            shares[0].touch(distance)
        else:
            run_on_threads(len(shares), lambda worker: shares[worker.rank].touch(distance))
        count = sum(share.count for share in shares)
        self._filled = count / max(1, self._n_pairs)
        return count

    def deliver(self, distance: float, table: Table) -> bool:
        """Write the contacts to the table; return whether features of the same bodies are out of order."""
        shares, numbering = self._shares, self._numbering
        if len(shares) == 1:
            return shares[0].deliver(0, distance, numbering, table)
        starts = list(accumulate((share.count for share in shares), initial=0))
        unsorted = [False] * len(shares)

        def deliver_share(worker: Worker) -> None:
            k = worker.rank
            unsorted[k] = shares[k].deliver(starts[k], distance, numbering, table)

        run_on_threads(len(shares), deliver_share)
        borders = (start for start in starts[1:-1] if 0 < start < starts[-1])
        return any(unsorted) or any(_falls(table.identity, start) for start in borders)

    def _shared(self, candidates: Candidates, n: int) -> list[Share]:
        """The pairs in n ranges of equal work."""
        while len(self.pair_kernels) < n:
            self.pair_kernels.append(PairKernels(self._shapes, self._d, self._radix))
        pairs = candidates.with_images()
        bounds = _bounds_of_shares(candidates, n)
        parts = {group: np.searchsorted(rows, bounds) for group, rows in candidates.rows.items()}
        shares = []
        for k in range(n):
            shapes, calls = self._shapes, []
            if n > 1 and Group.CYLINDERS in candidates.rows:
                shapes = shapes._replace(vertices=shapes.vertices.copy(), faces=shapes.faces.copy())
            for group, rows in candidates.rows.items():
                selected = rows[parts[group][k] : parts[group][k + 1]]
                method = self.pair_kernels[k].of(group, candidates.separated)
                touch = bound(touch_pairs, selected, pairs, shapes, 0.0, method, NO_ROWS, 0)
                calls.append(Call(selected, method, touch))
            room = room_for(int(self._filled * (bounds[k + 1] - bounds[k])))
            shares.append(Share(pairs, int(bounds[k]), int(bounds[k + 1]), calls, shapes, room))
        return shares


def _falls(identity: Indices, k: int) -> bool:
    """Whether contact k has the bodies of the one before it, and a lower feature."""
    (*bodies, feature), (*bodies_before, feature_before) = identity[:, k], identity[:, k - 1]
    return bodies == bodies_before and bool(feature < feature_before)


def room_for(count: int) -> int:
    """Rows of work space for about so many contacts."""
    return count + count // 16 + 16


def _bounds_of_shares(candidates: Candidates, n: int) -> Indices:
    """First pairs of n ranges of equal work, and the end of the last."""
    bounds = np.array([0, len(candidates.pairs)])
    if n > 1:
        cost = np.empty(len(candidates.pairs))
        for group, rows in candidates.rows.items():
            cost[rows] = WORK.get(group, 1.0)
        done = np.cumsum(cost)
        bounds = np.insert(bounds, 1, np.searchsorted(done, done[-1] * np.arange(1, n) / n))
    return bounds
