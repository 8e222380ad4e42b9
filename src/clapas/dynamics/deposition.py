"""Deposition: grains are lowered along gravity until they touch a body below, then released.

A grain without contacts is itself falling: the new one passes it if there is room below. If grains of a dense
shower were deposited on falling ones, they would form a falling tower.

Exact between spheres (disks in the plane) and planes, the only shapes allowed.
"""

from __future__ import annotations

import numpy as np

from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.colliders import Kind
from clapas.typing import Array, Indices, Mask


def refuse_other_shapes(model: Model) -> None:
    """Raise an error for deposition without gravity, or onto anything but spheres, disks and planes."""
    if model.laid is None:
        return
    if not model.gravity.any():
        raise SceneError("laid grains: there is no gravity to lower them along; leave out laid=True")
    others = ~np.isin(model.colliders.kind, (Kind.SPHERE, Kind.PLANE))
    if others.any() or len(np.unique(model.colliders.body)) < len(model.colliders):
        word = Kind(int(model.colliders.kind[others][0])).name.lower() if others.any() else "clump"
        raise SceneError(
            f"laid grains: they can be lowered onto spheres, disks and planes, and there is a {word}; "
            "leave out laid=True and let them fall"
        )


def falling(model: Model, state: State) -> Mask:
    """Which bodies touched nothing in the last step; none before the first."""
    free = model.movable[: state.n_bodies].copy()
    if not state.step:
        return np.zeros_like(free)
    carrying = state.impulses.impulse.any(axis=1)
    free[state.impulses.a[carrying]] = False
    free[state.impulses.b[carrying]] = False
    return np.asarray(free)


def laid_position(model: Model, body: int, position: Array, orientation: Array, falling: Mask) -> Array:
    """Position of a grain after deposition from its initial position in the model.

    It keeps its initial position if that is occupied, or if nothing is below.

    Parameters
    ----------
    model, body
        The grain is a body of the model.
    position, orientation : arrays
        Those of the other bodies.
    falling : array of bool
        Those of them that it may pass.
    """
    start, down = model.position[body], model.gravity / model.acceleration
    radius = float(model.colliders.size[body, 0])
    others = np.arange(len(position))
    flat = model.colliders.kind[others] == Kind.PLANE
    touch, leave = _to_spheres(model, start, down, radius, position, others[~flat])
    passed = falling[~flat]
    obstacles = [
        touch[~passed & (leave > 0.0)],
        _to_planes(model, start, down, radius, position, orientation, others[flat]),
    ]
    distance = float(min(falls.min(initial=np.inf) for falls in obstacles))
    while (inside := passed & (touch < distance) & (distance < leave)).any():
        distance = float(touch[inside].min())  # no room below this one
    return np.asarray(start + max(distance, 0.0) * down if np.isfinite(distance) else start)


def _to_spheres(
    model: Model, start: Array, down: Array, radius: float, position: Array, others: Indices
) -> tuple[Array, Array]:
    """Fall (m) at which the grain first touches each sphere, and at which it leaves it; inf for never."""
    away = position[others] - start
    for axis, period in enumerate(model.period):
        if period is not None:
            away[:, axis] -= period * np.round(away[:, axis] / period)
    ahead = away @ down
    reach = radius + model.colliders.size[others, 0]
    within = reach**2 - (np.sum(away**2, axis=1) - ahead**2)
    half = np.sqrt(np.maximum(within, 0.0))
    hits = within > 0.0
    return np.where(hits, ahead - half, np.inf), np.where(hits, ahead + half, np.inf)


def _to_planes(
    model: Model,
    start: Array,
    down: Array,
    radius: float,
    position: Array,
    orientation: Array,
    others: Indices,
) -> Array:
    """Fall (m) at which the grain touches each of the planes it falls towards."""
    colliders, falls = model.colliders, []
    up = np.eye(model.d)[-1]
    for k in others:
        turn = rotations.compose(orientation[k], colliders.orientation[k])
        normal = rotations.rotate(turn, up)
        origin = position[k] + rotations.rotate(orientation[k], colliders.position[k])
        towards = -float(normal @ down)
        if towards > 0.0:
            falls.append((float(normal @ (start - origin)) - radius) / towards)
    return np.array(falls)
