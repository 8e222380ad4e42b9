"""Steps of spheres in geometric form against the same in blocks of H."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.dynamics import rigid_problem
from clapas.dynamics.births import initial_state
from clapas.dynamics.model import Model
from clapas.dynamics.motions import Rotation
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult, step
from clapas.geometry.shapes import Box, Capsule, Cylinder, Plane, Polyhedron, Shape, Sphere
from clapas.scenes import examples
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS, Coloured

SOLVER = NSGS(tol=1e-12, max_iterations=20_000, order=Coloured())
DT = 2e-3
WALLS: dict[str, Shape] = {
    "sphere": Sphere(0.3),
    "box": Box((0.5, 0.3, 0.2)),
    "capsule": Capsule(0.15, 0.3),
    "cylinder": Cylinder(0.3, 0.2),
    "polyhedron": Polyhedron([(0.4, 0, 0), (-0.3, 0.3, 0), (-0.3, -0.3, 0), (0, 0, 0.3)]),
}


def shower(cohesion: float = 0.0, restitution: float = 0.0, period: float | None = None) -> Scene:
    """Spheres thrown at obstacles, one of which turns, on a floor."""
    rng = np.random.default_rng(5)
    scene = Scene()
    scene.law(mu=0.4, cohesion=cohesion, restitution=restitution, tangential_restitution=restitution)
    scene.add(Plane())
    if period is not None:
        scene.period = (period, None)
    for k, shape in enumerate(WALLS.values()):
        motion = {"motion": Rotation((0.0, 2.0, 1.0), 2.0)} if k == 1 else {"fixed": True}
        scene.add(shape, position=(1.2 * k - 2.4, 0.0, 0.25), **motion)
    for k in range(5):
        for x, y in ((0.0, 0.0), (0.2, 0.1), (-0.2, 0.15)):
            position = 1.2 * k - 2.4 + x, y, rng.uniform(0.65, 0.75)
            scene.add(Sphere(0.08), position, velocity=(*rng.normal(size=2), -3.0), density=1000.0)
    return scene


def one_step(model: Model, state: State, many: int, monkeypatch: pytest.MonkeyPatch) -> StepResult:
    """A step in geometric form from ``many`` contacts on, by the general step."""
    monkeypatch.setattr(rigid_problem, "MANY", many)
    monkeypatch.setattr(Neighbours, "few", lambda self, state: None)
    return step(model, state, DT, SOLVER)


@pytest.mark.parametrize(
    "scene",
    [shower(), shower(restitution=0.5), shower(cohesion=1.0), shower(period=6.0)],
    ids=["walls", "restitution", "cohesion", "periodic"],
)
def test_both_forms_make_the_same_step(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    model = compile_scene(scene)
    state, touched = initial_state(model), set[int]()
    for _ in range(140):
        one, two = (one_step(model, state, many, monkeypatch) for many in (1, 10**9))
        touched |= set(one.problem.contacts.a.tolist())
        assert one.problem.has_spheres == (len(one.problem.contacts) > 0)
        assert not two.problem.has_spheres
        np.testing.assert_allclose(one.state.velocity, two.state.velocity, atol=1e-8)
        np.testing.assert_allclose(one.state.impulses.impulse, two.state.impulses.impulse, atol=1e-8)
        assert one.work == pytest.approx(two.work, rel=1e-6, abs=1e-9)
        state = two.state
    assert touched.issuperset(range(1 + len(WALLS)))


def test_bodies_that_are_no_centred_spheres_have_blocks() -> None:
    for change in ({"shape": Box((0.1, 0.1, 0.1))}, {"centre": (0.01, 0.0, 0.0)}):
        scene = shower()
        scene.add(**{"shape": Sphere(0.08), "position": (0.0, 0.0, 3.0), "mass": 1.0} | change)
        assert not compile_scene(scene).has_spheres
    assert compile_scene(shower()).has_spheres


def test_the_solution_stays_as_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its velocities are those of the problem, spins in the world, also after the step has used them."""
    model = compile_scene(examples.load("box-of-spheres", count=40))
    state = initial_state(model)
    for _ in range(60):
        done = one_step(model, state, 1, monkeypatch)
        state = done.state
    assert done.problem.has_spheres
    assert np.array_equal(done.solution.v, done.problem.problem.motion(done.solution.r))
