"""Dry masonry: an arch on its piers, a wall whose ground gives way, a dome."""

from __future__ import annotations

import itertools
import math
from typing import Annotated

import numpy as np

from clapas.dynamics.motions import ConstantVelocity
from clapas.errors import SceneError
from clapas.geometry.shapes import HalfPlane, Plane, Polygon, Polyhedron
from clapas.scenes.examples.parameters import Courses, Mu, Range, Thickness, Voussoirs, ranged
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene
from clapas.typing import Array

TOUCHING = 1e-9  # overlap that rounding may leave (m)


@ranged
def buttressed_arch(
    voussoirs: Voussoirs = 15,
    thickness: Thickness = 0.2,
    height: Annotated[float, Range(1e-3, 1e3, "height of the piers", "m")] = 1.0,
    width: Annotated[float, Range(1e-3, 1e3, "width of the piers", "m")] = 0.7,
    courses: Courses = 4,
    mu: Mu = 0.7,
) -> Scene:
    """A semicircular arch of mean radius 1 m on two piers that must bear its thrust.

    Piers too slender for their height turn about their outer foot.
    """
    scene = Scene(d=2, overlap=TOUCHING)
    scene.law(mu=mu)
    scene.add(HalfPlane(), name="ground")
    inner = 1.0 - thickness / 2
    for side in (-1, 1):
        for k in range(courses):
            low, high = height * k / courses, height * (k + 1) / courses
            left, right = sorted((side * inner, side * (inner + width)))
            corners = [(left, low), (right, low), (right, high), (left, high)]
            scene.add(Polygon(corners), density=2000, name=f"pier {'left' if side < 0 else 'right'} {k}")
    for k, stone in enumerate(arch_corners(voussoirs, thickness, height)):
        scene.add(Polygon(stone), density=2000, name=f"voussoir {k}")
    scene.run = Run(duration=0.3, dt=1e-3, every=10, on_unsolved="record")
    return scene


@ranged
def settling_wall(
    courses: Courses = 8,
    length: Annotated[int, Range(1, 1000, "bricks in a course")] = 8,
    gap: Annotated[float, Range(0.0, 1000.0, "width of the part that sinks", "bricks", above=True)] = 2.0,
    speed: Annotated[float, Range(0.0, 1e3, "speed at which the ground sinks", "m/s")] = 0.05,
    mu: Mu = 0.6,
) -> Scene:
    """A wall in running bond whose ground sinks over some bricks of its length: it arches over, or falls.

    The part that sinks is ``gap`` bricks wide, in the middle. Over two bricks a triangle of three comes down
    with the ground, or none if the wall happens to be tight; the others span the hole.
    """
    scene = Scene(d=2, overlap=TOUCHING)
    scene.law(mu=mu)
    if gap >= length:
        raise SceneError(f"settling-wall: gap must be narrower than the wall, {length} bricks, got {gap:g}")
    half, depth = gap / 2 * BRICK[0], 1.0
    end = 0.5 * (length + 1) * BRICK[0]
    for name, left, right in (("left", -end, -half), ("right", half, end)):
        corners = [(left, -depth), (right, -depth), (right, 0.0), (left, 0.0)]
        scene.add(Polygon(corners), fixed=True, name=f"{name} ground")
    sunk = [(-half, -depth), (half, -depth), (half, 0.0), (-half, 0.0)]
    scene.add(Polygon(sunk), motion=ConstantVelocity((0.0, -speed)), name="sinking ground")
    for k, brick in enumerate(brick_corners(courses, length)):
        scene.add(Polygon(brick), density=1800, name=f"brick {k}")
    scene.run = Run(duration=0.5, dt=1e-3, every=10, on_unsolved="record")
    return scene


@ranged
def dome(
    rings: Annotated[int, Range(1, 300, "rings of stones")] = 5,
    lunes: Annotated[int, Range(3, 1000, "stones in a ring")] = 12,
    thickness: Thickness = 0.15,
    mu: Mu = 0.7,
) -> Scene:
    """A hemispherical dome of mean radius 1 m, open at the top, stands without mortar.

    Geometry lets a full one stand when its thickness exceeds 0.042 of its mean radius (Heyman 1967).
    """
    scene = Scene(overlap=TOUCHING)
    scene.law(mu=mu)
    scene.add(Plane(), name="ground")
    top = math.radians(75.0)  # the eye at the crown
    for ring in range(rings):
        low, high = top * ring / rings, top * (ring + 1) / rings
        for lune in range(lunes):
            start, end = 2 * math.pi * lune / lunes, 2 * math.pi * (lune + 1) / lunes
            corners = [
                _on_sphere(radius, elevation, azimuth)
                for radius in (1 - thickness / 2, 1 + thickness / 2)
                for elevation in (low, high)
                for azimuth in (start, end)
            ]
            scene.add(Polyhedron(corners), density=2000, name=f"stone {ring} {lune}")
    scene.run = Run(
        duration=0.1, dt=1e-3, every=5, on_unsolved="record", solver={"name": "auto", "tol": 1e-5}
    )
    return scene


BRICK = (0.2, 0.065)  # length and height (m)


def arch_corners(voussoirs: int, thickness: float, height: float = 0.0) -> list[Array]:
    """Corners of the stones of a semicircular arch of mean radius 1, springing at ``height``."""
    stones = []
    for k in range(voussoirs):
        start, end = math.pi * k / voussoirs, math.pi * (k + 1) / voussoirs
        places = [(-1, start), (1, start), (1, end), (-1, end)]
        radii = [(1 + side * thickness / 2, angle) for side, angle in places]
        stones.append(np.array([(r * math.cos(angle), height + r * math.sin(angle)) for r, angle in radii]))
    return stones


def brick_corners(courses: int, length: int) -> list[Array]:
    """Corners of the bricks of a wall in running bond, centred, with half bricks at its ends."""
    width, height = BRICK
    bricks = []
    for course in range(courses):
        ends = (
            np.arange(length + 1.0)
            if course % 2 == 0
            else np.concatenate(([0], np.arange(length) + 0.5, [length]))
        )
        ends = (ends - length / 2) * width
        low, high = height * course, height * (course + 1)
        for left, right in itertools.pairwise(ends):
            bricks.append(np.array([(left, low), (right, low), (right, high), (left, high)]))
    return bricks


def _on_sphere(radius: float, elevation: float, azimuth: float) -> tuple[float, float, float]:
    level = radius * math.cos(elevation)
    return level * math.cos(azimuth), level * math.sin(azimuth), radius * math.sin(elevation)
