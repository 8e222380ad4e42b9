"""Check that bodies do not interpenetrate at the start, and grains not where they appear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clapas.dynamics.model import Model
from clapas.errors import SceneError
from clapas.geometry.colliders import Contacts
from clapas.scenes.records import BodyRecord
from clapas.typing import Array, Mask

TOLERANCE = 1e-6  # of the size of the smaller body, at the start
CROWDED = 1e-3  # of the size of the smaller body, where grains appear


class Start(NamedTuple):
    """Initial configuration.

    Parameters
    ----------
    contacts : Contacts
        The contacts between them.
    movable : array of bool
        Bodies that move, also as parts of systems.
    size : array
        Their radii; for parts of a system, the size of the system (m).
    """

    contacts: Contacts
    movable: Mask
    size: Array


def overlapping(records: Sequence[BodyRecord], start: Start, tolerance: float | None = None) -> Mask:
    """Contacts that are overlaps of bodies present from the start; walls may overlap each other.

    ``tolerance`` is the depth allowed (m), by default 1e-6 of the size of the smaller body, which tolerates
    rounding.
    """
    present = np.array([record.birth == -np.inf for record in records], dtype=bool)
    a, b, gap = start.contacts.a, start.contacts.b, start.contacts.gap
    smaller = np.minimum(start.size[a], start.size[b])
    allowed = TOLERANCE * smaller if tolerance is None else np.full(len(gap), tolerance)
    return np.asarray((start.movable[a] | start.movable[b]) & present[a] & present[b] & (gap < -allowed))


def refuse_overlaps(records: Sequence[BodyRecord], start: Start, tolerance: float | None = None) -> None:
    """Raise a SceneError that names the deepest overlap, unless all are shallow enough."""
    contacts = start.contacts
    if len(contacts) == 0:
        return
    a, b = contacts.a, contacts.b
    is_overlap = overlapping(records, start, tolerance)
    if not is_overlap.any():
        return
    worst = int(np.argmin(np.where(is_overlap, contacts.gap, np.inf)))
    first, second = records[a[worst]], records[b[worst]]
    pairs = len({(i, j) for i, j in zip(a[is_overlap].tolist(), b[is_overlap].tolist(), strict=True)})
    raise SceneError(
        f"'{first.name}' and '{second.name}' overlap at the start by {-contacts.gap[worst]:.3g} m near "
        f"{np.round(contacts.point[worst], 6).tolist()} ({pairs} such pair{'s' if pairs > 1 else ''}); "
        "move them apart, allow it with Scene(overlap=…) in metres ('overlap' in a scene file, --overlap for "
        "files of blocks), or let them pass with scene.ignore(a, b)"
    )


class Birth(NamedTuple):
    """A grain that appeared inside another body: numbers of both, and the depth (m)."""

    grain: int
    other: int
    depth: float

    def words(self, model: Model, time: float) -> str:
        """What to tell of it; the numbers are those of the model."""
        return (
            f"t = {time:.6g} s: '{model.names[self.grain]}' appeared {self.depth:.3g} m deep inside "
            f"'{model.names[self.other]}': contacts keep bodies from going deeper, they do not push them "
            "apart. Lower the rate of the source, give it more room, or lay its grains (laid=True). Later "
            "ones are not told"
        )


def deepest_birth(model: Model, contacts: Contacts, velocity: Array, dt: float, alive: int) -> Birth | None:
    """The grain born deepest inside another body in a step of dt; None if none was.

    Contacts are those of the middle of the step: as deep as bodies of these velocities can come until then is
    no overlap. Bodies below ``alive`` were there before.
    """
    newer, older = np.maximum(contacts.a, contacts.b), np.minimum(contacts.a, contacts.b)
    speed = np.linalg.norm(velocity[:, : model.d], axis=1)
    spin = np.linalg.norm(velocity[:, model.d :], axis=1)
    speed += np.where(spin > 0.0, spin * np.where(spin > 0.0, model.reach[: len(spin)], 0.0), 0.0)
    allowed = CROWDED * np.minimum(model.reach[newer], model.reach[older])
    allowed += dt * (speed[newer] + speed[older])
    depth = np.where(newer >= alive, -contacts.gap - allowed, -np.inf)
    if not (depth > 0.0).any():
        return None
    k = int(np.argmax(depth))
    return Birth(int(newer[k]), int(older[k]), -float(contacts.gap[k]))
