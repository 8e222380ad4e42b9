"""Sources: grains that appear during a run, one after another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clapas.errors import SceneError, known_keywords
from clapas.geometry import checks
from clapas.geometry.checks import Vector
from clapas.geometry.shapes import Shape
from clapas.scenes.body import require_room
from clapas.scenes.definition import (
    NEEDED,
    as_entry,
    defined,
    if_so,
    read_flag,
    read_place,
    read_positive,
    read_spin,
    readings,
    unless_zero,
    written,
)
from clapas.scenes.grains import GrainSampler, origin_of
from clapas.scenes.materials import DEFAULT, require_material
from clapas.scenes.regions import Region

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene


class Grain(NamedTuple):
    """A grain to be created.

    Parameters
    ----------
    birth : float
        Time at which it appears (s).
    shape, position, orientation
        Shape and pose at birth.
    """

    birth: float
    shape: Shape
    position: Vector
    orientation: Vector


def _region(label: str, name: str, value: Any, d: int) -> Region:
    if not isinstance(value, Region) or value.d != d:
        raise SceneError(f"{label}: region must be a {d}-D BoxRegion or DiscRegion, got {value!r}")
    return value


@dataclass(frozen=True, kw_only=True)
class Source:
    """Grains dropped one by one at a constant rate, from random places of a region.

    Grain k appears at start + k/rate. Radii, places and orientations are drawn once, from the seed of the
    scene and the number of the source: they do not depend on the run or its time step.

    Its fields are the single list of its arguments (:mod:`clapas.scenes.definition`), which
    :meth:`Scene.source` takes. ``grains`` draws the shapes.
    """

    grains: GrainSampler
    name: str = defined("word", "its grains are called by it and a number", None)
    radius: tuple[float, float] | None = defined("radii", "radius, or [low, high] (m)", None, write=list)
    shape: Shape | None = defined(
        "shape", "instead of radii: copies of it, turned at random", None, write=as_entry
    )
    region: Region = defined(
        "region", "where their centres of mass appear", NEEDED, read=_region, write=as_entry
    )
    rate: float = defined(
        "number",
        "grains per second",
        NEEDED,
        read=lambda label, name, value, d: checks.positive(label, "rate (grains per second)", value),
    )
    number: int = defined("whole number", "grains in all", None)
    until: float | None = defined(
        "number",
        "end (s)",
        None,
        write=lambda end: None,  # included in the number
    )
    start: float = defined(
        "number",
        "time of the first (s)",
        0.0,
        read=lambda label, name, value, d: checks.number(label, name, value),
        write=if_so,
    )
    velocity: Vector = defined("numbers", "m/s", None, read=read_place, write=unless_zero)
    angular_velocity: Vector = defined(
        "angular velocity",
        "angular velocity in the world (rad/s): 3 numbers, one in 2-D",
        None,
        read=read_spin,
        write=unless_zero,
    )
    material: str = defined("word", "for their density and the laws of contact", DEFAULT)
    density: float | None = defined("number", "kg/m³", None, read=read_positive)
    laid: bool = defined(
        "yes or no",
        "lower each grain until it touches what lies below",
        False,
        read=read_flag,
        write=if_so,
    )
    group: str = defined("word", "shared by bodies, to find them again", "", write=if_so)

    def drawn(self, seed: int, number: int) -> list[Grain]:
        """All its grains, in the order of their birth; ``number`` is that of the source in the scene."""
        shares = np.random.default_rng([seed, number, 1]).random((self.number, 7))
        positions = self.region.at(shares[:, :3]).tolist()
        drawn = self.grains.draw(shares[:, 3:])
        return [
            Grain(self.start + k / self.rate, shape, origin_of(shape, turn, tuple(position)), turn)
            for k, (position, (shape, turn)) in enumerate(zip(positions, drawn, strict=True))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Its fields, without those that have their default, as scene files write them."""
        return written(self)


def make_source(d: int, name: str, arguments: Mapping[str, Any]) -> Source:
    """A source from its arguments, checked."""
    label = f"source '{name}'"
    values = readings(Source, label, arguments, d)
    grains = GrainSampler.of(label, d, values["radius"], values["shape"])
    total = _total(label, values["number"], values["rate"], values["start"], values["until"])
    return Source(**values | {"name": name, "grains": grains, "radius": grains.radius, "number": total})


def _total(label: str, number: Any, rate: float, start: float, until: Any) -> int:
    """Number of grains: ``number``, or those born before ``until``, whichever is smaller."""
    if number is None and until is None:
        raise SceneError(f"{label}: it never ends; give number=… (grains) or until=… (s)")
    if number is not None and (isinstance(number, bool) or not isinstance(number, int | np.integer)):
        raise SceneError(f"{label}: number must be a whole number of grains, got {number!r}")
    if number is not None and number < 0:
        raise SceneError(f"{label}: number must be at least 0, got {number}")
    if until is None:
        return int(number or 0)
    end = checks.number(label, "until", until)
    if end < start:
        raise SceneError(f"{label}: until must be after start, got {end} and {start}")
    before = math.ceil((end - start) * rate - 1e-9)  # k/rate < end − start, up to rounding
    return before if number is None else min(before, int(number))


@known_keywords
def source(
    scene: Scene,
    region: Region,
    *,
    rate: float,
    radius: float | Sequence[float] | None = None,
    shape: Shape | None = None,
    number: int | None = None,
    until: float | None = None,
    start: float = 0.0,
    velocity: Sequence[float] | None = None,
    angular_velocity: Sequence[float] | float | None = None,
    material: str = DEFAULT,
    density: float | None = None,
    laid: bool = False,
    name: str | None = None,
    group: str = "",
) -> Source:
    """Create grains during the run, one by one at a constant rate.

    Parameters
    ----------
    region : BoxRegion or DiscRegion
        Where their centres of mass appear, evenly at random.
    rate : float
        Grains per second.
    radius : float or (low, high)
        Radii of spheres (disks in 2-D), spread evenly (m).
    shape : Shape
        Instead of radii: copies of this shape, turned at random.
    number : int, optional
        How many in all; ``number`` or ``until`` is needed.
    until : float, optional
        None appears at this time or later (s).
    start : float
        Time of the first (s).
    velocity, angular_velocity : floats, optional
        At birth, in the world (m/s, rad/s).
    material, density, group
        As in :meth:`add`.
    laid : bool
        Lower each grain along gravity, when it appears, past grains that fall, until it touches what
        lies below: it is laid down, not dropped. Among spheres, disks and planes only.
    name : str, optional
        Its name; its grains are called "name 0", "name 1" and so on.

    Examples
    --------
    Moreau's heap: 200 grains a second within 8 mm of the axis.

    >>> from clapas import Scene
    >>> from clapas.scenes.regions import DiscRegion
    >>> above = DiscRegion((0, 0, 0.08), 0.008)
    >>> sand = Scene().source(
    ...     above, rate=200, radius=(1.25e-3, 2.5e-3), until=72.0, density=2500, laid=True
    ... )
    >>> sand.number
    14400
    """
    name = f"source {len(scene.sources)}" if name is None else checks.word("name of a source", name)
    if any(other.name == name for other in scene.sources):
        raise SceneError(f"source '{name}': another source has this name; names are unique")
    require_material(scene, f"source '{name}'", material)
    arguments = {
        "region": region,
        "rate": rate,
        "radius": radius,
        "shape": shape,
        "number": number,
        "until": until,
        "start": start,
        "velocity": velocity,
        "angular_velocity": angular_velocity,
        "material": material,
        "density": density,
        "laid": laid,
        "group": group,
    }
    new_source = make_source(scene.d, name, arguments)
    if new_source.density is None and scene.materials[material].density is None:
        raise SceneError(f"source '{name}': its grains have no mass; give density, or one to '{material}'")
    require_room(scene, f"source '{name}'", "the size of its grains", new_source.grains.bound)
    scene.sources.append(new_source)
    return new_source
