"""Impulses carried from one step to the next, and between the frames of contacts and the world.

Contacts may travel along a body from one carrier to the next, and keep their impulses. A rod touches by
segments, and the segment is part of the identity of a contact. One that slides over the border of two
segments is, by its identity, a new contact beside one that has ended. The old one then gets the identity of
the new one where the two are neighbours: the same body or the next carrier of the same chain on each side,
and an impulse with a positive component along the new normal.
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.compiled.sharing import share_visits
from clapas.compiled.threads import Worker, chunk
from clapas.dynamics.model import Model
from clapas.dynamics.state import Impulses
from clapas.geometry.colliders import Contacts
from clapas.problems.sphere_blocks import in_frame
from clapas.typing import Array, Indices


def places(a: Indices, b: Indices, feature: Indices, contacts: Contacts) -> Indices:
    """Rows of the contacts in a list sorted in the same way, −1 for those not in it."""
    place = np.full(len(contacts), -1, dtype=np.int64)
    match(a, b, feature, contacts.a, contacts.b, contacts.feature, place)
    return place


@inlined
def is_before(a: int, b: int, feature: int, to_a: int, to_b: int, to_feature: int) -> bool:
    """Whether one identity is before another."""
    return a < to_a or (a == to_a and (b < to_b or (b == to_b and feature < to_feature)))


@kernel
def match(
    a: Indices,
    b: Indices,
    feature: Indices,
    new_a: Indices,
    new_b: Indices,
    new_feature: Indices,
    place: Indices,
) -> None:
    """Merge two lists sorted by (a, b, feature): rows of persisting contacts in the old list."""
    old = 0
    for i in range(len(new_a)):
        to_a, to_b, to_feature = new_a[i], new_b[i], new_feature[i]
        while old < len(a) and is_before(a[old], b[old], feature[old], to_a, to_b, to_feature):
            old += 1
        if old < len(a) and a[old] == to_a and b[old] == to_b and feature[old] == to_feature:
            place[i] = old


@kernel
def carry(
    place: Indices,
    ratio: float,
    impulse: Array,
    couple: Array,
    frame: Array,
    cohesion: Array,
    scale: Array,
    r: Array,
) -> None:
    """Write ``ratio`` times the impulses and couples of old contacts, at ``place``, as unknowns of new ones.

    ``scale`` has a row per contact, or one for all.
    """
    d, size = frame.shape[1], scale.shape[1]
    for i in range(len(place)):
        old = place[i]
        if old < 0:
            continue
        for k in range(d):
            for l in range(d):
                r[i, k] += frame[i, k, l] * impulse[old, l]
        for k in range(d, size):
            if d == 2:  # about the axis out of the plane
                r[i, k] = couple[old, 0]
            else:
                for l in range(3):
                    r[i, k] += frame[i, k - d, l] * couple[old, l]
        for k in range(size):
            length = scale[min(i, len(scale) - 1), k]
            carried = ratio * r[i, k] + (cohesion[i] if k == 0 else 0.0)
            r[i, k] = carried / length if length > 0.0 else 0.0


def carried_to_spheres(old: Impulses, contacts: Contacts, ratio: float, cohesion: Array) -> Array:
    """The same for impulses alone, at contacts (n, 3) whose tangents follow from the normals."""
    n = len(contacts)
    r = np.empty((n, 3))
    new = contacts.a, contacts.b, contacts.feature, contacts.normal
    arguments = old.a, old.b, old.feature, old.impulse, *new, ratio, cohesion
    share_visits(n, carry_to_spheres, *arguments, r)
    return r


@kernel
def carry_to_spheres(
    worker: Worker,
    a: Indices,
    b: Indices,
    feature: Indices,
    impulse: Array,
    new_a: Indices,
    new_b: Indices,
    new_feature: Indices,
    normal: Array,
    ratio: float,
    cohesion: Array,
    r: Array,
) -> None:
    """One thread's part: merge the lists from its first contact on, which is found by bisection."""
    first, last = chunk(worker, len(new_a))
    old, end = 0, len(a)
    while first < last and old < end:
        middle = (old + end) // 2
        from_a, from_b, from_feature = new_a[first], new_b[first], new_feature[first]
        if is_before(a[middle], b[middle], feature[middle], from_a, from_b, from_feature):
            old = middle + 1
        else:
            end = middle
    for i in range(first, last):
        to_a, to_b, to_feature = new_a[i], new_b[i], new_feature[i]
        while old < len(a) and is_before(a[old], b[old], feature[old], to_a, to_b, to_feature):
            old += 1
        if old == len(a) or a[old] != to_a or b[old] != to_b or feature[old] != to_feature:
            r[i, 0], r[i, 1], r[i, 2] = 0.0, 0.0, 0.0
            continue
        x, y, z = ratio * impulse[old, 0], ratio * impulse[old, 1], ratio * impulse[old, 2]
        r[i, 0], r[i, 1], r[i, 2] = in_frame(normal, i, x, y, z)
        r[i, 0] += cohesion[i]


@kernel
def to_world(frame: Array, impulse: Array, world: Array) -> None:
    """Write impulses, components along the axes of the frames, in world coordinates."""
    n, d = world.shape
    for i in range(n):
        for l in range(d):
            total = 0.0
            for k in range(d):
                total += frame[i, k, l] * impulse[i, k]
            world[i, l] = total


@kernel
def product(r: Array, u: Array) -> float:
    """Σ r·u over all contacts: the work of impulses along velocities (J)."""
    total = 0.0
    for i in range(len(r)):
        for k in range(r.shape[1]):
            total += r[i, k] * u[i, k]
    return total


def followed(model: Model, old: Impulses, contacts: Contacts) -> Impulses:
    """The impulses under the current identities of their contacts."""
    chain = model.chain_of
    if chain is None or not len(old.a) or not len(contacts):
        return old
    place = places(old.a, old.b, old.feature, contacts)
    fresh = np.flatnonzero((place < 0) & ((chain[contacts.a] >= 0) | (chain[contacts.b] >= 0)))
    ended = np.ones(len(old.a), dtype=bool)
    ended[place[place >= 0]] = False
    if not len(fresh) or not ended.any():
        return old
    a, b, feature = old.a.copy(), old.b.copy(), old.feature.copy()
    new = contacts.a, contacts.b, contacts.feature, contacts.normal
    if not rename(chain, ended, old.impulse, fresh, *new, a, b, feature):
        return old
    order = np.lexsort((feature, b, a))
    return Impulses(a[order], b[order], feature[order], old.impulse[order], old.couple[order])


@kernel
def rename(
    chain: Indices,
    ended: Array,
    impulse: Array,
    fresh: Indices,
    new_a: Indices,
    new_b: Indices,
    new_feature: Indices,
    normal: Array,
    a: Indices,
    b: Indices,
    feature: Indices,
) -> int:
    """Give ended contacts, sorted by a, the identity of a new neighbour; return their number."""
    count, now = 0, np.full(len(a), -1)  # renamed at the end: searches need the old a
    first = np.searchsorted(a, new_a[fresh] - 1, side="left")
    last = np.searchsorted(a, new_a[fresh] + 1, side="right")
    for k in range(len(fresh)):
        i, best, most = fresh[k], -1, 0.0
        for j in range(first[k], last[k]):
            if not ended[j] or abs(b[j] - new_b[i]) > 1:
                continue
            if a[j] != new_a[i] and (chain[a[j]] < 0 or chain[a[j]] != chain[new_a[i]]):
                continue
            if b[j] != new_b[i] and (chain[b[j]] < 0 or chain[b[j]] != chain[new_b[i]]):
                continue
            pressing = 0.0
            for l in range(impulse.shape[1]):
                pressing += impulse[j, l] * normal[i, l]
            if pressing > most:
                best, most = j, pressing
        if best >= 0:
            ended[best], now[best] = False, i
            count += 1
    for j in range(len(a)):
        if now[j] >= 0:
            a[j], b[j], feature[j] = new_a[now[j]], new_b[now[j]], new_feature[now[j]]
    return count
