"""The biaxial test: a sample pressed down between side walls that yield under a constant stress."""

from __future__ import annotations

import math
from functools import cache
from typing import Annotated

import numpy as np

from clapas.dynamics.motions import ConstantVelocity
from clapas.geometry.shapes import Disk, Polygon
from clapas.scenes.examples.parameters import Grains, Inertial, Mu, Radius, Range, Seed, ranged
from clapas.scenes.regions import BoxRegion
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene
from clapas.typing import Array

DENSITY = 2500.0
STRESS = 100.0  # on the side walls (Pa)
SPREAD = 0.6  # smallest radius of a grain over the largest
SLENDER = 2.0  # height of the sample over its width
LOOSE = 0.42  # share of the box filled at first
DENSE = 0.84  # and after squeezing
WALL = 0.02  # thickness of walls (m)


@ranged
def biaxial(
    count: Grains = 200,
    mu: Mu = 0.5,
    strain: Annotated[
        float, Range(0.0, 0.9, "how far the sample is pressed down, over its height", above=True)
    ] = 0.15,
    inertial: Inertial = 2e-3,
    radius: Radius = 5e-3,
    seed: Seed = 0,
) -> Scene:
    """Disks pressed down between side walls under a constant stress: the angle of internal friction.

    The side walls are guided: free along x, each under the force stress × height; walls are smooth and there
    is no gravity, so that the stresses on them are principal. The top comes down at a constant speed, by
    ``strain`` of the height, so slowly that ε̇ √(m/P) = ``inertial``. From the stress σ₁ on the top and σ₃ on
    the sides, sin φ = (σ₁ − σ₃)/(σ₁ + σ₃). The sample, squeezed without friction first, is dense: φ passes a
    peak while it swells, then comes down to its critical value.
    """
    centres, radii, width, height = squeezed(count, radius, seed)
    mass = DENSITY * math.pi * float(np.mean(radii**2))
    speed = inertial * height * math.sqrt(STRESS / mass)
    duration = strain * height / speed
    scene = Scene((0.0, 0.0), d=2, seed=seed, overlap=0.1 * radius)
    _box(scene, width, height, mu, sinking=speed, during=duration)
    for centre, grain_radius in zip(centres.tolist(), radii.tolist(), strict=True):
        scene.add(Disk(grain_radius), position=centre, material="grain")
    for name in ("top", "left", "right"):
        scene.probe("force", name, name=f"on {name}")
        scene.probe("position", name, name=name)
    scene.run = Run(
        duration=duration,
        dt=0.03 * math.sqrt(mass / STRESS),
        every=20,
        on_unsolved="record",
        solver={"name": "auto", "tol": 1e-3},
    )
    return scene


@cache
def squeezed(count: int, radius: float, seed: int) -> tuple[Array, Array, float, float]:
    """Disks squeezed without friction between the side walls: centres, radii, width and height of the box."""
    # Local imports: listing the scenes must not load the engine.
    from clapas.dynamics.schemes import MoreauMidpoint
    from clapas.scenes.compilation import compile_scene
    from clapas.scenes.simulation import simulate
    from clapas.solvers import NSGS

    mean_square = (1 + SPREAD + SPREAD**2) / 3 * radius**2
    area = count * math.pi * mean_square
    height = math.sqrt(SLENDER * area / DENSE)
    width = area / (LOOSE * height)
    scene = Scene((0.0, 0.0), d=2, seed=seed)
    _box(scene, width, height, mu=0.0)
    region = BoxRegion((-width / 2, 0.0), (width / 2, height))
    grains = scene.fill(region, count, radius=(SPREAD * radius, radius), material="grain")
    model = compile_scene(scene)
    time = math.sqrt(DENSITY * math.pi * mean_square / STRESS)
    summary = simulate(
        model,
        20 * time,
        0.1 * time,
        NSGS(tol=1e-3, max_iterations=200),
        scheme=MoreauMidpoint(projection=0.1),
        on_unsolved="record",
    )
    position = summary.state.position
    left, right = (position[scene.number(name), 0] for name in ("left", "right"))
    centres = position[grains] - [(left + right) / 2, 0.0]
    return centres, model.colliders.size[grains, 0], float(right - left) - WALL, height


def _box(
    scene: Scene, width: float, height: float, mu: float, sinking: float = 0.0, during: float = 1.0
) -> None:
    """Bottom, sinking top, and two side walls under a constant force, all smooth."""
    scene.material("grain", density=DENSITY)
    scene.material("wall", density=DENSITY)
    scene.law("grain", "grain", mu=mu)
    scene.law("grain", "wall", mu=0.0)
    lid, side = _slab(3 * width, WALL), _slab(WALL, 1.2 * height)
    scene.add(lid, position=(0.0, -WALL / 2), fixed=True, material="wall", name="bottom")
    scene.add(
        lid,
        position=(0.0, height + WALL / 2),
        motion=ConstantVelocity((0.0, -sinking)),
        material="wall",
        name="top",
    )
    push = [STRESS * height, STRESS * (height - sinking * during)]
    for name, sign in (("left", -1.0), ("right", 1.0)):
        scene.add(
            side,
            position=(sign * (width + WALL) / 2, height / 2),
            free="x",
            force=([0.0, during], [(-sign * force, 0.0) for force in push]),
            material="wall",
            name=name,
        )


def _slab(width: float, height: float) -> Polygon:
    x, y = width / 2, height / 2
    return Polygon([(-x, -y), (x, -y), (x, y), (-x, y)])
