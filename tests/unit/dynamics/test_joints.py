"""Joints: their rows, what they refuse, how they are kept in files, and how they join the contact problem."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.bodies.lagrangian import LagrangianSystem
from clapas.bodies.rigid.motion import moved
from clapas.dynamics.births import initial_state
from clapas.dynamics.joints.commands import Commands
from clapas.dynamics.joints.definition import KINDS
from clapas.dynamics.joints.laws import Servo, TorqueMotor, VelocityMotor
from clapas.dynamics.joints.leastmotion import LeastMotion
from clapas.dynamics.joints.rows import TURN
from clapas.dynamics.motions import ConstantVelocity
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.sleep import Sleeping
from clapas.dynamics.stepping import step
from clapas.errors import ProblemError, SceneError, SettingsError
from clapas.geometry.rotations import normalise
from clapas.geometry.shapes import Box, Disk, HalfPlane, Plane, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate
from clapas.solvers import Auto
from tests.unit.dynamics.test_jointed import General

LEFT_FREE = {
    3: {
        "ball": 3,
        "hinge": 1,
        "universal": 2,
        "slider": 1,
        "cylindrical": 2,
        "planar": 3,
        "fixed": 0,
        "distance": 5,
        "turn": 6,
        "travel": 6,
        "swing": 6,
        "stretch": 6,
        "gimbal": 6,
    },
    2: {"pin": 1, "slot": 2, "slider": 1, "weld": 0, "distance": 2, "turn": 3, "travel": 3, "stretch": 3},
}
SWUNG = (1.0, 1.0, 1.0)
ALL = [(d, kind) for d, kinds in KINDS.items() for kind in kinds]


def two_bodies(d: int, kind: str) -> Scene:
    """Two bodies, turned, with a joint off their centres."""
    scene = Scene(d=d)
    scene.law(mu=0.3)
    if d == 3:
        scene.add(Box((0.2, 0.3, 0.4)), (0.1, -0.2, 0.3), (0.8, 0.1, -0.3, 0.5), mass=2.0)
        scene.add(Box((0.5, 0.1, 0.3)), (0.9, 0.5, 0.8), (0.2, 0.9, 0.1, -0.4), mass=1.0)
    else:
        scene.add(Disk(0.2), (0.1, -0.2), 0.3, mass=2.0)
        scene.add(Disk(0.3), (0.9, 0.5), -1.2, mass=1.0)
    given: dict[str, Any] = {"at": (0.4, 0.1, 0.2)[:d]}
    if KINDS[d][kind].axis:
        given["axis"] = (1.0, 2.0, -0.5)[:d]
    if kind == "universal":
        given["second"] = (2.0, -1.0, 0.0)
    if kind in ("distance", "stretch"):
        given["to"] = (1.0, 0.4, 0.7)[:d]
    if kind == "swing":
        given |= {"second": SWUNG, "limits": (None, 2.0)}
    if kind == "gimbal":
        given |= {"second": (2.0, -1.0, 0.0), "third": (0.5, 1.0, -3.0), "which": 2}
    scene.join(kind, 0, 1, **given)
    return scene


def test_every_kind_is_tried() -> None:
    assert {d: set(kinds) for d, kinds in LEFT_FREE.items()} == {d: set(kinds) for d, kinds in KINDS.items()}


@pytest.mark.parametrize(("d", "kind"), ALL)
def test_a_kind_leaves_free_what_it_says_and_holds_where_it_was_made(d: int, kind: str) -> None:
    model = compile_scene(two_bodies(d, kind))
    assert model.joints is not None
    rows = model.joints
    placed = rows.placed(model.position, model.orientation)
    assert np.max(np.abs(rows.gap(placed)), initial=0.0) < 1e-15
    J = np.hstack((placed.of_a, placed.of_b))
    size, free = (6 if d == 3 else 3), LEFT_FREE[d][kind]
    assert np.linalg.matrix_rank(J[: rows.n_closing], tol=1e-9) == len(rows) == size - free
    coordinate = KINDS[d][kind].coordinate is not None
    assert np.linalg.matrix_rank(J, tol=1e-9) == len(rows) + coordinate
    start = {
        "swing": math.acos(np.dot((1.0, 2.0, -0.5), SWUNG) / math.sqrt(5.25 * 3.0)),
        "stretch": math.hypot(*(0.6, 0.3, 0.5)[:d]),
    }.get(kind, 0.0)
    np.testing.assert_allclose(rows.coordinates(placed), start, atol=1e-15)


@pytest.mark.parametrize(("d", "kind"), ALL)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_rows_are_the_derivatives_of_the_gaps(d: int, kind: str, seed: int) -> None:
    model = compile_scene(two_bodies(d, kind))
    rows, rng = model.joints, np.random.default_rng(seed)
    assert rows is not None
    position = model.position + rng.normal(0.0, 0.3, model.position.shape)
    turn = model.orientation + rng.normal(0.0, 0.3, model.orientation.shape)
    orientation = normalise(turn) if d == 3 else turn
    velocity, h = rng.normal(size=model.velocity.shape), 1e-5
    after, before = (rows.placed(*moved(position, orientation, velocity, s * h)).value for s in (1.0, -1.0))
    rate = rows.placed(position, orientation).rate(rows, velocity)
    exact = np.where(rows.form == TURN, False, True)  # a turn has its rate where the axes agree
    np.testing.assert_allclose(rate[exact], ((after - before) / (2.0 * h))[exact], atol=1e-7)


@pytest.mark.parametrize(
    ("d", "given", "message"),
    [
        (3, {"kind": "hing"}, r"unknown kind 'hing' \(did you mean 'hinge'\?\); in 3-D there are ball"),
        (3, {"kind": "pin"}, r"unknown kind 'pin' \(it is a joint of 2-D\)"),
        (3, {"kind": "hinge"}, r"a hinge joint needs axis, a direction in the world"),
        (3, {"kind": "ball", "axis": (0, 0, 1)}, r"a ball joint has no axis: leave it out"),
        (3, {"kind": "ball", "at": None}, r"at is missing: give the point of the joint"),
        (3, {"kind": "ball", "at": (0, 0)}, r"at must be 3 numbers"),
        (3, {"kind": "ball", "b": 0}, r"it joins body 0 to itself"),
        (3, {"kind": "ball", "a": None}, r"it joins the world to itself"),
        (3, {"kind": "ball", "b": 7}, r"there is no body 7"),
        (3, {"kind": "ball", "to": (0, 0, 1)}, r"a ball joint has one point: leave out to"),
        (3, {"kind": "distance"}, r"a distance joint needs to, the point of b"),
        (3, {"kind": "distance", "to": (0, 0, 0)}, r"the rod has no length.*use a ball joint"),
        (3, {"kind": "hinge", "axis": (0, 0, 0)}, r"axis must not be zero"),
        (3, {"kind": "universal", "axis": (0, 0, 1)}, r"a universal joint needs second, the axis fixed in b"),
        (3, {"kind": "hinge", "axis": (0, 0, 1), "second": (1, 0, 0)}, r"has no second axis"),
        (3, {"kind": "universal", "axis": (0, 0, 1), "second": (1, 0, 1)}, r"must be at right angles"),
        (2, {"kind": "slot"}, r"a slot joint needs axis"),
        (2, {"kind": "distance", "to": (0, 0)}, r"use a pin joint"),
    ],
)
def test_impossible_joints_are_refused(d: int, given: dict[str, Any], message: str) -> None:
    scene = Scene(d=d)
    scene.add(Sphere(0.1) if d == 3 else Disk(0.1), mass=1.0)
    with pytest.raises(SceneError, match=message):
        scene.join(**{"a": 0, "b": None, "at": (0.0,) * d, "name": "bolt", **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"limits": 3.0}, r"limits must be \(lower, upper\), got 3.0"),
        ({"limits": (1.0, -1.0)}, r"the lower limit, 1.0, must be below the upper one, -1.0"),
        ({"limits": ("low", 1.0)}, r"the lower limit must be a number, or None for no limit, got 'low'"),
        ({"limits": (0.5, 1.0)}, r"it starts at 0.0, outside of its limits 0.5 to 1.0"),
        ({"restitution": 0.5}, r"restitution is that of its limits; give limits"),
        ({"limits": (-1, 1), "restitution": 2.0}, r"restitution must be in \[0, 1\], got 2.0"),
        ({"friction": -1.0}, r"friction must be at least 0, got -1.0"),
        ({"damping": math.nan}, r"damping must be finite"),
        ({"spring": 5.0}, r"spring must be \(stiffness, rest\), got 5.0"),
        ({"spring": (-5.0, 0.0)}, r"stiffness of the spring must be at least 0"),
        ({"motor": 3.0}, r"motor must be a VelocityMotor, a TorqueMotor or a Servo, got 3.0"),
        ({"motor": TorqueMotor(1.0, 0.0)}, r"max_torque of the motor must be positive, got 0.0"),
        ({"motor": TorqueMotor(1.0, 2.0, 3.0)}, r"min_torque of the motor, 3.0, is above max_torque, 2.0"),
        ({"motor": VelocityMotor(1.0, -2.0)}, r"max_torque of the motor must be positive, got -2.0"),
        ({"motor": Servo(1.0, 0.0)}, r"a servo needs a stiffness or a damping, both are 0"),
        ({"motor": TorqueMotor(math.inf)}, r"torque of the motor must be finite"),
        (
            {"kind": "ball", "axis": None, "friction": 1.0},
            r"friction acts along one coordinate, which a ball",
        ),
    ],
)
def test_impossible_laws_are_refused(given: dict[str, Any], message: str) -> None:
    scene = Scene()
    scene.add(Sphere(0.1), mass=1.0)
    with pytest.raises(SceneError, match=r"joint 'bolt': " + message):
        scene.join(**{"kind": "hinge", "a": 0, "at": (0, 0, 0), "axis": (0, 0, 1), "name": "bolt", **given})


def with_laws() -> Scene:
    scene = Scene(d=2)
    scene.law(mu=0.3)
    for k in range(3):
        scene.add(Disk(0.1), (k, 0), mass=1.0)
    scene.join("pin", 0, at=(0, 0), name="one", limits=(-1, None), restitution=0.5, friction=0.25)
    scene.join(
        "pin", 1, at=(1, 0), name="two", spring=(3.0, 0.5), damping=0.1, motor=Servo(0.2, 5.0, 1.0, 9.0)
    )
    scene.join("slider", 2, at=(2, 0), axis=(0, 1), name="three", motor=VelocityMotor(0.5), start=1.5)
    scene.mimic("two", "one", ratio=-2.0)
    return scene


@pytest.mark.parametrize("ending", ["toml", "yaml"])
def test_files_keep_the_laws_of_joints_and_mimics(ending: str, tmp_path: Any) -> None:
    if ending == "yaml":
        pytest.importorskip("yaml", reason="the optional package pyyaml is not installed")
    scene = with_laws()
    scene.save(tmp_path / f"scene.{ending}")
    again = Scene.load(tmp_path / f"scene.{ending}")
    assert again.joints == scene.joints
    assert again.mimics == scene.mimics
    assert again.to_dict() == scene.to_dict()


def test_errors_about_laws_in_files_say_where() -> None:
    scene = with_laws().to_dict()
    scene["joints"][1]["motor"]["type"] = "servos"
    with pytest.raises(SceneError, match=r"joints\[1\].*motor"):
        Scene.from_dict(scene)
    scene = with_laws().to_dict()
    scene["mimics"][0]["leader"] = "on"
    with pytest.raises(
        SceneError, match=r"mimics\[0\]: mimic 'two': no joint is called 'on' \(did you mean 'one'"
    ):
        Scene.from_dict(scene)


def test_impossible_mimics_are_refused() -> None:
    scene = with_laws()
    scene.join("weld", 0, 1, at=(0, 0), name="weld")
    for follower, leader, extra, message in (
        ("one", "one", {}, r"it would follow itself"),
        ("one", "weld", {}, r"'weld' is a weld joint, which has no coordinate"),
        ("one", "three", {"ratio": 2.0}, r"it starts at 0.0, but ratio 2.0 and offset 0.0 put it at 3.0"),
        ("one", "two", {"ratio": math.inf}, r"ratio must be finite"),
    ):
        with pytest.raises(SceneError, match=f"mimic 'one': {message}"):
            scene.mimic(follower, leader, **extra)


def test_commands_name_motors() -> None:
    model = compile_scene(with_laws())
    commands = Commands.of(model)
    assert commands.names == ("two", "three")
    np.testing.assert_array_equal(commands.target, [0.2, 0.5])
    with pytest.raises(
        SettingsError, match=r"joint 'tow' has no motor \(did you mean 'two'\?\); those that have"
    ):
        commands.updated({"tow": 1.0})
    state = initial_state(model)
    with pytest.raises(SettingsError, match=r"targets must be finite, got \[nan, 0.5\]"):
        step(model, state, 0.01, commands=commands.updated({"two": math.nan}))
    with pytest.raises(SettingsError, match=r"2 motors need as many targets, got \(3,\)"):
        step(model, state, 0.01, commands=Commands(("a", "b", "c"), np.zeros(3)))
    assert Commands.of(compile_scene(two_bodies(2, "pin"))).names == ()


def test_names_are_unique_and_walls_are_not_joined() -> None:
    scene = Scene(d=2)
    scene.add(HalfPlane())
    scene.join("pin", 0, "world", at=(0, 0), name="bolt")
    with pytest.raises(SceneError, match="joint 'bolt': another joint has this name"):
        scene.join("pin", 0, at=(0, 0), name="bolt")
    with pytest.raises(SceneError, match="joint 'bolt': neither of its bodies can move"):
        compile_scene(scene)


def test_a_kind_without_anchors_says_so() -> None:
    class Bare(LagrangianSystem):
        anchor = None  # type: ignore[assignment]

    made = Scene(d=2)
    made.law(mu=0.3)
    made.add(Disk(0.1), mass=1.0)
    made.add_system(Bare(mass=lambda q: [[1.0]], q=[1.0]), name="bare")
    with pytest.raises(SceneError, match="'bare' is of the kind 'lagrangian', which joints cannot hold"):
        made.join("pin", "bare", 0, at=(0, 0), name="nail")


def swing_and_pile() -> Scene:
    """A pendulum that swings above three disks at rest on the floor."""
    scene = Scene(d=2)
    scene.law(mu=0.5)
    scene.add(HalfPlane())
    for k in range(3):
        scene.add(Disk(0.1), (0.2 * k, 0.1), mass=1.0)
    scene.add(Disk(0.1), (1.0, 2.0), mass=1.0, name="bob")
    scene.join("pin", "bob", at=(0, 2), name="pivot")
    return scene


def test_jointed_bodies_stay_awake_among_sleepers() -> None:
    model = compile_scene(swing_and_pile())
    sleeping = Sleeping(watch=2, rest=10)
    awake = simulate(model, 0.2, 0.01).state
    slept = simulate(model, 0.2, 0.01, sleeping=sleeping).state
    assert slept.sleep is not None
    assert slept.sleep.asleep[1:4].any()
    assert not slept.sleep.asleep[4]
    np.testing.assert_allclose(slept.position[4], awake.position[4], atol=1e-9)


def test_projection_moves_jointed_bodies_apart_and_keeps_them_joined() -> None:
    """A dumb-bell of two welded disks, half a millimetre deep in the floor with one of them."""
    scene = Scene(d=2, overlap=1e-2)
    scene.law(mu=0.3)
    scene.add(HalfPlane())
    scene.add(Disk(0.1), (0, 0.0995), mass=1.0)
    scene.add(Disk(0.1), (0.5, 0.1), mass=1.0)
    scene.join("weld", 1, 2, at=(0.25, 0.1))
    model = compile_scene(scene)
    state = initial_state(model)
    for _ in range(3):
        state = step(model, state, 1e-3, scheme=MoreauJean(projection=1.0)).state
    assert state.position[1, 1] == pytest.approx(0.1, abs=1e-5)
    assert model.joints is not None
    placed = model.joints.placed(state.position, state.orientation)
    assert np.max(np.abs(model.joints.gap(placed))) < 1e-14


@pytest.mark.parametrize(("d", "kind"), ALL)
def test_files_keep_joints(d: int, kind: str, tmp_path: Any) -> None:
    scene = two_bodies(d, kind)
    scene.joints[0].to_dict()
    scene.save(tmp_path / "scene.toml")
    again = Scene.load(tmp_path / "scene.toml")
    assert again.joints == scene.joints
    assert again.to_dict() == scene.to_dict()


def test_errors_in_files_say_where() -> None:
    scene = two_bodies(3, "ball").to_dict()
    scene["joints"][0]["kind"] = "bal"
    with pytest.raises(SceneError, match=r"joints\[0\]: joint 'ball 0': unknown kind 'bal'"):
        Scene.from_dict(scene)
    scene["joints"][0] = {"kind": "ball", "a": 0, "at": [0, 0, 0], "axes": [0, 0, 1]}
    with pytest.raises(SceneError, match=r"axes"):
        Scene.from_dict(scene)


def test_joined_bodies_may_overlap_and_collide_only_if_asked() -> None:
    def scene(collide: bool) -> Scene:
        made = Scene(d=2, gravity=(0, 0))
        made.law(mu=0.0)
        made.add(Disk(0.1), (0, 0), velocity=(1, 0), mass=1.0)
        made.add(Disk(0.1), (0.5, 0), velocity=(-1, 0), mass=1.0)
        made.join("slot", 0, 1, at=(0.5, 0), axis=(1, 0), collide=collide)
        return made

    through = simulate(compile_scene(scene(False)), 0.4, 0.01).state
    assert through.position[0, 0] > through.position[1, 0]
    stopped = simulate(compile_scene(scene(True)), 0.4, 0.01).state
    assert stopped.position[1, 0] - stopped.position[0, 0] == pytest.approx(0.2, abs=0.02)
    near = Scene(d=2)
    near.law(mu=0.3)
    near.add(Disk(0.1), (0, 0), mass=1.0)
    near.add(Disk(0.1), (0.1, 0), mass=1.0)
    with pytest.raises(SceneError, match="overlap at the start"):
        compile_scene(near)
    near.join("pin", 0, 1, at=(0.05, 0))
    compile_scene(near)


def test_a_contact_that_joints_hold_bears_nothing() -> None:
    scene = Scene(d=2)
    scene.law(mu=0.3)
    scene.add(HalfPlane())
    scene.add(Disk(0.1), (0, 0.1), mass=1.0)
    scene.add(Disk(0.1), (0.5, 0.1), mass=1.0)
    scene.join("weld", 1, "world", at=(0, 0.1))
    scene.join("slider", 2, "world", at=(0, 0.1), axis=(1, 0))
    model = compile_scene(scene)
    done = step(model, initial_state(model), 0.01)
    assert done.joints is not None
    np.testing.assert_allclose(done.joints.force, [[0, 9.81], [0, 9.81]], atol=1e-12)
    assert not done.state.impulses.impulse.any()


def pile(touching: bool) -> Scene:
    """A pendulum in space beside a jointed block that touches the floor, or not."""
    scene = Scene()
    scene.law(mu=0.3)
    scene.add(Plane(offset=-5.0))
    scene.add(Box((0.2, 0.3, 0.4)), (1.0, 0, 0), angular_velocity=(0, 1.0, 0), mass=2.0, name="bob")
    scene.add(Sphere(0.5), (5.0, 0, -4.5), mass=1.0, name="ball")
    scene.join("ball", "bob", at=(0, 0, 0), name="pivot")
    if touching:  # then all joints are part of the contact problem, and nothing else changes
        scene.add(Box((0.2, 0.2, 0.2)), (3.0, 3.0, -4.9), mass=1.0, name="block")
        scene.join("planar", "block", at=(3.0, 3.0, -4.9), axis=(1, 0, 0), name="guide")
    return scene


def test_joints_outside_and_inside_the_contact_problem_agree() -> None:
    ends = []
    for touching in (False, True):
        model = compile_scene(pile(touching))
        state, near = initial_state(model), General(model)
        for _ in range(5):
            done = step(model, state, 0.01, Auto(tol=1e-12), neighbours=near)
            state = done.state
        assert (done.problem.condensed is not None) == touching
        assert done.joints is not None
        ends.append((state.position[1], state.velocity[1], *done.joints["pivot"]))
    for alone, together in zip(*ends, strict=True):
        np.testing.assert_allclose(together, alone, atol=1e-9)


def test_coupling_of_few_and_of_many_entries_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large T nearly all is zero: it is multiplied as a sparse matrix."""
    model, ends = compile_scene(pile(touching=True)), []
    for entries in (0, 10**9):
        monkeypatch.setattr("clapas.dynamics.condensed.DENSE", entries)
        done = step(model, initial_state(model), 0.01, Auto(tol=1e-12), neighbours=General(model))
        assert done.problem.condensed is not None
        ends.append(done.problem.problem.W.toarray())
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("laws", [{"damping": 0.5}, {"armature": 2.0}, {"spring": (30.0, 0.1)}])
def test_problems_too_large_to_eliminate_joints_have_springs_and_dampers(
    laws: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both forms of the problem of a doorway of boxes that fall and slide; many robots make a large one."""
    scene = Scene()
    scene.law(mu=0.4)
    scene.add(Plane(), name="floor")
    for k in range(3):
        box = scene.add(Box((0.2, 0.2, 0.2)), (k, 0, 0.1005), mass=1.0, velocity=(0, 0.5, 0))
        lid = scene.add(Box((0.2, 0.02, 0.2)), (k, 0.11, 0.1005), mass=0.2, velocity=(0, 0.5, 0))
        scene.join("hinge", box, lid, at=(k, 0.1, 0.2), axis=(1, 0, 0), limits=(-0.5, 0.5), **laws)
    model, ends = compile_scene(scene), []
    for most in (450, 0):
        monkeypatch.setattr("clapas.dynamics.solving.MOST_ROWS", most)
        state, general = initial_state(model), General(model)
        for _ in range(40):
            state = step(model, state, 1e-3, Auto(tol=1e-12), neighbours=general).state
        ends.append(state)
    np.testing.assert_allclose(ends[1].position, ends[0].position, atol=1e-9)
    np.testing.assert_allclose(ends[1].velocity, ends[0].velocity, atol=1e-7)


def test_driven_bodies_that_pull_joints_apart_are_refused() -> None:
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (0, 0), mass=1.0)
    scene.add(Disk(0.1), (1, 0), motion=ConstantVelocity((1.0, 0.0)))
    scene.join("distance", 0, 1, at=(0, 0), to=(1, 0), name="rod")
    scene.join("pin", 0, at=(0, 0), name="bolt")
    with pytest.raises(ProblemError, match=r"joint '(rod|bolt)' stays open by .* the joints cannot all hold"):
        simulate(compile_scene(scene), 0.1, 0.01)


def test_bodies_that_go_too_far_in_a_step_are_not_called_driven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clapas.dynamics.joints.projection.ITERATIONS", 0)
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (1, 0), mass=1.0, velocity=(0, 1.0))
    scene.join("pin", 0, at=(0, 0), name="bolt")
    model = compile_scene(scene)
    with pytest.raises(ProblemError, match=r"'bolt' stays open .*one step .* Take a smaller time step$"):
        step(model, initial_state(model), 0.1, neighbours=General(model))


def test_the_least_motion_is_that_of_full_matrices() -> None:
    for redundant in (False, True):
        scene = Scene(d=2)
        scene.law(mu=0.3)
        for k in range(30):
            scene.add(Disk(0.04), (0.1 * k + 0.05, 0.02 * math.sin(k)), mass=1.0 + 0.1 * k)
            scene.join("pin", k, k - 1 if k else None, at=(0.1 * k, 0.01 * k * k))
        if redundant:
            scene.join("pin", 29, at=(3.0, 9.0))
            for _ in range(2):
                scene.join("distance", 29, at=(2.0, 9.0), to=(4.0, 12.0))
        model = compile_scene(scene)
        assert model.joints is not None
        placed = model.joints.placed(model.position, model.orientation)
        least = LeastMotion(model, model.joints, placed, np.empty(0))
        assert bool(least._redundant) == redundant
        change = np.cos(model.position[:, :1] * np.arange(3))
        target = least.rate(change)
        J, M = least.J.toarray(), model.masses.ravel()
        np.testing.assert_allclose(J @ change.ravel(), target, atol=1e-12)
        lam = np.linalg.lstsq((J / M) @ J.T, target, rcond=1e-20)[0]
        w = least.reach(target)
        np.testing.assert_allclose(w.ravel(), (J.T @ lam) / M, atol=1e-7)
        np.testing.assert_allclose(J @ w.ravel(), target, atol=1e-8)
        np.testing.assert_allclose(J @ least.held(change).ravel(), 0.0, atol=1e-8)
        np.testing.assert_allclose(least.motion(least.multipliers(target)), w, atol=1e-10)


def test_reactions_are_read_by_name() -> None:
    model = compile_scene(pile(False))
    done = step(model, initial_state(model), 0.01)
    assert done.joints is not None
    assert list(done.joints) == ["pivot"]
    assert len(done.joints) == 1
    with pytest.raises(KeyError, match=r"no joint is called 'pivo' .did you mean 'pivot'"):
        done.joints["pivo"]


def test_a_step_without_joints_has_no_reactions() -> None:
    scene = Scene(d=2)
    scene.law(mu=0.3)
    scene.add(Disk(0.1), mass=1.0)
    model = compile_scene(scene)
    assert step(model, initial_state(model), 0.01).joints is None
