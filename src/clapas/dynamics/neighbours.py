"""Contact detection, kept from step to step."""

from __future__ import annotations

import numpy as np

from clapas.collision import Detector
from clapas.collision.contact_table import Table
from clapas.compiled import is_kept
from clapas.dynamics.few.kernels import advance
from clapas.dynamics.few.tables import FewBodies, are_few
from clapas.dynamics.jointed.mechanism import Mechanism
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.geometry.colliders import Contacts
from clapas.problems.workspace import Workspace
from clapas.typing import Array

PATIENCE = 20_000
"""Steps after which the kernels of few bodies save more time than their compilation takes, half a minute."""
TOUCHING = 16.0 * float(np.finfo(float).eps)
"""Gap that counts as zero, relative to the largest coordinate: the rounding error between two bodies placed
against each other. It is not a margin: at 1 m from the origin it is 4e-15 m."""


def touching_gap(state: State) -> float:
    """The gap (m) that counts as zero in a state, so that bodies placed against each other touch."""
    x = state.position
    return TOUCHING * float(max(x.max(initial=0.0), -x.min(initial=0.0)))


class Neighbours:
    """Contact detection among the bodies born so far.

    Keeps a detector with its neighbour list while no body is born, and in ``kept`` the workspace of solvers.
    Its results depend only on the state, never on the list.

    Parameters
    ----------
    model : Model
        The bodies.
    patience : int
        Steps after which the kernels of few bodies are compiled, if they are not in the cache.
    """

    def __init__(self, model: Model, *, patience: int = PATIENCE) -> None:
        self._model = model
        self._count = -1
        self._detector: Detector | None = None
        self._few: FewBodies | None = None
        self._mechanism: Mechanism | None = None
        self._stay_few = are_few(model)
        self._waits = 0 if is_kept(advance) else patience
        self.kept = Workspace()

    def few(self, state: State) -> FewBodies | None:
        """The bodies of a state, if :mod:`clapas.dynamics.few` supports them.

        None in a step in which bodies appear, and as long as some of many bodies are still to appear. Kernels
        not in the cache are compiled only after ``patience`` steps; results are the same, bit by bit.
        """
        model, count = self._model, state.n_bodies
        if not self._stay_few and count < model.n_bodies:
            return None
        if self._waits > 0:
            self._waits -= 1
            return None
        if count < model.n_bodies and model.birth[count] <= state.time:
            return None
        if self._few is None or self._few.model.n_bodies != count:
            self._few = FewBodies(model.first(count))
        return self._few if self._few.is_supported else None

    def mechanism(self, state: State) -> Mechanism | None:
        """The bodies of a state, if some have joints and :mod:`clapas.dynamics.jointed` supports them all.

        None while bodies are still to appear.
        """
        if self._model.joints is None or state.n_bodies < self._model.n_bodies:
            return None
        if self._mechanism is None:
            self._mechanism = Mechanism(self._model)
        return self._mechanism if self._mechanism.is_supported else None

    def detect(self, state: State, distance: float) -> Contacts:
        """All contacts with gap ≤ distance, without those of pairs that never touch."""
        return self._detector_of(state.n_bodies).detect(state.position, state.orientation, distance)

    def find(self, position: Array, orientation: Array, distance: float) -> Table:
        """All contacts with gap ≤ distance as a table, of bodies at these places."""
        return self._detector_of(len(position)).find(position, orientation, distance)

    def _detector_of(self, count: int) -> Detector:
        if self._detector is None or count != self._count:
            alive = self._model.first(count)
            apart = alive.apart
            exclude = apart[(apart < count).all(axis=1)].tolist()
            self._detector = Detector(
                alive.colliders, movable=~alive.is_wall, period=alive.period, exclude=exclude
            )
            self._count = count
        return self._detector
