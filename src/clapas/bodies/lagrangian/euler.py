"""A rigid body in Euler angles: six coordinates, with gimbal lock.

With the angles of yaw, pitch and roll (about z, then the new y, then the new x) the angular velocity in the
body frame is ω = E(q) q', and det E = cos(pitch): at a pitch of ±90° yaw and roll are one and the same
rotation (gimbal lock), M(q) is singular, and no rates of the coordinates describe a rotation about the
third axis. Rigid bodies of a scene use quaternions, which have no singularity; this is for systems that need
the angles.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clapas.bodies.lagrangian.system import LagrangianSystem
from clapas.errors import SceneError
from clapas.geometry.shapes.base import Shape
from clapas.typing import Array

LOCK = 1e-4  # cosine of the pitch below which the angles are singular


def euler_body(
    mass: float,
    inertia: Sequence[float],
    *,
    q: Sequence[float],
    v: Sequence[float] | None = None,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    shape: Shape | None = None,
) -> LagrangianSystem:
    """A rigid body with the coordinates x, y, z, yaw, pitch, roll.

    Parameters
    ----------
    mass : float
        kg.
    inertia : 3 floats
        Principal moments in the body frame (kg·m²).
    q, v : 6 floats
        Position (m) and angles (rad) at the start, and their rates; at rest by default.
    gravity : 3 floats
        m/s².
    shape : Shape, optional
        Collision shape, in the body frame.

    Raises
    ------
    SceneError
        At the start or during a step: the pitch reaches ±90°.

    Examples
    --------
    >>> top = euler_body(1.0, (1.0, 1.0, 2.0), q=[0, 0, 0, 0, 0.5, 0], gravity=(0, 0, 0))
    >>> euler_body(1.0, (1.0, 1.0, 2.0), q=[0, 0, 0, 0, np.pi / 2, 0])
    Traceback (most recent call last):
    clapas.errors.SceneError: Euler angles fail at a pitch of 90.00° (gimbal lock): yaw and roll are one \
rotation there. Take a rigid body of the scene, or turn the body frame so that the pitch stays away from it
    """
    weight = mass * np.asarray(gravity, dtype=float)
    moments = np.asarray(inertia, dtype=float)

    def mass_matrix(x: Array) -> Array:
        E = angular_rates(x)
        M = mass * np.eye(6)
        M[3:, 3:] = E.T @ (moments[:, None] * E)
        return M

    return LagrangianSystem(
        mass=mass_matrix,
        force=lambda x, s, t: np.concatenate((weight, np.zeros(3))),
        potential=lambda x: -float(weight @ x[:3]),
        frames=lambda x: ([x[:3]], [quaternion(x)]),
        shapes=[] if shape is None else [(0, shape)],
        q=q,
        v=v,
    )


def angular_rates(q: Array) -> Array:
    """E (3 × 3): the angular velocity in the body frame is E times the rates of yaw, pitch and roll."""
    pitch, roll = q[4], q[5]
    if abs(np.cos(pitch)) < LOCK:
        raise SceneError(
            f"Euler angles fail at a pitch of {np.degrees(pitch):.2f}° (gimbal lock): yaw and roll are one "
            "rotation there. Take a rigid body of the scene, or turn the body frame so that the pitch stays "
            "away from it"
        )
    c, s = np.cos(roll), np.sin(roll)
    return np.array([[-np.sin(pitch), 0.0, 1.0], [s * np.cos(pitch), c, 0.0], [c * np.cos(pitch), -s, 0.0]])


def quaternion(q: Array) -> Array:
    """The unit quaternion (w, x, y, z) of yaw, pitch and roll."""
    (a, b, c), (x, y, z) = np.cos(0.5 * q[3:]), np.sin(0.5 * q[3:])
    return np.array(
        [
            a * b * c + x * y * z,
            a * b * z - x * y * c,
            a * y * c + x * b * z,
            x * b * c - a * y * z,
        ]
    )
