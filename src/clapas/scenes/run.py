"""Run settings of a scene: duration, time step, methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from clapas.errors import SceneError
from clapas.geometry import checks


@dataclass(frozen=True, kw_only=True)
class Run:
    """Run settings kept with a scene, for the command line.

    Parameters
    ----------
    duration, dt : float, optional
        Time to simulate and time step (s).
    every : int
        Steps between two recorded ones.
    on_unsolved : "raise" or "record"
        Action if a contact problem stays above the tolerance.
    solver, scheme : mapping
        Name and settings of the method and of the time stepping, as ``{"name": "auto", "tol": 1e-6}``.
        They are checked when the methods are made.
    sleeping : mapping
        When bodies may sleep, as ``{"speed": 1e-2}``; empty for never.
    """

    duration: float | None = None
    dt: float | None = None
    every: int = 1
    on_unsolved: Literal["raise", "record"] = "raise"
    solver: Mapping[str, Any] = field(default_factory=dict)
    scheme: Mapping[str, Any] = field(default_factory=dict)
    sleeping: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("duration", "dt"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, checks.positive("run", name, value))
        every = self.every
        if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
            raise SceneError(f"run: every must be a whole number of steps, at least 1, got {every!r}")
        object.__setattr__(self, "every", int(every))
        for name in ("solver", "scheme", "sleeping"):
            if not isinstance(getattr(self, name), Mapping):
                raise SceneError(
                    f"run: {name} must be a mapping of its settings, got {getattr(self, name)!r:.60}; "
                    "an object is for clapas.simulate"
                )
        if self.on_unsolved not in ("raise", "record"):
            raise SceneError(f"run: on_unsolved must be 'raise' or 'record', got '{self.on_unsolved}'")

    def to_dict(self) -> dict[str, Any]:
        """Its settings that differ from their defaults."""
        default = Run()
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: _plain(value) for name, value in values.items() if value != getattr(default, name)}


def _plain(value: Any) -> Any:
    """The same in types of Python alone: settings arrive as people computed them, with NumPy too."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
