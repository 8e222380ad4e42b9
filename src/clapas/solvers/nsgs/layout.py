"""Where each contact is stored for blocked sweeps: slabs for threads, blocks of eight for vector registers.

The layout depends only on the graph of contacts. In a packing at rest that does not change from step to
step, so a :class:`BlockLayout` in ``problem.kept``, which belongs to the caller, keeps the last layout and
uses it again for the same contacts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.compiled import kernel
from clapas.compiled.prefetch import AHEAD, prefetch
from clapas.compiled.simd import WIDTH
from clapas.compiled.sorting import counting_sort
from clapas.compiled.tables import are_equal
from clapas.solvers.nsgs.slabs import cut, cuthill_mckee
from clapas.typing import Indices

CONTACTS_PER_SLAB = 1024
WINDOW = 64


@dataclass(frozen=True)
class Blocks:
    """Contacts in blocks of WIDTH.

    Parameters
    ----------
    contacts : array (n_blocks · WIDTH,)
        The contact in each lane of each block, −1 in idle lanes.
    bodies : array (n_blocks, 2, WIDTH)
        New numbers of the two bodies; each slab has its own copy of the ground, after the bodies.
    number : array (n_bodies,)
        New number of each body.
    bounds : array (n_slabs + 1,)
        First block of each slab.
    """

    contacts: Indices
    bodies: Indices
    number: Indices
    bounds: Indices

    @property
    def place(self) -> Indices:
        """Where each contact is stored, (n,): block · WIDTH + lane."""
        spots = np.flatnonzero(self.contacts >= 0)
        place = np.empty(len(spots), dtype=np.int64)
        place[self.contacts[spots]] = spots
        return place


class BlockLayout:
    """Layout of contacts in slabs and blocks, kept as long as the contacts stay the same."""

    def __init__(self) -> None:
        self._last: tuple[Indices, int, Blocks] | None = None

    def __call__(self, bodies: Indices, n_bodies: int) -> Blocks:
        """The layout of contacts between these bodies; see :func:`arrange`."""
        last = self._last
        if last is not None and last[1] == n_bodies and are_equal(last[0], bodies):
            blocks = last[2]
        else:
            blocks = arrange(bodies, n_bodies)
        self._last = bodies, n_bodies, blocks  # keeps these arrays alive, not equal older ones
        return blocks


def arrange(bodies: Indices, n_bodies: int) -> Blocks:
    """Put the contacts between pairs of bodies (the ground is ``n_bodies``) in slabs and blocks."""
    n = len(bodies)
    number = cuthill_mckee(n_bodies, bodies[:, 0], bodies[:, 1])
    pairs, low, high = renumbered(bodies, number)
    smallest = max(1, -(-CONTACTS_PER_SLAB * n_bodies // max(n, 1)))
    slabs = cut(n_bodies, low, high, smallest)
    slab_of_body = np.repeat(np.arange(len(slabs) - 1), np.diff(slabs))
    slab = np.append(slab_of_body, len(slabs) - 2)[low]
    order = counting_sort(low, counting_sort(high, np.arange(n), n_bodies + 1), n_bodies + 1)
    place, bounds = fill_blocks(order, slab, pairs, n_bodies, len(slabs) - 1)
    contacts, stored = store(place, pairs, n_bodies, bounds)
    return Blocks(contacts, stored, number, bounds)


@kernel
def renumbered(bodies: Indices, number: Indices) -> tuple[Indices, Indices, Indices]:
    """New numbers of the two bodies of each contact; the lower, and the higher that is not the ground."""
    n, n_bodies = len(bodies), len(number)
    pairs = np.empty((n, 2), dtype=np.uint32)
    low, high = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(n):
        later = min(i + AHEAD, n - 1)
        prefetch(number, bodies[later, 0])
        prefetch(number, bodies[later, 1])
        a = number[bodies[i, 0]] if bodies[i, 0] < n_bodies else n_bodies
        b = number[bodies[i, 1]] if bodies[i, 1] < n_bodies else n_bodies
        pairs[i, 0], pairs[i, 1] = a, b
        low[i], high[i] = min(a, b), max(a, b)
        if high[i] == n_bodies:
            high[i] = low[i]
    return pairs, low, high


@kernel
def store(place: Indices, pairs: Indices, n_bodies: int, bounds: Indices) -> tuple[Indices, Indices]:
    """The contact in each lane, and the bodies of each block; each slab has its own number for the ground."""
    n_blocks, n_slabs = bounds[-1], len(bounds) - 1
    contacts = np.full(n_blocks * WIDTH, -1, dtype=np.int32)
    bodies = np.empty((n_blocks, 2, WIDTH), dtype=np.uint32)
    for i in range(len(place)):
        contacts[place[i]] = i
    for slab in range(n_slabs):
        for spot in range(bounds[slab] * WIDTH, bounds[slab + 1] * WIDTH):
            prefetch(pairs, contacts[min(spot + AHEAD, len(contacts) - 1)])
            i = contacts[spot]
            for side in range(2):
                is_body = i >= 0 and pairs[i, side] < n_bodies
                bodies[spot // WIDTH, side, spot % WIDTH] = pairs[i, side] if is_body else n_bodies + slab
    return contacts, bodies


@kernel
def fill_blocks(
    order: Indices, slab: Indices, bodies: Indices, n_bodies: int, n_slabs: int
) -> tuple[Indices, Indices]:
    """Put each contact in the first block of its slab that has a free lane and none of its bodies.

    Contacts arrive slab by slab in cache order. Returns the place of each contact and the
    first block of each slab. A window of 64 blocks is open at a time; ``taken[body]`` has a bit for
    each open block the body is in.
    """
    n = len(order)
    place = np.empty(n, dtype=np.int64)
    bounds = np.zeros(n_slabs + 1, dtype=np.int64)
    used = np.zeros(n + WINDOW + 1, dtype=np.int64)  # lanes taken in each block
    taken = np.zeros(n_bodies + 1, dtype=np.uint64)
    since = np.zeros(n_bodies + 1, dtype=np.int64)  # the window's start when ``taken`` was written
    full = np.uint64(0)
    one, every = np.uint64(1), ~np.uint64(0)
    current, start, end = 0, 0, 0
    for visit in range(n):
        later = order[min(visit + AHEAD, n - 1)]
        prefetch(bodies, later)
        prefetch(slab, later)
        i = order[visit]
        while current < slab[i]:
            current += 1
            bounds[current] = start = end
            full = np.uint64(0)
        for side in range(2):
            body = bodies[i, side]
            late = start - since[body]
            taken[body] = taken[body] >> np.uint64(late) if late < WINDOW else np.uint64(0)
            since[body] = start
        a, b = bodies[i, 0], bodies[i, 1]
        taken[n_bodies] = np.uint64(0)  # the ground may be in every lane
        closed = taken[a] | taken[b] | full
        while closed == every:  # no open block fits: close the oldest
            start, full, closed = start + 1, full >> one, closed >> one
            for side in range(2):
                taken[bodies[i, side]] >>= one
                since[bodies[i, side]] = start
        bit = 0
        while (closed >> np.uint64(bit)) & one:
            bit += 1
        target = start + bit
        place[i] = target * WIDTH + used[target]
        used[target] += 1
        end = max(end, target + 1)
        mark = one << np.uint64(bit)
        taken[a] |= mark
        taken[b] |= mark
        if used[target] == WIDTH:
            full |= mark
        while full & one:
            start, full = start + 1, full >> one
    for rest in range(current + 1, n_slabs + 1):
        bounds[rest] = end
    return place, bounds
