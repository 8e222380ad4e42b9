"""Contacts between bodies that are held: no part of the contact problem, they keep their impulses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.dynamics.carrying import places
from clapas.dynamics.model import Impulses, Model
from clapas.geometry.colliders import Contacts
from clapas.typing import Indices


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
    is_held = ~(model.movable[found.a] | model.movable[found.b])
    before = np.where(answered < 0, places(old.a, old.b, old.feature, found), -1)
    rows = np.flatnonzero((answered >= 0) | (is_held & ((found.gap <= touching) | (before >= 0))))
    contacts, answered, before = found.take(rows), answered[rows], before[rows]
    impulse = np.zeros((len(rows), impulses.impulse.shape[1]))
    couple = np.zeros((len(rows), impulses.couple.shape[1]))
    impulse[answered >= 0], couple[answered >= 0] = impulses.impulse, impulses.couple
    kept = before >= 0
    impulse[kept], couple[kept] = longer * old.impulse[before[kept]], longer * old.couple[before[kept]]
    of_all = Impulses(contacts.a, contacts.b, contacts.feature, impulse, couple)
    return Answered(contacts, of_all, answered)
