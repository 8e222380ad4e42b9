"""Half-spaces as finite polygons, clipped by each other and to the visible region."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from clapas.dynamics.model import Model
from clapas.geometry import rotations
from clapas.geometry.colliders import Kind
from clapas.typing import Array, Indices
from clapas.viewer.frames import single, spatial

if TYPE_CHECKING:
    from clapas.viewer.drawables import Drawable

DEPTH = 0.12  # of the ground of a plane scene, as a share of the reach


def grounds(model: Model, centre: Array, reach: float) -> Iterator[Drawable]:
    """One drawable per half-space; intersecting half-spaces clip each other."""
    from clapas.viewer.drawables import Drawable

    rows = np.flatnonzero(model.colliders.kind == Kind.PLANE)
    points, normals = _planes(model, rows)
    for k, row in enumerate(rows):
        if model.d == 2:
            corners = _band(points[k], normals[k], centre, reach)
        else:
            corners = _square(points[k], normals[k], centre, reach)
        for other in range(len(rows)):
            if other != k and not np.allclose(normals[other], normals[k]):
                corners = clip(corners, points[other], normals[other], slack=1e-6 * reach)
        if len(corners) < 3:
            continue
        body = int(model.colliders.body[row])
        yield Drawable(
            "ground",
            np.array([body]),
            np.zeros((1, 3)),
            np.array([[1.0, 0.0, 0.0, 0.0]]),
            {"vertices": single(_in_body_frame(model, body, corners))},
        )


def clip(corners: Array, point: Array, normal: Array, slack: float = 0.0) -> Array:
    """The part of a convex polygon on the side its normal points to (Sutherland and Hodgman 1974).

    >>> square = np.array([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]], dtype=float)
    >>> clip(square, np.array([1.0, 0, 0]), np.array([1.0, 0, 0])).tolist()
    [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0], [1.0, 2.0, 0.0]]
    """
    height = (corners - point) @ normal + slack
    kept: list[Array] = []
    for k in range(len(corners)):
        here, there = height[k], height[(k + 1) % len(corners)]
        if here >= 0.0:
            kept.append(corners[k])
        if (here < 0.0) != (there < 0.0):
            kept.append(corners[k] + here / (here - there) * (corners[(k + 1) % len(corners)] - corners[k]))
    return np.array(kept).reshape(-1, 3)


def _planes(model: Model, rows: Indices) -> tuple[Array, Array]:
    """A point of each half-space's border and its outward normal, in the world at the start."""
    colliders = model.colliders
    body = colliders.body[rows]
    turn = rotations.compose(model.orientation[body], colliders.orientation[rows])
    where = model.position[body] + rotations.rotate(model.orientation[body], colliders.position[rows])
    up = np.zeros(model.d)
    up[-1] = 1.0
    return spatial(where), spatial(rotations.rotate(turn, np.tile(up, (len(rows), 1))))


def _square(point: Array, normal: Array, centre: Array, reach: float) -> Array:
    """A square about the foot of the centre on the plane, counterclockwise seen from outside."""
    foot = centre - ((centre - point) @ normal) * normal
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first /= np.linalg.norm(first)
    second = np.cross(normal, first)
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return np.array([foot + reach * (s * first + t * second) for s, t in signs])


def _band(point: Array, normal: Array, centre: Array, reach: float) -> Array:
    """A strip of the plane under a line."""
    foot = centre - ((centre - point) @ normal) * normal
    along, down = 2.0 * reach * np.array([normal[1], -normal[0], 0.0]), DEPTH * reach * normal
    return np.array([foot - along, foot - along - down, foot + along - down, foot + along])


def _in_body_frame(model: Model, body: int, corners: Array) -> Array:
    d = model.d
    local = rotations.rotate_back(model.orientation[body], corners[:, :d] - model.position[body])
    return spatial(local)
