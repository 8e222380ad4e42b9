"""A model whose steps kernels do alone: what they need to know of it, made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clapas.compiled import bound
from clapas.dynamics.few.tables import Sizes
from clapas.dynamics.model import Model, State
from clapas.dynamics.reaching import default_reach
from clapas.geometry.colliders import zeros_without_room
from clapas.typing import Array


class BoundModel:
    """Constant arrays of a model, and the machine code of kernels for them.

    Parameters
    ----------
    model : Model
        Its bodies are all born.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.sizes = Sizes((0,) * model.d, (0,) * model.velocity.shape[1])
        self.no_lead = np.empty((0, model.d))
        self.last: State | None = None  # the state the last step led to
        self._still, self._of_dt = np.zeros(model.velocity.shape), (-1.0, np.empty(0), 0.0)
        self._no_couples = zeros_without_room((0, 1))
        self._entries: dict[Any, Callable[..., Any]] = {}

    def __reduce__(self) -> tuple[type[BoundModel], tuple[Model]]:
        return type(self), (self.model,)  # machine code stays here

    def call(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Call a kernel; its arguments always have the same types (see :func:`clapas.compiled.bound`)."""
        entry = self._entries.get(kernel)
        if entry is None:
            entry = self._entries[kernel] = bound(kernel, *arguments)
        return entry(*arguments)

    def gain_and_reach(self, dt: float) -> tuple[Array, float]:
        """What gravity adds to velocities in a step (m/s), and the default reach (m)."""
        if dt != self._of_dt[0]:
            self._of_dt = dt, dt * self.model.gravity, default_reach(self.model, dt)
        return self._of_dt[1:]

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


def kernels_know(model: Model) -> bool:
    """Whether contacts only slide, in a space without periods: the laws that these kernels have."""
    laws = model.laws
    is_plain = not (laws.has_couples or laws.is_elliptic or laws.has_sections or laws.cohesion.any())
    return is_plain and all(length is None for length in model.period)
