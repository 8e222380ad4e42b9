"""The contacts of a step with joints: those that count, their rows, and the impulses carried to them.

It is apart from the rest of the step, which is the same code in the plane and in space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import kernel
from clapas.dynamics.few.kernels import guess, pose
from clapas.dynamics.few.tables import Carried, Laws, Met, Placed, Rigid, Sizes
from clapas.dynamics.reaching import mark_within_reach
from clapas.typing import Array, Indices, Mask


class Meeting(NamedTuple):
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
    def none(sizes: Sizes) -> Meeting:
        """No contact."""
        d, size = len(sizes.components), len(sizes.body)
        pairs, apart = np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.bool_)
        vectors, frames = np.empty((0, d)), np.empty((0, d, d))
        return Meeting(
            pairs, vectors, np.empty((0, 2, d, size)), frames, vectors, vectors, np.empty(0), apart
        )


@kernel
def meet(
    met: Met,
    middle: Placed,
    rigid: Rigid,
    laws: Laws,
    lead: Array,
    old: Carried,
    dt: float,
    touching: float,
    reach: float,
    sizes: Sizes,
    kept: Mask,
) -> Meeting:
    """Pose the contacts, and mark in ``kept`` (n,) those that are within reach.

    ``lead`` (n, d) is what the velocities of walls miss at the contacts, without rows where that is nothing.
    """
    n, d = len(met.gap), len(sizes.components)
    pairs, first = np.empty((n, 2), dtype=np.int64), np.empty((n, d))
    for i in range(n):
        pairs[i, 0], pairs[i, 1] = met.identity[0, i], met.identity[1, i]
    place = pairs, met.point, np.empty((0, d)), met.normal, met.gap
    at = middle.position, middle.orientation, middle.velocity
    mark_within_reach(*place, *at, touching, reach, dt, kept)
    posed = pose(met, pairs, middle, rigid, laws, lead, dt, touching, sizes)
    guess(met, posed.frame, old, first)
    return Meeting(pairs, first, posed.G, posed.frame, posed.wall, posed.w, posed.mu, posed.apart)
