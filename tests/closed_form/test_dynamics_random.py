"""Random scenes: energy is never created, momentum only by walls, and every number stays a number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.dynamics.freemotion import free_motion
from clapas.geometry.shapes import (
    Box,
    Capsule,
    Clump,
    Cylinder,
    Disk,
    HalfPlane,
    Plane,
    Polygon,
    Polyhedron,
    Shape,
    Sphere,
)
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import energy
from clapas.solvers import NSGS
from tests.closed_form.runs import History, run

SOLVER = NSGS(tol=1e-7, max_iterations=500)


def random_shape(rng: np.random.Generator, d: int) -> Shape:
    """A shape of any kind, about 0.1 m."""
    a, b, c = rng.uniform(0.05, 0.1, 3)
    if d == 2:
        corners = np.array([(np.cos(t), np.sin(t)) for t in np.sort(rng.uniform(0, 2 * np.pi, 6))])
        clump = Clump([(Disk(a), (0.0, 0.0)), (Disk(b), (0.08, 0.0))])
        return (Disk(a), Polygon.rectangle(2 * a, b), Polygon(0.1 * corners), clump)[rng.integers(4)]
    points = rng.normal(size=(12, 3))
    points *= 0.1 / np.linalg.norm(points, axis=1)[:, None]
    shapes = (
        Sphere(a),
        Box((2 * a, b, c)),
        Capsule(a / 2, 2 * b),
        Cylinder(a, b),
        Polyhedron(points),
        Clump([(Sphere(a), (0.0, 0.0, 0.0)), (Sphere(b), (0.08, 0.0, 0.0))]),
    )
    return shapes[rng.integers(len(shapes))]


def random_scene(
    seed: int, d: int, count: int, *, speed: float = 2.0, weight: float = 1.0, **law: float
) -> Scene:
    """Bodies of any shape thrown at each other in a box of walls."""
    rng = np.random.default_rng(seed)
    scene = Scene((0.0,) * (d - 1) + (-9.81 * weight,), d=d)
    scene.law(**law)
    wall = Plane if d == 3 else HalfPlane
    half = 0.52
    for axis in range(d):
        for side in (-1.0, 1.0):
            normal = np.zeros(d)
            normal[axis] = -side
            scene.add(wall(tuple(normal), -half))
    cells = np.stack(np.meshgrid(*[np.arange(3)] * d, indexing="ij"), axis=-1).reshape(-1, d) - 1.0
    for cell in rng.permutation(cells)[:count]:
        turn = rng.normal(size=4) if d == 3 else float(rng.uniform(0, 6))
        spin = rng.normal(scale=5, size=3) if d == 3 else float(rng.normal(scale=5))
        scene.add(
            random_shape(rng, d), 0.33 * cell, turn, rng.normal(scale=speed, size=d), spin, density=1000
        )
    return scene


def assert_work_is_what_was_lost(history: History) -> None:
    """Kinetic and potential energy change by the work of the contacts.

    In 3-D up to the gyroscopic term, which turns the spin within the step without work.
    """
    change = history.energy[-1] - history.energy[0]
    assert history.kept[-1].work == pytest.approx(change, rel=1e-6 if history.model.d == 2 else 1e-3)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_energy_is_never_created_without_weight(d: int, mu: float, seed: int) -> None:
    """With rho = tau = 0 a step takes the velocity nearest to the free one that the law allows."""
    scene = random_scene(seed, d, 9 if d == 2 else 16, weight=0.0, mu=mu)
    history = run(scene, 0.15, 1e-3, solver=SOLVER, on_unsolved="record")
    assert sum(len(step.problem.contacts) for step in history.steps) > 100
    kinetic = history.energy
    assert np.diff(kinetic).max() <= 1e-8 * kinetic[0]
    assert kinetic[-1] < 0.9 * kinetic[0]
    assert_work_is_what_was_lost(history)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_energy_is_never_created_under_weight(d: int, seed: int) -> None:
    """Contacts never add kinetic energy to the free motion of a step.

    The sum with the potential can rise by what the weight does in one step, ½ m (g dt)², where a body that
    sank in is lifted again: it is bounded by that, and over the run it decreases.
    """
    dt = 1e-3
    scene = random_scene(seed, d, 9 if d == 2 else 16, mu=0.5)
    history = run(scene, 0.25, dt, solver=SOLVER, on_unsolved="record")
    model = history.model
    mass = float(model.mass[model.movable].sum())
    for before, after in zip(history.kept, history.kept[1:], strict=False):
        free = free_motion(model, before.state, dt)
        most = 0.5 * float(np.sum(model.masses[model.movable] * free[model.movable] ** 2))
        assert after.energy.kinetic <= most * (1 + 1e-6)
    lift = 0.5 * mass * (9.81 * dt) ** 2
    assert np.diff(history.energy).max() <= lift
    assert history.energy[-1] < history.energy[0]
    assert_work_is_what_was_lost(history)


@given(
    seed=st.integers(0, 10_000),
    d=st.sampled_from([2, 3]),
    mu=st.sampled_from([0.0, 0.3, 1.0, 1e6]),
    rho=st.sampled_from([0.0, 0.5, 1.0]),
    tau=st.sampled_from([-1.0, 0.0, 1.0]),
    cohesion=st.sampled_from([0.0, 10.0]),
    speed=st.sampled_from([0.0, 1.0, 100.0]),
    dt=st.sampled_from([1e-4, 1e-2]),
)
@settings(max_examples=25)
def test_numbers_stay_numbers(
    seed: int, d: int, mu: float, rho: float, tau: float, cohesion: float, speed: float, dt: float
) -> None:
    law = {"mu": mu, "restitution": rho, "tangential_restitution": tau, "cohesion": cohesion}
    scene = random_scene(seed, d, 8, speed=speed, **law)
    history = run(scene, 20 * dt, dt, solver=NSGS(tol=1e-5, max_iterations=200), on_unsolved="record")
    for kept in history.kept:
        state = kept.state
        for values in (state.position, state.orientation, state.velocity, state.impulses.impulse):
            assert np.isfinite(values).all()
        assert np.isfinite(energy(history.model, state)).all()
    if d == 3:
        quaternions = history.kept[-1].state.orientation
        np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1.0, atol=1e-12)
