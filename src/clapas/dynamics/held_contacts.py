"""Contacts between held bodies: they are not part of the contact problem and keep their impulses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import kernel
from clapas.dynamics.model import Model
from clapas.dynamics.state import Impulses
from clapas.dynamics.warm_start import places
from clapas.geometry.colliders import Contacts
from clapas.typing import Array, Indices, Mask


class ListedContacts(NamedTuple):
    """Contacts of a step, their impulses in the same order, and their rows among those solved, or −1."""

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
    ratio: float,
    touching: float,
) -> ListedContacts:
    """Combine the contacts that were solved and those between bodies that cannot move.

    Of the latter those count that touch, or carried an impulse in the step before.

    Parameters
    ----------
    model : Model
        In which the held bodies cannot move.
    found, solved : Contacts
        All contacts of the step, and those of its problem that count.
    impulses, old : Impulses
        Those of the problem, and those of the step before.
    ratio : float
        Length of the step over that of the step before: forces persist, not impulses.
    touching : float
        Gap up to which contacts touch (m).
    """
    solved_row = places(solved.a, solved.b, solved.feature, found)
    old_row = places(old.a, old.b, old.feature, found)
    rows = np.empty(len(found), dtype=np.int64)
    rows = rows[: choose(found.a, found.b, found.gap, model.movable, touching, solved_row, old_row, rows)]
    contacts, solved_row, old_row = found.take(rows), solved_row[rows], old_row[rows]
    identity = contacts.a, contacts.b, contacts.feature
    impulse = _merged(solved_row, old_row, impulses.impulse, old.impulse, ratio)
    if not (model.laws.has_couples or old.couple.any()):
        return ListedContacts(contacts, Impulses(*identity, impulse), solved_row)
    couple = _merged(solved_row, old_row, impulses.couple, old.couple, ratio)
    return ListedContacts(contacts, Impulses(*identity, impulse, couple), solved_row)


def _merged(solved_row: Indices, old_row: Indices, new: Array, old: Array, ratio: float) -> Array:
    """Rows of ``new`` where the contact was solved, else ``ratio`` times those of ``old``, else zero."""
    rows = np.zeros((len(solved_row), new.shape[1]))
    new, old = (np.require(table, requirements=("C", "W")) for table in (new, old))
    put_rows(solved_row, old_row, new, old, ratio, rows)
    return rows


@kernel
def choose(
    a: Indices,
    b: Indices,
    gap: Array,
    movable: Mask,
    touching: float,
    solved_row: Indices,
    old_row: Indices,
    rows: Indices,
) -> int:
    """List the contacts that count and return their number; those solved drop their old impulses."""
    count = 0
    for i in range(len(a)):
        if solved_row[i] >= 0:
            old_row[i] = -1
        elif movable[a[i]] or movable[b[i]] or (gap[i] > touching and old_row[i] < 0):
            continue
        rows[count] = i
        count += 1
    return count


@kernel
def put_rows(
    solved_row: Indices, old_row: Indices, new: Array, old: Array, ratio: float, rows: Array
) -> None:
    """Fill rows from the new table or the old one."""
    for i in range(len(rows)):
        for k in range(rows.shape[1]):
            if solved_row[i] >= 0:
                rows[i, k] = new[solved_row[i], k]
            elif old_row[i] >= 0:
                rows[i, k] = ratio * old[old_row[i], k]
