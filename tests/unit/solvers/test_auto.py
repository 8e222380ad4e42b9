"""The portfolio: solves what its members solve, splits, hands over, tells what it tried."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from clapas.io.files import read_problem
from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers import NSGS, AcceleratedProjection, Auto, solve
from clapas.solvers.auto import Contender, Race, Runner, contenders
from clapas.solvers.branch_and_bound import BranchAndBound, TreeSearch, search, verify
from clapas.solvers.loop import Halt
from clapas.solvers.newton import LevenbergMarquardt
from clapas.status import Status
from tests.random_problems import random_global
from tests.unit.solvers import contract

SHEARED = Path(__file__).parent / "data" / "sheared-disks.hdf5"


@pytest.mark.parametrize("d", [2, 3])
def test_agrees_with_gauss_seidel(d: int) -> None:
    contract.agrees_with_gauss_seidel(Auto, d)


def test_keeps_the_promises_of_every_solver() -> None:
    contract.knows_answers_on_paper(Auto)
    contract.treats_frictionless_contacts(Auto)
    contract.accepts_no_contact(Auto)
    contract.forgets_units(Auto)


def test_gauss_seidel_alone_where_it_is_enough() -> None:
    solution = solve(gallery.get("packing-1000").problem, Auto(tol=3e-2))
    assert [note.split(":")[0] for note in solution.notes] == ["nsgs"]


def test_a_round_on_a_dense_matrix_where_the_problem_is_small() -> None:
    problem = gallery.get("alea-756-100-by-36").problem
    solution = solve(problem, Auto(tol=1e-10))
    assert [note.split(":")[0] for note in solution.notes] == ["dense-newton"]
    assert problem.residual(solution.r) <= 1e-10


def test_small_problems_of_time_steps_begin_with_sweeps_on_bodies() -> None:
    given = random_global(3, n=4, bodies=4, d=3)
    assert given.blocks is not None
    step = ContactProblem.from_blocks(given.blocks, mu=given.mu, w=given.w)
    assert [c.name for c in contenders(step, 1e-8)][:2] == ["nsgs", "dense-newton"]
    assert [c.name for c in contenders(given, 1e-8)][:2] == ["dense-newton", "nsgs"]


def test_hands_over_where_gauss_seidel_crawls() -> None:
    problem = gallery.get("tower-10").problem
    plain = NSGS(max_iterations=1000, acceleration=0)
    assert not solve(problem, plain, check=False).status.is_solved
    solution = solve(problem, Auto(tol=1e-8))
    assert solution.residual <= 1e-8
    assert len(solution.notes) > 1
    assert solution.notes[0].startswith("nsgs")


@pytest.mark.parametrize("name", ["painleve-down-none", "crushed-disc", "subset-sum-six-none"])
def test_a_proof_that_nothing_solves_it_is_passed_on(name: str) -> None:
    solution = solve(gallery.get(name).problem, Auto(), check=False)
    assert solution.status is Status.NO_SOLUTION
    how_far = [note for note in solution.notes if "closed and checked: no impulses" in note]
    assert how_far[0].startswith("branch-and-bound: ")


@pytest.mark.parametrize("begins", ["zero", "where others stopped"])
def test_disks_under_a_lid_that_is_dragged(begins: str) -> None:
    """A step that stopped a run: sweeps, projections and the interior point stall at 1e-5."""
    problem = read_problem(SHEARED)
    guess = None
    if begins != "zero":
        guess = solve(problem, AcceleratedProjection(tol=1e-6, max_iterations=3_000), check=False)
    solution = solve(problem, Auto(tol=1e-8), guess=guess)
    assert solution.residual <= 1e-8
    assert solution.method == "Auto: semismooth-newton"


def test_newton_steps_on_all_contacts_are_for_thousands() -> None:
    large = random_global(0, n=3_001, bodies=1_500, d=2)
    assert "semismooth-newton" not in [c.name for c in contenders(large, 1e-6)]


def test_hard_sums_are_found() -> None:
    assert solve(gallery.get("subset-sum-twelve").problem, Auto()).residual <= 1e-8


def test_the_same_bits_twice() -> None:
    problem = gallery.get("tower-10").problem
    one, two = (solve(problem, Auto(tol=1e-10)) for _ in range(2))
    assert np.array_equal(one.r, two.r)
    assert one.iterations == two.iterations


def together(*problems: ContactProblem) -> ContactProblem:
    """Several problems that do not know each other, as one."""
    reduced = [reduce(problem) for problem in problems]
    return ContactProblem(
        W=sparse.block_diag([problem.W for problem in reduced], format="csr"),
        q=np.concatenate([problem.q for problem in reduced]),
        mu=np.concatenate([problem.mu for problem in reduced]),
        d=3,
    )


def test_only_the_parts_that_are_left_go_on() -> None:
    easy = [random_global(seed, n=4, bodies=4, d=3) for seed in range(20)]
    hard = gallery.get("box-stack-10").problem
    solution = solve(together(*easy, hard), Auto(tol=1e-10))
    assert solution.residual <= 1e-10
    parts = {note.split(" contacts:")[0] for note in solution.notes if " contacts: " in note}
    assert "40" in parts  # the stack, alone
    assert all(int(part) <= 40 for part in parts)


def test_limits_are_heeded() -> None:
    problem = gallery.get("tower-10").problem
    stopped = solve(problem, Auto(tol=1e-15, max_iterations=50), check=False)
    assert stopped.status is Status.MAX_ITERATIONS
    assert stopped.iterations < 200
    hurried = solve(problem, Auto(tol=1e-15, time_limit=1e-3), check=False)
    assert hurried.status is Status.TIME_LIMIT


# ------------------------------------------------------------------------- the race


def runner(*residuals: tuple[float, float], patience: float = 1e4) -> Runner:
    contender = Contender("x", NSGS(), cost=1.0, joins=0.0, patience=patience)
    return Runner(contender, work=residuals[-1][0], iterations=1, residuals=list(residuals))


def test_work_left_follows_the_pace() -> None:
    tenth_per_doubling = runner((10.0, 1e-1), (20.0, 1e-2))
    assert tenth_per_doubling.work_left(1e-4) == pytest.approx(60.0)
    assert runner((10.0, 1e-2), (20.0, 1e-2)).work_left(1e-4) == np.inf
    assert runner((10.0, 1e-2)).work_left(1e-4) == np.inf


def test_patience_does_not_end_a_runner_whose_residual_still_falls() -> None:
    halved_late = runner((50.0, 1e-2), (60.0, 1e-3), (80.0, 9e-4), (100.0, 4e-4), patience=100.0)
    assert halved_late.is_improving
    assert not halved_late.has_ended
    halved_early = runner((50.0, 1e-2), (60.0, 4e-4), (80.0, 9e-4), (100.0, 4e-4), patience=100.0)
    assert not halved_early.is_improving
    assert halved_early.has_ended
    assert not runner((50.0, 1e-3), (99.0, 1e-3), patience=100.0).has_ended


def test_nobody_runs_past_the_patience_of_all() -> None:
    problem = gallery.get("painleve-down-none").problem
    field = [Contender("nsgs", NSGS(), cost=1.0, joins=0.0, patience=100.0)]
    race = Race(problem, np.zeros((1, 2)), 1e-8, field)
    while race.verdict is None:
        assert race.run() > 0
    assert race.verdict is Status.STALLED
    assert race.run() == 0


def test_the_field_suits_the_problem() -> None:
    small = [c.name for c in contenders(gallery.get("painleve-up-two").problem, 1e-8)]
    large = [c.name for c in contenders(gallery.get("tower-10").problem, 1e-8)]
    assert "branch-and-bound" in small
    assert "branch-and-bound" not in large
    assert small[0] == "dense-newton"
    assert large[0] == "nsgs"


def test_methods_know_how_much_time_is_left() -> None:
    """Branch and bound treats many nodes at a time, unseen by the loop: it has the deadline of the whole."""
    problem = ContactProblem(W=np.eye(2), q=[[-1.0, 1.0]], mu=[0.5])
    search = Contender("search", BranchAndBound(), cost=1.0, joins=0.0, patience=10.0)
    race = Race(problem, np.zeros((1, 2)), 1e-300, [search], deadline=time.perf_counter() + 20.0)
    race.run()
    iteration = race.runners[0].iteration
    assert isinstance(iteration, TreeSearch)
    assert 0.0 < iteration.settings.time_limit <= 20.0


def test_no_factorisation_is_begun_that_would_end_too_late() -> None:
    problem = ContactProblem(W=np.eye(2), q=[[-1.0, 1.0]], mu=[0.5])
    iteration = LevenbergMarquardt(time_limit=1000.0).start(problem, np.zeros((1, 2)))
    iteration.advance(1)
    iteration._duration = 2000.0  # type: ignore[attr-defined]
    with pytest.raises(Halt) as halted:
        iteration.advance(1)
    assert halted.value.status is Status.TIME_LIMIT


@pytest.mark.parametrize("n", [7, 12, 30])
def test_no_solution_is_proved_for_some_contacts_in_space(n: int) -> None:
    """Random directions of few unknowns: no force opposes the free velocities. All other methods stall."""
    rng = np.random.default_rng(n)
    H = rng.normal(size=(3 * n, 2))
    problem = ContactProblem(W=H @ H.T, q=rng.normal(size=3 * n), mu=np.full(n, 0.3))
    solution = solve(problem, Auto(), check=False)
    assert solution.status is Status.NO_SOLUTION
    assert any(note.startswith("branch-and-bound") for note in solution.notes)
    proof = search(problem, BranchAndBound(heuristics=(), restarts=0)).proof
    assert proof is not None
    assert verify(problem, proof).accepted
