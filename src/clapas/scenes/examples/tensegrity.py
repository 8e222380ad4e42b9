"""Struts and cables that move: a robot dropped, a grid under load, a prism that unfolds."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clapas.bodies.trusses import Actuator, MovingTruss
from clapas.bodies.trusses.generators import grid, prism, six_strut_ball
from clapas.geometry.shapes import Plane
from clapas.geometry.shapes.polyhedron import Polyhedron
from clapas.scenes.examples.parameters import Mu, Range, ranged
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

DAMPING = 2e-3  # s: rebounds of some centimetres die out in a second


@ranged
def tensegrity_ball(
    height: Annotated[float, Range(0.0, 100.0, "height of fall", "m")] = 0.5,
    tension: Annotated[float, Range(1.0, 1e6, "cable force at rest", "N", above=True)] = 1000.0,
    rocks: Annotated[int, Range(0, 200, "stones on the floor")] = 12,
    mu: Mu = 0.6,
    seed: Annotated[int, Range(0, 2**62, "seed of what is drawn at random")] = 1,
) -> Scene:
    """A ball of six struts and 24 cables falls on a floor with rocks: cables go slack and catch again.

    It falls freely for sqrt(2h/g) = 0.32 s. At rest the ground carries its weight and the cables are as
    tight as the weight leaves them.
    """
    truss = six_strut_ball(tension=tension)
    scene = Scene(seed=seed)
    scene.law(mu=mu)
    scene.add(Plane(), name="floor")
    low, reach = float(truss.nodes[:, 2].min()), 1.2
    random = np.random.default_rng(seed)
    lift = 0.12 if rocks else 0.0  # of the ball, above the stones
    for _ in range(rocks):
        size = random.uniform(0.05, 0.12)
        points = random.normal(size=(12, 3))
        points *= size / np.linalg.norm(points, axis=1)[:, None]
        x, y = random.uniform(-reach, reach, 2)
        scene.add(Polyhedron(points), position=(x, y, 0.0), fixed=True, group="rocks")
    radius = 0.02
    moved = truss.with_(nodes=truss.nodes + np.array([0.0, 0.0, height + lift + radius - low]))
    scene.add_system(
        MovingTruss(truss=moved, damping_time=DAMPING, node_radius=radius, bar_radius=radius), name="ball"
    )
    scene.run = Run(duration=2.0, dt=2e-3, every=5)
    return scene


@ranged
def tensegrity_grid(
    modules: Annotated[int, Range(1, 12, "modules along each side")] = 3,
    load: Annotated[float, Range(0.0, 1e6, "weight put on each upper node", "N")] = 200.0,
) -> Scene:
    """A grid of half-cuboctahedra gets its load at once, swings, and settles where statics says.

    It comes to rest in the equilibrium of large displacements that ``clapas truss grid`` computes.
    """
    truss = grid(modules, load=load)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.law(mu=0.5)
    scene.add_system(MovingTruss(truss=truss, case="down", damping_time=5e-3), name="grid")
    scene.run = Run(duration=1.0, dt=5e-3, every=2)
    return scene


@ranged
def tensegrity_deployment(
    slack: Annotated[float, Range(0.0, 0.3, "share by which the side cables are too long")] = 0.1,
) -> Scene:
    """A prism of three struts sags on cables that are too long, and stands up as they are wound in.

    With the right lengths it has its own shape again, 1 m high, and the self-stress of 1 kN in its cables.
    """
    truss = prism(3)
    foot = truss.nodes[:, 2] < truss.nodes[:, 2].mean()
    truss = truss.with_(is_blocked=np.repeat(foot[:, None], 3, axis=1))
    ends = foot[truss.members]
    sides = np.flatnonzero(truss.is_cable & (ends.sum(axis=1) == 1))
    winches = Actuator(members=sides.tolist(), times=[0.0, 0.5, 2.0], factors=[1.0 + slack, 1.0 + slack, 1.0])
    scene = Scene()
    scene.law(mu=0.5)
    scene.add_system(MovingTruss(truss=truss, damping_time=5e-3, actuators=[winches]), name="prism")
    scene.run = Run(duration=4.0, dt=5e-3, every=8)
    return scene
