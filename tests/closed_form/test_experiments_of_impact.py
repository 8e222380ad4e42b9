"""Blows with answers on paper: billiard balls, superballs, stacked balls, mirror images, a periodic cell."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.geometry.shapes import Disk, HalfPlane, Plane, Polygon, Sphere
from clapas.scenes.scene import Scene
from clapas.typing import Array
from tests.closed_form.runs import SINK, History, run

G = 9.81
INSTANT = 1e-9


@pytest.mark.parametrize(("cut", "mu", "side_spin"), [(0.52, 0.06, 0.0), (0.1, 0.5, 0.0), (0.3, 0.06, 20.0)])
def test_friction_throws_a_billiard_ball(cut: float, mu: float, side_spin: float) -> None:
    """Off the line of centres by the angle of friction, or less where the surfaces cease to slip.

    A tangential impulse J changes the slip of two equal balls by 7 J/m, so the tangent of the throw is
    min(mu, slip/(7 v cos φ)) with slip = v sin φ + R ω.
    """
    radius, v = 0.0286, 3.0
    line = np.array([np.cos(cut), np.sin(cut), 0.0])
    across = np.array([-np.sin(cut), np.cos(cut), 0.0])
    scene = Scene((0, 0, 0), overlap=1e-6)
    scene.law(mu=mu, restitution=1.0)
    scene.add(Sphere(radius), (0, 0, 0), velocity=(v, 0, 0), angular_velocity=(0, 0, side_spin), mass=0.17)
    scene.add(Sphere(radius), (2 * radius - SINK) * line, mass=0.17)
    after = run(scene, INSTANT, INSTANT).velocity(1)[-1, :3]
    slip = -v * np.sin(cut) + radius * side_spin
    throw = np.sign(slip) * min(mu, abs(slip) / (7 * v * np.cos(cut)))
    np.testing.assert_allclose(after, v * np.cos(cut) * (line + throw * across), atol=1e-7)


@pytest.mark.parametrize(("d", "k"), [(2, 0.5), (3, 0.4)])
def test_a_superball_bounces_to_and_fro(d: int, k: float) -> None:
    """A bounce turns the slip round and keeps the moment about the contact, v + k R ω; energy stays."""
    radius, velocity, spin = 0.02, 1.0, 0.0
    for _ in range(3):
        scene = Scene((0.0,) * d, d=d, overlap=1e-6)
        scene.law(mu=50.0, restitution=1.0, tangential_restitution=1.0)
        scene.add(HalfPlane() if d == 2 else Plane())
        place = np.zeros(d)
        place[-1] = radius - SINK
        scene.add(
            Disk(radius) if d == 2 else Sphere(radius),
            place,
            velocity=(velocity, *(0.0,) * (d - 2), -2.0),
            angular_velocity=-spin / radius if d == 2 else (0, spin / radius, 0),
            mass=1.0,
        )
        after = run(scene, INSTANT, INSTANT).velocity()[-1]
        v, w = after[0], (-after[2] if d == 2 else after[4]) * radius
        assert v - w == pytest.approx(spin - velocity, abs=1e-7)  # slip forward
        assert v + k * w == pytest.approx(velocity + k * spin, abs=1e-7)
        assert after[d - 1] == pytest.approx(2.0, rel=1e-9)
        velocity, spin = v, w
    assert velocity == pytest.approx((1 - k) / (1 + k), abs=1e-6)  # the second bounce undid the first


@pytest.mark.parametrize("d", [2, 3])
def test_the_upper_of_two_stacked_balls_is_shot_up(d: int) -> None:
    """Elastic blows one after the other: floor and M, then M and m at 2 v, to (3M − m)/(M + m) v."""
    M, m, v = 1.0, 0.2, 2.0
    scene = Scene((0.0,) * d, d=d)
    scene.law(mu=0.0, restitution=1.0)
    scene.add(HalfPlane() if d == 2 else Plane())
    for height, mass in ((0.1015, M), (0.3055, m)):
        place, speed = np.zeros(d), np.zeros(d)
        place[-1], speed[-1] = height, -v
        scene.add(Disk(0.1) if d == 2 else Sphere(0.1), place, velocity=speed, mass=mass)
    history = run(scene, 0.01, 1e-4)
    found = [history.velocity(k)[-1, d - 1] for k in (1, 2)]
    np.testing.assert_allclose(found, ((M - 3 * m) / (M + m) * v, (3 * M - m) / (M + m) * v), rtol=1e-12)


def tumble(sign: float) -> History:
    """Blocks and disks fall on a floor and on each other; all is mirrored where the sign is −1."""
    scene = Scene((0.0, -G), d=2)
    scene.law(mu=0.4, restitution=0.3)
    scene.add(HalfPlane())
    rng = np.random.default_rng(5)
    for k in range(4):
        x, angle, v, w = rng.uniform(-0.05, 0.05), rng.uniform(0, 1), rng.normal(), 3 * rng.normal()
        shape = Disk(0.05) if k % 2 else Polygon.rectangle(0.1, 0.06)
        scene.add(
            shape,
            (sign * x, 0.08 + 0.13 * k),
            orientation=sign * angle,
            velocity=(sign * v, 0.0),
            angular_velocity=sign * w,
            density=1000,
        )
    return run(scene, 0.3, 2e-3)


def test_a_mirror_image_moves_as_a_mirror_image() -> None:
    one, other = tumble(1.0), tumble(-1.0)
    assert sum(len(step.contacts) for step in one.steps) > 50
    for body in range(1, 5):
        np.testing.assert_allclose(other.position(body) * (-1, 1), one.position(body), atol=1e-9)


def test_momentum_of_a_periodic_cell_is_kept() -> None:
    rng = np.random.default_rng(2)
    scene = Scene((0, 0, 0), period=(0.5, 0.5))
    scene.law(mu=0.5, restitution=0.5)
    places = [(x, y, z) for x in (0.06, 0.31) for y in (0.06, 0.31) for z in (0.0, 0.22, 0.44)]
    for place in places:
        scene.add(
            Sphere(0.1),
            place,
            velocity=2 * rng.normal(size=3),
            angular_velocity=rng.normal(size=3),
            density=1000,
        )
    history = run(scene, 0.08, 1e-3)

    def momentum(step: int) -> Array:
        return history.model.mass @ history.kept[step].state.velocity[:, :3]

    images = sum(
        int(np.any(np.abs(step.contacts.point[:, :2] - 0.25) > 0.24, axis=1).sum()) for step in history.steps
    )
    assert images > 0  # some touch across the border
    assert history.energy[-1] < 0.99 * history.energy[0]
    np.testing.assert_allclose(momentum(-1), momentum(0), rtol=1e-12)
