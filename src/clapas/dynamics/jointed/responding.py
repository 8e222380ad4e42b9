"""Velocities at the end of the step under known impulses, and the correction of the rows of joints."""

from __future__ import annotations

import numpy as np

from clapas.compiled import put, subroutine
from clapas.dynamics.few.tables import Placed, Rigid
from clapas.dynamics.jointed.holding import differ, gap_of, join, lead
from clapas.dynamics.jointed.posing import Listed
from clapas.dynamics.jointed.rows import hold_back, own_rate_of
from clapas.dynamics.jointed.tables import Driven, DriveTable, Held, Linked, Scheme
from clapas.dynamics.joints.drives import AT_LIMIT, PASSED
from clapas.typing import Array, Indices, Mask

SHARE = 1e-5  # of the change by joints and contacts: below it the problem is not solved again

ENDS, GOES_ON, PASSES = 0, 1, 2
"""Converged; the rows of joints have changed; a limit must be added to the problem."""


@subroutine
def respond(
    listed: Listed,
    r: Array,
    linked: Linked,
    drives: DriveTable,
    rigid: Rigid,
    middle: Placed,
    driven: Driven,
    scheme: Scheme,
    is_last: bool,
    held: Held,
    velocity: Array,
    impulse: Array,
) -> int:
    """Write velocities (N, size) and impulses of joints (j,) under the impulses r (m, d).

    Where the rows of joints change with them by more than a share, ``held`` is updated, unless this is the
    last iteration (``is_last``).
    """
    terms, movable, inverse_root = linked.terms, rigid.flags[0], rigid.diagonals[2]
    y, change = np.zeros(velocity.shape), np.zeros(len(impulse))
    push_bodies(listed.G, listed.bodies, r, y)
    hold_back(linked.blocks, linked.elimination, held.rows, y, change)
    add_motion(held.velocity, y, inverse_root, velocity)
    for j in range(len(impulse)):
        impulse[j] = held.impulse[j] + change[j]
    if is_last or len(r) == 0:
        return ENDS
    ahead, row_impulse = held.ahead.copy(), held.impulse.copy()
    free, without = np.empty(velocity.shape), np.empty(velocity.shape)
    put(held.free, free)
    put(held.velocity, without)
    lead(terms, rigid, middle, driven, scheme, velocity, held.of, held.ahead, held.free)
    join(linked.sums, linked.blocks, linked.elimination, rigid.diagonals, held)
    if drives.has_links and pass_limits(terms.ends, drives.numbers, movable, scheme.dt, velocity, held):
        return PASSES
    moved = np.empty(velocity.shape)
    add_motion(held.velocity, y, inverse_root, moved)
    if differ(movable, rigid.diagonals[0], velocity, moved, held.free, SHARE):
        return GOES_ON
    put(free, held.free)
    put(without, held.velocity)
    for i in range(len(ahead)):
        held.ahead[i] = ahead[i]
    for j in range(len(row_impulse)):
        held.impulse[j] = row_impulse[j]
    return ENDS


@subroutine
def push_bodies(G: Array, bodies: Indices, r: Array, y: Array) -> None:
    """Add Gᵀ r to velocities y (N, size) in units of unit mass."""
    for i in range(len(r)):
        for end in range(2):
            body = bodies[i, end]
            if body >= 0:
                for k in range(r.shape[1]):
                    if r[i, k] != 0.0:
                        for e in range(y.shape[1]):
                            y[body, e] += G[i, end, k, e] * r[i, k]


@subroutine
def add_motion(velocity: Array, y: Array, inverse_root: Array, moved: Array) -> None:
    """Write velocities (N, size) with y, in units of unit mass, added."""
    for i in range(len(y)):
        for e in range(y.shape[1]):
            moved[i, e] = velocity[i, e] + y[i, e] * inverse_root[i, e]


@subroutine
def pass_limits(ends: Indices, numbers: Array, movable: Mask, dt: float, velocity: Array, held: Held) -> bool:
    """Mark the limits, without restitution, that velocities (N, size) pass; return whether there are any."""
    of, along, ahead, active, passes = held.of, held.along, held.ahead, held.active, False
    for k in range(len(active)):
        i = ends.shape[1] - len(active) + k
        rate = own_rate_of(ends, i, of, velocity, movable) + ahead[i]
        for side in range(2):
            gap, zero = gap_of(numbers[1 + side, k], along[1, k], side)
            travel = dt * (rate if side == 0 else -rate)
            beyond = max(gap, 0.0) + travel < -PASSED / AT_LIMIT * zero
            if beyond and np.isfinite(gap) and numbers[3, k] == 0.0 and not active[k, side]:
                active[k, side] = passes = True
    return passes
