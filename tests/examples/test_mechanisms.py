"""The shipped mechanisms and machines give the numbers known of them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.special import ellipk

import clapas
from clapas.geometry.rotations import to_matrix
from clapas.scenes.examples import mechanisms, robots, walking

G = 9.81


def test_pendulum() -> None:
    """The half period of a large swing, from where it turns back; second order in dt."""
    inertia, amplitude = 1.0 + 0.1**2 / 2, 1.5
    half = 2 * ellipk(math.sin(amplitude / 2) ** 2) * math.sqrt(inertia / G)
    errors = []
    for dt in (1e-2, 5e-3):
        sim = clapas.Simulation(mechanisms.pendulum(amplitude), dt=dt)
        before = after = 0.0
        while not (before < 0.0 <= after):
            sim.step()
            before, after = after, sim.joint("pin").rate
        errors.append(sim.time - dt * after / (after - before) - half)
        assert sum(sim.energy) == pytest.approx(-G * math.cos(amplitude), abs=20 * dt**2)
    assert abs(errors[1]) < 5e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


def test_double_pendulum() -> None:
    """Its energy, and its angles against an independent integration in two coordinates."""
    sim = clapas.Simulation(mechanisms.double_pendulum(2.0))
    inertia = sim.model.inertia[:, 0]

    def motion(t: float, y: np.ndarray) -> list[float]:  # angles from the vertical, and their rates
        a, b, u, v = y
        M = [[inertia[0] + 0.25 + 1.0, 0.5 * math.cos(a - b)], [0.5 * math.cos(a - b), inertia[1] + 0.25]]
        turning = 0.5 * math.sin(a - b)
        f = [-turning * v**2 - 1.5 * G * math.sin(a), turning * u**2 - 0.5 * G * math.sin(b)]
        return [u, v, *np.linalg.solve(M, f)]

    end = solve_ivp(motion, (0, 0.5), [2.0, 2.0, 0.0, 0.0], rtol=1e-10, atol=1e-12).y[:, -1]
    start = sum(sim.energy)
    assert start == pytest.approx(-2 * G * math.cos(2.0))
    sim.step(500)
    assert sum(sim.energy) == pytest.approx(start, abs=1e-3)
    assert sim.joint("shoulder").angle == pytest.approx(end[0] - 2.0, abs=1e-5)
    assert sim.joint("elbow").angle == pytest.approx(end[1] - end[0], abs=2e-5)


def test_four_bar() -> None:
    sim = clapas.Simulation(mechanisms.four_bar(20.0), dt=1e-3)
    angles = []
    for _ in range(round(2 * math.pi / 20 / 1e-3)):
        sim.step()
        angles.append(sim.joint("pivot").angle)
    ends = [math.acos((3**2 + 2.5**2 - reach**2) / (2 * 3 * 2.5)) for reach in (2.0, 4.0)]
    assert max(angles) - min(angles) == pytest.approx(ends[1] - ends[0], abs=1e-3)


def test_slider_crank() -> None:
    """The time of half a turn against a quadrature of the energy."""
    sim = clapas.Simulation(mechanisms.slider_crank(10.0))
    inertia = dict(zip(sim.model.names, sim.model.inertia[:, 0], strict=True))

    def seen_from_crank(angle: float) -> float:
        r, l = 0.2, 0.5
        lean = math.asin(r * math.sin(angle) / l)
        turn = r * math.cos(angle) / (l * math.cos(lean))
        piston = -r * math.sin(angle) - l * math.sin(lean) * turn
        middle = (-r * math.sin(angle) - 0.5 * l * math.sin(lean) * turn, 0.5 * r * math.cos(angle))
        rod = inertia["rod"] * turn**2 + middle[0] ** 2 + middle[1] ** 2
        return inertia["flywheel"] + rod + piston**2

    energy = 0.5 * seen_from_crank(math.pi / 2) * 10.0**2
    expected = quad(lambda a: math.sqrt(seen_from_crank(a) / (2 * energy)), math.pi / 2, 1.5 * math.pi)[0]
    before = after = 0.0
    while after < math.pi:
        sim.step()
        before, after = after, sim.joint("axle").angle
    assert sim.time - sim.dt * (after - math.pi) / (after - before) == pytest.approx(expected, rel=2e-6)
    assert sim.energy.kinetic == pytest.approx(energy, rel=1e-6)


@pytest.mark.parametrize(("mu", "holds"), [(0.15, True), (0.125, False)])
def test_chain_on_pulley(mu: float, holds: bool) -> None:
    """The limit for a heavy chain, 0.1377 with these 12 and 22 links, from the tension on the pulley."""

    def borne(mu: float) -> float:
        radius = 0.1 / (2 * math.sin(math.pi / 32))
        end = solve_ivp(
            lambda phi, T: mu * (T + radius * math.sin(phi)) + radius * math.cos(phi), (0, math.pi), [1.2]
        )
        return float(end.y[0, -1])

    assert (borne(mu) > 2.2) == holds
    sim = clapas.Simulation(mechanisms.chain_on_pulley(mu=mu), dt=2e-3)
    sim.step(8)
    assert (abs(sim.body("link 0").velocity[1]) < 1e-6) == holds


def feet_of_jansen(angle: float) -> np.ndarray:
    """Feet (6, 2) in the frame of the body, when the crank has turned by this angle."""
    phases = [2 * math.pi * phase / 3 + angle for phase in range(3)]
    return np.array([walking.leg(phase, side).foot for phase in phases for side in (-1, 1)])


def test_jansen_walker() -> None:
    """Feet are where circles meet on paper, however the loops are closed; the lowest one stands."""
    sim = clapas.Simulation(walking.jansen_walker())
    sim.step(30)
    body, turn = sim.body("body"), sim.body("body").orientation[0]
    back = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    expected = feet_of_jansen(sim.joint("axle").angle)
    for number, start in enumerate(feet_of_jansen(0.0)):
        name = f"shin {'left' if number % 2 == 0 else 'right'} {number // 2}"
        foot = back @ (sim.body(name).point(start) - body.point((0, 0)))
        assert foot == pytest.approx(expected[number], abs=1e-7)
    assert sim.joint("axle").rate == pytest.approx(-2.0)
    touching = {contact.b for contact in sim.contacts("ground")} | {c.a for c in sim.contacts("ground")}
    assert touching - {"ground"} <= {name for name in sim.model.names if name.startswith("shin")}


@pytest.mark.slow
def test_jansen_walker_walks() -> None:
    """The way of a third of a turn, from the lowest foot at each angle."""
    sim = clapas.Simulation(walking.jansen_walker())
    sim.step(200)
    angle, x = sim.joint("axle").angle, sim.body("body").position[0]
    sim.step(523)
    angles = np.linspace(angle, sim.joint("axle").angle, 4000)
    feet = np.array([feet_of_jansen(one) for one in angles])
    lowest = feet[:-1, :, 1].argmin(axis=1)
    way = -np.diff(feet[:, :, 0], axis=0)[np.arange(3999), lowest].sum()
    assert sim.body("body").position[0] - x == pytest.approx(way, rel=0.02)
    assert abs(sim.body("body").orientation[0]) < 5e-3


@pytest.mark.slow
def test_passive_walker() -> None:
    """Two steps of the published gait: each lasts 3.88 √(l/g)."""
    sim = clapas.Simulation(robots.passive_walker(2))
    pace, strikes, seen = math.sqrt(G), [0.0], {"stone 0", "stone 1"}
    while sim.time < 2 * 4.0 / pace:
        sim.step()
        for contact in sim.contacts():
            new = {contact.a, contact.b} - seen
            stones = {name for name in new if name.startswith("stone")}
            if stones and contact.impulse.any():
                seen |= stones
                strikes.append(sim.time)
    periods = [(b - a) * pace for a, b in pairwise(strikes)]
    assert len(periods) == 2
    assert periods == pytest.approx([3.8825, 3.8825], rel=1e-2)


def test_passive_walker_starts() -> None:
    """It falls forward over its standing foot as a pendulum upside down: θ'' = (g/l) sin(θ − slope)."""
    sim = clapas.Simulation(robots.passive_walker(2))
    pace = math.sqrt(G)
    end = solve_ivp(
        lambda t, y: [y[1], G * math.sin(y[0] - robots.SLOPE)],
        (0, 0.1),
        [robots.LEAN, robots.RATE * pace],
        rtol=1e-10,
    ).y[:, -1]
    sim.step(100)
    assert sim.joint("hip of standing").angle + robots.LEAN == pytest.approx(end[0], abs=1e-4)
    assert sim.body("hip").position[0] == pytest.approx(-math.sin(end[0]), abs=2e-4)


@pytest.mark.parametrize(("share", "holds"), [(1.001, True), (0.999, False)])
def test_gripper(share: float, holds: bool) -> None:
    """Held for ever just above mu = m g/(2 F), dropped just below; the drift of a held box is rounding."""
    limit = 0.5 * G / (2 * 10.0)
    sim = clapas.Simulation(robots.gripper(share * limit, speed=0.0))
    sim.step(200)
    drift = 0.03 - sim.body("box").position[2]
    if holds:
        assert abs(drift) < 1e-12
    else:
        assert drift == pytest.approx(0.5 * (1 - share) * G * 0.2**2, rel=1e-2)


@pytest.mark.slow
def test_gripper_holds_for_ten_seconds() -> None:
    """Zero drift just above the least friction: what is left of ten seconds is rounding."""
    sim = clapas.Simulation(robots.gripper(1.001 * 0.5 * G / (2 * 10.0), speed=0.0))
    start = sim.body("box").position.copy()
    sim.step(round(10.0 / sim.dt))
    assert np.abs(sim.body("box").position - start).max() < 1e-11


def test_gripper_lifts() -> None:
    sim = clapas.Simulation(robots.gripper(1.0, speed=0.1))
    sim.step(200)
    assert sim.body("box").velocity[2] == pytest.approx(0.1)
    assert sim.body("box").position[2] - 0.03 == pytest.approx(0.1 * 0.2, abs=1e-3)


def test_robot_arm() -> None:
    """The paddle pushes with the friction of the floor, mu m g, the box goes at the speed of the carriage."""
    sim = clapas.Simulation(robots.robot_arm(speed=0.5))
    sim.step(100)
    push = sim.contacts("lower", "box")
    assert push.force.sum(axis=0)[0] == pytest.approx(0.5 * 2.0 * G, rel=1e-3)
    assert sim.body("box").velocity[0] == pytest.approx(0.5, rel=1e-3)
    assert sim.contacts("floor", "box").sliding.all()
    assert sim.joint("rail").rate == pytest.approx(0.5)


def jellett(sim: clapas.Simulation) -> tuple[float, float]:
    """Jellett's number of the top (N·m²·s), and the cosine of its axis with the vertical."""
    top, (_, state) = sim.body("top"), (sim.model, sim.state)
    axes = to_matrix(state.orientation[1])
    momentum = axes @ (sim.model.inertia[1] * state.velocity[1, 3:])
    contact = top.origin - np.array([0.0, 0.0, 0.02])
    return float(-momentum @ (contact - top.position)), float(axes[2, 2])


def test_tippe_top() -> None:
    """Friction at a point keeps Jellett's number, whatever it does to energy and momentum."""
    sim = clapas.Simulation(robots.tippe_top())
    start, energy = jellett(sim)[0], sum(sim.energy)
    sim.step(200)
    assert jellett(sim)[0] == pytest.approx(start, rel=1e-4)
    assert sum(sim.energy) < energy


@pytest.mark.slow
def test_tippe_top_turns_over() -> None:
    sim = clapas.Simulation(robots.tippe_top())
    start = jellett(sim)[0]
    sim.step(8000)
    now, upright = jellett(sim)
    assert upright < -0.9
    assert now == pytest.approx(start, rel=1e-3)
