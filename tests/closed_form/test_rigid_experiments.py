"""Experiments of rigid body mechanics with answers on paper."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from clapas.geometry import rotations
from clapas.geometry.shapes import Disk, HalfPlane, Plane, Polygon, Polyhedron, Sphere
from clapas.scenes.scene import Scene
from clapas.typing import Array
from tests.closed_form.runs import SINK, run

G = 9.81


def rectangle(width: float, height: float) -> Polygon:
    x, y = width / 2, height / 2
    return Polygon([(-x, -y), (x, -y), (x, y), (-x, y)])


def flat(mu: float, gravity: tuple[float, ...] = (0.0, -G), restitution: float = 0.0) -> Scene:
    scene = Scene(gravity, d=len(gravity), overlap=1e-6)
    scene.law(mu=mu, restitution=restitution)
    scene.add(HalfPlane() if len(gravity) == 2 else Plane())
    return scene


# -------------------------------------------------------------------- rolling


@pytest.mark.parametrize("k", [0.5, 1.0])
def test_a_body_that_slides_comes_to_roll(k: float) -> None:
    """With I = k m R², at v/(1 + k): when v − mu g t = R ω, R ω = mu g t/k."""
    mu, v, radius = 0.3, 2.0, 0.1
    scene = flat(mu)
    scene.add(Disk(radius), (0, radius - SINK), velocity=(v, 0), mass=1.0, inertia=k * radius**2)
    history = run(scene, 0.5, 1e-3)
    speed, onset = history.velocity()[:, 0], v * k / ((1 + k) * mu * G)
    assert speed[-1] == pytest.approx(v / (1 + k), rel=1e-6)
    rolls = history.time[np.flatnonzero(np.abs(speed - v / (1 + k)) < 1e-5)[0]]
    assert rolls == pytest.approx(onset, abs=2e-3)


@pytest.mark.parametrize("half_angle", [0.5, 1.0])
def test_a_ball_rolls_down_a_groove_on_a_shorter_radius(half_angle: float) -> None:
    """With v = ω R sin β the acceleration is g sin α / (1 + (2/5)/sin² β)."""
    slope, radius, sine = 0.2, 0.1, np.sin(half_angle)
    scene = Scene((G * np.sin(slope), 0, -G * np.cos(slope)), overlap=1e-6)
    scene.law(mu=2.0)
    for side in (-1.0, 1.0):
        scene.add(Plane(), orientation=rotations.from_axis_angle((side, 0, 0), np.pi / 2 - half_angle))
    scene.add(Sphere(radius), (0, 0, radius / sine - SINK), density=1000)
    v = run(scene, 0.3, 1e-3).velocity()[-1, 0]
    assert v == pytest.approx(0.3 * G * np.sin(slope) / (1 + 0.4 / sine**2), rel=1e-5)


# -------------------------------------------------------------------- impacts


@pytest.mark.parametrize("d", [2, 3])
def test_balls_of_unequal_masses_hand_on_their_momentum(d: int) -> None:
    masses, v = (1.0, 0.7, 1.3, 0.4), 2.0
    expected, moving = [], v
    for one, two in pairwise(masses):
        expected.append((one - two) / (one + two) * moving)
        moving *= 2.0 * one / (one + two)
    scene = Scene((0.0,) * d, d=d)
    scene.law(mu=0.0, restitution=1.0)
    for k, m in enumerate(masses):
        place, speed = np.zeros(d), np.zeros(d)
        place[0], speed[0] = 0.3 * k, v if k == 0 else 0.0
        scene.add(Disk(0.1) if d == 2 else Sphere(0.1), place, velocity=speed, mass=m)
    # The third ball goes back to the second later than this.
    history = run(scene, 0.17, 1e-3)
    found = [history.velocity(k)[-1, 0] for k in range(4)]
    np.testing.assert_allclose(found, [*expected, moving], rtol=1e-12)


def test_the_tip_of_a_rod_strikes_a_smooth_floor() -> None:
    """J = (1 + e) u / (1/m + l²/I), with u the speed of the tip and l its arm across the floor."""
    e, half, angle, speed, spin = 0.7, 0.5, 0.6, -1.5, 0.8
    inertia = (2 * half) ** 2 / 12
    scene = flat(0.0, (0.0, 0.0), e)
    rod = Polygon([(-half, 0), (0, -1e-4), (half, 0), (0, 1e-4)])
    arm = -half * np.cos(angle)
    scene.add(
        rod,
        (0, half * np.sin(angle) + 1e-5),
        orientation=angle,
        velocity=(0, speed),
        angular_velocity=spin,
        mass=1.0,
        inertia=inertia,
    )
    history = run(scene, 4e-4, 1e-4)
    u = speed + arm * spin
    J = -(1 + e) * u / (1 + arm**2 / inertia)
    np.testing.assert_allclose(history.velocity()[-1], (0.0, speed + J, spin + arm * J / inertia), atol=5e-4)


# -------------------------------------------------------------------- sliding and falling


def test_a_stick_on_a_smooth_floor_falls_straight_and_to_second_order() -> None:
    length, start, duration = 1.0, 0.3, 0.3

    def rate(_: float, y: Array) -> tuple[float, float]:
        angle, spin = y
        sine, cosine = np.sin(angle), np.cos(angle)
        push = 0.5 * G / length * sine - 0.25 * sine * cosine * spin**2
        return spin, push / (1 / 12 + 0.25 * sine**2)

    exact = solve_ivp(rate, (0, duration), (start, 0.0), rtol=1e-11, atol=1e-12).y[0, -1]
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        scene = flat(0.0)
        stick = Polygon([(-1e-3, 0), (0, -length / 2), (1e-3, 0), (0, length / 2)])
        scene.add(
            stick,
            (0, 0.5 * length * np.cos(start) - SINK),
            orientation=start,
            mass=1.0,
            inertia=length**2 / 12,
        )
        history = run(scene, duration, dt)
        assert np.abs(history.position()[:, 0]).max() < 1e-12
        errors.append(abs(history.kept[-1].state.orientation[-1, 0] - exact))
    assert errors[-1] < 1e-4
    assert errors[0] / errors[-1] > 6.0  # 16 for second order but for the instants of contact


def test_a_block_pushes_a_smooth_wedge_away() -> None:
    """The wedge gains m g sin α cos α / (M + m sin² α)."""
    slope, M, m = 0.5, 2.0, 1.0
    height = np.tan(slope)
    scene = flat(0.0)
    scene.add(
        Polygon([(-2 / 3, -height / 3), (1 / 3, -height / 3), (1 / 3, 2 * height / 3)]),
        (0, height / 3 - SINK),
        mass=M,
    )
    along, up = np.array([np.cos(slope), np.sin(slope)]), np.array([-np.sin(slope), np.cos(slope)])
    foot = np.array([-2 / 3, -SINK]) + 0.8 * along
    scene.add(rectangle(0.1, 0.1), foot + (0.05 - SINK) * up, orientation=slope, mass=m)
    history = run(scene, 0.1, 1e-3)
    gained = m * G * np.sin(slope) * np.cos(slope) / (M + m * np.sin(slope) ** 2)
    assert history.velocity(1)[-1, 0] == pytest.approx(0.1 * gained, rel=1e-6)
    assert history.velocity(2)[-1, 0] == pytest.approx(-0.1 * gained * M / m, rel=1e-6)


@pytest.mark.parametrize("share", [0.98, 1.02])
def test_a_box_pushed_at_its_middle_tips_above_a_force(share: float) -> None:
    """The force is m g b/H."""
    width, height = 0.2, 0.5
    scene = flat(5.0)
    force = share * G * width / height
    scene.add(rectangle(width, height), (0, height / 2 - SINK), mass=1.0, force=(force, 0))
    spin = run(scene, 0.2, 1e-3).velocity()[-1, 2]
    assert (abs(spin) > 1e-3) == (share > 1.0)
    assert spin < 1e-9


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_books_hang_over_by_half_the_harmonic_series(share: float) -> None:
    length, height, n = 0.2, 0.05, 4
    scene = flat(0.5)
    x = 0.0
    places = [0.0]
    for k in range(n - 1, 0, -1):  # from the lowest up: the k books above stand out by L/(2 k)
        x += share * length / (2 * k)
        places.append(x)
    for k, place in enumerate(places):
        scene.add(rectangle(length, height), (place, (k + 0.5) * height - (k + 1) * SINK), density=1000)
    history = run(scene, 0.2, 1e-3)
    moved = max(np.abs(history.position(k + 1)[-1] - history.position(k + 1)[0]).max() for k in range(n))
    assert (moved < 1e-7) == (share < 1.0)


# -------------------------------------------------------------------- invariance


def tumble(turn: Array, away: Array) -> Array:
    """Three rocks thrown together on a floor, in a world that is turned and moved; seen from it again."""
    rng = np.random.default_rng(3)
    scene = Scene(rotations.rotate(turn, (0.0, 0.0, -G)))
    scene.law(mu=0.4)
    scene.add(Plane(), away, orientation=turn)
    for k in range(3):
        q = rotations.product(turn, rotations.normalise(rng.normal(size=4)))
        scene.add(
            Polyhedron(rng.normal(size=(10, 3)) * 0.05),
            away + rotations.rotate(turn, np.array([0.1 * k, 0.02 * k, 0.3 + 0.3 * k])),
            orientation=q,
            velocity=rotations.rotate(turn, rng.normal(size=3)),
            angular_velocity=rotations.rotate(turn, 5.0 * rng.normal(size=3)),
            density=1000,
        )
    history = run(scene, 0.2, 1e-3)
    assert sum(len(step.contacts) for step in history.steps) > 0
    return np.array([rotations.rotate_back(turn, history.position(k)[-1] - away) for k in (1, 2, 3)])


def test_the_place_and_the_attitude_of_the_world_do_not_matter() -> None:
    here = tumble(np.array([1.0, 0, 0, 0]), np.zeros(3))
    there = tumble(rotations.normalise([1.0, 0.3, -0.5, 0.2]), np.array([10.0, -5.0, 2.0]))
    np.testing.assert_allclose(there, here, atol=1e-9)
