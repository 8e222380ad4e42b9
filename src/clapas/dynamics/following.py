"""Walls that turn or speed up, and what they carry.

Contacts prescribe velocities at the end of a step, from positions in its middle. What sticks to a wall goes
on with that velocity until the middle of the next step. If it is the velocity of the wall in the middle of
this step, a body at x on a table that turns by Ω moves as x ← x + h Ω × x, and spirals out: |x| grows as
exp(h Ω² t/2).

So contacts are given the mean velocity of the wall from this middle to the next. A wall with its origin at c
moves by h V and turns by R meanwhile, and carries what is at x to x + h V + (R − 1)(x − c). A body that
sticks to it turns by R too, about its own centre, so x is that centre, whatever point of it touches:

    V(x) = V + (R − 1)(x − c)/h     instead of     v + Ω × (x − c).

It follows exactly, for any rigid motion of the wall about an axis of fixed direction. A body that slides or
rolls leaves x: half-way to the next middle it is ½ h (v_b − V⁻(x)) further on, where V⁻ is the mean velocity
of the wall since the last middle, and there the wall is faster by ½ h Ω × (v_b − V⁻(x)). With that the
velocity is second order in h for such a body as well.
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import kernel
from clapas.dynamics.model import Model, State
from clapas.geometry.colliders import Contacts
from clapas.geometry.rotations import rotate
from clapas.typing import Array, Indices


def lead(
    model: Model, middle: State, contacts: Contacts, before: Array, theta: float, dt: float
) -> Array | None:
    """What the velocities of walls in the middle of the step miss at contacts, b relative to a.

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
    missing, found = np.zeros_like(contacts.normal), False
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
            missing[at] += sign * (until - v[1] - _cross(spin[1], arm - 0.5 * dt * drift))
            found = True
    return missing if found else None


def _touching(model: Model, contacts: Contacts, wall: int) -> list[tuple[Indices, Indices, float]]:
    """Contacts of a wall with bodies that move: where they are, the bodies, 1 if the wall is b, −1 if a."""
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
    """Add to the velocities of walls (n, k), along the frames, what they miss, given in the world (n, d)."""
    d = lead.shape[1]
    for i in range(len(lead)):
        for k in range(d):
            along = 0.0
            for j in range(d):
                along += frame[i, k, j] * lead[i, j]
            wall[i, k] += along
