"""Where the colliders are in the world, from the positions of their bodies.

Corners are kept relative to the centre of their collider: they change only when the body turns, so walls and
meshes at rest cost nothing, and a small grain far from the origin loses no digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.lean import lean_kernel
from clapas.collision.records import PLANE, Records, Shapes
from clapas.collision.shaping import Local
from clapas.compiled import subroutine
from clapas.typing import Array, Indices


class Frames(NamedTuple):
    """Places of the bodies.

    Parameters
    ----------
    position : array (n_bodies, 3)
        m.
    orientation : array (n_bodies, 4)
        Unit quaternion; (angle, 0, 0, 0) in the plane.
    """

    position: Array
    orientation: Array


def blank_frames(n_bodies: int) -> Frames:
    """Room for the bodies; the orientations are no numbers, different from any."""
    return Frames(np.zeros((n_bodies, 3)), np.full((n_bodies, 4), np.nan))


@lean_kernel
def normalise(frames: Frames, d: int) -> int:
    """Divide quaternions by their length. Returns the first body that has no place, or −1.

    That is one whose position or orientation is no number, or whose quaternion is zero.
    """
    for b in range(len(frames.position)):
        x, q = frames.position[b], frames.orientation[b]
        length = np.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        if not np.isfinite(x[0] + x[1] + x[2] + length) or (d == 3 and length == 0.0):
            return b
        if d == 3:
            for m in range(4):
                q[m] /= length
    return -1


@lean_kernel
def place(local: Local, frames: Frames, placed: Frames, d: int, R: Array, shapes: Shapes) -> None:
    """Move all colliders with their bodies; turn only what has turned since it was ``placed``.

    ``R`` is work space for a matrix.
    """
    last, turned = -1, False
    for c in range(len(shapes.pieces)):
        piece = shapes.pieces[c]
        b = piece.body
        if b != last:
            turned = take_orientation(frames.orientation[b], placed.orientation[b], d, R)
            last = b
        x, own, centre = frames.position[b], local.centres[c], shapes.centres[c]
        centre.x = x[0] + (R[0, 0] * own[0] + R[0, 1] * own[1] + R[0, 2] * own[2])
        centre.y = x[1] + (R[1, 0] * own[0] + R[1, 1] * own[1] + R[1, 2] * own[2])
        centre.z = x[2] + (R[2, 0] * own[0] + R[2, 1] * own[1] + R[2, 2] * own[2])
        if turned:
            turn_rows(R, local.vertices, piece.vertex, piece.n_vertices, shapes.vertices)
            turn_rows(R, local.normals, piece.face, piece.n_faces, shapes.faces)


@subroutine
def take_orientation(q: Array, placed: Array, d: int, R: Array) -> bool:
    """Fill the matrix of an orientation, note it as placed; tell if it is another than before."""
    turned = False
    for m in range(4):
        turned |= q[m] != placed[m]
        placed[m] = q[m]
    w, x, y, z = q[0], q[1], q[2], q[3]
    if d == 2:
        w, x, y, z = np.cos(0.5 * q[0]), 0.0, 0.0, np.sin(0.5 * q[0])
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    R[1, 0], R[1, 1], R[1, 2] = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    R[2, 0], R[2, 1], R[2, 2] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)
    return turned


@subroutine
def turn_rows(R: Array, local: Array, first: int, count: int, world: Records) -> None:
    """Turn vectors."""
    for k in range(first, first + count):
        x, y, z = local[k, 0], local[k, 1], local[k, 2]
        row = world[k]
        row.x = R[0, 0] * x + R[0, 1] * y + R[0, 2] * z
        row.y = R[1, 0] * x + R[1, 1] * y + R[1, 2] * z
        row.z = R[2, 0] * x + R[2, 1] * y + R[2, 2] * z


@lean_kernel
def largest_motion(
    frames: Frames, before: Frames, d: int, reach: Array, period: Array, wraps: Indices
) -> float:
    """Bound on how far any point of a body has gone since the list was made.

    A point at distance ρ from the centre goes at most the way of the centre plus 2 ρ sin(angle/2); for
    unit quaternions sin(angle/2) ≤ |q − q'|. A jump by whole periods is no motion: ``wraps`` counts it.
    ``reach`` is the largest ρ of each body, infinite for a half-space, which then may not turn.
    """
    largest = 0.0
    for b in range(len(reach)):
        square = 0.0
        for m in range(3):
            step = frames.position[b, m] - before.position[b, m]
            if m < 2 and period[m] > 0.0:
                wraps[b, m] = np.int64(np.rint(step / period[m]))
                step -= wraps[b, m] * period[m]
            square += step * step
        motion = np.sqrt(square)
        turn = turn_between(frames.orientation[b], before.orientation[b], d)
        if turn > 0.0 and reach[b] > 0.0:
            motion += turn * reach[b]
        largest = max(largest, motion)
    return largest


@subroutine
def turn_between(q: Array, p: Array, d: int) -> float:
    """Bound on 2 sin(angle/2) for the rotation between two orientations."""
    if d == 2:
        return abs(q[0] - p[0])
    minus = plus = 0.0  # q and −q are the same rotation
    for m in range(4):
        minus += (q[m] - p[m]) ** 2
        plus += (q[m] + p[m]) ** 2
    return 2.0 * np.sqrt(min(minus, plus))


def reach_of_bodies(pieces: Records, centres: Array, n_bodies: int) -> Array:
    """Largest distance from the centre of each body to a point that its turning displaces (m)."""
    reach = np.zeros(n_bodies)
    far = np.linalg.norm(centres, axis=1) + pieces["bound"]
    centred = (pieces["kind"] != PLANE) & (pieces["n_vertices"] == 0) & ~centres.any(axis=1)
    far[centred] = 0.0  # a sphere that turns about its centre does not move
    np.maximum.at(reach, pieces["body"], far)
    return reach
