"""Impulses carried from one step to the next, and between the frames of contacts and the world."""

from __future__ import annotations

import numpy as np

from clapas.compiled import kernel
from clapas.geometry.colliders import Contacts
from clapas.problems.sphere_blocks import in_frame
from clapas.typing import Array, Indices


def places(a: Indices, b: Indices, feature: Indices, contacts: Contacts) -> Indices:
    """Where the contacts are in a list sorted as they are, −1 for those that are not."""
    place = np.full(len(contacts), -1, dtype=np.int64)
    match(a, b, feature, contacts.a, contacts.b, contacts.feature, place)
    return place


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
    """Merge two lists sorted by (a, b, feature): where the contacts that persist are in the old list."""
    old, n_old = 0, len(a)
    for i in range(len(new_a)):
        while old < n_old and (
            a[old] < new_a[i]
            or (a[old] == new_a[i] and b[old] < new_b[i])
            or (a[old] == new_a[i] and b[old] == new_b[i] and feature[old] < new_feature[i])
        ):
            old += 1
        if old < n_old and a[old] == new_a[i] and b[old] == new_b[i] and feature[old] == new_feature[i]:
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


@kernel
def carry_to_spheres(
    place: Indices, ratio: float, impulse: Array, normal: Array, cohesion: Array, r: Array
) -> None:
    """The same for impulses alone, at contacts whose tangents follow from the normals."""
    for i in range(len(place)):
        old = place[i]
        if old < 0:
            r[i, 0], r[i, 1], r[i, 2] = 0.0, 0.0, 0.0
            continue
        x, y, z = ratio * impulse[old, 0], ratio * impulse[old, 1], ratio * impulse[old, 2]
        r[i, 0], r[i, 1], r[i, 2] = in_frame(normal, i, x, y, z)
        r[i, 0] += cohesion[i]


@kernel
def to_world(frame: Array, impulse: Array, world: Array) -> None:
    """Write impulses given along the axes of the frames as vectors of the world."""
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
