"""Who may touch whom: contact detection kept from step to step."""

from __future__ import annotations

from typing import Literal

import numpy as np

from clapas.collision import Detector
from clapas.dynamics.model import Model, State
from clapas.geometry.colliders import Contacts
from clapas.typing import Array

TOUCHING = 16.0 * float(np.finfo(float).eps)
"""Gap that counts as zero, relative to the largest coordinate: what rounding leaves of two bodies placed
against each other. It is no margin: at 1 m from the origin it is 4e-15 m."""


class Surroundings:
    """The contacts of the bodies born so far.

    Keeps a detector with its neighbour list while no body is born. What it returns depends on the
    state alone, never on the list.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._count = -1
        self._detector: Detector | None = None

    def active(
        self, middle: State, free: Array, horizon: float, activation: Literal["gap", "predicted"]
    ) -> Contacts:
        """The contacts a step must consider.

        With "gap" those with gap ≤ 0 up to rounding (``TOUCHING``), so that a body at rest on another
        is held from the first step; with "predicted" those whose gap would be ≤ 0 after ``horizon``
        seconds at the free velocities of the centres.
        """
        if activation == "gap":
            return self.detect(middle, TOUCHING * float(np.abs(middle.position).max(initial=0.0)))
        model = self._model.first(middle.n_bodies)
        speed = float(np.abs(free[:, : model.d]).max(initial=0.0)) * np.sqrt(model.d)
        contacts = self.detect(middle, 2.0 * speed * horizon)
        linear = free[:, : model.d]
        approach = np.sum((linear[contacts.b] - linear[contacts.a]) * contacts.normal, axis=1)
        return contacts.take(np.flatnonzero(contacts.gap + horizon * approach <= 0.0))

    def detect(self, state: State, distance: float) -> Contacts:
        """All contacts with gap ≤ distance."""
        if self._detector is None or state.n_bodies != self._count:
            alive = self._model.first(state.n_bodies)
            self._detector = Detector(alive.colliders, movable=~alive.is_wall, period=alive.period)
            self._count = state.n_bodies
        return self._detector.detect(state.position, state.orientation, distance)
