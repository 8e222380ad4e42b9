"""The loop in Python: steps, handles, applied forces, branching, recordings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import clapas
from clapas.bodies.rods import Rod
from clapas.cli.run import describe
from clapas.dynamics.state import State
from clapas.errors import NotSolved, SceneError, SettingsError
from clapas.scenes import examples
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Memory
from clapas.scenes.simulation import simulate as run_model
from clapas.viewer import notebook

G = 9.81
DT = 1e-3


def cup_on_table(mu: float = 0.5) -> clapas.Scene:
    """A cup of 2 kg that stands on a floor called table."""
    scene = clapas.Scene()
    scene.law(mu=mu)
    scene.add(clapas.Plane(), name="table")
    scene.add(clapas.Box((0.2, 0.2, 0.2)), (0, 0, 0.1), mass=2.0, name="cup")
    return scene


def pile() -> clapas.Scene:
    scene = clapas.Scene(seed=3)
    scene.law(mu=0.4, restitution=0.3)
    scene.add(clapas.Plane(), name="floor")
    region = clapas.BoxRegion((-0.3, -0.3, 0.1), (0.3, 0.3, 0.7))
    scene.fill(region, 20, radius=(0.05, 0.08), density=2000)
    return scene


def pendulum() -> clapas.Scene:
    scene = clapas.Scene(d=2)
    scene.law(mu=0.3)
    scene.add(clapas.Disk(0.1), (1, 0), mass=2.0, name="bob")
    scene.join("pin", "bob", at=(0, 0), name="pivot")
    return scene


def same(a: State, b: State) -> bool:
    """Whether two states agree in every bit."""
    arrays = [(a.position, b.position), (a.orientation, b.orientation), (a.velocity, b.velocity)]
    arrays += [(getattr(a.impulses, name), getattr(b.impulses, name)) for name in ("a", "b", "impulse")]
    return (a.time, a.step) == (b.time, b.step) and all(np.array_equal(*pair) for pair in arrays)


# -------------------------------------------------------------------- steps


def test_steps_one_by_one_are_those_of_a_run() -> None:
    model, memory = compile_scene(pile()), Memory()
    run_model(model, 0.05, DT, recorder=memory)
    sim = clapas.Simulation(pile(), dt=DT)
    for _ in range(20):
        sim.step()
    sim.step(30)
    assert same(sim.state, memory.steps[-1].state)
    assert sim.work == memory.steps[-1].work
    assert sim.time == pytest.approx(0.05)


def test_the_scene_says_what_is_not_given() -> None:
    sim = clapas.Simulation(examples.load("sliding-block"))
    assert sim.dt == 1e-3
    assert sim.solver == clapas.Auto(tol=1e-6)


def test_no_step_is_no_step() -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT)
    before = sim.state
    sim.step(0)
    assert sim.state is before
    assert sim.last is None
    assert len(sim.contacts()) == 0


def test_an_unsolved_step_raises_and_can_be_gone_back_from() -> None:
    sim = clapas.Simulation(pile(), dt=DT)
    sim.step(200)  # in contact
    before, sim.solver = sim.snapshot(), clapas.NSGS(tol=1e-14, max_iterations=1)
    where = r"of the step to t = 0\.201 s: on_unsolved='record' goes on .*'clapas export RUN --fclib 200'"
    with pytest.raises(NotSolved, match=where):
        sim.step(5)
    assert sim.unsolved == 1
    sim.reset(before)
    sim.on_unsolved = "record"
    sim.step(5)
    assert sim.unsolved >= 1
    assert sim.worst > 1e-14


@pytest.mark.parametrize("count", [-1, 1.5, True, "2"])
def test_steps_are_counted(count: object) -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT)
    with pytest.raises(SettingsError, match="expected a whole number of steps"):
        sim.step(count)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "by which step"),
        ({"dt": 0.0}, "dt must be positive, got 0.0"),
        ({"dt": "fast"}, "dt must be a number, got 'fast'"),
        ({"dt": DT, "on_unsolved": "shrug"}, "on_unsolved must be 'raise' or 'record', got 'shrug'"),
        ({"dt": DT, "scheme": "moreau-jean"}, "scheme must be such as MoreauMidpoint.*, got 'moreau-jean'"),
        ({"dt": DT, "sleeping": True}, "sleeping must be such as Sleeping.*, got True"),
    ],
)
def test_what_no_simulation_can_be_made_of(options: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        clapas.Simulation(cup_on_table(), **options)  # type: ignore[arg-type]


def test_an_empty_scene_and_what_is_none() -> None:
    with pytest.raises(SceneError, match="the scene has no bodies"):
        clapas.Simulation(clapas.Scene(), dt=DT)
    with pytest.raises(SettingsError, match="expected a scene or a model"):
        clapas.Simulation("scene.toml", dt=DT)  # type: ignore[arg-type]


# -------------------------------------------------------------------- bodies and forces


def test_a_force_pushes_for_one_step() -> None:
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.add(clapas.Sphere(0.1), mass=2.0, name="ball")
    sim = clapas.Simulation(scene, dt=0.01)
    sim.body("ball").apply(force=(3, 0, 0))
    sim.body("ball").apply(force=(1, 0, 0))
    sim.step(10)
    assert sim.body("ball").velocity == pytest.approx([0.02, 0, 0])
    assert sim.external_work == pytest.approx(0.5 * 2.0 * 0.02**2)
    assert not sim.state.applied


def test_a_force_off_the_centre_turns() -> None:
    """In 2-D and in 3-D: ω = r × F dt / I."""
    for d in (2, 3):
        scene = clapas.Scene(d=d, gravity=(0.0,) * d)
        shape: clapas.geometry.shapes.Shape = clapas.Disk(0.1) if d == 2 else clapas.Sphere(0.1)
        scene.add(shape, mass=1.0, inertia=0.5 if d == 2 else (0.5, 0.5, 0.5), name="ball")
        sim = clapas.Simulation(scene, dt=0.1)
        force, at = ((0, 1), (0.1, 0)) if d == 2 else ((0, 1, 0), (0.1, 0, 0))
        sim.body("ball").apply(force=force, at=at)
        sim.body("ball").apply(torque=0.4 if d == 2 else (0, 0, 0.4))
        sim.step()
        assert sim.body("ball").angular_velocity[-1] == pytest.approx(0.5 * 0.1 / 0.5)
        point = sim.body("ball").position + ([0.0, 2.0] if d == 2 else [0.0, 2.0, 0.0])
        gained = sim.body("ball").velocity_at(point) - sim.body("ball").velocity
        assert gained[:2] == pytest.approx([-0.2, 0.0])


def test_a_divided_step_has_the_force_in_all_its_parts() -> None:
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.add(clapas.Sphere(0.1), mass=1.0, velocity=(50, 0, 0), name="bullet")
    scheme = clapas.MoreauJean(travel=0.5)
    sim = clapas.Simulation(scene, 0.01, scheme=scheme)
    sim.body("bullet").apply(force=(0, 7, 0))
    sim.step(2)
    assert sim.body("bullet").velocity[1] == pytest.approx(0.07)


def test_friction_holds_a_cup_up_to_its_limit_and_no_more() -> None:
    limit = 0.5 * 2.0 * G
    for share, moves in ((0.999, False), (1.001, True)):
        sim = clapas.Simulation(cup_on_table(), dt=DT, solver=clapas.NSGS(tol=1e-12))
        for _ in range(20):
            sim.body("cup").apply(force=(share * limit, 0, 0), at=(0, 0, 0))
            sim.step()
        assert (sim.body("cup").velocity[0] > 1e-6) == moves
        touching = sim.contacts("table", "cup")
        assert touching.sliding.all() == moves
        assert touching.sticking.all() != moves
        assert touching.slip == pytest.approx(sim.body("cup").velocity[0], abs=1e-9)
        assert touching.force.sum(axis=0)[2] == pytest.approx(2.0 * G, rel=1e-6)


def test_contacts_point_from_the_first_to_the_second() -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT, solver=clapas.NSGS(tol=1e-14))
    sim.step()
    up, down = sim.contacts("table", "cup"), sim.contacts("cup", "table")
    assert np.array_equal(up.normal, np.tile([0.0, 0.0, 1.0], (4, 1)))
    assert np.array_equal(up.normal, -down.normal)
    assert np.array_equal(up.impulse, -down.impulse)
    assert np.array_equal(sim.contacts("cup").impulse, up.impulse)  # what the others do to the cup
    assert np.allclose(up.normal_force, up.force[:, 2])
    assert np.allclose(up.friction_force[:, 2], 0.0)
    first = next(iter(up))
    assert (first.a, first.b, first.mode) == ("table", "cup", "sticking")
    assert [np.array_equal(up[k].force, up.force[k]) for k in (0, 3, -1)] == [True] * 3
    assert np.array_equal(up[0].point, first.point)
    with pytest.raises(IndexError):
        up[4]
    assert repr(up) == "ContactTable(4 contacts: 4 sticking; total force 19.62 N)"
    assert repr(sim.contacts("cup", "cup")) == "ContactTable(4 contacts: 4 sticking; total force 19.62 N)"


def test_frames_of_shapes_are_found_again() -> None:
    """Although the engine keeps the centre of mass and the principal axes."""
    scene = clapas.Scene(gravity=(0, 0, 0))
    shape = clapas.Clump([(clapas.Box((0.4, 0.1, 0.1)), (0.2, 0, 0)), (clapas.Sphere(0.1), (0, 0.3, 0))])
    turn = (np.cos(0.3), 0, 0, np.sin(0.3))
    scene.add(shape, (1, 2, 3), turn, (0.5, 0, 0), (0.3, 0.2, 1), density=1000, name="tool")
    sim = clapas.Simulation(scene, dt=DT)
    tool = sim.body("tool")
    assert tool.origin == pytest.approx([1, 2, 3])
    assert tool.point((0.1, 0, 0)) == pytest.approx([1 + 0.1 * np.cos(0.6), 2 + 0.1 * np.sin(0.6), 3])
    before, at = tool.point((0.1, 0, 0)), tool.velocity_at(tool.point((0.1, 0, 0)))
    sim.step()
    assert tool.point((0.1, 0, 0)) - before == pytest.approx(DT * at, abs=1e-6)
    with pytest.raises(SceneError, match="give Simulation a Scene"):
        clapas.Simulation(sim.model, dt=DT).body("tool").origin  # noqa: B018


def test_names_that_are_not_known() -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT)
    with pytest.raises(SceneError, match=r"no body is called 'cap': did you mean 'cup'\?"):
        sim.body("cap")
    with pytest.raises(SceneError, match="no body is called 'zebra': there are 'table', 'cup'"):
        sim.body("zebra")
    with pytest.raises(SceneError, match="there is no body 7: bodies are numbered 0 to 1"):
        sim.body(7)
    with pytest.raises(SceneError, match="no joint is called 'elbow': there are no joints"):
        sim.joint("elbow")
    assert sim.body(1).name == "cup"


def test_forces_that_cannot_act() -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT)
    with pytest.raises(SceneError, match="body 'table': it cannot move"):
        sim.body("table").apply(force=(1, 0, 0))
    with pytest.raises(SceneError, match="there is nothing to apply"):
        sim.body("cup").apply()
    with pytest.raises(SceneError, match="there is nothing to apply"):
        sim.body("cup").apply(torque=(0, 0, 1), at=(0, 0, 0))
    with pytest.raises(SceneError, match="force must be finite"):
        sim.body("cup").apply(force=(float("nan"), 0, 0))
    with pytest.raises(SceneError, match="force must be 3 numbers, got 2"):
        sim.body("cup").apply(force=(1, 2))


def test_bodies_not_born_yet() -> None:
    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane())
    above = clapas.BoxRegion((0, 0, 1), (0.1, 0.1, 1.1))
    scene.source(above, rate=10, radius=0.01, number=3, start=0.5, density=1000, name="sand")
    sim = clapas.Simulation(scene, dt=0.01)
    assert repr(sim.body("sand 0")) == "Body('sand 0', not born yet)"
    with pytest.raises(SceneError, match=r"it is not born yet at t = 0 s, but appears at t = 0\.5 s"):
        sim.body("sand 0").position  # noqa: B018
    with pytest.raises(SceneError, match="it is not born yet"):
        sim.body("sand 0").apply(force=(1, 0, 0))
    sim.step(60)
    assert sim.body("sand 0").position[2] < 1.1


# -------------------------------------------------------------------- joints


def test_a_joint_has_its_angle_rate_and_reaction() -> None:
    sim = clapas.Simulation(pendulum(), dt=DT)
    pivot, bob = sim.joint("pivot"), sim.body("bob")
    assert (pivot.angle, pivot.rate) == (0.0, 0.0)
    assert not pivot.reaction.force.any()
    sim.step(200)
    angle = np.arctan2(bob.position[1], bob.position[0])
    assert pivot.angle == pytest.approx(angle, abs=1e-12)
    assert pivot.rate == pytest.approx(bob.angular_velocity[0])
    # The reaction carries the weight and turns the velocity of the bob.
    along = bob.position / np.linalg.norm(bob.position)
    tension = 2.0 * (pivot.rate**2 - G * along[1])
    assert -pivot.reaction.force @ along == pytest.approx(tension, rel=1e-2)
    assert repr(pivot).startswith("Joint('pivot': pin of 'bob' and 'world', angle -")


def test_an_effort_in_a_joint_balances_the_weight() -> None:
    sim = clapas.Simulation(pendulum(), dt=DT)
    for _ in range(100):
        sim.joint("pivot").apply(2.0 * G * 1.0)
        sim.step()
    assert abs(sim.joint("pivot").angle) < 1e-12
    assert sim.external_work == pytest.approx(0.0, abs=1e-12)


def test_hinges_and_sliders_in_space() -> None:
    """Two blocks on one axis: efforts in their joints move them as on paper, and each other not."""
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.law(mu=0.5)
    scene.add(clapas.Box((0.2, 0.2, 0.2)), (0, 0, 0), mass=1.0, name="turret")
    scene.add(clapas.Box((0.2, 0.2, 0.2)), (0.5, 0, 0), mass=1.0, name="slide")
    scene.join("hinge", None, "turret", at=(0, 0, 0), axis=(0, 0, 1), name="yaw")
    scene.join("slider", None, "slide", at=(0.5, 0, 0), axis=(0, 0, -1), name="lift")
    sim = clapas.Simulation(scene, dt=DT)
    for _ in range(100):
        sim.joint("yaw").apply(0.1)
        sim.joint("lift").apply(0.2)
        sim.step()
    inertia, t = 1.0 * 0.2**2 / 6, 0.1
    assert sim.joint("yaw").rate == pytest.approx(0.1 / inertia * t)
    assert sim.joint("yaw").angle == pytest.approx(0.05 / inertia * t**2, rel=1e-6)
    assert sim.joint("lift").rate == pytest.approx(0.2 * t)
    assert sim.joint("lift").position == pytest.approx(0.1 * t**2)
    assert sim.body("slide").velocity[2] == pytest.approx(-0.2 * t)
    with pytest.raises(SceneError, match="joint 'lift': a slider joint has no angle"):
        sim.joint("lift").angle  # noqa: B018
    assert repr(sim.joint("lift")) == "Joint('lift': slider of 'world' and 'slide', position 0.001 m)"


# -------------------------------------------------------------------- branching


def hinged(angle: float, turned: bool = True) -> clapas.Simulation:
    scene = clapas.Scene()
    scene.law(mu=0.3)
    place = (math.sin(angle), 0, -math.cos(angle))
    turn = (math.cos(0.5 * angle), 0, -math.sin(0.5 * angle), 0) if turned else None
    scene.add(clapas.Box((0.1, 0.2, 0.3)), place, turn, mass=1.0, name="bob")
    scene.join("hinge", None, "bob", at=(0, 0, 0), axis=(0, -1, 0), name="pivot", start=angle)
    return clapas.Simulation(scene, dt=1e-3)


def test_what_is_read_says_how_to_go_to_another_state() -> None:
    sim = hinged(0.2)
    for handle, name in (
        (sim.body("bob"), "position"),
        (sim.body("bob"), "velocity"),
        (sim.joint(0), "angle"),
    ):
        with pytest.raises(AttributeError, match=f"^{name} is read, not set.*simulation.reset"):
            setattr(handle, name, 0.1)
    with pytest.raises(AttributeError, match="no attribute 'anlge'"):
        sim.joint(0).anlge = 0.1  # type: ignore[attr-defined]
    sim.reset(hinged(0.7).state)
    assert sim.joint("pivot").angle == pytest.approx(0.7)
    sim.step(10)
    other = hinged(0.7)
    other.step(10)
    assert sim.body("bob").position == pytest.approx(other.body("bob").position, abs=1e-9)
    with pytest.raises(
        SettingsError, match=r"joint 'pivot' is open by .* in this state: bodies are joined elsewh"
    ):
        sim.reset(hinged(0.9, turned=False).state)


def test_a_step_is_told_in_a_line() -> None:
    sim = hinged(0.2)
    sim.step()
    assert repr(sim.last) == f"StepResult(t = 0.001 s, step 1, 0 contacts, residual {sim.last.residual:.2e})"


def test_reset_gives_the_same_bits() -> None:
    sim = clapas.Simulation(pile(), dt=DT)
    sim.step(150)
    here = sim.snapshot()
    sim.step(50)
    there, work = sim.state, sim.work
    sim.reset(here)
    assert len(sim.contacts()) > 0
    sim.step(50)
    assert same(sim.state, there)
    assert sim.work == work
    sim.reset(here.state)  # the state alone: no memory of work and contacts, the same motion
    assert len(sim.contacts()) == 0
    sim.step(50)
    assert same(sim.state, there)
    sim.reset()
    assert (sim.time, sim.state.step) == (0.0, 0)


def test_copies_go_their_own_ways() -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT)
    sim.step(3)
    other = sim.copy()
    other.body("cup").apply(force=(0, 0, 100))
    other.step(3)
    sim.step(3)
    assert other.body("cup").velocity[2] > 0.0
    assert abs(sim.body("cup").velocity[2]) < 1e-6
    assert type(other) is clapas.Simulation


def test_a_pending_force_belongs_to_the_state() -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT)
    sim.body("cup").apply(force=(0, 0, 100))
    here = sim.snapshot()
    sim.step(5)
    pushed = sim.state
    sim.reset(here)
    sim.step(5)
    assert same(sim.state, pushed)


def test_states_of_other_scenes_are_refused() -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT)
    with pytest.raises(SettingsError, match="the state has 1 bodies in 2-D, the simulation 2 in 3-D"):
        sim.reset(clapas.Simulation(pendulum(), dt=DT).state)
    with pytest.raises(SettingsError, match="expected a state or a snapshot, got 3"):
        sim.reset(3)  # type: ignore[arg-type]


def test_a_push_wakes_sleepers() -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT, sleeping=clapas.Sleeping(speed=0.5, watch=5, rest=200))
    sim.step(20)
    assert sim.state.sleep is not None
    assert sim.state.sleep.asleep.tolist() == [False, True]
    sim.body("cup").apply(force=(0, 0, 1e3))
    sim.step()
    assert sim.body("cup").velocity[2] == pytest.approx(DT * (1e3 / 2.0 - G))


# -------------------------------------------------------------------- recordings and pages


def test_a_recording_from_the_middle_is_a_normal_one(tmp_path: Path) -> None:
    scene = pile()
    scene.probe("position", 1, name="where")
    sim = clapas.Simulation(scene, dt=DT)
    sim.step(200)
    with sim.record(tmp_path / "run.h5", every=4) as live:
        sim.step(10)
        assert live.is_going_on
    assert repr(live) == f"LiveRecording('{tmp_path / 'run.h5'}', stopped)"
    with clapas.Recording(tmp_path / "run.h5") as run:
        assert run.column("step").tolist() == [0, 4, 8, 10]
        assert run.times.tolist() == pytest.approx([0.2, 0.204, 0.208, 0.21])
        assert run.verify() == 4
        assert len(run.probe("where")) == 11
        assert same(replace(run.frame(-1).state, step=210), sim.state)
        assert len(run.frame(0).contacts) > 0
    with pytest.raises(SettingsError, match="made step by step"):
        clapas.resume(tmp_path / "run.h5")
    clapas.resume(tmp_path / "run.h5", duration=0.02).close()
    sim.step(10)
    with clapas.Recording(tmp_path / "run.h5") as run:
        assert same(replace(run.frame(-1).state, step=220), sim.state)


def test_a_recording_from_the_start_is_that_of_a_run(tmp_path: Path) -> None:
    clapas.simulate(pile(), 0.02, DT, out=tmp_path / "a.h5", every=5).close()
    sim = clapas.Simulation(pile(), dt=DT)
    live = sim.record(tmp_path / "b.h5", every=5)
    sim.step(20)
    with live.stop() as b, clapas.Recording(tmp_path / "a.h5") as a:
        for name in ("position", "velocity", "work", "residual", "kinetic"):
            assert np.array_equal(a.column(name), b.column(name))


def test_time_does_not_go_back_in_a_recording(tmp_path: Path) -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT)
    with sim.record(tmp_path / "run.h5"):
        sim.step(2)
        with pytest.raises(SettingsError, match="a recording is under way"):
            sim.reset()
        assert clapas.Simulation(cup_on_table(), dt=DT, state=sim.state).time == sim.time
    sim.reset()
    with pytest.raises(SettingsError, match="every must be at least 1"):
        sim.record(tmp_path / "run.h5", every=0)
    with pytest.raises(SettingsError, match="there is no folder"):
        sim.record(tmp_path / "nowhere" / "run.h5")


def test_the_step_that_failed_is_in_the_recording(tmp_path: Path) -> None:
    sim = clapas.Simulation(pile(), dt=DT)
    sim.step(200)
    sim.solver = clapas.NSGS(tol=1e-14, max_iterations=1)
    with pytest.raises(NotSolved), sim.record(tmp_path / "run.h5", every=100):
        sim.step(50)
    with clapas.Recording(tmp_path / "run.h5") as run:
        assert not run.frame(-1).status.is_solved


def test_a_page_shows_a_simulation_while_it_goes_on(tmp_path: Path) -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT)
    page = sim.view(tmp_path / "run.h5", browser=False)
    sim.step(3)
    assert page.is_open
    page.close()
    assert repr(page) == f"ViewerProcess('{tmp_path / 'run.h5'}', closed)"
    with clapas.Recording(tmp_path / "run.h5") as run:
        assert run.n_frames == 4
    sim.reset()  # nothing is recorded any more


def test_how_it_shows_itself() -> None:
    sim = clapas.Simulation(cup_on_table(), dt=DT)
    assert repr(sim.body("cup")) == "Body('cup' at (0, 0, 0.1))"
    sim.step(2)
    assert repr(sim) == "Simulation(2 bodies in 3-D, step 2, t = 0.002 s)"
    assert repr(sim.snapshot()) == "Snapshot(step 2, t = 0.002 s)"
    card = notebook.simulation_html(sim)
    assert "0.002 s" in card
    assert "<img" in card
    assert sim.energy.potential == pytest.approx(2.0 * G * 0.1)
    assert sim.body("table").kinetic_energy == 0.0
    assert sim.body("cup").kinetic_energy == pytest.approx(sim.energy.kinetic)


def test_a_body_without_form() -> None:
    """It falls, touches nothing, and can be pictured; without mass and inertia it is refused."""
    scene = clapas.Scene()
    scene.law(mu=0.0)
    scene.add(clapas.Point(), mass=1.0, inertia=(1, 1, 1), name="point")
    sim = clapas.Simulation(scene, dt=1e-2)
    sim.step(3)
    assert sim.body("point").velocity[2] == pytest.approx(-0.03 * G)
    assert len(sim.contacts()) == 0
    assert "<img" in notebook.simulation_html(sim)
    assert clapas.Scene.from_dict(scene.to_dict()).to_dict() == scene.to_dict()
    scene.add(clapas.Point(), mass=1.0)
    with pytest.raises(SceneError, match="too small or too large for double precision"):
        clapas.Simulation(scene, dt=1e-2)
    with pytest.raises(SceneError, match="d must be 2 or 3, got 4"):
        clapas.Point(4)


# -------------------------------------------------------------------- contacts of systems


def rod_and_ball_on_floor() -> clapas.Scene:
    scene = clapas.Scene()
    scene.law(mu=0.3)
    scene.add(clapas.Plane(), name="floor")
    scene.add(clapas.Sphere(0.1), (0, 1, 0.1), mass=1.0, name="ball")
    rod = Rod(position=(0, 0, 0.01), length=0.5, radius=0.01, density=1000, young=1e8, root="free")
    scene.add_rods(rod, name="hair")
    return scene


def test_contacts_of_a_system_are_those_of_all_its_carriers() -> None:
    sim = clapas.Simulation(rod_and_ball_on_floor(), dt=DT)
    sim.step(3)
    weight = np.pi * 0.01**2 * 0.5 * 1000 * G
    for table in (sim.contacts("floor", "hair"), sim.contacts("hair")):
        assert len(table) > 1
        assert np.allclose(table.force.sum(axis=0), (0, 0, weight), rtol=1e-4, atol=1e-5 * weight)
        assert np.allclose(table.normal, (0, 0, 1))
    assert np.allclose(sim.contacts("hair", "floor").force.sum(axis=0)[2], -weight, rtol=1e-4)
    assert len(sim.contacts("hair", "ball")) == 0
    assert len(sim.contacts()) == len(sim.contacts("hair")) + len(sim.contacts("ball"))
    with pytest.raises(SceneError, match="no body or system is called 'hare': did you mean 'hair'"):
        sim.contacts("hare")


def test_segments_of_rods_are_no_bodies_of_their_own_in_a_summary(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    clapas.simulate(rod_and_ball_on_floor(), duration=3 * DT, dt=DT, out=path)
    with clapas.Recording(path) as recording:
        assert describe(recording)["bodies"] == 2


def test_the_worst_residual_of_a_recording_is_that_of_all_steps(tmp_path: Path) -> None:
    path, residuals = tmp_path / "run.h5", []
    sim = clapas.Simulation(pile(), dt=DT)
    with sim.record(path, every=100):
        for _ in range(300):
            sim.step()
            residuals.append(sim.last.residual)
    assert sim.worst == max(residuals) > max(residuals[99::100])
    with clapas.Recording(path) as recording:
        assert recording.column("worst").tolist() == [
            0.0,
            *(max(residuals[k : k + 100]) for k in (0, 100, 200)),
        ]
        assert describe(recording)["worst_residual"] == sim.worst
        assert recording.verify() == 4


@pytest.mark.parametrize("run", [clapas.Simulation, clapas.simulate])
def test_a_name_of_a_file_is_no_scene(run: Callable[..., object]) -> None:
    with pytest.raises(SettingsError, match=r"got 'heap\.toml': clapas\.Scene\.load\(file\) reads one"):
        run("heap.toml", dt=DT)
