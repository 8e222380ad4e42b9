"""Contacts of what moves together, and walls that lead what they carry."""

from __future__ import annotations

import numpy as np

from clapas.dynamics.freemotion import lead
from clapas.dynamics.motions import ConstantVelocity, Rotation
from clapas.geometry.shapes import Plane, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from tests.closed_form.runs import run


def test_spheres_at_one_point_that_fall_together_are_in_contact_without_impulse() -> None:
    scene = Scene(overlap=1.0)
    scene.law(mu=0.3)
    for _ in range(60):
        scene.add(Sphere(0.1), (0, 0, 1), density=1000)
    history = run(scene, 2e-3, 1e-3)
    for step in history.steps:
        assert len(step.contacts) == 60 * 59 // 2
        assert not step.state.impulses.impulse.any()


def test_a_wall_at_constant_velocity_leads_nothing() -> None:
    scene = Scene(overlap=1e-6)
    scene.law(mu=0.3)
    scene.add(Plane(), motion=ConstantVelocity((0.5, 0, 0)))
    scene.add(Sphere(0.1), (0, 0, 0.1 - 1e-7), density=1000)
    history = run(scene, 2e-3, 1e-3)
    step = history.steps[-1]
    assert len(step.contacts) == 1
    given = step.contacts, step.middle.velocity, 0.5, 1e-3
    assert lead(history.model, step.middle, *given) is None


def test_a_wall_that_turns_leads_by_the_chord() -> None:
    """What sticks at x goes to R x: the missing part is (R − 1) x / h − Ω × x."""
    rate, dt, x = 3.0, 0.01, np.array([0.2, 0.0])
    scene = Scene(overlap=1e-6)
    scene.law(mu=0.3)
    scene.add(Plane(), motion=Rotation((0, 0, 1), rate))
    scene.add(Sphere(0.1), (*x, 0.1 - 1e-7), density=1000)
    step = run(scene, dt, dt).steps[-1]
    angle = rate * dt
    velocity = step.middle.velocity.copy()
    velocity[1, :2] = 0.2 / dt * np.array([1.0 - np.cos(angle), np.sin(angle)])  # came along the circle
    missing = lead(compile_scene(scene), step.middle, step.contacts, velocity, 0.5, dt)
    assert missing is not None
    chord = 0.2 / dt * np.array([np.cos(angle) - 1.0, np.sin(angle)]) - (0.0, rate * 0.2)
    np.testing.assert_allclose(np.abs(missing[0, :2]), np.abs(chord), atol=1e-13)
