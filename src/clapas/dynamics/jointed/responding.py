"""What impulses do: velocities at the end of the step, and what joints impose if it ends with them."""

from __future__ import annotations

import numpy as np

from clapas.compiled import put, subroutine
from clapas.dynamics.few.tables import Placed, Rigid, Sizes
from clapas.dynamics.jointed.holding import differ, end_rate, gap_of, join, lead
from clapas.dynamics.jointed.posing import JointedProblem
from clapas.dynamics.jointed.rows import hold_back
from clapas.dynamics.jointed.tables import Driven, DriveTable, Held, Linked, Scheme
from clapas.dynamics.joints.drives import AT_LIMIT, PASSED
from clapas.typing import Array

SHARE = 1e-5  # of what joints and contacts change: less, and the problem is not solved again

ENDS, GOES_ON, PASSES = 0, 1, 2
"""The velocities are those of the end; what joints impose has changed; a limit is to join the problem."""


@subroutine
def respond(
    problem: JointedProblem,
    r: Array,
    linked: Linked,
    drives: DriveTable,
    rigid: Rigid,
    middle: Placed,
    driven: Driven,
    scheme: Scheme,
    sizes: Sizes,
    is_last: bool,
    held: Held,
    velocity: Array,
    impulse: Array,
) -> int:
    """Write velocities (N, size) and impulses of joints (j,) under the impulses r (m, d).

    Where what joints impose changes with them by more than a share, ``held`` is put right, unless it
    ``is_last``.
    """
    inverse_root, y, change = rigid.diagonals[2], np.zeros(velocity.shape), np.zeros(len(impulse))
    for i in range(len(r)):
        for end in range(2):
            body = problem.bodies[i, end]
            if body >= 0:
                for k in range(r.shape[1]):
                    if r[i, k] != 0.0:
                        for e in range(velocity.shape[1]):
                            y[body, e] += problem.G[i, end, k, e] * r[i, k]
    hold_back(linked, held.rows, y, change)
    for i in range(len(y)):
        for e in range(velocity.shape[1]):
            velocity[i, e] = held.velocity[i, e] + y[i, e] * inverse_root[i, e]
    for j in range(len(impulse)):
        impulse[j] = held.impulse[j] + change[j]
    if is_last or len(r) == 0:
        return ENDS
    ahead, own = np.empty(len(held.ahead)), np.empty(len(impulse))
    free, without = np.empty(velocity.shape), np.empty(velocity.shape)
    put(held.free, free)
    put(held.velocity, without)
    for i in range(len(ahead)):
        ahead[i] = held.ahead[i]
    for j in range(len(own)):
        own[j] = held.impulse[j]
    lead(linked, drives, rigid, middle, driven, scheme, sizes, velocity, held)
    join(linked, rigid, held)
    passes = False
    for k in range(len(held.active) if drives.has_links else 0):
        rate = end_rate(linked, held, rigid, k, velocity)
        for side in range(2):
            gap, nothing = gap_of(drives, held, k, side)
            travel = scheme.dt * (rate if side == 0 else -rate)
            beyond = max(gap, 0.0) + travel < -PASSED / AT_LIMIT * nothing
            if beyond and np.isfinite(gap) and drives.numbers[3, k] == 0.0 and not held.active[k, side]:
                held.active[k, side] = passes = True
    if passes:
        return PASSES
    moved = np.empty(velocity.shape)
    for i in range(len(y)):
        for e in range(velocity.shape[1]):
            moved[i, e] = held.velocity[i, e] + y[i, e] * inverse_root[i, e]
    if differ(rigid, velocity, moved, held.free, SHARE):
        return GOES_ON
    put(free, held.free)
    put(without, held.velocity)
    for i in range(len(ahead)):
        held.ahead[i] = ahead[i]
    for j in range(len(own)):
        held.impulse[j] = own[j]
    return ENDS
