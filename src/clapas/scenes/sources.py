"""Sources: grains that appear during a run, one after another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clapas.dynamics.motions import spin_vector
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.geometry.checks import Vector
from clapas.geometry.shapes import Shape
from clapas.scenes.grains import GrainSampler, origin_of
from clapas.scenes.regions import Region


class Grain(NamedTuple):
    """A grain to be born.

    Parameters
    ----------
    birth : float
        Time at which it appears (s).
    shape, position, orientation
        What appears, and where.
    """

    birth: float
    shape: Shape
    position: Vector
    orientation: Vector


@dataclass(frozen=True, kw_only=True)
class Source:
    """Grains dropped one by one at a constant rate, from random places of a region.

    Grain k appears at start + k/rate. Radii, places and orientations are drawn once, from the seed of the
    scene and the number of the source: they do not depend on how the run goes, nor on its time step.

    Parameters
    ----------
    name : str
        Its name; grain k is called "name k".
    grains : GrainSampler
        Their shapes.
    region : Region
        Where their centres of mass appear.
    rate : float
        Grains per second.
    number : int
        How many in all.
    start : float
        Time of the first (s).
    velocity, angular_velocity : tuples
        At birth (m/s, rad/s, in the world).
    material, density, group
        As in ``scene.add``.
    laid : bool
        Lower each grain along gravity, when it appears, until it touches what lies below.
    """

    name: str
    grains: GrainSampler
    region: Region
    rate: float
    number: int
    start: float
    velocity: Vector
    angular_velocity: Vector
    material: str
    density: float | None = None
    laid: bool = False
    group: str = ""

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
        """Its numbers, as scene files write them."""
        grains = self.grains
        entries: dict[str, Any] = {
            "name": self.name,
            "radius": None if grains.radius is None else list(grains.radius),
            "shape": None if grains.shape is None else grains.shape.to_dict(),
            "region": self.region.to_dict(),
            "rate": self.rate,
            "number": self.number,
            "start": self.start or None,
            "velocity": list(self.velocity) if any(self.velocity) else None,
            "angular_velocity": list(self.angular_velocity) if any(self.angular_velocity) else None,
            "material": self.material,
            "density": self.density,
            "laid": self.laid or None,
            "group": self.group or None,
        }
        return {name: value for name, value in entries.items() if value is not None}


def make_source(
    d: int,
    name: str,
    *,
    region: Any,
    rate: Any,
    radius: Any = None,
    shape: Any = None,
    number: Any = None,
    until: Any = None,
    start: Any = 0.0,
    velocity: Any = None,
    angular_velocity: Any = None,
    material: str,
    density: Any = None,
    laid: bool = False,
    group: str = "",
) -> Source:
    """A source from what a person gives, checked."""
    label = f"source '{name}'"
    if not isinstance(region, Region) or region.d != d:
        raise SceneError(f"{label}: region must be a {d}-D BoxRegion or DiscRegion, got {region!r}")
    rate = checks.positive(label, "rate (grains per second)", rate)
    start = checks.number(label, "start", start)
    velocity = (0.0,) * d if velocity is None else checks.vector(label, "velocity", velocity, d)
    spin = (0.0,) * (3 if d == 3 else 1)
    if angular_velocity is not None:
        spin = spin_vector(label, angular_velocity, d)
    return Source(
        name=name,
        grains=GrainSampler.of(label, d, radius, shape),
        region=region,
        rate=rate,
        number=_total(label, number, rate, start, until),
        start=start,
        velocity=velocity,
        angular_velocity=spin,
        material=material,
        density=None if density is None else checks.positive(label, "density", density),
        laid=bool(laid),
        group=group,
    )


def _total(label: str, number: Any, rate: float, start: float, until: Any) -> int:
    """How many grains: the number given, or those born before ``until``, whichever is smaller."""
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
    before = math.ceil((end - start) * rate - 1e-9)  # k/rate < end − start, whatever the last bit
    return before if number is None else min(before, int(number))
