"""Imposed motions: how walls and driven bodies move, as velocities in time.

A motion is a function of time t (s) that gives the velocity of the origin of the body's frame (m/s, in the
world) and the angular velocity (rad/s). In space the angular velocity is along axes that turn with the
body and coincide with those of the world at the start: for a body that turns about one fixed axis, which
is the usual case, these are simply the axes of the world.

The named motions can be written in a scene file. A Python function is a motion too, but cannot be written.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.geometry.checks import Vector
from clapas.geometry.rotations import rotate_back
from clapas.geometry.shapes.base import plain
from clapas.typing import Array

Velocities = tuple[Array, Array]


class Motion(ABC):
    """An imposed motion: time ↦ (velocity, angular velocity)."""

    word: ClassVar[str]
    """Its name in files."""
    d: int
    """Dimension, 2 or 3."""

    @abstractmethod
    def __call__(self, time: float) -> Velocities:
        """Velocity (d,) in m/s and angular velocity, (3,) or (1,) in 2-D, in rad/s."""

    def to_dict(self) -> dict[str, Any]:
        """Its name and its parameters, as in scene files."""
        entries: dict[str, Any] = {"type": self.word}
        for field in fields(self):  # type: ignore[arg-type]  # every motion is a dataclass
            value = getattr(self, field.name)
            if field.default is MISSING or not np.array_equal(value, field.default):
                entries[field.name] = plain(value)
        return entries


def _set(motion: Motion, **values: object) -> None:
    """Set the checked fields of a frozen motion during its construction."""
    for name, value in values.items():
        object.__setattr__(motion, name, value)


def _angles(d: int) -> int:
    return 3 if d == 3 else 1


@dataclass(frozen=True, init=False)
class ConstantVelocity(Motion):
    """Translation and rotation at constant velocities.

    Parameters
    ----------
    velocity : d floats
        m/s.
    angular_velocity : 3 floats, or one in 2-D
        rad/s.

    Examples
    --------
    A conveyor belt:

    >>> ConstantVelocity((0.5, 0, 0))(3.0)[0].tolist()
    [0.5, 0.0, 0.0]
    """

    word = "constant-velocity"
    velocity: Vector
    angular_velocity: Vector | None = None

    def __init__(
        self, velocity: Sequence[float], angular_velocity: Sequence[float] | float | None = None
    ) -> None:
        d = _dimension(self.word, "velocity", velocity)
        spin = None if angular_velocity is None else spin_vector(self.word, angular_velocity, d)
        _set(self, velocity=checks.vector(self.word, "velocity", velocity, d), angular_velocity=spin, d=d)

    def __call__(self, time: float) -> Velocities:
        """The same at all times."""
        spin = np.zeros(_angles(self.d)) if self.angular_velocity is None else np.array(self.angular_velocity)
        return np.array(self.velocity), spin


@dataclass(frozen=True, init=False)
class Oscillation(Motion):
    """Sinusoidal translation: the displacement is amplitude·(sin(2π frequency t + phase) − sin phase).

    Parameters
    ----------
    amplitude : float
        m.
    frequency : float
        Hz.
    direction : d floats
        Of any length but zero.
    phase : float
        rad.

    Examples
    --------
    A plate that shakes up and down, 1 mm at 50 Hz, starts upward at 2π·50·0.001 m/s:

    >>> Oscillation(0.001, 50.0, (0, 0, 1))(0.0)[0].round(6).tolist()
    [0.0, 0.0, 0.314159]
    """

    word = "oscillation"
    amplitude: float
    frequency: float
    direction: Vector
    phase: float = 0.0

    def __init__(
        self, amplitude: float, frequency: float, direction: Sequence[float], phase: float = 0.0
    ) -> None:
        d = _dimension(self.word, "direction", direction)
        _set(
            self,
            amplitude=checks.at_least_zero(self.word, "amplitude", amplitude),
            frequency=checks.positive(self.word, "frequency", frequency),
            direction=checks.unit_vector(self.word, "direction", direction, d),
            phase=checks.number(self.word, "phase", phase),
            d=d,
        )

    def __call__(self, time: float) -> Velocities:
        """Derivative of the displacement."""
        pulsation = 2.0 * math.pi * self.frequency
        angle = pulsation * time + self.phase
        if not math.isfinite(angle):
            raise SceneError(f"{self.word}: {self.frequency:g} Hz has no phase at t = {time:g} s; take less")
        speed = self.amplitude * pulsation * math.cos(angle)
        return speed * np.array(self.direction), np.zeros(_angles(self.d))


@dataclass(frozen=True, init=False)
class Rotation(Motion):
    """Rotation at a constant rate about an axis through the origin of the body's frame.

    Parameters
    ----------
    axis : 3 floats, or None in 2-D
        Of any length but zero.
    rate : float
        rad/s, counterclockwise seen from the tip of the axis.

    Examples
    --------
    A drum that makes 6 turns a minute about y, and its twin in the plane:

    >>> Rotation((0, 1, 0), 0.2 * np.pi)(0.0)[1].round(3).tolist()
    [0.0, 0.628, 0.0]
    >>> Rotation(None, 0.2 * np.pi)(0.0)[1].round(3).tolist()
    [0.628]
    """

    word = "rotation"
    axis: Vector | None
    rate: float

    def __init__(self, axis: Sequence[float] | None, rate: float) -> None:
        unit = None if axis is None else checks.unit_vector(self.word, "axis", axis, 3)
        _set(self, axis=unit, rate=checks.number(self.word, "rate", rate), d=2 if unit is None else 3)

    def __call__(self, time: float) -> Velocities:
        """The same at all times."""
        axis = (1.0,) if self.axis is None else self.axis
        return np.zeros(self.d), self.rate * np.array(axis)

    def to_dict(self) -> dict[str, Any]:
        """Without an axis in 2-D."""
        return {name: value for name, value in super().to_dict().items() if value is not None}


@dataclass(frozen=True, init=False, eq=False)
class Table(Motion):
    """Velocities at given times, linear in between, constant before the first and after the last.

    Parameters
    ----------
    times : n floats
        Increasing (s).
    velocities : array (n, d)
        m/s.
    angular_velocities : array (n, 3), or n floats in 2-D, optional
        rad/s.

    Examples
    --------
    A piston that speeds up during one second:

    >>> Table([0, 1], [(0, 0, 0), (0, 0, -0.2)])(0.5)[0].tolist()
    [0.0, 0.0, -0.1]
    """

    word = "table"
    times: Array
    velocities: Array
    angular_velocities: Array | None = None

    def __init__(
        self,
        times: npt.ArrayLike,
        velocities: npt.ArrayLike,
        angular_velocities: npt.ArrayLike | None = None,
    ) -> None:
        t = _numbers("times", times).ravel()
        if t.size == 0 or not np.isfinite(t).all() or (np.diff(t) <= 0.0).any():
            raise SceneError(f"table: times must increase, got {t.tolist()}")
        shape = _numbers("velocities", velocities).shape
        d = shape[1] if len(shape) == 2 and shape[1] in (2, 3) else 3
        spins = angular_velocities
        if spins is not None:
            turns = _numbers("angular_velocities", spins)
            if turns.size != _angles(d) * t.size:
                raise SceneError(
                    f"table: angular_velocities must be {_angles(d)} for each of the {t.size} times, got "
                    f"shape {turns.shape}"
                )
            spins = _rows("angular_velocities", turns.reshape(-1, _angles(d)), _angles(d), t.size)
        _set(
            self,
            times=t,
            velocities=_rows("velocities", velocities, d, t.size),
            angular_velocities=spins,
            d=d,
        )

    def __call__(self, time: float) -> Velocities:
        """Linear interpolation."""
        spins = np.zeros(_angles(self.d))
        if self.angular_velocities is not None:
            spins = _interpolated(time, self.times, self.angular_velocities)
        return _interpolated(time, self.times, self.velocities), spins

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.times.tobytes())


@dataclass(frozen=True)
class FunctionMotion(Motion):
    """A Python function of time as a motion; it cannot be written to a file.

    Parameters
    ----------
    function : callable
        t ↦ (velocity, angular velocity).
    d : 2 or 3
        Dimension.
    label : str
        Whose motion it is, for messages.
    """

    word = "function"
    function: Callable[[float], Any]
    d: int
    label: str

    def __call__(self, time: float) -> Velocities:
        """The value of the function, checked."""
        value = self.function(time)
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise SceneError(
                f"{self.label}: its motion must return (velocity, angular velocity), "
                f"got {value!r} at t = {time}"
            )
        velocity = checks.vector(self.label, f"velocity at t = {time}", value[0], self.d)
        return np.array(velocity), np.array(spin_vector(self.label, value[1], self.d))

    def to_dict(self) -> dict[str, Any]:
        """Raise an error: a function cannot be written to a file."""
        raise SceneError(
            f"{self.label}: its motion is a Python function, which no file can hold; "
            "use ConstantVelocity, Oscillation, Rotation or Table"
        )


@dataclass(frozen=True)
class InBodyFrame:
    """A motion with its angular velocity in the frame of a body, as the engine uses it.

    Parameters
    ----------
    motion : Motion
        As the user wrote it.
    orientation : tuple
        Of the body at the start.
    """

    motion: Motion
    orientation: Vector

    def __call__(self, time: float) -> Velocities:
        """Velocity in the world, angular velocity in the body frame."""
        velocity, spin = self.motion(time)
        return velocity, rotate_back(self.orientation, spin) if spin.size == 3 else spin


def as_motion(label: str, value: Any, d: int) -> Motion | None:
    """A motion from a motion, a function of time, (times, velocities) or None, checked."""
    if value is None:
        return None
    if isinstance(value, Motion):
        if value.d != d:
            axis = "its axis" if d == 3 else "None for its axis"
            raise SceneError(
                f"{label}: its motion is in {value.d}-D, the scene in {d}-D; give velocities and directions "
                f"{d} numbers, a rotation {axis}"
            )
        return value
    if callable(value):
        motion = FunctionMotion(value, d, label)
        motion(0.0)  # a wrong function is reported before anything runs
        return motion
    if isinstance(value, tuple | list) and len(value) in (2, 3):
        return as_motion(label, Table(*value), d)
    raise SceneError(
        f"{label}: motion must be ConstantVelocity, Oscillation, Rotation, Table, "
        f"(times, velocities) or a function of time, got {value!r}"
    )


def spin_vector(label: str, value: Any, d: int) -> Vector:
    """An angular velocity: 3 numbers, or one in 2-D, alone or in a list."""
    if d == 2 and np.ndim(value) == 0:
        return (checks.number(label, "angular velocity", value),)
    return checks.vector(label, "angular velocity", value, _angles(d))


def _dimension(label: str, name: str, value: Any) -> int:
    size = np.size(value)
    if size not in (2, 3):
        raise SceneError(f"{label}: {name} must be 2 or 3 numbers, got {value!r}")
    return int(size)


def _numbers(name: str, value: Any) -> Array:
    """An array of numbers; raises an error for rows of different lengths."""
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise SceneError(f"table: {name} must be rows of numbers, all of one length, got {value!r}") from None


def _rows(name: str, value: Any, width: int, count: int) -> Array:
    rows = checks.points("table", name, value, width, at_least=1)
    if len(rows) != count:
        raise SceneError(f"table: {name} must have one row for each of the {count} times, got {len(rows)}")
    return rows


def _interpolated(time: float, times: Array, rows: Array) -> Array:
    return np.array([np.interp(time, times, column) for column in rows.T])
