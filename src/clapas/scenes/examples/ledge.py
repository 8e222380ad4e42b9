"""Grains on a ledge: what the open side lets go leaves a slope at the angle of repose."""

from __future__ import annotations

from clapas.dynamics.motions import Table
from clapas.geometry.shapes import Clump, Disk, HalfPlane, Polygon
from clapas.scenes.examples.parameters import Diameters, Mu, Radius, Relaxation, Seed, ranged
from clapas.scenes.regions import BoxRegion
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

OPENING = 0.3  # when the gate begins to open (s)
STEEPEST = 0.8  # height over length of the filling: the slope that stays must be lower


@ranged
def ledge(
    mu: Mu = 0.5, length: Diameters = 20, relaxation: Relaxation = 1.2, radius: Radius = 5e-3, seed: Seed = 0
) -> Scene:
    """Disks on a rough ledge pour over its edge when a gate opens: the slope that stays is that of repose.

    It grows with friction and levels off: with a ledge of 20 largest diameters (``length``), from about 18°
    without friction to 22° for mu = 0.5 and 24° for mu = 1. The rough floor holds the thin end of the slope
    even without friction. The gate opens at 0.3 s; grains then have ``relaxation`` seconds.
    """
    diameter = 2 * radius
    edge, height = length * diameter, STEEPEST * length * diameter
    scene = Scene(d=2, seed=seed)
    scene.material("grain", density=2500)
    scene.law(mu=mu)
    floor = Clump([(Disk(radius), (radius * (2 * k + 1), -radius)) for k in range(length)])
    scene.add(floor, fixed=True, material="grain", name="ledge")
    scene.add(HalfPlane((1, 0), 0.0), name="wall")
    gone = Table([OPENING, OPENING + 0.05], [(0.0, 0.0), (20.0, 0.0)])  # ahead of all that falls
    scene.add(
        Polygon(
            [(edge, -height), (edge + diameter, -height), (edge + diameter, 3 * height), (edge, 3 * height)]
        ),
        motion=gone,
        name="gate",
    )
    count = round(0.95 * STEEPEST * length**2)
    scene.fill(
        BoxRegion((0.0, 0.0), (edge, 3 * height)), count, radius=(0.7 * radius, radius), material="grain"
    )
    scene.run = Run(
        duration=OPENING + relaxation,
        dt=1e-3,
        every=20,
        on_unsolved="record",
        solver={"name": "auto", "tol": 1e-3},
    )
    return scene
