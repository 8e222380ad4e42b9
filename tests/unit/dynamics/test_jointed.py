"""The compiled step of bodies with joints against the general one, and the islands it is made of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clapas.dynamics.births import initial_state
from clapas.dynamics.jointed.mechanism import Mechanism
from clapas.dynamics.jointed.outcome import JointedOutcome
from clapas.dynamics.joints.laws import Servo, TorqueMotor, VelocityMotor
from clapas.dynamics.model import Model
from clapas.dynamics.motions import ConstantVelocity, Oscillation
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult, step
from clapas.geometry.shapes import Box, Disk, HalfPlane, Plane, Polygon, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS, Auto

DT = 5e-3


class General(Neighbours):
    """Those of a model all of whose steps are general ones."""

    def mechanism(self, state: State) -> Mechanism | None:
        return None


def arms() -> Scene:
    """In the plane: arms with every law fall on a floor that shakes, beside a disk that rolls."""
    scene = Scene(d=2)
    scene.law(mu=0.4, restitution=0.2)
    scene.add(HalfPlane(), motion=Oscillation(0.02, 5.0, (0, 1)), name="floor")
    link = Polygon.rectangle(0.4, 0.08)
    laws = (
        {"limits": (-0.3, 0.4), "damping": 0.05},
        {"friction": 0.3, "spring": (2.0, 0.1)},
        {"motor": Servo(0.5, 20.0, 1.0, max_torque=1.5)},
        {"motor": VelocityMotor(2.0)},
        {"motor": TorqueMotor(0.4), "limits": (None, 0.2)},
    )
    for k, own in enumerate(laws):
        scene.add(link, (1.2 * k, 0.3), mass=1.0, velocity=(0.1 * k, -0.5))
        scene.add(link, (1.2 * k + 0.42, 0.3), mass=0.5, velocity=(0.1 * k, -0.5))
        scene.join("pin", 2 * k + 1, 2 * k + 2, at=(1.2 * k + 0.21, 0.3), name=f"elbow {k}", **own)
    scene.add(Disk(0.1), (-0.6, 0.1), mass=0.3, velocity=(1.0, 0.0), force=(0.3, 0.0))
    return scene


def robot(copies: int = 1) -> Scene:
    """In space: boxes on legs with hinges, a slider and a ball, one of which lands on a loose box."""
    scene = Scene()
    scene.law(mu=0.6)
    scene.add(Plane())
    for copy in range(copies):
        x, k = 3.0 * copy, 5 * copy
        scene.add(Box((0.5, 0.3, 0.1)), (x, 0, 0.65), mass=4.0, angular_velocity=(0, 1.0, 0))
        scene.add(Box((0.1, 0.1, 0.4)), (x - 0.2, 0, 0.35), mass=1.0)
        scene.add(Box((0.1, 0.1, 0.4)), (x + 0.2, 0, 0.35), mass=1.0)
        scene.add(Sphere(0.1), (x + 0.2, 0, 0.1), mass=0.4)
        scene.add(Box((0.2, 0.2, 0.1)), (x - 0.2, 0, 0.05), mass=0.5)
        body, left, right, foot = (k + i for i in range(1, 5))
        given = {"motor": Servo(0.1, 50.0, 2.0), "limits": (-0.5, 0.5)}
        scene.join("hinge", body, left, at=(x - 0.2, 0, 0.6), axis=(0, 1, 0), name=f"hip {copy}", **given)
        scene.join("slider", body, right, at=(x + 0.2, 0, 0.6), axis=(0, 0, 1), friction=5.0)
        scene.join("ball", right, foot, at=(x + 0.2, 0, 0.15))
    return scene


def steps(model: Model, count: int, solver: Auto | NSGS | None = None) -> list[tuple[StepResult, StepResult]]:
    """The same steps by the two ways, each from where the compiled one came to."""
    state, found = initial_state(model), []
    quick, general, solver = Neighbours(model), General(model), solver or Auto(tol=1e-10)
    for _ in range(count):
        one = step(model, state, DT, solver, neighbours=quick)
        found.append((one, step(model, state, DT, solver, neighbours=general)))
        state = one.state
    return found


@pytest.mark.parametrize(("make", "count"), [(arms, 40), (robot, 25)])
def test_both_steps_agree(make: Callable[[], Scene], count: int) -> None:
    compiled = 0
    for one, other in steps(compile_scene(make()), count):
        compiled += "outcome" in vars(one)
        assert len(one.state.impulses.impulse) == len(other.state.impulses.impulse)
        np.testing.assert_allclose(one.state.velocity, other.state.velocity, atol=2e-6)
        np.testing.assert_allclose(one.state.position, other.state.position, atol=1e-8)
        np.testing.assert_allclose(one.state.coordinates, other.state.coordinates, atol=1e-8)
        np.testing.assert_allclose((one.work, one.given), (other.work, other.given), atol=1e-5)
        assert one.joints is not None
        assert other.joints is not None
        np.testing.assert_allclose(DT * one.joints.force, DT * other.joints.force, atol=1e-5)
        np.testing.assert_allclose(DT * one.joints.along, DT * other.joints.along, atol=1e-5)
    assert compiled >= 0.9 * count


@pytest.mark.parametrize("make", [arms, robot])
def test_the_problem_made_afterwards_judges_the_impulses_alike(make: Callable[[], Scene]) -> None:
    for one, _ in steps(compile_scene(make()), 12):
        assert one.problem.problem.residual(one.solution.r) <= 1e-9
        assert one.residual <= 1e-10
        assert len(one.contacts) == len(one.state.impulses.impulse)


def test_robots_side_by_side_move_as_one_alone() -> None:
    alone, both = (compile_scene(robot(copies)) for copies in (1, 2))
    one = [a for a, _ in steps(alone, 12)][-1].state
    two = [a for a, _ in steps(both, 12)][-1].state
    for copy in range(2):
        shift = np.array([3.0 * copy, 0.0, 0.0])
        its = slice(1 + 5 * copy, 6 + 5 * copy)
        np.testing.assert_allclose(two.position[its] - shift, one.position[1:], atol=1e-9)


def test_other_solvers_and_schemes_go_the_same_way() -> None:
    model = compile_scene(arms())
    for one, other in steps(model, 6, NSGS(tol=1e-10, max_iterations=100_000)):
        np.testing.assert_allclose(one.state.velocity, other.state.velocity, atol=2e-6)
    state, scheme = initial_state(model), MoreauJean(theta=0.8)
    for _ in range(6):
        one = step(model, state, DT, Auto(tol=1e-10), scheme, Neighbours(model))
        other = step(model, state, DT, Auto(tol=1e-10), scheme, General(model))
        np.testing.assert_allclose(one.state.velocity, other.state.velocity, atol=2e-6)
        state = one.state


def loop() -> Scene:
    """A four-bar in space, whose hinges say nine things about how its bars tilt where three are enough."""
    scene = Scene()
    scene.law(mu=0.3)
    corners = np.array([(0, 0, 0), (0.2, 0, 0.8), (1.1, 0, 0.9), (1.2, 0, 0)], dtype=float)
    for k in range(3):
        scene.add(Box((0.3, 0.1, 0.1)), tuple(corners[k : k + 2].mean(axis=0)), mass=1.0 + k)
    for k, (a, b) in enumerate([(None, 0), (0, 1), (1, 2), (2, None)]):
        scene.join("hinge", a, b, at=tuple(corners[k]), axis=(0, 1, 0), name=f"corner {k}")
    return scene


def door() -> Scene:
    """Two hinges on one axis."""
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3)
    scene.add(Box((1, 0.1, 0.1)), mass=1.0, angular_velocity=(1.0, 0, 0), force=(0, 3.0, 0))
    for x in (-0.5, 0.5):
        scene.join("hinge", 0, at=(x, 0, 0), axis=(1, 0, 0))
    return scene


@pytest.mark.parametrize("make", [loop, door])
def test_redundant_rows_are_left_out_of_the_factor(make: Callable[[], Scene]) -> None:
    for one, other in steps(compile_scene(make()), 30):
        assert "outcome" in vars(one)
        assert one.joints is not None
        assert other.joints is not None
        np.testing.assert_allclose(one.state.velocity, other.state.velocity, atol=1e-8)
        np.testing.assert_allclose(one.state.position, other.state.position, atol=1e-10)
        np.testing.assert_allclose(one.joints.force, other.joints.force, atol=1e-5)
        np.testing.assert_allclose(one.joints.torque, other.joints.torque, atol=1e-5)


def test_a_state_given_in_any_layout_is_taken() -> None:
    model = compile_scene(robot())
    state = initial_state(model)
    strange = State(
        **{
            **{name: getattr(state, name) for name in ("time", "step", "impulses", "orientation")},
            "position": np.asfortranarray(state.position),
            "velocity": np.asfortranarray(state.velocity),
        }
    )
    one, two = (step(model, start, DT, Auto(tol=1e-10)) for start in (state, strange))
    np.testing.assert_array_equal(one.state.position, two.state.position)
    assert isinstance(vars(one)["outcome"], JointedOutcome)


@pytest.mark.parametrize("make", [arms, robot])
def test_a_kept_state_leads_to_the_same_bits(make: Callable[[], Scene]) -> None:
    """With links beside contacts, whose impulses are carried by identity."""
    model = compile_scene(make())
    state, near, kept = initial_state(model), Neighbours(model), []
    for _ in range(16):
        kept.append(state := step(model, state, DT, Auto(tol=1e-10), neighbours=near).state)
    again = kept[7]
    for _ in range(8):
        again = step(model, again, DT, Auto(tol=1e-10)).state
    np.testing.assert_array_equal(again.velocity, state.velocity)
    np.testing.assert_array_equal(again.impulses.impulse, state.impulses.impulse)


def test_a_wall_that_moves_steadily_has_no_lead() -> None:
    """A driven crank moves a bob, and a box rests beside."""
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.add(Box((0.2, 0.2, 0.2)), (0, 0, 0.1), mass=1.0)
    scene.add(Box((0.1, 0.1, 0.1)), (1, 0, 1), motion=ConstantVelocity((0.1, 0, 0)))
    scene.add(Sphere(0.1), (1.5, 0, 1), mass=1.0, velocity=(0.1, 0, 0))
    scene.join("hinge", 2, 3, at=(1, 0, 1), axis=(0, 1, 0))
    for one, other in steps(compile_scene(scene), 5):
        assert "outcome" in vars(one)
        assert len(one.contacts) == 4
        np.testing.assert_allclose(one.state.velocity, other.state.velocity, atol=1e-8)


def test_bodies_that_float_together_bear_nothing() -> None:
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.5)
    for x in (0.0, 0.2, 0.6):
        scene.add(Disk(0.1), (x, 0), mass=1.0, velocity=(1.0, 0.0))
    scene.join("weld", 1, 2, at=(0.4, 0))
    model = compile_scene(scene)
    done = step(model, initial_state(model), DT)
    assert len(done.contacts) == 1
    assert not done.state.impulses.impulse.any()
    assert done.rows is not None
    assert (done.rows == -1).all()
    assert len(done.solution.r) == 0
