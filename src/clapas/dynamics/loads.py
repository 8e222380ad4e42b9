"""Loads: forces and torques on bodies, besides gravity and contacts.

A load is constant, a table in time, or a Python function of time, which cannot be written to a file. A wall
under a pressure is a guided body (:mod:`clapas.dynamics.guides`) with a force: the pressure times the area.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.geometry.checks import Vector
from clapas.geometry.rotations import rotate_back
from clapas.typing import Array


class Course(ABC):
    """A vector as a function of time: a force (N) or a torque (N·m), in world coordinates."""

    @abstractmethod
    def __call__(self, time: float) -> Array:
        """Its components at a time (s)."""

    @abstractmethod
    def to_entry(self) -> Any:
        """Its entry in a scene file."""


@dataclass(frozen=True)
class Constant(Course):
    """The same at all times."""

    value: Vector

    def __call__(self, time: float) -> Array:
        """The same at all times."""
        return np.array(self.value)

    def to_entry(self) -> list[float]:
        """Its components."""
        return list(self.value)


@dataclass(frozen=True, eq=False)
class Ramps(Course):
    """Values at given times, linear in between, constant before the first and after the last.

    Examples
    --------
    A press that builds up 100 N during one second:

    >>> as_course("press", "force", ([0, 1], [(0, 0, 0), (0, 0, -100)]), 3)(0.5).tolist()
    [0.0, 0.0, -50.0]
    """

    times: Array
    values: Array

    def __call__(self, time: float) -> Array:
        """Linear interpolation."""
        return np.array([np.interp(time, self.times, column) for column in self.values.T])

    def to_entry(self) -> dict[str, Any]:
        """Its times and values."""
        return {"times": self.times.tolist(), "values": self.values.tolist()}


@dataclass(frozen=True)
class FunctionOfTime(Course):
    """A Python function of time whose values are checked."""

    label: str
    name: str
    function: Callable[[float], Any]
    size: int

    def __call__(self, time: float) -> Array:
        """The value of the function, checked."""
        name = f"{self.name} at t = {time}"
        return np.array(_vector(self.label, name, self.function(time), self.size))

    def to_entry(self) -> Any:
        """Raise an error: a function cannot be written to a file."""
        raise SceneError(
            f"{self.label}: its {self.name} is a Python function, which no file can hold; "
            "give constant components, or (times, values)"
        )


@dataclass(frozen=True)
class Load:
    """The force and the torque on a body, in the world, as functions of time.

    Parameters
    ----------
    d : 2 or 3
        Dimension.
    force, torque : Course, optional
        Force at the centre of mass (N) and torque (N·m).
    """

    d: int
    force: Course | None = None
    torque: Course | None = None

    def __call__(self, time: float) -> tuple[Array, Array]:
        """Force (d,) and torque, (3,) or (1,) in 2-D, at a time."""
        force = np.zeros(self.d) if self.force is None else self.force(time)
        torque = np.zeros(3 if self.d == 3 else 1) if self.torque is None else self.torque(time)
        return force, torque

    def plus(self, other: Load) -> Load:
        """The sum of both at time 0: for loads that last one step."""
        force, torque = (tuple(map(float, a + b)) for a, b in zip(self(0.0), other(0.0), strict=True))
        return Load(self.d, Constant(force), Constant(torque))

    def in_body_frame(self, time: float, orientation: Array) -> Array:
        """Force in the world and torque in the body frame, one after another, as velocities are kept."""
        force, torque = self(time)
        return np.concatenate((force, rotate_back(orientation, torque) if self.d == 3 else torque))


def as_course(label: str, name: str, value: Any, size: int) -> Course | None:
    """A force or a torque from components, (times, values) or a function of time, checked."""
    if value is None or isinstance(value, Course):
        return value
    if callable(value):
        course = FunctionOfTime(label, name, value, size)
        course(0.0)  # a wrong function is reported before anything runs
        return course
    if isinstance(value, tuple | list) and len(value) == 2 and np.ndim(value[0]) == 1:
        return _ramps(label, name, value[0], value[1], size)
    return Constant(_vector(label, name, value, size))


def _ramps(label: str, name: str, times: npt.ArrayLike, values: Any, size: int) -> Ramps:
    t = np.array(checks.vector(label, f"times of its {name}", times, np.size(times)))
    if t.size == 0 or (np.diff(t) <= 0.0).any():
        raise SceneError(f"{label}: times of its {name} must increase, got {t.tolist()}")
    rows = [_vector(label, name, row, size) for row in values]
    if len(rows) != t.size:
        raise SceneError(
            f"{label}: its {name} must have one row for each of the {t.size} times, got {len(rows)}"
        )
    return Ramps(t, np.array(rows))


def _vector(label: str, name: str, value: Any, size: int) -> Vector:
    if size == 1 and np.ndim(value) == 0:
        return (checks.number(label, name, value),)
    return checks.vector(label, name, value, size)
