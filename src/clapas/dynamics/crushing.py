"""Contacts that no impulse changes, because joints, motors or guides hold both bodies along the normal.

Such a contact needs no impulse and is left out of the contact problem. But where its bodies are driven into
each other, Coulomb's law has no solution: u_N < 0 whatever the impulses are. The step then says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clapas.dynamics.names import Names
from clapas.dynamics.state import State
from clapas.geometry.colliders import Contacts
from clapas.solvers import Solution
from clapas.status import Status
from clapas.typing import Array

HELD_BY_JOINTS = 1e-10  # of what it is without joints: a response below is that of a contact joints hold
HELD_DIRECTION = HELD_BY_JOINTS**0.5  # share of a velocity that may be along a normal held in this sense


class Crushed(NamedTuple):
    """Two bodies driven into each other.

    Parameters
    ----------
    a, b : int
        The bodies.
    speed : float
        Closing velocity along the normal (m/s).
    share : float
        The same relative to the velocities of the bodies at the contact: no unit.
    """

    a: int
    b: int
    speed: float
    share: float

    def refused(self, solution: Solution, names: Names) -> Solution:
        """The solution of the other contacts, marked as none."""
        note = (
            f"'{names[self.a]}' and '{names[self.b]}' are driven into each other at {self.speed:.3g} m/s by "
            "joints, motors, guides or imposed motions that yield to no force: give the motor a largest "
            "force or torque, or stop the motion before they touch"
        )
        residual = max(solution.residual, self.share)
        return replace(solution, status=Status.NO_SOLUTION, residual=residual, notes=(*solution.notes, note))


def worst_crushed(
    contacts: Contacts, middle: State, touching: float, dt: float, u: Array, *velocities: Array
) -> Crushed | None:
    """The fastest of contacts that close at normal velocities u (n,), which no impulse changes, if any does.

    Contacts with gaps above ``touching`` (m) may close them in the step of ``dt`` (s). ``velocities``
    (N, size) are the terms of u beside those at the middle: a small share of them is rounding, or belongs to
    a normal that is held in all but its last digits.
    """
    if not len(contacts):
        return None
    d, terms = contacts.normal.shape[1], np.zeros(len(contacts))
    for velocity in (middle.velocity, *velocities):
        for body, shift in ((contacts.a, 0.0), (contacts.b, contacts.shift)):
            arm = np.linalg.norm(contacts.point - shift - middle.position[body], axis=1)
            speed, spin = velocity[body, :d], velocity[body, d:]
            terms += np.linalg.norm(speed, axis=1) + np.linalg.norm(spin, axis=1) * arm
    closing = -np.where(contacts.gap > touching, u + contacts.gap / dt, u)
    i = int(np.argmax(closing - HELD_DIRECTION * terms))
    if not closing[i] > HELD_DIRECTION * terms[i]:
        return None
    return Crushed(int(contacts.a[i]), int(contacts.b[i]), float(closing[i]), float(closing[i] / terms[i]))
