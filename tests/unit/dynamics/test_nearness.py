"""Impulses that are nearly good, and the first ones of a structure at rest."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.dynamics.births import initial_state
from clapas.dynamics.nearness import DOZEN, NEAR, begins_with_sweeps, solved_at_start, solved_from_near
from clapas.dynamics.stepping import step
from clapas.geometry.shapes import Box, Plane
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS, Auto, SemismoothNewton
from clapas.solvers.loop import Solver


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


def test_the_start_is_taken_care_of_where_nothing_moves_and_nothing_is_carried() -> None:
    model = compile_scene(boxes_on_a_floor(16))
    state = initial_state(model)
    problem = step(model, state, 1e-3, NSGS(max_iterations=0)).problem.problem
    nothing = np.zeros((problem.n_contacts, 3))
    found = solved_at_start(problem, Auto(tol=1e-4), state, nothing)
    assert found is not None
    assert found.status.is_solved
    assert problem.residual(found.r) <= 1e-9
    assert solved_at_start(problem, NSGS(tol=1e-4), state, nothing) is None
    assert solved_at_start(problem, Auto(tol=1e-4), state, nothing + 1e-3) is None
    later = step(model, state, 1e-3, Auto(tol=1e-4)).state
    assert solved_at_start(problem, Auto(tol=1e-4), later, nothing) is None
