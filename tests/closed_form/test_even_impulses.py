"""Boxes between rigid plates: forces at corners are not unique, and even ones hold as long as any can."""

from __future__ import annotations

import numpy as np
import pytest

import clapas
from clapas.dynamics.evenness import even_impulses

G, PRESS, MASS = 9.81, 10.0, 0.5
LIMIT = MASS * G / (2.0 * PRESS)
MOTORS = {
    "torque": lambda side: clapas.TorqueMotor(-side * PRESS),
    "velocity": lambda side: clapas.VelocityMotor(-side * 0.1, max_torque=PRESS),
    "servo": lambda side: clapas.Servo(-side * 1.0, 1000.0, 10.0, max_torque=PRESS),
}


def gripper(mu: float, motor: str) -> clapas.Simulation:
    """Two flat plates on rails press a box, all at exact coordinates."""
    scene = clapas.Scene()
    scene.law(mu=mu)
    scene.add(clapas.Box((0.06, 0.06, 0.06)), (0, 0, 0), mass=MASS, name="box")
    for side, name in ((-1, "left"), (1, "right")):
        at = (0.04 * side, 0, 0)
        scene.add(clapas.Box((0.02, 0.08, 0.08)), at, mass=0.2, name=name)
        scene.join("slider", name, at=at, axis=(1, 0, 0), name=name, motor=MOTORS[motor](side))
    return clapas.Simulation(scene, dt=2e-3)


@pytest.mark.parametrize("motor", list(MOTORS))
@pytest.mark.parametrize("share", [1.001, 1.5, 3.0])
def test_flat_plates_hold_a_box_above_the_least_friction(motor: str, share: float) -> None:
    sim = gripper(share * LIMIT, motor)
    sim.step(100)
    assert np.abs(sim.body("box").position).max() < 1e-14
    forces = sim.contacts("box").force
    assert np.abs(forces[:, 0]) == pytest.approx(PRESS / 4.0, rel=1e-6)


@pytest.mark.parametrize("motor", list(MOTORS))
@pytest.mark.parametrize("share", [0.95, 0.999])
def test_flat_plates_let_a_box_slide_straight_down_below_it(motor: str, share: float) -> None:
    sim = gripper(share * LIMIT, motor)
    sim.step(100)
    fall = 0.5 * (1.0 - share) * G * 0.2**2
    assert sim.body("box").position == pytest.approx((0.0, 0.0, -fall), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.001, 1.05, 3.0])
def test_a_box_is_held_for_ten_seconds(share: float) -> None:
    sim = gripper(share * LIMIT, "torque")
    sim.step(5000)
    assert np.abs(sim.body("box").position).max() < 1e-9


def test_a_plate_pushed_by_a_force_holds_a_box_against_a_wall() -> None:
    for share, fall in ((1.001, 0.0), (0.95, 0.5 * 0.05 * G * 0.2**2)):
        scene = clapas.Scene()
        scene.law(mu=share * LIMIT)
        scene.add(clapas.Box((0.02, 0.3, 0.3)), (-0.04, 0, 0), fixed=True)
        scene.add(clapas.Box((0.06, 0.06, 0.06)), (0, 0, 0), mass=MASS, name="box")
        scene.add(clapas.Box((0.02, 0.08, 0.08)), (0.04, 0, 0), mass=0.2, free="x", force=(-PRESS, 0, 0))
        sim = clapas.Simulation(scene, dt=2e-3)
        sim.step(100)
        assert sim.body("box").position == pytest.approx((0.0, 0.0, -fall), abs=1e-12)


def test_the_nearest_to_even_ones_solve_the_balance_and_lie_in_their_cones() -> None:
    """Two contacts side by side that share a load: half each, however they answer."""
    W = np.kron(np.ones((2, 2)), np.diag([2.0, 1.0]))
    q = np.tile([-4.0, 0.5], 2)
    found, missed = even_impulses(W, q, np.ones((2, 2), dtype=bool), np.array([1.0, 1.0]), 2)
    assert not missed.any()
    assert np.allclose(found, [[1.0, -0.25]] * 2)
    apart = even_impulses(W, np.array([-4.0, 0.0, -2.0, 0.0]), np.ones((2, 2), dtype=bool), np.ones(2), 2)
    assert apart[1].any()  # two contacts that move alike cannot stop two motions
