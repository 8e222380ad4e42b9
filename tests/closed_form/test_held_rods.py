"""Rods clamped on a rigid body that feels them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.bodies.rods import Rod, Rods
from clapas.dynamics.births import initial_state
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.state import State
from clapas.dynamics.stepping import step
from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Plane, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene

WHIP: dict[str, Any] = {"length": 0.3, "radius": 3e-3, "density": 2000.0, "young": 1e7, "elements": 3}


def run(scene: Scene, count: int, dt: float = 1e-3, theta: float = 0.5) -> tuple[Model, State, Rods]:
    model = compile_scene(scene)
    state, neighbours = initial_state(model), Neighbours(model)
    for _ in range(count):
        state = step(model, state, dt, None, MoreauJean(theta=theta), neighbours).state
    rods = model.systems[0].bodies
    assert isinstance(rods, Rods)
    return model, state, rods


def test_a_heavy_body_holds_a_rod_as_a_fixed_support_does() -> None:
    free, fixed = Scene(gravity=(0, 0, 0)), Scene(gravity=(0, 0, 0))
    for scene in (free, fixed):
        scene.law(mu=0.2)
    bent = Rod(**WHIP, strain=(0.5, 1.0, -2.0), bare=0.3)
    ball = free.add(Sphere(0.05), (0, 0, 0), density=1e9)
    free.add_rods(bent, on=ball)
    fixed.add_rods(bent)
    _, a, held = run(free, 30)
    _, b, clamped = run(fixed, 30)
    assert np.allclose(held.tips(a.parts[0]), clamped.tips(b.parts[0]), atol=1e-6)


def test_momenta_of_a_body_and_its_rod_are_kept_and_the_clamp_stays_closed() -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.2)
    box = scene.add(
        Box((0.05, 0.04, 0.03)), (0, 0, 0), density=800, velocity=(0.2, 0, 0.1), angular_velocity=(0, 2, 1)
    )
    scene.add_rods(Rod(**WHIP, position=(0.025, 0, 0), strain=(0.0, 2.0, 0.0), bare=0.3), on=box)
    model = compile_scene(scene)
    rods = model.systems[0].bodies
    assert isinstance(rods, Rods)

    def momenta(state: State) -> np.ndarray:
        own = rods.inertia(state.parts[0], np.zeros(3)).momentum[:6]
        root = rods.motion(state.parts[0]).position[0]
        spin = model.inertia[box] * state.velocity[box, 3:]
        p = model.mass[box] * state.velocity[box, :3]
        turn = rotations.rotate(state.orientation[box], spin) + np.cross(state.position[box], p)
        return np.concatenate((p + own[:3], turn + own[3:] + np.cross(root, own[:3])))

    lost = []
    for h in (4e-4, 2e-4):
        state, neighbours = initial_state(model), Neighbours(model)
        state = step(model, state, 1e-5, None, MoreauJean(), neighbours).state  # the clamp takes hold
        before = momenta(state)
        for _ in range(round(0.01 / h)):
            state = step(model, state, h, None, MoreauJean(), neighbours).state
        change = momenta(state) - before
        lost.append(
            [
                np.linalg.norm(b) / np.linalg.norm(a)
                for a, b in zip(np.split(before, 2), np.split(change, 2), strict=True)
            ]
        )
    assert np.all(np.array(lost[1]) < 0.02)
    assert np.all(np.array(lost[1]) < 0.6 * np.array(lost[0]))
    corner = state.position[box] + rotations.rotate(state.orientation[box], np.array([0.025, 0.0, 0.0]))
    assert rods.motion(state.parts[0]).position[0] == pytest.approx(corner, abs=1e-6)


def test_a_floor_bears_the_weight_of_a_body_and_of_the_mast_on_it() -> None:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    foot = scene.add(Box((0.1, 0.1, 0.05)), (0, 0, 0.025), density=500)
    mast = Rod(**WHIP, position=(0, 0, 0.05), tangent=(0, 0, 1), bare=0.1, damping=0.05)
    scene.add_rods(mast, on=foot)
    model = compile_scene(scene)
    state, neighbours = initial_state(model), Neighbours(model)
    for _ in range(60):
        done = step(model, state, 2e-3, None, MoreauJean(theta=1.0), neighbours)
        state = done.state
    borne = done.state.impulses.impulse[:, 2].sum() / 2e-3
    weight = 9.81 * (model.mass[foot] + mast.inertia[0] * mast.length)
    assert abs(borne) == pytest.approx(weight, rel=1e-3)


def test_what_cannot_hold_rods_is_refused() -> None:
    scene = Scene()
    floor = scene.add(Plane(), name="floor")
    with pytest.raises(SceneError, match="must move freely, 'floor' does not"):
        scene.add_rods(Rod(**WHIP), on=floor)
