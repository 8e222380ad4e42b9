"""Guided bodies: blocked axes hold exactly, free ones feel mass, loads and contacts; every refusal."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clapas.analysis import Instant
from clapas.dynamics.births import initial_state
from clapas.dynamics.guides import AXES, blocked_axes, free_axes, slides_only
from clapas.dynamics.model import Model
from clapas.dynamics.motions import ConstantVelocity, Oscillation, Rotation
from clapas.dynamics.schemes import QuasiStatic
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult, step
from clapas.errors import SceneError
from clapas.geometry.rotations import to_matrix
from clapas.geometry.shapes import Box, Clump, Cylinder, Disk, HalfPlane, Plane, Sphere
from clapas.io.recording import Recording
from clapas.io.simulation import resume, simulate
from clapas.scenes.compilation import compile_scene
from clapas.scenes.regions import BoxRegion
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS
from clapas.typing import Array

G = 9.81
EXACT = NSGS(tol=1e-10, max_iterations=2000)


def advanced(model: Model, steps: int, dt: float = 1e-3, **options: Any) -> list[StepResult]:
    state, done = initial_state(model), []
    for _ in range(steps):
        done.append(step(model, state, dt, EXACT, **options))
        state = done[-1].state
    return done


def pressed_ball(motion: Any = None, **lid: Any) -> Scene:
    """A ball between a floor and a lid of 1 kg that slides up and down, pressed by 50 N."""
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane(), name="floor")
    scene.add(Sphere(0.2), (0, 0, 0.2), mass=2, name="ball")
    scene.add(
        Box((1, 1, 0.1)),
        (0, 0, 0.45),
        mass=1,
        free="z",
        force=(0, 0, -50),
        motion=motion,
        name="lid",
        **lid,
    )
    return scene


def force(stepped: StepResult, body: int) -> Array:
    held = stepped.state.impulses
    sign = np.where(held.b == body, 1.0, np.where(held.a == body, -1.0, 0.0))
    return np.asarray((sign[:, None] * held.impulse).sum(axis=0) / stepped.state.dt)


def test_words_of_axes() -> None:
    assert free_axes("b", "xz", 3) == free_axes("b", ("z", "x"), 3) == ("x", "z")
    assert free_axes("b", "x y z rx ry rz", 3) is None
    assert blocked_axes(("x", "r"), 2) == (False, True, False)
    assert slides_only(("x",), 2)
    assert not slides_only(("x", "y"), 2)
    assert not slides_only(("x", "r"), 2)


def test_a_lid_carries_its_load_to_what_is_below() -> None:
    last = advanced(compile_scene(pressed_ball()), 50)[-1]
    np.testing.assert_allclose(force(last, 2), (0, 0, 50 + G), atol=1e-5)
    np.testing.assert_allclose(force(last, 1) + force(last, 2), (0, 0, 50 + 3 * G), atol=1e-5)
    assert np.abs(last.state.velocity).max() < 1e-9


def test_blocked_axes_follow_their_motion_to_the_bit_and_drag_what_they_touch() -> None:
    model = compile_scene(pressed_ball(ConstantVelocity((0.1, 0, 0))))
    for done in advanced(model, 100):
        assert done.state.velocity[2, [0, 1, 3, 4, 5]].tolist() == [0.1, 0, 0, 0, 0]
    state = done.state
    assert state.position[2, 0] == pytest.approx(0.1 * state.time)
    # The ball rolls between the floor at rest and the lid: its centre at half the speed, up to the depth by
    # which the lid may sink in (a contact that rounding opens is missed for one step).
    np.testing.assert_allclose(state.velocity[1, [0, 4]], (0.05, 0.05 / 0.2), rtol=2e-4)


def test_a_motion_that_changes_is_felt_at_the_middle_of_the_step() -> None:
    shake = Oscillation(0.01, 2.0, (1, 0, 0))
    model = compile_scene(pressed_ball(shake))
    done = advanced(model, 20)[-1]
    assert done.state.velocity[2, 0] == shake(done.state.time - 0.5e-3)[0][0]


def test_without_contacts_only_the_free_axes_fall() -> None:
    scene = Scene((1.0, -2.0), d=2)
    scene.law(mu=0.3)
    body = scene.add(Disk(0.1), velocity=(0, 1), mass=3, free="y", force=(5, 6), torque=7)
    state = advanced(compile_scene(scene), 100)[-1].state
    np.testing.assert_allclose(state.velocity[body], (0, 1 + (-2 + 6 / 3) * 0.1, 0), atol=1e-12)
    assert state.position[body, 0] == 0.0


def test_free_along_all_axes_is_free() -> None:
    scene = Scene()
    scene.add(Sphere(0.1), mass=1, free="x y z rx ry rz", force=(1, 0, 0))
    assert compile_scene(scene).blocked is None


@pytest.mark.parametrize("axis", ["rx", "ry", "rz"])
def test_a_wheel_on_its_axle(axis: str) -> None:
    """Spun by a torque about one axis of the world, whatever way its own axes point."""
    turn = (0.7, 0.2, -0.5, 0.4)
    scene = Scene()
    wheel = Cylinder(0.3, 0.1)
    k = "xyz".index(axis[1])
    torque = 0.5 * np.eye(3)[k]
    body = scene.add(wheel, orientation=turn, mass=2, free=axis, torque=torque)
    record = scene.records()[body]
    state = advanced(compile_scene(scene), 200, dt=5e-3)[-1].state
    free = Scene()
    free.add(wheel, orientation=turn, mass=2)
    own = free.records()[0]
    axes = to_matrix(own.orientation)
    about = (axes @ np.diag(own.inertia) @ axes.T)[k, k]
    assert record.inertia[k] == pytest.approx(about)
    spin = state.velocity[body, 3:]
    assert spin[k] == pytest.approx(0.5 / about * 1.0)
    assert np.delete(spin, k).tolist() == [0.0, 0.0]


def test_a_driven_drum_that_is_free_to_sink() -> None:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Cylinder(0.3, 0.1), orientation=(1, 1, 0, 0), mass=2, free="z", motion=Rotation((0, 1, 0), 3.0))
    state = advanced(compile_scene(scene), 10)[-1].state
    turned = np.array(state.velocity[0, 3:])
    assert np.linalg.norm(turned) == pytest.approx(3.0)
    assert state.velocity[0, 2] == pytest.approx(-G * 0.01)


@pytest.mark.parametrize("free", ["ry", "x ry", "x z ry", "x y z", "y rx"])
def test_a_guided_body_between_a_wall_and_a_ball(free: str) -> None:
    """Guides that hold the normal leave nothing to solve there; the ball above is carried either way."""
    scene = Scene(overlap=1e-3)
    scene.law(mu=0.3)
    scene.add(Plane())
    guided = scene.add(Sphere(0.2), (0, 0, 0.2), mass=2, free=free)
    ball = scene.add(Sphere(0.2), (0, 0, 0.6), mass=2)
    for done in advanced(compile_scene(scene), 5):
        assert done.solution.status.is_solved
    np.testing.assert_allclose(force(done, ball), (0, 0, 2 * G), rtol=1e-6, atol=1e-6)
    assert np.abs(done.state.velocity[guided]).max() < 1e-6


def test_a_blocked_body_feels_no_restitution_of_its_guide() -> None:
    """A ball thrown at a plate that may only move across bounces as from a wall."""
    scene = Scene((0, 0, 0))
    scene.law(mu=0.0, restitution=0.5)
    scene.add(Box((1, 1, 0.1)), mass=1e-3, free="x", name="plate")
    ball = scene.add(Sphere(0.1), (0, 0, 0.16), velocity=(0, 0, -1), mass=2)
    state = advanced(compile_scene(scene), 30)[-1].state
    assert state.velocity[ball, 2] == pytest.approx(0.5)
    assert not state.velocity[0].any()


def test_static_forces_of_a_quasi_static_step() -> None:
    last = advanced(compile_scene(pressed_ball()), 3, scheme=QuasiStatic())[-1]
    np.testing.assert_allclose(force(last, 2), (0, 0, 50 + G), atol=1e-4)


def test_a_plane_under_a_load_has_the_mass_given() -> None:
    scene = Scene((0, 0), d=2)
    scene.law(mu=0.5)
    scene.add(HalfPlane())
    scene.add(Disk(0.1), (0, 0.1), mass=1)
    scene.add(HalfPlane((0, -1), 0.0), (0, 0.2), mass=2, free="y", force=(0, -30), name="lid")
    last = advanced(compile_scene(scene), 5)[-1]
    np.testing.assert_allclose(force(last, 2), (0, 30), atol=1e-6)


def test_walls_that_slide_do_not_meet_walls() -> None:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Box((1, 1, 1)), fixed=True)
    lid = scene.add(Box((1, 1, 1)), (0, 0, 0.5), mass=1, free="z")
    model = compile_scene(scene)
    state = advanced(model, 10)[-1].state
    assert state.velocity[lid, 2] == pytest.approx(-G * 0.01)
    assert model.is_wall.tolist() == [True, True]


def periodic_layer() -> Scene:
    """Disks between two rough plates as long as the period."""
    scene = Scene((0, 0), d=2, period=(0.6, None))
    scene.law(mu=0.4)
    plate = Clump([(Disk(0.05), (0.05 + 0.1 * k, 0.0)) for k in range(6)])
    scene.add(plate, fixed=True)
    scene.fill(BoxRegion((0, 0.05), (0.6, 0.6)), 18, radius=(0.03, 0.05), density=1000)
    scene.add(
        plate,
        (0, 0.65),
        density=1000,
        free="y",
        motion=ConstantVelocity((0.2, 0)),
        force=(0, -60.0),
        name="upper",
    )
    scene.probe("force", "upper", name="on")
    return scene


def test_a_sliding_wall_may_be_as_long_as_the_period(tmp_path: Path) -> None:
    """It carries its load, counts as a wall in measures, and a run goes on to the same bits."""
    whole = tmp_path / "whole.h5"
    options: dict[str, Any] = {"dt": 2e-3, "every": 50, "on_unsolved": "record"}
    with simulate(periodic_layer(), 2.0, out=whole, **options) as run:
        gained = run.model.mass[19] * run.frame(-1).state.velocity[19, 1]
        assert run.probe("on")[:, 1].sum() * 2e-3 - 60.0 * 2.0 == pytest.approx(gained, abs=1e-9)
        assert run.probe("on")[:, 1].max() > 0.0
        assert run.model.blocked is not None
        assert run.model.blocked[19].tolist() == [True, False, True]
        end = Instant.of_recording(run)
        assert end.movable.tolist() == [False] + [True] * 18 + [False]
        assert end.velocity[19, 0] == 0.2
        expected = run.frame(-1).state
    half = tmp_path / "half.h5"
    simulate(periodic_layer(), 1.0, out=half, **options).close()
    with resume(half, 2.0) as run:
        assert_same(run.frame(-1).state, expected)


def assert_same(one: State, other: State) -> None:
    for name in ("position", "orientation", "velocity"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert np.array_equal(one.impulses.impulse, other.impulses.impulse)


def test_the_problem_of_a_step_keeps_its_mass_matrix() -> None:
    """Guides are zero columns of H: M v + f = Hᵀ r holds with the plain mass, and gives the velocities."""
    done = advanced(compile_scene(pressed_ball(ConstantVelocity((0.1, 0, 0)))), 30)[-1]
    problem, r = done.problem.problem, done.solution.r
    blocks = problem.blocks
    assert blocks is not None
    H, M, f = blocks.jacobian(), blocks.mass(), blocks.momentum()
    v = np.linalg.solve(M.toarray(), H.T @ r.ravel() - f)
    np.testing.assert_allclose(v, done.state.velocity[1:].ravel(), atol=1e-9)


def test_a_scene_without_guides_has_none(tmp_path: Path) -> None:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.add(Sphere(0.1), (0, 0, 0.1), mass=1)
    with simulate(scene, 0.01, 1e-3, out=tmp_path / "run.h5") as run:
        assert run.model.blocked is None
        assert "blocked" not in Recording(tmp_path / "run.h5")._file["model"]


@pytest.mark.parametrize("name", ["scene.toml", "scene.yaml"])
def test_files_hold_guides_and_loads(tmp_path: Path, name: str) -> None:
    if name.endswith(".yaml"):
        pytest.importorskip("yaml")
    scene = pressed_ball(ConstantVelocity((0.1, 0, 0)), torque=([0, 1], [(0, 0, 0), (0, 0, 2)]))
    scene.save(tmp_path / name)
    again = Scene.load(tmp_path / name)
    assert again.to_dict() == scene.to_dict()
    one, other = compile_scene(scene), compile_scene(again)
    assert one.blocked is not None
    assert other.blocked is not None
    assert np.array_equal(one.blocked, other.blocked)
    assert one.loads[2](0.25)[1].tolist() == other.loads[2](0.25)[1].tolist() == [0, 0, 0.5]


@given(st.integers(0, 10**6), st.sampled_from([2, 3]))
@settings(max_examples=10)
def test_random_guides_hold_whatever_falls_on_them(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    scene = Scene(d=d, seed=seed)
    scene.law(mu=0.5, restitution=float(rng.choice([0.0, 0.5])))
    scene.add(Plane() if d == 3 else HalfPlane())
    turns = AXES[d][d:]
    for k in range(4):
        words = ["x", *rng.permutation(AXES[d][1:d])[: rng.integers(d)], *turns[: rng.choice([0, 1])]]
        place = (*rng.uniform(-0.1, 0.1, d - 1), 0.2 + 0.5 * k)
        scene.add(Sphere(0.2) if d == 3 else Disk(0.2), place, mass=1, free=" ".join(words))
    model = compile_scene(scene)
    assume(model.blocked is not None)
    for done in advanced(model, 40, dt=5e-3):
        assert np.isfinite(done.state.velocity).all()
        assert not done.state.velocity[model.blocked].any()
        assert done.solution.status.is_solved


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"free": "w"}, "body 'b': free must name axes among x, y, z, rx, ry, rz, got 'w'"),
    ({"free": "r"}, "free must name axes"),
    ({"free": 3}, "free must name axes"),
    ({"free": ""}, "free names no axis; use fixed=True"),
    ({"free": "rx ry"}, "free to turn about two axes, rx and ry"),
    ({"free": "z", "fixed": True}, "fixed and free along z; give one of the two"),
    ({"free": "z", "velocity": (1, 0, 0)}, "starts with a velocity along an axis that is not free"),
    (
        {"free": "z ry", "motion": Rotation((1, 0, 0), 1.0)},
        "free to turn about one axis and driven about another",
    ),
    ({"fixed": True, "force": (1, 0, 0)}, "a force or a torque on a body that cannot move"),
    ({"motion": ConstantVelocity((0, 0, 1)), "torque": (1, 0, 0)}, "a force or a torque on a body"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError, match=message.replace("(", r"\(")):
        Scene().add(Sphere(0.1), mass=1, name="b", **options)


def test_planes_need_a_mass_and_do_not_turn() -> None:
    for options in ({"free": "z"}, {"free": "z ry", "mass": 1}):
        with pytest.raises(SceneError, match="a plane has no mass of its own; to guide it give mass"):
            Scene().add(Plane(), **options)


def test_a_file_with_a_wrong_axis_says_where(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    path.write_text(
        '[[bodies]]\nmass = 1.0\nfree = "q"\nshape = { type = "sphere", radius = 0.1 }\n', encoding="utf-8"
    )
    with pytest.raises(SceneError, match=r"bodies\[0\]: body 0: free must name axes"):
        Scene.load(path)


def test_the_pull_of_gravity_on_a_pendulum() -> None:
    """A rod on a hinge at its centre of mass keeps its spin."""
    scene = Scene()
    rod = scene.add(Box((1, 0.1, 0.1)), mass=1, free="ry", angular_velocity=(0, 2, 0))
    state = advanced(compile_scene(scene), 100)[-1].state
    assert state.velocity[rod].tolist() == [0, 0, 0, 0, 2, 0]
    assert 2 * math.atan2(state.orientation[rod, 2], state.orientation[rod, 0]) == pytest.approx(0.2)
