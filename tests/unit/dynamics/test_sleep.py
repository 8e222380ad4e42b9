"""Sleep: who falls asleep, who is woken, what it changes, and that runs resume to the same bits."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import clapas
from clapas.dynamics.births import initial_state
from clapas.dynamics.model import Model
from clapas.dynamics.motions import ConstantVelocity
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.sleep import Sleeping, step_with_sleep
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult, step
from clapas.errors import SettingsError
from clapas.geometry.shapes import Box, Plane, Sphere
from clapas.io.recording import Recording, layout
from clapas.io.replay import step_after
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Memory
from clapas.scenes.regions import DiscRegion
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import energy, simulate
from clapas.solvers import NSGS

DT = 1e-3
SOLVER = NSGS(tol=1e-8, max_iterations=5000)
SHORT = Sleeping(watch=5, rest=20)
EDGE = 0.1


def floor() -> Scene:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    return scene


def stack(count: int) -> Scene:
    scene = floor()
    for level in range(count):
        scene.add(Box((EDGE, EDGE, EDGE)), position=(0, 0, EDGE * (0.5 + level)), density=2000)
    return scene


def grains_in_a_box(count: int = 60, seed: int = 3) -> Scene:
    """Spheres that fall on each other between four walls."""
    scene, rng = floor(), np.random.default_rng(seed)
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)):
        scene.add(Plane(normal, -0.04))
    for k in range(count):
        place = (0.026 * (k % 3 - 1), 0.026 * (k // 3 % 3 - 1), 0.02 + 0.026 * (k // 9))
        scene.add(Sphere(float(rng.uniform(0.009, 0.0125))), position=place, density=2500)
    return scene


def steps(model: Model, state: State, count: int, sleeping: Sleeping | None) -> list[StepResult]:
    neighbours, done = Neighbours(model), []
    for _ in range(count):
        given = model, state, DT, SOLVER, None, neighbours
        done.append(step(*given) if sleeping is None else step_with_sleep(*given, sleeping))
        state = done[-1].state
    return done


def settled(model: Model, count: int = 30) -> State:
    """After some steps, all awake."""
    return steps(model, initial_state(model), count, None)[-1].state


def sleepers(done: StepResult) -> int:
    assert done.state.sleep is not None
    return int(done.state.sleep.asleep.sum())


def test_a_resting_stack_sleeps_after_two_watches() -> None:
    model = compile_scene(stack(3))
    done = steps(model, settled(model), 2 * SHORT.watch + 1, SHORT)
    assert [sleepers(part) for part in done] == [0] * (2 * SHORT.watch - 1) + [3, 3]
    last = done[-1]
    assert not last.problem.contacts  # no contact of a body that can move
    assert len(last.contacts) == len(last.state.impulses.a) == 12
    on_floor = last.contacts.a == 0
    weight = 3 * 2000 * EDGE**3 * 9.81
    assert last.state.impulses.impulse[on_floor, 2].sum() / DT == pytest.approx(weight)


def test_all_wake_after_the_rest() -> None:
    model = compile_scene(stack(2))
    done = steps(model, settled(model), 2 * SHORT.watch + SHORT.rest, SHORT)
    assert sleepers(done[-2]) == 2
    assert sleepers(done[-1]) == 0


def test_a_blow_wakes_sleepers_in_the_step_in_which_it_comes() -> None:
    scene = stack(2)
    ball = scene.add(Sphere(EDGE), position=(0, 0, 0.56), density=8000, velocity=(0.5, 0, -5.0))
    model = compile_scene(scene)
    state = settled(model)
    awake, asleep = (steps(model, state, 30, choice) for choice in (None, SHORT))
    hit = next(k for k, part in enumerate(awake) if (part.contacts.b == ball).any())
    assert sleepers(asleep[hit - 1]) == 2
    assert sleepers(asleep[hit]) == 0
    np.testing.assert_allclose(asleep[hit].state.velocity, awake[hit].state.velocity, atol=1e-6)


@pytest.mark.parametrize("speed", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("sleeping", [Sleeping(), Sleeping(rest=900), Sleeping(overload=5.0)])
def test_a_blow_from_the_side_moves_a_sleeper_as_if_it_were_awake(speed: float, sleeping: Sleeping) -> None:
    """Its weight, and how long it is to rest, say nothing about what a horizontal blow does to it."""
    scene = floor()
    scene.add(Box((0.2, 0.2, 0.2)), position=(0, 0, 0.1), density=1000)
    rolling = {"velocity": (speed, 0, 0), "angular_velocity": (0, speed / 0.05, 0)}
    scene.add(Sphere(0.05), (-0.15 - 0.2 * speed, 0, 0.05), density=8000, **rolling)
    model = compile_scene(scene)
    ends = [
        steps(model, initial_state(model), 500, choice)[-1].state.position[1] for choice in (None, sleeping)
    ]
    assert ends[0][0] > 2e-3 * speed**2
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)


@pytest.mark.parametrize(("speed", "expected"), [(0.2, 0), (5.0, 1)])
def test_only_what_is_slower_than_the_bound_sleeps(speed: float, expected: int) -> None:
    """A block slides at 0.25 m/s or a little less: 2.5 times its radius per second."""
    model = compile_scene(stack(1))
    state = initial_state(model)
    velocity = state.velocity.copy()
    velocity[1, 0] = 0.25
    done = steps(model, replace(state, velocity=velocity), 10, replace(SHORT, speed=speed))
    assert sleepers(done[-1]) == expected


def test_a_wall_that_tilts_makes_its_block_slide_when_it_should() -> None:
    """μ = 0.5: the block must start at 26.6°, whether or not sleep is allowed."""
    scene = Scene()
    scene.law(mu=0.5)
    turn = 0.5  # rad/s
    turning = ConstantVelocity((0, 0, 0), (0, turn, 0))
    plank = scene.add(Box((4.0, 1.0, 0.1)), position=(0, 0, -0.05), motion=turning)
    block = scene.add(Box((EDGE, EDGE, EDGE)), position=(0, 0, EDGE / 2), density=2000)
    model = compile_scene(scene)
    slides = []
    for choice in (None, Sleeping(speed=0.02, watch=5, rest=20)):
        memory = Memory()
        simulate(model, 1.5, DT, SOLVER, sleeping=choice, recorder=memory, every=10)
        states = [kept.state for kept in memory.steps]
        far = [float(np.linalg.norm(state.position[block] - state.position[plank])) for state in states]
        slides.append(next(state.time for state, away in zip(states, far, strict=True) if away > 0.105))
    assert slides[0] > math.atan(0.5) / turn
    assert slides[1] == pytest.approx(slides[0], abs=0.02)


def test_energy_is_never_created_and_what_sleep_takes_is_counted() -> None:
    model = compile_scene(grains_in_a_box())
    memory = Memory()
    simulate(model, 0.6, DT, SOLVER, sleeping=Sleeping(speed=0.05, watch=5, rest=20), recorder=memory)
    total = np.array([sum(kept.energy) for kept in memory.steps])
    work = np.array([kept.work for kept in memory.steps])
    assert any(sleepers(kept.stepped) for kept in memory.steps[1:] if kept.stepped)
    assert np.diff(total).max() <= 1e-9 * total[0]
    np.testing.assert_allclose(total - work, total[0], rtol=1e-9)


def test_a_settled_box_with_sleep_stays_within_the_bound() -> None:
    model = compile_scene(grains_in_a_box())
    state = settled(model, 800)
    slow = Sleeping(speed=1e-2, watch=5, rest=45)
    awake, asleep = (steps(model, state, 400, choice) for choice in (None, slow))
    assert sleepers(asleep[-1]) > 50
    grains = model.movable
    apart = np.linalg.norm(asleep[-1].state.position - awake[-1].state.position, axis=1)[grains]
    assert (apart <= slow.speed * 400 * DT * model.reach[grains]).all()
    solved = sum(len(part.problem.contacts) for part in asleep)
    assert solved < 0.3 * sum(len(part.contacts) for part in awake)


def test_a_grain_in_flight_does_not_sleep() -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.add(Sphere(0.1), position=(0, 0, 1), density=2500)
    model = compile_scene(scene)
    assert sleepers(steps(model, initial_state(model), 3 * SHORT.watch, SHORT)[-1]) == 0


def test_a_grain_born_during_the_rest_is_awake() -> None:
    scene = stack(2)
    above = DiscRegion((1.0, 0.0, 0.3), 0.01)
    scene.source(above, rate=1000.0, number=1, radius=(0.02, 0.02), density=2500, start=0.043)
    model = compile_scene(scene)
    done = steps(model, settled(model), 20, SHORT)
    assert sleepers(done[-1]) == 2
    assert done[-1].state.velocity[-1, 2] < 0


@pytest.mark.parametrize("stop", [13, 17, 29])
def test_a_run_with_sleep_resumes_to_the_same_bits(tmp_path: Path, stop: int) -> None:
    scene = stack(3)
    scene.add(Sphere(EDGE / 4), position=(0.02, 0, 4.3 * EDGE), density=8000)
    given = {"dt": DT, "every": 4, "sleeping": SHORT, "solver": SOLVER}
    whole = clapas.simulate(scene, 0.06, out=tmp_path / "whole.h5", **given)
    clapas.simulate(
        scene, 0.06, out=tmp_path / "cut.h5", progress=lambda told: told.step == stop, **given
    ).close()
    cut = clapas.resume(tmp_path / "cut.h5")
    with whole, cut:
        assert whole.column("asleep").any()
        last, other = whole.frame(-1), cut.frame(-1)
        for name in ("position", "orientation", "velocity"):
            assert np.array_equal(getattr(last.state, name), getattr(other.state, name))
        assert np.array_equal(last.state.impulses.impulse, other.state.impulses.impulse)
        for name in layout.SLEEP:
            assert np.array_equal(whole.column(name)[-1], cut.column(name)[-1])


def test_a_step_done_again_knows_who_slept(tmp_path: Path) -> None:
    given = {"dt": DT, "every": 4, "sleeping": SHORT, "solver": SOLVER}
    with clapas.simulate(stack(3), 0.06, out=tmp_path / "run.h5", **given) as run:
        frames = list(run.frames())
        at = next(k for k, frame in enumerate(frames) if frame.state.sleep and frame.state.sleep.asleep.any())
        later = frames[at + 1]
        again = step_after(run, later.state.step - 1)
    assert again.rows is not None
    assert (again.rows < 0).any()
    assert np.array_equal(again.state.position, later.state.position)
    assert np.array_equal(again.state.impulses.impulse, later.state.impulses.impulse)


def test_a_recording_without_sleep_has_none_of_its_columns(tmp_path: Path) -> None:
    with clapas.simulate(stack(1), 0.01, DT, out=tmp_path / "run.h5") as run:
        assert run.frame(-1).state.sleep is None
        with pytest.raises(KeyError, match="no column of a recording is called 'asleep'"):
            run.column("asleep")


def test_a_scene_may_say_that_bodies_sleep(tmp_path: Path) -> None:
    scene = stack(2)
    scene.run = Run(duration=0.02, dt=DT, sleeping={"speed": 0.1, "watch": 5})
    again = Scene.from_dict(scene.to_dict())
    with clapas.simulate(again, out=tmp_path / "run.h5") as run:
        assert run.settings["sleeping"]["watch"] == 5
        assert run.frame(-1).state.sleep is not None
        assert isinstance(run, Recording)


def test_wrong_settings_are_told() -> None:
    with pytest.raises(SettingsError, match="speed must be positive, got 0"):
        Sleeping(speed=0)
    with pytest.raises(SettingsError, match="rest must be a whole number, at least 1, got 0"):
        Sleeping(rest=0)
    scene = stack(1)
    scene.run = Run(duration=0.02, dt=DT, sleeping={"sped": 0.1})
    with pytest.raises(SettingsError, match=r"sleeping has no setting 'sped'"):
        clapas.simulate(scene)


def test_energy_of_sleepers_is_that_of_bodies_at_rest() -> None:
    model = compile_scene(stack(2))
    done = steps(model, settled(model), 2 * SHORT.watch, SHORT)
    assert energy(model, done[-1].state).kinetic == 0.0


def test_the_model_of_the_same_sleepers_is_made_once() -> None:
    model = compile_scene(stack(3))
    held = np.array([False, True, False, True])
    first = model.holding(held)
    assert model.holding(held.copy()) is first
    assert first.movable.tolist() == [False, False, True, False]
    held[1] = False  # who asks may change their own array
    assert model.holding(held).movable.tolist() == [False, True, True, False]


def test_contacts_between_sleepers_keep_their_impulses_and_others_are_solved() -> None:
    model = compile_scene(stack(3))
    state = settled(model)
    asleep = np.array([False, True, True, False])
    done = step(model, state, DT, SOLVER, None, Neighbours(model), asleep=asleep)
    assert done.rows is not None
    kept = done.rows < 0
    among = np.isin(done.contacts.a, (0, 1)) & np.isin(done.contacts.b, (1, 2))
    assert np.array_equal(kept, among)
    before = {(a, b, feature): row for a, b, feature, row in _impulses(state)}
    for a, b, feature, row in _impulses(done.state):
        if b < 3:
            assert row == before[(a, b, feature)]
    assert done.state.impulses.couple.strides == (0, 0)  # nothing rolls: no room is taken


def _impulses(state: State) -> list[tuple[int, int, int, list[float]]]:
    given = state.impulses
    return list(zip(*(x.tolist() for x in (given.a, given.b, given.feature, given.impulse)), strict=True))
