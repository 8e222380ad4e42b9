"""Contacts that travel along a body from one carrier to the next, and take their impulses along.

A rod touches by segments, and the segment is part of the identity of a contact. One that slides over the
border of two segments is, by its identity, a new contact beside one that has ended. Here the old one is given
the identity of the new one where the two are neighbours: the same body or the next carrier of the same chain
on each side, and an impulse that presses the right way.
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import kernel
from clapas.dynamics.carrying import places
from clapas.dynamics.model import Impulses, Model
from clapas.geometry.colliders import Contacts
from clapas.typing import Array, Indices


def followed(model: Model, old: Impulses, contacts: Contacts) -> Impulses:
    """The impulses, under the identities that their contacts have now."""
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
    """Give ended contacts, sorted by a, the identity of a neighbour that is new; how many there were."""
    count, now = 0, np.full(len(a), -1)  # renamed at the end: searches are by what a was
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
