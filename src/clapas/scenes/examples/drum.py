"""Grains in a rough drum that turns: from avalanches to a ring held by the centrifugal force."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from clapas.dynamics.motions import Rotation
from clapas.geometry.shapes import Clump, Disk
from clapas.scenes.examples.parameters import Mu, Radius, Range, Seed, ranged
from clapas.scenes.regions import BoxRegion
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

GRAVITY = 9.81
DENSITY = 2500.0
SPREAD = 0.8  # smallest radius of a grain over the largest
PACKING = 0.8  # of the bed, to count its grains


@ranged
def rough_drum(
    froude: Annotated[float, Range(1e-9, 1e3, "Froude number, centrifugal over gravity")] = 0.01,
    filling: Annotated[float, Range(0.0, 0.55, "share of the drum that the bed takes up", above=True)] = 0.35,
    size: Annotated[float, Range(4.0, 1000.0, "diameter of the drum", "largest diameters")] = 20.0,
    mu: Mu = 0.5,
    turns: Annotated[float, Range(0.0, 1e6, "turns of the drum", above=True)] = 1.0,
    radius: Radius = 5e-3,
    seed: Seed = 0,
) -> Scene:
    """Disks in a rough drum that turns: they roll down a slope, fly, or stick to it as the speed grows.

    The Froude number Fr = ω²R/g decides: avalanches below about 1e-4, a bed that rolls at a steady angle up
    to 1e-2, then cascades, and cataracts from about 0.1 (Mellmann 2001). Below Fr = 1 no grain can stay at
    the top; above, all turn with the drum if friction also carries them up its side, which takes
    Fr √(1 − filling) ≥ √(1 + 1/mu²). ``size`` is the diameter of the drum in largest diameters of a grain,
    ``filling`` the share of it that the bed takes up. The drum turns clockwise: the bed climbs to the left.
    """
    inner = size * radius
    rate = math.sqrt(froude * GRAVITY / inner)
    scene = Scene(d=2, seed=seed)
    scene.material("grain", density=DENSITY)
    scene.law(mu=mu)
    scene.add(_ring(inner, radius), motion=Rotation(None, -rate), material="grain", name="drum")
    mean_square = (1 + SPREAD + SPREAD**2) / 3 * radius**2
    count = round(PACKING * filling * inner**2 / mean_square)
    half = 0.68 * inner
    scene.fill(
        BoxRegion((-half, -half), (half, half)), count, radius=(SPREAD * radius, radius), material="grain"
    )
    settling = 1.5 * math.sqrt(2 * inner / GRAVITY)
    scene.run = Run(
        duration=settling + turns * 2 * math.pi / rate,
        dt=1e-3 if froude < 0.3 else 5e-4,
        every=10,
        on_unsolved="record",
        solver={"name": "auto", "tol": 1e-3},
        # Grains held in a ring would drift through the drum, by (ω dt)² R/2 at each step.
        scheme={"name": "moreau-midpoint", "projection": 0.1 if froude >= 0.1 else 0.0},
    )
    return scene


def _ring(inner: float, radius: float) -> Clump:
    """Disks side by side around the drum, whose inner edges are on the circle of that radius."""
    middle = inner + radius
    count = math.floor(math.pi / math.asin(radius / middle))
    angles = 2 * math.pi * np.arange(count) / count
    return Clump([(Disk(radius), (middle * math.cos(a), middle * math.sin(a))) for a in angles])
