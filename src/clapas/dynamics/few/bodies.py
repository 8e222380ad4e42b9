"""What a step of few bodies needs to know of a model, made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clapas.compiled import bound, plain
from clapas.dynamics.few.tables import Carried, Laws, Placed, Rigid, Sizes
from clapas.dynamics.model import Model, State
from clapas.dynamics.reaching import default_reach
from clapas.geometry.colliders import zeros_without_room
from clapas.typing import Array

MOST = 256
"""Movable bodies up to which steps are done here. Beyond, what lies between the kernels costs little."""


class FewBodies:
    """The arrays of a model, and whether its steps can be done by the kernels of few bodies.

    Parameters
    ----------
    model : Model
        Its bodies are all born.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.serves = model, serves(model)
        self._still, self._of_dt = np.zeros(model.velocity.shape), (-1.0, np.empty(0), 0.0)
        self._gravity = float(np.linalg.norm(model.gravity))
        self.no_lead = np.empty((0, model.d))
        self.last: State | None = None  # the state the last step led to
        self.no_kick = np.zeros((model.n_bodies, 3))
        self._no_couples = zeros_without_room((0, 1))
        self._entries: dict[Any, Callable[..., Any]] = {}
        self.sizes = Sizes((0,) * model.d, (0,) * model.velocity.shape[1])
        if self.serves:
            self.rigid, self.laws = Rigid.of(model), Laws.of(model)

    def __reduce__(self) -> tuple[type[FewBodies], tuple[Model]]:
        return FewBodies, (self.model,)  # machine code stays here

    def call(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Call a kernel; its arguments always have the same types (see :func:`clapas.compiled.bound`)."""
        entry = self._entries.get(kernel)
        if entry is None:
            entry = self._entries[kernel] = bound(kernel, *arguments)
        return entry(*arguments)

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

    def gain_and_reach(self, dt: float) -> tuple[Array, float]:
        """What gravity adds to velocities in a step (m/s), and the default reach (m)."""
        if dt != self._of_dt[0]:
            self._of_dt = dt, dt * self.model.gravity, default_reach(self.model, dt)
        return self._of_dt[1:]

    def speed_gained(self, dt: float) -> float:
        """What gravity adds to a speed in a step (m/s)."""
        return dt * self._gravity

    def no_couples(self, n: int) -> Array:
        """The couples of n contacts that carry none."""
        if len(self._no_couples) != n:
            self._no_couples = zeros_without_room((n, 3 if self.model.d == 3 else 1))
        return self._no_couples

    def imposed(self, time: float) -> Array:
        """Velocities (N, size) of walls at a time."""
        if not self.model.motions:
            return self._still
        velocity = self._still.copy()
        for body in self.model.motions:
            velocity[body] = self.model.driven(body, velocity[body], time)
        return velocity


def serves(model: Model) -> bool:
    """Whether all a step does is in the kernels: few rigid bodies that slide, loads on them, and walls.

    Cohesion is left to the general step because it changes the unknown of the problem, guides because their
    bodies are walls along some axes: both would be in every kernel from ``pose`` on, for few scenes.
    """
    laws = model.laws
    is_plain = not (laws.has_couples or laws.is_elliptic or laws.has_sections or laws.cohesion.any())
    is_rigid = not model.systems and model.joints is None and model.blocked is None
    is_bounded = all(length is None for length in model.period)
    is_bounded &= model.ignored is None
    return is_plain and is_rigid and is_bounded and int(model.movable.sum()) <= MOST
