"""The contacts of a step with joints: those within reach, their rows, and the impulses carried to them.

Separate from the rest of the step, which is the same machine code in the plane and in space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import kernel
from clapas.dynamics.few.kernels import guess, pose
from clapas.dynamics.few.tables import CarriedImpulses, ContactArrays, Laws, Placed, Rigid, Sizes
from clapas.dynamics.reaching import mark_within_reach
from clapas.typing import Array, Indices, Mask


class PosedContacts(NamedTuple):
    """The n contacts of a step.

    Parameters
    ----------
    pairs : array (n, 2)
        Their bodies.
    guess : array (n, d)
        Impulses of the last step.
    G, frame, wall, w, mu, apart
        See :class:`clapas.dynamics.few.tables.Posed`.
    """

    pairs: Indices
    guess: Array
    G: Array
    frame: Array
    wall: Array
    w: Array
    mu: Array
    apart: Mask

    @staticmethod
    def none(sizes: Sizes) -> PosedContacts:
        """No contact."""
        d, size = len(sizes.components), len(sizes.body)
        pairs, apart = np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.bool_)
        vectors, frames = np.empty((0, d)), np.empty((0, d, d))
        return PosedContacts(
            pairs, vectors, np.empty((0, 2, d, size)), frames, vectors, vectors, np.empty(0), apart
        )


@kernel
def pose_contacts(
    contacts: ContactArrays,
    middle: Placed,
    rigid: Rigid,
    laws: Laws,
    lead: Array,
    old: CarriedImpulses,
    dt: float,
    touching: float,
    reach: float,
    sizes: Sizes,
    kept: Mask,
) -> PosedContacts:
    """State the problem of the contacts, and mark in ``kept`` (n,) those that are within reach.

    ``lead`` (n, d) corrects the velocities of walls at the contacts; without rows where it is zero.
    """
    n, d = len(contacts.gap), len(sizes.components)
    pairs, first = np.empty((n, 2), dtype=np.int64), np.empty((n, d))
    for i in range(n):
        pairs[i, 0], pairs[i, 1] = contacts.identity[0, i], contacts.identity[1, i]
    place = pairs, contacts.point, np.empty((0, d)), contacts.normal, contacts.gap
    at = middle.position, middle.orientation, middle.velocity
    mark_within_reach(*place, *at, touching, reach, dt, kept)
    posed = pose(contacts, pairs, middle, rigid, laws, lead, dt, touching, sizes)
    guess(contacts, posed.frame, old, first)
    return PosedContacts(pairs, first, posed.G, posed.frame, posed.wall, posed.w, posed.mu, posed.apart)
