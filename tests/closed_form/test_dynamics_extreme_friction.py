"""Smooth contacts (mu = 0) and contacts that never slide (mu up to 1e16), by the default solver."""

from __future__ import annotations

import numpy as np
import pytest

import clapas
from tests.closed_form.runs import SINK, run

RESTITUTION = (0.0, 0.3, 0.5, 1.0)


@pytest.mark.parametrize("e", RESTITUTION)
def test_a_ball_bounces_on_a_smooth_floor(e):
    """Impact at −v g dt before it is seen, then e v: each velocity is the exact one of the scheme."""
    dt, g, height = 1e-3, 9.81, 0.05
    scene = clapas.Scene()
    scene.law(mu=0.0, restitution=e)
    scene.add(clapas.Plane())
    scene.add(clapas.Sphere(0.1), position=(0, 0, 0.1 + height), density=1000)
    scheme = clapas.MoreauMidpoint(reach=0.0)  # Moreau's rule, step by step
    history = run(scene, duration=0.25, dt=dt, solver=clapas.Auto(tol=1e-10), scheme=scheme)
    v, z = 0.0, height
    for k, (velocity, position) in enumerate(
        zip(history.velocity()[1:], history.position()[1:], strict=True)
    ):
        middle = z + 0.5 * dt * v
        free = v - g * dt
        after = max(free, -e * v) if middle <= 0.0 else free
        z = middle + 0.5 * dt * after
        v = after
        assert velocity[2] == pytest.approx(v, abs=1e-9), k
        assert position[2] - 0.1 == pytest.approx(z, abs=1e-9), k


@pytest.mark.parametrize("e", RESTITUTION)
def test_two_smooth_spheres_collide(e):
    """Equal masses: velocities (1 − e)/2 and (1 + e)/2; the spin of one is not touched."""
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.law(mu=0.0, restitution=e)
    scene.add(
        clapas.Sphere(0.1), position=(0, 0, 0), mass=1.0, velocity=(1, 0, 0), angular_velocity=(0, 0, 5)
    )
    scene.add(clapas.Sphere(0.1), position=(0.2005, 0, 0), mass=1.0)
    state = run(scene, duration=0.01, dt=1e-3, solver=clapas.Auto(tol=1e-12)).kept[-1].state
    np.testing.assert_allclose(state.velocity[:, 0], [(1 - e) / 2, (1 + e) / 2], atol=1e-11)
    np.testing.assert_allclose(state.velocity[:, 3:], [[0, 0, 5], [0, 0, 0]], atol=1e-15)


@pytest.mark.parametrize("e", RESTITUTION)
def test_a_smooth_cradle_conserves_momentum_and_obeys_newton(e):
    """Three balls in touch: u⁺ ≥ −e u⁻ at both contacts, with equality where an impulse acts."""
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.law(mu=0.0, restitution=e)
    for k in range(3):
        velocity = (1.0 if k == 0 else 0.0, 0, 0)
        scene.add(clapas.Sphere(0.1), position=((0.2 - SINK) * k, 0, 0), mass=1.0, velocity=velocity)
    v = run(scene, duration=1e-3, dt=1e-3, solver=clapas.Auto(tol=1e-12)).kept[-1].state.velocity[:, 0]
    # One impulse at each contact: v = (1 − p, p − r, r), v_1 − v_0 = e, v_2 − v_1 = 0 (u⁻ = 0 there).
    p, r = (2 + 2 * e) / 3, (1 + e) / 3
    np.testing.assert_allclose(v, [1 - p, p - r, r], atol=1e-11)


@pytest.mark.parametrize("mu", [1e3, 1e4, 1e8, 1e16])
def test_a_box_thrown_on_a_floor_that_grips_stops_and_stays_on_it(mu):
    """Sliding while it falls, it must neither sink nor glide: it stops where it lands."""
    scene = clapas.Scene()
    scene.law(mu=mu)
    scene.add(clapas.Plane())
    scene.add(clapas.Box((0.4, 0.4, 0.1)), position=(0, 0, 0.05 - SINK), velocity=(0.05, 0, 0), density=1000)
    history = run(scene, duration=0.1, dt=1e-3, solver=clapas.Auto(tol=1e-3))
    end = history.position()[-1]
    assert end[2] == pytest.approx(0.05, abs=2e-4)
    assert abs(end[0]) < 1e-3
