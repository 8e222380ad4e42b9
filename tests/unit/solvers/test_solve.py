"""The shared loop: statuses, history, what is kept and what is raised."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from clapas.errors import NotSolved, ProblemError, SettingsError
from clapas.io import read, shipped
from clapas.problems import LCP, ContactProblem, gallery
from clapas.solvers import NSGS, AlartCurnier, DeSaxce, Given, Progress, solve
from clapas.solvers.loop import UNMEASURED, Halt, Iteration, IterativeSolver
from clapas.status import Status
from tests.random_problems import particle

WALL = gallery.brick_wall(5, 5).problem


@pytest.mark.parametrize("d", [2, 3])
def test_no_contact_is_solved_at_once(d: int) -> None:
    problem = ContactProblem(M=np.eye(3), H=np.zeros((0, 3)), f=np.ones(3), w=np.zeros((0, d)), mu=[])
    solution = solve(problem)
    assert solution.status is Status.SOLVED
    assert solution.iterations == 0
    np.testing.assert_array_equal(solution.v, -np.ones(3))


def test_settings_of_a_method_are_given_to_the_method() -> None:
    solve_freely: Any = solve
    with pytest.raises(SettingsError, match=r"solve\(problem, Auto\(tol=1e-08\)\)"):
        solve_freely(particle(), tol=1e-8)
    with pytest.raises(TypeError, match=r"solve\(problem, NSGS\(tol=1e-08, max_iterations=5\)\)"):
        solve_freely(particle(), NSGS, tol=1e-8, max_iterations=5)
    with pytest.raises(
        SettingsError, match=r"solve has no setting 'gess' \(did you mean guess\?\): it has problem"
    ):
        solve_freely(particle(), gess=[[0.0, 0.0, 0.0]])


def test_solution_holds_what_was_found() -> None:
    problem = gallery.box_stack(2).problem
    solution = solve(problem, NSGS(tol=1e-10))
    np.testing.assert_array_equal(solution.u, problem.velocity(solution.r))
    np.testing.assert_array_equal(solution.v, problem.motion(solution.r))
    assert solution.problem is problem
    assert solution.residual == problem.residual(solution.r) <= solution.tol
    assert solution.report().residual == solution.residual
    assert solution.as_dict()["status"] == "SOLVED"
    assert repr(solution).startswith("Solution(SOLVED, residual ")


def test_running_out_of_iterations_is_loud_and_loses_nothing() -> None:
    with pytest.raises(
        NotSolved, match=r"MAX_ITERATIONS: residual .* after 3 iterations, tolerance 1\.0e-14"
    ) as caught:
        solve(WALL, NSGS(tol=1e-14, max_iterations=3))
    solution = caught.value.solution
    assert solution.status is Status.MAX_ITERATIONS
    assert solution.residual == WALL.residual(solution.r) < WALL.residual(np.zeros_like(solution.r))
    quiet = solve(WALL, NSGS(tol=1e-14, max_iterations=3), check=False)
    np.testing.assert_array_equal(quiet.r, solution.r)


def test_zero_iterations_measure_the_guess() -> None:
    solution = solve(particle(), NSGS(max_iterations=0), guess=[[0.0981, -0.04905, 0]], check=True)
    assert (solution.status, solution.iterations) == (Status.SOLVED, 0)


def test_time_limit() -> None:
    solution = solve(WALL, NSGS(tol=1e-300, time_limit=1e-9), check=False)
    assert solution.status is Status.TIME_LIMIT


def test_watcher_sees_and_may_stop() -> None:
    seen: list[Progress] = []

    def watch(progress: Progress) -> bool:
        seen.append(progress)
        return progress.iterations >= 4

    solution = solve(WALL, NSGS(tol=1e-300, order=Given()), check=False, progress=watch)
    assert solution.status is Status.STOPPED
    assert [p.iterations for p in seen] == solution.history.iterations.tolist()
    assert [p.residual for p in seen] == solution.history.residuals.tolist()
    assert seen[-1].iterations == solution.iterations >= 4


def test_history_is_increasing_and_starts_from_the_guess() -> None:
    history = solve(WALL, NSGS(tol=1e-4)).history
    assert history.iterations[0] == 0
    assert (np.diff(history.iterations) > 0).all()
    assert (np.diff(history.seconds) >= 0).all()
    assert history.residuals[0] == WALL.residual(np.zeros((WALL.n_contacts, 3)))
    assert repr(history) == f"History({len(history)} measurements)"


def test_same_input_same_bits() -> None:
    first, again = (solve(WALL, NSGS(tol=1e-5)) for _ in range(2))
    np.testing.assert_array_equal(first.r, again.r)
    np.testing.assert_array_equal(first.history.iterations, again.history.iterations)


@dataclasses.dataclass
class Scripted(Iteration):
    """An iteration that walks through given impulses."""

    steps: list[np.ndarray]

    def impulses(self) -> np.ndarray:
        return self.steps[0]

    def advance(self, count: int) -> None:
        for _ in range(count):
            if len(self.steps) > 1:
                del self.steps[0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScriptedSolver(IterativeSolver):
    """A solver that returns the impulses it was given."""

    steps: tuple[float, ...]

    def start(self, problem: ContactProblem, guess: np.ndarray) -> Iteration:
        return Scripted([guess] + [np.array([[n, 0.0, 0.0]]) for n in self.steps])


def falling() -> ContactProblem:
    return ContactProblem(W=np.eye(3), q=[[-1.0, 0.0, 0.0]], mu=0.5)


def test_a_diverging_method_returns_its_best_iterate() -> None:
    solution = solve(falling(), ScriptedSolver(steps=(0.9, 1.5, 1e200, math.nan)), check=False)
    assert solution.status is Status.NUMERICAL_ERROR
    assert solution.r[0, 0] == 0.9


def test_a_method_that_stops_moving_is_stalled() -> None:
    solution = solve(falling(), ScriptedSolver(steps=(0.5, 0.6, 0.6)), check=False)
    assert solution.status is Status.STALLED
    assert solution.r[0, 0] == 0.6


def test_the_best_iterate_is_kept_when_the_last_is_worse() -> None:
    solution = solve(falling(), ScriptedSolver(steps=(0.99, 0.5), max_iterations=2), check=False)
    assert solution.status is Status.MAX_ITERATIONS
    assert solution.r[0, 0] == 0.99
    assert solution.residual == pytest.approx(0.01)


@dataclasses.dataclass
class Boaster(Scripted):
    """An iteration that says of itself whatever it likes, and counts how often its impulses are read."""

    claim: float = 0.0
    read: int = 0

    def impulses(self) -> np.ndarray:
        self.read += 1
        return super().impulses()

    def glance(self) -> float:
        return self.claim


@dataclasses.dataclass(frozen=True, kw_only=True)
class BoastingSolver(ScriptedSolver):
    """Its solver; ``made`` are the iterations it started."""

    claim: float
    made: list[Boaster] = dataclasses.field(default_factory=list)

    def start(self, problem: ContactProblem, guess: np.ndarray) -> Iteration:
        walk = [guess] + [np.array([[n, 0.0, 0.0]]) for n in self.steps]
        self.made.append(Boaster(walk, self.claim))
        return self.made[-1]


def test_nothing_is_solved_by_what_a_method_says_of_itself() -> None:
    steps = tuple(1.0 - 0.99**k for k in range(1, 60))
    solution = solve(falling(), BoastingSolver(steps=steps, claim=0.0, max_iterations=40), check=False)
    assert solution.status is Status.MAX_ITERATIONS
    assert solution.residual == pytest.approx(0.99**40)


@pytest.mark.parametrize("claim", [0.5, math.nan, math.inf])
def test_a_method_that_never_says_it_has_arrived_is_measured_now_and_then(claim: float) -> None:
    solver = BoastingSolver(steps=tuple(1.0 - 0.5**k for k in range(1, 200)), claim=claim, tol=1e-9)
    solution = solve(falling(), solver)
    assert solution.residual <= 1e-9
    assert solution.iterations <= 1.5 * UNMEASURED
    assert solver.made[0].read <= (4 if claim == 0.5 else 40)  # modest ones are left alone for a while


@pytest.mark.parametrize(
    ("guess", "message"),
    [
        (np.zeros((2, 3)), r"r has shape \(2, 3\), expected \(1, 3\)"),
        ([[np.nan, 0, 0]], "the guess must be finite"),
    ],
)
def test_bad_guesses(guess: object, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        solve(particle(), guess=guess)  # type: ignore[arg-type]


def test_the_guess_is_not_changed() -> None:
    guess = np.full((WALL.n_contacts, 3), 0.01)
    solve(WALL, NSGS(max_iterations=2), guess=guess, check=False)
    np.testing.assert_array_equal(guess, 0.01)


class Halting(Scripted):
    """An iteration that gives up by itself."""

    notes = ("a cycle of order 2 was seen",)

    def advance(self, count: int) -> None:
        super().advance(count)
        raise Halt(Status.NUMERICAL_ERROR)


@dataclasses.dataclass(frozen=True, kw_only=True)
class HaltingSolver(IterativeSolver):
    """A solver whose iteration halts at once at a given impulse."""

    at: float

    def start(self, problem: ContactProblem, guess: np.ndarray) -> Iteration:
        return Halting([guess, np.array([[self.at, 0.0, 0.0]])])


def test_a_method_may_give_up_and_say_why() -> None:
    solution = solve(falling(), HaltingSolver(at=0.9), check=False)
    assert solution.status is Status.NUMERICAL_ERROR
    assert solution.r[0, 0] == 0.9
    assert solution.notes == ("a cycle of order 2 was seen",)
    assert solution.as_dict()["notes"] == ["a cycle of order 2 was seen"]


def test_giving_up_on_the_solution_is_solving() -> None:
    assert solve(falling(), HaltingSolver(at=1.0)).status is Status.SOLVED


@pytest.mark.parametrize("part", [AlartCurnier(), DeSaxce(), "nsgs", NSGS])
def test_what_is_no_method_is_refused_in_words(part: Any) -> None:
    problem = ContactProblem(W=np.eye(2), q=[[-1.0, 0.5]], mu=0.5)
    with pytest.raises(SettingsError, match="expected a method for contact problems such as"):
        solve(problem, part)


@pytest.mark.parametrize("given", ["arch.hdf5", None, LCP([[1.0]], [-1.0])])
def test_what_is_no_contact_problem_is_refused_in_words(given: Any) -> None:
    with pytest.raises(ProblemError, match=r"expected a ContactProblem, got .*read_problem.*solve_lcp"):
        solve(given)


def test_what_holds_a_contact_problem_is_told_from_it() -> None:
    message = r"expected a ContactProblem, got ProblemFile: give its attribute problem"
    with pytest.raises(ProblemError, match=message):
        solve(read(shipped("sliding-block.dat")))  # type: ignore[arg-type]


def test_solutions_are_compared_as_things_not_by_their_arrays() -> None:
    """Two answers may differ in nothing but their time: sets and dictionaries hold them apart."""
    problem = gallery.get("two-blocks").problem
    one, two = solve(problem), solve(problem)
    assert one != two
    assert one.history != two.history
    assert len({one, two}) == 2
