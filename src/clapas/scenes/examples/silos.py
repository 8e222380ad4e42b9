"""Grains between walls, in the plane: a silo whose walls carry weight, and a hopper that flows like sand."""

from __future__ import annotations

import math
from typing import Annotated

from clapas.dynamics.motions import ConstantVelocity, Table
from clapas.errors import SceneError
from clapas.geometry.shapes import HalfPlane, Polygon
from clapas.scenes.examples.parameters import Grains, Mu, Radius, Range, Seed, ranged
from clapas.scenes.regions import BoxRegion
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

THICK = 0.02  # of floors (m)
DENSITY = 2500.0
OPENING = 0.2  # when the gate of a hopper is gone (s)


@ranged
def silo(
    count: Grains = 200,
    width: Annotated[float, Range(1.5, 1e4, "width", "largest diameters")] = 8.0,
    radius: Radius = 5e-3,
    mu: Mu = 0.5,
) -> Scene:
    """A silo of disks on a floor that sinks slowly: the walls carry most of the weight.

    Friction at the walls holds the grains up. Janssen's balance gives the force on the floor as
    F/weight = (λ/h) (1 − exp(−h/λ)) with λ = width / (2 mu K), K about 0.4 to 1: it no longer grows once the
    filling is a few λ high. ``width`` is counted in largest diameters.
    """
    scene = _between_walls(count, 2 * radius * width, radius, mu)
    scene.add(_slab(-radius * width, radius * width), motion=ConstantVelocity((0.0, -0.01)), name="floor")
    scene.run = _run(0.5)
    return scene


@ranged
def flat_hopper(
    count: Grains = 300,
    width: Annotated[float, Range(1.5, 1e4, "width", "largest diameters")] = 16.0,
    mouth: Annotated[float, Range(0.0, 1e4, "width of the mouth", "largest diameters", above=True)] = 6.0,
    radius: Radius = 5e-3,
    mu: Mu = 0.5,
    seed: Seed = 0,
) -> Scene:
    """Disks flow out of a mouth in a flat floor, at a rate that does not depend on how full it is.

    A gate lets them settle for 0.2 s first.

    Beverloo's law in the plane: grains per second grow as (mouth − k d)^(3/2) √g / d², k about 1.4. ``width``
    and ``mouth`` are counted in largest diameters d.
    """
    if mouth >= width:
        raise SceneError(f"flat-hopper: mouth must be narrower than width, {width:g}, got {mouth:g}")
    scene = _between_walls(count, 2 * radius * width, radius, mu, seed)
    wall, edge = radius * width, radius * mouth
    scene.add(_slab(-wall, -edge), fixed=True, name="floor left")
    scene.add(_slab(edge, wall), fixed=True, name="floor right")
    gone = Table([OPENING, OPENING + 1e-3], [(0.0, 0.0), (0.0, -10.0)])  # ahead of all that falls
    scene.add(_slab(-edge, edge), motion=gone, name="gate")
    scene.run = _run(1.0)
    return scene


def janssen(height: float, width: float, mu: float, K: float) -> float:
    """Share of the weight that reaches the floor of a silo in the plane (Janssen 1895)."""
    depth = height * 2 * mu * K / width
    return -math.expm1(-depth) / depth


def _between_walls(count: int, width: float, radius: float, mu: float, seed: int = 0) -> Scene:
    """Disks spread loosely above the floor, between two upright walls."""
    scene = Scene(d=2, seed=seed)
    scene.material("grain", density=DENSITY)
    scene.law(mu=mu)
    scene.add(HalfPlane((1, 0), -width / 2), name="left wall")
    scene.add(HalfPlane((-1, 0), -width / 2), name="right wall")
    region = BoxRegion((-width / 2, 0.0), (width / 2, 100 * count * radius**2 / width))
    scene.fill(region, count, radius=(0.7 * radius, radius), material="grain")
    return scene


def _slab(left: float, right: float) -> Polygon:
    return Polygon([(left, -THICK), (right, -THICK), (right, 0.0), (left, 0.0)])


def _run(duration: float) -> Run:
    return Run(
        duration=duration,
        dt=1e-3,
        every=20,
        on_unsolved="record",
        solver={"name": "auto", "tol": 1e-3},
    )
