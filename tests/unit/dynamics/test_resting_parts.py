"""Structures at rest beside bodies that move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clapas.dynamics.births import initial_state
from clapas.dynamics.few.tables import FewBodies
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.resting_parts import contacts_at_rest, joined, part_of
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult, step
from clapas.geometry.shapes import Box, Plane
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS, Auto, Solution
from clapas.solvers.loop import iterate
from clapas.status import Status


class General(Neighbours):
    """Neighbours whose steps are all done by the general one."""

    def few(self, state: State) -> FewBodies | None:
        """None, whatever the bodies."""
        return None


def tower(courses: int, speed: float) -> Scene:
    """Boxes on each other, and one beside them that slides without friction."""
    scene = Scene()
    scene.material("ice", density=1000.0)
    scene.law(mu=0.5)
    scene.law("ice", "default", mu=0.0)
    scene.add(Plane())
    for k in range(courses):
        scene.add(Box((0.2, 0.1, 0.1)), (0.05 * (k % 2), 0.0, 0.05 + 0.1 * k), density=2000.0)
    scene.add(Box((0.1, 0.1, 0.1)), (5.0, 5.0, 0.05), velocity=(speed, 0.0, 0.0), material="ice")
    return scene


def after(scene: Scene, steps: int, kind: type[Neighbours] = Neighbours) -> tuple[State, State, StepResult]:
    model = compile_scene(scene)
    first = state = initial_state(model)
    near = kind(model)
    for _ in range(steps):
        done = step(model, state, 2e-3, Auto(tol=1e-6), neighbours=near)
        state = done.state
    return first, state, done


@pytest.mark.parametrize(("courses", "speed", "moved"), [(30, 1.0, 1e-10), (30, 1e3, 1e-10), (10, 1e3, 1e-7)])
def test_a_tower_stands_still_beside_what_slides(courses: int, speed: float, moved: float) -> None:
    """With one tolerance for all, thirty boxes moved by 7 mm in a second beside one of 1 km/s."""
    first, last, done = after(tower(courses, speed), 500)
    boxes = slice(1, 1 + courses)
    assert np.abs(last.position[boxes] - first.position[boxes]).max() < moved
    assert last.velocity[-1, 0] == pytest.approx(speed, rel=1e-9)
    assert done.solution.status.is_solved
    assert done.residual <= 1e-6
    assert done.solution.notes[0].startswith(f"{4 * courses} contacts at rest, apart")


@pytest.mark.parametrize(("courses", "speed"), [(20, 1.0), (10, 1.0), (10, 100.0)])
def test_both_forms_of_a_step_do_the_same(courses: int, speed: float) -> None:
    _, few, _ = after(tower(courses, speed), 100)
    _, general, _ = after(tower(courses, speed), 100, General)
    np.testing.assert_array_equal(few.velocity, general.velocity)
    np.testing.assert_array_equal(few.impulses.impulse, general.impulses.impulse)


def test_parts_are_joined_by_movable_bodies_only() -> None:
    """A floor 0, a stack 1-2 at rest on it, and bodies 3 and 4 of which one is fast and touches the other."""
    pairs = np.repeat([[0, 1], [1, 2], [0, 3], [3, 4], [0, 4]], 4, axis=0)
    movable, velocity = np.array([False, True, True, True, True]), np.zeros((5, 6))
    velocity[4, 0] = 100.0
    found = contacts_at_rest(Auto(), pairs, movable, velocity, gain=0.01)
    assert found is not None
    np.testing.assert_array_equal(found, (pairs < 3).all(axis=1))
    pairs[4] = 2, 3  # now they touch
    assert contacts_at_rest(Auto(), pairs, movable, velocity, gain=0.01) is None


def test_nothing_is_apart_while_a_wall_moves() -> None:
    pairs = np.repeat([[0, 1], [0, 2]], 80, axis=0)
    movable, velocity = np.array([False, True, True, False]), np.zeros((4, 6))
    velocity[2, 0] = 1.0
    assert contacts_at_rest(Auto(), pairs, movable, velocity, gain=0.01) is not None
    velocity[3, 2] = -0.05
    assert contacts_at_rest(Auto(), pairs, movable, velocity, gain=0.01) is None


def test_few_contacts_are_left_with_others_that_are_not_fast() -> None:
    pairs = np.repeat([[0, 1], [0, 2]], 4, axis=0)
    movable, velocity = np.array([False, True, True]), np.zeros((3, 6))
    velocity[2, 0] = 1.0
    assert contacts_at_rest(Auto(), pairs, movable, velocity, gain=0.01) is None
    many = np.repeat(pairs, 20, axis=0)
    assert contacts_at_rest(Auto(), many, movable, velocity, gain=0.01) is not None


def test_what_touches_nothing_counts_for_nothing() -> None:
    pairs = np.repeat([[0, 1], [0, 2]], 4, axis=0)
    movable, velocity = np.array([False, True, True, True]), np.zeros((4, 6))
    velocity[2, 0], velocity[3, 0] = 1.0, 1e6
    assert contacts_at_rest(Auto(), pairs, movable, velocity, gain=0.01) is None


def ends(problem: ContactProblem, *statuses: Status) -> list[Solution]:
    """Solutions of the two contacts of a problem, apart, without impulses, which ended so."""
    return [
        replace(
            iterate(part_of(problem, np.arange(2) == k), NSGS(max_iterations=0), np.zeros((1, 3))),
            status=status,
        )
        for k, status in enumerate(statuses)
    ]


@pytest.mark.parametrize(
    ("still", "moving", "expected"),
    [
        (Status.SOLVED, Status.MAX_ITERATIONS, Status.MAX_ITERATIONS),
        (Status.STALLED, Status.SOLVED, Status.STALLED),
        (Status.STALLED, Status.MAX_ITERATIONS, Status.MAX_ITERATIONS),
        (Status.NO_SOLUTION, Status.MAX_ITERATIONS, Status.NO_SOLUTION),
        (Status.MAX_ITERATIONS, Status.NO_SOLUTION, Status.NO_SOLUTION),
        (Status.SOLVED, Status.SOLVED, Status.ALMOST_SOLVED),
    ],
)
def test_the_whole_ends_as_its_parts(still: Status, moving: Status, expected: Status) -> None:
    problem, rests = two_particles(1.0, 100.0), np.array([True, False])
    assert joined(problem, Auto(), rests, *ends(problem, still, moving)).status is expected


def test_the_proof_that_a_part_has_no_solution_is_the_last_note() -> None:
    problem, rests = two_particles(1.0, 100.0), np.array([True, False])
    for proof in (0, 1):
        statuses = [Status.MAX_ITERATIONS, Status.MAX_ITERATIONS]
        statuses[proof] = Status.NO_SOLUTION
        parts = [replace(part, notes=(f"note {k}",)) for k, part in enumerate(ends(problem, *statuses))]
        assert joined(problem, Auto(), rests, *parts).notes[-1] == f"note {proof}"


def test_what_is_within_the_tolerance_of_the_whole_is_solved() -> None:
    """A part at rest that has not come to its own, finer tolerance is told in the notes."""
    problem, rests = two_particles(1e-9, 100.0), np.array([True, False])
    still, moving = ends(problem, Status.STALLED, Status.SOLVED)
    moving = replace(moving, r=np.array([[100.0, 0.0, 0.0]]))
    whole = joined(problem, Auto(tol=1e-8), rests, still, moving)
    assert whole.status is Status.SOLVED
    assert whole.residual <= 1e-8
    assert "stalled at residual 1.0e+00" in whole.notes[0]


def two_particles(*speeds: float) -> ContactProblem:
    """Two particles of 1 kg that fall on a floor with these speeds."""
    G = np.zeros((2, 2, 3, 3))
    G[:, 1] = np.eye(3)
    y = np.zeros((3, 3))
    y[:2, 0] = -np.array(speeds)
    blocks = BodyBlocks(G, np.array([[2, 0], [2, 1]]), y, np.tile(np.eye(3), (2, 1, 1)))
    return ContactProblem.from_blocks(blocks, mu=0.5)


def test_nothing_is_apart_by_another_solver_without_gravity_or_where_all_rests() -> None:
    pairs = np.repeat([[0, 1], [0, 2]], 80, axis=0)
    movable, velocity = np.array([False, True, True]), np.zeros((3, 6))
    assert contacts_at_rest(Auto(), pairs, movable, velocity, gain=0.01) is None
    velocity[2, 0] = 1.0
    assert contacts_at_rest(NSGS(), pairs, movable, velocity, gain=0.01) is None
    assert contacts_at_rest(Auto(), pairs, movable, velocity, gain=0.0) is None
    assert contacts_at_rest(Auto(), pairs[:0], movable, velocity, gain=0.01) is None
