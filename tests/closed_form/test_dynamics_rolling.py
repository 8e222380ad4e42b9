"""Rolling and spinning resistance, and friction that depends on the direction, against paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clapas.geometry.shapes import Box, Disk, HalfPlane, Plane, Shape, Sphere
from clapas.problems.rolling import RollingProblem
from clapas.scenes.scene import Scene
from tests.closed_form.runs import EXACT, SINK, History, run

G, R = 9.81, 0.1
ROUND: dict[int, tuple[Shape, float]] = {2: (Disk(R), 1 / 2), 3: (Sphere(R), 2 / 5)}


def rolling_body(d: int, speed: float = 0.0, slope: float = 0.0, spin: float = 0.0, **law: float) -> Scene:
    """A round body that rolls without slip along x, in a gravity that leans as on a slope."""
    gravity = (G * math.sin(slope), *(0.0,) * (d - 2), -G * math.cos(slope))
    scene = Scene(gravity, d=d)
    scene.law(**law)
    scene.add(Plane() if d == 3 else HalfPlane())
    rest = (0.0,) * (d - 2)
    turning = (0.0, speed / R, spin) if d == 3 else -speed / R
    scene.add(
        ROUND[d][0],
        (0.0, *rest, R - SINK),
        velocity=(speed, *rest, 0.0),
        angular_velocity=turning,
        density=2000,
    )
    return scene


def worst(history: History) -> float:
    return max(step.solution.residual for step in history.steps)


@pytest.mark.parametrize("d", [2, 3])
def test_rolling_body_slows_down_by_the_couple_and_stops(d: int) -> None:
    """With inertia k m R² about its centre, (1 + k) m a = −m g ℓ/R; then it stops and stays."""
    length, speed, dt = 0.02, 0.5, 1e-3
    history = run(rolling_body(d, speed, mu=0.5, rolling=length), 0.45, dt)
    slowing = G * length / R / (1 + ROUND[d][1])
    stop = speed / slowing
    v, x, t = history.velocity(), history.position(), history.time
    moving = t < stop - dt
    np.testing.assert_allclose(v[moving, 0], speed - slowing * t[moving], atol=1e-7)
    # It rolls and does not lift: the shift of the law, not a dilating one.
    turning = v[:, 4] if d == 3 else -v[:, 2]
    np.testing.assert_allclose(turning * R, v[:, 0], atol=1e-7)
    assert np.abs(v[:, d - 1]).max() < 1e-12
    assert np.abs(v[t > stop + dt]).max() < 1e-9
    assert x[-1, 0] == pytest.approx(speed**2 / (2 * slowing), abs=slowing * dt**2)
    assert isinstance(history.steps[0].problem.problem, RollingProblem)
    assert worst(history) <= EXACT.tol
    assert history.kept[-1].work == pytest.approx(history.energy[-1] - history.energy[0], rel=1e-6)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("share", [0.99, 1.01])
def test_body_rolls_down_only_above_the_angle_of_rolling(d: int, share: float) -> None:
    """It stays if R sin(slope) ≤ ℓ cos(slope); if not, (1 + k) a = g (sin − cos·ℓ/R)."""
    slope = 0.2
    length = R * math.tan(slope) / share
    history = run(rolling_body(d, slope=slope, mu=0.9, rolling=length), 0.1, 1e-3)
    expected = 0.0
    if share > 1:
        expected = G * (math.sin(slope) - math.cos(slope) * length / R) / (1 + ROUND[d][1])
    np.testing.assert_allclose(history.velocity()[:, 0], expected * history.time, atol=1e-8)
    couple = history.kept[-1].state.impulses.couple / 1e-3
    weight = history.model.mass[1] * G
    held = min(R * math.sin(slope), length * math.cos(slope)) * weight
    if share < 1:
        assert np.linalg.norm(couple) == pytest.approx(held, rel=1e-6)
    else:
        assert np.linalg.norm(couple) == pytest.approx(length * math.cos(slope) * weight, rel=1e-6)


def test_top_spins_down_by_the_spinning_resistance() -> None:
    """I ω' = −ℓ m g, with I = 2 m R²/5, whatever the friction; rolling resistance has no part in it."""
    length, spin, dt = 0.01, 2.0, 1e-3
    history = run(rolling_body(3, spin=spin, mu=0.3, spinning=length, rolling=0.05), 0.12, dt)
    slowing = 2.5 * G * length / R**2
    moving = history.time < spin / slowing - dt
    np.testing.assert_allclose(
        history.velocity()[moving, 5], spin - slowing * history.time[moving], atol=1e-8
    )
    assert np.abs(history.velocity()[-1]).max() < 1e-9


def test_long_length_keeps_a_pushed_ball_from_rolling() -> None:
    """With ℓ > R a ball slides like a block: it never turns."""
    history = run(rolling_body(3, slope=0.5, mu=0.3, rolling=2 * R), 0.1, 1e-3)
    acceleration = G * (math.sin(0.5) - 0.3 * math.cos(0.5))
    np.testing.assert_allclose(history.velocity()[:, 0], acceleration * history.time, atol=1e-8)
    assert np.abs(history.velocity()[:, 3:]).max() < 1e-8


def test_zero_lengths_are_plain_friction() -> None:
    """One pair resists rolling, the other not: the body on the plain one moves as without couples."""
    scene = Scene((G * math.sin(0.2), 0, -G * math.cos(0.2)))
    scene.material("sticky", density=2000)
    scene.law(mu=0.5)
    scene.law("default", "sticky", mu=0.5, rolling=0.05)
    scene.add(Plane())
    scene.add(Sphere(R), (0, 0, R - SINK), density=2000)
    scene.add(Sphere(R), (0, 1, R - SINK), material="sticky")
    history = run(scene, 0.1, 1e-3)
    np.testing.assert_allclose(history.velocity(1)[:, 0], G * math.sin(0.2) / 1.4 * history.time, atol=1e-8)
    assert np.abs(history.velocity(2)).max() < 1e-9


# -------------------------------------------------------------------- elliptic friction


def sliding(angle: float, along: float, across: float, turn: float = 0.0) -> History:
    """A light flat block thrown at an angle to the grain of the floor."""
    scene = Scene()
    scene.law(mu=along, mu_across=across, direction=(1, 0, 0))
    half = turn / 2
    scene.add(
        Box((9.0, 9.0, 1.0)), (0, 0, -0.5), (math.cos(half), 0, 0, math.sin(half)), fixed=True, name="floor"
    )
    speed = 2.0
    scene.add(
        Sphere(R),
        (0, 0, R - SINK),
        velocity=(speed * math.cos(angle), speed * math.sin(angle), 0),
        mass=1.0,
        inertia=(1e6, 1e6, 1e6),  # it does not turn: a point that slides
    )
    return run(scene, 0.05, 1e-3)


@pytest.mark.parametrize("along", [0.2, 0.6])
@pytest.mark.parametrize("angle", [0.0, 0.7, math.pi / 2])
def test_friction_is_normal_to_the_ellipse(along: float, angle: float) -> None:
    """Sliding along T, the force is −N (mu_1² T_1, mu_2² T_2)/sqrt(mu_1² T_1² + mu_2² T_2²)."""
    across = 0.4
    history = sliding(angle, along, across)
    for step, before in ((0, history.kept[0]), (20, history.kept[20])):
        after = history.kept[step + 1].state.velocity[1, :2]  # the law is implicit: slip at the end
        stretched = np.array([along, across]) * after
        expected = -G * np.array([along, across]) * stretched / np.linalg.norm(stretched)
        force = (after - before.state.velocity[1, :2]) / 1e-3
        np.testing.assert_allclose(force, expected, atol=1e-5)
    # True units are kept: what the recording would hold is the force.
    impulse = history.kept[21].state.impulses.impulse[0] / 1e-3
    np.testing.assert_allclose(impulse[:2], force, atol=1e-5)
    assert impulse[2] == pytest.approx(G, rel=1e-6)


def test_the_grain_turns_with_the_floor() -> None:
    straight, turned = sliding(0.7, 0.2, 0.6), sliding(0.7 + 0.5, 0.2, 0.6, turn=0.5)
    c, s = math.cos(0.5), math.sin(0.5)
    back = turned.velocity()[:, :2] @ np.array([[c, -s], [s, c]])
    np.testing.assert_allclose(back, straight.velocity()[:, :2], atol=1e-8)


def test_no_friction_across_the_grain() -> None:
    """A skate: nothing holds it along its blade, and friction holds it across."""
    history = sliding(math.pi / 4, 0.0, 10.0)
    v = history.velocity()
    assert v[-1, 0] == pytest.approx(math.sqrt(2.0), rel=1e-5)
    assert abs(v[-1, 1]) < 1e-5


def test_block_on_a_slope_slips_along_the_grain_only() -> None:
    for direction, slips in (((1, 0, 0), True), ((0, 1, 0), False)):
        scene = Scene((G * math.sin(0.4), 0, -G * math.cos(0.4)))
        scene.law(mu=0.2, mu_across=0.6, direction=direction)
        scene.add(Plane())
        scene.add(Box((0.4, 0.4, 0.1)), (0, 0, 0.05 - SINK), density=1000)
        speed = run(scene, 0.05, 1e-3).velocity()[-1, 0]
        expected = G * (math.sin(0.4) - 0.2 * math.cos(0.4)) * 0.05 if slips else 0.0
        assert speed == pytest.approx(expected, abs=1e-7)
