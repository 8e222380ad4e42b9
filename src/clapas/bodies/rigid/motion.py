"""Kernels of rigid bodies: their motion, and the rows of their contacts.

Motion. A body spins by ω in its own frame, where the inertia I is constant and diagonal. Over a step h
orientations follow Q ← Q exp(h ω). The gyroscopic term is taken by the midpoint rule,

    I (ω⁺ − ω⁻) + h ω_m × I ω_m = I k,    ω_m = (ω⁻ + ω⁺)/2,

where k is the change of spin by all impulses of the step: loads, contacts. The term does no work, as
ω_m·(ω_m × I ω_m) is zero, and I k does the work ω_m·I k: energies balance to rounding, and without impulses
the size |Iω| of the angular momentum is kept too. The error is second order in h.

Contact rows. At a contact with frame F (rows: normal, tangents) and point p, the velocity of b relative to a
is u = F (v_b + ω_b × l_b − v_a − ω_a × l_a), l = p − centre. The angular columns of H are therefore the rows
of l × F, written in the body frame. They are scaled here to units of unit mass (see
``clapas.problems.blocks``). Bodies that are not movable are the ground; their velocity at the contact goes
into w.

Where the contact carries a couple, further rows give the rotation of b relative to a along the frame,
F (ω_b − ω_a): spin about the normal, then rolling about the tangents; in 2-D rolling alone.
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import inlined, kernel, rounded, subroutine
from clapas.compiled.sharing import launch
from clapas.compiled.threads import Worker, chunk, thread_count
from clapas.linalg.quaternions import rotate, rotate_back
from clapas.typing import Array, Indices, Mask

SAME = 4.0 * float(np.finfo(float).eps)  # relative difference of velocities that rounding may cause
STRIDE = 1024  # bodies whose work is summed together, whatever the number of threads
GYRO_ITERATIONS = 50
GYRO_ROUNDS = 4  # problems solved at most in a step in which contacts change the gyroscopic term or joints
GYRO_SHARE = 1e-3
"""Fraction of the change by contacts below which the gyroscopic term is corrected without solving again.

If contacts change the spin by Δω, the term taken at the mean spin changes by h (Δω × I ω)/I, about h |ω| of
Δω. So further rounds are made only where h |ω| > 10⁻³, a radian in a thousand steps. Below, the relative
error of the change of velocities at contacts is h |ω|. The error of the scheme is as large anyway: over the
step the body turns by h |ω| under impulses of fixed direction. The energy balance is exact in both cases.
"""


def moved(position: Array, orientation: Array, velocity: Array, h: float) -> tuple[Array, Array]:
    """Positions and orientations after a time h at constant velocity."""
    new_position, new_orientation = np.empty_like(position), np.empty_like(orientation)
    bodies = position, orientation, velocity, h, new_position, new_orientation
    size = thread_count(None, len(position), len(position))
    if size == 1:
        move(*bodies)
    else:
        launch(size, move_some, *bodies)
    return new_position, new_orientation


@kernel
def move_some(
    worker: Worker,
    position: Array,
    orientation: Array,
    velocity: Array,
    h: float,
    new_position: Array,
    new_orientation: Array,
) -> None:
    """One thread's part of the positions and orientations."""
    i, j = chunk(worker, len(position))
    move(position[i:j], orientation[i:j], velocity[i:j], h, new_position[i:j], new_orientation[i:j])


@kernel
def move(
    position: Array,
    orientation: Array,
    velocity: Array,
    h: float,
    new_position: Array,
    new_orientation: Array,
) -> None:
    """Write positions x + h v and orientations after a time h: quaternions Q exp(h ω / 2), or angles."""
    d = position.shape[1]
    for i in range(len(position)):
        for k in range(d):
            new_position[i, k] = plus_multiple(position[i, k], h, velocity[i, k])
        if d == 2:
            new_orientation[i, 0] = plus_multiple(orientation[i, 0], h, velocity[i, 2])
        else:
            turn(orientation[i], velocity[i], h, new_orientation[i])


@rounded
def plus_multiple(x: float, h: float, v: float) -> float:
    """Return x + h v with each operation rounded, as NumPy does."""
    return x + h * v


@inlined
def turn(q: Array, velocity: Array, h: float, turned: Array) -> None:
    """Write the unit quaternion Q exp(h ω / 2)."""
    x, y, z = 0.5 * h * velocity[3], 0.5 * h * velocity[4], 0.5 * h * velocity[5]
    angle = np.sqrt(x * x + y * y + z * z)
    # sin(angle)/angle, by its series where the quotient would lose digits
    sinc = 1.0 - angle * angle / 6.0 if angle < 1e-4 else np.sin(angle) / angle
    c = np.cos(angle) if angle > 0.0 else 1.0  # skipped for walls and sleeping bodies
    x, y, z = sinc * x, sinc * y, sinc * z
    w = q[0] * c - q[1] * x - q[2] * y - q[3] * z
    i_1 = q[0] * x + q[1] * c + q[2] * z - q[3] * y
    i_2 = q[0] * y - q[1] * z + q[2] * c + q[3] * x
    i_3 = q[0] * z + q[1] * y - q[2] * x + q[3] * c
    scale = 1.0 / np.sqrt(w * w + i_1 * i_1 + i_2 * i_2 + i_3 * i_3)
    turned[0], turned[1] = w * scale, i_1 * scale
    turned[2], turned[3] = i_2 * scale, i_3 * scale


@kernel
def fall(
    velocity: Array, gain: Array, inertia: Array, movable: Mask, kick: Array, h: float, free: Array
) -> None:
    """Write the velocities after a time h of free fall; those of bodies that are not movable are unchanged.

    ``gain`` (d,) is the velocity gained by gravity in that time (m/s), ``kick`` (n, 3) that by torques
    (:func:`spin`).
    """
    d = len(gain)
    for i in range(len(velocity)):
        for k in range(velocity.shape[1]):
            free[i, k] = velocity[i, k]
        for k in range(d):
            free[i, k] += gain[k]
    if d == 3:
        spin(free, inertia, h, kick)
    for i in range(len(velocity)):
        if not movable[i]:
            for k in range(velocity.shape[1]):
                free[i, k] = velocity[i, k]


@kernel
def fall_some(
    worker: Worker,
    velocity: Array,
    gain: Array,
    inertia: Array,
    movable: Mask,
    kick: Array,
    h: float,
    free: Array,
) -> None:
    """One thread's part of the velocities after free fall."""
    i, j = chunk(worker, len(velocity))
    fall(velocity[i:j], gain, inertia[i:j], movable[i:j], kick[i:j], h, free[i:j])


@kernel
def spin(velocity: Array, inertia: Array, h: float, kick: Array) -> None:
    """Advance the angular velocities of 3-D bodies of unequal moments by h, in place.

    ``kick`` (n, 3) is the change of each by the impulses of the step (rad/s). Bodies of equal moments are
    left as they are: they only gain their kick.
    """
    for i in range(len(velocity)):
        a, b, c = inertia[i, 0], inertia[i, 1], inertia[i, 2]
        if a == b and b == c:
            continue
        x_0, y_0, z_0 = velocity[i, 3], velocity[i, 4], velocity[i, 5]
        k_x, k_y, k_z = x_0 + kick[i, 0], y_0 + kick[i, 1], z_0 + kick[i, 2]
        x, y, z = k_x, k_y, k_z
        for _ in range(GYRO_ITERATIONS):
            m_x, m_y, m_z = 0.5 * (x_0 + x), 0.5 * (y_0 + y), 0.5 * (z_0 + z)
            x_1 = k_x + h * (b - c) / a * m_y * m_z
            y_1 = k_y + h * (c - a) / b * m_z * m_x
            z_1 = k_z + h * (a - b) / c * m_x * m_y
            change = abs(x_1 - x) + abs(y_1 - y) + abs(z_1 - z)
            x, y, z = x_1, y_1, z_1
            if change <= 1e-16 * (abs(x) + abs(y) + abs(z)):
                break
        velocity[i, 3], velocity[i, 4], velocity[i, 5] = x, y, z


@kernel
def gyrate(
    before: Array,
    free: Array,
    after: Array,
    masses: Array,
    inertia: Array,
    movable: Mask,
    gyrates: Mask,
    push: Array,
    h: float,
    share: float,
    turned: Array,
    turned_free: Array,
) -> bool:
    """Recompute the gyroscopic term of 3-D bodies at the mean of the velocities before and after contact.

    Parameters
    ----------
    before, free, after : arrays (n, 6)
        Velocities at the start of a step, at its end without contacts, and with them.
    masses, inertia : arrays (n, 6) and (n, 3)
        Diagonal of M, and its last columns.
    movable, gyrates : arrays (n,) of bool
        Bodies that move, and those of them with a gyroscopic term.
    push : array (n, 3)
        Change of the spins by torques other than those of contacts (rad/s).
    h, share : float
        Step (s); fraction of a change that counts as small.
    turned, turned_free : arrays (n, 6)
        Output: the velocities with and without contacts, under the same impulses.

    Returns
    -------
    bool
        Whether the change is more than ``share`` of that made by contacts, in the metric of the masses.
    """
    kick = np.empty((len(before), 3))
    for i in range(len(before)):
        for k in range(3):
            kick[i, k] = after[i, 3 + k] - free[i, 3 + k] + push[i, k]
        for k in range(6):
            turned[i, k] = before[i, k]
    spin(turned, inertia, h, kick)
    change, total = 0.0, 0.0
    for i in range(len(before)):
        for k in range(6):
            if k < 3 or not gyrates[i]:
                turned[i, k] = after[i, k]
            impulse = after[i, k] - free[i, k]
            turned_free[i, k] = turned[i, k] - impulse
            if movable[i]:
                change += masses[i, k] * (turned[i, k] - after[i, k]) ** 2
                total += masses[i, k] * impulse**2
    return bool(change > share * share * total)


def spin_freely(velocity: Array, inertia: Array, h: float) -> None:
    """Advance the angular velocities of 3-D bodies without torque by h, in place."""
    spin(velocity, inertia, h, np.zeros((len(velocity), 3)))


@kernel
def work(mass: Array, inertia: Array, movable: Mask, before: Array, free: Array, after: Array) -> float:
    """Work Σ M (v⁺ − v_free)·(v⁻ + v⁺)/2 of the impulses of a step on the movable bodies (J).

    Bodies without impulses add exactly zero: v⁺ is scaled by the root of M and back, so that its last bits
    differ from those of v_free.
    """
    total = 0.0
    for first in range(0, len(mass), STRIDE):
        total += work_on_some(first, mass, inertia, movable, before, free, after)
    return 0.5 * total


@inlined
def work_on_some(
    first: int, mass: Array, inertia: Array, movable: Mask, before: Array, free: Array, after: Array
) -> float:
    """Twice the work on the bodies of one partial sum."""
    size = before.shape[1]
    d, total = size - inertia.shape[1], 0.0
    for i in range(first, min(first + STRIDE, len(mass))):
        if movable[i]:
            for k in range(size):
                change = after[i, k] - free[i, k]
                if abs(change) > SAME * abs(free[i, k]):
                    mass_k = mass[i] if k < d else inertia[i, k - d]
                    total += mass_k * change * (before[i, k] + after[i, k])
    return total


def work_on_many(
    mass: Array, inertia: Array, movable: Mask, before: Array, free: Array, after: Array
) -> float:
    """The same, :func:`work`, by several threads where there are many bodies."""
    bodies, n = (mass, inertia, movable, before, free, after), len(mass)
    threads = thread_count(None, n, n)
    if threads == 1:
        return work(*bodies)
    sums = np.empty(-(-n // STRIDE))
    launch(threads, add_work, *bodies, sums)
    return 0.5 * float(np.add.accumulate(sums)[-1])  # one after the other, as above


@kernel
def add_work(
    worker: Worker,
    mass: Array,
    inertia: Array,
    movable: Mask,
    before: Array,
    free: Array,
    after: Array,
    sums: Array,
) -> None:
    """One thread's part of the partial sums."""
    first, last = chunk(worker, len(sums))
    for k in range(first, last):
        sums[k] = work_on_some(k * STRIDE, mass, inertia, movable, before, free, after)


@inlined
def arm(i: int, side: int, k: int, body: int, point: Array, shift: Array, position: Array) -> float:
    """Component k of the arm from the centre of a body to contact i; of bodies b to their periodic image.

    ``shift`` has no rows where there are no periodic images.
    """
    length = point[i, k] - position[body, k]
    if side == 1 and len(shift) > 0:
        length -= shift[i, k]
    return float(length)


@kernel
def fill_blocks_3d(
    bodies: Indices,
    point: Array,
    shift: Array,
    frame: Array,
    position: Array,
    orientation: Array,
    velocity: Array,
    inverse_root: Array,
    movable: Mask,
    G: Array,
    w: Array,
) -> None:
    """Fill the blocks G (n, 2, d, size) of each contact and the velocity w (n, d) of the walls."""
    for i in range(len(bodies)):
        for side in range(2):
            body = bodies[i, side]
            sign = 1.0 if side == 1 else -1.0
            l_x = arm(i, side, 0, body, point, shift, position)
            l_y = arm(i, side, 1, body, point, shift, position)
            l_z = arm(i, side, 2, body, point, shift, position)
            q, scale, v = orientation[body], inverse_root[body], velocity[body]
            for k in range(3):
                f_x, f_y, f_z = sign * frame[i, k, 0], sign * frame[i, k, 1], sign * frame[i, k, 2]
                m_x, m_y, m_z = l_y * f_z - l_z * f_y, l_z * f_x - l_x * f_z, l_x * f_y - l_y * f_x
                b_x, b_y, b_z = rotate_back(q, m_x, m_y, m_z)
                if movable[body]:
                    row = G[i, side, k]
                    row[0], row[1], row[2] = f_x * scale[0], f_y * scale[1], f_z * scale[2]
                    row[3], row[4], row[5] = b_x * scale[3], b_y * scale[4], b_z * scale[5]
                else:
                    w[i, k] += f_x * v[0] + f_y * v[1] + f_z * v[2] + b_x * v[3] + b_y * v[4] + b_z * v[5]


@kernel
def fill_blocks_2d(
    bodies: Indices,
    point: Array,
    shift: Array,
    frame: Array,
    position: Array,
    orientation: Array,
    velocity: Array,
    inverse_root: Array,
    movable: Mask,
    G: Array,
    w: Array,
) -> None:
    """Fill the blocks G (n, 2, d, size) of each contact and the velocity w (n, d) of the walls."""
    for i in range(len(bodies)):
        for side in range(2):
            body = bodies[i, side]
            sign = 1.0 if side == 1 else -1.0
            l_x = arm(i, side, 0, body, point, shift, position)
            l_y = arm(i, side, 1, body, point, shift, position)
            scale, v = inverse_root[body], velocity[body]
            for k in range(2):
                f_x, f_y = sign * frame[i, k, 0], sign * frame[i, k, 1]
                moment = l_x * f_y - l_y * f_x
                if movable[body]:
                    row = G[i, side, k]
                    row[0], row[1], row[2] = f_x * scale[0], f_y * scale[1], moment * scale[2]
                else:
                    w[i, k] += f_x * v[0] + f_y * v[1] + moment * v[2]


@kernel
def fill_couples_3d(
    bodies: Indices,
    frame: Array,
    orientation: Array,
    velocity: Array,
    inverse_root: Array,
    movable: Mask,
    G: Array,
    w: Array,
) -> None:
    """Fill the rows 3 to 5 of G (n, 2, 6, 6) and w (n, 6): rotation of b relative to a along the frame."""
    for i in range(len(bodies)):
        for side in range(2):
            body = bodies[i, side]
            sign = 1.0 if side == 1 else -1.0
            q, scale, v = orientation[body], inverse_root[body], velocity[body]
            for k in range(3):
                b_x, b_y, b_z = rotate_back(
                    q, sign * frame[i, k, 0], sign * frame[i, k, 1], sign * frame[i, k, 2]
                )
                if movable[body]:
                    row = G[i, side, 3 + k]
                    row[3], row[4], row[5] = b_x * scale[3], b_y * scale[4], b_z * scale[5]
                else:
                    w[i, 3 + k] += b_x * v[3] + b_y * v[4] + b_z * v[5]


@kernel
def fill_couples_2d(
    bodies: Indices, velocity: Array, inverse_root: Array, movable: Mask, G: Array, w: Array
) -> None:
    """Fill the row 2 of G (n, 2, 3, 3) and w (n, 3): rotation of b relative to a."""
    for i in range(len(bodies)):
        for side in range(2):
            body = bodies[i, side]
            sign = 1.0 if side == 1 else -1.0
            if movable[body]:
                G[i, side, 2, 2] = sign * inverse_root[body, 2]
            else:
                w[i, 2] += sign * velocity[body, 2]


@subroutine
def normal_velocity(
    i: int,
    bodies: Indices,
    point: Array,
    shift: Array,
    normal: Array,
    position: Array,
    orientation: Array,
    velocity: Array,
) -> float:
    """The normal velocity at contact i of b relative to a, movable or not: positive when separating."""
    total = 0.0
    for side in range(2):
        body = bodies[i, side]
        v, sign = velocity[body], 1.0 if side == 1 else -1.0
        l_x = arm(i, side, 0, body, point, shift, position)
        l_y = arm(i, side, 1, body, point, shift, position)
        if normal.shape[1] == 2:
            total += sign * (normal[i, 0] * (v[0] - v[2] * l_y) + normal[i, 1] * (v[1] + v[2] * l_x))
            continue
        l_z = arm(i, side, 2, body, point, shift, position)
        x, y, z = rotate(orientation[body], v[3], v[4], v[5])
        total += sign * normal[i, 0] * (v[0] + y * l_z - z * l_y)
        total += sign * normal[i, 1] * (v[1] + z * l_x - x * l_z)
        total += sign * normal[i, 2] * (v[2] + x * l_y - y * l_x)
    return total
