"""Impulses that are nearly good, and the first ones of a structure at rest."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.resting import (
    DOZEN,
    NEAR,
    are_at_rest,
    begins_with_sweeps,
    set_in_motion,
    solved_at_rest,
    solved_from_near,
)
from clapas.dynamics.stepping import step
from clapas.geometry.shapes import Box, Plane, Sphere
from clapas.problems.blocks import add_impulses
from clapas.problems.contact import ContactProblem
from clapas.scenes import examples
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS, Auto, SemismoothNewton
from clapas.solvers.loop import Solver

MOVABLE = np.ones(3, dtype=bool)


def boxes_on_a_floor(count: int) -> Scene:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    for k in range(count):
        scene.add(Box((0.1, 0.1, 0.1)), (0.2 * k, 0, 0.05), density=1000)
    return scene


@pytest.mark.parametrize(
    ("solver", "expected"),
    [
        (Auto(), True),
        (NSGS(tol=1e-3), True),
        (NSGS(relaxation=0.9), False),
        (NSGS(max_iterations=DOZEN - 1), False),
        (Auto(time_limit=1.0), False),
        (SemismoothNewton(), False),
    ],
)
def test_only_plain_sweeps_are_anticipated(solver: Solver, expected: bool) -> None:
    assert begins_with_sweeps(solver) is expected


def test_a_guess_that_is_nearly_good_is_swept_and_another_is_not() -> None:
    model = compile_scene(boxes_on_a_floor(16))
    problem = step(model, initial_state(model), 1e-3, NSGS(max_iterations=0)).problem.problem
    exact = step(model, initial_state(model), 1e-3, Auto(tol=1e-10)).solution.r
    solver = Auto(tol=1e-4)
    near = exact * (1.0 + 3e-4)
    assert solver.tol < problem.residual(near) < NEAR * solver.tol
    found = solved_from_near(problem, solver, near)
    assert found is not None
    assert found.solver == solver
    assert 0 < found.iterations <= DOZEN
    assert problem.residual(found.r) == found.residual <= solver.tol
    assert solved_from_near(problem, solver, exact) is None  # good: nothing to do
    assert solved_from_near(problem, solver, 0.0 * exact) is None  # far


def brick_wall(courses: int, length: int) -> Scene:
    """A wall in running bond, placed touching."""
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    for k in range(courses):
        ends = [0.0, *np.arange(0.5, length), length] if k % 2 else list(range(length + 1))
        for low, high in pairwise(ends):
            place = (0.1 * (low + high), 0.0, 0.05 + 0.1 * k)
            scene.add(Box((0.2 * (high - low), 0.1, 0.1)), place, density=2000)
    return scene


def test_the_first_impulses_of_a_structure_are_better_than_asked_for() -> None:
    model = compile_scene(brick_wall(4, 3))
    done = step(model, initial_state(model), 1e-3, Auto(tol=1e-4))
    assert done.solution.notes[0].startswith("least-impulses")
    assert done.problem.problem.residual(done.solution.r) <= 1e-10
    assert np.abs(done.state.velocity).max() <= 1e-12


def test_the_start_is_taken_care_of_where_impulses_are_looked_for_between_bodies() -> None:
    model = compile_scene(boxes_on_a_floor(16))
    problem = step(model, initial_state(model), 1e-3, NSGS(max_iterations=0)).problem.problem
    nothing = np.zeros((problem.n_contacts, 3))
    found = solved_at_rest(problem, Auto(tol=1e-4), nothing)
    assert found is not None
    assert found.status.is_solved
    assert problem.residual(found.r) <= 1e-9
    assert solved_at_rest(problem, Auto(tol=1e-4), nothing + 1e3) is None  # far from rest
    assert solved_at_rest(problem, Auto(tol=1e-4), found.r) is None  # good: nothing to do
    assert solved_at_rest(problem, Auto(tol=1e-4), found.r * (1 + 1e-6), pushes_back=True) is not None


def test_gaps_within_the_tolerance_do_not_hide_which_impulses_hold() -> None:
    """Gaps that bodies at rest do not close are what is left of the residual.

    The impulses are exact all the same, and the judge sees the gaps.
    """
    model = compile_scene(brick_wall(6, 4))
    exact = step(model, initial_state(model), 1e-3, Auto(tol=1e-4))
    blocks, mu = exact.problem.problem.blocks, exact.problem.problem.mu
    w = np.zeros((len(mu), 3))
    w[(blocks.bodies == blocks.n_bodies).any(axis=1), 0] = 1e-7  # the wall floats over the floor
    problem = ContactProblem.from_blocks(blocks, mu=mu, w=w)
    guess = exact.solution.r * (1.0 - 1e-6)  # lets it fall: its residual is less than that of rest
    found = solved_at_rest(problem, Auto(tol=1e-4), guess, pushes_back=True)
    assert found is not None
    assert found.residual == problem.residual(found.r) == found.history.residuals[-1]
    assert 1e-6 < found.residual <= 1e-4
    rest = -blocks.y_free.copy()
    add_impulses(blocks.G, blocks.bodies, -found.r, rest)
    assert np.abs(rest[:-1]).max() <= 1e-10 * np.abs(blocks.y_free).max()


@pytest.mark.parametrize(
    ("solver", "n_contacts", "speed", "carried", "expected"),
    [
        (Auto(tol=1e-4), 100, 0.0, 1.0, True),
        (Auto(tol=1e-4), 100, 1e-4, 1.0, True),
        (Auto(tol=1e-4), 100, 1e-2, 1.0, False),
        (Auto(tol=1e-4), 10, 0.0, 0.0, True),
        (Auto(tol=1e-4), 10, 0.0, 1.0, False),
        (Auto(tol=1e-4), 1, 0.0, 0.0, False),
        (Auto(tol=1e-4, time_limit=1.0), 100, 0.0, 0.0, False),
        (NSGS(tol=1e-4), 100, 0.0, 0.0, False),
    ],
)
def test_bodies_are_at_rest_where_they_are_slow_beside_gravity(
    solver: Solver, n_contacts: int, speed: float, carried: float, expected: bool
) -> None:
    """Few contacts are looked after as long as nothing is carried."""
    impulses, pairs = np.full((n_contacts, 3), carried), np.full((n_contacts, 2), (0, 2))
    assert are_at_rest(solver, pairs, MOVABLE, np.full((3, 6), speed), impulses, gain=0.01) is expected


def test_without_gravity_only_what_stands_still_is_at_rest() -> None:
    none, pairs = np.zeros((0, 3)), np.full((100, 2), (0, 1))
    assert are_at_rest(Auto(), pairs, MOVABLE, np.zeros((3, 6)), none, gain=0.0)
    assert not are_at_rest(Auto(), pairs, MOVABLE, np.full((3, 6), 1e-9), none, gain=0.0)


@pytest.mark.parametrize("place", [0, 99])
def test_bodies_that_touch_nothing_do_not_count(place: int) -> None:
    """A body that flies past a wall at rest changes nothing; one that touches it does, anywhere."""
    none, pairs, velocity = np.zeros((0, 3)), np.full((100, 2), (0, 1)), np.zeros((3, 6))
    velocity[2] = 1.0
    assert are_at_rest(Auto(), pairs, MOVABLE, velocity, none, gain=0.01)
    assert not set_in_motion(np.zeros((3, 6)), velocity, 1e-4, 0.01, pairs)
    pairs[place] = 1, 2
    assert not are_at_rest(Auto(), pairs, MOVABLE, velocity, none, gain=0.01)
    assert set_in_motion(np.zeros((3, 6)), velocity, 1e-4, 0.01, pairs)


def test_nothing_is_at_rest_while_a_wall_moves() -> None:
    """Where a support goes away, the impulses of bodies at rest may hold what is to follow it."""
    none, pairs, velocity = np.zeros((0, 3)), np.full((100, 2), (0, 1)), np.zeros((3, 6))
    velocity[2, 2] = -0.05
    assert are_at_rest(Auto(), pairs, MOVABLE, velocity, none, gain=0.01)
    assert not are_at_rest(Auto(), pairs, np.array([True, True, False]), velocity, none, gain=0.01)


def test_a_wall_stands_as_still_while_something_falls_beside_it() -> None:
    """Its impulses are those of bodies at rest; with swept ones it moved at 1e-7 m/s."""
    scene = brick_wall(12, 8)
    scene.add(Sphere(0.05), (9.0, 9.0, 9.0), density=1000.0)
    model = compile_scene(scene)
    state, near = initial_state(model), Neighbours(model)
    for _ in range(600):
        state = step(model, state, 2e-3, Auto(tol=1e-6), neighbours=near).state
    assert np.abs(state.velocity[:-1]).max() < 1e-9


@pytest.mark.parametrize(("rows", "least"), [(3, 0.4340), (4, 0.4730), (5, 0.4975)])
def test_small_piles_stand_as_soon_as_forces_can_hold_them(rows: int, least: float) -> None:
    """Least friction by limit analysis; by Gauss–Seidel from nothing more friction let some of them fall."""
    for mu in (0.99 * least, 1.01 * least, 0.6, 1.0, 3.0):
        model = compile_scene(examples.load("pile-of-disks", rows=rows, mu=mu))
        state, near = initial_state(model), Neighbours(model)
        for _ in range(20):
            state = step(model, state, 1e-3, Auto(tol=1e-6), neighbours=near).state
        assert (np.abs(state.velocity).max() <= 1e-12) == (mu > least)


def test_impulses_that_stopped_a_wall_do_not_push_it_back() -> None:
    """A wall with a slow motion is stopped, stays stopped, and impulses are its weight again.

    Those that hold it are not unique: what the stop has left in them is below the tolerance.
    """
    model, solver = compile_scene(brick_wall(4, 3)), Auto(tol=1e-4)
    first = step(model, initial_state(model), 1e-3, solver)
    velocity = first.state.velocity.copy()
    velocity[model.movable, 0] += 2e-6  # 200 tolerances of what gravity gives in a step
    stopped = step(model, replace(first.state, velocity=velocity), 1e-3, solver)
    assert stopped.solution.notes[0].startswith("nearest-impulses")
    assert np.abs(stopped.state.velocity).max() <= 1e-12
    after = step(model, stopped.state, 1e-3, solver)
    assert np.abs(after.state.velocity).max() <= 1e-12
    weight, again = (np.sort(done.solution.r[:, 0]) for done in (first, after))
    assert np.abs(again - weight).max() <= solver.tol * weight.max()


@pytest.mark.parametrize("degrees", [0.0, 15.0])
def test_a_wall_of_odd_sizes_rests_for_long_and_seldom_asks_for_its_impulses(degrees: float) -> None:
    """Sizes that no number of bits holds, away from the origin, level and on a slope."""
    angle, (length, width, height) = np.deg2rad(degrees), (0.1 * np.pi, 0.0713, np.e / 30)
    scene = Scene(gravity=(9.81 * np.sin(angle), 0, -9.81 * np.cos(angle)))
    scene.law(mu=0.5)
    scene.add(Plane())
    for k in range(8):
        ends = [0.0, 0.5, 1.5, 2.5, 3.5, 4.0] if k % 2 else [0.0, 1.0, 2.0, 3.0, 4.0]
        for low, high in pairwise(ends):
            place = 0.5 * length * (low + high), 0.123, height * (k + 0.5)
            scene.add(Box((length * (high - low), width, height)), place, density=2000)
    model, asked = compile_scene(scene), 0
    state, near = initial_state(model), Neighbours(model)
    start, mass = state.position, model.mass[model.movable]
    for _ in range(500):
        done = step(model, state, 1e-3, Auto(tol=1e-4), None, near)
        state, asked = done.state, asked + (done.solution.iterations > 0)
        moves = model.masses[model.movable] * state.velocity[model.movable] ** 2
        assert 0.5 * moves.sum() <= 1e-12 * 9.81 * height * mass.sum()
    assert np.abs(state.position - start).max() <= 1e-9
    assert asked <= 12
