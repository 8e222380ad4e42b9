"""The end of a step with joints: positions, joints closed, impulses in the world, work."""

from __future__ import annotations

import numpy as np

from clapas.bodies.rigid.motion import move, work
from clapas.compiled import put, subroutine
from clapas.dynamics.few.tables import Placed, Rigid
from clapas.dynamics.jointed.holding import soft_rows
from clapas.dynamics.jointed.linking import Acting
from clapas.dynamics.jointed.rows import (
    along_bodies,
    along_rows,
    are_redundant,
    factor_rows,
    own_rate_of,
    place,
    rate_of,
    solve_rows,
)
from clapas.dynamics.jointed.tables import DriveTable, Held, Linked, Scheme, Sums
from clapas.dynamics.joints.drives import LAWS_PER_COORDINATE, MOTOR
from clapas.dynamics.joints.projection import ITERATIONS, OPEN, ROUNDING, STALLED
from clapas.dynamics.warm_start import product, to_world
from clapas.typing import Array, Indices, Mask


@subroutine
def write_impulses(order: Indices, r: Array, frame: Array, apart: Mask, listed: Array, impulse: Array) -> int:
    """Write impulses ``listed`` (m, d) in the order of contacts and links, and those (n, d) in the world.

    ``r`` (m, d) are in the order of the islands. Returns the number of contacts that touch or carry.
    """
    n, d, count = len(apart), r.shape[1], 0
    for i in range(len(r)):
        for k in range(d):
            listed[order[i], k] = r[i, k]
    to_world(frame, listed[:n], impulse)
    for i in range(n):
        carries = False
        for k in range(d):
            carries = carries or listed[i, k] != 0.0
        count += 1 if carries or not apart[i] else 0
    return count


@subroutine
def works(
    acting: Acting,
    r: Array,
    wall: Array,
    linked: Linked,
    drives: DriveTable,
    rigid: Rigid,
    before: Array,
    held: Held,
    rows_impulse: Array,
    velocity: Array,
) -> tuple[float, float, float]:
    """Work (J) of all impulses, of walls, and through joints, of a step that ends with velocities (N, size).

    ``r`` are the impulses of contacts and links, ``before`` the velocities at the start.
    """
    n, n_closing, mean = len(wall), linked.terms.n_closing, np.empty(velocity.shape)
    ends, movable, of = linked.terms.ends, rigid.flags[0], held.of
    for i in range(len(mean)):
        for k in range(velocity.shape[1]):
            mean[i, k] = 0.5 * (before[i, k] + velocity[i, k])
    through = 0.0
    for i in range(len(acting.identity)):
        law, k = acting.identity[i] % LAWS_PER_COORDINATE, acting.identity[i] // LAWS_PER_COORDINATE
        if law == MOTOR:
            rate = own_rate_of(ends, n_closing + k, of, mean, movable)
            through += r[n + i, 1] * acting.scale[i] * rate
    for k in range(held.along.shape[1]):
        if held.along[3, k] != 0.0:
            through += held.along[3, k] * own_rate_of(ends, n_closing + k, of, mean, movable)
    y, rates, length = np.empty(mean.shape), np.zeros(len(rows_impulse)), held.rows.length
    for i in range(len(mean)):
        for k in range(velocity.shape[1]):
            y[i, k] = mean[i, k] * rigid.diagonals[1, i, k]
    along_rows(linked.blocks, held.rows.A, y, rates)
    n_held = linked.sums.n_held
    for j in range(len(rates)):  # driven bodies and motors without bound; not springs, which store energy
        if not n_held <= j < n_held + drives.n_springs:
            through += rows_impulse[j] * rates[j] * length[j]
    total = work(rigid.diagonals[0, :, 0], rigid.inertia, movable, before, held.free, velocity)
    return total, product(r[:n], wall), through


@subroutine
def end_jointed(
    linked: Linked,
    drives: DriveTable,
    rigid: Rigid,
    gravity: Array,
    middle: Placed,
    held: Held,
    target: Array,
    scheme: Scheme,
    after: Placed,
    coordinates: Array,
) -> tuple[bool, float, float]:
    """Write the poses at the end of a step, with the joints closed; ``after`` already has its velocities.

    Also writes ``coordinates`` (k,). Returns whether joints could be closed, the work (J) of lifting bodies
    onto them, and the energy stored in springs and rotors.
    """
    position, velocity, movable = after.position, after.velocity, rigid.flags[0]
    ends, n_closing = linked.terms.ends, linked.terms.n_closing
    move(middle.position, middle.orientation, velocity, scheme.after, position, after.orientation)
    for k in range(len(coordinates)):
        i = n_closing + k
        rate = own_rate_of(ends, i, held.of, velocity, movable) + held.ahead[i]
        coordinates[k] = held.along[1, k] + scheme.after * rate
    before = np.empty(position.shape)
    put(position, before)
    closes = close(linked, drives, rigid.diagonals[2], held, target, scheme, after, coordinates)
    lift, stored = 0.0, 0.0
    for i in range(len(before)):
        if movable[i]:
            for k in range(position.shape[1]):
                lift += rigid.diagonals[0, i, 0] * (before[i, k] - position[i, k]) * gravity[k]
    for k in range(len(coordinates)):
        stiffness, rest = drives.numbers[5, k], drives.numbers[6, k]
        stored += 0.5 * stiffness * ((coordinates[k] - rest) ** 2 - (held.along[0, k] - rest) ** 2)
    if drives.numbers[11].any():
        value, of = np.empty(ends.shape[1]), np.zeros(held.of.shape)
        place(linked.terms, position, after.orientation, n_closing, coordinates, value, of)
        for k in range(len(coordinates)):
            rate = rate_of(ends, n_closing + k, of, velocity)
            stored += 0.5 * drives.numbers[11, k] * (rate**2 - held.along[2, k] ** 2)
    return closes, lift, stored


@subroutine
def close(
    linked: Linked,
    drives: DriveTable,
    inverse_root: Array,
    held: Held,
    target: Array,
    scheme: Scheme,
    after: Placed,
    coordinates: Array,
) -> bool:
    """Put bodies back on their joints (:mod:`clapas.dynamics.joints.projection`); False if some stay open."""
    terms, sums, blocks, filling, elimination, _ = linked
    rows, (x, turn, velocity) = held.rows, after
    value, of = np.empty(terms.ends.shape[1]), np.zeros(held.of.shape)
    gap, extent = np.empty(len(sums.offset)), 1.0
    for i in range(blocks.shape[1]):
        for k in range(x.shape[1]):
            extent = max(extent, 1.0 + abs(x[blocks[1, i], k]))
    position, orientation = np.empty(x.shape), np.empty(turn.shape)
    place(terms, x, turn, 0, coordinates, value, of)
    size = gaps(sums, value, gap)
    for _ in range(ITERATIONS):
        if size <= ROUNDING * extent:
            break
        for j in range(len(gap)):
            gap[j] = -gap[j] / rows.length[j]
        solve_rows(elimination, rows.L, rows.inverse, gap)
        step = np.zeros(velocity.shape)
        along_bodies(blocks, rows.A, gap, step)
        for i in range(len(step)):
            for k in range(velocity.shape[1]):
                step[i, k] *= inverse_root[i, k]
        move(x, turn, step, 1.0, position, orientation)
        place(terms, position, orientation, 0, coordinates, value, of)
        left = gaps(sums, value, gap)
        if left >= size and size <= 1e3 * ROUNDING * extent:
            place(terms, x, turn, 0, coordinates, value, of)
            break  # rounding
        if not left < size:
            return False  # near a pose in which rows are redundant
        if left > STALLED * size:
            soft = soft_rows(drives, held.along, target, scheme)[0]
            clear, rows = factor_rows(terms.ends, sums, blocks, filling, elimination, inverse_root, of, soft)
            if not clear:
                return False
        put(position, x)
        put(orientation, turn)
        size = left
    for k in range(len(coordinates)):
        coordinates[k] = value[terms.n_closing + k]
    # Rows left out may contradict the others: then singular values must distribute the remaining error.
    largest = 1e3 * ROUNDING if are_redundant(rows.inverse) else OPEN
    return bool(size <= largest * extent)


@subroutine
def gaps(sums: Sums, value: Array, gap: Array) -> float:
    """Write the errors of the rows, (j,), zero for springs and motors; return the largest."""
    entries, factor, offset, n_held = sums
    for j in range(len(gap)):
        gap[j] = -offset[j]
    for e in range(entries.shape[1]):
        gap[entries[0, e]] += factor[e] * value[entries[1, e]]
    largest = 0.0
    for j in range(len(gap)):
        if j >= n_held:
            gap[j] = 0.0
        largest = max(largest, abs(gap[j]))
    return largest
