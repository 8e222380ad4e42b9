"""Who may touch whom: contact detection kept from step to step."""

from __future__ import annotations

import numpy as np

from clapas.collision import Detector
from clapas.dynamics.model import Model, State
from clapas.geometry.colliders import Contacts

TOUCHING = 16.0 * float(np.finfo(float).eps)
"""Gap that counts as zero, relative to the largest coordinate: what rounding leaves of two bodies placed
against each other. It is no margin: at 1 m from the origin it is 4e-15 m."""


def touching_gap(state: State) -> float:
    """The gap (m) that counts as zero in a state, so that bodies placed against each other touch."""
    return TOUCHING * float(np.abs(state.position).max(initial=0.0))


class Surroundings:
    """The contacts of the bodies born so far.

    Keeps a detector with its neighbour list while no body is born. What it returns depends on the
    state alone, never on the list.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._count = -1
        self._detector: Detector | None = None

    def detect(self, state: State, distance: float) -> Contacts:
        """All contacts with gap ≤ distance."""
        if self._detector is None or state.n_bodies != self._count:
            alive = self._model.first(state.n_bodies)
            self._detector = Detector(alive.colliders, movable=~alive.is_wall, period=alive.period)
            self._count = state.n_bodies
        return self._detector.detect(state.position, state.orientation, distance)
