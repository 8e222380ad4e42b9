"""The joints at the middle of a step, and the motion there would be without contact.

What joints impose is said at the end of the step, and depends on the velocities there
(:mod:`clapas.dynamics.joints.instep`): it is found by repeating until the velocities stay the same.
"""

from __future__ import annotations

import numpy as np

from clapas.bodies.rigid.motion import GYRO_SHARE, gyrate, move
from clapas.compiled import put, subroutine
from clapas.dynamics.few.tables import Placed, Rigid, Sizes
from clapas.dynamics.jointed.rows import (
    along_bodies,
    along_rows,
    factor_rows,
    own_rate_of,
    place,
    rate_of,
    solve_rows,
)
from clapas.dynamics.jointed.tables import SERVO, TORQUE, Driven, DriveTable, Held, Linked, Scheme
from clapas.dynamics.joints.drives import AT_LIMIT
from clapas.typing import Array

ROUNDS = 12  # at most
SHARE = 1e-12  # of what joints change: less is rounding
ROUNDING = 4.0 * float(np.finfo(float).eps)  # of the velocities: nor can less be told


@subroutine
def hold(
    linked: Linked,
    drives: DriveTable,
    rigid: Rigid,
    start: Placed,
    middle: Placed,
    free: Array,
    x: Array,
    target: Array,
    driven: Driven,
    scheme: Scheme,
    sizes: Sizes,
) -> tuple[bool, Held]:
    """Make the rows at the middle of a step, and find the velocities at its end without contact.

    Parameters
    ----------
    linked, drives, rigid, sizes
        What does not change.
    start, middle : Placed
        The bodies there; the velocities of the middle are those the step starts from.
    free : array (N, size)
        Velocities at the end without joints.
    x, target : arrays (k,)
        Coordinates at the start, and what motors are asked for.
    driven, scheme
        What the world does; the step.

    Returns
    -------
    bool
        False if rows are redundant: then nothing else was done.
    Held
        The joints and the motion.
    """
    t, size, n = linked.terms.shape[1], len(sizes.body), linked.n_closing
    movable, begin = rigid.flags[0], drives.numbers[0]
    value = np.empty(t)
    of_a, of_b = np.zeros((t, size)), np.zeros((t, size))
    along = np.zeros((4, len(x)))
    place(linked, start.position, start.orientation, n, x, begin, sizes, value, of_a, of_b)
    near = np.empty(len(x))
    for k in range(len(x)):
        along[0, k], along[2, k] = x[k], rate_of(linked, n + k, of_a, of_b, middle.velocity)
        near[k] = x[k] + scheme.before * along[2, k]
    place(linked, middle.position, middle.orientation, 0, near, begin, sizes, value, of_a, of_b)
    push = np.zeros(free.shape)
    for k in range(len(x)):
        along[1, k] = value[n + k]
        if drives.motor[k] == TORQUE:
            along[3, k] = scheme.dt * target[k]
            for end in range(2):
                body = linked.terms[1 + end, n + k]
                if body >= 0 and movable[body]:
                    of = of_a if end == 0 else of_b
                    for m in range(size):
                        push[body, m] += along[3, k] * of[n + k, m] * rigid.diagonals[2, body, m] ** 2
    soft, imposed = soft_rows(drives, along, target, scheme)
    independent, rows = factor_rows(linked, rigid, of_a, of_b, soft)
    held = Held(
        of_a,
        of_b,
        along,
        imposed,
        push,
        np.zeros(t),
        np.empty(free.shape),
        np.empty(free.shape),
        np.empty(len(linked.offset)),
        np.zeros((len(x), 2), dtype=np.bool_),
        rows,
    )
    if not independent:
        return False, held
    put(free, held.free)
    join(linked, rigid, held)
    previous = np.empty(free.shape)
    for _ in range(ROUNDS):
        put(held.velocity, previous)
        lead(linked, drives, rigid, middle, driven, scheme, sizes, held.velocity, held)
        join(linked, rigid, held)
        if not differ(rigid, previous, held.velocity, held.free, SHARE):
            break
    watch(linked, drives, rigid, scheme, held)
    return True, held


@subroutine
def soft_rows(drives: DriveTable, along: Array, target: Array, scheme: Scheme) -> tuple[Array, Array]:
    """Compliance and imposed rate of springs, dampers and motors without bound, (s,) each.

    See :mod:`clapas.dynamics.joints.drives`.
    """
    count, h, theta = len(drives.soft), scheme.dt, scheme.theta
    soft, imposed = np.zeros(count), np.empty(count)
    for i in range(count):
        k = drives.soft[i]
        if i < drives.n_springs:
            stiffness, rest, damping = drives.numbers[5, k], drives.numbers[6, k], drives.numbers[7, k]
            s = h * (theta * theta * h * stiffness + damping)
            ahead = along[0, k] + theta * (1.0 - theta) * h * along[2, k]
            soft[i], imposed[i] = 1.0 / s, h * stiffness * (ahead - rest) / s
        else:
            soft[i], imposed[i] = motor_row(drives, k, along[1, k], target[k], scheme)
    return soft, imposed


@subroutine
def motor_row(
    drives: DriveTable, k: int, middle: float, target: float, scheme: Scheme
) -> tuple[float, float]:
    """The same of the velocity motor, which is not soft, or servo on coordinate k."""
    if drives.motor[k] != SERVO:
        return 0.0, -target
    stiffness, h = drives.numbers[9, k], scheme.dt
    s = h * (scheme.theta * h * stiffness + drives.numbers[10, k])
    return 1.0 / s, h * stiffness * (middle - target) / s


@subroutine
def join(linked: Linked, rigid: Rigid, held: Held) -> None:
    """Write the velocities at the end without contact, and the impulses of the joints, from ``held.free``."""
    rows, mass_root, inverse_root = held.rows, rigid.diagonals[1], rigid.diagonals[2]
    n_rows = len(linked.offset)
    x, y = np.zeros(n_rows), np.empty(held.free.shape)
    for e in range(linked.entries.shape[1]):
        x[linked.entries[0, e]] -= linked.factor[e] * held.ahead[linked.entries[1, e]]
    for i in range(len(held.imposed)):
        x[linked.n_held + i] -= held.imposed[i]
    for j in range(n_rows):
        x[j] /= rows.length[j]
    for i in range(len(y)):
        for k in range(held.free.shape[1]):
            y[i, k] = -(held.free[i, k] + held.push[i, k]) * mass_root[i, k]
    along_rows(linked, rows, y, x)
    solve_rows(linked, rows, x)
    for i in range(len(y)):
        for k in range(held.free.shape[1]):
            y[i, k] = 0.0
    along_bodies(linked, rows, x, y)
    for j in range(n_rows):
        held.impulse[j] = x[j] / rows.length[j]
    for i in range(len(y)):
        for k in range(held.free.shape[1]):
            held.velocity[i, k] = held.free[i, k] + held.push[i, k] + y[i, k] * inverse_root[i, k]


@subroutine
def lead(
    linked: Linked,
    drives: DriveTable,
    rigid: Rigid,
    middle: Placed,
    driven: Driven,
    scheme: Scheme,
    sizes: Sizes,
    velocity: Array,
    held: Held,
) -> None:
    """Write what joints impose, and velocities without impulses, if the step ends with these (N, size)."""
    t, movable = linked.terms.shape[1], rigid.flags[0]
    position, orientation = np.empty(middle.position.shape), np.empty(middle.orientation.shape)
    move(middle.position, middle.orientation, velocity, scheme.after, position, orientation)
    value, of_a, of_b = np.empty(t), np.zeros(held.of_a.shape), np.zeros(held.of_b.shape)
    begin = drives.numbers[0]
    place(linked, position, orientation, 0, begin, begin, sizes, value, of_a, of_b)
    at_end = np.empty(velocity.shape)
    for body in range(len(velocity)):
        for k in range(velocity.shape[1]):
            at_end[body, k] = driven.velocity[body, k] if driven.is_driven[body] else velocity[body, k]
    for i in range(t):
        own = own_rate_of(linked, i, held.of_a, held.of_b, velocity, movable)
        held.ahead[i] = rate_of(linked, i, of_a, of_b, at_end) - own
    if scheme.gyrates:
        turned, without = np.empty(velocity.shape), np.empty(velocity.shape)
        bodies = rigid.diagonals[0], rigid.inertia, movable, rigid.flags[1]
        given = middle.velocity, held.free, velocity, *bodies, driven.kick, scheme.dt, GYRO_SHARE
        gyrate(*given, turned, without)
        put(without, held.free)


@subroutine
def differ(rigid: Rigid, before: Array, after: Array, free: Array, share: float) -> bool:
    """Whether velocities (N, size) changed by more than a share of what impulses change of those without."""
    change, kick, all_of_it = 0.0, 0.0, 0.0
    for i in range(len(before)):
        if rigid.flags[0, i]:
            for k in range(before.shape[1]):
                mass = rigid.diagonals[0, i, k]
                change += mass * (after[i, k] - before[i, k]) ** 2
                kick += mass * (after[i, k] - free[i, k]) ** 2
                all_of_it += mass * after[i, k] ** 2
    return bool(change > share * share * kick and change > ROUNDING * ROUNDING * all_of_it)


# ---------------------------------------------------------------- limits


@subroutine
def end_rate(linked: Linked, held: Held, rigid: Rigid, k: int, velocity: Array) -> float:
    """Rate of coordinate k at the end of the step, from the velocities (N, size) there."""
    i = linked.n_closing + k
    own = own_rate_of(linked, i, held.of_a, held.of_b, velocity, rigid.flags[0])
    return float(own + held.ahead[i])


@subroutine
def gap_of(drives: DriveTable, held: Held, k: int, side: int) -> tuple[float, float]:
    """How far coordinate k is from its lower or upper limit at the middle, and what gap counts as zero."""
    limit = drives.numbers[1 + side, k]
    gap = held.along[1, k] - limit if side == 0 else limit - held.along[1, k]
    return gap, AT_LIMIT * max(1.0, abs(limit) if np.isfinite(limit) else 0.0)


@subroutine
def watch(linked: Linked, drives: DriveTable, rigid: Rigid, scheme: Scheme, held: Held) -> None:
    """Mark the limits that may act if the step ends at about the velocities without contact."""
    if not drives.has_links:
        return
    for k in range(len(held.active)):
        rate, before = end_rate(linked, held, rigid, k, held.velocity), held.along[2, k]
        fast = max(abs(rate), abs(before))
        slow = abs(before) <= abs(rate - before)
        for side in range(2):
            gap, nothing = gap_of(drives, held, k, side)
            # With restitution an impact waits until the limit is passed.
            waits = drives.numbers[3, k] > 0.0 and gap > nothing and not slow
            held.active[k, side] = gap <= 2.0 * scheme.dt * fast + nothing and not waits and np.isfinite(gap)
