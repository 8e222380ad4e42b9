"""A scene: the description of a simulation.

Bodies and walls, materials, contact laws, gravity, sources of grains, probes. Each item is checked when it is
added, and the scene as a whole when it is compiled. It can be written to a file (TOML or YAML) and read
again, to the same bits.

Each method is a function whose first argument is the scene, defined beside the class of what it adds.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clapas.dynamics.joints.definition import Joint
from clapas.dynamics.joints.laws import Mimic
from clapas.dynamics.model import System
from clapas.dynamics.pressing import Pressed
from clapas.dynamics.probes import Probe
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.geometry.checks import Vector
from clapas.scenes import (
    blocks,
    body,
    joining,
    materials,
    packing,
    pressing,
    probing,
    robots,
    sources,
    systems,
)
from clapas.scenes.body import Body, Wall
from clapas.scenes.materials import DEFAULT, LawBook, Material
from clapas.scenes.records import body_records, table_of_laws
from clapas.scenes.run import Run
from clapas.scenes.sources import Source
from clapas.units import counted

Period = tuple[float | None, float | None]


class Scene:
    """Bodies, walls, materials and contact laws to simulate.

    Parameters
    ----------
    gravity : d floats, optional
        Acceleration of gravity (m/s²): by default 9.81 downward, along the last axis.
    d : 2 or 3
        Dimension.
    period : (x, y), optional
        Lengths of the periodic cell along x and y (m); None where there is no periodicity.
    seed : int
        Seed of all random numbers of the scene: packings, sources.
    combine : str
        For two materials without a law between them: "error", or how the laws of each with itself are
        combined, number by number: "mean", "geometric", "min" or "max".
    overlap : float, optional
        Depth of interpenetration allowed at the start (m); by default 1e-6 of the size of the smaller body.

    Examples
    --------
    A ball above a floor:

    >>> from clapas.geometry.shapes import Plane, Sphere
    >>> scene = Scene()
    >>> stone = scene.material("stone", density=2500)
    >>> scene.law(mu=0.5)
    >>> floor = scene.add(Plane())
    >>> ball = scene.add(Sphere(0.1), position=(0, 0, 1), material=stone, name="ball")
    >>> round(scene.records()[ball].mass, 3)
    10.472
    """

    def __init__(
        self,
        gravity: Sequence[float] | None = None,
        d: int = 3,
        period: Sequence[float | None] | None = None,
        seed: int = 0,
        *,
        combine: str = "error",
        overlap: float | None = None,
    ) -> None:
        if d not in (2, 3):
            raise SceneError(f"scene: d must be 2 or 3, got {d!r}")
        self.d = d
        down = (0.0, 0.0, -9.81) if d == 3 else (0.0, -9.81)
        self.gravity = down if gravity is None else gravity
        self.is_gravity_given = gravity is not None  # if not, a robot brings that of its file
        self.period = _period(period)
        self.seed = seed
        self.laws = LawBook({}, None, combine)
        self.overlap = overlap
        self.materials: dict[str, Material] = {DEFAULT: Material(DEFAULT)}
        self.bodies: list[Body | Wall] = []
        self.sources: list[Source] = []
        self.probes: list[Probe] = []
        self.systems: list[System] = []
        self.joints: list[Joint] = []
        self.mimics: list[Mimic] = []
        self.ignored: set[tuple[int, int]] = set()
        self.pressed: list[Pressed] = []
        self.run = Run()
        self.numbers: dict[str, int] = {}  # of bodies with a name
        self.worlds: dict[int, Path] = {}  # walls of the worlds of robots, with their files
        self.n_fills = 0  # fills so far: each draws its own random numbers

    @property
    def gravity(self) -> Vector:
        """Acceleration of gravity (m/s²)."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Sequence[float]) -> None:
        self._gravity: Vector = checks.vector("scene", "gravity", value, self.d)
        self.is_gravity_given = True

    @property
    def seed(self) -> int:
        """Seed of all random numbers of the scene."""
        return self._seed

    @seed.setter
    def seed(self, value: int) -> None:
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise SceneError(f"scene: seed must be a whole number, at least 0, got {value!r}")
        self._seed = int(value)

    @property
    def overlap(self) -> float | None:
        """Depth of interpenetration allowed at the start (m); None for 1e-6 of the smaller body."""
        return self._overlap

    @overlap.setter
    def overlap(self, value: float | None) -> None:
        self._overlap = None if value is None else checks.at_least_zero("scene", "overlap", value)

    def __repr__(self) -> str:
        count = len(self.bodies)
        return f"Scene({counted(count, 'body', 'bodies')} in {self.d}-D)"

    material = materials.material
    law = materials.law

    add = body.add
    add_blocks = blocks.add_blocks
    add_system = systems.add_system
    add_rods = systems.add_rods
    load_robot = robots.load_robot
    fill = packing.fill
    source = sources.source
    number = body.number

    join = joining.join
    mimic = joining.mimic
    ignore = joining.ignore
    press = pressing.press

    probe = probing.probe

    records = body_records
    law_table = table_of_laws

    @property
    def combine(self) -> str:
        """The rule for two materials without a law between them."""
        return self.laws.combine

    @combine.setter
    def combine(self, rule: str) -> None:
        self.laws = replace(self.laws, combine=rule)

    # ---------------------------------------------------------------- files

    def to_dict(self) -> dict[str, Any]:
        """The scene as plain data (text, numbers, lists, dictionaries), as in files."""
        from clapas.scenes.scenefile import entries_of

        return entries_of(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> Scene:
        """A scene from plain data, checked against the schema; ``folder`` holds its mesh files."""
        from clapas.scenes.scenefile import scene_of

        return scene_of(data, folder)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Scene:
        """Read a scene from a TOML or YAML file.

        Raises
        ------
        FormatError
            The file is neither, or damaged.
        SceneError
            A key is unknown, a value of the wrong kind or impossible; the message gives its path.
        """
        from clapas.scenes.scenefile import load

        return load(path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scene to a TOML or YAML file, chosen by the suffix. Reading gives the same scene."""
        from clapas.scenes.scenefile import save

        save(self, path)


def _period(value: Any) -> Period:
    if value is None:
        return (None, None)
    try:
        x, y = value
    except (TypeError, ValueError):
        raise SceneError(
            f"scene: period must be two lengths, along x and y, None where there is none; got {value!r}"
        ) from None
    lengths = [None if length in (None, math.inf) else length for length in (x, y)]
    named = zip("xy", lengths, strict=True)
    checked = [
        None if p is None else checks.positive("scene", f"period along {axis}", p) for axis, p in named
    ]
    return (checked[0], checked[1])
