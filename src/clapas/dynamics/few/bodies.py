"""What a step of few bodies needs to know of a model, made once."""

from __future__ import annotations

import numpy as np

from clapas.compiled import plain
from clapas.dynamics.few.bound import BoundModel, kernels_know
from clapas.dynamics.few.tables import Carried, Laws, Placed, Rigid
from clapas.dynamics.model import Model, State

MOST = 256
"""Movable bodies up to which steps are done here. Beyond, what lies between the kernels costs little."""


class FewBodies(BoundModel):
    """The arrays of a model, and whether its steps can be done by the kernels of few bodies.

    Parameters
    ----------
    model : Model
        Its bodies are all born.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.serves = serves(model)
        self._gravity = float(np.linalg.norm(model.gravity))
        self.no_kick = np.zeros((model.n_bodies, 3))
        if self.serves:
            self.rigid, self.laws = Rigid.of(model), Laws.of(model)

    def taken(self, state: State, dt: float) -> tuple[Placed, Carried]:
        """A state and its impulses, for a step of length dt, in arrays that kernels can be bound to."""
        ratio, old, last = float(dt / state.dt) if state.dt else 1.0, state.impulses, self.last
        placed = Placed(state.position, state.orientation, state.velocity)
        carried = Carried(old.a, old.b, old.feature, old.impulse, ratio)
        if (
            last is not None
            and last.position is state.position
            and last.orientation is state.orientation
            and last.velocity is state.velocity
            and last.impulses is old
        ):
            return placed, carried  # made here
        a, b, feature = (plain(column, np.int64) for column in carried[:3])
        carried = Carried(a, b, feature, plain(old.impulse, float), ratio)
        return Placed(*(plain(column, float) for column in placed)), carried

    def speed_gained(self, dt: float) -> float:
        """What gravity adds to a speed in a step (m/s)."""
        return dt * self._gravity


def serves(model: Model) -> bool:
    """Whether all a step does is in the kernels: few rigid bodies that slide, loads on them, and walls.

    Cohesion is left to the general step because it changes the unknown of the problem, guides because their
    bodies are walls along some axes: both would be in every kernel from ``pose`` on, for few scenes.
    """
    is_rigid = not model.systems and model.joints is None and model.blocked is None
    is_small = model.ignored is None and int(model.movable.sum()) <= MOST
    return kernels_know(model) and is_rigid and is_small
