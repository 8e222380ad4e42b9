"""The time-stepping schemes: exact cases, orders of convergence, moving walls, options."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Turn

from clapas.dynamics.motions import ConstantVelocity, Oscillation, Rotation
from clapas.dynamics.schemes import MoreauJean, MoreauMidpoint, QuasiStatic
from clapas.errors import SettingsError
from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Plane, Sphere
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS
from clapas.typing import Array
from tests.closed_form.runs import SINK, History, run

G = 9.81


# -------------------------------------------------------------------- smooth motion


@pytest.mark.parametrize("theta", [0.5, 0.75, 1.0])
def test_projectile_is_exact_at_the_midpoint_and_first_order_elsewhere(theta: float) -> None:
    scene = Scene()
    scene.add(Box((0.1, 0.2, 0.3)), (0, 0, 1), velocity=(1, 2, 3), density=1000)
    dt = 0.01
    history = run(scene, 1.0, dt, scheme=MoreauJean(theta=theta))
    t = history.time[:, None]
    v, down = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, -G])
    np.testing.assert_allclose(history.velocity()[:, :3], v + down * t, atol=1e-12)
    # Positions take the velocity at the share θ of the step: late by (θ − ½) dt.
    expected = (0, 0, 1) + v * t + down * t**2 / 2 + down * t * (theta - 0.5) * dt
    np.testing.assert_allclose(history.position(), expected, atol=1e-12)


def symmetric_top(dt: float, theta: float = 0.5, duration: float = 1.0) -> History:
    scene = Scene((0.0, 0.0, 0.0))
    scene.add(
        Box((0.1, 0.1, 0.02)),
        mass=1.0,
        inertia=(1.0, 1.0, 1.8),
        orientation=(1.0, 0.3, -0.2, 0.1),
        angular_velocity=(0.5, 2.0, 1.0),
    )
    return run(scene, duration, dt, scheme=MoreauJean(theta=theta))


def exact_attitude(top: History, t: float) -> tuple[Array, Array]:
    """Attitude and body spin of a free symmetric top: Q(t) = exp(t L/I₁) Q(0) exp(t (1 − I₃/I₁) ω₃ e₃).

    The axis goes round the angular momentum L at the rate |L|/I₁ while the body turns about it.
    """
    start = top.kept[0].state
    Q = Turn.from_quat(np.roll(start.orientation[0], -1)).as_matrix()
    omega, inertia = start.velocity[0, 3:], np.array([1.0, 1.0, 1.8])
    moment = Q @ (inertia * omega)
    own = np.array([0.0, 0.0, (1.0 - 1.8) * omega[2]])
    attitude = Turn.from_rotvec(t * moment).as_matrix() @ Q @ Turn.from_rotvec(t * own).as_matrix()
    return attitude, Turn.from_rotvec(-t * own).apply(omega)


@pytest.mark.parametrize(("theta", "order"), [(0.5, 2), (1.0, 1)])
def test_free_top_converges_at_the_order_of_the_scheme(theta: float, order: int) -> None:
    errors, spins = [], []
    for dt in (0.04, 0.02, 0.01):
        top = symmetric_top(dt, theta)
        attitude, omega = exact_attitude(top, 1.0)
        found = Turn.from_quat(np.roll(top.kept[-1].state.orientation[0], -1)).as_matrix()
        errors.append(np.linalg.norm(found - attitude))
        spins.append(np.linalg.norm(top.velocity()[-1, 3:] - omega))
    rates = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(rates, order, atol=0.15)
    assert errors[-1] < (1e-3 if order == 2 else 5e-2)
    np.testing.assert_allclose(np.log2(np.divide(spins[:-1], spins[1:])), 2, atol=0.05)


def _drifts(steps: int) -> tuple[float, float, float, float]:
    """Relative drift of energy and angular momentum, of a tumbling body; that of its unit quaternion."""
    scene = Scene((0.0, 0.0, 0.0))
    scene.add(Box((0.1, 0.2, 0.3)), density=1000, angular_velocity=(0.02, 8.0, 0.01))
    history = run(scene, 1e-3 * steps, 1e-3, every=max(1, steps // 100))
    inertia = history.model.inertia[0]
    energy = [kept.energy.kinetic for kept in history.kept]
    moment = np.array([inertia * kept.state.velocity[0, 3:] for kept in history.kept])
    world = np.array(
        [rotations.rotate(kept.state.orientation[0], m) for kept, m in zip(history.kept, moment, strict=True)]
    )
    size = np.linalg.norm(world[0])
    unit = max(abs(np.linalg.norm(kept.state.orientation[0]) - 1) for kept in history.kept)
    direction = float(np.linalg.norm(world - world[0], axis=1).max() / size)
    return (
        float(np.ptp(energy) / energy[0]),
        float(np.ptp(np.linalg.norm(moment, axis=1)) / size),
        direction,
        unit,
    )


def test_tumbling_body_keeps_its_energy_and_momentum() -> None:
    energy, moment, direction, unit = _drifts(1500)
    assert max(energy, moment) < 1e-12
    assert direction < 1e-4  # second order in dt
    assert unit < 1e-14


@pytest.mark.slow
def test_tumbling_body_keeps_its_energy_and_momentum_for_long() -> None:
    energy, moment, direction, unit = _drifts(100_000)
    assert max(energy, moment) < 1e-10
    assert direction < 1e-3
    assert unit < 1e-14


# -------------------------------------------------------------------- walls that move


def shaken(strength: float, periods: float = 2.0, dt: float = 2e-4) -> tuple[History, float, float]:
    """A ball on a plate that oscillates with a peak acceleration of so many g, from its lowest point."""
    frequency = 10.0
    pulsation = 2 * math.pi * frequency
    amplitude = strength * G / pulsation**2
    scene = Scene()
    scene.law(mu=0.4)
    scene.add(
        Box((1, 1, 0.1)),
        (0, 0, -0.05),
        motion=Oscillation(amplitude, frequency, (0, 0, 1), phase=-math.pi / 2),
    )
    scene.add(Sphere(0.05), (0, 0, 0.05 - SINK), density=2000)
    return run(scene, periods / frequency, dt), amplitude, pulsation


def test_ball_stays_on_a_plate_shaken_below_one_g() -> None:
    history, amplitude, pulsation = shaken(0.95)
    clear = history.position(1)[:, 2] - history.position(0)[:, 2] - 0.1
    # Its velocity is that of the plate half a step ago: it lags by a step of displacement, no more.
    assert np.abs(clear).max() < 1.1 * 2e-4 * amplitude * pulsation


def test_ball_leaves_a_plate_shaken_above_one_g_when_it_falls_away_at_g() -> None:
    strength, dt = 1.5, 2e-4
    history, amplitude, pulsation = shaken(strength, periods=1.0, dt=dt)
    t = history.time
    clear = history.position(1)[:, 2] - history.position(0)[:, 2] - 0.1
    # z = −A cos ωt: the plate falls away faster than g once −cos ωt·strength < −1, past the middle.
    leaves = math.acos(-1 / strength) / pulsation
    assert np.abs(clear[t < leaves]).max() < dt * amplitude * pulsation
    speed = amplitude * pulsation * math.sin(pulsation * leaves)
    place = -amplitude * math.cos(pulsation * leaves)
    flight = t[(t > leaves) & (clear > 4 * dt * amplitude * pulsation)]
    free = place + speed * (flight - leaves) - G * (flight - leaves) ** 2 / 2
    ball = history.position(1)[:, 2] - 0.05 - amplitude
    np.testing.assert_allclose(ball[np.isin(t, flight)], free, atol=4 * dt * amplitude * pulsation)
    assert clear.max() > 0.2 * amplitude


def test_belt_drags_a_block_to_its_speed() -> None:
    mu, speed, dt = 0.3, 1.0, 1e-3
    scene = Scene()
    scene.law(mu=mu)
    scene.add(Plane(), motion=ConstantVelocity((speed, 0, 0)))
    scene.add(Box((0.2, 0.2, 0.1)), (0, 0, 0.05 - SINK), density=1000)
    history = run(scene, 0.5, dt)
    expected = np.minimum(mu * G * history.time, speed)
    np.testing.assert_allclose(history.velocity()[:, 0], expected, atol=1e-9)


def test_ball_on_a_shaken_floor_rolls_at_two_sevenths_of_its_speed() -> None:
    dt, amplitude, frequency = 5e-4, 0.01, 2.0
    scene = Scene()
    scene.law(mu=1.0)
    scene.add(Plane(), motion=Oscillation(amplitude, frequency, (1, 0, 0), phase=-math.pi / 2))
    scene.add(Sphere(0.1), (0, 0, 0.1 - SINK), density=1000)
    history = run(scene, 0.5, dt)
    pulsation = 2 * math.pi * frequency
    floor = amplitude * pulsation * np.sin(pulsation * history.time)
    np.testing.assert_allclose(history.velocity()[:, 0], 2 / 7 * floor, atol=dt * amplitude * pulsation**2)


def test_block_on_a_turntable_slips_beyond_the_friction_radius() -> None:
    """A block stays on a turntable while r Ω² ≤ mu g."""
    mu, rate, dt = 0.5, 4.0, 1e-3
    edge = mu * G / rate**2
    for place, stays in ((0.9 * edge, True), (1.1 * edge, False)):
        scene = Scene()
        scene.law(mu=mu)
        scene.add(Plane(), motion=Rotation((0, 0, 1), rate))
        scene.add(
            Box((0.02, 0.02, 0.01)),
            (place, 0, 0.005 - 1e-8),
            density=1000,
            velocity=(0, place * rate, 0),
            angular_velocity=(0, 0, rate),
        )
        history = run(scene, 0.3, dt, solver=NSGS(tol=1e-8))
        radius = np.linalg.norm(history.position()[:, :2], axis=1)
        assert (radius.max() < place * 1.02) == stays


# -------------------------------------------------------------------- options


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_projection_removes_penetration_and_leaves_velocities(share: float) -> None:
    histories = []
    for projection in (0.0, share):
        scene = Scene()
        scene.law(mu=0.3)
        scene.add(Plane())
        scene.add(Sphere(0.1), (0, 0, 0.103), velocity=(0, 0, -5), density=1000)
        histories.append(run(scene, 0.05, 1e-3, scheme=MoreauMidpoint(projection=projection)))
    deep, clean = (history.position()[:, 2] - 0.1 for history in histories)
    assert deep[-1] < -1e-3
    assert deep[-1] < clean[-1] < 1e-9
    for kept in histories[1].kept[-20:]:
        assert kept.energy.kinetic < 1e-12


def test_quasi_static_steps_find_rest_at_once_and_creep_only_when_they_must() -> None:
    for mu, rests in ((0.21, True), (0.19, False)):
        scene = Scene((G * 0.2, 0.0, -G))
        scene.law(mu=mu)
        scene.add(Plane())
        scene.add(Box((0.2, 0.2, 0.1)), (0, 0, 0.05 - SINK), density=1000, velocity=(1.0, 0, 0))
        history = run(scene, 0.02, 1e-3, scheme=QuasiStatic())
        speed = history.velocity()[1:, 0]
        # Without inertia the speed it was given is forgotten; what is left is one step of acceleration.
        expected = 0.0 if rests else (0.2 - mu) * G * 1e-3
        np.testing.assert_allclose(speed, expected, atol=1e-9)
        weight = history.model.mass[1] * G
        np.testing.assert_allclose(history.force(0, 1, 1e-3)[2], weight, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"theta": 0.0}, "theta must be in"),
        ({"theta": 1.5}, "theta must be in"),
        ({"reach": -1e-6}, "reach must be a length, zero or more, or None, got -1e-06"),
        ({"reach": float("inf")}, "reach must be a length, zero or more, or None, got inf"),
        ({"projection": 2.0}, r"projection must be in \[0, 1\], got 2.0"),
    ],
)
def test_settings_out_of_range(options: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        MoreauJean(**options)  # type: ignore[arg-type]
