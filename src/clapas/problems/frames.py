"""Frames at contacts: the normal, and tangents made from it alone."""

from __future__ import annotations

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.team import Member, share, team_size, together
from clapas.typing import Array


def frames(normal: Array) -> Array:
    """Orthonormal right-handed frames (n, d, d) whose first row is the normal."""
    if normal.shape[1] == 2:
        return np.stack((normal, np.column_stack((-normal[:, 1], normal[:, 0]))), axis=1)
    frame = np.empty((len(normal), 3, 3))
    together(team_size(None, len(normal), len(normal)), lambda member: _fill_frames(member, normal, frame))
    return frame


@inlined
def tangents(x: float, y: float, z: float) -> tuple[float, float, float, float, float, float]:
    """Two tangents to a unit normal, one after the other.

    Reference: Duff et al. 2017; continuous but for the switch at z = 0, no root.
    """
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    return 1.0 + sign * x * x * a, sign * b, -sign * x, b, sign + y * y * a, -y


@inlined
def write_frame(normal: Array, i: int, frame: Array) -> None:
    """Write the frame of contact i, in the plane or in space."""
    if normal.shape[1] == 2:
        frame[i, 0, 0], frame[i, 0, 1] = normal[i, 0], normal[i, 1]
        frame[i, 1, 0], frame[i, 1, 1] = -normal[i, 1], normal[i, 0]
        return
    x, y, z = normal[i, 0], normal[i, 1], normal[i, 2]
    a_x, a_y, a_z, b_x, b_y, b_z = tangents(x, y, z)
    frame[i, 0, 0], frame[i, 0, 1], frame[i, 0, 2] = x, y, z
    frame[i, 1, 0], frame[i, 1, 1], frame[i, 1, 2] = a_x, a_y, a_z
    frame[i, 2, 0], frame[i, 2, 1], frame[i, 2, 2] = b_x, b_y, b_z


@kernel
def _fill_frames(member: Member, normal: Array, frame: Array) -> None:
    first, last = share(member, len(normal))
    for i in range(first, last):
        write_frame(normal, i, frame)
