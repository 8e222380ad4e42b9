"""Strains of a rod fitted to a curve."""

from __future__ import annotations

import math

import numpy as np

from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.typing import Array


def fitted(points: Array, elements: int) -> tuple[float, Array, Array, Array]:
    """Length, strains (elements, 3), tangent and normal at the root of a rod along a polyline.

    Each element turns the tangent at its start into that at its end by the shortest rotation, so the rod is
    not twisted. It follows the curve up to an error of second order in the length of the elements.

    Parameters
    ----------
    points : array (n, 3)
        The curve, in short steps (m).
    elements : int
        Helices of equal length.

    Examples
    --------
    A quarter of a circle of radius 2 m has the curvature ½:

    >>> angle = np.linspace(0.0, np.pi / 2, 1001)
    >>> arc = 2.0 * np.stack((np.cos(angle), np.sin(angle), 0.0 * angle), axis=1)
    >>> length, strain, _, _ = fitted(arc, 3)
    >>> round(length, 4), np.linalg.norm(strain, axis=1).round(3).tolist()
    (3.1416, [0.5, 0.5, 0.5])
    """
    points = np.asarray(points, dtype=float)
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1) if points.ndim == 2 else np.empty(0)
    if points.ndim != 2 or points.shape[1:] != (3,) or len(points) < 3 or not (steps > 0.0).all():
        raise SceneError(
            f"a curve must be 3 points or more in space, all different, got shape {points.shape}"
        )
    s = np.concatenate(([0.0], np.cumsum(steps)))
    direction = np.gradient(points, s, axis=0, edge_order=2)
    ends = np.linspace(0.0, s[-1], elements + 1)
    tangents = np.stack([np.interp(ends, s, column) for column in direction.T], axis=1)
    tangents /= np.linalg.norm(tangents, axis=1)[:, None]
    across = np.eye(3)[int(np.argmin(np.abs(tangents[0])))]
    normal = across - tangents[0] * (tangents[0] @ across)
    normal /= np.linalg.norm(normal)
    frame = np.column_stack((tangents[0], normal, np.cross(tangents[0], normal)))
    strain = np.empty((elements, 3))
    for k in range(elements):
        axis = np.cross(tangents[k], tangents[k + 1])
        sine = float(np.linalg.norm(axis))
        angle = math.atan2(sine, float(tangents[k] @ tangents[k + 1]))
        turn = axis * (angle / sine if sine > 0.0 else 0.0)
        strain[k] = frame.T @ turn * (elements / s[-1])
        frame = rotations.to_matrix(rotations.exponential(turn)) @ frame
    return float(s[-1]), strain, tangents[0], normal
