"""Blocks that lean on each other: dominoes, an arch, a wall, a wedge."""

from __future__ import annotations

import math
from typing import Annotated

from clapas.geometry.shapes import Box, HalfPlane, Plane, Polygon
from clapas.scenes.examples.parameters import Courses, Mu, Range, Thickness, Voussoirs, ranged
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene


@ranged
def dominoes(count: Annotated[int, Range(1, 100_000, "dominoes")] = 12) -> Scene:
    """A row of dominoes: the first is pushed, all fall, one after another."""
    scene = Scene()
    scene.law(mu=0.4)
    scene.add(Plane(), name="floor")
    for k in range(count):
        scene.add(
            Box((0.008, 0.024, 0.048)),
            position=(0.022 * k, 0, 0.024),
            density=600,
            angular_velocity=(0, 8.0, 0) if k == 0 else None,
            velocity=(8.0 * 0.024, 0, 0) if k == 0 else None,
            name=f"domino {k}",
        )
    scene.run = Run(
        duration=1.0,
        dt=5e-4,
        every=20,
        on_unsolved="record",
        solver={"name": "auto", "tol": 1e-5},
    )
    return scene


@ranged
def stone_arch(voussoirs: Voussoirs = 15, thickness: Thickness = 0.15, mu: Mu = 0.7) -> Scene:
    """A semicircular arch of dry stones stands under its own weight.

    Geometry lets it stand when its thickness exceeds 0.107 of its mean radius (Heyman 1969), and
    friction when mu exceeds about 0.31 (Cochin 2005); below it slips and falls.
    """
    scene = Scene(d=2, overlap=1e-9)
    scene.law(mu=mu)
    scene.add(HalfPlane(), name="ground")
    inner, outer = 1.0 - thickness / 2, 1.0 + thickness / 2
    for k in range(voussoirs):
        start, end = math.pi * k / voussoirs, math.pi * (k + 1) / voussoirs
        corners = [
            (radius * math.cos(angle), radius * math.sin(angle))
            for radius, angle in ((inner, start), (outer, start), (outer, end), (inner, end))
        ]
        scene.add(Polygon(corners), density=2000, name=f"voussoir {k}")
    scene.run = Run(duration=0.5, dt=1e-3, every=10, on_unsolved="record")
    return scene


@ranged
def wall_of_boxes(
    courses: Courses = 6, length: Annotated[int, Range(2, 1000, "bricks in a course")] = 5
) -> Scene:
    """A wall of bricks in running bond, at rest: hyperstatic, many force networks carry it."""
    scene = Scene(overlap=1e-9)
    scene.law(mu=0.6)
    scene.add(Plane(), name="floor")
    width, depth, height = 0.2, 0.1, 0.065
    for course in range(courses):
        shift = 0.5 * width * (course % 2)
        for k in range(length - course % 2):
            scene.add(
                Box((width * 0.999, depth, height)),
                position=(k * width + shift, 0, height * (course + 0.5)),
                density=1800,
                name=f"brick {course} {k}",
            )
    scene.run = Run(duration=0.2, dt=1e-3, every=10, on_unsolved="record")
    return scene


@ranged
def wedged_bar(
    slope: Annotated[float, Range(-1.3, 1.3, "angle of the walls from the vertical", "rad")] = 0.2,
    mu: Mu = 0.5,
    force: Annotated[float, Range(0.0, 1e9, "with which each wall pushes inward at the start", "N/m")] = 0.0,
) -> Scene:
    """A bar wedged between two walls that converge downward: friction can hold it, or not.

    With walls at an angle ``slope`` from the vertical the bar is held by any mu; Moreau's walls that
    converge upward (slope < 0) hold it only if mu > tan|slope| and only by forces already there: with
    ``--slope -0.2 --force 3000`` it stands, without force it falls. Each wall carries half the weight then.
    """
    scene = Scene(d=2, overlap=1e-9)
    scene.law(mu=mu)
    gap, height = 0.5, 0.1
    for side in (-1, 1):
        normal = (-side * math.cos(slope), math.sin(slope))
        reach = -gap * math.cos(slope)
        scene.add(HalfPlane(normal, reach), name="left wall" if side < 0 else "right wall")
    low, high = gap - math.tan(slope) * height / 2, gap + math.tan(slope) * height / 2
    corners = [(-low, -height / 2), (low, -height / 2), (high, height / 2), (-high, height / 2)]
    scene.add(Polygon(corners), density=1000, name="bar")
    if force > 0.0:
        half = 0.5 * 9.81 * 1000 * height * 2 * gap
        scene.press("left wall", "bar", (force, half))
        scene.press("right wall", "bar", (-force, half))
    scene.run = Run(duration=0.2, dt=1e-3, every=5)
    return scene
