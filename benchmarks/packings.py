"""Dense packings at rest in a box, made in little time.

Grains are put at random in a box that they nearly fill, pushed apart until they overlap little, then loaded
by their weight without inertia until they hardly move. Letting them fall would take a hundred times longer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clapas.dynamics.births import initial_state
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import QuasiStatic
from clapas.dynamics.state import State
from clapas.dynamics.stepping import step
from clapas.geometry.colliders import Contacts
from clapas.geometry.rotations import identity
from clapas.geometry.shapes import Box, Plane, Polyhedron, Shape, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS
from clapas.typing import Array

SIZE = 0.01  # mean diameter of the spheres, mean edge of the boxes (m)
SPREAD = 0.2  # relative half width of the distribution of sizes
FRICTION = 0.5
DENSITY = 2500.0
CORNERS = 12  # of a stone
PUSHES, PUSH = 100, 0.4  # rounds of pushing apart; share of each overlap that a body takes
LONG = 1e-2  # length of a step without inertia (s): a grain may go 1 mm in one
MOST = 600  # steps without inertia
STILL = 5e-5  # mean displacement in such a step at rest, relative to the size
LASTING = 40  # steps of rest that are enough
FEWEST_SWEEPS, SWEEPS_PER_LAYER = 50, 2.5  # the deeper a packing, the longer its weight travels


def spheres(count: int, seed: int = 0) -> Model:
    """Spheres at random in a cubic box without lid, 62 % full."""
    rng = np.random.default_rng(seed)
    radii = 0.5 * SIZE * rng.uniform(1.0 - SPREAD, 1.0 + SPREAD, count)
    shapes: list[Shape] = [Sphere(float(radius)) for radius in radii]
    return _in_a_box(shapes, float(np.sum(4.0 / 3.0 * np.pi * radii**3)) / 0.62, rng)


def boxes(count: int, seed: int = 0) -> Model:
    """Boxes of different edges, at random in a cubic box without lid, 60 % full."""
    rng = np.random.default_rng(seed)
    edges = SIZE * rng.uniform(1.0 - SPREAD, 1.0 + SPREAD, (count, 3))
    shapes: list[Shape] = [Box(tuple(edge)) for edge in edges.tolist()]
    return _in_a_box(shapes, float(edges.prod(axis=1).sum()) / 0.60, rng)


def stones(count: int, seed: int = 0) -> Model:
    """Convex polyhedra with twelve corners each, at random in a cubic box without lid, 55 % full."""
    rng = np.random.default_rng(seed)
    shapes: list[Shape] = []
    for _ in range(count):
        directions = rng.normal(size=(CORNERS, 3))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        shapes.append(Polyhedron(0.5 * SIZE * rng.uniform(1.0 - SPREAD, 1.0 + SPREAD) * directions))
    return _in_a_box(shapes, sum(shape.volume for shape in shapes) / 0.55, rng)


def _in_a_box(shapes: list[Shape], volume: float, rng: np.random.Generator) -> Model:
    width = volume ** (1.0 / 3.0)
    scene = Scene()
    scene.law(mu=FRICTION)
    scene.add(Plane())
    for normal in np.eye(3)[:2]:
        scene.add(Plane(tuple(normal)))
        scene.add(Plane(tuple(-normal), -width))
    turns = rng.normal(size=(len(shapes), 4))
    places = rng.uniform(0.0, width, (len(shapes), 3))
    for shape, place, turn in zip(shapes, places.tolist(), turns.tolist(), strict=True):
        scene.add(
            shape,
            position=place,
            orientation=identity(3) if isinstance(shape, Sphere) else turn,
            density=DENSITY,
        )
    return compile_scene(scene, check_overlaps=False)


def at_rest(model: Model, neighbours: Neighbours) -> State:
    """The bodies pushed apart and loaded by their weight."""
    state = initial_state(model)
    for _ in range(PUSHES):
        contacts = neighbours.detect(state, 0.0)
        state = replace(state, position=state.position + _push(model.first(state.n_bodies), contacts))
    return _loaded(model, state, neighbours)


def _loaded(model: Model, state: State, neighbours: Neighbours) -> State:
    """The bodies after as many steps without inertia as it takes until they hardly move for a while."""
    grains = model.first(state.n_bodies).movable
    layers = np.cbrt(grains.sum())
    solver = NSGS(tol=1e-4, max_iterations=max(FEWEST_SWEEPS, int(SWEEPS_PER_LAYER * layers)))
    still = 0
    for _ in range(MOST):
        before = state.position
        state = step(model, state, LONG, solver, QuasiStatic(), neighbours).state
        moved = np.linalg.norm(state.position - before, axis=1)[grains]
        still = still + 1 if np.sqrt(np.mean(moved**2)) < STILL * SIZE else 0
        if still == LASTING:  # small avalanches come after a while of rest
            break
    return replace(state, time=0.0, step=0, velocity=np.zeros_like(state.velocity))


def _push(model: Model, contacts: Contacts) -> Array:
    """Displacements that undo a share of each overlap, the points of two bodies sharing it."""
    n = model.n_bodies
    pair = contacts.a * n + contacts.b
    _, which, points = np.unique(pair, return_inverse=True, return_counts=True)
    away = PUSH * (contacts.gap / points[which])[:, None] * contacts.normal
    moved = [
        np.bincount(contacts.a, along, n) - np.bincount(contacts.b, along, n)
        for along in np.ascontiguousarray(away.T)
    ]
    return np.column_stack(moved) * model.movable[:, None]
