"""Roots of rods: free frames and frames of supports, and the rods fixed to them."""

from __future__ import annotations

import math

from clapas.bodies.rods.helix import Frame, Vec, add, cross, less, plus, times, turned, turned_frame, vec
from clapas.bodies.rods.helix import frame_of as frame_in
from clapas.bodies.rods.inertia import RodMotion
from clapas.compiled import inlined, kernel
from clapas.typing import Array, Indices

SMALL = 1e-8  # half an angle below which sin x/x is 1 to rounding


@inlined
def frame_of_pose(poses: Array, k: int) -> Frame:
    """The axes of the frame of a pose (position, unit quaternion)."""
    w, x, y, z = poses[k, 3], poses[k, 4], poses[k, 5], poses[k, 6]
    return (
        (w * w + x * x - y * y - z * z, 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
        (2.0 * (x * y - w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z + w * x)),
        (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), w * w - x * x - y * y + z * z),
    )


@inlined
def _row(rows: Array, k: int, start: int) -> Vec:
    return rows[k, start], rows[k, start + 1], rows[k, start + 2]


@kernel
def move_frames(poses: Array, velocity: Array, n_free: int, h: float) -> None:
    """Move frames for h seconds at constant velocities, in place.

    Parameters
    ----------
    poses : array (k, 7)
        Positions and unit quaternions.
    velocity : array (k, 6)
        Velocities in the world; angular velocities in the world for the first ``n_free`` frames, along the
        axes of the frame for the others.
    n_free : int
        How many frames are free.
    h : float
        s.
    """
    for k in range(len(poses)):
        turn = times(0.5 * h, _row(velocity, k, 3))
        angle = math.sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2])
        c, s = math.cos(angle), (math.sin(angle) / angle if angle > SMALL else 1.0)
        t, w, v = times(s, turn), poses[k, 3], _row(poses, k, 4)
        across = cross(t, v) if k < n_free else cross(v, t)  # rotation in the world, or in the frame
        first = c * w - (t[0] * v[0] + t[1] * v[1] + t[2] * v[2])
        rest = add(plus(times(c, v), w, t), across)
        size = math.sqrt(first * first + rest[0] * rest[0] + rest[1] * rest[1] + rest[2] * rest[2])
        poses[k, 3] = first / size
        for i in range(3):
            poses[k, i] += h * velocity[k, i]
            poses[k, 4 + i] = rest[i] / size


@kernel
def place_roots(
    base: Indices,
    n_free: int,
    poses: Array,
    velocity: Array,
    gain: Array,
    offset: Array,
    own: Array,
    at: RodMotion,
) -> None:
    """Write positions and motion of the roots, from their base frames.

    Parameters
    ----------
    base : array (rods,)
        The frame of each rod.
    n_free, poses, velocity
        See :func:`move_frames`.
    gain : array (frames, 6)
        Rates of the imposed velocities, along the same axes.
    offset, own : arrays (rods, 3) and (rods, 3, 3)
        Positions and frames of the roots in their frames.
    at : RodMotion
        Its ``position``, ``frame``, ``twist`` and ``change`` are written.
    """
    for k in range(len(base)):
        b = base[k]
        R = frame_of_pose(poses, b)
        v, spin = _row(velocity, b, 0), _row(velocity, b, 3)
        rise, turn = _row(gain, b, 0), _row(gain, b, 3)
        if b >= n_free:
            spin, turn = turned(R, spin), turned(R, turn)
        arm, F = turned(R, vec(offset, k)), turned_frame(R, frame_in(own, k))
        there, change = add(v, cross(spin, arm)), less(add(rise, cross(turn, arm)), cross(spin, v))
        for i in range(3):
            at.position[k, i] = poses[b, i] + arm[i]
            at.twist[k, i], at.twist[k, 3 + i] = there[i], spin[i]
            at.change[k, i], at.change[k, 3 + i] = change[i], turn[i]
            for j in range(3):
                at.frame[k, i, j] = F[j][i]
