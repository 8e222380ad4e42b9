"""Data of spheres for ``clapas.problems.sphere_blocks``."""

from __future__ import annotations

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.compiled.teams import run_on_threads
from clapas.compiled.threads import Worker, chunk, thread_count
from clapas.linalg.quaternions import rotate
from clapas.problems.sphere_blocks import ROW, in_frame, in_world
from clapas.typing import Array, Indices


def reach_of(normal: Array, point: Array, shift: Array, bodies: Indices, position: Array) -> Array:
    """Distances along the normal from the centres of the two bodies of each contact to its point, (n, 2) (m).

    ``shift`` has no rows where there are no periodic images.
    """
    reach = np.empty((len(point), 2))
    arguments = normal, point, shift, bodies, position
    run_on_threads(_threads(len(point)), lambda worker: fill_reach(worker, *arguments, reach))
    return reach


def world_rows(orientation: Array, velocity: Array, response: Array) -> Array:
    """Rows (N, 8) of velocity and spin in the world, and of 1/m and 1/J (``response``)."""
    rows = np.empty((len(velocity), ROW))
    run_on_threads(
        _threads(len(velocity)), lambda worker: fill_rows(worker, orientation, velocity, response, rows)
    )
    return rows


def velocities_at(
    normal: Array, point: Array, shift: Array, bodies: Indices, position: Array, rows: Array
) -> Array:
    """Velocities (n, 3) at contacts of bodies of any shape, numbered as in ``rows``."""
    u = np.empty_like(normal)
    arguments = normal, point, shift, bodies, position, rows
    run_on_threads(_threads(len(normal)), lambda worker: fill_velocities(worker, *arguments, u))
    return u


def impulses_in_world(normal: Array, r: Array, cohesion: Array) -> Array:
    """Impulses on the bodies b in the world, from unknowns that are impulses plus cohesion."""
    world = np.empty_like(r)
    run_on_threads(_threads(len(r)), lambda worker: fill_impulses(worker, normal, r, cohesion, world))
    return world


def _threads(count: int) -> int:
    return thread_count(None, count, count)


@inlined
def arm(
    point: Array, shift: Array, bodies: Indices, position: Array, i: int, side: int
) -> tuple[float, float, float]:
    """From the centre of one body of contact i to its point."""
    body = bodies[i, side]
    x, y, z = (
        point[i, 0] - position[body, 0],
        point[i, 1] - position[body, 1],
        point[i, 2] - position[body, 2],
    )
    if side == 1 and len(shift) > 0:
        return x - shift[i, 0], y - shift[i, 1], z - shift[i, 2]
    return x, y, z


@kernel
def fill_reach(
    worker: Worker, normal: Array, point: Array, shift: Array, bodies: Indices, position: Array, reach: Array
) -> None:
    """One thread's part of the distances along the normals."""
    first, last = chunk(worker, len(point))
    for i in range(first, last):
        for side in range(2):
            x, y, z = arm(point, shift, bodies, position, i, side)
            along = normal[i, 0] * x + normal[i, 1] * y + normal[i, 2] * z
            reach[i, side] = along if side == 0 else -along


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
            x, y, z = arm(point, shift, bodies, position, i, side)
            v, sign = rows[bodies[i, side]], 1.0 if side == 1 else -1.0
            d_x += sign * (v[0] + v[4] * z - v[5] * y)
            d_y += sign * (v[1] + v[5] * x - v[3] * z)
            d_z += sign * (v[2] + v[3] * y - v[4] * x)
        u[i, 0], u[i, 1], u[i, 2] = in_frame(normal, i, d_x, d_y, d_z)


@kernel
def fill_impulses(worker: Worker, normal: Array, r: Array, cohesion: Array, world: Array) -> None:
    """One thread's part of the impulses in the world."""
    first, last = chunk(worker, len(r))
    for i in range(first, last):
        world[i, 0], world[i, 1], world[i, 2] = in_world(normal, i, r[i, 0] - cohesion[i], r[i, 1], r[i, 2])


@kernel
def fill_rows(worker: Worker, orientation: Array, velocity: Array, response: Array, rows: Array) -> None:
    """One thread's part of the rows."""
    first, last = chunk(worker, len(rows))
    for i in range(first, last):
        x, y, z = rotate(orientation[i], velocity[i, 3], velocity[i, 4], velocity[i, 5])
        for k in range(3):
            rows[i, k] = velocity[i, k]
        rows[i, 3], rows[i, 4], rows[i, 5] = x, y, z
        rows[i, 6], rows[i, 7] = response[i, 0], response[i, 1]
