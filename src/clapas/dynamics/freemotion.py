"""Free motion of rigid bodies in a step: gravity, loads and the gyroscopic term, without contact."""

from __future__ import annotations

from itertools import chain

import numpy as np

from clapas.bodies.rigid.motion import GYRO_SHARE, fall, gyrate
from clapas.dynamics.model import Model, State
from clapas.typing import Array, Mask


def free_motion(model: Model, middle: State, dt: float) -> Array:
    """Velocities at the end of the step if there were no contact."""
    free, loads = np.empty_like(middle.velocity), pushes(model, middle, dt)
    fall(middle.velocity, dt * model.gravity, model.inertia, model.movable, kicks(model, loads), dt, free)
    for body, push in loads.items():
        if model.movable[body]:  # and not held
            # The spin of a body that gyrates has its push already.
            gained = push[:3] if model.gyrates_freely[body] else push
            free[body, : len(gained)] += gained / model.masses[body, : len(gained)]
    if model.blocked is not None:
        free[model.blocked] = middle.velocity[model.blocked]
    return free


def gyrated(
    model: Model, middle: State, free: Array, velocity: Array, dt: float, but: Mask | None = None
) -> tuple[Array, Array, bool]:
    """The gyroscopic term again, at the mean of the velocities before and after the impulses of contacts.

    ``but`` (N,) are bodies to be left as they are.

    Returns
    -------
    velocity : array (N, 6)
        Velocities under the same impulses.
    free : array (N, 6)
        Those without the impulses of contacts.
    matters : bool
        Is the change more than a thousandth of that made by contacts? Then so are velocities at contacts.
    """
    which = model.gyrates_freely if but is None else model.gyrates_freely & ~but
    kick = kicks(model, pushes(model, middle, dt))
    turned, turned_free = np.empty_like(free), np.empty_like(free)
    bodies = model.masses, model.inertia, model.movable, which
    given = middle.velocity, free, velocity, *bodies, kick, dt, GYRO_SHARE
    return turned, turned_free, bool(gyrate(*given, turned, turned_free))


def pushes(model: Model, middle: State, dt: float) -> dict[int, Array]:
    """Impulses of the loads, forces in the world and torques in body frames; none along blocked axes."""
    given: dict[int, Array] = {}
    for body, load in chain(model.loads.items(), middle.applied.items()):
        push = dt * load.in_body_frame(middle.time + 0.5 * dt, middle.orientation[body])
        if model.blocked is not None:
            push[model.blocked[body]] = 0.0
        given[body] = given[body] + push if body in given else push
    return given


def kicks(model: Model, loads: dict[int, Array]) -> Array:
    """What loads change of the spins (N, 3) of the bodies that gyrate (rad/s)."""
    kicks = np.zeros((len(model.mass), 3))
    for body, push in loads.items():
        if model.gyrates_freely[body]:
            kicks[body] = push[3:] / model.inertia[body]
    return kicks


def given_by_loads(model: Model, before: Array, middle: State, after: Array, dt: float) -> float:
    """Work of loads, and of guides on the bodies they guide, during the step (J)."""
    given = 0.0
    for body, push in pushes(model, middle, dt).items():
        given += 0.5 * float(push @ (middle.velocity[body] + after[body]))
    if model.blocked is not None:
        guided = np.flatnonzero(model.movable & model.blocked.any(axis=1))
        gained = 0.5 * model.masses[guided] * (after[guided] ** 2 - before[guided] ** 2)
        fallen = 0.5 * dt * (middle.velocity + after)[guided, : model.d] * model.gravity
        gained[:, : model.d] -= model.mass[guided, None] * fallen
        given += float(gained[model.blocked[guided]].sum())
    return given
