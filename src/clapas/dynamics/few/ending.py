"""The end of a step: velocities under the impulses, positions, impulses in the world, work."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from clapas.bodies.rigid.motion import GYRO_SHARE, gyrate, move, work
from clapas.compiled import kernel, put
from clapas.dynamics.carrying import product, to_world
from clapas.dynamics.few.settling import plus_zero
from clapas.dynamics.few.tables import Placed, Posed, Rigid, Sizes
from clapas.problems.blocks import add_by_blocks
from clapas.typing import Array


@kernel
def respond(
    posed: Posed,
    r: Array,
    before: Array,
    free: Array,
    rigid: Rigid,
    kick: Array,
    dt: float,
    sizes: Sizes,
    velocity: Array,
    without: Array,
) -> bool:
    """Write the velocities (N, size) under the impulses r (n, d), and those without impulses.

    Where bodies gyrate, both with the gyroscopic term at the mean of the velocities before and after
    (:func:`clapas.bodies.rigid.motion.gyrate`), to which loads add ``kick`` (N, 3), in rad/s. Returns
    whether that matters to the contacts.
    """
    movable, gyrates = rigid.flags[0], rigid.flags[1]
    masses, inverse_root = rigid.diagonals[0], rigid.diagonals[2]
    y, plain = np.empty_like(posed.y_free), np.empty_like(free)
    put(posed.y_free, y)
    put(free, plain)
    add_by_blocks(posed.G, posed.bodies, r, y, sizes.components, sizes.body)
    for body in range(len(movable)):
        if movable[body]:
            for k in range(len(sizes.body)):
                plain[body, k] = plus_zero(inverse_root[body, k] * y[rigid.number[body], k])
    number = 0
    for body in range(len(gyrates)):
        number += gyrates[body]
    if number > 0 and len(r) > 0:
        bodies = masses, rigid.inertia, movable, gyrates
        return gyrate(before, free, plain, *bodies, kick, dt, GYRO_SHARE, velocity, without)
    put(plain, velocity)
    put(free, without)
    return False


Ended: TypeAlias = tuple[int, float, float]
"""How many contacts touch or carry, and the work of contacts and of walls (J)."""


@kernel
def end(
    posed: Posed,
    r: Array,
    middle: Placed,
    without: Array,
    rigid: Rigid,
    rest: float,
    after: Placed,
    impulse: Array,
) -> Ended:
    """Write where a step ends, ``rest`` (s) after its middle, and the impulses (n, d) in the world.

    ``without`` (N, size) are the velocities without impulses.
    """
    velocity = after.velocity
    move(middle.position, middle.orientation, velocity, rest, after.position, after.orientation)
    to_world(posed.frame, r, impulse)
    count = 0
    for i in range(len(r)):
        carries = False
        for k in range(r.shape[1]):
            carries = carries or r[i, k] != 0.0
        count += 1 if carries or not posed.apart[i] else 0
    done = work(rigid.diagonals[0], rigid.flags[0], middle.velocity, without, velocity)
    return count, done, product(r, posed.wall)
