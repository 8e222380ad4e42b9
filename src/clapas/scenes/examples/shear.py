"""Plane shear under a pressure: grains between two rough plates, endless along them."""

from __future__ import annotations

import math

from clapas.dynamics.motions import Table
from clapas.geometry.shapes import Clump, Disk
from clapas.scenes.examples.parameters import Depth, Diameters, Inertial, Mu, Radius, Seed, Strain, ranged
from clapas.scenes.regions import BoxRegion
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

DENSITY = 2500.0
PRESSURE = 100.0  # Pa
SPREAD = 0.7  # smallest radius of a grain over the largest
SETTLING = 1.0  # how long the pressure acts alone (inertial times per diameter of depth)
SPREADING = 1.5  # strain over (depth I)² until the speed of the plate has spread through the layer


@ranged
def shear_cell(
    inertial: Inertial = 0.1,
    mu: Mu = 0.4,
    length: Diameters = 16,
    depth: Depth = 12,
    strain: Strain = 4.0,
    radius: Radius = 5e-3,
    seed: Seed = 0,
) -> Scene:
    """Disks sheared between two rough plates, periodic along them, under a constant pressure: the mu(I) law.

    The upper plate is guided: it moves along x at a constant speed and is free along y, where it carries the
    pressure. There is no gravity. The ratio of shear stress to pressure depends on the inertial number
    I = γ̇ √(m/P) alone: about 0.25 + 1.1 I for mu = 0.4 (da Cruz et al. 2005), m being the mass of a grain.
    ``length`` and ``depth`` of the layer are counted in largest diameters; ``inertial`` is what I would be if
    the layer were as deep as that, ``strain`` how far it is sheared, besides what it takes to set all of it
    in motion. At first the pressure acts alone.
    """
    diameter, time = 2 * radius, inertial_time(radius)
    rate = inertial / time
    speed, period, alone = rate * depth * diameter, length * diameter, SETTLING * depth * time
    scene = Scene((0.0, 0.0), d=2, period=(period, None), seed=seed)
    scene.material("grain", density=DENSITY)
    scene.law(mu=mu)
    scene.add(_plate(length, radius), fixed=True, material="grain", name="lower plate")
    height = 1.6 * depth * diameter
    scene.fill(
        BoxRegion((0.0, radius), (period, height)),
        length * depth,
        radius=(SPREAD * radius, radius),
        material="grain",
    )
    scene.add(
        _plate(length, radius),
        position=(0.0, height + radius),
        material="grain",
        free="y",
        motion=Table([alone, alone + time], [(0.0, 0.0), (speed, 0.0)]),
        force=(0.0, -PRESSURE * period),
        name="upper plate",
    )
    scene.probe("force", "upper plate", name="on the plate")
    scene.probe("position", "upper plate", name="plate")
    scene.run = Run(
        duration=alone + (strain + SPREADING * (depth * inertial) ** 2) / rate,
        dt=min(0.04 * time, 4e-3 / rate),
        every=10,
        on_unsolved="record",
        solver={"name": "auto", "tol": 1e-4},
    )
    return scene


def inertial_time(radius: float) -> float:
    """Time √(m/P) that the pressure needs to move a grain of mean radius by its size (s)."""
    mean_square = (1 + SPREAD + SPREAD**2) / 3 * radius**2
    return math.sqrt(DENSITY * math.pi * mean_square / PRESSURE)


def _plate(length: int, radius: float) -> Clump:
    """A row of disks side by side, one period long."""
    return Clump([(Disk(radius), (radius * (2 * k + 1), 0.0)) for k in range(length)])
