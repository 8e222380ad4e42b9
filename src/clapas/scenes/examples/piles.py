"""Regular piles at rest: many forces can hold them."""

from __future__ import annotations

import math
from typing import Annotated

from clapas.geometry.shapes import Disk, HalfPlane, Plane, Sphere
from clapas.scenes.examples.parameters import Mu, Radius, Range, ranged
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

TOUCHING = 1e-9  # overlap that rounding may leave (m)


@ranged
def pile_of_disks(
    rows: Annotated[int, Range(1, 1000, "rows of disks")] = 5, mu: Mu = 0.5, radius: Radius = 0.05
) -> Scene:
    """Disks piled in a triangle on a rough floor: friction at the foot holds them, in many ways.

    Forces that hold it exist for mu ≥ 2 − √3 = 0.268 with two rows, 0.434 with three, 0.498 with five.
    """
    scene = Scene(d=2, overlap=TOUCHING)
    scene.law(mu=mu)
    scene.add(HalfPlane(), name="floor")
    for row in range(rows):
        for k in range(rows - row):
            place = radius * (2 * k + row - rows + 1), radius * (1 + math.sqrt(3) * row)
            scene.add(Disk(radius), position=place, density=1000, name=f"disk {row} {k}")
    scene.run = Run(duration=0.1, dt=1e-3, every=5, on_unsolved="record")
    return scene


@ranged
def pile_of_balls(
    side: Annotated[int, Range(1, 100, "balls along a side of the base")] = 2,
    mu: Mu = 0.5,
    radius: Radius = 0.05,
) -> Scene:
    """Balls piled in a square pyramid on a rough floor, as cannonballs were.

    Five of them (side 2) stay for mu ≥ tan(π/8) = 0.414; fourteen (side 3) fall at mu = 0.5.
    """
    scene = Scene(overlap=TOUCHING)
    scene.law(mu=mu)
    scene.add(Plane(), name="floor")
    for level in range(side):
        z = radius * (1 + math.sqrt(2) * level)
        for i in range(side - level):
            for j in range(side - level):
                x, y = (radius * (2 * k + level - side + 1) for k in (i, j))
                scene.add(Sphere(radius), position=(x, y, z), density=1000, name=f"ball {level} {i} {j}")
    scene.run = Run(duration=0.1, dt=1e-3, every=5, on_unsolved="record")
    return scene
