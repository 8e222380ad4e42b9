"""Bodies that turn alike about every axis, as ``clapas.problems.round_blocks`` wants them."""

from __future__ import annotations

import numpy as np

from clapas.bodies.rigid.motion import rotate
from clapas.compiled import kernel
from clapas.problems.round_blocks import ROW, contact_velocities
from clapas.team import Member, share, team_size, together
from clapas.typing import Array, Indices


def arms_to(point: Array, shift: Array, bodies: Indices, position: Array) -> Array:
    """From the centres of the two bodies of each contact to its point, (n, 2, 3)."""
    arms = np.empty((len(point), 2, 3))
    together(_team(len(point)), lambda member: fill_arms(member, point, shift, bodies, position, arms))
    return arms


def world_rows(orientation: Array, velocity: Array, answer: Array) -> Array:
    """Rows (N, 8) of velocity and spin in the world and of the answers 1/m, 1/J."""
    rows = np.empty((len(velocity), ROW))
    together(_team(len(velocity)), lambda member: fill_rows(member, orientation, velocity, answer, rows))
    return rows


def velocities_at(frame: Array, arms: Array, bodies: Indices, rows: Array) -> Array:
    """Velocities (n, 3) at contacts of bodies numbered as in ``rows``."""
    u, zero = np.empty((len(frame), 3)), np.zeros((len(frame), 3))
    given = frame, arms, bodies, rows, zero
    together(_team(len(frame)), lambda member: contact_velocities(member, *given, u))
    return u


def _team(count: int) -> int:
    return team_size(None, count, count)


@kernel
def fill_arms(
    member: Member, point: Array, shift: Array, bodies: Indices, position: Array, arms: Array
) -> None:
    """One thread's part of the arms."""
    first, last = share(member, len(point))
    for i in range(first, last):
        for k in range(3):
            arms[i, 0, k] = point[i, k] - position[bodies[i, 0], k]
            arms[i, 1, k] = point[i, k] - shift[i, k] - position[bodies[i, 1], k]


@kernel
def fill_rows(member: Member, orientation: Array, velocity: Array, answer: Array, rows: Array) -> None:
    """One thread's part of the rows."""
    first, last = share(member, len(rows))
    for i in range(first, last):
        x, y, z = rotate(orientation[i], velocity[i, 3], velocity[i, 4], velocity[i, 5])
        for k in range(3):
            rows[i, k] = velocity[i, k]
        rows[i, 3], rows[i, 4], rows[i, 5] = x, y, z
        rows[i, 6], rows[i, 7] = answer[i, 0], answer[i, 1]
