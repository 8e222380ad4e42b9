"""A layer of grains on a rough slope, endless along it: does it flow?"""

from __future__ import annotations

import math
from typing import Annotated

from clapas.geometry.shapes import Disk
from clapas.scenes.examples.parameters import Depth, Diameters, Mu, Radius, Range, ranged
from clapas.scenes.regions import BoxRegion
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

GRAVITY = 9.81


@ranged
def tilted_layer(
    angle: Annotated[float, Range(-90.0, 90.0, "slope", "degrees")] = 20.0,
    mu: Mu = 0.5,
    length: Diameters = 16,
    depth: Depth = 6,
    radius: Radius = 5e-3,
) -> Scene:
    """A layer of disks on a rough slope, periodic along it: it rests below the angle of repose, else flows.

    Five diameters deep it comes to rest up to 14° for mu = 0.5, 10° for mu = 0.2 and 6° without friction, and
    flows four degrees above. The slope is tilted by turning gravity, by ``angle`` degrees; ``length`` and
    ``depth`` are counted in largest diameters.
    """
    tilt = math.radians(angle)
    period = 2 * radius * length
    scene = Scene((GRAVITY * math.sin(tilt), -GRAVITY * math.cos(tilt)), d=2, period=(period, None))
    scene.material("grain", density=2500)
    scene.law(mu=mu)
    for k in range(length):
        scene.add(
            Disk(radius), position=(2 * radius * (k + 0.5), 0.0), fixed=True, material="grain", group="bed"
        )
    above = BoxRegion((0.0, radius), (period, 8 * radius * depth))
    scene.fill(above, length * depth, radius=(0.7 * radius, radius), material="grain")
    scene.run = Run(
        duration=1.0,
        dt=1e-3,
        every=20,
        on_unsolved="record",
        solver={"name": "auto", "tol": 1e-3},
    )
    return scene
