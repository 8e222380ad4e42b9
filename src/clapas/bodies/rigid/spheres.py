"""Data of spheres for ``clapas.problems.sphere_blocks``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.compiled.sharing import share_visits
from clapas.compiled.threads import Worker, chunk, thread_count
from clapas.linalg.quaternions import rotate
from clapas.problems.sphere_blocks import (
    FLAWS,
    LONGEST,
    ROW,
    SPEED,
    SPIN,
    Extremes,
    SphereBlocks,
    in_frame,
    in_world,
    mean_response,
)
from clapas.typing import Array, Indices


def sphere_blocks(
    normal: Array,
    point: Array,
    shift: Array,
    a: Indices,
    b: Indices,
    position: Array,
    number: Indices,
    rows: FreeRows,
    orientation: Array,
) -> SphereBlocks:
    """The contact problem of spheres and walls, without laws.

    Parameters
    ----------
    normal, point, shift : arrays (n, 3)
        Geometry of the contacts; ``shift`` has no rows where there are no periodic images.
    a, b : arrays (n,)
        Their bodies.
    position : array (N, 3)
        Centres of all bodies (m).
    number : array (N,)
        Number of each movable body among those; their count for walls.
    rows : FreeRows
        ``x_free`` of the movable bodies and the ground (:func:`free_rows`).
    orientation : array (n_movable, 4)
        Unit quaternions of the movable bodies.
    """
    n = len(point)
    bodies, reach, response = np.empty((n, 2), dtype=np.int64), np.empty((n, 2)), np.empty(n)
    place, found = (normal, point, shift, a, b, position, number, rows.x), blank_extremes(n)
    share_visits(n, fill_contacts, *place, bodies, reach, response, found)
    extremes = Extremes.of(np.concatenate((rows.found, found)))
    return SphereBlocks(normal, reach, bodies, rows.x, orientation, response, extremes)


def world_rows(orientation: Array, velocity: Array, response: Array) -> Array:
    """Rows (N, 8) of velocity and spin in the world, and of 1/m and 1/J (``response``)."""
    return free_rows(orientation, velocity, response, np.arange(len(velocity)), len(velocity)).x[:-1]


NO_ROWS = np.empty(0, dtype=np.int64)


class FreeRows(NamedTuple):
    """Rows of movable bodies and the ground, and their extremes by thread."""

    x: Array
    found: Array


def free_rows(orientation: Array, velocity: Array, response: Array, number: Indices, count: int) -> FreeRows:
    """The same rows of the ``count`` movable bodies under their numbers, and a zero row of the ground."""
    rows, bodies = np.empty((count + 1, ROW)), (orientation, velocity, response, number)
    found = blank_extremes(len(velocity))
    share_visits(len(velocity), fill_rows, *bodies, rows, found)
    rows[count] = 0.0
    return FreeRows(rows, found)


def blank_extremes(count: int) -> Array:
    """A row of extremes for each of the threads that share so many visits."""
    return np.zeros((thread_count(None, count, count), len(Extremes._fields)))


def velocities_at(
    normal: Array, point: Array, shift: Array, bodies: Indices, position: Array, rows: Array
) -> Array:
    """Velocities (n, 3) at contacts of bodies of any shape, numbered as in ``rows``."""
    u = np.empty_like(normal)
    arguments = normal, point, shift, bodies, position, rows
    share_visits(len(normal), fill_velocities, *arguments, u)
    return u


Identity = tuple[Indices, Indices, Indices]


def impulses_in_world(
    normal: Array, r: Array, cohesion: Array, identity: Identity, rows: Indices | None = None
) -> tuple[Indices, Indices, Indices, Array]:
    """Identities (a, b, feature) of the contacts at some rows, or of all, and impulses on b in the world.

    Unknowns are impulses plus cohesion.
    """
    some = NO_ROWS if rows is None else rows
    world = np.empty((len(r) if rows is None else len(rows), 3))
    chosen = np.empty((3, len(some)), dtype=np.int64)
    data = normal, r, cohesion, *identity, some
    share_visits(len(world), fill_impulses, *data, chosen, world)
    a, b, feature = identity if rows is None else chosen
    return a, b, feature, world


@inlined
def arm(
    point: Array, shift: Array, position: Array, i: int, body: int, is_second: bool
) -> tuple[float, float, float]:
    """From the centre of a body of contact i to its point."""
    x, y, z = (
        point[i, 0] - position[body, 0],
        point[i, 1] - position[body, 1],
        point[i, 2] - position[body, 2],
    )
    if is_second and len(shift) > 0:
        return x - shift[i, 0], y - shift[i, 1], z - shift[i, 2]
    return x, y, z


@kernel
def fill_contacts(
    worker: Worker,
    normal: Array,
    point: Array,
    shift: Array,
    a: Indices,
    b: Indices,
    position: Array,
    number: Indices,
    rows: Array,
    bodies: Indices,
    reach: Array,
    response: Array,
    found: Array,
) -> None:
    """One thread's part of the numbers of the bodies, the distances along the normals and trace(W_ii)/3.

    A normal or a point that is not finite makes a distance that is not.
    """
    longest, flaws = 0.0, 0
    first, last = chunk(worker, len(point))
    for i in range(first, last):
        n_x, n_y, n_z = normal[i, 0], normal[i, 1], normal[i, 2]
        x, y, z = arm(point, shift, position, i, a[i], False)
        reach[i, 0] = n_x * x + n_y * y + n_z * z
        x, y, z = arm(point, shift, position, i, b[i], True)
        reach[i, 1] = -(n_x * x + n_y * y + n_z * z)
        bodies[i, 0], bodies[i, 1] = number[a[i]], number[b[i]]
        response[i] = mean_response(reach, bodies, rows, i)
        longest = max(longest, abs(reach[i, 0]), abs(reach[i, 1]))
        flaws += not np.isfinite(reach[i, 0] + reach[i, 1])
    found[worker.rank, LONGEST], found[worker.rank, FLAWS] = longest, flaws


@kernel
def fill_velocities(
    worker: Worker,
    normal: Array,
    point: Array,
    shift: Array,
    bodies: Indices,
    position: Array,
    rows: Array,
    u: Array,
) -> None:
    """One thread's part of the velocities of b relative to a, v + ω × arm of each, in the frames."""
    first, last = chunk(worker, len(point))
    for i in range(first, last):
        d_x, d_y, d_z = 0.0, 0.0, 0.0
        for side in range(2):
            x, y, z = arm(point, shift, position, i, bodies[i, side], side == 1)
            v, sign = rows[bodies[i, side]], 1.0 if side == 1 else -1.0
            d_x += sign * (v[0] + v[4] * z - v[5] * y)
            d_y += sign * (v[1] + v[5] * x - v[3] * z)
            d_z += sign * (v[2] + v[3] * y - v[4] * x)
        u[i, 0], u[i, 1], u[i, 2] = in_frame(normal, i, d_x, d_y, d_z)


@kernel
def fill_impulses(
    worker: Worker,
    normal: Array,
    r: Array,
    cohesion: Array,
    a: Indices,
    b: Indices,
    feature: Indices,
    rows: Indices,
    chosen: Indices,
    world: Array,
) -> None:
    """One thread's part of the impulses in the world and the identities of the contacts at ``rows``.

    Without rows it is the impulses of all.
    """
    first, last = chunk(worker, len(world))
    for k in range(first, last):
        i = k
        if len(rows) > 0:
            i = rows[k]
            chosen[0, k], chosen[1, k], chosen[2, k] = a[i], b[i], feature[i]
        world[k, 0], world[k, 1], world[k, 2] = in_world(normal, i, r[i, 0] - cohesion[i], r[i, 1], r[i, 2])


@kernel
def fill_rows(
    worker: Worker,
    orientation: Array,
    velocity: Array,
    response: Array,
    number: Indices,
    rows: Array,
    found: Array,
) -> None:
    """One thread's part of the rows, under the given numbers; not the last row, that of the ground."""
    speed, spin, flaws = 0.0, 0.0, 0
    first, last = chunk(worker, len(velocity))
    for i in range(first, last):
        k = number[i]
        if k == len(rows) - 1:
            continue
        x, y, z = rotate(orientation[i], velocity[i, 3], velocity[i, 4], velocity[i, 5])
        for c in range(3):
            rows[k, c] = velocity[i, c]
            speed = max(speed, abs(velocity[i, c]))
        rows[k, 3], rows[k, 4], rows[k, 5] = x, y, z
        rows[k, 6], rows[k, 7] = response[i, 0], response[i, 1]
        spin = max(spin, abs(x), abs(y), abs(z))
        for c in range(ROW):
            flaws += not np.isfinite(rows[k, c])
    row = found[worker.rank]
    row[SPEED], row[SPIN], row[FLAWS] = speed, spin, flaws
