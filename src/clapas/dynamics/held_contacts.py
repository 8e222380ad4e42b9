"""Contacts between bodies that are held: no part of the contact problem, they keep their impulses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import kernel
from clapas.dynamics.model import Model
from clapas.dynamics.state import Impulses
from clapas.dynamics.warm_start import places
from clapas.geometry.colliders import Contacts
from clapas.typing import Array, Indices, Mask


class Answered(NamedTuple):
    """Contacts of a step, their impulses in the same order, and where they are among those solved, or −1."""

    contacts: Contacts
    impulses: Impulses
    rows: Indices


def between_free(model: Model, found: Contacts) -> Contacts:
    """The contacts with a body that can move."""
    return found.take(np.flatnonzero(model.movable[found.a] | model.movable[found.b]))


def with_held(
    model: Model,
    found: Contacts,
    solved: Contacts,
    impulses: Impulses,
    old: Impulses,
    longer: float,
    touching: float,
) -> Answered:
    """Put together the contacts that were solved and those between bodies that cannot move.

    Of the latter those count that touch, or carried an impulse in the step before.

    Parameters
    ----------
    model : Model
        In which the held bodies cannot move.
    found, solved : Contacts
        All contacts of the step, and those of its problem that count.
    impulses, old : Impulses
        Those of the problem, and those of the step before.
    longer : float
        Length of the step over that of the step before: forces persist, not impulses.
    touching : float
        Gap up to which contacts touch (m).
    """
    answered = places(solved.a, solved.b, solved.feature, found)
    before = places(old.a, old.b, old.feature, found)
    rows = np.empty(len(found), dtype=np.int64)
    rows = rows[: choose(found.a, found.b, found.gap, model.movable, touching, answered, before, rows)]
    contacts, answered, before = found.take(rows), answered[rows], before[rows]
    which = contacts.a, contacts.b, contacts.feature
    impulse = _put_together(answered, before, impulses.impulse, old.impulse, longer)
    if not (model.laws.has_couples or old.couple.any()):
        return Answered(contacts, Impulses(*which, impulse), answered)
    couple = _put_together(answered, before, impulses.couple, old.couple, longer)
    return Answered(contacts, Impulses(*which, impulse, couple), answered)


def _put_together(answered: Indices, before: Indices, new: Array, old: Array, longer: float) -> Array:
    """Rows of ``new`` where the contact was solved, else ``longer`` times those of ``old``, else zero."""
    rows = np.zeros((len(answered), new.shape[1]))
    made, kept = (np.require(each, requirements=("C", "W")) for each in (new, old))
    put_rows(answered, before, made, kept, longer, rows)
    return rows


@kernel
def choose(
    a: Indices,
    b: Indices,
    gap: Array,
    movable: Mask,
    touching: float,
    answered: Indices,
    before: Indices,
    rows: Indices,
) -> int:
    """List the contacts that count and return their number; those solved drop their old impulses."""
    count = 0
    for i in range(len(a)):
        if answered[i] >= 0:
            before[i] = -1
        elif movable[a[i]] or movable[b[i]] or (gap[i] > touching and before[i] < 0):
            continue
        rows[count] = i
        count += 1
    return count


@kernel
def put_rows(answered: Indices, before: Indices, new: Array, old: Array, longer: float, rows: Array) -> None:
    """Fill rows from the new table or the old one."""
    for i in range(len(rows)):
        for k in range(rows.shape[1]):
            if answered[i] >= 0:
                rows[i, k] = new[answered[i], k]
            elif before[i] >= 0:
                rows[i, k] = longer * old[before[i], k]
