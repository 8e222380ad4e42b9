"""Contact problems of structures that no file holds: walls, rubble, arches, vaults, towers, piles.

Each structure is a scene. Its problem is the one of a time step: of the first, from zero impulses (*cold*),
or of the sixth, from the impulses carried over (*warm*). A structure that *settles* stands on ground part
of which sinks, so that some of its joints slide and some open; the others are at rest. All are hyperstatic:
their stones meet on faces.

Nothing is stored: the same name gives the same problem. Stones are swollen by a millionth so that every joint
is closed, whatever rounding makes of the coordinates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from scipy.spatial import Voronoi

from benchmarks import packings
from clapas.dynamics.births import initial_state
from clapas.dynamics.model import Model
from clapas.dynamics.motions import ConstantVelocity
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.state import State
from clapas.dynamics.stepping import step
from clapas.geometry.shapes import Box, HalfPlane, Plane, Polygon, Polyhedron
from clapas.problems.contact import ContactProblem
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS, Auto
from clapas.typing import Array

DT = 1e-3  # s
WARM = 5  # steps before the one whose problem is a warm start
SWELL = 1e-6
OVERLAP = 1e-5  # that the swelling may cause (m)
BRICK = (0.2, 0.1, 0.065)  # m
PLANK = (0.3, 0.1, 0.05)  # m
SINKING = 0.05  # speed of ground that gives way (m/s)
DENSITY = 2000.0

Bond = Literal["running", "stack", "english"]


class Snapshot(NamedTuple):
    """The problem of a time step and the impulses (n, d) to start from."""

    problem: ContactProblem
    guess: Array


@dataclass(frozen=True)
class Structure:
    """Something that stands or settles, and the step whose problem is taken.

    Parameters
    ----------
    family, name : str
        What it is.
    build : callable
        Makes the model and the state it starts from.
    steps : int
        Steps done before the one that counts; 0 is a cold start.
    """

    family: str
    name: str
    build: Callable[[], tuple[Model, State]]
    steps: int = 0

    def snapshot(self) -> Snapshot:
        """Run up to the step and take its problem."""
        model, state = self.build()
        neighbours = Neighbours(model)
        for _ in range(self.steps):
            state = step(model, state, DT, Auto(tol=1e-6), neighbours=neighbours).state
        met = step(model, state, DT, NSGS(max_iterations=0), neighbours=neighbours).problem
        problem = met.problem
        problem.name = self.name
        guess = met.guess(state.impulses) if self.steps else np.zeros((problem.n_contacts, problem.d))
        return Snapshot(problem, guess)


def structures() -> Iterator[Structure]:
    """All of them, small ones of a family first."""
    yield from _walls()
    yield from _rubble()
    yield from _arches()
    yield from _vaults()
    yield from _towers()
    yield from _piles()


def get(name: str) -> Structure:
    """The structure of a name."""
    return next(structure for structure in structures() if structure.name == name)


def _walls() -> Iterator[Structure]:
    bonds: tuple[Bond, ...] = ("running", "stack", "english")
    for bond in bonds:
        for courses, length in ((4, 4), (7, 6), (12, 10)):
            for settles in (False, True):
                name = f"wall-{bond}-{courses}x{length}"
                yield from _both("wall", name, partial(wall, bond, courses, length, settles), settles)
    yield _of("wall", "wall-running-20x18", partial(wall, "running", 20, 18, False))
    yield _of("wall", "wall-running-20x18-settling", partial(wall, "running", 20, 18, True))


def _rubble() -> Iterator[Structure]:
    for d, columns, rows in ((2, 8, 6), (2, 16, 12), (3, 5, 4), (3, 9, 6)):
        for settles in (False, True):
            build = partial(rubble, d, columns, rows, settles)
            yield from _both("rubble", f"rubble-{d}d-{columns}x{rows}", build, settles)


def _arches() -> Iterator[Structure]:
    for stones, rings in ((50, 1), (30, 3)):
        for settles in (False, True):
            build = partial(arch, stones, rings, settles)
            yield from _both("arch", f"arch-{stones}x{rings}", build, settles)
    # Six thin rings slide on each other: the hardest, and minutes for each step of a run.
    yield _of("arch", "arch-60x6", partial(arch, 60, 6, False))
    yield _of("arch", "arch-60x6-settling", partial(arch, 60, 6, True))


def _vaults() -> Iterator[Structure]:
    for stones, rows in ((7, 3), (11, 6), (15, 12)):
        for settles in (False, True):
            build = partial(vault, stones, rows, settles)
            yield from _both("vault", f"vault-{stones}x{rows}", build, settles)


def _towers() -> Iterator[Structure]:
    for layers in (8, 20, 40):
        for settles in (False, True):
            yield from _both("tower", f"tower-{layers}", partial(tower, layers, settles), settles)


def _piles() -> Iterator[Structure]:
    for kind, make in (("boxes", packings.boxes), ("stones", packings.stones)):
        for count in (40, 150, 400):
            for steps in (0, WARM):
                name = f"pile-{kind}-{count}" + ("-warm" if steps else "")
                yield Structure("pile", name, partial(_pile, make, count), steps)


def _both(family: str, name: str, scene: Callable[[], Scene], settles: bool) -> Iterator[Structure]:
    name += "-settling" if settles else ""
    yield _of(family, name, scene)
    yield _of(family, f"{name}-warm", scene, WARM)


def _of(family: str, name: str, scene: Callable[[], Scene], steps: int = 0) -> Structure:
    def build() -> tuple[Model, State]:
        model = compile_scene(scene())
        return model, initial_state(model)

    return Structure(family, name, build, steps)


def _pile(make: Callable[[int], Model], count: int) -> tuple[Model, State]:
    model = make(count)
    return model, packings.at_rest(model, Neighbours(model))


# ------------------------------------------------------------------------------------------- scenes


def wall(bond: Bond, courses: int, length: int, settles: bool, mu: float = 0.6) -> Scene:
    """A wall of bricks in space; its head joints touch as well.

    In running bond courses are shifted by half a brick, in stack bond not at all; English bond is two bricks
    deep, courses of stretchers and of headers in turn.
    """
    scene = _on_ground(3, settles, length * BRICK[0], mu)
    width, depth, height = BRICK
    for course in range(courses):
        z = height * (course + 0.5)
        if bond == "english" and course % 2:
            for k in range(2 * length):
                _brick(scene, (depth, width, height), ((k + 0.5) * depth, 0.0, z))
            continue
        rows = (-depth / 2, depth / 2) if bond == "english" else (0.0,)
        ends = np.arange(length + 1) * width
        if bond == "running" and course % 2:
            ends = np.concatenate(([0.0], ends[:-1] + width / 2, ends[-1:]))
        for y, (left, right) in itertools.product(rows, itertools.pairwise(ends)):
            _brick(scene, (right - left, depth, height), ((left + right) / 2, y, z))
    return scene


def rubble(d: int, columns: int, rows: int, settles: bool, mu: float = 0.7, seed: int = 1) -> Scene:
    """A wall of irregular stones, the cells of a Voronoi diagram; in space they go through its depth."""
    rng = np.random.default_rng([seed, d, columns, rows])
    size, spread = 0.2, 0.3
    grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).reshape(-1, 2) + 0.5
    seeds = size * (grid + rng.uniform(-spread, spread, grid.shape))
    width, height = size * columns, size * rows
    # Seeds mirrored at the four sides make these the borders of cells.
    mirrored = [seeds, seeds * (-1, 1), seeds * (1, -1), (2 * width, 0) + seeds * (-1, 1)]
    mirrored.append((0, 2 * height) + seeds * (1, -1))
    diagram = Voronoi(np.concatenate(mirrored))
    scene = _on_ground(d, settles, width, mu)
    for cell in diagram.point_region[: len(seeds)]:
        corners = diagram.vertices[diagram.regions[cell]]
        if d == 2:
            _stone(scene, corners)
        else:
            _stone(scene, _extruded(corners, -size / 2, size / 2))
    return scene


def arch(stones: int, rings: int, settles: bool, mu: float = 0.6) -> Scene:
    """A semicircular arch in the plane, of several rings of stones; its right foot may sink."""
    scene = Scene(d=2, overlap=OVERLAP)
    scene.law(mu=mu)
    scene.add(_slab(2, -3.0, 0.0), fixed=True, name="left foot")
    _add_ground(scene, _slab(2, 0.0, 3.0), settles, "right foot")
    thickness = 0.3 / rings
    for ring in range(rings):
        inner = 1.0 + ring * thickness
        for start, end in itertools.pairwise(np.linspace(0.0, math.pi, stones + 1)):
            _stone(scene, _voussoir(inner, inner + thickness, start, end))
    return scene


def vault(stones: int, rows: int, settles: bool, mu: float = 0.6) -> Scene:
    """A barrel vault in space: arches side by side, their joints shifted; one of its walls may sink."""
    scene = Scene(overlap=OVERLAP)
    scene.law(mu=mu)
    scene.add(_slab(3, -3.0, 0.0), fixed=True, name="left foot")
    _add_ground(scene, _slab(3, 0.0, 3.0), settles, "right foot")
    depth = 0.2
    for row in range(rows):
        for start, end in itertools.pairwise(_joints(stones, row)):
            corners = _voussoir(1.0, 1.25, math.pi * start, math.pi * end)
            _stone(scene, _extruded(corners, row * depth, (row + 1) * depth))
    return scene


def tower(layers: int, settles: bool, mu: float = 0.5) -> Scene:
    """Layers of three planks, each layer across the one below it."""
    length, width, height = PLANK
    scene = _on_ground(3, settles, length, mu)
    for layer, k in itertools.product(range(layers), (-1, 0, 1)):
        size = (length, width, height) if layer % 2 == 0 else (width, length, height)
        place = (0.0, k * width) if layer % 2 == 0 else (k * width, 0.0)
        _brick(scene, size, (length / 2 + place[0], place[1], height * (layer + 0.5)))
    return scene


# ---------------------------------------------------------------------------------------- the parts


def _on_ground(d: int, settles: bool, length: float, mu: float) -> Scene:
    """An empty scene whose ground, below 0 ≤ x ≤ length, may sink under the middle third."""
    scene = Scene(d=d, overlap=OVERLAP)
    scene.law(mu=mu)
    if not settles:
        scene.add(HalfPlane() if d == 2 else Plane(), name="ground")
        return scene
    a, b = length / 3.0, 2.0 * length / 3.0
    scene.add(_slab(d, -length, a), fixed=True, name="left ground")
    scene.add(_slab(d, b, 2.0 * length), fixed=True, name="right ground")
    _add_ground(scene, _slab(d, a, b), True, "sinking ground")
    return scene


def _add_ground(scene: Scene, slab: Polygon | Polyhedron, sinks: bool, name: str) -> None:
    if sinks:
        down = (0.0,) * (scene.d - 1) + (-SINKING,)
        scene.add(slab, motion=ConstantVelocity(down), name=name)
    else:
        scene.add(slab, fixed=True, name=name)


def _slab(d: int, left: float, right: float) -> Polygon | Polyhedron:
    corners = np.array([(left, -1.0), (right, -1.0), (right, 0.0), (left, 0.0)])
    return Polygon(corners) if d == 2 else Polyhedron(_extruded(corners, -10.0, 10.0))


def _brick(scene: Scene, size: Sequence[float], place: Sequence[float]) -> None:
    scene.add(Box(tuple((1.0 + SWELL) * edge for edge in size)), position=place, density=DENSITY)


def _stone(scene: Scene, corners: Array) -> None:
    middle = corners.mean(axis=0)
    swollen = middle + (1.0 + SWELL) * (corners - middle)
    scene.add(Polygon(swollen) if scene.d == 2 else Polyhedron(swollen), density=DENSITY)


def _extruded(corners: Array, near: float, far: float) -> Array:
    """Corners (x, z) of a face as those (x, y, z) of a prism."""
    return np.array([(x, y, z) for y in (near, far) for x, z in corners])


def _joints(stones: int, course: int) -> Array:
    """Ends of the stones of a course, from 0 to 1; odd courses begin and end with half a stone."""
    if course % 2 == 0:
        return np.linspace(0.0, 1.0, stones + 1)
    return np.concatenate(([0.0], (np.arange(stones) + 0.5) / stones, [1.0]))


def _voussoir(inner: float, outer: float, start: float, end: float) -> Array:
    places = ((inner, start), (outer, start), (outer, end), (inner, end))
    return np.array([(radius * math.cos(angle), radius * math.sin(angle)) for radius, angle in places])
