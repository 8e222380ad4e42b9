"""The function of Fischer and Burmeister, φ(z, w) = z + w − √(z² + w²): zero where 0 ≤ w ⟂ z ≥ 0."""

from __future__ import annotations

import numpy as np

from clapas.typing import Array


def values(z: Array, w: Array) -> Array:
    """φ(z_i, w_i), without cancellation where both are positive.

    >>> values(np.array([0.0, 3.0]), np.array([2.0, 4.0]))
    array([0., 2.])
    """
    length = np.hypot(z, w)
    total = z + w
    positive = total > 0.0
    safe = np.where(positive, total + length, 1.0)
    return np.where(positive, 2.0 * z * w / safe, total - length)


def jacobian(z: Array, w: Array) -> tuple[Array, Array]:
    """Derivatives with respect to z_i and w_i."""
    length = np.hypot(z, w)
    # At z = w = 0 any (1 − cos t, 1 − sin t) is a limit; the diagonal one treats both alike.
    corner = length == 0.0
    safe = np.where(corner, 1.0, length)
    diagonal = np.sqrt(0.5)
    return 1.0 - np.where(corner, diagonal, z / safe), 1.0 - np.where(corner, diagonal, w / safe)
