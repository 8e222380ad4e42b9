"""One or two bodies: motions known in closed form."""

from __future__ import annotations

import math
from typing import Annotated

from clapas.geometry.shapes import Box, Plane, Sphere
from clapas.scenes.examples.parameters import Mu, Range, ranged
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene


@ranged
def bouncing_ball(
    height: Annotated[float, Range(0.0, 1e6, "height of fall", "m")] = 1.0,
    restitution: Annotated[float, Range(0.0, 1.0, "share of the speed given back")] = 0.8,
) -> Scene:
    """A ball dropped from 1 m bounces ever lower and comes to rest in a finite time.

    With restitution e the bounces accumulate at t = sqrt(2h/g) (1 + e)/(1 − e): 4.06 s. A
    time-stepping method passes through the accumulation in one step.
    """
    scene = Scene()
    scene.law(mu=0.3, restitution=restitution)
    scene.add(Plane(), name="floor")
    scene.add(Sphere(0.1), position=(0, 0, 0.1 + height), density=1000, name="ball")
    scene.run = Run(duration=5.0, dt=1e-3, every=10)
    return scene


@ranged
def sliding_block(
    speed: Annotated[float, Range(-1e6, 1e6, "speed at the start", "m/s")] = 2.0, mu: Mu = 0.4
) -> Scene:
    """A block thrown along the floor slides and stops, by friction alone.

    It stops after t = v/(mu g) = 0.51 s and a distance v²/(2 mu g) = 0.51 m.
    """
    scene = Scene()
    scene.law(mu=mu)
    scene.add(Plane(), name="floor")
    scene.add(Box((0.4, 0.4, 0.1)), position=(0, 0, 0.05), velocity=(speed, 0, 0), density=2000, name="block")
    scene.run = Run(duration=1.0, dt=1e-3, every=10)
    return scene


@ranged
def rolling_ball(
    speed: Annotated[float, Range(-1e4, 1e4, "speed at the start", "m/s")] = 1.0,
    rolling: Annotated[float, Range(0.0, 1e3, "rolling resistance: couple over normal force", "m")] = 0.02,
) -> Scene:
    """A ball rolls along the floor and stops, by rolling resistance alone.

    A couple of at most ``rolling`` times its weight slows it by a = (5/7) g rolling/R = 1.40 m/s²: it
    stops after t = v/a = 0.71 s and a distance v²/(2a) = 0.36 m. Without the couple it would never stop.
    """
    radius = 0.1
    scene = Scene()
    scene.law(mu=0.5, rolling=rolling)
    scene.add(Plane(), name="floor")
    scene.add(
        Sphere(radius),
        position=(0, 0, radius),
        velocity=(speed, 0, 0),
        angular_velocity=(0, speed / radius, 0),
        density=1000,
        name="ball",
    )
    scene.probe("position", "ball", name="way")
    scene.run = Run(duration=1.0, dt=1e-3, every=10)
    return scene


def two_block_stack() -> Scene:
    """Two blocks at rest, one on the other: the floor carries both, the contact between them one.

    Impulses per step are 2 m g dt on the floor and m g dt between the blocks.
    """
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane(), name="floor")
    for k in range(2):
        scene.add(Box((0.2, 0.2, 0.1)), position=(0, 0, 0.05 + 0.1 * k), density=2000, name=f"block {k}")
    scene.run = Run(duration=0.2, dt=1e-3, every=5)
    return scene


@ranged
def rocking_block(
    slenderness: Annotated[float, Range(0.01, 1e3, "height over width")] = 4.0,
    tilt: Annotated[
        float, Range(0.0, 1.0, "angle at the start, as a share of the one at which it topples")
    ] = 0.15,
) -> Scene:
    """A tall block let go on one edge rocks from edge to edge until it stands.

    At each impact the angular speed is multiplied by 1 − (3/2) sin²α with tan α = width/height
    (Housner 1963), when the block does not slide or bounce.
    """
    width = 0.2
    height = slenderness * width
    scene = Scene()
    scene.law(mu=0.9)
    scene.add(Plane(), name="floor")
    half = math.hypot(width, height) / 2
    # Turned clockwise about its right edge, which stays on the floor at the origin, by a share of the
    # angle α at which it would topple.
    turn = tilt * math.atan2(width, height)
    angle = math.atan2(height, width) + turn
    centre = (-half * math.cos(angle), 0.0, half * math.sin(angle))
    scene.add(
        Box((width, 0.4, height)),
        position=centre,
        orientation=(math.cos(turn / 2), 0.0, math.sin(turn / 2), 0.0),
        density=2000,
        name="block",
    )
    scene.run = Run(duration=3.0, dt=5e-4, every=20)
    return scene
