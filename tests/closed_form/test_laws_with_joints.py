"""Rolling resistance, and friction with a polygonal section, of jointed bodies."""

import numpy as np
import pytest

import clapas
from clapas.dynamics.births import initial_state
from clapas.dynamics.stepping import step
from clapas.errors import SceneError
from clapas.scenes.compilation import compile_scene
from clapas.solvers import Auto

G, R = 9.81, 0.1


def run(scene, steps, dt=1e-3, tol=1e-10):
    """The last step of a run; every step must be solved."""
    model = compile_scene(scene)
    state = initial_state(model)
    for _ in range(steps):
        done = step(model, state, dt, Auto(tol=tol))
        assert done.status.is_solved
        state = done.state
    return done


def wheels(d, rolling, pin=None):
    """Two wheels on a floor, of which the first resists rolling, with a rod between their centres."""
    scene = clapas.Scene(d=d)
    scene.law(mu=0.8)
    scene.material("felt", density=1000.0)
    scene.law("default", "felt", mu=0.8, rolling=rolling)
    ground = clapas.HalfPlane() if d == 2 else clapas.Plane()
    wheel = clapas.Disk(R) if d == 2 else clapas.Sphere(R)
    spin = -1.0 / R if d == 2 else (0.0, 1.0 / R, 0.0)
    scene.add(ground)
    for name, x, material in (("first", 0.0, "felt"), ("second", 0.5, "default")):
        at, velocity = np.zeros(d), (1.0, *np.zeros(d - 1))
        at[[0, -1]] = x, R
        motion = {"velocity": velocity, "angular_velocity": spin}
        scene.add(wheel, at, mass=2.0, material=material, name=name, **motion)
    ends = np.zeros((2, d))
    ends[:, -1], ends[1, 0] = R, 0.5
    scene.join("distance", "first", "second", at=ends[0], to=ends[1], name="rod")
    if pin is not None:  # a hammer that hangs from the second wheel, held by friction and a limit
        scene.add(clapas.Disk(0.01), (0.5, R + 0.3), mass=1e-9, velocity=(1.0, 0), name="hammer")
        scene.join("pin", "second", "hammer", at=ends[1], name="pin", **pin)
    return scene


@pytest.mark.parametrize(("d", "share"), [(2, 0.5), (3, 0.4)])
def test_one_wheel_that_resists_slows_both(d, share):
    """By 2 m (1 + share) a = m g l / R: the couple on one wheel stops two, through the rod."""
    length, steps, dt = 0.02, 50, 1e-3
    done = run(wheels(d, length), steps)
    slowed = G * length / R / (2.0 * (1.0 + share))
    np.testing.assert_allclose(done.state.velocity[1:, 0], 1.0 - slowed * steps * dt, rtol=1e-6)
    # The rod pushes the wheel without couple back: m (1 + share) a.
    force = done.joints["rod"].force
    assert abs(np.linalg.norm(force) - 2.0 * (1.0 + share) * slowed) < 1e-6
    assert done.problem.problem.has_couples
    assert done.problem.condensed is not None
    np.testing.assert_allclose(np.abs(done.state.impulses.couple).max(), length * 2.0 * G * dt, rtol=1e-6)


def test_the_forms_with_joints_eliminated_and_kept_agree(monkeypatch):
    """The same steps with M, H and J: couples beside links, whose rows have none."""
    pin = {"friction": 1e-3, "limits": (-1.0, 1.0)}
    condensed = run(wheels(2, 0.02, pin), 10)
    monkeypatch.setattr("clapas.dynamics.solving.MOST_ROWS", 0)
    kept = run(wheels(2, 0.02, pin), 10)
    assert condensed.problem.condensed is not None
    assert kept.problem.condensed is None
    assert kept.problem.links is not None
    np.testing.assert_allclose(kept.state.velocity, condensed.state.velocity, atol=1e-8)
    np.testing.assert_allclose(kept.state.impulses.couple, condensed.state.impulses.couple, atol=1e-10)
    assert kept.problem.problem.residual(kept.solution.r) <= 1e-10


def sledge(joined):
    """Two boxes on a floor whose friction has a square section; they slide along and across its grain."""
    scene = clapas.Scene()
    square = [(1, -1), (1, 1), (-1, 1), (-1, -1)]
    scene.law(mu=0.5, section=square, direction=(1, 0, 0))
    scene.add(clapas.Plane())
    for k in range(2):
        place = 0.3 * k, 0.0, 0.1
        scene.add(clapas.Box((0.2, 0.2, 0.2)), place, velocity=(2.0, 0.5, 0), mass=1.0 + k)
    if joined:
        scene.join("fixed", 1, 2, at=(0.15, 0, 0.1), name="bar")
    return scene


@pytest.mark.parametrize("joined", [False, True])
def test_a_sledge_on_a_tread(joined):
    """Friction takes a corner of the square: mu g along and mu g across, not against the slip.

    Boxes that slide tip on their feet a little; from rest on the floor they decelerate as points do.
    """
    steps, dt = 50, 1e-3
    done = run(sledge(joined), steps, dt, tol=1e-9)
    slowed = 0.5 * G * steps * dt
    np.testing.assert_allclose(done.state.velocity[1:, :2], [[2.0 - slowed, 0.5 - slowed]] * 2, rtol=2e-3)
    assert done.problem.problem.section is not None
    assert done.problem.problem.residual(done.solution.r) <= 1e-9


def test_polygons_and_couples_in_one_scene_are_refused():
    scene = sledge(False)
    scene.material("felt", density=1000.0)
    scene.law("default", "felt", mu=0.2, rolling=0.01)
    scene.law("felt", "felt", mu=0.2)
    scene.add(clapas.Sphere(0.1), (1, 0, 0.1), mass=1.0, material="felt")
    with pytest.raises(SceneError, match="cannot be in one scene yet: leave out one of them"):
        compile_scene(scene)


def elastic_tile():
    from clapas.bodies.elastic import Elastic, ElasticBodies, Solid, block

    solid = Solid(
        mesh=block((0.2, 0.2, 0.1), (2, 2, 1), origin=(0, 0, 2e-4)),
        material=Elastic(young=1e6, poisson=0.3, density=700.0),
    )
    return ElasticBodies(solid=solid, velocity=(1, 2, 0)), 700.0 * 0.004


def free_rod():
    from clapas.bodies.rods import Rod, Rods

    rod = Rod(
        length=0.2, radius=R, density=700.0, young=1e8, elements=3, root="free", damping=1e-3,
        position=(0, 0, R), velocity=(1, 2, 0),
    )  # fmt: skip
    return Rods([rod]), 700.0 * np.pi * R**2 * 0.2


def sliding_point():
    from clapas.bodies.lagrangian import LagrangianSystem

    slider = LagrangianSystem(
        mass=lambda q: np.eye(3),
        force=lambda q, v, t: np.array([0.0, 0.0, -G]),
        frames=lambda q: ([q], [[1.0, 0.0, 0.0, 0.0]]),
        shapes=[(0, clapas.Sphere(R))],
        q=[0.0, 0.0, R],
        v=[1.0, 2.0, 0.0],
    )
    return slider, 1.0


@pytest.mark.parametrize("make", [elastic_tile, free_rod, sliding_point])
def test_systems_slide_on_a_tread(make):
    """On a square section sliding is slowed along each axis by mu N, whatever the direction."""
    mu, dt, (system, mass) = 0.2, 1e-3, make()
    scene = clapas.Scene()
    scene.law(mu=mu, section=[(1, -1), (1, 1), (-1, 1), (-1, -1)], direction=(1, 0, 0))
    scene.add(clapas.Plane())
    scene.add_system(system)
    done = run(scene, 50, dt, tol=1e-9)  # rounding leaves 1e-10 of the stiff rod
    n, *tangent = done.solution.r.sum(axis=0) / dt
    assert n > 0.5 * mass * G
    np.testing.assert_allclose(np.abs(tangent), mu * n, rtol=1e-6)
