"""Tolerances below what rounding leaves are said to be so at once."""

from __future__ import annotations

import numpy as np
import pytest

import clapas
from clapas.dynamics.births import initial_state
from clapas.dynamics.stepping import step
from clapas.problems.contact import ContactProblem
from clapas.scenes.compilation import compile_scene
from clapas.solvers import solve
from clapas.solvers.loop import NEAR_FLOOR, rounding_floor
from clapas.status import Status


def tower(ratio: float) -> ContactProblem:
    """Boxes of 1 kg and of ratio kg, one on another."""
    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane())
    for k, (mass, x, y) in enumerate(((1.0, 0, 0), (ratio, 0.1, 0), (1.0, 0, 0.1), (ratio, 0.1, 0))):
        scene.add(clapas.Box((1, 1, 1)), (x, y, 0.5 + k), mass=mass)
    model = compile_scene(scene)
    return step(model, initial_state(model), 1e-3, clapas.NSGS(tol=1e-3)).solution.problem


def test_a_tolerance_below_rounding_ends_at_once_with_the_floor() -> None:
    solution = clapas.solve(tower(1e6), clapas.Auto(tol=1e-12, max_iterations=100_000), check=False)
    assert solution.status is Status.ALMOST_SOLVED
    assert solution.iterations < 5000
    assert solution.residual <= NEAR_FLOOR * rounding_floor(solution.problem, solution.r)
    assert "rounding of these data leaves residuals of" in solution.notes[-1]
    assert "give a tol above it" in solution.notes[-1]


def test_ordinary_problems_reach_their_tolerance() -> None:
    for ratio, tol in ((1.0, 1e-13), (1e6, 1e-8)):
        assert clapas.solve(tower(ratio), clapas.Auto(tol=tol)).status is Status.SOLVED


def test_slow_methods_far_from_rounding_are_let_go_on() -> None:
    solution = clapas.solve(tower(1e6), clapas.NSGS(tol=1e-8, max_iterations=3000), check=False)
    assert solution.status is Status.MAX_ITERATIONS


def test_the_smallest_numbers_have_no_digits_to_be_right_by() -> None:
    """Half of three of the smallest numbers there are is not a number: no impulse on the cone exists."""
    W = np.array([[5.0, -3, 1, -2], [-3, 5, 1, 2], [1, 1, 1, 0], [-2, 2, 0, 1]])
    q = np.array([[0.0, -2.0], [-3.0, 3.0]]) * 5e-324
    problem = ContactProblem(W=W, q=q, mu=[0.5, 0.5])
    rounded = np.array([[0.0, 0.0], [3.0, -2.0]]) * 5e-324
    assert problem.residual(rounded) > 0.1
    assert not solve(problem, check=False).status.is_solved
    assert problem.residual(np.zeros((2, 2))) > 0.1
    assert ContactProblem(W=W, q=np.abs(q) * [1.0, 0.0], mu=[0.5, 0.5]).residual(np.zeros((2, 2))) == 0.0


def on_a_light_sphere(ratio: float) -> clapas.Simulation:
    """A sphere on another that weighs ``ratio`` times less."""
    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane())
    scene.add(clapas.Sphere(0.1), (0, 0, 0.1), density=1.0)
    scene.add(clapas.Sphere(0.1), (0, 0, 0.3), density=ratio)
    return clapas.Simulation(scene, 1e-3)


@pytest.mark.parametrize("ratio", [1e6, 1e8, 1e9])
def test_heavy_on_light_is_solved_while_the_tolerance_is_above_the_floor(ratio: float) -> None:
    sim = on_a_light_sphere(ratio)
    sim.step(30)
    assert sim.unsolved == 0
    np.testing.assert_allclose(sim.state.position[1:, 2], [0.1, 0.3], atol=1e-8)


def test_a_run_goes_on_with_all_that_rounding_leaves_and_says_so_once() -> None:
    sim = on_a_light_sphere(1e11)
    with pytest.warns(UserWarning, match="rounding of these data leaves residuals of 8e-05 and more") as told:
        sim.step(30)
    assert len(told) == 1
    assert sim.unsolved == 30
    np.testing.assert_allclose(sim.state.position[1:, 2], [0.1, 0.3], atol=1e-6)
