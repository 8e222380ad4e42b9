"""Data of spheres for ``clapas.problems.sphere_blocks``."""

from __future__ import annotations

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.compiled.teams import share_work
from clapas.compiled.threads import Worker, chunk
from clapas.linalg.quaternions import rotate
from clapas.problems.sphere_blocks import ROW, SphereBlocks, in_frame, in_world, mean_response
from clapas.typing import Array, Indices


def sphere_blocks(
    normal: Array,
    point: Array,
    shift: Array,
    a: Indices,
    b: Indices,
    position: Array,
    number: Indices,
    rows: Array,
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
    rows : array (N + 1, 8)
        ``x_free`` of the movable bodies and the ground (:func:`free_rows`).
    orientation : array (n_movable, 4)
        Unit quaternions of the movable bodies.
    """
    n = len(point)
    bodies, reach, response = np.empty((n, 2), dtype=np.int64), np.empty((n, 2)), np.empty(n)
    place = normal, point, shift, a, b, position, number, rows
    share_work(n, lambda worker: fill_contacts(worker, *place, bodies, reach, response))
    return SphereBlocks(normal, reach, bodies, rows, orientation, response)


def world_rows(orientation: Array, velocity: Array, response: Array) -> Array:
    """Rows (N, 8) of velocity and spin in the world, and of 1/m and 1/J (``response``)."""
    return free_rows(orientation, velocity, response, np.arange(len(velocity)), len(velocity))[:-1]


def free_rows(orientation: Array, velocity: Array, response: Array, number: Indices, count: int) -> Array:
    """The same rows of the ``count`` movable bodies under their numbers, and a zero row of the ground."""
    rows, bodies = np.empty((count + 1, ROW)), (orientation, velocity, response, number)
    share_work(len(velocity), lambda worker: fill_rows(worker, *bodies, rows))
    rows[count] = 0.0
    return rows


def velocities_at(
    normal: Array, point: Array, shift: Array, bodies: Indices, position: Array, rows: Array
) -> Array:
    """Velocities (n, 3) at contacts of bodies of any shape, numbered as in ``rows``."""
    u = np.empty_like(normal)
    arguments = normal, point, shift, bodies, position, rows
    share_work(len(normal), lambda worker: fill_velocities(worker, *arguments, u))
    return u


def impulses_in_world(normal: Array, r: Array, cohesion: Array, rows: Indices | None = None) -> Array:
    """Impulses on the bodies b in the world, from unknowns that are impulses plus cohesion; all or some."""
    chosen = np.empty(0, dtype=np.int64) if rows is None else rows
    world = np.empty((len(r) if rows is None else len(rows), 3))
    share_work(len(world), lambda worker: fill_impulses(worker, normal, r, cohesion, chosen, world))
    return world


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
) -> None:
    """One thread's part of the numbers of the bodies, the distances along the normals and trace(W_ii)/3."""
    first, last = chunk(worker, len(point))
    for i in range(first, last):
        n_x, n_y, n_z = normal[i, 0], normal[i, 1], normal[i, 2]
        x, y, z = arm(point, shift, position, i, a[i], False)
        reach[i, 0] = n_x * x + n_y * y + n_z * z
        x, y, z = arm(point, shift, position, i, b[i], True)
        reach[i, 1] = -(n_x * x + n_y * y + n_z * z)
        bodies[i, 0], bodies[i, 1] = number[a[i]], number[b[i]]
        response[i] = mean_response(reach, bodies, rows, i)


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
    worker: Worker, normal: Array, r: Array, cohesion: Array, rows: Indices, world: Array
) -> None:
    """One thread's part of the impulses in the world, of the contacts at ``rows``, or of all."""
    first, last = chunk(worker, len(world))
    for k in range(first, last):
        i = rows[k] if len(rows) > 0 else k
        world[k, 0], world[k, 1], world[k, 2] = in_world(normal, i, r[i, 0] - cohesion[i], r[i, 1], r[i, 2])


@kernel
def fill_rows(
    worker: Worker, orientation: Array, velocity: Array, response: Array, number: Indices, rows: Array
) -> None:
    """One thread's part of the rows, under the given numbers; not the last row, that of the ground."""
    first, last = chunk(worker, len(velocity))
    for i in range(first, last):
        k = number[i]
        if k == len(rows) - 1:
            continue
        x, y, z = rotate(orientation[i], velocity[i, 3], velocity[i, 4], velocity[i, 5])
        for c in range(3):
            rows[k, c] = velocity[i, c]
        rows[k, 3], rows[k, 4], rows[k, 5] = x, y, z
        rows[k, 6], rows[k, 7] = response[i, 0], response[i, 1]
