"""Boxes between rigid plates: forces at corners are not unique, and even ones hold as long as any can."""

from __future__ import annotations

import numpy as np
import pytest

import clapas
from clapas.dynamics.evenness import even_impulses, shared_force_changes

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


@pytest.mark.parametrize("motor", list(MOTORS))
@pytest.mark.parametrize("share", [1.001, 3.0])
def test_a_box_is_held_for_a_second(motor: str, share: float) -> None:
    sim = gripper(share * LIMIT, motor)
    sim.step(500)
    assert np.abs(sim.body("box").position).max() < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("motor", list(MOTORS))
@pytest.mark.parametrize("share", [1.001, 1.05, 3.0])
def test_a_box_is_held_for_ten_seconds(motor: str, share: float) -> None:
    sim = gripper(share * LIMIT, motor)
    sim.step(5000)
    assert np.abs(sim.body("box").position).max() < 1e-9


def hand(mu: float, plate: tuple[float, ...], heights: tuple[float, float], gap: float) -> clapas.Simulation:
    """Two plates on a hand that a motor holds up press a box, each at its height, from a distance ``gap``."""
    scene = clapas.Scene()
    scene.law(mu=mu)
    scene.add(clapas.Box((0.06, 0.06, 0.06)), (0, 0, 0), mass=MASS, name="box")
    scene.add(clapas.Box((0.02, 0.02, 0.02)), (0, 0, 0.5), mass=1.0, name="hand")
    lift = clapas.VelocityMotor(0.0, 1e4)
    scene.join("slider", "hand", at=(0, 0, 0.5), axis=(0, 0, 1), name="lift", motor=lift)
    for side, name, height in ((-1, "left", heights[0]), (1, "right", heights[1])):
        at = (side * (0.04 + gap), 0, height)
        scene.add(clapas.Box(plate), at, mass=0.2, name=name)
        scene.join("slider", "hand", name, at=at, axis=(1, 0, 0), name=name, motor=clapas.TorqueMotor(0.0))
    return clapas.Simulation(scene, dt=2e-3)


GRIPS = {
    "large plates": ((0.02, 0.2, 0.2), (0.0, 0.0)),
    "small plates": ((0.02, 0.03, 0.03), (0.0, 0.0)),
    "small plates above the middle": ((0.02, 0.03, 0.03), (0.01, 0.01)),  # the box slides off them
    "plates at different heights": ((0.02, 0.03, 0.03), (0.005, -0.005)),  # corners press differently
}


@pytest.mark.parametrize("grip", list(GRIPS))
@pytest.mark.parametrize("share", [0.95, 0.999, 1.001])
def test_a_hand_holds_a_box_above_the_least_friction_and_lets_it_slide_straight_below(
    grip: str, share: float
) -> None:
    sim = hand(share * LIMIT, *GRIPS[grip], gap=0.0)
    for _ in range(100):
        sim.command({"left": PRESS, "right": -PRESS})
        sim.step()
    fall = 0.5 * max(1.0 - share, 0.0) * G * 0.2**2
    assert sim.body("box").position == pytest.approx((0.0, 0.0, -fall), abs=1e-9)


@pytest.mark.parametrize("share", [0.95, 1.05])
def test_fingers_that_close_with_a_speed_do_not_turn_the_box(share: float) -> None:
    """The plates hit the falling box, the forces fall to what the motors press, and nothing tilts."""
    sim = hand(share * LIMIT, *GRIPS["large plates"], gap=1e-3)
    heights = []
    for _ in range(100):
        sim.command({"left": PRESS, "right": -PRESS})
        sim.step()
        heights.append(sim.body("box").position[2])
    box = sim.body("box")
    assert np.abs(box.orientation[1:]).max() < 1e-9
    assert np.abs(box.position[:2]).max() < 1e-9
    speed = -np.diff(heights) / 2e-3
    gain = np.diff(speed[10:]) / 2e-3
    assert gain == pytest.approx(max(1.0 - share, 0.0) * G, abs=1e-6)
    assert speed[-1] > 0.05 if share < 1.0 else abs(speed[-1]) < 1e-9


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


@pytest.mark.parametrize(("share", "fallen"), [(0.95, 6.502068e-3), (1.05, 2.3544e-4)])
def test_a_plate_that_closes_does_not_turn_a_box_while_other_things_move_or_rest(
    share: float, fallen: float
) -> None:
    """A box slides far away at 30 m/s and another stands there: their contacts are solved apart."""
    scene = clapas.Scene()
    scene.material("ice", density=1000.0)
    scene.law(mu=share * LIMIT)
    scene.law("ice", "default", mu=0.0)
    scene.add(clapas.Box((0.02, 0.3, 0.3)), (-0.04, 0, 0), fixed=True)
    scene.add(clapas.Box((0.06, 0.06, 0.06)), (0, 0, 0), mass=MASS, name="box")
    scene.add(clapas.Box((0.02, 0.08, 0.08)), (0.041, 0, 0), mass=0.2, free="x", force=(-PRESS, 0, 0))
    scene.add(clapas.Box((20, 20, 0.1)), (30, 0, -0.05), fixed=True)
    scene.add(clapas.Box((0.1, 0.1, 0.1)), (25, 0, 0.05), mass=1.0)
    scene.add(clapas.Box((0.1, 0.1, 0.1)), (25, 5, 0.05), velocity=(30, 0, 0), material="ice")
    sim = clapas.Simulation(scene, dt=2e-3)
    sim.step(80)
    assert sim.last is not None
    assert "contacts at rest, apart" in sim.last.solution.notes[0]
    assert np.abs(sim.body("box").orientation[1:]).max() < 1e-9
    assert sim.body("box").position == pytest.approx((0.0, 0.0, -fallen), abs=1e-9)


SIDE_BY_SIDE = np.kron(np.ones((2, 2)), np.diag([2.0, 1.0]))
SAME_PAIR = np.array([[0, 1], [0, 1]])


@pytest.mark.parametrize(("slip", "each"), [(0.5, 0.25), (9.0, 1.0)])
def test_two_contacts_side_by_side_share_a_load_by_halves_where_they_stick_and_where_they_slide(
    slip: float, each: float
) -> None:
    problem = clapas.ContactProblem(W=SIDE_BY_SIDE, q=[[-4.0, slip]] * 2, mu=1.0)
    found, _ = even_impulses(problem, SAME_PAIR)
    assert np.allclose(found, [[1.0, -each]] * 2, atol=1e-12)
    assert problem.residual(found) < 1e-12


def test_with_carried_impulses_the_solution_next_to_them_is_found() -> None:
    problem = clapas.ContactProblem(W=SIDE_BY_SIDE, q=[[-4.0, 0.0]] * 2, mu=1.0)
    found, _ = even_impulses(problem, SAME_PAIR, carried=np.array([[1.5, 0.0], [0.3, 0.0]]))
    assert np.allclose(found, [[1.6, 0.0], [0.4, 0.0]], atol=1e-9)


def test_forces_are_shared_anew_where_several_contacts_of_a_held_body_bear_another_force() -> None:
    even, more = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[1.2, 0.0], [1.2, 0.0]])
    held, loose = np.array([True, False, False]), np.zeros(3, dtype=bool)
    assert shared_force_changes(SAME_PAIR, even, more, held)
    assert shared_force_changes(SAME_PAIR, np.array([[1.0, 0.0], [0.0, 0.0]]), even, held)
    assert not shared_force_changes(SAME_PAIR, even, more, loose)
    assert not shared_force_changes(SAME_PAIR, even, 1.01 * even, held)
    assert not shared_force_changes(np.array([[0, 1], [0, 2]]), even, more, held)
    assert not shared_force_changes(SAME_PAIR, even, np.array([[2.0, 0.0], [0.0, 0.0]]), held)
