"""Small recordings with one of each shape, for the tests of the viewer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clapas.bodies.drawn import Field, Look, Skin
from clapas.bodies.kind import Part
from clapas.bodies.lagrangian import LagrangianSystem
from clapas.geometry.shapes import (
    Box,
    Capsule,
    Clump,
    Cylinder,
    Disk,
    HalfPlane,
    Plane,
    Polygon,
    Polyhedron,
    Sphere,
    TriangleMesh,
)
from clapas.io.recording import RecordingWriter
from clapas.io.simulation import simulate
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.typing import Array

STAIR = TriangleMesh(
    np.array([(1.0, -1, 0), (2, -1, 0), (2, 1, 0), (1, 1, 0), (2, -1, 1), (2, 1, 1)], dtype=float),
    [(0, 1, 2), (0, 2, 3), (1, 4, 5), (1, 5, 2)],
)
OCTAHEDRON = Polyhedron([(0.2, 0, 0), (-0.2, 0, 0), (0, 0.2, 0), (0, -0.2, 0), (0, 0, 0.2), (0, 0, -0.2)])


def scene_in_space() -> Scene:
    """A floor, a wall, a stair, and every kind of solid let fall on them from just above."""
    scene = Scene()
    scene.material("stone", density=2500)
    scene.law(mu=0.5)
    scene.add(Plane(), name="floor")
    scene.add(Plane((1, 0, 0), -2.0), name="wall")
    scene.add(STAIR, name="stair")
    solids = {  # and the height of their centres when they stand
        "ball": (Sphere(0.2), 0.2),
        "brick": (Box((0.4, 0.3, 0.2)), 0.1),
        "pill": (Capsule(0.1, 0.3), 0.25),
        "tin": (Cylinder(0.15, 0.3), 0.15),
        "gem": (OCTAHEDRON, 0.2),
        "dumbbell": (Clump([(Sphere(0.1), (0, 0, -0.15)), (Sphere(0.1), (0, 0, 0.15))]), 0.25),
    }
    for k, (name, (shape, height)) in enumerate(solids.items()):
        scene.add(
            shape,
            position=(-1.4 + 0.5 * k if k < 5 else 1.5, 0, height + 0.001),
            material="stone",
            name=name,
            velocity=(0.3 if name == "brick" else 0.0, 0, 0),
        )
    return scene


def scene_in_plane() -> Scene:
    """A disk, a square and a triangle on the ground."""
    scene = Scene(d=2)
    scene.law(mu=0.4)
    scene.add(HalfPlane(), name="ground")
    scene.add(Disk(0.2), position=(-0.5, 0.201), density=1000, name="coin", velocity=(0.5, 0))
    scene.add(Polygon.rectangle(0.4, 0.4), position=(0.3, 0.201), density=1000, name="square")
    scene.add(Polygon([(0, 0), (0.4, 0), (0.2, 0.3)]), position=(1.0, 0.101), density=1000, name="triangle")
    return scene


def record(scene: Scene, path: Path, duration: float = 0.1) -> Path:
    """Run a scene for a short while into a file."""
    simulate(scene, duration=duration, dt=2e-3, every=5, out=path, on_unsolved="record").close()
    return path


def record_many(count: int, path: Path, frames: int = 3) -> Path:
    """A recording of many grains that nobody computed: a lattice that shears, with two contacts a grain."""
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane(), name="floor")
    side = math.ceil(count ** (1 / 3))
    grid = np.stack(np.unravel_index(np.arange(count), (side, side, side)), axis=1)[:, ::-1]
    grain = Sphere(0.5)
    for where in grid:
        scene.add(grain, position=tuple(where + np.array([0, 0, 0.5])), density=1000)
    model = compile_scene(scene, check_overlaps=False)
    a, b = np.arange(1, count), np.arange(2, count + 1)
    n, step = len(a), {"potential": 0.0, "work": 0.0, "residual": 1e-6, "iterations": 10, "status": 0}
    with RecordingWriter(path, model, dt=0.01) as writer:
        for k in range(frames):
            position = model.position + 0.3 * k * model.position[:, [2]] * (1.0, 0.0, 0.0)
            velocity = np.zeros_like(model.velocity)
            velocity[:, 0] = 0.3 * position[:, 2]
            normal = position[b] - position[a]
            normal /= np.linalg.norm(normal, axis=1)[:, None]
            zero = np.zeros(n, dtype=np.int64)
            contacts = {
                "a": a,
                "b": b,
                "collider_a": a,
                "collider_b": b,
                "feature": zero,
                "point": (position[a] + position[b]) / 2,
                "normal": normal,
                "gap": np.zeros(n),
                "impulse": normal * np.linspace(0.1, 1.0, n)[:, None],
                "couple": np.zeros((n, 3)),
                "mode": zero + 1,
            }
            frame = {"time": 0.01 * k, "dt": 0.01, "alive": model.n_bodies, "kinetic": 1.0, "seconds": 0.1}
            state = {"position": position, "orientation": model.orientation, "velocity": velocity}
            writer.append(frame | state | step | {"step": k}, contacts)
    return path


class DrawnPendulum(LagrangianSystem):
    """A pendulum that shows its thread, coloured by the tension, and a kite of two triangles on it."""

    def skins(self) -> Sequence[Skin]:
        """A segment and two triangles."""
        thread = Skin("thread", 2, np.array([[0, 1]]), np.array([0.01]), (Field("tension", "N", "cell"),))
        kite = Skin(
            "kite", 4, np.array([[0, 1, 2], [0, 2, 3]]), np.empty(0), (Field("height", "m", "vertex"),)
        )
        return [thread, kite]

    def looks(self, part: Part) -> Sequence[Look]:
        """The thread goes from the origin to the bob, and so does a diagonal of the kite."""
        bob = np.array([np.sin(part.q[0]), -np.cos(part.q[0])])
        across = 0.2 * np.array([-bob[1], bob[0]])
        corners = np.array([[0.0, 0.0], 0.5 * bob - across, bob, 0.5 * bob + across])
        tension = np.array([9.81 * np.cos(part.q[0]) + part.v[0] ** 2])
        return [Look(np.array([[0.0, 0.0], bob]), (tension,)), Look(corners, (corners[:, 1],))]


def _frames(q: Array) -> tuple[list[list[float]], list[list[float]]]:
    return [[np.sin(q[0]), -np.cos(q[0])]], [[q[0]]]


def swinging() -> Scene:
    """A pendulum that strikes a disk."""
    pendulum = DrawnPendulum(
        mass=lambda q: [[1.0]],
        force=lambda q, v, t: -9.81 * np.sin(q),
        potential=lambda q: -9.81 * np.cos(q[0]),
        frames=_frames,
        shapes=[(0, Disk(0.05))],
        q=[-0.3],
        v=[1.0],
    )
    scene = Scene(d=2)
    scene.law(mu=0.3)
    scene.add(HalfPlane(), position=(0, -1.06))
    scene.add(Disk(0.06), position=(0.12, -1.0), mass=0.5)
    scene.add_system(pendulum, name="pendulum")
    return scene
