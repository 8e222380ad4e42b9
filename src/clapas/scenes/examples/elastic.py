"""Deformable bodies: a bar on a wall, a block on grains, a square that is pulled, a ring that bounces."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clapas.bodies.elastic import Elastic, ElasticBodies, NeoHookean, Solid, VonMises, bar, block, ring
from clapas.geometry.shapes import Disk, HalfPlane
from clapas.scenes.examples.parameters import Mu, Range, ranged
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

Cells = Annotated[int, Range(2, 200, "cells along the body")]


@ranged
def elastic_bar(
    cells: Cells = 40,
    speed: Annotated[float, Range(0.0, 10.0, "speed of the impact", "m/s", above=True)] = 0.5,
    yield_stress: Annotated[float, Range(0.0, 1e9, "yield stress; 0: none", "Pa")] = 0.0,
) -> Scene:
    """A rubber bar of 1 m strikes a wall and leaves it after its wave went there and back, 2 L/c = 0.2 s.

    E = 100 kPa and ρ = 1000 kg/m³: waves of c = 10 m/s. The wall's force is ρ c v A all the time, and what
    the first layer of nodes loses in the impact, 1/(2 cells), is all that is lost. With a yield stress below
    ρ c v the bar flows at the wall.
    """
    material: Elastic | VonMises = Elastic(young=1e5, density=1000.0)
    if yield_stress > 0.0:
        material = VonMises(young=1e5, poisson=0.0, density=1000.0, yield_stress=yield_stress, isotropic=1e4)
    solid = Solid(mesh=bar(1.0, cells, height=0.1), material=material, kinematics="plane stress")
    scene = Scene(d=2, gravity=(0.0, 0.0))
    scene.law(mu=0.0)
    scene.add(HalfPlane((1.0, 0.0), 0.0), name="wall")
    scene.add_system(
        ElasticBodies(solid=solid, velocity=(-speed, 0.0), surface="left", sides=False), name="bar"
    )
    scene.run = Run(duration=0.3, dt=0.1 / cells, every=max(1, cells // 20))
    return scene


@ranged
def elastic_block(
    cells: Cells = 8,
    grains: Annotated[int, Range(1, 200, "grains on the floor")] = 7,
    height: Annotated[float, Range(0.0, 10.0, "height of fall", "m")] = 0.1,
    mu: Mu = 0.5,
) -> Scene:
    """A block of soft rubber falls on rigid grains, which press into it between its nodes.

    At rest the grains carry its weight, 1000 kg/m³ × 0.5 m × 0.25 m × 9.81 m/s² = 1226 N (a slice of 1 m),
    and lie in dents of its lower side.
    """
    radius = 0.25 / grains
    x = 0.5 * (np.arange(grains) + 0.5) / grains
    rubber = NeoHookean(young=4e4, poisson=0.3, density=1000.0)
    mesh = block((0.5, 0.25), (cells, max(1, cells // 2)), origin=(0.0, 2.0 * radius + height))
    scene = Scene(d=2)
    scene.law(mu=mu)
    scene.add(HalfPlane(), name="floor")
    for place in x:
        scene.add(Disk(radius), position=(float(place), radius), density=2000.0, group="grains")
    body = ElasticBodies(solid=Solid(mesh=mesh, material=rubber), damping=(5.0, 2e-3))
    scene.add_system(body, name="block")
    scene.run = Run(duration=0.8, dt=2e-3, every=5)
    return scene


@ranged
def pulled_square(
    cells: Cells = 12,
    pull: Annotated[float, Range(0.0, 10.0, "pull over what friction holds, mu P")] = 0.8,
    mu: Mu = 0.3,
) -> Scene:
    """An elastic square is pressed on a plane with friction and pulled by its right side.

    It is pressed by 10 kPa on its upper side. Below mu P it sticks at the left and slips at the right, where
    the pull begins; beyond it slides away (000, figure 2.3).
    """
    pressure = 1e4
    mesh = block((1.0, 1.0), (cells, cells))
    solid = Solid(mesh=mesh, material=Elastic(young=1e6, poisson=0.3, density=1000.0))
    load = solid.pressure("top", pressure) + solid.traction("right", (pull * mu * pressure, 0.0))
    scene = Scene(d=2, gravity=(0.0, 0.0))
    scene.law(mu=mu)
    scene.add(HalfPlane(), name="plane")
    body = ElasticBodies(solid=solid, surface="bottom", load=load, damping=(50.0, 5e-3), sides=False)
    scene.add_system(body, name="square")
    scene.run = Run(duration=0.5, dt=5e-3, every=4)
    return scene


@ranged
def elastic_ring(
    cells: Cells = 32,
    height: Annotated[float, Range(0.0, 10.0, "height of fall", "m")] = 0.3,
    mu: Mu = 0.3,
) -> Scene:
    """A ring of rubber falls on a floor, is flattened and rings.

    It turns and bends as it likes: neo-Hookean, in cells of second order. At 0.3 m it arrives after 0.25 s
    with 2.43 m/s.
    """
    mesh = ring(0.16, 0.2, (1, cells), "Q8", angles=(0.0, 2.0 * np.pi))
    mesh = mesh.mapped(mesh.nodes + np.array([0.0, 0.2 + height]))
    rubber = NeoHookean(young=3e6, poisson=0.3, density=1000.0)
    scene = Scene(d=2)
    scene.law(mu=mu)
    scene.add(HalfPlane(), name="floor")
    body = ElasticBodies(solid=Solid(mesh=mesh, material=rubber), surface="outer", damping=(0.0, 2e-4))
    scene.add_system(body, name="ring")
    scene.run = Run(duration=0.8, dt=1e-3, every=8)
    return scene
