"""Loose packings of grains that do not touch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clapas.errors import SceneError, known_keywords
from clapas.geometry.checks import Vector
from clapas.geometry.shapes import Shape
from clapas.scenes.definition import NEEDED, defined, read_place, read_positive, readings
from clapas.scenes.grains import GrainSampler, origin_of
from clapas.scenes.materials import DEFAULT
from clapas.scenes.regions import BoxRegion
from clapas.typing import Indices

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene

# Ratio of cell width to the largest grain, so that rounding cannot make two grains touch.
ROOM = 1.0 + 1e-9


def _box(label: str, name: str, value: Any, d: int) -> BoxRegion:
    if not isinstance(value, BoxRegion) or value.d != d:
        raise SceneError(f"{label}: region must be a {d}-D BoxRegion, got {value!r}")
    return value


@dataclass(frozen=True, kw_only=True)
class Fill:
    """Grains that fill a box loosely.

    Its fields are the single list of its arguments (:mod:`clapas.scenes.definition`), which
    :meth:`Scene.fill` takes. The scene stores the resulting grains.
    """

    region: BoxRegion = defined("box region", "where; grains stay inside", NEEDED, read=_box)
    count: int = defined("whole number", "number of grains", NEEDED)
    radius: Any = defined("radii", "radius, or [low, high] (m)", None)
    shape: Shape | None = defined("shape", "instead of radii: copies of it, turned at random", None)
    seed: int | None = defined("whole number", "made from that of the scene by default", None)
    material: str = defined("word", "for their density and the laws of contact", DEFAULT)
    density: float | None = defined("number", "kg/m³", None, read=read_positive)
    velocity: Vector = defined("numbers", "m/s", None, read=read_place)
    group: str = defined("word", "shared by bodies, to find them again", "")


def packed(
    region: BoxRegion, grains: GrainSampler, count: Any, gravity: Vector, rng: np.random.Generator
) -> list[tuple[Shape, Vector, Vector]]:
    """Shapes, positions and orientations of grains on a jittered lattice.

    Each grain stays in its own cubic cell, so that no two overlap whatever the jitter. Cells fill layer by
    layer against gravity, in random order within a layer.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise SceneError(f"fill: count must be a whole number of grains, at least 0, got {count!r}")
    numbers = _lattice(region, grains, int(count))
    cells = np.stack(np.meshgrid(*map(np.arange, numbers), indexing="ij"), axis=-1).reshape(-1, region.d)
    chosen = cells[_bottom_up(cells, gravity, rng)[:count]]
    low, high = np.array(region.low), np.array(region.high)
    width = (high - low) / np.array(numbers)
    drawn = grains.draw(rng.random((len(chosen), 4)))
    bounds = np.array([shape.reach for shape, _ in drawn]).reshape(-1, 1)
    jitter = (2.0 * rng.random(chosen.shape) - 1.0) * (width / 2.0 - ROOM * bounds)
    positions = low + (chosen + 0.5) * width + jitter
    return [
        (shape, origin_of(shape, turn, tuple(position)), turn)
        for position, (shape, turn) in zip(positions.tolist(), drawn, strict=True)
    ]


def _lattice(region: BoxRegion, grains: GrainSampler, count: int) -> list[int]:
    """Number of cells along each axis; raises SceneError if there are fewer cells than grains."""
    cell = 2.0 * ROOM * grains.bound
    extent = np.subtract(region.high, region.low)
    numbers = [math.floor(length / cell) for length in extent.tolist()]
    capacity = math.prod(numbers)
    if count > capacity:
        raise SceneError(
            f"fill: {count} grains of up to {2 * grains.bound:.6g} m do not fit loosely in a region of "
            f"{' × '.join(f'{length:.6g}' for length in extent)} m, where {capacity} "
            f"({' × '.join(map(str, numbers))}) do; enlarge the region or lower count"
        )
    return [max(number, 1) for number in numbers]


def _bottom_up(cells: Indices, gravity: Vector, rng: np.random.Generator) -> Any:
    """Order of the cells: the lowest layers first, at random within a layer."""
    down = np.array(gravity) if any(gravity) else -np.eye(len(gravity))[-1]
    axis = int(np.argmax(np.abs(down)))
    height = -np.sign(down[axis]) * cells[:, axis]
    return np.lexsort((rng.random(len(cells)), height))


@known_keywords
def fill(
    scene: Scene,
    region: BoxRegion,
    count: int,
    *,
    radius: float | Sequence[float] | None = None,
    shape: Shape | None = None,
    seed: int | None = None,
    material: str = DEFAULT,
    density: float | None = None,
    velocity: Sequence[float] | None = None,
    group: str = "",
) -> list[int]:
    """Fill a box loosely with grains that do not touch, to let them fall; returns their numbers.

    Grains sit on a lattice, each shifted at random within its own cell, filled from the bottom (along
    gravity) up.

    Parameters
    ----------
    region : BoxRegion
        Where; grains stay inside.
    count : int
        How many.
    radius : float or (low, high)
        Radii of spheres (disks in 2-D), spread evenly (m).
    shape : Shape
        Instead of radii: copies of this shape, turned at random.
    seed : int, optional
        By default a new one for each call, made from the seed of the scene.
    material, density, velocity, group
        As in :meth:`add`.

    Examples
    --------
    >>> from clapas import BoxRegion, Scene
    >>> scene = Scene()
    >>> len(scene.fill(BoxRegion((0, 0, 0), (1, 1, 1)), 100, radius=(0.04, 0.06), density=2500))
    100
    """
    arguments = {"region": region, "count": count, "density": density, "velocity": velocity}
    readings(Fill, "fill", arguments, scene.d)
    grains = GrainSampler.of("fill", scene.d, radius, shape)
    rng = np.random.default_rng([scene.seed, scene.n_fills if seed is None else seed, 0])
    placed = packed(region, grains, count, scene.gravity, rng)
    scene.n_fills += 1
    return [
        scene.add(
            grain,
            position,
            turn,
            velocity,
            material=material,
            density=density,
            group=group,
        )
        for grain, position, turn in placed
    ]
