"""Motions known on paper, by the whole engine: scene, detection, problem, solver, step."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clapas import Box, Disk, HalfPlane, Plane, Scene, Sphere
from clapas.dynamics.state import State
from clapas.scenes.compilation import compile_scene
from clapas.scenes.examples.blocks import stone_arch
from clapas.scenes.recorders import Memory
from clapas.scenes.simulation import simulate
from clapas.solvers import NSGS

SOLVER = NSGS(tol=1e-10)
G = 9.81


def run(scene: Scene, duration: float, dt: float, every: int = 1) -> list[State]:
    memory = Memory()
    simulate(compile_scene(scene), duration, dt, SOLVER, every=every, recorder=memory)
    return [kept.state for kept in memory.steps]


def test_a_sliding_block_stops_where_friction_says() -> None:
    mu, speed = 0.4, 2.0
    scene = Scene()
    scene.law(mu=mu)
    scene.add(Plane())
    block = scene.add(Box((0.4, 0.4, 0.1)), position=(0, 0, 0.05), velocity=(speed, 0, 0), density=2000)
    states = run(scene, 0.8, 1e-3)
    moving = [s.time for s in states if s.velocity[block, 0] > 1e-6]
    assert moving[-1] == pytest.approx(speed / (mu * G), abs=3e-3)
    assert states[-1].position[block, 0] == pytest.approx(speed**2 / (2 * mu * G), rel=5e-3)
    assert np.abs(states[-1].velocity).max() < 1e-9


@pytest.mark.parametrize(("mu", "slides"), [(0.37, False), (0.35, True)])
def test_a_block_on_an_incline_slides_below_the_friction_angle_only(mu: float, slides: bool) -> None:
    angle = math.radians(20)  # tan 20° = 0.364
    scene = Scene(gravity=(G * math.sin(angle), 0, -G * math.cos(angle)))
    scene.law(mu=mu)
    scene.add(Plane())
    block = scene.add(Box((0.2, 0.2, 0.1)), position=(0, 0, 0.05), density=2000)
    speed = run(scene, 0.2, 1e-3)[-1].velocity[block, 0]
    expected = 0.2 * G * (math.sin(angle) - mu * math.cos(angle)) if slides else 0.0
    # Corners whose gap is zero but for rounding may miss a step: a few steps' worth of friction.
    assert speed == pytest.approx(expected, abs=4 * 1e-3 * mu * G if slides else 1e-9)


@pytest.mark.parametrize("mu", [0.05, 0.5])
def test_a_sphere_rolls_or_slips_down_an_incline(mu: float) -> None:
    """Rolling needs mu ≥ (2/7) tan angle: then a = (5/7) g sin; else a = g (sin − mu cos)."""
    angle = math.radians(30)
    scene = Scene(gravity=(G * math.sin(angle), 0, -G * math.cos(angle)))
    scene.law(mu=mu)
    scene.add(Plane())
    ball = scene.add(Sphere(0.1), position=(0, 0, 0.1), density=2000)
    state = run(scene, 0.3, 1e-3)[-1]
    rolls = mu >= 2 / 7 * math.tan(angle)
    acceleration = 5 / 7 * G * math.sin(angle) if rolls else G * (math.sin(angle) - mu * math.cos(angle))
    assert state.velocity[ball, 0] == pytest.approx(0.3 * acceleration, rel=1e-6)
    if rolls:
        assert np.linalg.norm(state.velocity[ball, 3:]) * 0.1 == pytest.approx(
            state.velocity[ball, 0], rel=1e-6
        )


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_head_on_spheres_exchange_momentum(restitution: float) -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3, restitution=restitution)
    left = scene.add(Sphere(0.1), position=(-0.2, 0, 0), velocity=(1, 0, 0), mass=1.0)
    right = scene.add(Sphere(0.1), position=(0.2, 0, 0), mass=1.0)
    state = run(scene, 0.5, 1e-2)[-1]
    v, w = state.velocity[left, 0], state.velocity[right, 0]
    assert v + w == pytest.approx(1.0, abs=1e-14)
    assert w - v == pytest.approx(restitution, abs=1e-12)


@pytest.mark.parametrize("mu", [0.05, 10.0])
def test_oblique_impact_follows_the_three_parameter_law(mu: float) -> None:
    """Equal spheres meeting along x with a tangential velocity t: slip if the impulse leaves the cone.

    With restitutions rho, tau the normal impulse is m (1 + rho) u_N / 2 and the tangential one, if it
    sticks, (1 + tau) u_T m / 7 (effective mass m/2 · 2/7).
    """
    rho, tau, m, t = 0.6, 0.3, 1.0, 0.8
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=mu, restitution=rho, tangential_restitution=tau)
    first = scene.add(Sphere(0.1), position=(-0.2, 0, 0), velocity=(1, t, 0), mass=m)
    # Moves along with the first, so that they meet head on; only the surfaces slide, by its spin.
    second = scene.add(
        Sphere(0.1), position=(0.2, 0, 0), velocity=(0, t, 0), angular_velocity=(0, 0, 5.0), mass=m
    )
    state = run(scene, 0.4, 1e-2)[-1]
    slip = -5.0 * 0.1  # velocity of the second relative to the first at the contact, along y
    p_n = m * (1 + rho) / 2
    p_t = min((1 + tau) * abs(slip) * m / 7, mu * p_n)
    assert state.velocity[second, 0] == pytest.approx(p_n / m, rel=1e-6)
    # They meet within a step: the lever arms are off by the penetration, 2 % of a radius at most.
    assert state.velocity[second, 1] == pytest.approx(t + p_t / m, abs=0.02 * p_t / m)
    assert state.velocity[first, 1] == pytest.approx(t - p_t / m, abs=0.02 * p_t / m)


def test_a_bouncing_ball_comes_to_rest_at_the_accumulation_time() -> None:
    e, height = 0.5, 0.5
    scene = Scene()
    scene.law(mu=0.3, restitution=e)
    scene.add(Plane())
    ball = scene.add(Sphere(0.1), position=(0, 0, 0.1 + height), density=1000)
    states = run(scene, 1.5, 1e-3)
    rest = math.sqrt(2 * height / G) * (1 + e) / (1 - e)
    late = [s for s in states if s.time > rest + 0.05]
    assert max(abs(s.velocity[ball, 2]) for s in late) < 2e-2
    early = [s for s in states if rest - 0.25 < s.time < rest - 0.15]
    assert max(abs(s.velocity[ball, 2]) for s in early) > 0.1


def test_energy_is_never_created_without_restitution() -> None:
    scene = Scene(seed=3)
    scene.law(mu=0.5)
    scene.add(Plane())
    rng = np.random.default_rng(0)
    for k in range(8):
        scene.add(
            Sphere(0.1),
            position=(0.15 * (k % 2), 0.1 * (k % 3), 0.15 + 0.25 * k),
            velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3),
            density=2000,
        )
    memory = Memory()
    summary = simulate(compile_scene(scene), 0.6, 1e-3, SOLVER, recorder=memory)
    total = np.array([kept.energy.kinetic + kept.energy.potential for kept in memory.steps])
    scale = memory.steps[0].energy.potential
    assert (np.diff(total) <= 1e-9 * scale).all()
    # What is lost is the work of the contacts, to the accuracy of the midpoint rule for gravity.
    assert total[-1] - total[0] == pytest.approx(summary.work, abs=1e-9 * scale)


@pytest.mark.parametrize("count", [1, 40])
def test_contacts_do_no_work_in_free_fall(count: int) -> None:
    """Exactly none: rounding between v and √M v is no work."""
    scene = Scene()
    scene.law(mu=0.3)
    scene.add(Plane())
    for k in range(count):
        turning = {"velocity": (0.1, 0.2, 0.3), "angular_velocity": (3.0, 2.0, 1.0)}
        scene.add(Box((0.1, 0.2, 0.3)), (2.0 * k, 0, 30.0), density=2000.0 + k, **turning)
    assert simulate(compile_scene(scene), 0.5, 1e-2).work == 0.0


def test_a_stack_rests_on_its_weight_in_the_plane() -> None:
    scene = Scene(d=2)
    scene.law(mu=0.5)
    scene.add(HalfPlane())
    for k in range(3):
        scene.add(Disk(0.1), position=(0, 0.1 + 0.2 * k), mass=1.0)
    state = run(scene, 0.1, 1e-3)[-1]
    normal = state.impulses.impulse[:, 1] / 1e-3
    np.testing.assert_allclose(np.sort(normal), [G, 2 * G, 3 * G], rtol=1e-6)


@pytest.mark.parametrize(("mu", "stands"), [(0.7, True), (0.2, False)])
def test_an_arch_stands_by_friction(mu: float, stands: bool) -> None:
    memory = Memory()
    simulate(
        compile_scene(stone_arch(voussoirs=9, mu=mu)),
        0.25,
        2e-3,
        NSGS(tol=1e-5, max_iterations=2000),
        on_unsolved="record",
        recorder=memory,
    )
    sink = memory.steps[0].state.position[5, 1] - memory.steps[-1].state.position[5, 1]
    assert (sink < 1e-3) == stands


def test_cohesion_holds_a_hanging_sphere() -> None:
    for cohesion, holds in ((1.1 * G, True), (0.9 * G, False)):
        scene = Scene(gravity=(0, 0, G))  # upward: the floor is a ceiling
        scene.law(mu=0.5, cohesion=cohesion)
        scene.add(Plane())
        ball = scene.add(Sphere(0.1), position=(0, 0, 0.1), mass=1.0)
        speed = run(scene, 0.05, 1e-3)[-1].velocity[ball, 2]
        assert (abs(speed) < 1e-8) == holds
