"""Mechanisms against answers known on paper, or from an independent integration of their own coordinates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from clapas.dynamics.births import initial_state
from clapas.dynamics.joints.laws import VelocityMotor
from clapas.dynamics.model import Model
from clapas.dynamics.motions import Oscillation, Rotation
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult, step
from clapas.geometry.shapes import Box, Clump, Disk, HalfPlane, Polygon, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import Simulation, energy, simulate
from clapas.solvers import Auto

G = 9.81
TIGHT = Auto(tol=1e-11)


def run(model: Model, duration: float, dt: float) -> tuple[StepResult, float, float]:
    """The last step, the largest change of energy not explained by work, and the largest gap of a joint."""
    state, neighbours = initial_state(model), Neighbours(model)
    start, given, off, gap = sum(energy(model, state)), 0.0, 0.0, 0.0
    for _ in range(round(duration / dt)):
        done = step(model, state, dt, TIGHT, neighbours=neighbours)
        state, given = done.state, given + done.given + done.work
        off = max(off, abs(sum(energy(model, state)) - start))
        gap = max(gap, drift(model, state))
        assert sum(energy(model, state)) == pytest.approx(start + given, abs=1e-9 * (1.0 + abs(start)))
    return done, off, gap


def drift(model: Model, state: State) -> float:
    assert model.joints is not None
    placed = model.joints.placed(state.position, state.orientation, state.coordinates)
    return float(np.max(np.abs(model.joints.gap(placed))))


def pendulum(angle: float) -> Model:
    scene = Scene(d=2)
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (math.sin(angle), -math.cos(angle)), mass=2.0, name="bob")
    scene.join("pin", "bob", at=(0, 0), name="pivot")
    return compile_scene(scene)


def test_the_period_of_a_pendulum_is_right_to_second_order() -> None:
    angle, stiffness = 1.2, G / (1.0 + 0.5 * 0.1**2)
    quarter = float(ellipk(math.sin(0.5 * angle) ** 2)) / math.sqrt(stiffness)
    errors = []
    for steps in (50, 100, 200):
        done, _, gap = run(pendulum(angle), 2.0 * quarter, 2.0 * quarter / steps)
        x, y = done.state.position[0]
        errors.append(abs(math.atan2(x, -y) + angle) + abs(done.state.velocity[0, 2]) / math.sqrt(stiffness))
        assert gap < 1e-14
    assert errors[0] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.1)


def test_a_pendulum_pulls_with_its_weight_and_its_speed() -> None:
    done, _, _ = run(pendulum(math.pi / 2), 0.5, 1e-3)
    middle = done.middle
    angle = math.atan2(middle.position[0, 0], -middle.position[0, 1])
    rate = 0.5 * (done.middle.velocity[0, 2] + done.state.velocity[0, 2])
    assert done.joints is not None
    pull = float(done.joints["pivot"].force @ (-middle.position[0]))  # on the bob, towards the pivot
    assert pull == pytest.approx(2.0 * (G * math.cos(angle) + rate**2), rel=1e-5)
    assert abs(done.joints["pivot"].torque[0]) < 1e-12


def double_pendulum() -> Model:
    scene = Scene(d=2)
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (1.0, 0.0), mass=1.0, name="first")
    scene.add(Disk(0.1), (1.0, 1.0), mass=1.0, name="second")
    scene.join("pin", "first", at=(0, 0))
    scene.join("pin", "first", "second", at=(1, 0))
    return compile_scene(scene)


def double_pendulum_in_angles(duration: float) -> np.ndarray:
    """The angles from below of the two bobs, the moment of each about its own centre counted."""
    own = 0.5 * 0.1**2

    def rates(_: float, y: np.ndarray) -> list[float]:
        a, b, p, q = y
        c, s = math.cos(a - b), math.sin(a - b)
        mass = np.array([[2.0 + own, c], [c, 1.0 + own]])
        force = np.array([-s * q * q - 2.0 * G * math.sin(a), s * p * p - G * math.sin(b)])
        return [p, q, *np.linalg.solve(mass, force)]

    start = [math.pi / 2, math.pi, 0.0, 0.0]
    return np.asarray(solve_ivp(rates, (0.0, duration), start, rtol=1e-11, atol=1e-12).y[:2, -1])


def test_a_double_pendulum_moves_as_in_its_own_coordinates() -> None:
    start = double_pendulum()
    exact = double_pendulum_in_angles(0.8)
    errors, energies = [], []
    for dt in (0.01, 0.005, 0.0025):
        done, off, gap = run(start, 0.8, dt)
        first, second = done.state.position
        angles = [math.atan2(first[0], -first[1]), math.atan2(second[0] - first[0], first[1] - second[1])]
        errors.append(float(np.max(np.abs(np.angle(np.exp(1j * (np.array(angles) - exact)))))))
        energies.append(off)
        assert gap < 1e-14
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.2)
    assert energies[1] / energies[2] > 3.0


def test_the_energy_of_a_double_pendulum_stays() -> None:
    _, off, gap = run(double_pendulum(), 2.4, 4e-3)
    assert off < 0.1  # of 58.9 J between its lowest and its highest place
    assert gap < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: pendulum(1.5), lambda: four_bar("hinges")])
def test_joints_do_not_drift_in_ten_thousand_steps(make) -> None:  # type: ignore[no-untyped-def]
    _, off, gap = run(make(), 10.0, 1e-3)
    assert gap < 1e-12
    assert off < 2e-3  # second order in dt: as after one second, no more


@pytest.mark.slow
def test_the_energy_of_a_closed_loop_stays_bounded_for_a_hundred_thousand_steps() -> None:
    """A four-bar linkage that swings for a hundred seconds: no trend, the joints closed to rounding."""
    model = four_bar("pins")
    state, near, energies = initial_state(model), Neighbours(model), []
    for _ in range(100_000):
        state = step(model, state, 1e-3, neighbours=near).state
        moving = 0.5 * float(np.sum(model.masses * state.velocity**2))
        energies.append(moving - float(model.mass @ (state.position @ model.gravity)))
    off = np.abs(np.array(energies) - energies[0])
    assert off[-10_000:].max() < 2.0 * off[:10_000].max()
    assert off.max() < 2e-3
    assert model.joints is not None
    assert np.abs(model.joints.gap(model.joints.placed(state.position, state.orientation))).max() < 1e-12


GROUND, CRANK, COUPLER, ROCKER = 2.0, 0.7, 1.8, 1.2


def four_bar(joints: str) -> Model:
    """A four-bar linkage that starts with the crank upright: with hinges (redundant), without, or in 2-D."""
    d = 2 if joints == "pins" else 3
    top = np.array([0.0, CRANK])
    # Where a circle about the top and one about the far pivot cross.
    between = np.array([GROUND, 0.0]) - top
    far = float(np.linalg.norm(between))
    along = (COUPLER**2 - ROCKER**2 + far**2) / (2.0 * far)
    across = math.sqrt(COUPLER**2 - along**2)
    elbow = top + along * between / far + across * np.array([-between[1], between[0]]) / far
    corners = [np.zeros(2), top, elbow, np.array([GROUND, 0.0])]
    scene = Scene(d=d, gravity=(0.0, -G) if d == 2 else (0.0, -G, 0.0))
    scene.law(mu=0.3)
    for name, start, end in zip(("crank", "coupler", "rocker"), corners[:-1], corners[1:], strict=True):
        centre, length = 0.5 * (start + end), float(np.linalg.norm(end - start))
        turn = math.atan2(*(end - start)[::-1])
        if d == 2:
            half = 0.5 * length
            rod = Polygon([(-half, -0.02), (half, -0.02), (half, 0.02), (-half, 0.02)])
            scene.add(rod, centre, turn, mass=length, inertia=length**3 / 12, name=name)
        else:
            quaternion = (math.cos(0.5 * turn), 0, 0, math.sin(0.5 * turn))
            moments = (1e-3, length**3 / 12, length**3 / 12)
            rod3 = Box((length, 0.04, 0.04))
            scene.add(rod3, (*centre, 0), quaternion, mass=length, inertia=moments, name=name)
    kinds = {
        "pins": ["pin"] * 4,
        "hinges": ["hinge"] * 4,
        "independent": ["hinge", "hinge", "ball", "cylindrical"],
    }[joints]
    ends = [("crank", None), ("crank", "coupler"), ("coupler", "rocker"), ("rocker", None)]
    for kind, (a, b), corner in zip(kinds, ends, corners, strict=True):
        axis = (0, 0, 1) if kind in ("hinge", "cylindrical") else None
        scene.join(kind, a, b, at=corner if d == 2 else (*corner, 0), axis=axis)
    return compile_scene(scene)


def test_a_four_bar_with_redundant_rows_moves_as_the_one_without() -> None:
    ends = {}
    for joints in ("hinges", "independent", "pins"):
        done, off, gap = run(four_bar(joints), 0.5, 5e-3)
        ends[joints] = done.state.position[:, :2]
        assert gap < 1e-13
        assert off < 0.1  # of 20 J
    assert np.max(np.abs(ends["hinges"][0] - np.array([0.0, CRANK / 2]))) > 0.1  # it has moved
    np.testing.assert_allclose(ends["hinges"], ends["pins"], atol=1e-10)
    np.testing.assert_allclose(ends["independent"], ends["pins"], atol=1e-10)


def parallelogram(
    dt: float, angle: float, rate: float, motor: VelocityMotor | None, gravity: float
) -> Simulation:
    """Two equal cranks and the rod that couples them, turning at the same rate."""
    scene = Scene(d=2, gravity=(0, -gravity))
    scene.law(mu=0.3)
    pin = np.array([0.5 * math.cos(angle), 0.5 * math.sin(angle)])
    fast = rate * np.array([-pin[1], pin[0]])
    crank, rod = (
        Polygon([(-half, -0.01), (half, -0.01), (half, 0.01), (-half, 0.01)]) for half in (0.25, 0.5)
    )
    for name, x in (("left", 0.0), ("right", 1.0)):
        place = (x + 0.5 * pin[0], 0.5 * pin[1])
        motion = {"velocity": 0.5 * fast, "angular_velocity": rate}
        scene.add(crank, place, orientation=angle, density=1000, name=name, **motion)
    scene.add(rod, (0.5 + pin[0], pin[1]), density=1000, velocity=fast, name="rod")
    scene.join("pin", None, "left", at=(0, 0), name="driven", motor=motor)
    scene.join("pin", None, "right", at=(1, 0), name="driving")
    scene.join("pin", "left", "rod", at=tuple(pin))
    scene.join("pin", "rod", "right", at=(1.0 + pin[0], pin[1]))
    return Simulation(scene, dt=dt)


@pytest.mark.parametrize(
    ("dt", "rate", "angle", "motor", "gravity"),
    [
        (1e-3, 3.0, 0.5 * math.pi, VelocityMotor(3.0), G),  # a middle 0.6 mrad before the line
        (1e-3, 3.0, 0.5 * math.pi, VelocityMotor(3.0, 300.0), G),
        (1e-3, 3.0, 1.0, None, 0.0),
        (4.689628419943547e-3, 7.479184451578237, 1.3, VelocityMotor(7.479184451578237), G),
        (2.8e-3, 9.65, 0.9, VelocityMotor(9.65, 50.0), 0.0),
    ],
)
def test_a_parallelogram_goes_on_through_the_poses_in_one_line(
    dt: float, rate: float, angle: float, motor: VelocityMotor | None, gravity: float
) -> None:
    """There the right crank could turn either way: inertia carries it on, as it carries wheels of engines."""
    sim = parallelogram(dt, angle, rate, motor, gravity)
    kinetic, turns = sim.energy.kinetic, round(4.0 * math.pi / rate / dt)
    for _ in range(turns):
        sim.step()
        assert sim.energy.kinetic == pytest.approx(kinetic, rel=5e-2)
    driven, driving = sim.joint("driven").angle, sim.joint("driving").angle
    assert driving == pytest.approx(driven, abs=1e-9)
    assert driven == pytest.approx(rate * turns * dt, abs=0.02)


def test_a_hanging_chain_bears_at_each_joint_what_hangs_below() -> None:
    scene = Scene(d=2)
    scene.law(mu=0.3)
    masses = 1.0 + 0.1 * np.arange(20)
    for k, mass in enumerate(masses):
        link = Polygon([(-0.02, -0.05), (0.02, -0.05), (0.02, 0.05), (-0.02, 0.05)])
        scene.add(link, (0.0, -0.1 * k - 0.05), mass=float(mass))
        scene.join("pin", k, k - 1 if k else None, at=(0.0, -0.1 * k), name=f"pin {k}")
    model = compile_scene(scene)
    done, _, gap = run(model, 0.05, 5e-3)
    assert done.joints is not None
    below = G * np.cumsum(masses[::-1])[::-1]
    np.testing.assert_allclose(done.joints.force[:, 1], below, rtol=1e-12)
    np.testing.assert_allclose(done.joints.force[:, 0], 0.0, atol=1e-9)
    assert np.max(np.abs(done.state.velocity)) < 1e-12
    assert gap < 1e-14
    assert list(done.joints) == [f"pin {k}" for k in range(20)]


def test_a_trapdoor_rests_on_a_post() -> None:
    scene = Scene()
    scene.law(mu=0.0)  # with friction the post could push along the door, too, with a part of the weight
    scene.add(Box((1.0, 0.6, 0.1)), (0.5, 0, 0), mass=12.0, name="door")
    scene.add(Sphere(0.2), (0.8, 0, -0.25), fixed=True, name="post")
    scene.join("hinge", "door", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    model = compile_scene(scene)
    done, _, gap = run(model, 0.1, 5e-3)
    weight = 12.0 * G
    assert done.joints is not None
    post = done.state.impulses.impulse.sum(axis=0)[2] / 5e-3
    assert abs(post) == pytest.approx(weight * 0.5 / 0.8, rel=1e-9)
    force, torque = done.joints["hinge"]
    assert force[2] == pytest.approx(weight * (1.0 - 0.5 / 0.8), rel=1e-9)
    assert abs(torque[1]) < 1e-12
    assert np.max(np.abs(done.state.velocity)) < 1e-10
    assert gap < 1e-12


def test_a_door_bears_its_weight_by_its_hinge() -> None:
    scene = Scene()
    scene.law(mu=0.4)
    scene.add(Box((0.9, 0.04, 2.0)), (0.45, 0, 1), mass=30.0, angular_velocity=(0, 0, 1.0), name="door")
    scene.join("hinge", "door", at=(0, 0, 0), axis=(0, 0, 1), name="hinge")
    done, off, _ = run(compile_scene(scene), 0.5, 5e-3)
    assert done.joints is not None
    force, torque = done.joints["hinge"]
    assert force[2] == pytest.approx(30.0 * G, rel=1e-12)
    np.testing.assert_allclose(torque, np.cross(done.middle.position[0], force), atol=1e-2)
    # It was let go with a spin about its centre, which does not obey the hinge: the first step is an impact
    # that keeps the moment about the axis. Then it turns at constant speed, whatever its hinge bears.
    own = 30.0 * (0.9**2 + 0.04**2) / 12.0
    assert np.abs(done.state.velocity[0, 3:]).max() == pytest.approx(own / (own + 30.0 * 0.45**2), rel=1e-3)
    assert off == pytest.approx(0.5 * own * (1.0 - own / (own + 30.0 * 0.45**2)), rel=1e-3)


def test_a_crank_drives_a_slider() -> None:
    crank, rod, rate = 0.3, 1.0, 7.0
    scene = Scene(d=2)
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (0, 0), motion=Rotation(None, rate), name="crank")
    half = 0.5 * rod
    bar = Polygon([(-half, -0.02), (half, -0.02), (half, 0.02), (-half, 0.02)])
    scene.add(bar, (crank + half, 0), mass=1.0, name="rod")
    scene.add(Disk(0.05), (crank + rod, 0), mass=0.5, name="piston")
    scene.join("pin", "crank", "rod", at=(crank, 0))
    scene.join("pin", "rod", "piston", at=(crank + rod, 0))
    scene.join("slider", "piston", at=(crank + rod, 0), axis=(1, 0))
    model = compile_scene(scene)
    done, _, gap = run(model, 1.0, 2e-3)
    angle = rate * 1.0
    reach = math.sqrt(rod**2 - (crank * math.sin(angle)) ** 2)
    speed = -crank * rate * math.sin(angle) * (1.0 + crank * math.cos(angle) / reach)
    assert done.state.position[2, 0] == pytest.approx(crank * math.cos(angle) + reach, abs=1e-12)
    assert done.state.velocity[2, 0] == pytest.approx(speed, rel=1e-4)
    assert gap < 1e-12


def test_a_cart_that_shakes_a_pendulum_gives_it_the_energy() -> None:
    scene = Scene(d=2)
    scene.law(mu=0.3)
    shaken = Oscillation(0.1, 1.5, (1, 0))
    scene.add(HalfPlane(), motion=shaken, name="cart")
    scene.add(Disk(0.1), (0, 2.0), mass=1.0, name="bob")
    scene.join("pin", "cart", "bob", at=(0, 3.0))
    run(compile_scene(scene), 1.0, 2e-3)  # asserts the balance of energy at each step


def test_a_spinning_body_on_a_ball_joint_keeps_its_energy_and_its_vertical_moment() -> None:
    scene = Scene()
    scene.law(mu=0.3)
    brick = Box((0.3, 0.5, 0.2))
    start = (0.3, 0.1, 0.4)
    spin = np.array([1.0, -2.0, 12.0])
    velocity = np.cross(spin, start)
    scene.add(brick, start, (0.9, 0.1, 0.2, 0.3), tuple(velocity), tuple(spin), mass=3.0)
    scene.join("ball", 0, at=(0, 0, 0))
    model = compile_scene(scene)
    moments = []
    for dt in (4e-3, 2e-3):
        done, off, gap = run(model, 0.8, dt)
        moments.append(abs(vertical_moment(model, done.state) - vertical_moment(model, initial_state(model))))
        assert gap < 1e-14
        assert off < 2e3 * dt**2 * 3.0
    assert moments[1] < 0.35 * moments[0]


def vertical_moment(model: Model, state: State) -> float:
    from clapas.geometry.rotations import rotate

    own = rotate(state.orientation[0], model.inertia[0] * state.velocity[0, 3:])
    return float((own + model.mass[0] * np.cross(state.position[0], state.velocity[0, :3]))[2])


def gripper(upper: float, lower: float) -> Scene:
    """A box of 1 kg between the tips of two arms of two links, upright, pressed by torques on their links."""
    scene = Scene(d=2)
    scene.law(mu=0.5)
    box = Polygon([(-0.5, -0.3), (0.5, -0.3), (0.5, 0.3), (-0.5, 0.3)])
    scene.add(box, (0, 0), mass=1.0, name="box")
    link = Polygon([(-0.05, -0.5), (0.05, -0.5), (0.05, 0.5), (-0.05, 0.5)])
    for side, word in ((-1.0, "left"), (1.0, "right")):
        x = 0.6 * side
        for k, (y, torque) in enumerate(((1.8, upper), (0.8, lower))):
            scene.add(link, (x, y), mass=0.4, torque=-side * torque, name=f"{word} link {k}")
        scene.add(Disk(0.1), (x, 0.0), mass=0.1, name=f"{word} tip")
        scene.join("pin", f"{word} link 0", at=(x, 2.3), name=f"{word} shoulder")
        scene.join("pin", f"{word} link 0", f"{word} link 1", at=(x, 1.3), name=f"{word} elbow")
        scene.join("weld", f"{word} link 1", f"{word} tip", at=(x, 0.3), name=f"{word} wrist")
    return scene


def test_two_arms_hold_a_box_by_friction() -> None:
    # The box bears on the tips, 0.1 m inside of the arms, with half its weight each, and with the force that
    # presses it 1.3 m below the elbows; the upper links carry that over their length of 1 m.
    press = 12.0
    scene = gripper(upper=press * 1.0, lower=press * 1.3 + 0.1 * 0.5 * G)
    model = compile_scene(scene)
    done, _, gap = run(model, 0.3, 5e-3)
    assert np.max(np.abs(done.state.position - initial_state(model).position)) < 1e-9
    assert done.joints is not None
    held = done.joints["left elbow"]
    # Half of the box hangs on each arm, below it the links and the tip.
    assert held.force[1] == pytest.approx(-(0.5 * 1.0 + 0.4 + 0.1) * G, rel=1e-8)
    assert abs(held.force[0]) == pytest.approx(press, rel=1e-8)
    assert gap < 1e-12


def test_the_same_bits_come_again() -> None:
    ends = [simulate(compile_scene(gripper(9.0, 11.0)), 0.1, 5e-3).state for _ in range(2)]
    for name in ("position", "orientation", "velocity"):
        assert np.array_equal(getattr(ends[0], name), getattr(ends[1], name))
    assert np.array_equal(ends[0].impulses.impulse, ends[1].impulses.impulse)


def test_a_body_made_of_two_welded_ones_moves_as_one() -> None:
    def end(welded: bool) -> np.ndarray:
        scene = Scene(d=2)
        scene.law(mu=0.4)
        scene.add(HalfPlane())
        if welded:
            one = scene.add(Disk(0.1), (0, 0.5), velocity=(1.0, 0.0), mass=1.0)
            other = scene.add(Disk(0.1), (0.3, 0.5), velocity=(1.0, 0.0), mass=1.0)
            scene.join("weld", one, other, at=(0.15, 0.5))
        else:
            pair = Clump([(Disk(0.1), (-0.15, 0), 0.0), (Disk(0.1), (0.15, 0), 0.0)])
            inertia = 2.0 * (0.5 * 0.1**2 + 0.15**2)
            scene.add(pair, (0.15, 0.5), velocity=(1.0, 0.0), mass=2.0, inertia=inertia)
        state = simulate(compile_scene(scene), 0.6, 2e-3, TIGHT).state
        return np.asarray(state.position[1:].mean(axis=0))

    np.testing.assert_allclose(end(True), end(False), atol=1e-6)
