"""Rotations by unit quaternions (w, x, y, z) in compiled loops; for arrays see ``geometry.rotations``."""

from __future__ import annotations

from clapas.compiled import inlined, kernel
from clapas.typing import Array


@inlined
def rotate_back(q: Array, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Components in the body frame of a world vector: Qᵀ v."""
    w, a, b, c = q[0], -q[1], -q[2], -q[3]
    t_x, t_y, t_z = 2.0 * (b * z - c * y), 2.0 * (c * x - a * z), 2.0 * (a * y - b * x)
    return (
        x + w * t_x + b * t_z - c * t_y,
        y + w * t_y + c * t_x - a * t_z,
        z + w * t_z + a * t_y - b * t_x,
    )


@inlined
def rotate(q: Array, x: float, y: float, z: float) -> tuple[float, float, float]:
    """World components of a vector of the body frame: Q v."""
    w, a, b, c = q[0], q[1], q[2], q[3]
    t_x, t_y, t_z = 2.0 * (b * z - c * y), 2.0 * (c * x - a * z), 2.0 * (a * y - b * x)
    return (
        x + w * t_x + b * t_z - c * t_y,
        y + w * t_y + c * t_x - a * t_z,
        z + w * t_z + a * t_y - b * t_x,
    )


@kernel
def spins_in_body_frames(orientation: Array, velocity: Array) -> None:
    """Rotate the spins of 3-D bodies, columns 3 to 5, from the world to the body frames, in place."""
    for i in range(len(orientation)):
        x, y, z = rotate_back(orientation[i], velocity[i, 3], velocity[i, 4], velocity[i, 5])
        velocity[i, 3], velocity[i, 4], velocity[i, 5] = x, y, z
