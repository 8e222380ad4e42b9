"""From contacts to the problem of a step: blocks, laws, and the impulses carried from the last step.

The same as :mod:`clapas.dynamics.assembly` for contacts that only slide, alike in all directions.
"""

from __future__ import annotations

import numpy as np

from clapas.bodies.rigid.jacobian import fill_blocks_2d, fill_blocks_3d
from clapas.bodies.rigid.motion import plus_multiple
from clapas.compiled import kernel, rounded
from clapas.dynamics.carrying import carry, match
from clapas.dynamics.few.tables import Carried, Laws, Met, Placed, Posed, Rigid, Sizes, blank_problem
from clapas.dynamics.following import add_lead
from clapas.problems.blocks import velocities_by_blocks
from clapas.problems.frames import write_frame
from clapas.typing import Array, Indices


@kernel
def pose(
    met: Met,
    pairs: Indices,
    middle: Placed,
    rigid: Rigid,
    laws: Laws,
    lead: Array,
    dt: float,
    touching: float,
    sizes: Sizes,
) -> Posed:
    """Make the problem of the contacts, but for what depends on the free velocities.

    ``pairs`` (n, 2) are the bodies; ``lead`` (n, d) is what the velocities of walls miss at the contacts,
    without rows where nothing is missed; ``touching`` (m) the gap up to which contacts touch.
    """
    n, d, ground = len(pairs), len(sizes.components), 0
    movable, diagonals = rigid.flags[0], rigid.diagonals
    for body in range(len(movable)):
        ground += movable[body]
    posed = blank_problem(n, d, ground, len(sizes.body))
    for i in range(n):
        posed.bodies[i, 0], posed.bodies[i, 1] = rigid.number[pairs[i, 0]], rigid.number[pairs[i, 1]]
        write_frame(met.normal, i, posed.frame)
    place = pairs, met.point, np.empty((0, d)), posed.frame
    at = middle.position, middle.orientation, middle.velocity, diagonals[2], movable
    if d == 3:
        fill_blocks_3d(*place, *at, posed.G, posed.wall)
    else:
        fill_blocks_2d(*place, *at, posed.G, posed.wall)
    before = posed.wall
    if laws.has_restitution:
        y = np.empty_like(middle.velocity)
        for i in range(len(y)):
            for k in range(len(sizes.body)):
                y[i, k] = middle.velocity[i, k] * diagonals[1, i, k]
        before = velocities_by_blocks(posed.G, pairs, y, posed.wall, sizes.components, sizes.body)
    if len(lead) > 0:
        add_lead(posed.frame, lead, posed.wall)
    for i in range(n):
        one, two = laws.material[met.colliders[0, i]], laws.material[met.colliders[1, i]]
        posed.mu[i], posed.apart[i] = laws.tables[0, one, two], met.gap[i] > touching
        for k in range(d):
            posed.w[i, k] = posed.wall[i, k]
            if laws.has_restitution and not posed.apart[i]:
                share = laws.tables[1 if k == 0 else 2, one, two]
                posed.w[i, k] = plus_multiple(posed.w[i, k], share, before[i, k])
        if posed.apart[i]:
            posed.w[i, 0] = with_closing(posed.w[i, 0], met.gap[i], dt)
    return posed


@rounded
def with_closing(w: float, gap: float, dt: float) -> float:
    """The imposed velocity and that at which a gap closes in one step."""
    return w + gap / dt


@kernel
def guess(met: Met, frame: Array, old: Carried, r: Array) -> None:
    """Write the impulses carried from the last step, in the frames (n, d, d); zero at new contacts."""
    n, d = r.shape
    place, who, scale = np.empty(n, dtype=np.int64), met.identity, np.empty((1, d))
    for i in range(n):
        place[i] = -1
        for k in range(d):
            r[i, k] = 0.0
    for k in range(d):
        scale[0, k] = 1.0
    match(old.a, old.b, old.feature, who[0], who[1], who[2], place)
    carry(place, old.ratio, old.impulse, np.empty((0, 3)), frame, np.zeros(n), scale, r)
