"""Coordinates of joints in a state: angles and displacements, and their rates, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clapas.dynamics.joints.instep import coordinates_of, joint_rates
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.errors import unknown_name
from clapas.typing import Array


class Coordinate(NamedTuple):
    """The coordinate of a joint (rad, turns counted, or m) and its rate (rad/s, m/s)."""

    value: float
    rate: float


@dataclass(frozen=True, eq=False)
class JointCoordinates(Mapping[str, Coordinate]):
    """Coordinates of all joints that have one, by their names.

    Parameters
    ----------
    names : tuple of str
        Names of the joints.
    value, rate : arrays (k,)
        Their coordinates (rad, m) and rates (rad/s, m/s), in the same order.
    """

    names: tuple[str, ...]
    value: Array
    rate: Array

    def __getitem__(self, name: str) -> Coordinate:
        if name not in self.names:
            raise unknown_name("joint with a coordinate", name, self.names)
        k = self.names.index(name)
        return Coordinate(float(self.value[k]), float(self.rate[k]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def joint_coordinates(model: Model, state: State) -> JointCoordinates:
    """The coordinates of the joints of a model in a state, and their rates.

    Hinges and pins have an angle, sliders, slots and cylindrical joints a displacement. Angles count turns
    from step to step; in a state that was not reached by steps they are within half a turn of their starting
    values.

    Examples
    --------
    >>> from clapas.dynamics.births import initial_state
    >>> from clapas.scenes.compilation import compile_scene
    >>> from clapas.scenes.scene import Scene
    >>> from clapas.geometry.shapes import Disk
    >>> scene = Scene(d=2, gravity=(0, 0))
    >>> scene.law(mu=0.3)
    >>> wheel = scene.add(Disk(0.5), angular_velocity=3.0, mass=1.0)
    >>> axle = scene.join("pin", wheel, at=(0, 0), name="axle")
    >>> model = compile_scene(scene)
    >>> joint_coordinates(model, initial_state(model))["axle"]
    Coordinate(value=0.0, rate=3.0)
    """
    rows = model.joints
    if rows is None or not len(rows.moving):
        return JointCoordinates((), np.empty(0), np.empty(0))
    value = coordinates_of(model, state)
    return JointCoordinates(rows.drives.names, value, joint_rates(model, state, value))
