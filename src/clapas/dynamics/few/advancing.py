"""From contacts to the end of a step in one call, as long as a dozen sweeps are enough."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.bodies.rigid.motion import GYRO_ROUNDS
from clapas.compiled import kernel, put
from clapas.dynamics.few.ending import Ended, end, respond
from clapas.dynamics.few.posing import guess, pose
from clapas.dynamics.few.settling import SETTLED, Way, settle
from clapas.dynamics.few.tables import Carried, Laws, Met, Placed, Rigid, Sizes
from clapas.dynamics.reaching import mark_within_reach
from clapas.typing import Array

OUT_OF_REACH = 4
"""Beside the endings of :func:`settle`: some contacts do not count, and are to be left out first."""


class Span(NamedTuple):
    """The step h (s), the part of it after its middle, the gap of contacts that touch, and the reach (m)."""

    dt: float
    rest: float
    touching: float
    reach: float


@kernel
def advance(
    met: Met,
    middle: Placed,
    free: Array,
    old: Carried,
    rigid: Rigid,
    laws: Laws,
    lead: Array,
    span: Span,
    way: Way,
    sizes: Sizes,
    kick: Array,
    after: Placed,
    r: Array,
    impulse: Array,
    measured: Array,
) -> tuple[int, int, Ended]:
    """Pose the problem, solve it from the carried impulses and end the step.

    ``free`` (N, size), velocities at the end without contacts, are left as the last problem took them, or as
    they are if that is not solved; ``kick`` (N, 3) is what loads change of spins. Returns how it ends, the
    number of sweeps of the last problem, and the rest of the answer if that is SETTLED.
    """
    n, nothing = len(r), (0, 0.0, 0.0)
    pairs = np.empty((n, 2), dtype=np.int64)
    for i in range(n):
        pairs[i, 0], pairs[i, 1] = met.identity[0, i], met.identity[1, i]
    kept, no_shift = np.empty(n, dtype=np.bool_), np.empty((0, len(sizes.components)))
    place = pairs, met.point, no_shift, met.normal, met.gap
    at = middle.position, middle.orientation, middle.velocity
    mark_within_reach(*place, *at, span.touching, span.reach, span.dt, kept)
    left_out = 0
    for i in range(n):
        left_out += not kept[i]
    if left_out > 0:
        return OUT_OF_REACH, 0, nothing
    posed = pose(met, pairs, middle, rigid, laws, lead, span.dt, span.touching, sizes)
    guess(met, posed.frame, old, r)
    without, at_first, sweeps = np.empty_like(free), np.empty_like(free), 0
    put(free, at_first)
    for left in range(GYRO_ROUNDS - 1, -1, -1):
        how, sweeps = settle(posed, free, rigid, way, sizes, r, measured)
        if how != SETTLED:
            put(at_first, free)
            return how, 0, nothing
        given = posed, r, middle.velocity, free, rigid, kick, span.dt, sizes
        if not respond(*given, after.velocity, without) or left == 0:
            break
        put(without, free)
    return SETTLED, sweeps, end(posed, r, middle, without, rigid, span.rest, after, impulse)
