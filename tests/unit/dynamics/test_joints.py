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
from clapas.dynamics.compilation import compile_scene
from clapas.dynamics.joints import leastmotion
from clapas.dynamics.joints.definition import KINDS
from clapas.dynamics.joints.leastmotion import LeastMotion
from clapas.dynamics.motions import ConstantVelocity
from clapas.dynamics.scene import Scene
from clapas.dynamics.simulation import simulate
from clapas.dynamics.sleeping import Sleeping
from clapas.dynamics.stepping import MoreauJean, step
from clapas.errors import ProblemError, SceneError, SettingsError
from clapas.geometry.rotations import normalise
from clapas.geometry.shapes import Box, Disk, HalfPlane, Plane, Sphere
from clapas.solvers import Auto

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
    },
    2: {"pin": 1, "slot": 2, "slider": 1, "weld": 0, "distance": 2},
}
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
    if kind == "distance":
        given["to"] = (1.0, 0.4, 0.7)[:d]
    scene.join(kind, 0, 1, **given)
    return scene


def test_every_kind_is_tried() -> None:
    assert {d: set(kinds) for d, kinds in LEFT_FREE.items()} == {d: set(kinds) for d, kinds in KINDS.items()}


@pytest.mark.parametrize(("d", "kind"), ALL)
def test_a_kind_leaves_free_what_it_says_and_holds_where_it_was_made(d: int, kind: str) -> None:
    model = compile_scene(two_bodies(d, kind))
    assert model.joints is not None
    placed = model.joints.placed(model.position, model.orientation)
    assert np.max(np.abs(placed.gap)) < 1e-15
    J = np.hstack((placed.of_a, placed.of_b))
    size = 6 if d == 3 else 3
    assert np.linalg.matrix_rank(J, tol=1e-9) == len(model.joints) == size - LEFT_FREE[d][kind]


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
    after, before = (rows.placed(*moved(position, orientation, velocity, s * h)).gap for s in (1.0, -1.0))
    rate = rows.placed(position, orientation).rate(rows, velocity)
    np.testing.assert_allclose(rate, (after - before) / (2.0 * h), atol=1e-7)


@pytest.mark.parametrize(
    ("d", "given", "message"),
    [
        (3, {"kind": "hing"}, r"unknown kind 'hing' \(did you mean 'hinge'\?\); in 3-D there are ball"),
        (3, {"kind": "pin"}, r"unknown kind 'pin', but in another dimension"),
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


def test_names_are_unique_and_walls_are_not_joined() -> None:
    scene = Scene(d=2)
    scene.add(HalfPlane())
    scene.join("pin", 0, "world", at=(0, 0), name="bolt")
    with pytest.raises(SceneError, match="joint 'bolt': another joint has this name"):
        scene.join("pin", 0, at=(0, 0), name="bolt")
    with pytest.raises(SceneError, match="joint 'bolt': neither of its bodies can move"):
        compile_scene(scene)


def test_what_does_not_reach_joints_yet_says_so() -> None:
    def scene(**law: float) -> Scene:
        made = Scene(d=2)
        made.law(**(law or {"mu": 0.3}))
        made.add(Disk(0.1), mass=1.0)
        made.join("pin", 0, at=(0, 0), name="bolt")
        return made

    with pytest.raises(SceneError, match="rolling or spinning resistance do not reach jointed bodies yet"):
        compile_scene(scene(mu=0.3, rolling=0.01))
    model = compile_scene(scene())
    with pytest.raises(SettingsError, match=r"jointed bodies \('bolt'\) cannot sleep yet"):
        simulate(model, 0.1, 0.01, sleeping=Sleeping())
    with pytest.raises(SettingsError, match=r"projection does not reach jointed bodies yet \('bolt'\)"):
        step(model, initial_state(model), 0.01, scheme=MoreauJean(projection=1.0))
    made = scene()
    system = LagrangianSystem(
        mass=lambda q: [[1.0]],
        force=lambda q, v, t: 0.0 * q,
        frames=lambda q: ([[q[0], 5.0]], [[0.0]]),
        shapes=[(0, Disk(0.05))],
        q=[1.0],
    )
    made.join("pin", made.add_system(system)[0], 0, at=(0, 0))
    with pytest.raises(SceneError, match="is part of the system 'system', which joints do not reach yet"):
        compile_scene(made)


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
        state = initial_state(model)
        for _ in range(5):
            done = step(model, state, 0.01, Auto(tol=1e-12))
            state = done.state
        assert (done.problem.problem.J is not None) == touching
        assert done.joints is not None
        ends.append((state.position[1], state.velocity[1], *done.joints["pivot"]))
    for alone, together in zip(*ends, strict=True):
        np.testing.assert_allclose(together, alone, atol=1e-9)


def test_driven_bodies_that_pull_joints_apart_are_refused() -> None:
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (0, 0), mass=1.0)
    scene.add(Disk(0.1), (1, 0), motion=ConstantVelocity((1.0, 0.0)))
    scene.join("distance", 0, 1, at=(0, 0), to=(1, 0), name="rod")
    scene.join("pin", 0, at=(0, 0), name="bolt")
    with pytest.raises(ProblemError, match=r"joint '(rod|bolt)' stays open by .* the joints cannot all hold"):
        simulate(compile_scene(scene), 0.1, 0.01)


def test_long_chains_have_sparse_rows_that_answer_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(d=2)
    scene.law(mu=0.3)
    for k in range(30):
        scene.add(Disk(0.04), (0.1 * k + 0.05, 0.02 * math.sin(k)), mass=1.0 + 0.1 * k)
        scene.join("pin", k, k - 1 if k else None, at=(0.1 * k, 0.01 * k * k))
    scene.join("pin", 29, at=(3.0, 9.0))
    scene.join("distance", 29, at=(2.0, 9.0), to=(4.0, 12.0))
    scene.join("distance", 29, at=(2.0, 9.0), to=(4.0, 12.0))  # redundant
    model = compile_scene(scene)
    assert model.joints is not None
    placed = model.joints.placed(model.position, model.orientation)
    full = LeastMotion(model, model.joints, placed)
    change = np.cos(model.position[:, :1] * np.arange(3))
    target = full.rate(change)
    answers = full.reach(target), full.held(change), full.multipliers(full.reach(target))
    monkeypatch.setattr(leastmotion, "DENSE", 10)
    thin = LeastMotion(model, model.joints, placed)
    for one, other in zip(answers, (thin.reach(target), thin.held(change)), strict=False):
        np.testing.assert_allclose(other, one, atol=1e-8)
    momentum = full.J.T @ answers[2], full.J.T @ thin.multipliers(answers[0])
    np.testing.assert_allclose(momentum[1], momentum[0], rtol=1e-6, atol=1e-6 * np.abs(momentum[0]).max())
    np.testing.assert_allclose(full.rate(answers[0]), target, atol=1e-10)
    np.testing.assert_allclose(full.J @ answers[0].ravel(), target, atol=1e-10)


def test_reactions_are_read_by_name() -> None:
    model = compile_scene(pile(False))
    done = step(model, initial_state(model), 0.01)
    assert done.joints is not None
    assert list(done.joints) == ["pivot"]
    assert len(done.joints) == 1
    with pytest.raises(KeyError):
        done.joints["pivo"]


def test_a_step_without_joints_has_no_reactions() -> None:
    scene = Scene(d=2)
    scene.law(mu=0.3)
    scene.add(Disk(0.1), mass=1.0)
    model = compile_scene(scene)
    assert step(model, initial_state(model), 0.01).joints is None
