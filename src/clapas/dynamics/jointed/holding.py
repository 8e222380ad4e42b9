"""The joints at the middle of a step, and the motion without contact.

The right-hand side of the rows refers to the end of the step, and depends on the velocities there
(:mod:`clapas.dynamics.joints.instep`): it is found by iterating until the velocities stay the same.
"""

from __future__ import annotations

import numpy as np

from clapas.bodies.rigid.motion import GYRO_SHARE, gyrate, move
from clapas.compiled import put, subroutine
from clapas.dynamics.few.tables import Placed, Rigid
from clapas.dynamics.jointed.rows import (
    along_bodies,
    along_rows,
    factor_rows,
    own_rate_of,
    place,
    rate_of,
    solve_rows,
)
from clapas.dynamics.jointed.tables import (
    SERVO,
    TORQUE,
    Driven,
    DriveTable,
    Elimination,
    Held,
    Linked,
    Scheme,
    Sums,
    Terms,
)
from clapas.dynamics.joints.drives import AT_LIMIT
from clapas.typing import Array, Indices, Mask

ROUNDS = 12  # most iterations
ASTRAY = 1e-2  # the same: an iteration that leaves more does not converge, as rows become redundant
SHARE = 1e-12  # of the change of velocities by joints: less is rounding
ROUNDING = 4.0 * float(np.finfo(float).eps)  # of the velocities: less is rounding, too


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
) -> tuple[bool, Held]:
    """Compute the rows at the middle of a step, and the velocities at its end without contact.

    Parameters
    ----------
    linked, drives, rigid
        Constant data.
    start, middle : Placed
        The bodies there; the velocities of the middle are those the step starts from.
    free : array (N, size)
        Velocities at the end without joints.
    x, target : arrays (k,)
        Coordinates at the start, and targets of motors.
    driven, scheme
        Driven walls and loads; the step.

    Returns
    -------
    bool
        False if rows are too nearly redundant: then the rest is of no use.
    Held
        The joints and the motion.
    """
    terms, sums, blocks, filling, elimination, _ = linked
    ends, n = terms.ends, terms.n_closing
    value, of = np.empty(ends.shape[1]), np.zeros((2, ends.shape[1], free.shape[1]))
    along, near = np.zeros((4, len(x))), np.empty(len(x))
    place(terms, start.position, start.orientation, n, x, value, of)
    for k in range(len(x)):
        along[0, k], along[2, k] = x[k], rate_of(ends, n + k, of, middle.velocity)
        near[k] = x[k] + scheme.before * along[2, k]
    place(terms, middle.position, middle.orientation, 0, near, value, of)
    for k in range(len(x)):
        along[1, k] = value[n + k]
        along[3, k] = scheme.dt * target[k] if drives.motor[k] == TORQUE else 0.0
    push = pushed(ends, of, along[3], rigid.flags[0], rigid.diagonals[2])
    soft, imposed = soft_rows(drives, along, target, scheme)
    clear, rows = factor_rows(ends, sums, blocks, filling, elimination, rigid.diagonals[2], of, soft)
    held = Held(
        of,
        along,
        imposed,
        push,
        np.zeros(len(value)),
        np.empty(free.shape),
        np.empty(free.shape),
        np.empty(len(sums.offset)),
        np.zeros((len(x), 2), dtype=np.bool_),
        rows,
    )
    if not clear:
        return False, held
    put(free, held.free)
    join(sums, blocks, elimination, rigid.diagonals, held)
    previous = np.empty(free.shape)
    for _ in range(ROUNDS):
        put(held.velocity, previous)
        lead(terms, rigid, middle, driven, scheme, held.velocity, of, held.ahead, held.free)
        join(sums, blocks, elimination, rigid.diagonals, held)
        if not differ(rigid.flags[0], rigid.diagonals[0], previous, held.velocity, held.free, SHARE):
            break
    else:
        if differ(rigid.flags[0], rigid.diagonals[0], previous, held.velocity, held.free, ASTRAY):
            return False, held
    if drives.has_links:
        watch(ends, n, drives.numbers, rigid.flags[0], scheme, held)
    return True, held


@subroutine
def pushed(ends: Indices, of: Array, impulse: Array, movable: Mask, inverse_root: Array) -> Array:
    """Change of the velocities (N, size) by impulses (k,) along the coordinates."""
    change, first = np.zeros(inverse_root.shape), ends.shape[1] - len(impulse)
    for k in range(len(impulse)):
        for side in range(2):
            body = ends[1 + side, first + k]
            if impulse[k] != 0.0 and body >= 0 and movable[body]:
                for m in range(inverse_root.shape[1]):
                    change[body, m] += impulse[k] * of[side, first + k, m] * inverse_root[body, m] ** 2
    return change


@subroutine
def soft_rows(drives: DriveTable, along: Array, target: Array, scheme: Scheme) -> tuple[Array, Array]:
    """Compliance and imposed rate of springs, dampers, rotors and motors without bound, (s,) each.

    See :mod:`clapas.dynamics.joints.drives`.
    """
    numbers, coordinates = drives.numbers, drives.soft
    count, h, theta = len(coordinates), scheme.dt, scheme.theta
    soft, imposed = np.zeros(count), np.empty(count)
    for i in range(count):
        k = coordinates[i]
        if i < drives.n_springs:
            stiffness, rest, damping = numbers[5, k], numbers[6, k], numbers[7, k]
            armature = numbers[11, k]
            s = h * (theta * theta * h * stiffness + damping) + armature
            ahead = along[0, k] + theta * (1.0 - theta) * h * along[2, k]
            soft[i] = 1.0 / s
            imposed[i] = (h * stiffness * (ahead - rest) - armature * along[2, k]) / s
        else:
            soft[i], imposed[i] = motor_row(numbers, drives.motor[k], k, along[1, k], target[k], scheme)
    return soft, imposed


@subroutine
def motor_row(
    numbers: Array, motor: int, k: int, middle: float, target: float, scheme: Scheme
) -> tuple[float, float]:
    """Compliance and imposed rate of the velocity motor, which is not soft, or servo on coordinate k."""
    if motor != SERVO:
        return 0.0, -target
    stiffness, h = numbers[9, k], scheme.dt
    s = h * (scheme.theta * h * stiffness + numbers[10, k])
    return 1.0 / s, h * stiffness * (middle - target) / s


@subroutine
def join(sums: Sums, blocks: Indices, elimination: Elimination, diagonals: Array, held: Held) -> None:
    """Write the velocities at the end without contact, and the impulses of the joints, from ``held.free``."""
    _, _, imposed, push, ahead, free, velocity, impulse, _, rows = held
    entries, factor, _, n_held = sums
    A, length, L, inverse = rows
    x, y = np.zeros(len(length)), np.empty(free.shape)
    for e in range(entries.shape[1]):
        x[entries[0, e]] -= factor[e] * ahead[entries[1, e]]
    for i in range(len(imposed)):
        x[n_held + i] -= imposed[i]
    for j in range(len(x)):
        x[j] /= length[j]
    for i in range(len(y)):
        for k in range(free.shape[1]):
            y[i, k] = -(free[i, k] + push[i, k]) * diagonals[1, i, k]
    along_rows(blocks, A, y, x)
    solve_rows(elimination, L, inverse, x)
    for i in range(len(y)):
        for k in range(free.shape[1]):
            y[i, k] = 0.0
    along_bodies(blocks, A, x, y)
    for j in range(len(x)):
        impulse[j] = x[j] / length[j]
    for i in range(len(y)):
        for k in range(free.shape[1]):
            velocity[i, k] = free[i, k] + push[i, k] + y[i, k] * diagonals[2, i, k]


@subroutine
def lead(
    terms: Terms,
    rigid: Rigid,
    middle: Placed,
    driven: Driven,
    scheme: Scheme,
    velocity: Array,
    of: Array,
    ahead: Array,
    free: Array,
) -> None:
    """Write ``ahead`` and ``free`` of :class:`Held` for a step that ends with velocities (N, size).

    ``of`` are the derivatives at the middle.
    """
    ends, movable = terms.ends, rigid.flags[0]
    position, orientation = np.empty(middle.position.shape), np.empty(middle.orientation.shape)
    move(middle.position, middle.orientation, velocity, scheme.after, position, orientation)
    value, there, at_end = np.empty(len(ahead)), np.zeros(of.shape), np.empty(velocity.shape)
    place(terms, position, orientation, 0, terms.start, value, there)
    for body in range(len(velocity)):
        for k in range(velocity.shape[1]):
            at_end[body, k] = driven.velocity[body, k] if driven.is_driven[body] else velocity[body, k]
    for i in range(len(ahead)):
        ahead[i] = rate_of(ends, i, there, at_end) - own_rate_of(ends, i, of, velocity, movable)
    if scheme.gyrates:
        turned, without = np.empty(velocity.shape), np.empty(velocity.shape)
        bodies = rigid.diagonals[0], rigid.inertia, movable, rigid.flags[1]
        arguments = middle.velocity, free, velocity, *bodies, driven.spin_change, scheme.dt, GYRO_SHARE
        gyrate(*arguments, turned, without)
        put(without, free)


@subroutine
def differ(movable: Mask, masses: Array, before: Array, after: Array, free: Array, share: float) -> bool:
    """Whether velocities (N, size) changed by more than a share of their change by impulses, after − free."""
    change, by_impulses, total = 0.0, 0.0, 0.0
    for i in range(len(before)):
        if movable[i]:
            for k in range(before.shape[1]):
                mass = masses[i, k]
                change += mass * (after[i, k] - before[i, k]) ** 2
                by_impulses += mass * (after[i, k] - free[i, k]) ** 2
                total += mass * after[i, k] ** 2
    return bool(change > share * share * by_impulses and change > ROUNDING * ROUNDING * total)


# ---------------------------------------------------------------- limits


@subroutine
def gap_of(limit: float, middle: float, side: int) -> tuple[float, float]:
    """Gap of a coordinate to its lower or upper limit at the middle, and the gap that counts as zero."""
    gap = middle - limit if side == 0 else limit - middle
    return gap, AT_LIMIT * max(1.0, abs(limit) if np.isfinite(limit) else 0.0)


@subroutine
def watch(ends: Indices, n_closing: int, numbers: Array, movable: Mask, scheme: Scheme, held: Held) -> None:
    """Mark the limits that may act if the step ends at about the velocities without contact."""
    of, along, ahead, velocity, active = held.of, held.along, held.ahead, held.velocity, held.active
    for k in range(len(active)):
        i, before = n_closing + k, along[2, k]
        rate = own_rate_of(ends, i, of, velocity, movable) + ahead[i]
        fast = max(abs(rate), abs(before))
        slow = abs(before) <= abs(rate - before)
        for side in range(2):
            gap, zero = gap_of(numbers[1 + side, k], along[1, k], side)
            # With restitution a limit acts only once it is passed.
            waits = numbers[3, k] > 0.0 and gap > zero and not slow
            active[k, side] = gap <= 2.0 * scheme.dt * fast + zero and not waits and np.isfinite(gap)
