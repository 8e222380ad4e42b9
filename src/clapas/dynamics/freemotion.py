"""Motion without contacts: gravity, loads, the gyroscopic term, and driven walls.

Walls that turn or speed up carry the bodies that stick to them. Contacts prescribe velocities at the end of a
step, from positions in its middle, and a sticking body keeps that velocity until the middle of the next step.
If it were the velocity of the wall in the middle of this step, a body at x on a table that turns by Ω would
move as x ← x + h Ω × x, and spiral out: |x| grows as exp(h Ω² t/2).

So contacts use the mean velocity of the wall from this middle to the next. A wall with its origin at c moves
by h V and turns by R meanwhile, and carries a point x to x + h V + (R − 1)(x − c). A body that sticks to it
turns by R too, about its own centre, so x is that centre, whatever point of it touches:

    V(x) = V + (R − 1)(x − c)/h     instead of     v + Ω × (x − c).

The body then follows exactly, for any rigid motion of the wall about an axis of fixed direction. A body that
slides or rolls leaves x: half-way to the next middle it is ½ h (v_b − V⁻(x)) further on, where V⁻ is the mean
velocity of the wall since the last middle, and there the wall is faster by ½ h Ω × (v_b − V⁻(x)). With that
term the velocity is second order in h for such a body as well.
"""

from __future__ import annotations

from itertools import chain

import numpy as np

from clapas.bodies.rigid.motion import GYRO_SHARE, fall, fall_some, gyrate
from clapas.compiled import kernel
from clapas.compiled.sharing import launch
from clapas.compiled.threads import thread_count
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.geometry.colliders import Contacts
from clapas.geometry.rotations import rotate
from clapas.typing import Array, Indices, Mask


def free_motion(model: Model, middle: State, dt: float) -> Array:
    """Velocities at the end of the step if there were no contact."""
    v, loads = middle.velocity, load_impulses(model, middle, dt)
    free, spins, gain = np.empty_like(v), spin_changes(model, loads), dt * model.gravity
    bodies = v, gain, model.inertia, model.movable, spins, dt, free
    size = thread_count(None, len(v), len(v))
    if size == 1:
        fall(*bodies)
    else:
        launch(size, fall_some, *bodies)
    for body, push in loads.items():
        if model.movable[body]:  # and not held
            # `fall` has already added the torque to the spin of a body that gyrates.
            gained = push[:3] if model.gyrates_freely[body] else push
            free[body, : len(gained)] += gained / model.masses[body, : len(gained)]
    if model.blocked is not None:
        free[model.blocked] = middle.velocity[model.blocked]
    return free


def gyrated(
    model: Model, middle: State, free: Array, velocity: Array, dt: float, excluded: Mask | None = None
) -> tuple[Array, Array, bool]:
    """Recompute the gyroscopic term at the mean of the velocities before and after the contact impulses.

    ``excluded`` (N,) are bodies to be left unchanged.

    Returns
    -------
    velocity : array (N, 6)
        Velocities under the same impulses.
    free : array (N, 6)
        Those without the impulses of contacts.
    matters : bool
        Whether the change is more than a thousandth of that by contacts: then it affects the contacts too.
    """
    gyrates = model.gyrates_freely if excluded is None else model.gyrates_freely & ~excluded
    spins = spin_changes(model, load_impulses(model, middle, dt))
    turned, turned_free = np.empty_like(free), np.empty_like(free)
    bodies = model.masses, model.inertia, model.movable, gyrates
    arguments = middle.velocity, free, velocity, *bodies, spins, dt, GYRO_SHARE
    return turned, turned_free, bool(gyrate(*arguments, turned, turned_free))


def load_impulses(model: Model, middle: State, dt: float) -> dict[int, Array]:
    """Impulses of the loads, forces in the world and torques in body frames; none along blocked axes."""
    impulses: dict[int, Array] = {}
    for body, load in chain(model.loads.items(), middle.applied.items()):
        push = dt * load.in_body_frame(middle.time + 0.5 * dt, middle.orientation[body])
        if model.blocked is not None:
            push[model.blocked[body]] = 0.0
        impulses[body] = impulses[body] + push if body in impulses else push
    return impulses


def spin_changes(model: Model, loads: dict[int, Array]) -> Array:
    """Changes of the spins (N, 3) of the bodies that gyrate, by loads (rad/s)."""
    changes = np.zeros((len(model.mass), 3))
    for body, push in loads.items():
        if model.gyrates_freely[body]:
            changes[body] = push[3:] / model.inertia[body]
    return changes


def work_of_loads(model: Model, before: Array, middle: State, after: Array, dt: float) -> float:
    """Work of loads, and of guides on the bodies they guide, during the step (J)."""
    work = 0.0
    for body, push in load_impulses(model, middle, dt).items():
        work += 0.5 * float(push @ (middle.velocity[body] + after[body]))
    if model.blocked is not None:
        guided = np.flatnonzero(model.movable & model.blocked.any(axis=1))
        gained = 0.5 * model.masses[guided] * (after[guided] ** 2 - before[guided] ** 2)
        fallen = 0.5 * dt * (middle.velocity + after)[guided, : model.d] * model.gravity
        gained[:, : model.d] -= model.mass[guided, None] * fallen
        work += float(gained[model.blocked[guided]].sum())
    return work


def lead(
    model: Model, middle: State, contacts: Contacts, before: Array, theta: float, dt: float
) -> Array | None:
    """Correction of the wall velocities in the middle of the step, at the contacts, b relative to a.

    Parameters
    ----------
    model : Model
        Its motions drive the walls.
    middle : State
        Positions in the middle of the step, and the velocities of walls there.
    contacts : Contacts
        Those of the step.
    before : array (N, size)
        Velocities at the start of the step.
    theta, dt : float
        Of the scheme; the step (s).

    Returns
    -------
    array (n, d), or None
        In the world (m/s); None where no wall turns or speeds up.
    """
    if not model.motions:
        return None
    correction, is_corrected = np.zeros_like(contacts.normal), False
    for wall in model.motions:
        if model.movable[wall] or not (ends := _touching(model, contacts, wall)):
            continue
        v, spin = _over_steps(model, middle, wall, dt)
        if not spin.any() and (v == v[0]).all():
            continue
        mean = theta * v[:-1] + (1.0 - theta) * v[1:]
        angle = dt * (theta * spin[:-1] + (1.0 - theta) * spin[1:])
        for at, body, sign in ends:
            shift = contacts.shift[at] if sign < 0.0 else -contacts.shift[at]  # of b: to its image
            arm = middle.position[body] + shift - middle.position[wall]
            since, until = mean[0] - _turn(-angle[0], arm) / dt, mean[1] + _turn(angle[1], arm) / dt
            drift = before[body, : model.d] - since
            correction[at] += sign * (until - v[1] - _cross(spin[1], arm - 0.5 * dt * drift))
            is_corrected = True
    return correction if is_corrected else None


def _touching(model: Model, contacts: Contacts, wall: int) -> list[tuple[Indices, Indices, float]]:
    """Contacts of a wall with movable bodies: their rows, the bodies, 1 if the wall is b, −1 if a."""
    ends: list[tuple[Indices, Indices, float]] = []
    for one, other, sign in ((contacts.a, contacts.b, -1.0), (contacts.b, contacts.a, 1.0)):
        at = np.flatnonzero((one == wall) & model.movable[other])
        if len(at):
            ends.append((at, other[at], sign))
    return ends


def _over_steps(model: Model, middle: State, wall: int, dt: float) -> tuple[Array, Array]:
    """World velocities and spins of a wall in the middles of the last step, this one and the next."""
    time, still = middle.time + 0.5 * dt, np.zeros_like(middle.velocity[wall])
    velocity = np.stack([model.driven(wall, still, t) for t in (max(time - dt, 0.0), time, time + dt)])
    spin = velocity[:, model.d :]
    if model.d == 3:
        spin = np.asarray(rotate(middle.orientation[wall], spin))
    return velocity[:, : model.d], spin


def _turn(angle: Array, arm: Array) -> Array:
    """(R − 1) x for the rotation R by a vector (rad), without loss of digits: Rodrigues' formula."""
    size = float(np.sqrt(angle @ angle))
    across = _cross(angle, arm)
    half = 0.5 * size
    sine, versine = (np.sin(size) / size, 0.5 * (np.sin(half) / half) ** 2) if size > 0.0 else (1.0, 0.5)
    return np.asarray(sine * across + versine * _cross(angle, across))


def _cross(spin: Array, arm: Array) -> Array:
    """Ω × x, for rows x of 2 or 3 components."""
    if arm.shape[1] == 2:
        return np.asarray(spin[0] * np.column_stack((-arm[:, 1], arm[:, 0])))
    return np.cross(spin, arm)


@kernel
def add_lead(frame: Array, lead: Array, wall: Array) -> None:
    """Add the correction ``lead`` (n, d), in the world, to the wall velocities (n, k) along the frames."""
    d = lead.shape[1]
    for i in range(len(lead)):
        for k in range(d):
            along = 0.0
            for j in range(d):
                along += frame[i, k, j] * lead[i, j]
            wall[i, k] += along
