"""Turns, travels and swings: laws on joints that leave several motions free."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import clapas
from clapas import Box, Disk, Scene, Simulation, Sphere, VelocityMotor
from clapas.errors import SceneError

DT = 5e-3


def space(gravity: tuple[float, float, float] = (0, 0, 0)) -> Scene:
    """An empty scene."""
    scene = Scene(gravity=gravity)
    scene.law(mu=0.3)
    return scene


def test_friction_between_two_bodies_that_nothing_else_joins() -> None:
    """A clutch: f = 0.05 N·m takes the rate off at 2 f/I, then both turn together."""
    scene, inertia = space(), 1.0 / 6.0
    scene.add(Box((1, 1, 1)), (0, 0, 0), mass=1.0, name="a")
    scene.add(Box((1, 1, 1)), (3, 0, 0), mass=1.0, name="b", angular_velocity=(0.3, 0, 0))
    scene.join("turn", "a", "b", at=(1.5, 0, 0), axis=(1, 0, 0), name="clutch", friction=0.05)
    sim = Simulation(scene, dt=DT)
    sim.step(20)
    assert sim.joint("clutch").rate == pytest.approx(0.3 - 0.1 / inertia * 20 * DT)
    sim.step(100)
    assert sim.joint("clutch").rate == pytest.approx(0.0, abs=1e-10)
    assert sim.body("a").angular_velocity == pytest.approx([0.15, 0, 0], abs=1e-10)
    assert sim.body("b").position == pytest.approx([3, 0, 0])


def test_a_ball_in_a_cone() -> None:
    scene = space((0, 0, -9.81))
    scene.add(Sphere(0.1), (0, 0, -1), mass=1.0, name="bob", velocity=(1.0, 2.0, 0))
    scene.join("ball", None, "bob", at=(0, 0, 0))
    scene.join("swing", None, "bob", at=(0, 0, 0), axis=(0, 0, -1), limits=(None, 0.3), name="cone")
    sim, seen = Simulation(scene, dt=DT), []
    for _ in range(200):
        sim.step()
        seen.append(sim.joint("cone").angle)
        x, y, z = sim.body("bob").position
        assert seen[-1] == pytest.approx(math.atan2(math.hypot(x, y), -z), abs=1e-12)
    assert max(seen) == pytest.approx(0.3, abs=2e-3)  # at the middles of steps it is exact
    assert min(seen[20:]) < 0.29


def test_the_two_angles_of_a_universal_joint() -> None:
    scene = space((0, 0, -9.81))
    spin = {"velocity": (-0.25, 1.0, 0), "angular_velocity": (2.0, 0.5, 0)}
    scene.add(Box((0.1, 0.2, 1)), (0, 0, -0.5), mass=1.0, name="rod", **spin)
    axes = {"axis": (1, 0, 0), "second": (0, 1, 0)}
    scene.join("universal", None, "rod", at=(0, 0, 0), **axes)
    scene.join("turn", None, "rod", at=(0, 0, 0), **axes, name="roll", limits=(-0.2, 0.2))
    back = {"axis": (0, 1, 0), "second": (1, 0, 0)}
    scene.join("turn", "rod", None, at=(0, 0, 0), **back, name="pitch", damping=0.05)
    sim, widest = Simulation(scene, dt=2e-3), 0.0
    for _ in range(250):
        sim.step()
        widest = max(widest, abs(sim.joint("roll").angle))
    turned = Rotation.from_euler("XY", [sim.joint("roll").angle, sim.joint("pitch").angle])
    np.testing.assert_allclose(turned.apply([0, 0, -0.5]), sim.body("rod").position, atol=1e-10)
    assert widest == pytest.approx(0.2, abs=1e-3)
    assert abs(sim.joint("pitch").angle) > 1e-3


def test_the_three_freedoms_of_a_planar_joint() -> None:
    """Friction along x stops the puck after v²/(2 f/m), a motor moves it along y, a damper slows its spin."""
    scene = space((0, 0, -9.81))
    scene.add(Sphere(0.1), (0, 0, 0), mass=2.0, name="puck", velocity=(1.0, 0, 0), angular_velocity=(0, 0, 3))
    scene.join("planar", None, "puck", at=(0, 0, 0), axis=(0, 0, 1))
    scene.join("travel", None, "puck", at=(0, 0, 0), axis=(1, 0, 0), name="x", friction=4.0)
    scene.join("travel", None, "puck", at=(0, 0, 0), axis=(0, 1, 0), name="y", motor=VelocityMotor(0.2))
    scene.join("turn", None, "puck", at=(0, 0, 0), axis=(0, 0, 1), name="spin", damping=0.01)
    sim = Simulation(scene, dt=DT)
    sim.step(200)
    inertia = 0.4 * 2.0 * 0.1**2
    assert sim.joint("x").position == pytest.approx(0.25, abs=DT)
    assert sim.joint("x").rate == pytest.approx(0.0, abs=1e-10)
    assert sim.joint("y").position == pytest.approx(0.2 * (1.0 - DT / 2), abs=1e-9)  # from rest
    assert sim.joint("spin").rate == pytest.approx(3.0 / (1.0 + DT * 0.01 / inertia) ** 200)


def test_a_torsion_spring_in_the_plane() -> None:
    """Two disks that nothing else joins: ω = √(2 k/I)."""
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (0, 0), mass=2.0, name="a")
    scene.add(Disk(0.1), (1, 0), mass=2.0, name="b", angular_velocity=1.0)
    scene.join("turn", "a", "b", at=(0, 0), name="wire", spring=(0.5, 0.0))
    omega = math.sqrt(2 * 0.5 / 0.01)
    sim = Simulation(scene, dt=2e-3)
    sim.step(100)
    assert sim.joint("wire").angle == pytest.approx(math.sin(omega * 0.2) / omega, rel=1e-3)


def test_they_hold_nothing_and_leave_contacts() -> None:
    """Two balls with a damper between them bounce off each other as without."""
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.0, restitution=1.0)
    scene.add(Sphere(0.1), (0, 0, 0), mass=1.0, velocity=(1, 0, 0))
    scene.add(Sphere(0.1), (0.3, 0, 0), mass=1.0)
    scene.join("turn", 0, 1, at=(0, 0, 0), axis=(1, 0, 0), damping=1.0)
    sim = Simulation(scene, dt=DT)
    sim.step(60)
    assert sim.state.velocity[:, 0] == pytest.approx([0.0, 1.0], abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("swing", {}, "a swing needs limits=(None, angle)"),
        ("swing", {"limits": (0.1, 0.3)}, "a swing has no lower limit, got 0.1"),
        ("swing", {"limits": (None, 4.0)}, "the half-angle of a cone is below pi, got 4.0"),
        ("swing", {"limits": (None, 0.3), "friction": 1.0}, "friction does not act along a swing"),
        ("swing", {"limits": (None, 0.3), "second": (1, 0, 0)}, "outside of its limits"),
        ("turn", {"second": (0, 0, 1)}, "its axes must be at right angles"),
        ("travel", {"second": (1, 0, 0)}, "a travel joint has no second axis"),
    ],
)
def test_what_is_refused(kind: str, given: dict[str, object], said: str) -> None:
    scene = space()
    scene.add(Sphere(0.1), mass=1.0)
    with pytest.raises(SceneError) as caught:
        scene.join(kind, None, 0, at=(0, 0, 0), axis=(0, 0, 1), **given)
    assert said in str(caught.value)


def test_a_ball_with_laws_names_the_kinds_that_take_them() -> None:
    scene = space()
    scene.add(Sphere(0.1), mass=1.0)
    with pytest.raises(clapas.SceneError, match="'turn' or a 'travel', or a 'swing' for a cone"):
        scene.join("ball", None, 0, at=(0, 0, 0), damping=1.0)


def test_they_are_written_to_files_and_read_again() -> None:
    scene = space()
    scene.add(Sphere(0.1), (0, 0, -1), mass=1.0)
    scene.join("ball", None, 0, at=(0, 0, 0))
    scene.join("swing", None, 0, at=(0, 0, 0), axis=(0, 0, -1), second=(0, 0.6, -0.8), limits=(None, 0.9))
    scene.join("turn", None, 0, at=(0, 0, 0), axis=(0, 0, 1), second=(1, 0, 0), friction=0.1)
    again = clapas.Scene.from_dict(scene.to_dict())
    assert again.joints == scene.joints
