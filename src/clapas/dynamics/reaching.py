"""Contacts within reach: bodies that are about to touch, or have just parted by rounding.

Moreau's rule takes a contact as active when its gap g at the middle of the step is not positive. Bodies at
rest then lose and regain contacts by rounding, and each lost contact lets its bodies fall for a step. A
contact with a small gap that closes slowly is therefore kept, under a law that lets it close and no further:

    0 ≤ u_N + g/h  ⟂  r_N ≥ 0.

From one middle to the next a body moves by h v⁺ (*Computation* in the documentation), so an impulse
acts only where the next gap is zero. Contacts that close faster than reach/h become active when they touch:
an impact, with its restitution, follows Moreau's rule.

Cohesion acts only at contacts that touch, and nothing else holds a contact in tension: the error of the
solver in its velocity would open it for good. A cohesive contact that was active at the last step, and had
not yielded, is therefore kept within reach too, and closes its gap; a new one must touch first.
"""

from __future__ import annotations

import numpy as np

from clapas.bodies.rigid.motion import normal_velocity
from clapas.compiled import kernel
from clapas.compiled.sharing import launch
from clapas.compiled.threads import Worker, chunk, thread_count
from clapas.dynamics.assembly import image_shifts
from clapas.dynamics.model import Model
from clapas.dynamics.state import Impulses, State
from clapas.dynamics.warm_start import places
from clapas.geometry.colliders import Contacts
from clapas.typing import Array, Indices, Mask

SHARE = 1e-3
"""Of the radius of the smallest movable body: the default reach is never longer."""

YIELDED = 1e-9
"""A contact with no more than this share of its cohesion left has yielded: zero but for rounding."""


def default_reach(model: Model, dt: float) -> float:
    """Distance (m) that a body without contacts falls from one middle to the next, |gravity| h².

    Where cohesion can give the lightest body a larger acceleration, that one counts. Never more than 1e-3 of
    the smallest movable body; zero without gravity and cohesion.
    """
    acceleration = model.acceleration
    if model.laws.cohesion.any() and model.movable.any():
        acceleration = max(acceleration, float(model.laws.cohesion.max() / model.mass[model.movable].min()))
    return min(acceleration * dt * dt, SHARE * model.smallest)


def within_reach(
    model: Model, middle: State, found: Contacts, touching: float, reach: float, dt: float
) -> Contacts:
    """The contacts a step must consider, of those ``found`` up to the reach.

    Those that touch, with gap ≤ ``touching`` (m), and those apart whose bodies approach or part slower
    than reach/h, cohesive ones only if they held at the last step.
    """
    if not len(found):
        return found
    kept, shift = np.empty(len(found), dtype=bool), image_shifts(model, found)
    place = found.point, shift, found.normal, found.gap
    motion = middle.position, middle.orientation, middle.velocity
    size = thread_count(None, len(found), len(found))
    if size == 1:
        bodies = np.column_stack((found.a, found.b))
        touch = mark_within_reach(bodies, *place, *motion, touching, reach, dt, kept)
    else:
        bodies, touches = np.empty((len(found), 2), dtype=np.int64), np.empty(size, dtype=np.int64)
        pairs = found.a, found.b, bodies
        launch(size, mark_some, *pairs, *place, *motion, touching, reach, dt, kept, touches)
        touch = int(touches.sum())
    if touch == len(found):
        return found
    if model.laws.cohesion.any():
        material = model.colliders.material
        cohesion = model.laws.cohesion[material[found.collider_a], material[found.collider_b]]
        held = _held(middle.impulses, found, cohesion * middle.dt)
        kept &= (found.gap <= touching) | (cohesion == 0.0) | held
    return found if kept.all() else found.take(np.flatnonzero(kept))


def _held(old: Impulses, found: Contacts, cohesion: Array) -> Mask:
    """Whether each contact was active at the last step without yielding to the largest tension (N·s)."""
    place = places(old.a, old.b, old.feature, found)
    normal = np.einsum("ni,ni->n", old.impulse[place], found.normal) if len(old.a) else np.zeros(len(found))
    return (place >= 0) & (normal + cohesion > YIELDED * cohesion)


@kernel
def mark_some(
    worker: Worker,
    a: Indices,
    b: Indices,
    bodies: Indices,
    point: Array,
    shift: Array,
    normal: Array,
    gap: Array,
    position: Array,
    orientation: Array,
    velocity: Array,
    touching: float,
    reach: float,
    dt: float,
    kept: Mask,
    touches: Indices,
) -> None:
    """One thread's part of the contacts to be marked and of their bodies (n, 2), and how many touch."""
    i, j = chunk(worker, len(gap))
    for k in range(i, j):
        bodies[k, 0], bodies[k, 1] = a[k], b[k]
    place = bodies[i:j], point[i:j], shift[i:j], normal[i:j], gap[i:j]
    motion = position, orientation, velocity
    touches[worker.rank] = mark_within_reach(*place, *motion, touching, reach, dt, kept[i:j])


@kernel
def mark_within_reach(
    bodies: Indices,
    point: Array,
    shift: Array,
    normal: Array,
    gap: Array,
    position: Array,
    orientation: Array,
    velocity: Array,
    touching: float,
    reach: float,
    dt: float,
    kept: Mask,
) -> int:
    """Mark the contacts that touch, or are apart and slow; return the number that touch."""
    touch = 0
    for i in range(len(gap)):
        kept[i] = gap[i] <= touching
        touch += kept[i]
        if not kept[i]:
            speed = normal_velocity(i, bodies, point, shift, normal, position, orientation, velocity)
            kept[i] = abs(speed) * dt <= reach
    return touch
