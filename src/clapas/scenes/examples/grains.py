"""Grains: a box, a hopper, a drum, a vibrating plate."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clapas.dynamics.motions import Oscillation, Rotation
from clapas.geometry.shapes import Box, Plane, TriangleMesh
from clapas.scenes.examples.parameters import Grains, Radius, Range, ranged
from clapas.scenes.regions import BoxRegion
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene


@ranged
def box_of_spheres(count: Grains = 300, radius: Radius = 0.01) -> Scene:
    """Spheres fall into a box and come to rest; the floor carries their weight."""
    scene = Scene()
    scene.material("grain", density=2500)
    scene.law(mu=0.5)
    side = 2.4 * radius * max(3, round((count / 3) ** (1 / 3)))
    _walls(scene, side)
    scene.fill(
        BoxRegion((0, 0, 0), (side, side, 40 * side)), count, radius=(0.8 * radius, radius), material="grain"
    )
    scene.run = Run(
        duration=0.6,
        dt=5e-4,
        every=20,
        on_unsolved="record",
        solver={"name": "auto", "tol": 1e-3},
    )
    return scene


@ranged
def hopper(
    count: Grains = 250,
    radius: Radius = 0.01,
    mouth: Annotated[float, Range(0.0, 10.0, "side of the mouth", "largest diameters", above=True)] = 2.25,
) -> Scene:
    """Grains flow through the mouth of a square hopper onto the floor.

    Beverloo's law in space: grains per second grow as (mouth − k d)^(5/2), k about 1.4. The side of the
    ``mouth`` is counted in largest diameters d.
    """
    scene = Scene()
    scene.material("grain", density=2500)
    scene.law(mu=0.4)
    scene.add(Plane(), name="floor")
    top, low, high = 15 * radius, 12 * radius, 25 * radius
    scene.add(_funnel(2 * radius * mouth, top, low, high), name="hopper")
    inside = 0.65 * top
    scene.fill(
        BoxRegion((-inside, -inside, high), (inside, inside, high + 100 * radius)),
        count,
        radius=(0.8 * radius, radius),
        material="grain",
    )
    scene.run = Run(
        duration=1.0,
        dt=5e-4,
        every=20,
        on_unsolved="record",
        solver={"name": "auto", "tol": 1e-3},
    )
    return scene


@ranged
def rotating_drum(
    count: Grains = 200, radius: Annotated[float, Range(1e-3, 0.02, "largest radius of a grain", "m")] = 0.01
) -> Scene:
    """Grains in a slowly turning drum: the surface climbs to the angle of repose and avalanches.

    Its ends are smooth glass. Where they are as rough as the drum, grains arch from one to the other and jam:
    rigid bodies between walls that move then bear any force.
    """
    scene = Scene()
    scene.material("grain", density=2500)
    scene.material("glass")
    scene.law(mu=0.5)
    scene.law("grain", "glass", mu=0.0)
    drum, depth, sides = 0.1, 4 * radius, 36
    scene.add(_cylinder(drum, depth, sides), motion=Rotation((0, 1, 0), 1.0), name="drum")
    for side in (-1, 1):
        end = Plane((0, -side, 0), -depth / 2)
        scene.add(end, material="glass", name="back" if side > 0 else "front")
    reach = 0.6 * drum
    scene.fill(
        BoxRegion((-reach, -depth / 2, -reach), (reach, depth / 2, reach)),
        min(count, 60),
        radius=(0.7 * radius, 0.9 * radius),
        material="grain",
    )
    scene.run = Run(
        duration=1.0,
        dt=5e-4,
        every=20,
        on_unsolved="record",
        solver={"name": "auto", "tol": 1e-3},
    )
    return scene


@ranged
def vibrating_plate(
    frequency: Annotated[float, Range(0.0, 1e4, "frequency", "Hz", above=True)] = 15.0,
    amplitude: Annotated[float, Range(0.0, 1.0, "amplitude", "m")] = 2e-3,
) -> Scene:
    """Spheres on a plate that shakes up and down with a peak acceleration of 1.8 g: they take off."""
    scene = Scene()
    scene.material("grain", density=2500)
    scene.law(mu=0.4, restitution=0.3)
    plate = 0.2
    scene.add(
        Box((plate, plate, 0.02)),
        position=(0, 0, -0.01),
        motion=Oscillation(amplitude, frequency, (0, 0, 1)),
        density=2500,
        name="plate",
    )
    half = 0.35 * plate
    scene.fill(BoxRegion((-half, -half, 0.002), (half, half, 0.3)), 40, radius=0.01, material="grain")
    scene.run = Run(
        duration=0.8,
        dt=5e-4,
        every=10,
        on_unsolved="record",
        solver={"name": "auto", "tol": 1e-4},
    )
    return scene


def _walls(scene: Scene, side: float) -> None:
    """A floor at z = 0 and four walls about the square [0, side]²."""
    scene.add(Plane(), name="floor")
    scene.add(Plane((1, 0, 0), 0.0), name="west")
    scene.add(Plane((-1, 0, 0), -side), name="east")
    scene.add(Plane((0, 1, 0), 0.0), name="south")
    scene.add(Plane((0, -1, 0), -side), name="north")


def _funnel(mouth: float, top: float, low: float, high: float) -> TriangleMesh:
    """Four slanted faces from a square mouth (half side mouth/2) to a square rim, then upright walls."""
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=float)
    rings = [(mouth / 2, low), (0.75 * top, high), (0.75 * top, 4 * high)]
    vertices = np.array([[*(half * corner), z] for half, z in rings for corner in corners])
    triangles = []
    for ring in range(2):
        for k in range(4):
            a, b = 4 * ring + k, 4 * ring + (k + 1) % 4
            triangles += [(a, b, b + 4), (a, b + 4, a + 4)]
    return TriangleMesh(vertices, triangles)


def _cylinder(radius: float, depth: float, sides: int) -> TriangleMesh:
    """A drum about the y axis."""
    angles = 2 * np.pi * np.arange(sides) / sides
    ring = radius * np.column_stack((np.cos(angles), np.sin(angles)))
    vertices = np.array([[x, y, z] for y in (-depth, depth) for x, z in ring])
    triangles = []
    for k in range(sides):
        a, b = k, (k + 1) % sides
        triangles += [(a, b, b + sides), (a, b + sides, a + sides)]
    return TriangleMesh(vertices, triangles)
