"""Who may touch whom: contact detection kept from step to step."""

from __future__ import annotations

import numpy as np

from clapas.collision import Detector
from clapas.dynamics.model import Model, State
from clapas.geometry.colliders import Contacts
from clapas.typing import Indices

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
        pairs = model.ignored
        self._ignored = None if pairs is None else pairs[:, 0] * model.n_bodies + pairs[:, 1]

    def detect(self, state: State, distance: float) -> Contacts:
        """All contacts with gap ≤ distance, without those of pairs that the model ignores."""
        if self._detector is None or state.n_bodies != self._count:
            alive = self._model.first(state.n_bodies)
            self._detector = Detector(alive.colliders, movable=~alive.is_wall, period=alive.period)
            self._count = state.n_bodies
        found = self._detector.detect(state.position, state.orientation, distance)
        return found if self._ignored is None else self._apart(found, self._ignored)

    def _apart(self, found: Contacts, ignored: Indices) -> Contacts:
        n = self._model.n_bodies
        pair = np.minimum(found.a, found.b) * n + np.maximum(found.a, found.b)
        kept = ~np.isin(pair, ignored)
        return found if kept.all() else found.take(np.flatnonzero(kept))
