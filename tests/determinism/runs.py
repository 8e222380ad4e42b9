"""Short runs that between them pass through every kernel of a time step.

Bodies start at irregular places (a fixed seed): no gap is zero up to rounding, so that which contacts exist
does not depend on the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from clapas.dynamics.births import initial_state
from clapas.dynamics.motions import Oscillation
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.state import State
from clapas.dynamics.stepping import step
from clapas.geometry.shapes import Box, Capsule, Cylinder, HalfPlane, Plane, Polygon, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.regions import BoxRegion
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS, Auto, Coloured
from clapas.solvers.loop import Solver


@dataclass(frozen=True)
class Run:
    """A scene and how many steps of which length to do.

    Parameters
    ----------
    scene : function
        Makes the scene.
    dt : float
        Time step (s).
    steps : int
        How many.
    portable : int
        Steps after which other machines still agree; see ``digests``.
    tol : float
        Tolerance of the solver: large packings take it coarser, to be quick.
    check_overlaps : bool
        False for packings whose bodies overlap a little from the start.
    """

    scene: Callable[[], Scene]
    dt: float
    steps: int
    portable: int
    tol: float = 1e-8
    check_overlaps: bool = True

    def states(self, threads: int | None = None) -> Iterator[State]:
        """The states after each step: by the default solver, or by sweeps on a number of threads."""
        solver: Solver = Auto(tol=self.tol)
        if threads is not None:
            solver = NSGS(tol=self.tol, order=Coloured(threads=threads), max_iterations=2000)
        model = compile_scene(self.scene(), check_overlaps=self.check_overlaps)
        state, neighbours = initial_state(model), Neighbours(model)
        for _ in range(self.steps):
            state = step(model, state, self.dt, solver, None, neighbours).state
            yield state


def spheres() -> Scene:
    """512 spheres, packed and slightly overlapping, collapse in a box: the geometric form of spheres."""
    rng = np.random.default_rng(1)
    scene = Scene()
    scene.law(mu=0.4)
    scene.add(Plane())
    for normal in ((1, 0, 0), (0, 1, 0)):
        scene.add(Plane(normal))
        scene.add(Plane(tuple(-k for k in normal), -0.16))
    grid = np.stack(np.meshgrid(*3 * [np.arange(8)], indexing="ij"), axis=-1).reshape(-1, 3)
    for place in (0.01 + 0.02 * grid + rng.uniform(-2e-4, 2e-4, grid.shape)).tolist():
        scene.add(Sphere(0.01005), place, velocity=rng.normal(scale=0.03, size=3).tolist(), density=2500.0)
    return scene


def boxes() -> Scene:
    """Boxes, cylinders and capsules fall on each other: blocks of H, polyhedral detection."""
    rng = np.random.default_rng(2)
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    shapes = [Box((0.2, 0.15, 0.1))] * 3 + [Capsule(0.05, 0.15), Cylinder(0.08, 0.12)]
    for k in range(20):
        cell = np.array((0.3 * (k % 2), 0.3 * (k // 2 % 2), 0.18 + 0.3 * (k // 4)))
        place = rng.uniform(-0.04, 0.04, 3) + cell
        velocity = (*rng.normal(scale=0.3, size=2), -2.0 - 1.5 * (k // 4))
        scene.add(shapes[k % 5], place.tolist(), rng.normal(size=4).tolist(), velocity, density=2000.0)
    return scene


def source_in_the_plane() -> Scene:
    """Disks and polygons appear one after another above a trough: births, 2-D kernels."""
    scene = Scene(d=2, seed=3)
    scene.law(mu=0.3)
    scene.add(HalfPlane((0.3, 1.0)))
    scene.add(HalfPlane((-0.4, 1.0)))
    region = BoxRegion((-0.1, 0.25), (0.1, 0.3))
    scene.source(region, rate=150.0, radius=(0.011, 0.019), number=20, velocity=(0.0, -4.0), density=1500.0)
    stone = Polygon([(0.03, 0.0), (0.01, 0.026), (-0.02, 0.017), (-0.025, -0.02), (0.012, -0.027)])
    scene.source(region, rate=90.0, shape=stone, number=12, start=3e-3, velocity=(0.3, -3.0), density=1500.0)
    return scene


def shaken_with_restitution() -> Scene:
    """Spheres and boxes bounce on a plate that shakes: moving walls, restitution."""
    rng = np.random.default_rng(4)
    scene = Scene()
    scene.law(mu=0.35, restitution=0.6, tangential_restitution=0.2)
    plate = Box((1.0, 1.0, 0.1))
    scene.add(plate, (0.0, 0.0, -0.05), motion=Oscillation(0.01, 25.0, (0.2, 0.1, 1.0)))
    for k in range(25):
        place = 0.14 * (k % 5 - 2), 0.14 * (k // 5 - 2), rng.uniform(0.075, 0.12)
        shape = Sphere(0.04) if k % 2 else Box((0.07, 0.06, 0.08))
        velocity = (*rng.normal(scale=0.6, size=2), -1.5)
        scene.add(shape, place, rng.normal(size=4).tolist(), velocity, density=1200.0)
    return scene


def rolling_and_sticky() -> Scene:
    """Spheres that resist rolling and stick, in a periodic cell: couples, cohesion, images."""
    rng = np.random.default_rng(5)
    scene = Scene(period=(0.4, 0.4))
    scene.law(mu=0.5, rolling=2e-3, spinning=1e-3, cohesion=0.5)
    scene.add(Plane())
    for k in range(48):
        cell = np.array((0.1 * (k % 4), 0.1 * (k // 4 % 4), 0.055 + 0.1 * (k // 16)))
        place = rng.uniform(-0.0015, 0.0015, 3) + cell
        velocity = (*rng.normal(scale=0.4, size=2), -1.5)
        scene.add(Sphere(0.048), place.tolist(), velocity=velocity, density=1000.0)
    return scene


RUNS = {
    "spheres": Run(spheres, dt=1e-3, steps=20, portable=3, tol=1e-3, check_overlaps=False),
    "boxes": Run(boxes, dt=1e-3, steps=100, portable=60),
    "source-in-the-plane": Run(source_in_the_plane, dt=1e-3, steps=150, portable=150),
    "shaken-with-restitution": Run(shaken_with_restitution, dt=1e-3, steps=41, portable=41),
    "rolling-and-sticky": Run(rolling_and_sticky, dt=1e-3, steps=20, portable=20, tol=1e-5),
}
