"""Trusses that move: closed-form motions, cables that never push, contacts, actuators, files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clapas
from clapas.bodies.trusses import Actuator, Group, Material, MovingTruss, Section, Truss, modes
from clapas.bodies.trusses.generators import prism, six_strut_ball
from clapas.dynamics.births import initial_state
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.state import State
from clapas.dynamics.stepping import step
from clapas.errors import SceneError
from clapas.scenes.compilation import compile_scene
from clapas.scenes.simulation import energy
from clapas.solvers import Auto

G = 9.81
LIGHT, THIN = Material(young=1e8, density=1e-6), Section(area=1e-5)
WIRE = Group(name="wire", kind="cable", material=LIGHT, section=THIN)
STRUT = Group(name="strut", kind="bar", material=LIGHT, section=THIN)


def hung(group: Group = WIRE, **settings: Any) -> MovingTruss:
    """A weight of 1 kg on a member of 1 m and 1000 N/m."""
    truss = Truss(
        nodes=[[0, 0], [0, -1]],
        members=[[0, 1]],
        group=[0],
        groups=[group],
        is_blocked=[[True, True], [False, False]],
    )
    return MovingTruss(truss=truss, masses=[0.0, 1.0], **settings)


def scene_of(moving: MovingTruss, floor: float | None = None, mu: float = 0.5) -> clapas.Scene:
    scene = clapas.Scene(d=moving.d)
    scene.law(mu=mu)
    if floor is not None:
        wall = clapas.Plane() if moving.d == 3 else clapas.HalfPlane()
        scene.add(wall, position=(0,) * (moving.d - 1) + (floor,))
    scene.add_system(moving, name="truss")
    return scene


def run(
    moving: MovingTruss, dt: float, steps: int, floor: float | None = None, scheme: MoreauJean | None = None
) -> tuple[Model, list[State]]:
    model = compile_scene(scene_of(moving, floor))
    states, near = [initial_state(model)], Neighbours(model)
    for _ in range(steps):
        done = step(model, states[-1], dt, Auto(tol=1e-10), scheme, near)
        assert done.solution.status.is_solved
        states.append(done.state)
    return model, states


@pytest.mark.parametrize("group", [WIRE, STRUT])
def test_a_weight_on_a_spring_swings_with_its_energy(group: Group) -> None:
    """X = (m g/k)(1 − cos ωt): it never goes above the start, so a cable stays taut; a bar does the same."""
    period = 2 * np.pi * np.sqrt(1.0 / 1000.0)
    errors = []
    for steps in (100, 200):
        model, states = run(hung(group), period / steps, steps)
        x = np.array([-1.0 - state.parts[0].q[1] for state in states])
        t = np.array([state.time for state in states])
        exact = G / 1000.0 * (1.0 - np.cos(np.sqrt(1000.0) * t))
        errors.append(np.abs(x - exact).max())
        total = [sum(energy(model, state)) for state in states]
        assert np.ptp(total) < 1e-12 * G
    assert errors[0] < 2e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)  # second order


@pytest.mark.parametrize(("dt", "told"), [(1e-4, 0), (2e-3, 1)])
def test_a_member_that_turns_too_far_in_a_step_is_told_once(dt: float, told: int) -> None:
    """A bar of 40 mg pulled across by 1 N passes its lowest point with 3 N in short steps."""
    group = Group(name="bar", kind="bar", material=Material(young=1e9), section=Section(area=1e-6))
    bar = Truss(
        nodes=[[0, 0], [0.05, 0]],
        members=[[0, 1]],
        groups=[group],
        group=[0],
        is_blocked=[[1, 1], [0, 0]],
        cases={"across": [[0, 0], [0, 1]]},
    )
    moving = MovingTruss(truss=bar, case="across", masses=[0.0, 4e-5])
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.3)
    scene.add_system(moving, name="bar")
    sim = clapas.Simulation(scene, dt=dt)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sim.step(round(0.02 / dt))
    texts = [str(one.message) for one in caught]
    assert len(texts) == told
    assert all("truss 'bar' at t =" in text and "member 0 turns by" in text for text in texts)
    if not told:
        assert 0.0 < moving.tensions(sim.state.parts[0])[0] < 5.0


def test_a_slack_cable_lets_fall_and_catches() -> None:
    """The weight starts 5 cm above the end of its cable, falls freely, and stops by its energy."""
    moving = hung(actuators=[Actuator(members=[0], times=[0.0], factors=[1.05])])
    _, states = run(moving, 4e-4, 500)
    y = np.array([state.parts[0].q[1] for state in states])
    t = np.array([state.time for state in states])
    falling = t < np.sqrt(2 * 0.05 / G) - 4e-4
    np.testing.assert_allclose(y[falling], -1.0 - 0.5 * G * t[falling] ** 2, atol=1e-12)
    k = 1000.0
    depth = (G + np.sqrt(G**2 + 2 * k * G * 0.05)) / k  # ½ k z² = m g (0.05 + z)
    assert -1.05 - y.min() == pytest.approx(depth, rel=1e-3)
    tension = [moving.tensions(state.parts[0])[0] for state in states]
    assert min(tension) == 0.0


def test_damping_brings_the_weight_to_rest_where_it_hangs() -> None:
    _, states = run(hung(damping_time=0.05), 2e-3, 400)
    assert states[-1].parts[0].q[1] == pytest.approx(-1.0 - G / 1000.0, abs=1e-9)
    assert abs(states[-1].parts[0].v[1]) < 1e-8


def test_an_inextensible_cable_is_a_pendulum() -> None:
    moving = hung(is_inextensible=True, velocity=[[0, 0], [0.1, 0]])
    model, states = run(moving, 5e-3, 240)
    x = np.array([state.parts[0].q[:2] for state in states])
    assert np.abs(np.linalg.norm(x, axis=1) - 1.0).max() < 1e-6
    crossings = np.flatnonzero((x[:-1, 0] > 0) & (x[1:, 0] <= 0))
    assert states[crossings[0]].time == pytest.approx(np.pi / np.sqrt(G), abs=5e-3)
    assert np.ptp([sum(energy(model, state)) for state in states]) < 1e-5
    assert states[-1].links is not None
    assert states[-1].links.impulse[0, 0] / 5e-3 == pytest.approx(G, rel=2e-2)  # the tension
    assert np.isnan(moving.tensions(states[-1].parts[0])[0])


def test_small_vibrations_have_the_frequencies_of_modal_analysis() -> None:
    """A prestressed prism, its lower nodes held, pushed along its lowest mode."""
    truss = prism(3)
    held = truss.nodes[:, 2] < truss.nodes[:, 2].mean()
    truss = truss.with_(is_blocked=np.repeat(held[:, None], 3, axis=1))
    found = modes(truss, 1)
    period = 1.0 / found.frequencies[0]
    push = 1e-4 * found.shapes[0] / np.abs(found.shapes[0]).max()
    moving = MovingTruss(truss=truss, velocity=push)
    scene = scene_of(moving)
    scene.gravity = (0.0, 0.0, 0.0)
    model = compile_scene(scene)
    state, near = initial_state(model), Neighbours(model)
    start, speeds, dt = state.parts[0].v, [], period / 100
    for _ in range(150):
        state = step(model, state, dt, Auto(tol=1e-11), None, near).state
        speeds.append(float(state.parts[0].v @ start))
    quarter = int(np.flatnonzero(np.array(speeds) < 0)[0])
    assert (quarter + 0.5) * dt == pytest.approx(0.25 * period, rel=0.05)
    last = int(np.flatnonzero(np.array(speeds)[50:] > 0)[0]) + 50
    assert (last + 0.5) * dt == pytest.approx(0.75 * period, rel=0.02)


def test_a_ball_of_struts_falls_rebounds_and_rests() -> None:
    """Free flight is that of its centre; energy is lost but for the order of the scheme; it comes to rest."""
    truss = six_strut_ball()
    low = float(truss.nodes[:, 2].min())
    moving = MovingTruss(truss=truss, damping_time=3e-4, node_radius=0.02, bar_radius=0.02)
    model, states = run(moving, 2e-3, 350, floor=low - 0.02 - 0.1)
    total = np.array([sum(energy(model, state)) for state in states])
    assert np.diff(total).max() < 1e-3 * energy(model, states[71]).kinetic
    free = states[40]
    heights = moving.nodes_at(free.parts[0])[:, 2] - truss.nodes[:, 2]
    np.testing.assert_allclose(heights, -0.5 * G * free.time**2, atol=1e-5)
    deepest = min(float(moving.nodes_at(state.parts[0])[:, 2].min()) for state in states)
    assert deepest > low - 0.1 - 1.5 * 1e-3  # half a step at the speed of the fall
    assert energy(model, states[-1]).kinetic < 1e-3 * energy(model, states[71]).kinetic
    weight = float(truss.mass.sum()) * G
    lift = states[-1].impulses.impulse[:, 2].sum() / 2e-3
    assert abs(lift) == pytest.approx(weight, rel=0.02)


def test_a_bar_lies_on_an_edge_of_a_box() -> None:
    """Contacts between nodes: a bar across the edge of a box balances where its middle is supported."""
    truss = Truss(
        nodes=[[-1.0, 0, 0], [1.0, 0, 0]],
        members=[[0, 1]],
        group=[0],
        groups=[
            Group(name="bar", kind="bar", material=Material(young=2e11), section=Section.round(diameter=0.04))
        ],
    )
    moving = MovingTruss(truss=truss, bar_radius=0.02)
    scene = scene_of(moving)
    scene.add(clapas.Box((0.4, 1.0, 1.0)), position=(0, 0, -0.52), fixed=True)
    model = compile_scene(scene)
    state, near = initial_state(model), Neighbours(model)
    for _ in range(50):
        state = step(model, state, 1e-3, Auto(tol=1e-8), None, near).state
    assert np.abs(moving.nodes_at(state.parts[0]) - truss.nodes).max() < 1e-9
    weight = float(truss.mass.sum()) * G
    assert abs(state.impulses.impulse[:, 2].sum()) / 1e-3 == pytest.approx(weight, rel=1e-6)
    poses, twists = moving.poses(state.parts[0]), moving.twists(state.parts[0])
    assert poses.position.shape == (1, 3)
    assert np.abs(twists).max() < 1e-8


def test_velocities_of_points_are_those_of_poses() -> None:
    """The Jacobian and the twists of carriers agree with differences of poses."""
    truss = six_strut_ball()
    moving = MovingTruss(truss=truss, node_radius=0.01, bar_radius=0.02)
    random = np.random.default_rng(3)
    part = moving.start()
    v = random.normal(size=moving.n_dof)
    here, there = moving.advance(part, v, 0.0), moving.advance(part, v, 1e-6)
    carriers = np.arange(moving.n_carriers)
    before, after = moving.poses(here), moving.poses(there)
    local = random.normal(scale=0.02, size=(len(carriers), 3))
    local[: truss.n_nodes] = 0.0
    local[truss.n_nodes :, 2] = random.uniform(-0.4, 0.4, len(carriers) - truss.n_nodes)
    from clapas.bodies.kind import Touches
    from clapas.geometry.rotations import rotate

    points = before.position + rotate(before.orientation, local)
    rates = (moving.jacobian(here, Touches(carriers, points)) @ v).reshape(-1, 3)
    twist = moving.twists(here)
    spun = twist[:, :3] + rotate(before.orientation, np.cross(twist[:, 3:], local))
    np.testing.assert_allclose(rates, spun, atol=1e-9)
    middles = (after.position - before.position) / 1e-6
    np.testing.assert_allclose(twist[:, :3], middles, atol=1e-5)


def test_actuators_shorten_a_cable_and_lift() -> None:
    """A winch takes 10 % of the cable in a second, slowly enough that the weight just follows."""
    winch = Actuator(members=[0], times=[0.1, 1.1], factors=[1.0, 0.9])
    _, states = run(hung(actuators=[winch], damping_time=0.05), 5e-3, 320)
    assert states[-1].parts[0].q[1] == pytest.approx(-0.9 - G / 1000.0, abs=1e-5)


def test_runs_are_kept_resumed_and_written(tmp_path: Path) -> None:
    truss = six_strut_ball()
    moving = MovingTruss(
        truss=truss,
        damping_time=3e-4,
        node_radius=0.02,
        velocity=np.tile([0.1, 0, 0], (12, 1)),
        actuators=[Actuator(members=[2, 5], times=[0.0, 0.1], factors=[1.0, 0.98])],
    )
    low = float(truss.nodes[:, 2].min())

    def scene() -> clapas.Scene:
        made = clapas.Scene()
        made.law(mu=0.5)
        made.add(clapas.Sphere(0.1), position=(3, 0, 0), density=1000)
        made.add_system(moving, name="ball")
        made.add(clapas.Plane(), position=(0, 0, low - 0.03))
        return made

    path, whole = tmp_path / "part.h5", tmp_path / "whole.h5"
    clapas.simulate(scene(), 0.06, 2e-3, out=path).close()
    clapas.simulate(scene(), 0.12, 2e-3, out=whole).close()
    with clapas.resume(path, 0.12) as again, clapas.Recording(whole) as expected:
        assert again.column("digest").tolist() == expected.column("digest").tolist()
        assert [skin.name for skin in again.systems[0].skins] == ["bars", "cables"]
        bars, cables = again.frame(-1).looks[0]
        assert bars.values[0].shape == (6,)
        assert (cables.values[0][np.isfinite(cables.values[0])] > 0).all()
    scene().save(tmp_path / "scene.toml")
    read = clapas.Scene.load(tmp_path / "scene.toml")
    assert read.to_dict() == scene().to_dict()
    assert [body.name for body in read.bodies] == [body.name for body in scene().bodies]


BAD = {
    "massless": (lambda: MovingTruss(truss=hung().truss.with_(groups=[WIRE])), None),
    "speed of a support": (lambda: hung(velocity=[[1, 0], [0, 0]]), "supports do not move"),
    "shape of velocity": (lambda: hung(velocity=[[1, 0]]), "2 nodes need finite rows of 2"),
    "bars in the plane": (lambda: hung(bar_radius=0.1), "in the plane bars do not touch"),
    "damping": (lambda: hung(damping_time=-1.0), "MovingTruss: damping_time must be at least 0, got -1.0"),
    "radius": (lambda: hung(node_radius=np.nan), "MovingTruss: node_radius must be finite, got nan"),
    "no such member": (
        lambda: hung(actuators=[Actuator(members=[4], times=[0.0], factors=[1.0])]),
        "no member 4; the truss has members 0 to 0",
    ),
    "times": (lambda: Actuator(members=[0], times=[1.0, 0.0], factors=[1.0, 1.0]), "times must increase"),
    "factors": (lambda: Actuator(members=[0], times=[1.0], factors=[0.0]), "stay positive"),
    "settings": (lambda: MovingTruss.from_dict({"mass": 1}, Path()), "unknown setting 'mass'"),
    "no truss": (lambda: MovingTruss.from_dict({}, Path()), "no 'truss'"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_named(kind: str) -> None:
    make, message = BAD[kind]
    if message is None:
        make()
        return
    with pytest.raises(SceneError, match=message):
        make()


def test_an_unknown_kind_in_a_file_is_named() -> None:
    with pytest.raises(SceneError, match=r"systems\[0\].*no kind of bodies is called 'trus'.*'truss'"):
        clapas.Scene.from_dict({"systems": [{"kind": "trus"}]})
