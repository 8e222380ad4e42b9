"""Limits, friction, springs, dampers, motors and mimics of joints, against answers known on paper."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clapas.dynamics.births import initial_state
from clapas.dynamics.joints.commands import Commands
from clapas.dynamics.joints.coordinates import Coordinate, JointCoordinates, joint_coordinates
from clapas.dynamics.joints.instep import joints_in_step
from clapas.dynamics.joints.laws import Servo, TorqueMotor, VelocityMotor
from clapas.dynamics.model import Model
from clapas.dynamics.motions import Rotation
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.stepping import StepResult, step
from clapas.geometry.shapes import Box, Disk, HalfPlane, Polygon
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import energy
from clapas.solvers import ADMM, NSGS, AcceleratedProjection, Auto, InteriorPoint
from clapas.solvers.loop import Solver

G = 9.81
TIGHT = Auto(tol=1e-12)
MASS, ARM = 2.0, 1.0
MOMENT = MASS * G * ARM  # of the weight, level


def run(
    model: Model, steps: int, dt: float, solver: Solver = TIGHT, scheme: MoreauJean | None = None
) -> tuple[StepResult, JointCoordinates]:
    """The last step, and the coordinates after it; the balance of energy holds all along."""
    state = initial_state(model)
    start, work = sum(energy(model, state)), 0.0
    for _ in range(steps):
        done = step(model, state, dt, solver, scheme)
        assert done.solution.status.is_solved
        state, work = done.state, work + done.work + done.given
        assert sum(energy(model, state)) == pytest.approx(start + work, abs=1e-9 * (1.0 + abs(start)))
    return done, joint_coordinates(model, state)


def arm(d: int = 2, **laws: Any) -> Model:
    """A bob at the end of a level arm of 1 m that turns about the origin; up is positive."""
    scene = Scene(d=d)
    scene.law(mu=0.3)
    if d == 2:
        scene.add(Disk(0.1), (ARM, 0), mass=MASS)
        scene.join("pin", 0, at=(0, 0), name="pivot", **laws)
    else:
        scene.add(Box((0.2, 0.3, 0.1)), (ARM, 0, 0), mass=MASS)
        scene.join("hinge", 0, at=(0, 0, 0), axis=(0, -1, 0), name="pivot", **laws)
    return compile_scene(scene)


def sledge(slope: float = 0.0, **laws: Any) -> Model:
    """A block on a slider that points up a slope."""
    scene = Scene(d=2)
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (0, 0), mass=MASS)
    scene.join("slider", 0, at=(0, 0), axis=(math.cos(slope), math.sin(slope)), name="rail", **laws)
    return compile_scene(scene)


BOTH = pytest.mark.parametrize("d", [2, 3])


@BOTH
def test_a_limit_is_reached_exactly_and_bears_the_load(d: int) -> None:
    done, joints = run(arm(d, limits=(-0.5, 0.2)), 60, 1e-2)
    assert joints["pivot"].value == pytest.approx(-0.5, abs=1e-14)
    assert joints["pivot"].rate == pytest.approx(0.0, abs=1e-13)
    assert done.joints is not None
    assert done.joints.along[0] == pytest.approx(MOMENT * math.cos(0.5), rel=1e-10)


def test_a_limit_sends_back_what_its_restitution_says() -> None:
    # Without gravity: from rate 1 at 0 to the limit at 0.203, which it passes by less than a step.
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (0, 0), angular_velocity=1.0, mass=1.0)
    scene.join("pin", 0, at=(0, 0), name="pivot", limits=(None, 0.203), restitution=0.6)
    model = compile_scene(scene)
    _, joints = run(model, 40, 1e-2)
    assert joints["pivot"].rate == pytest.approx(-0.6, abs=1e-12)
    assert joints["pivot"].value == pytest.approx(0.203 - 0.6 * 0.197, abs=2e-2)


@pytest.mark.parametrize(("restitution", "most"), [(0.0, 1e-12), (0.5, 0.03), (1.0, 0.03)])
def test_a_limit_is_passed_by_less_than_a_step_where_it_bounces(restitution: float, most: float) -> None:
    """Moreau's rule, as between bodies; without restitution the limit is reached exactly."""
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    scene.add(Disk(0.1), (0, 0), mass=1.0, velocity=(3.0, 0.0), name="sledge")
    scene.join(
        "slider", "sledge", at=(0, 0), axis=(1, 0), name="rail", limits=(None, 0.5), restitution=restitution
    )
    model = compile_scene(scene)
    state, far = initial_state(model), 0.0
    for _ in range(30):
        state = step(model, state, 1e-2).state
        far = max(far, abs(float(state.position[0, 0])))
    assert -1e-12 <= far - 0.5 <= most
    assert abs(state.velocity[0, 0]) == pytest.approx(3.0 * restitution, abs=1e-9)


def test_a_bouncing_arm_comes_to_rest_on_its_limit() -> None:
    done, joints = run(arm(limits=(-0.2, None), restitution=0.5), 120, 1e-2)
    assert joints["pivot"].value == pytest.approx(-0.2, abs=2e-2)
    assert joints["pivot"].rate == pytest.approx(0.0, abs=1e-10)
    assert done.joints is not None
    assert done.joints.along[0] == pytest.approx(MOMENT * math.cos(joints["pivot"].value), rel=1e-8)


@pytest.mark.parametrize("speed", [5.0, 80.0])
def test_a_blow_does_not_push_a_joint_through_its_limit(speed: float) -> None:
    """A ball strikes an arm at rest near its limit: the limit joins the problem as it is needed."""
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    bar = Polygon([(-0.5, -0.05), (0.5, -0.05), (0.5, 0.05), (-0.5, 0.05)])
    scene.add(bar, (0.5, 0), mass=1.0, name="bar")
    scene.add(Disk(0.1), (0.8, 0.151), velocity=(0, -speed), mass=5.0, name="ball")
    scene.join("pin", "bar", at=(0, 0), name="pivot", limits=(-0.01, 1.0))
    _, joints = run(compile_scene(scene), 20, 1e-3)
    assert joints["pivot"].value >= -0.01 - 1e-12


@BOTH
def test_friction_sticks_below_its_bound_and_slides_at_it(d: int) -> None:
    done, joints = run(arm(d, friction=1.01 * MOMENT), 100, 1e-2)
    assert joints["pivot"] == pytest.approx(Coordinate(0.0, 0.0), abs=1e-14)
    assert done.joints is not None
    assert done.joints.along[0] == pytest.approx(MOMENT, rel=1e-12)
    done, joints = run(arm(d, friction=0.5 * MOMENT), 10, 1e-2)
    assert joints["pivot"].rate < -0.1
    assert done.joints is not None
    assert done.joints.along[0] == pytest.approx(0.5 * MOMENT, rel=1e-12)


def test_a_sledge_slides_down_where_friction_is_less_than_its_weight_along_the_slope() -> None:
    slope = 0.4
    pull = MASS * G * math.sin(slope)
    _, joints = run(sledge(slope, friction=pull * 1.001), 50, 1e-2)
    assert joints["rail"].value == pytest.approx(0.0, abs=1e-14)
    _, joints = run(sledge(slope, friction=0.9 * pull), 50, 1e-2)
    assert joints["rail"].rate == pytest.approx(-0.1 * pull / MASS * 0.5, rel=1e-9)


@BOTH
@pytest.mark.parametrize("bound", [3.0 * MOMENT, math.inf])
def test_a_velocity_motor_keeps_its_rate_as_long_as_its_torque_suffices(d: int, bound: float) -> None:
    done, joints = run(arm(d, motor=VelocityMotor(1.0, bound)), 40, 1e-2)
    assert joints["pivot"].rate == pytest.approx(1.0, abs=1e-12)
    assert done.joints is not None
    angle = joints["pivot"].value - 0.5e-2
    assert done.joints.along[0] == pytest.approx(MOMENT * math.cos(angle), rel=1e-4)


@BOTH
def test_a_motor_at_its_bound_gives_exactly_that(d: int) -> None:
    done, joints = run(arm(d, motor=VelocityMotor(1.0, 0.7 * MOMENT)), 10, 1e-2)
    assert joints["pivot"].rate < 0.0
    assert done.joints is not None
    assert done.joints.along[0] == pytest.approx(0.7 * MOMENT, rel=1e-12)
    servo = Servo(1.0, 1e6, 1e3, max_torque=0.7 * MOMENT)
    done, _ = run(arm(d, motor=servo), 10, 1e-2)
    assert done.joints is not None
    assert done.joints.along[0] == pytest.approx(0.7 * MOMENT, rel=1e-12)


@pytest.mark.parametrize("bound", [1e-3, 1e9])
def test_bounds_of_any_size_leave_the_problem_accurate(bound: float) -> None:
    _, joints = run(sledge(motor=VelocityMotor(0.3, bound)), 5, 1e-2)
    expected = 0.3 if bound > 1.0 else bound / MASS * 0.05
    assert joints["rail"].rate == pytest.approx(expected, rel=1e-9)


def test_a_torque_motor_is_a_load() -> None:
    done, joints = run(sledge(motor=TorqueMotor(3.0)), 50, 1e-2)
    assert joints["rail"].rate == pytest.approx(3.0 / MASS * 0.5, rel=1e-12)
    assert done.given == pytest.approx(3.0 * 1e-2 * (joints["rail"].rate - 0.5 * 3.0 / MASS * 1e-2), rel=1e-9)


@pytest.mark.parametrize(
    ("motor", "torque"),
    [
        (TorqueMotor(3.0, 2.0), 2.0),
        (TorqueMotor(-3.0, 2.0), -2.0),
        (TorqueMotor(-3.0, 2.0, -1.0), -1.0),
        (TorqueMotor(-3.0, min_torque=0.5), 0.5),
        (TorqueMotor(1.5, 2.0), 1.5),
    ],
)
@pytest.mark.parametrize("commanded", [False, True])
def test_a_torque_motor_is_cut_at_what_it_can_apply(
    motor: TorqueMotor, torque: float, commanded: bool
) -> None:
    """In both ways of taking a step, with the target of the scene and with one of the loop."""
    model = sledge(motor=replace(motor, torque=0.0) if commanded else motor)
    commands = Commands.of(model).updated({"rail": motor.torque}) if commanded else None
    compiled = step(model, initial_state(model), 1e-2, commands=commands)
    joints = joints_in_step(model, initial_state(model), initial_state(model), 0.5, 1e-2, commands)
    assert compiled.state.velocity[0, 0] == pytest.approx(torque / MASS * 1e-2, rel=1e-12)
    assert joints.drives.push == pytest.approx([torque * 1e-2], rel=1e-12)


@pytest.mark.parametrize("dt", [2e-2, 1e-2])
def test_a_spring_keeps_its_energy_and_its_period(dt: float) -> None:
    k = 80.0
    model = sledge(spring=(k, 0.25))
    frequency = math.sqrt(k / MASS)
    # The period of the midpoint rule is known: tan(ω h / 2) = ω₀ h / 2.
    steps = round(6.0 / dt)
    _, joints = run(model, steps, dt)
    phase = 2.0 * math.atan(0.5 * frequency * dt) * steps
    assert joints["rail"].value == pytest.approx(0.25 * (1.0 - math.cos(phase)), abs=1e-10)


def test_a_damper_takes_a_share_of_the_speed_in_each_step() -> None:
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (0, 0), velocity=(1, 0), mass=MASS)
    scene.join("slider", 0, at=(0, 0), axis=(1, 0), name="rail", damping=5.0)
    done, joints = run(compile_scene(scene), 10, 0.1)
    share = 1.0 / (1.0 + 5.0 * 0.1 / MASS)
    assert joints["rail"].rate == pytest.approx(share**10, rel=1e-12)
    assert done.work < 0.0
    assert done.given == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("theta", [0.5, 1.0])
@pytest.mark.parametrize("stiffness", [1e3, 1e10])
def test_stiff_springs_and_servos_are_stable(stiffness: float, theta: float) -> None:
    for laws in (
        {"spring": (stiffness, 0.1), "damping": 0.1 * stiffness},
        {"motor": Servo(0.1, stiffness, 0.1 * stiffness)},
        {"motor": Servo(0.1, stiffness, 0.1 * stiffness, max_torque=1e4)},
    ):
        model = sledge(**laws)
        state = initial_state(model)
        for _ in range(40):
            state = step(model, state, 5e-2, TIGHT, MoreauJean(theta=theta)).state
        assert joint_coordinates(model, state)["rail"] == pytest.approx(Coordinate(0.1, 0.0), abs=1e-3)


@BOTH
def test_a_servo_holds_its_load_off_the_target_by_its_compliance(d: int) -> None:
    for bound in (math.inf, 5.0 * MOMENT):
        done, joints = run(arm(d, motor=Servo(0.3, 1e4, 3e2, bound)), 60, 2e-2)
        off = joints["pivot"].value - 0.3
        assert done.joints is not None
        assert done.joints.along[0] == pytest.approx(-1e4 * off, rel=1e-8)
        assert -1e4 * off == pytest.approx(MOMENT * math.cos(joints["pivot"].value), rel=1e-8)


def test_turns_are_counted() -> None:
    for d in (2, 3):
        scene = Scene(d=d, gravity=(0,) * d)
        scene.law(mu=0.3)
        if d == 2:
            scene.add(Disk(0.1), angular_velocity=7.0, mass=1.0)
            scene.join("pin", 0, at=(0, 0), name="axle", start=0.5)
        else:
            scene.add(Box((0.1, 0.2, 0.3)), angular_velocity=(0, 0, 7.0), mass=1.0)
            scene.join("hinge", 0, at=(0, 0, 0), axis=(0, 0, 1), name="axle", start=0.5)
        _, joints = run(compile_scene(scene), 100, 5e-2)
        assert joints["axle"].value == pytest.approx(0.5 + 35.0, rel=1e-9)


def test_limits_may_lie_several_turns_away() -> None:
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.3)
    scene.add(Disk(0.1), angular_velocity=7.0, mass=1.0)
    scene.join("pin", 0, at=(0, 0), name="winch", limits=(0, 20.0))
    _, joints = run(compile_scene(scene), 100, 5e-2)
    assert joints["winch"].value == pytest.approx(20.0, abs=1e-13)


@BOTH
def test_the_coordinate_is_that_of_b_relative_to_a(d: int) -> None:
    scene = Scene(d=d, gravity=(0,) * d)
    scene.law(mu=0.3)
    shape, origin = (Disk(0.1), (0, 0)) if d == 2 else (Box((0.1, 0.2, 0.3)), (0, 0, 0))
    for _ in range(2):
        scene.add(shape, origin, mass=1.0)
    axis = {} if d == 2 else {"axis": (0, 0, 1)}
    kind = "pin" if d == 2 else "hinge"
    scene.join(kind, None, 0, at=origin, name="first", motor=TorqueMotor(0.3), **axis)
    scene.join(kind, 0, 1, at=origin, name="second", motor=VelocityMotor(2.0), **axis)
    done, joints = run(compile_scene(scene), 10, 1e-2)
    spin = done.state.velocity[:, -1]
    assert joints["first"].rate == pytest.approx(spin[0], abs=1e-12)
    assert joints["second"].rate == pytest.approx(spin[1] - spin[0], abs=1e-12)
    assert joints["second"].rate == pytest.approx(2.0, abs=1e-12)


def gears(ratio: float) -> Model:
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (0, 0), mass=1.0, inertia=0.02, angular_velocity=3.0)
    scene.add(Disk(0.1), (1, 0), mass=1.0, inertia=0.05)
    scene.join("pin", 0, at=(0, 0), name="leader")
    scene.join("pin", 1, at=(1, 0), name="follower")
    scene.mimic("follower", "leader", ratio=ratio)
    return compile_scene(scene)


@pytest.mark.parametrize("ratio", [-2.0, 0.5])
def test_gears_share_a_spin_by_their_ratio(ratio: float) -> None:
    """Let go with one of them at rest: an impact that keeps I₁ ω₁ + ratio I₂ ω₂."""
    model = gears(ratio)
    state = initial_state(model)
    for _ in range(300):
        state = step(model, state, 1e-2, TIGHT).state
    joints = joint_coordinates(model, state)
    rate = 0.02 * 3.0 / (0.02 + ratio**2 * 0.05)
    assert joints["leader"].rate == pytest.approx(rate, rel=1e-12)
    assert joints["follower"].rate == pytest.approx(ratio * rate, rel=1e-12)
    assert joints["follower"].value == pytest.approx(ratio * joints["leader"].value, abs=1e-12)


def test_a_rack_turns_a_pinion_under_a_weight() -> None:
    """A weight on a slider turns a wheel of radius 0.2 m: m g / (m + I / r²)."""
    scene = Scene(d=2)
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (0, 0), mass=3.0, name="weight")
    scene.add(Disk(0.2), (1, 0), mass=1.0, inertia=0.04, name="wheel")
    scene.join("slider", "weight", at=(0, 0), axis=(0, 1), name="rack")
    scene.join("pin", "wheel", at=(1, 0), name="pinion")
    scene.mimic("pinion", "rack", ratio=1.0 / 0.2)
    _, joints = run(compile_scene(scene), 50, 1e-2)
    assert joints["rack"].rate == pytest.approx(-0.5 * 3.0 * G / (3.0 + 0.04 / 0.2**2), rel=1e-12)


def test_commands_change_what_motors_do_from_step_to_step() -> None:
    model = sledge(motor=VelocityMotor(0.0, 100.0))
    state, commands = initial_state(model), Commands.of(model)
    assert commands.names == ("rail",)
    rates = []
    for k in range(6):
        state = step(model, state, 1e-2, TIGHT, commands=commands.updated({"rail": 0.1 * k})).state
        rates.append(joint_coordinates(model, state)["rail"].rate)
    np.testing.assert_allclose(rates, 0.1 * np.arange(6), atol=1e-12)


def test_a_stuck_slider_on_a_turning_arm_stays() -> None:
    """Friction holds a bead on an arm that turns at 2 rad/s against the centrifugal force, and a little less
    does not.
    """

    def bead(friction: float) -> tuple[StepResult, JointCoordinates]:
        scene = Scene(d=2, gravity=(0, 0))
        scene.law(mu=0.3)
        scene.add(Disk(0.05), (0, 0), motion=Rotation(None, 2.0), name="arm")
        scene.add(Disk(0.05), (1, 0), velocity=(0, 2.0), angular_velocity=2.0, mass=1.0, name="bead")
        scene.join("slider", "arm", "bead", at=(1, 0), axis=(1, 0), name="rail", friction=friction)
        return run(compile_scene(scene), 100, 1e-2)

    done, joints = bead(4.1)
    assert abs(joints["rail"].rate) < 1e-4
    assert abs(joints["rail"].value) < 1e-4  # second order in the step
    assert done.joints is not None
    assert done.joints.along[0] == pytest.approx(-4.0, rel=1e-3)
    _, joints = bead(3.9)
    assert joints["rail"].value > 0.05


def busy_scene() -> Scene:
    """An arm on its limit that leans on a block on the floor, a rubbing joint, a motor, a closed loop."""
    scene = Scene(d=2)
    scene.law(mu=0.4)
    scene.add(HalfPlane())
    bar = Polygon([(-0.5, -0.03), (0.5, -0.03), (0.5, 0.03), (-0.5, 0.03)])
    scene.add(bar, (0.5, 1.0), mass=1.0, name="upper")
    scene.add(bar, (1.5, 1.0), mass=1.0, name="lower")
    block = Polygon([(-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2)])
    scene.add(block, (1.8, 0.2), mass=2.0, name="block")
    scene.add(Disk(0.25), (1.8, 0.65), mass=1.0, name="ball")
    scene.join("pin", "upper", at=(0, 1), name="shoulder", limits=(-0.3, 0.3), friction=2.0)
    scene.join("pin", "upper", "lower", at=(1, 1), name="elbow", motor=VelocityMotor(0.5, 3.0), friction=0.5)
    scene.join("slider", "block", at=(1.8, 0), axis=(1, 0), name="guide", spring=(50.0, 0.1), damping=1.0)
    return scene


@pytest.mark.parametrize(
    "solver",
    [
        NSGS(tol=1e-11, max_iterations=50000),
        InteriorPoint(tol=1e-11),
        AcceleratedProjection(tol=1e-11, max_iterations=100000),
        ADMM(tol=1e-11, max_iterations=100000),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_every_solver_gives_the_same_motion(solver: Solver) -> None:
    ends = []
    for method in (TIGHT, solver):
        model = compile_scene(busy_scene())
        state = initial_state(model)
        for _ in range(12):
            done = step(model, state, 2e-2, method)
            assert done.solution.status.is_solved
            state = done.state
        assert len(done.contacts) > 1
        assert done.problem.links is not None
        ends.append(state)
    np.testing.assert_allclose(ends[1].velocity, ends[0].velocity, atol=1e-7)
    np.testing.assert_allclose(ends[1].position, ends[0].position, atol=1e-8)


def test_the_busy_scene_gives_the_same_bits_again_from_a_kept_state() -> None:
    model = compile_scene(busy_scene())
    state = initial_state(model)
    states = [state := step(model, state, 2e-2).state for _ in range(8)]
    again = states[3]
    for _ in range(4):
        again = step(model, again, 2e-2).state
    assert np.array_equal(again.velocity, states[7].velocity)
    assert again.links is not None
    assert np.array_equal(again.links.impulse, states[7].links.impulse)  # type: ignore[union-attr]


def gripper(force: float, mu: float) -> Model:
    """A box of 1 kg between two fingers on sliders, pressed by motors from both sides."""
    scene = Scene(d=2)
    scene.law(mu=mu)
    box = Polygon([(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1)])
    scene.add(box, (0, 0), mass=1.0, name="box")
    finger = Polygon([(-0.05, -0.2), (0.05, -0.2), (0.05, 0.2), (-0.05, 0.2)])
    for name, x, way in (("left", -0.15, 1.0), ("right", 0.15, -1.0)):
        scene.add(finger, (x, 0), mass=0.2, name=name)
        scene.join("slider", name, at=(x, 0), axis=(way, 0), name=name, motor=TorqueMotor(force))
    scene.mimic("right", "left")
    return compile_scene(scene)


def test_a_gripper_holds_a_box_without_drift_and_drops_it_exactly_below_its_friction() -> None:
    force = 10.0
    least = 1.0 * G / (2.0 * force)
    model = gripper(force, least * 1.001)
    done, _ = run(model, 60, 1e-2, Auto(tol=1e-10))
    assert np.max(np.abs(done.state.position - initial_state(model).position)) < 1e-10
    done, _ = run(gripper(force, least * 0.999), 60, 1e-2, Auto(tol=1e-10))
    fallen = 0.5 * (G - 2.0 * force * least * 0.999) * 0.6**2
    assert done.state.position[0, 1] == pytest.approx(-fallen, rel=1e-2)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("limits", [None, (-3.0, 3.0)])
def test_armature_is_a_wheel_behind_a_gear(d: int, limits: tuple[float, float] | None) -> None:
    """A wheel of 0.02 kg·m² that turns ten times as fast adds 2 kg·m², in its motion and its energy."""
    wheel, ratio = 0.02, 10.0
    scene = Scene(d=d)
    scene.law(mu=0.3)
    place, aside, axis = ((ARM, 0), (0, 5), {}) if d == 2 else ((ARM, 0, 0), (0, 5, 0), {"axis": (0, -1, 0)})
    origin = (0,) * d
    moment = {"inertia": wheel if d == 2 else wheel * np.eye(3)}
    body = Disk(0.1) if d == 2 else Box((0.2, 0.3, 0.1))
    scene.add(body, place, mass=MASS)
    scene.add(body, aside, mass=1.0, **moment)
    kind = "pin" if d == 2 else "hinge"
    scene.join(kind, 0, at=origin, name="pivot", limits=limits, **axis)
    scene.join(kind, 1, at=aside, name="wheel", **axis)
    scene.mimic("wheel", "pivot", ratio=ratio)
    geared, added = compile_scene(scene), arm(d, armature=ratio**2 * wheel, limits=limits)
    (one, there), (two, here) = (run(model, 500, 2e-3) for model in (geared, added))
    assert here["pivot"].value == pytest.approx(there["pivot"].value, abs=1e-11)
    assert here["pivot"].rate == pytest.approx(there["pivot"].rate, abs=1e-11)
    of_wheel = energy(geared, one.state).potential - energy(added, two.state).potential
    assert of_wheel == pytest.approx(5.0 * G if d == 2 else 0.0, abs=1e-9)
    assert energy(added, two.state).kinetic == pytest.approx(energy(geared, one.state).kinetic, abs=1e-9)


def test_armature_takes_its_share_of_a_torque_and_of_an_impact() -> None:
    dt = 1e-3
    moment = MASS * ARM**2 + MASS * (0.2**2 + 0.1**2) / 12.0
    done, after = run(arm(3, motor=TorqueMotor(MOMENT + 10.0), armature=4.0), 1, dt)
    assert after["pivot"].rate == pytest.approx(dt * 10.0 / (moment + 4.0), rel=1e-6)
    assert done.joints.along[0] == pytest.approx(MOMENT + 10.0 - 40.0 / (moment + 4.0), rel=1e-6)
    done, after = run(arm(3, armature=4.0, limits=(-0.2, None)), 1000, dt)
    assert after["pivot"].value == pytest.approx(-0.2, abs=1e-12)
    assert after["pivot"].rate == pytest.approx(0.0, abs=1e-12)
    assert done.joints.along[0] == pytest.approx(MOMENT * math.cos(0.2), rel=1e-6)
