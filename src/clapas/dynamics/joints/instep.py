"""Joints during one step: what the velocity at its end must be, said at its middle.

The contact problem of a step is stated at its middle q_m, and so are the rows, J = ∂g/∂q at q_m, along which
joints push. The velocity v⁺ belongs to the end of the step, where the pose is q⁺ = q_m ⊕ θ h v⁺ and where it
must obey the joints. If it obeyed them at q_m instead, a pendulum would lose the part 1 − cos φ of its speed
in each step, φ the angle of a step: an error of first order. So the rows are given what they must be,

    J(q_m) v⁺ + b = 0,    b = J(q⁺) v⁺ + J_walls(q⁺) V − J(q_m) v⁺,

which says J(q⁺) v⁺ + J_walls(q⁺) V = 0 with the velocities V of driven bodies at the end of the step. b is
small, of the order of h, and depends weakly on v⁺: it is found by repeating, first without contacts. As
J(q_m)(v⁻ + v⁺) is then zero up to h³, joints do no work but that of driven bodies. What is left of b
that redundant rows contradict is taken off, in the sense of least squares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clapas.bodies.rigid.motion import moved
from clapas.dynamics.joints.leastmotion import LeastMotion
from clapas.dynamics.joints.reactions import Reactions
from clapas.dynamics.model import Model, State
from clapas.geometry.colliders import Contacts
from clapas.typing import Array


@dataclass(frozen=True, eq=False)
class JointsInStep:
    """The joints of a model during one step.

    Parameters
    ----------
    model : Model
        The bodies.
    middle : State
        Where they are at the middle of the step.
    motion : LeastMotion
        The joints there.
    theta, dt : float
        Of the scheme; the step (s).
    lead : array (N, size)
        Velocities with J lead = −b: what v⁺ has beyond J v = 0.
    """

    model: Model
    middle: State
    motion: LeastMotion
    theta: float
    dt: float
    lead: Array

    @property
    def b(self) -> Array:
        """What the rows of J v + b = 0 impose, (j,)."""
        return -self.motion.rate(self.lead)

    def velocity(self, free: Array) -> Array:
        """Velocities (N, size) at the end of the step without contact, from those without joints."""
        return np.asarray(self.motion.held(free) + self.lead)

    def led_by(self, velocity: Array) -> JointsInStep:
        """The joints with what b is if the step ends with these velocities (N, size)."""
        model, rows, middle = self.model, self.motion.rows, self.middle
        end = rows.placed(*moved(middle.position, middle.orientation, velocity, self.theta * self.dt))
        at_end = velocity.copy()
        for body in model.motions:
            at_end[body] = model.driven(body, velocity[body], middle.time + self.dt)
        return replace(self, lead=self.motion.reach(self.motion.rate(velocity) - end.rate(rows, at_end)))

    def reactions(self, multipliers: Array) -> Reactions:
        """What the joints did, from the impulses (j,) along their rows."""
        return Reactions(self.motion.rows, self.motion.placed, self.middle, multipliers, self.dt)

    def change(self, other: JointsInStep) -> float:
        """Kinetic energy (J) of what b differs by."""
        difference = (self.lead - other.lead)[self.model.movable]
        return 0.5 * float(np.sum(self.model.masses[self.model.movable] * difference**2))

    def touch(self, contacts: Contacts) -> bool:
        """Whether a body with joints, that can move, is in contact."""
        joined = self.model.is_joined
        return bool(joined[contacts.a].any() or joined[contacts.b].any())

    def work(self, multipliers: Array, velocity: Array) -> float:
        """Work of the joints on bodies that move at these mean velocities (J): that of driven bodies.

        Where nothing is driven it is zero up to h⁴.
        """
        return float(multipliers @ self.motion.rate(velocity))


def joints_in_step(model: Model, middle: State, theta: float, dt: float) -> JointsInStep:
    """The joints at the middle of a step."""
    assert model.joints is not None
    placed = model.joints.placed(middle.position, middle.orientation)
    motion = LeastMotion(model, model.joints, placed)
    return JointsInStep(model, middle, motion, theta, dt, np.zeros_like(middle.velocity))


def apart_from_joined(model: Model, contacts: Contacts) -> Contacts:
    """The contacts without those between two bodies that a joint joins, unless it lets them collide."""
    if model.joints is None or not model.joints.pairs or not len(contacts):
        return contacts
    n = model.n_bodies
    joined = np.array([a * n + b for a, b in sorted(model.joints.pairs)])
    pair = np.minimum(contacts.a, contacts.b) * n + np.maximum(contacts.a, contacts.b)
    kept = ~np.isin(pair, joined)
    return contacts if kept.all() else contacts.take(np.flatnonzero(kept))
