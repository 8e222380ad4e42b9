"""World coordinates of the colliders, from the positions of their bodies.

Corners are stored relative to the centre of their collider: they change only when the body rotates, so walls and
meshes at rest cost nothing, and a small grain far from the origin loses no digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.collider_records import Local
from clapas.collision.records import PLANE, Records, Shapes
from clapas.compiled import subroutine, uncounted_kernel
from clapas.typing import Array, Indices


class Frames(NamedTuple):
    """Positions and orientations of the bodies.

    Parameters
    ----------
    position : array (n_bodies, 3)
        m.
    orientation : array (n_bodies, 4)
        Quaternion of any length but zero; (angle, 0, 0, 0) in the plane.
    """

    position: Array
    orientation: Array


class Turn(NamedTuple):
    """A rotation matrix, row by row."""

    xx: float
    xy: float
    xz: float
    yx: float
    yy: float
    yz: float
    zx: float
    zy: float
    zz: float


@subroutine
def turn_of(q: Array, d: int) -> Turn:
    """Rotation matrix of a quaternion, divided by its length, or of an angle about z."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    if d == 2:
        w, x, y, z = np.cos(0.5 * q[0]), 0.0, 0.0, np.sin(0.5 * q[0])
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return Turn(
        1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
        s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y),
    )  # fmt: skip


class Placement(NamedTuple):
    """Body of each collider; colliders off the centre of their body; colliders with corners or normals.

    ``placed`` (n_solids, 4) are the orientations at which the corners of the last were computed.
    """

    body: Indices
    off_centre: Indices
    solids: Indices
    placed: Array


@uncounted_kernel
def put_colliders(frames: Frames, d: int, placement: Placement, local: Local, shapes: Shapes) -> int:
    """Move the colliders with their bodies; see :meth:`clapas.collision.detector.ColliderPlacer.put`."""
    x, orientation = frames.position, frames.orientation
    for b in range(len(x)):
        q = orientation[b]
        square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
        if not np.isfinite(x[b, 0] + x[b, 1] + x[b, 2] + square) or (d == 3 and square == 0.0):
            return b
    for c in range(len(placement.body)):
        centre, b = shapes.centres[c], placement.body[c]
        centre.x, centre.y, centre.z = x[b, 0], x[b, 1], x[b, 2]
    for k in range(len(placement.off_centre)):
        c = placement.off_centre[k]
        u, centre, R = local.centres[c], shapes.centres[c], turn_of(orientation[placement.body[c]], d)
        centre.x += R.xx * u[0] + R.xy * u[1] + R.xz * u[2]
        centre.y += R.yx * u[0] + R.yy * u[1] + R.yz * u[2]
        centre.z += R.zx * u[0] + R.zy * u[1] + R.zz * u[2]
    for k in range(len(placement.solids)):
        piece, p = shapes.pieces[placement.solids[k]], placement.placed[k]
        q = orientation[piece.body]
        if q[0] == p[0] and q[1] == p[1] and q[2] == p[2] and q[3] == p[3]:
            continue  # walls and meshes at rest
        p[0], p[1], p[2], p[3] = q[0], q[1], q[2], q[3]
        R = turn_of(q, d)
        turn_rows(R, local.vertices, piece.vertex, piece.n_vertices, shapes.vertices)
        turn_rows(R, local.normals, piece.face, piece.n_faces, shapes.faces)
    return -1


@subroutine
def turn_rows(R: Turn, local: Array, first: int, count: int, world: Records) -> None:
    """Rotate vectors."""
    for k in range(first, first + count):
        x, y, z, row = local[k, 0], local[k, 1], local[k, 2], world[k]
        row.x = R.xx * x + R.xy * y + R.xz * z
        row.y = R.yx * x + R.yy * y + R.yz * z
        row.z = R.zx * x + R.zy * y + R.zz * z


@uncounted_kernel
def largest_motion(
    frames: Frames, before: Frames, d: int, reach: Array, period: Array, wraps: Indices
) -> float:
    """Upper bound on the motion of any point of a body since the list was built.

    A point at distance ρ from the centre moves at most as far as the centre plus 2 ρ sin(angle/2); for
    unit quaternions sin(angle/2) ≤ |q − q'|. Jumps by whole periods are not motion: ``wraps`` counts them.
    ``reach`` is the largest ρ of each body, infinite for a half-space, so that any rotation of it counts as infinite.
    """
    largest = 0.0
    for b in range(len(reach)):
        square = 0.0
        for m in range(3):
            step = frames.position[b, m] - before.position[b, m]
            if m < 2 and period[m] > 0.0:
                jump = np.rint(step / period[m])
                wraps[b, m] = jump
                step -= jump * period[m]
            square += step * step
        motion = np.sqrt(square)
        if reach[b] > 0.0:
            turn = turn_between(frames.orientation[b], before.orientation[b], d)
            if turn > 0.0:
                motion += turn * reach[b]
        largest = max(largest, motion)
    return largest


@subroutine
def turn_between(q: Array, p: Array, d: int) -> float:
    """Bound on 2 sin(angle/2) for the rotation between two orientations."""
    if d == 2:
        return abs(q[0] - p[0])
    qq = pp = 0.0
    for m in range(4):
        qq += q[m] * q[m]
        pp += p[m] * p[m]
    minus = plus = 0.0  # q and −q are the same rotation
    q_scale, p_scale = 1.0 / np.sqrt(qq), 1.0 / np.sqrt(pp)
    for m in range(4):
        u, v = q_scale * q[m], p_scale * p[m]
        minus += (u - v) ** 2
        plus += (u + v) ** 2
    return 2.0 * np.sqrt(min(minus, plus))


def reach_of_bodies(pieces: Records, centres: Array, n_bodies: int) -> Array:
    """Largest distance from the centre of each body to a point that its rotation displaces (m)."""
    reach = np.zeros(n_bodies)
    far = np.linalg.norm(centres, axis=1) + pieces["bound"]
    centred = (pieces["kind"] != PLANE) & (pieces["n_vertices"] == 0) & ~centres.any(axis=1)
    far[centred] = 0.0  # a sphere that rotates about its centre occupies the same space
    np.maximum.at(reach, pieces["body"], far)
    return reach
