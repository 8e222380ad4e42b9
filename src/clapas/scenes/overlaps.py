"""Refuse a scene whose bodies interpenetrate at the start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clapas.errors import SceneError
from clapas.geometry.colliders import Contacts
from clapas.scenes.records import BodyRecord
from clapas.typing import Mask

TOLERANCE = 1e-6


def overlapping(
    records: Sequence[BodyRecord], movable: Mask, contacts: Contacts, tolerance: float | None = None
) -> Mask:
    """Which contacts are overlaps, of bodies that are there from the start; walls may overlap each other.

    Parameters
    ----------
    records : sequence of BodyRecord
        The bodies, by number.
    movable : array of bool
        Which of them move, also as parts of systems.
    contacts : Contacts
        Contacts between them at the start.
    tolerance : float, optional
        Depth allowed (m). By default 1e-6 of the radius of the smaller body, which forgives rounding.
    """
    size = np.array([record.shape.reach for record in records])
    there = np.array([record.birth == -np.inf for record in records], dtype=bool)
    a, b = contacts.a, contacts.b
    smaller = np.minimum(size[a], size[b])
    allowed = TOLERANCE * smaller if tolerance is None else np.full(len(contacts), tolerance)
    return np.asarray((movable[a] | movable[b]) & there[a] & there[b] & (contacts.gap < -allowed))


def refuse_overlaps(
    records: Sequence[BodyRecord], movable: Mask, contacts: Contacts, tolerance: float | None = None
) -> None:
    """Raise a SceneError that names the deepest overlap, unless all are shallow enough.

    The engine calls this with the contacts found where the bodies start; see :func:`overlapping`.
    """
    if len(contacts) == 0:
        return
    a, b = contacts.a, contacts.b
    counts = overlapping(records, movable, contacts, tolerance)
    if not counts.any():
        return
    worst = int(np.argmin(np.where(counts, contacts.gap, np.inf)))
    first, second = records[a[worst]], records[b[worst]]
    pairs = len({(i, j) for i, j in zip(a[counts].tolist(), b[counts].tolist(), strict=True)})
    raise SceneError(
        f"'{first.name}' and '{second.name}' overlap at the start by {-contacts.gap[worst]:.3g} m near "
        f"{np.round(contacts.point[worst], 6).tolist()} ({pairs} such pair{'s' if pairs > 1 else ''}); "
        "move them apart, allow it with Scene(overlap=…) in metres, or let them pass with scene.ignore(a, b)"
    )
