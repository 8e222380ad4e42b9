"""Distances of two points as coordinates: ropes, springs and winches, against answers known on paper."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ellipk

from clapas.dynamics.joints.laws import VelocityMotor
from clapas.errors import SceneError
from clapas.geometry.shapes import Box, Disk, Sphere
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import Simulation

G, MASS = 9.81, 2.0
BOTH = pytest.mark.parametrize("d", [2, 3])


def hung(d: int, angle: float, length: float = 1.0, dt: float = 1e-3, **laws: Any) -> Simulation:
    """A ball at a distance and an angle below the origin, and a stretch between the two."""
    scene = Scene(d=d)
    scene.law(mu=0.3)
    x, z = length * math.sin(angle), -length * math.cos(angle)
    place = (x, z) if d == 2 else (x, 0.0, z)
    scene.add(Disk(0.05) if d == 2 else Sphere(0.05), place, mass=MASS, name="ball")
    scene.join("stretch", None, "ball", at=(0.0,) * d, to=place, name="rope", **laws)
    return Simulation(scene, dt=dt)


@BOTH
def test_a_ball_on_a_rope_is_a_pendulum(d: int) -> None:
    sim = hung(d, 1.0, limits=(None, 1.0))
    start, before, crossed, pulls = sum(sim.energy), 1.0, [], []
    while len(crossed) < 3:
        sim.step()
        x = sim.body("ball").position[0]
        if before * x < 0.0:
            crossed.append(sim.time - sim.dt * x / (x - before))
            pulls.append(sim.joint("rope").effort)
        before = x
        assert sim.joint("rope").position == pytest.approx(1.0, abs=5e-6)
    period = 4.0 * math.sqrt(1.0 / G) * float(ellipk(math.sin(0.5) ** 2))
    assert crossed[2] - crossed[0] == pytest.approx(period, rel=2e-6)
    assert pulls == pytest.approx([-MASS * G * (3.0 - 2.0 * math.cos(1.0))] * 3, rel=1e-5)
    assert sum(sim.energy) == pytest.approx(start, abs=1e-4)


@BOTH
def test_a_slack_rope_does_nothing_until_it_is_taut(d: int) -> None:
    sim = hung(d, 0.0, length=0.5, limits=(None, 1.0))
    sim.step(300)
    fallen = 0.5 * G * 0.3**2
    assert sim.joint("rope").position == pytest.approx(0.5 + fallen, rel=1e-12)
    assert sim.joint("rope").effort == 0.0
    sim.step(300)
    assert sim.joint("rope").position == pytest.approx(1.0, abs=1e-12)
    assert sim.joint("rope").effort == pytest.approx(-MASS * G)
    assert np.abs(sim.body("ball").velocity).max() < 1e-12


@BOTH
def test_a_spring_between_two_points_swings_as_on_paper_also_through_its_other_end(d: int) -> None:
    """With a rest of zero it is harmonic about the origin, whatever the direction."""
    sim = hung(d, 0.3, spring=(50.0, 0.0))
    below, fast = MASS * G / 50.0, math.sqrt(50.0 / MASS)
    for _ in range(4):
        sim.step(250)
        swing = math.cos(fast * sim.time)
        x, z = math.sin(0.3) * swing, -below + (below - math.cos(0.3)) * swing
        assert sim.body("ball").position[[0, -1]] == pytest.approx([x, z], abs=1e-4)
        assert sim.joint("rope").position == pytest.approx(math.hypot(x, z), abs=1e-4)


def test_a_spring_goes_through_the_pose_without_direction() -> None:
    sim = hung(3, 0.0, dt=math.pi / 500.0, spring=(MASS, 0.0))
    for _ in range(600):
        sim.body("ball").apply(force=(0, 0, MASS * G))
        sim.step()
    assert sim.body("ball").position[2] == pytest.approx(-math.cos(sim.time), abs=2e-2)


@BOTH
def test_a_winch_pulls_two_bodies_together_and_turns_them(d: int) -> None:
    """Momenta stay zero, forces on the two are opposite and along the line, with their arms."""
    scene = Scene(d=d, gravity=(0.0,) * d)
    scene.law(mu=0.3)
    box = Box((0.2, 0.2, 0.2)) if d == 3 else Disk(0.1)
    here, there = np.zeros(d), np.array([1.0, 0.2, 0.3][:d])
    scene.add(box, here, mass=1.0, name="a")
    scene.add(box, there, mass=2.0, name="b")
    at, to = here + 0.08, there - 0.05
    scene.join("stretch", "a", "b", at=at, to=to, name="winch", motor=VelocityMotor(-0.2, 5.0))
    sim = Simulation(scene, dt=1e-3)
    length = sim.joint("winch").position
    assert length == pytest.approx(float(np.linalg.norm(to - at)))
    sim.step(10)
    assert sim.joint("winch").effort == pytest.approx(-5.0, rel=1e-9)
    sim.step(490)
    assert sim.joint("winch").rate == pytest.approx(-0.2, abs=1e-6)
    one, two = sim.body("a"), sim.body("b")
    assert one.velocity + 2.0 * two.velocity == pytest.approx(np.zeros(d), abs=1e-12)
    assert np.abs(one.angular_velocity).max() > 0.01


@BOTH
def test_an_effort_along_a_stretch_pushes_its_points_apart(d: int) -> None:
    """It does what a motor with this torque does."""
    sim, other = hung(d, 0.4, limits=(None, 5.0)), hung(d, 0.4)
    sim.joint("rope").apply(7.0)
    away = other.body("ball").position
    other.body("ball").apply(force=7.0 * away / np.linalg.norm(away))
    for one in (sim, other):
        one.step()
    assert sim.body("ball").velocity == pytest.approx(other.body("ball").velocity, rel=1e-12)


def test_stretches_come_back_from_files_and_are_refused_in_words(tmp_path: Path) -> None:
    scene = hung(3, 0.2, limits=(None, 1.5)).scene
    assert scene is not None
    scene.save(tmp_path / "rope.toml")
    assert Scene.load(tmp_path / "rope.toml").joints == scene.joints
    with pytest.raises(SceneError, match=r"outside of its limits -inf to 0.5; place the bodies within them$"):
        hung(3, 0.0, limits=(None, 0.5))
    with pytest.raises(SceneError, match="starts at the distance of its points, 1 m; leave out start"):
        hung(3, 0.0, start=1.0)
    with pytest.raises(SceneError, match="the stretch has no length, both ends are at"):
        hung(3, 0.0, length=0.0)
    with pytest.raises(SceneError, match="a stretch joint needs to, the point of b"):
        scene.join("stretch", None, "ball", at=(0, 0, 0))
    with pytest.raises(SceneError, match="or, in its place, by a 'stretch' with limits"):
        scene.join("distance", None, "ball", at=(0, 0, 0), to=(0, 0, -1), limits=(None, 2.0))
