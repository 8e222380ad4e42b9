"""The end of a step with joints: positions, joints closed, impulses in the world, work."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.bodies.rigid.motion import move, work
from clapas.compiled import put, subroutine
from clapas.dynamics.carrying import product, to_world
from clapas.dynamics.few.tables import Placed, Rigid, Sizes
from clapas.dynamics.jointed.holding import end_rate, soft_rows
from clapas.dynamics.jointed.posing import JointedProblem
from clapas.dynamics.jointed.rows import along_bodies, along_rows, factor_rows, own_rate_of, place, solve_rows
from clapas.dynamics.jointed.tables import DriveTable, Held, Linked, Scheme
from clapas.dynamics.joints.drives import LAWS_PER_COORDINATE, MOTOR
from clapas.dynamics.joints.projection import ITERATIONS, OPEN, ROUNDING, STALLED
from clapas.typing import Array


class Ended(NamedTuple):
    """How many contacts touch or carry; work of all impulses, of walls, and through joints (J); lift (J)."""

    touching: int
    work: float
    walls: float
    through: float
    lift: float


@subroutine
def end_jointed(
    problem: JointedProblem,
    r: Array,
    linked: Linked,
    drives: DriveTable,
    rigid: Rigid,
    gravity: Array,
    middle: Placed,
    held: Held,
    rows_impulse: Array,
    target: Array,
    scheme: Scheme,
    sizes: Sizes,
    after: Placed,
    coordinates: Array,
    own: Array,
    impulse: Array,
) -> tuple[bool, Ended]:
    """Write where a step ends, with the joints closed; its velocities are those of ``after`` already.

    Written too are ``coordinates`` (k,), impulses ``own`` (m, d) in the order of contacts and links, and the
    ``impulse`` (n, d) of contacts in the world. False if joints cannot be closed.
    """
    n, d, islands = len(problem.apart), len(sizes.components), problem.islands
    velocity, movable = after.velocity, rigid.flags[0]
    for i in range(len(r)):
        for k in range(d):
            own[islands.order[i], k] = r[i, k]
    to_world(problem.frame, own[:n], impulse)
    count = 0
    for i in range(n):
        carries = False
        for k in range(d):
            carries = carries or own[i, k] != 0.0
        count += 1 if carries or not problem.apart[i] else 0
    walls = product(own[:n], problem.wall)

    through, mean = 0.0, np.empty(velocity.shape)
    for i in range(len(mean)):
        for k in range(velocity.shape[1]):
            mean[i, k] = 0.5 * (middle.velocity[i, k] + velocity[i, k])
    done = work(rigid.diagonals[0], movable, middle.velocity, held.free, velocity)
    for i in range(len(problem.acting.identity)):
        law, k = (
            problem.acting.identity[i] % LAWS_PER_COORDINATE,
            problem.acting.identity[i] // LAWS_PER_COORDINATE,
        )
        if law == MOTOR:
            rate = own_rate_of(linked, linked.n_closing + k, held.of_a, held.of_b, mean, movable)
            through += own[n + i, 1] * problem.acting.scale[i] * rate
    through += given(linked, drives, rigid, held, rows_impulse, mean)

    move(middle.position, middle.orientation, velocity, scheme.after, after.position, after.orientation)
    for k in range(len(coordinates)):
        coordinates[k] = held.along[1, k] + scheme.after * end_rate(linked, held, rigid, k, velocity)
    before = np.empty(after.position.shape)
    put(after.position, before)
    closes = close(linked, drives, rigid, held, target, scheme, sizes, after, coordinates)
    lift = 0.0
    for i in range(len(before)):
        if movable[i]:
            for k in range(d):
                lift += rigid.diagonals[0, i, 0] * (before[i, k] - after.position[i, k]) * gravity[k]
    for k in range(len(coordinates)):  # springs
        stiffness, rest = drives.numbers[5, k], drives.numbers[6, k]
        done += 0.5 * stiffness * ((coordinates[k] - rest) ** 2 - (held.along[0, k] - rest) ** 2)
    return closes, Ended(count, done, walls, through, lift)


@subroutine
def given(linked: Linked, drives: DriveTable, rigid: Rigid, held: Held, impulse: Array, mean: Array) -> float:
    """Work (J) of driven bodies and of motors without bound at the mean velocities (N, size)."""
    total, y, rate = 0.0, np.empty(mean.shape), np.zeros(len(impulse))
    for i in range(len(mean)):
        for k in range(mean.shape[1]):
            y[i, k] = mean[i, k] * rigid.diagonals[1, i, k]
    along_rows(linked, held.rows, y, rate)
    for j in range(len(impulse)):
        if not linked.n_held <= j < linked.n_held + drives.n_springs:
            total += impulse[j] * rate[j] * held.rows.length[j]
    for k in range(len(drives.motor)):
        if held.along[3, k] != 0.0:
            term = linked.n_closing + k
            total += held.along[3, k] * own_rate_of(linked, term, held.of_a, held.of_b, mean, rigid.flags[0])
    return total


@subroutine
def close(
    linked: Linked,
    drives: DriveTable,
    rigid: Rigid,
    held: Held,
    target: Array,
    scheme: Scheme,
    sizes: Sizes,
    after: Placed,
    coordinates: Array,
) -> bool:
    """Put bodies back on their joints (:mod:`clapas.dynamics.joints.projection`); False if some stay open."""
    begin, t, rows = drives.numbers[0], linked.terms.shape[1], held.rows
    value, of_a, of_b = np.empty(t), np.zeros(held.of_a.shape), np.zeros(held.of_b.shape)
    gap, extent = np.empty(len(linked.offset)), 1.0
    for i in range(len(linked.blocks[1])):
        for k in range(after.position.shape[1]):
            extent = max(extent, 1.0 + abs(after.position[linked.blocks[1, i], k]))
    position, orientation = np.empty(after.position.shape), np.empty(after.orientation.shape)
    place(linked, after.position, after.orientation, 0, coordinates, begin, sizes, value, of_a, of_b)
    size = gaps(linked, value, gap)
    for _ in range(ITERATIONS):
        if size <= ROUNDING * extent:
            break
        for j in range(len(gap)):
            gap[j] = -gap[j] / rows.length[j]
        solve_rows(linked, rows, gap)
        step = np.zeros(after.velocity.shape)
        along_bodies(linked, rows, gap, step)
        for i in range(len(step)):
            for k in range(after.velocity.shape[1]):
                step[i, k] *= rigid.diagonals[2, i, k]
        move(after.position, after.orientation, step, 1.0, position, orientation)
        place(linked, position, orientation, 0, coordinates, begin, sizes, value, of_a, of_b)
        left = gaps(linked, value, gap)
        if left >= size and size <= 1e3 * ROUNDING * extent:
            place(linked, after.position, after.orientation, 0, coordinates, begin, sizes, value, of_a, of_b)
            break  # rounding
        if left > STALLED * size:
            soft = soft_rows(drives, held.along, target, scheme)[0]
            independent, rows = factor_rows(linked, rigid, of_a, of_b, soft)
            if not independent:
                return False
        put(position, after.position)
        put(orientation, after.orientation)
        size = left
    for k in range(len(coordinates)):
        coordinates[k] = value[linked.n_closing + k]
    return bool(size <= OPEN * extent)


@subroutine
def gaps(linked: Linked, value: Array, gap: Array) -> float:
    """Write how far rows are from holding, (j,), zero for springs and motors; returns the largest."""
    for j in range(len(gap)):
        gap[j] = -linked.offset[j]
    for e in range(linked.entries.shape[1]):
        gap[linked.entries[0, e]] += linked.factor[e] * value[linked.entries[1, e]]
    largest = 0.0
    for j in range(len(gap)):
        if j >= linked.n_held:
            gap[j] = 0.0
        largest = max(largest, abs(gap[j]))
    return largest
