"""Steps of few bodies against the general step: the same bits, and the same answers to every question."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from clapas.dynamics.births import initial_state
from clapas.dynamics.few.tables import MOST, FewBodies
from clapas.dynamics.model import Model
from clapas.dynamics.motions import ConstantVelocity, Oscillation, Rotation
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean, MoreauMidpoint, QuasiStatic
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult, step
from clapas.errors import ProblemError
from clapas.geometry.shapes import Box, Capsule, Cylinder, Disk, HalfPlane, Plane, Polygon, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Memory
from clapas.scenes.regions import BoxRegion
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate
from clapas.solvers import NSGS, Auto, SemismoothNewton
from clapas.solvers.loop import Solver
from clapas.status import Status


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels are compiled at once, not only in long runs."""
    monkeypatch.setattr("clapas.dynamics.neighbours.is_kept", lambda kernel: True)


class General(Neighbours):
    """Neighbours whose steps are all done by the general one."""

    def few(self, state: State) -> FewBodies | None:
        """None, whatever the bodies."""
        return None


def leaning(degrees: float) -> tuple[float, float, float]:
    angle = np.deg2rad(degrees)
    return float(9.81 * np.sin(angle)), 0.0, float(-9.81 * np.cos(angle))


def ground(d: int = 3, mu: float = 0.5, restitution: float = 0.0, degrees: float = 0.0) -> Scene:
    """A floor."""
    scene = Scene(d=d) if d == 2 else Scene(gravity=leaning(degrees))
    scene.law(mu=mu, restitution=restitution)
    scene.add(HalfPlane() if d == 2 else Plane())
    return scene


def slope(degrees: float) -> Scene:
    scene = ground(degrees=degrees)
    scene.add(Box((0.2, 0.2, 0.1)), (0, 0, 0.05), density=2000)
    return scene


def stack() -> Scene:
    scene = ground()
    for k in range(10):
        scene.add(Box((0.2, 0.2, 0.2)), (0, 0, 0.1 + 0.2 * k), density=2000)
    return scene


def wall() -> Scene:
    """More than 64 contacts: sweeps are not done here."""
    scene = ground()
    for k in range(5):
        for low, high in pairwise([0.0, 0.5, 1.5, 2.5, 3.0] if k % 2 else [0.0, 1.0, 2.0, 3.0]):
            size = (0.2 * (high - low), 0.1, 0.1)
            scene.add(Box(size), (0.1 * (low + high), 0, 0.05 + 0.1 * k), density=2000)
    return scene


def wall_that_is_hit() -> Scene:
    """A ball flies, passes within reach of the wall and lands on it."""
    scene = wall()
    scene.add(Sphere(0.05), (0.3, 0.0, 0.6), velocity=(0.0, 0.0, -0.5), density=2000)
    scene.add(Sphere(0.05), (0.1, 0.1004, 0.4), velocity=(0.5, 0.0, 0.0), density=2000)
    return scene


def pyramid() -> Scene:
    scene, r = ground(mu=0.7), 0.1
    for layer in range(3):
        n, z = 3 - layer, r + layer * np.sqrt(2.0) * r
        for i in range(n):
            for j in range(n):
                scene.add(Sphere(r), (r * (2 * i + layer), r * (2 * j + layer), z), density=1000)
    return scene


def dominoes() -> Scene:
    scene = ground(mu=0.4)
    for k in range(5):
        velocity, spin = ((0.8, 0, 0), (0, 8.0, 0)) if k == 0 else ((0, 0, 0), (0, 0, 0))
        place = 0.1 * k, 0, 0.1
        scene.add(Box((0.02, 0.1, 0.2)), place, velocity=velocity, angular_velocity=spin, density=500)
    return scene


def polygons() -> Scene:
    scene = ground(d=2, mu=0.4)
    stone = Polygon([(0.06, 0.0), (0.02, 0.05), (-0.04, 0.034), (-0.05, -0.04), (0.024, -0.054)])
    for k in range(6):
        scene.add(stone, (0.03 * (k % 2), 0.08 + 0.12 * k), 0.7 * k, density=1000)
    scene.add(Disk(0.03), (0.2, 0.03), velocity=(-0.5, 0), density=1000)
    return scene


def bouncing() -> Scene:
    scene = ground(mu=0.2, restitution=0.9)
    scene.add(Sphere(0.05), (0, 0, 0.08), velocity=(0.3, 0, -1.0), density=1000)
    return scene


def top() -> Scene:
    scene = ground()
    scene.add(Cylinder(0.1, 0.02), (0, 0, 0.5), angular_velocity=(1.0, 0.2, 60.0), density=1000)
    scene.add(Box((0.2, 0.1, 0.05)), (1, 0, 0.026), angular_velocity=(0.1, 0.3, 20.0), density=1000)
    return scene


def shaken() -> Scene:
    scene = Scene()
    scene.law(mu=0.35, restitution=0.6, tangential_restitution=0.2)
    plate = Box((1.0, 1.0, 0.1))
    scene.add(plate, (0, 0, -0.05), motion=Oscillation(0.01, 25.0, (0.2, 0.1, 1.0)))
    scene.add(Box((0.1, 0.1, 0.1)), (0, 0, 0.05), density=1200)
    scene.add(Sphere(0.05), (0.2, 0, 0.06), density=1200)
    return scene


def table_that_turns() -> Scene:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane(), motion=Rotation((0, 0, 1), 2.0))
    scene.add(Plane((-1, 0, 0), -2.0), motion=ConstantVelocity((-0.1, 0, 0)))
    scene.add(Box((0.1, 0.2, 0.1)), (0.3, 0, 0.05), density=1000)
    return scene


def rods() -> Scene:
    scene = ground(mu=0.3)
    scene.add(Capsule(0.05, 0.3), (0, 0, 0.06), (np.sqrt(0.5), np.sqrt(0.5), 0, 0), density=1000)
    scene.add(Capsule(0.05, 0.3), (0.02, 0, 0.17), (np.sqrt(0.5), 0, np.sqrt(0.5), 0), density=1000)
    scene.add(Cylinder(0.1, 0.2), (0.5, 0, 0.1), density=1000)
    scene.add(Cylinder(0.1, 0.2), (0.52, 0, 0.301), density=1000)
    return scene


def ratio() -> Scene:
    scene = ground()
    scene.add(Box((0.1, 0.1, 0.1)), (0, 0, 0.05), density=1)
    scene.add(Box((0.1, 0.1, 0.1)), (0, 0, 0.15), density=1e8)
    return scene


def falling() -> Scene:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Box((0.1, 0.2, 0.3)), angular_velocity=(1, 2, 3), density=1000)
    return scene


def together() -> Scene:
    """Two boxes that touch and fall side by side: nothing happens at their contacts."""
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Box((0.1, 0.1, 0.1)), (0, 0, 1), density=1000)
    scene.add(Box((0.1, 0.1, 0.1)), (0.1, 0, 1), density=1000)
    return scene


def slippery() -> Scene:
    scene = ground(mu=0.0, degrees=10.0)
    scene.add(Box((0.1, 0.1, 0.1)), (0, 0, 0.05), velocity=(0.2, 0.1, 0), density=1000)
    return scene


def rough() -> Scene:
    scene = ground(mu=1e6, degrees=40.0)
    scene.add(Box((0.1, 0.1, 0.1)), (0, 0, 0.05), velocity=(0.2, 0.1, -0.1), density=1000)
    return scene


def loaded() -> Scene:
    """A box pushed along the floor and a brick in the air that a torque turns: bodies that gyrate or not."""
    scene = ground()
    scene.add(Box((0.1, 0.1, 0.1)), (0, 0, 0.05), density=1000, force=([0, 0.1], [(0, 0, 0), (9, 1, -2)]))
    turning = {"torque": (0.02, 0.01, 0.03), "angular_velocity": (3.0, 1.0, -2.0)}
    scene.add(Box((0.2, 0.1, 0.05)), (1, 0, 0.2), density=1000, **turning)
    return scene


SCENES: dict[str, tuple[Callable[[], Scene], int]] = {
    "rests": (lambda: slope(20.0), 200),
    "slides": (lambda: slope(27.5), 200),
    "stack": (stack, 60),
    "wall": (wall, 40),
    "wall that is hit": (wall_that_is_hit, 200),
    "pyramid": (pyramid, 60),
    "dominoes": (dominoes, 200),
    "polygons": (polygons, 200),
    "bouncing": (bouncing, 200),
    "top": (top, 200),
    "shaken": (shaken, 200),
    "table that turns": (table_that_turns, 200),
    "rods": (rods, 100),
    "ratio": (ratio, 20),
    "falling": (falling, 50),
    "together": (together, 20),
    "slippery": (slippery, 100),
    "rough": (rough, 100),
    "loaded": (loaded, 150),
}


def states_differ(one: State, two: State) -> list[str]:
    """Columns of two states whose bits differ."""
    names = "time", "step", "position", "orientation", "velocity", "dt"
    columns = {name: (getattr(one, name), getattr(two, name)) for name in names}
    for name in ("a", "b", "feature", "impulse", "couple"):
        columns[name] = getattr(one.impulses, name), getattr(two.impulses, name)
    return [name for name, (a, b) in columns.items() if np.asarray(a).tobytes() != np.asarray(b).tobytes()]


def in_step(
    model: Model, steps: int, solver: Solver, scheme: MoreauJean | None = None
) -> list[tuple[StepResult, StepResult]]:
    """The same steps done both ways."""
    state, few, general = initial_state(model), Neighbours(model), General(model)
    done = []
    for _ in range(steps):
        one, two = (step(model, state, 1e-3, solver, scheme, near) for near in (few, general))
        assert not (different := states_differ(one.state, two.state)), different
        state = one.state
        done.append((one, two))
    return done


@pytest.mark.parametrize("name", SCENES)
def test_both_steps_give_the_same_bits(name: str) -> None:
    scene, steps = SCENES[name]
    model = compile_scene(scene())
    assert FewBodies(model).is_supported
    for one, two in in_step(model, steps, Auto(tol=1e-4)):
        assert "outcome" in vars(one)
        assert "outcome" not in vars(two)
        assert one.status is two.status
        assert one.residual == two.residual
        assert (one.work, one.given) == (two.work, two.given)


def test_carried_impulses_are_laid_out_as_kernels_are_bound_to_them() -> None:
    """Also where some contacts bear nothing and are left out: else the next step would misread their keys."""
    scene = ground()
    for x in (0.0, 0.1 + 1e-7):  # side by side, within reach of each other
        scene.add(Box((0.1, 0.1, 0.1)), (x, 0, 0.05), density=2000)
    done = [one for one, _ in in_step(compile_scene(scene), 5, Auto(tol=1e-4))]
    assert any(one.rows is not None for one in done)
    for one in done:
        old = one.state.impulses
        assert all(column.flags.c_contiguous for column in (old.a, old.b, old.feature, old.impulse))


def test_a_wall_at_rest_asks_the_solver_once() -> None:
    """The first impulses are better than asked for, and carried."""
    first, *later = (one for one, _ in in_step(compile_scene(wall()), 40, Auto(tol=1e-4)))
    assert first.residual < 1e-9
    assert all(one.solution.iterations == 0 for one in later)


@pytest.mark.parametrize("name", ["slides", "polygons", "shaken", "together", "pyramid", "falling"])
def test_what_is_made_when_asked_for_is_the_same(name: str) -> None:
    model = compile_scene(SCENES[name][0]())
    for one, two in in_step(model, 8, Auto(tol=1e-6)):
        for column in ("a", "b", "collider_a", "collider_b", "feature", "point", "normal", "gap"):
            np.testing.assert_array_equal(getattr(one.contacts, column), getattr(two.contacts, column))
        assert (one.rows is None) == (two.rows is None)
        if one.rows is not None and two.rows is not None:
            np.testing.assert_array_equal(one.rows, two.rows)
        a, b = one.problem, two.problem
        assert a.problem.blocks is not None
        assert b.problem.blocks is not None
        for column in ("G", "bodies", "y_free", "root"):
            np.testing.assert_array_equal(
                getattr(a.problem.blocks, column), getattr(b.problem.blocks, column)
            )
        for column in ("w", "mu"):
            np.testing.assert_array_equal(getattr(a.problem, column), getattr(b.problem, column))
        for column in ("apart", "frame", "cohesion", "scale"):
            np.testing.assert_array_equal(getattr(a, column), getattr(b, column))
        assert (a.wall is None) == (b.wall is None)
        s, t = one.solution, two.solution
        np.testing.assert_array_equal(s.r, t.r)
        np.testing.assert_array_equal(s.u, t.u)
        assert (s.status, s.residual, s.iterations, s.notes) == (t.status, t.residual, t.iterations, t.notes)
        np.testing.assert_array_equal(s.history.iterations, t.history.iterations)
        np.testing.assert_array_equal(s.history.residuals, t.history.residuals)
        assert s.residual == a.problem.residual(s.r)  # by the judge
        np.testing.assert_array_equal(one.middle.position, two.middle.position)
        np.testing.assert_array_equal(one.middle.velocity, two.middle.velocity)
        assert one.joints is None


@pytest.mark.parametrize(
    "solver",
    [
        NSGS(tol=1e-6),
        NSGS(tol=1e-6, relaxation=0.9),
        NSGS(tol=1e-3, max_iterations=2),
        SemismoothNewton(tol=1e-8),
        Auto(tol=1e-10),
    ],
)
def test_the_solver_of_the_user_is_the_one_that_answers(solver: Solver) -> None:
    for one, two in in_step(compile_scene(slope(27.5)), 10, solver):
        assert one.solution.solver == solver
        assert one.solution.iterations == two.solution.iterations
        assert one.solution.status is two.solution.status


@pytest.mark.parametrize(
    "scheme", [MoreauMidpoint(reach=0.0), MoreauJean(theta=0.8), QuasiStatic(), MoreauMidpoint(reach=1e-4)]
)
def test_other_schemes_too(scheme: MoreauJean) -> None:
    for make in (lambda: slope(20.0), polygons):
        assert in_step(compile_scene(make()), 20, Auto(tol=1e-6), scheme)


def test_a_projection_is_left_to_the_general_step() -> None:
    model = compile_scene(slope(20.0))
    done = step(model, initial_state(model), 1e-3, Auto(), MoreauMidpoint(projection=0.2))
    assert "outcome" not in vars(done)


@pytest.mark.parametrize(
    "law",
    [
        {"mu": 0.5, "rolling": 1e-3},
        {"mu": 0.5, "cohesion": 1.0},
        {"mu": 0.5, "mu_across": 0.2, "direction": (1, 0, 0)},
    ],
)
def test_laws_the_kernels_do_not_know_are_left_to_the_general_step(law: dict[str, Any]) -> None:
    scene = Scene()
    scene.law(**law)
    scene.add(Plane())
    scene.add(Sphere(0.1), (0, 0, 0.1), density=1000)
    assert not FewBodies(compile_scene(scene)).is_supported


def test_guides_are_left_to_the_general_step() -> None:
    scene = slope(20.0)
    scene.add(Box((0.1, 0.1, 0.1)), (1, 0, 1), density=1000, free="z")
    assert not FewBodies(compile_scene(scene)).is_supported


def test_periodic_cells_and_many_bodies_are_left_to_the_general_step() -> None:
    cell = Scene(period=(1.0, None))
    cell.law(mu=0.5)
    cell.add(Sphere(0.1), density=1000)
    assert not FewBodies(compile_scene(cell)).is_supported
    many = Scene()
    many.law(mu=0.5)
    for k in range(MOST + 1):
        many.add(Sphere(0.1), (0.3 * k, 0, 0), density=1000)
    assert not FewBodies(compile_scene(many)).is_supported


def long_wall() -> Scene:
    """More bodies than few."""
    scene = ground()
    for k in range(10):
        ends = [0.0, *np.arange(0.5, 28), 28.0] if k % 2 else list(range(29))
        for low, high in pairwise(ends):
            size = (0.2 * (high - low), 0.1, 0.1)
            scene.add(Box(size), (0.1 * (low + high), 0, 0.05 + 0.1 * k), density=2000)
    return scene


def test_many_bodies_at_rest_take_the_same_step_as_few() -> None:
    model = compile_scene(long_wall())
    assert int(model.movable.sum()) > MOST
    assert not FewBodies(model).are_few
    for one, two in in_step(model, 4, Auto(tol=1e-4)):
        assert "outcome" in vars(one)
        assert "outcome" not in vars(two)
        assert (one.work, one.given, one.residual) == (two.work, two.given, two.residual)


def test_many_bodies_that_move_take_the_general_step() -> None:
    model = compile_scene(long_wall())
    state = replace(initial_state(model), velocity=np.full((model.n_bodies, 6), 1e-2))
    done = step(model, state, 1e-3, Auto(tol=1e-4), None, Neighbours(model))
    assert "outcome" not in vars(done)


def test_only_steps_in_which_bodies_appear_are_general() -> None:
    scene = ground()
    scene.source(BoxRegion((0, 0, 1), (5, 5, 2)), rate=300.0, radius=0.01, number=3, density=1000.0)
    model = compile_scene(scene)
    near, state, born, general = Neighbours(model), initial_state(model), [], []
    for _ in range(15):
        done = step(model, state, 1e-3, Auto(), None, near)
        born.append(done.state.n_bodies > state.n_bodies)
        general.append("outcome" not in vars(done))
        state = done.state
    assert general == born
    assert 0 < sum(born) <= 3


def test_interleaved_runs_do_not_see_each_other() -> None:
    models = [compile_scene(make()) for make in (lambda: slope(27.5), polygons)]
    alone = []
    for model in models:
        state, near = initial_state(model), Neighbours(model)
        for _ in range(30):
            state = step(model, state, 1e-3, Auto(tol=1e-6), None, near).state
        alone.append(state)
    states, nears = [initial_state(model) for model in models], [Neighbours(model) for model in models]
    for _ in range(30):
        for k, model in enumerate(models):
            states[k] = step(model, states[k], 1e-3, Auto(tol=1e-6), None, nears[k]).state
    assert not states_differ(alone[0], states[0])
    assert not states_differ(alone[1], states[1])


def test_a_run_that_goes_on_from_a_kept_state_has_the_same_bits() -> None:
    """RecordedStep arrays need not be those a step made: read only, in columns, of other numbers."""
    model = compile_scene(slope(27.5))
    whole = simulate(model, 0.06, 1e-3, Auto(tol=1e-6)).state
    half = simulate(model, 0.03, 1e-3, Auto(tol=1e-6)).state
    half = pickle.loads(pickle.dumps(half))
    odd = replace(
        half,
        position=np.asfortranarray(half.position),
        velocity=np.asfortranarray(half.velocity),
        impulses=replace(half.impulses, a=half.impulses.a.astype(np.int32)),
    )
    odd.orientation.flags.writeable = False
    for kept in (half, odd):
        assert not states_differ(whole, simulate(model, 0.06, 1e-3, Auto(tol=1e-6), state=kept).state)


def test_old_steps_keep_what_they_found() -> None:
    """Details asked for after many further steps are those of their own step."""
    model = compile_scene(slope(27.5))
    near, state, steps = Neighbours(model), initial_state(model), []
    for _ in range(10):
        steps.append(step(model, state, 1e-3, Auto(tol=1e-6), None, near))
        state = steps[-1].state
    now = [
        step(model, before, 1e-3, Auto(tol=1e-6), None, General(model)) for before in _starts(model, steps)
    ]
    for late, general in zip(steps, now, strict=True):
        np.testing.assert_array_equal(late.solution.u, general.solution.u)
        np.testing.assert_array_equal(late.contacts.point, general.contacts.point)


def _starts(model: Model, steps: list[StepResult]) -> list[State]:
    return [initial_state(model), *(done.state for done in steps[:-1])]


def test_a_step_can_be_copied_with_changes_and_kept() -> None:
    model = compile_scene(slope(20.0))
    done = step(model, initial_state(model), 1e-3, Auto(tol=1e-6))
    later = replace(done, work=1.0)
    assert later.work == 1.0
    assert later.solution.status is Status.SOLVED
    assert len(later.contacts) == 4
    again = pickle.loads(pickle.dumps(step(model, later.state, 1e-3, Auto(tol=1e-6))))
    assert len(again.contacts) == 4
    with pytest.raises(AttributeError, match="no attribute 'solutoin'"):
        _ = again.solutoin


def test_numbers_that_are_none_are_refused_as_by_the_general_step() -> None:
    model = compile_scene(slope(20.0))
    state = initial_state(model)
    velocity = state.velocity.copy()
    velocity[1, 0] = np.nan
    for near in (Neighbours(model), General(model)):
        with pytest.raises(ProblemError, match="is no place"):
            step(model, replace(state, velocity=velocity), 1e-3, Auto(), None, near)


def test_records_are_the_same() -> None:
    """RecordedStep steps, energies and works of a run, as a recorder gets them, by both steps."""
    model, memory = compile_scene(shaken()), Memory()
    simulate(model, 0.03, 1e-3, Auto(tol=1e-6), every=5, recorder=memory)
    state, near, work, given = initial_state(model), General(model), 0.0, 0.0
    for number in range(1, 31):
        done = step(model, state, 1e-3, Auto(tol=1e-6), None, near)
        state, work, given = done.state, work + done.work, given + done.given
        if number % 5 == 0:
            kept = memory.steps[number // 5]
            assert not states_differ(kept.state, state)
            assert (kept.work, kept.given) == (work, given)
