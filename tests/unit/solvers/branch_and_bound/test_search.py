"""Branch and bound: solutions found, non-existence proved, agreement with enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clapas.errors import ProblemError, SettingsError
from clapas.problems import ContactProblem, gallery
from clapas.solvers import NSGS, enumerate_solutions, solve
from clapas.solvers.branch_and_bound import BranchAndBound, all_solutions, search, verify
from clapas.status import Status

BARE = BranchAndBound(heuristics=(), restarts=0)  # the tree alone
PLANE = [entry.name for entry in gallery.small_problems() if entry.problem.d == 2]


def random_problem(seed: int, most: int = 5) -> ContactProblem:
    """A few contacts on too few bodies, frictionless, rough or very rough: many have no solution."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, most + 1))
    drawn = gallery.alea(
        int(random.integers(1, 4)), int(random.integers(1, 4)), n, d=2, seed=seed, condition=10.0
    )
    mu = drawn.mu * random.choice([0.0, 1.0, 5.0], n)
    return ContactProblem(M=drawn.M, H=drawn.H, f=drawn.f, w=drawn.w, mu=mu)


def in_space(problem: ContactProblem) -> ContactProblem:
    """The same bodies with a second tangent along which nothing moves."""
    n, m = problem.n_contacts, problem.n_dof
    H = np.zeros((n, 3, m))
    H[:, :2] = problem.H.toarray().reshape(n, 2, m)
    w = np.column_stack((problem.w, np.zeros(n)))
    return ContactProblem(M=problem.M, H=H.reshape(3 * n, m), f=problem.f, w=w, mu=problem.mu)


@pytest.mark.parametrize("name", PLANE)
def test_gallery_in_the_plane(name: str) -> None:
    entry = gallery.get(name)
    outcome = search(entry.problem, BARE)
    assert outcome.gap == 0.0
    if entry.known.exists:
        assert outcome.solution.status is Status.SOLVED
        assert entry.problem.residual(outcome.solution.r) <= 1e-8
        assert outcome.proof is None
    else:
        assert outcome.solution.status is Status.NO_SOLUTION
        assert outcome.proof is not None
        assert verify(entry.problem, outcome.proof).accepted


@pytest.mark.parametrize("f", [(1, 2), (2, 3), (3, 5, 6), (2, 4, 6, 8)])
def test_solvable_iff_a_subset_sums(f: tuple[int, ...]) -> None:
    sums = {sum(part) for k in range(len(f) + 1) for part in itertools.combinations(f, k)}
    for total in range(1, sum(f) + 2):
        problem = gallery.subset_sum(f, total).problem
        status = search(problem, BARE).solution.status
        assert status is (Status.SOLVED if total in sums else Status.NO_SOLUTION), total


def test_thirty_numbers() -> None:
    random = np.random.default_rng(1)
    f = [int(number) for number in random.integers(1, 100, 30)]
    problem = gallery.subset_sum(f, sum(f[::2]), max_listed=1).problem
    assert search(problem, BARE).solution.status is Status.SOLVED


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_agrees_with_enumeration(first: int) -> None:
    for seed in range(first, first + 20):
        problem = random_problem(seed)
        outcome = search(problem, BARE)
        if enumerate_solutions(problem).exists:
            assert outcome.solution.status is Status.SOLVED, seed
        else:
            assert outcome.proof is not None, seed
            assert verify(problem, outcome.proof).accepted, seed


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 600, 50))
def test_agrees_with_enumeration_on_many(first: int) -> None:
    for seed in range(first, first + 50):
        problem = random_problem(seed, most=6)
        status = search(problem, BARE).solution.status
        exists = enumerate_solutions(problem).exists
        assert status is (Status.SOLVED if exists else Status.NO_SOLUTION), seed


def test_the_random_problems_are_of_both_kinds() -> None:
    kinds = [enumerate_solutions(random_problem(seed)).exists for seed in range(40)]
    assert True in kinds
    assert False in kinds


@pytest.mark.parametrize("seed", range(12))
def test_all_solutions_are_those_enumerated(seed: int) -> None:
    problem = random_problem(seed)
    listed, enumerated = all_solutions(problem), enumerate_solutions(problem)
    assert len(listed.isolated) == len(enumerated.isolated)
    assert len(listed.continua) == len(enumerated.continua)
    for r in enumerated.isolated:
        assert listed.contains(r, 1e-6 * (1 + float(np.abs(r).max())))


def test_all_solutions_of_known_problems() -> None:
    assert len(all_solutions(gallery.get("painleve-up-two").problem).isolated) == 2
    assert len(all_solutions(gallery.get("subset-sum-two-ways").problem).isolated) == 2
    assert all_solutions(gallery.get("painleve-down-none").problem).exists is False
    square = all_solutions(gallery.get("rigid-square").problem)
    assert (len(square.isolated), len(square.continua)) == (0, 1)
    nothing = ContactProblem(M=np.eye(2), H=np.zeros((0, 2)), f=np.ones(2), w=np.zeros((0, 2)), mu=[])
    assert all_solutions(nothing).is_unique


def test_all_solutions_are_for_small_problems_in_the_plane() -> None:
    with pytest.raises(ProblemError, match="in the plane only"):
        all_solutions(gallery.get("one-stick").problem)
    with pytest.raises(ProblemError, match="at most 3 contacts, got 4"):
        all_solutions(gallery.get("subset-sum-both").problem, max_contacts=3)


@pytest.mark.parametrize("name", ["painleve-down-none", "crushed-disc-rough", "subset-sum-none"])
def test_proofs_in_space(name: str) -> None:
    problem = in_space(gallery.get(name).problem)
    outcome = search(problem, BARE)
    assert outcome.solution.status is Status.NO_SOLUTION
    assert outcome.proof is not None
    assert verify(problem, outcome.proof).accepted


@pytest.mark.parametrize(
    "name", ["one-slide-coupled", "spurious-fixed-point", "sliding-block", "near-singular"]
)
def test_solutions_in_space(name: str) -> None:
    solution = solve(gallery.get(name).problem, BranchAndBound())
    assert solution.status is Status.SOLVED


def test_tree_alone_solves_in_space() -> None:
    problem = gallery.alea(3, 2, 3, seed=4)
    outcome = search(problem, BARE)
    assert outcome.solution.status is Status.SOLVED
    assert outcome.nodes > 1


# Contacts on few bodies, no solution among them: (systems, degrees, n, friction, seed).
IMPOSSIBLE_IN_SPACE = (
    (1, 6, 6, 1.0, 3),
    (1, 4, 8, 1.0, 6),
    (1, 6, 10, 1.0, 12),
    (1, 9, 8, 2.0, 7),
    (3, 3, 10, 1.0, 0),
)


@pytest.mark.parametrize(("systems", "degrees", "n", "friction", "seed"), IMPOSSIBLE_IN_SPACE)
def test_random_problems_without_solution_in_space(
    systems: int, degrees: int, n: int, friction: float, seed: int
) -> None:
    drawn = gallery.alea(degrees, systems, n, seed=seed, condition=10.0)
    problem = ContactProblem(M=drawn.M, H=drawn.H, f=drawn.f, w=drawn.w, mu=friction * drawn.mu)
    outcome = search(problem, BARE)
    assert outcome.solution.status is Status.NO_SOLUTION
    assert outcome.proof is not None
    assert verify(problem, outcome.proof).accepted
    # The proof is of this problem: another motion of the neighbours is another one.
    still = ContactProblem(M=drawn.M, H=drawn.H, f=drawn.f, w=0.0 * drawn.w, mu=friction * drawn.mu)
    assert not verify(still, outcome.proof).accepted


def test_a_rod_that_jams_however_it_turns() -> None:
    """Painlevé's rod in space: turned about its normal, it has a solution or not all the same."""
    for name, status in (
        ("painleve-down-none", Status.NO_SOLUTION),
        ("painleve-down-forward", Status.SOLVED),
    ):
        flat = gallery.get(name).problem
        for angle in (0.3, 1.2, 2.9, 4.4):
            H = np.zeros((1, 3, flat.n_dof))
            H[0, 0] = flat.H.toarray()[0]
            H[0, 1:] = np.outer([np.cos(angle), np.sin(angle)], flat.H.toarray()[1])
            w = np.array([[flat.w[0, 0], np.cos(angle) * flat.w[0, 1], np.sin(angle) * flat.w[0, 1]]])
            turned = ContactProblem(M=flat.M, H=H.reshape(3, -1), f=flat.f, w=w, mu=flat.mu)
            assert search(turned, BARE).solution.status is status


def test_random_starts_find_what_one_start_does_not() -> None:
    drawn = gallery.alea(4, 2, 8, seed=0, condition=10.0)
    problem = ContactProblem(M=drawn.M, H=drawn.H, f=drawn.f, w=drawn.w, mu=3.0 * drawn.mu)
    outcome = search(problem, BranchAndBound(restarts=8))
    assert outcome.solution.status is Status.SOLVED
    assert outcome.nodes == 1
    assert (
        search(problem, BranchAndBound(restarts=0, max_iterations=1)).solution.status is Status.MAX_ITERATIONS
    )


def test_arcs_too_narrow_are_left_open() -> None:
    # mu = tan(theta): in 3-D the only direction that matters is the border of every arc around it.
    problem = in_space(gallery.get("painleve-down-edge").problem)
    outcome = search(problem, BranchAndBound(heuristics=(), restarts=0, sector=0.1))
    assert outcome.solution.status is Status.STALLED
    assert outcome.proof is None
    assert 0.0 < outcome.gap < 1.0
    assert "neither solved nor closed" in outcome.solution.notes[-1]


def test_heuristics_come_first() -> None:
    problem = gallery.get("box-stack-10").problem
    outcome = search(problem)
    assert outcome.solution.status is Status.SOLVED
    assert outcome.nodes == 1


def test_as_a_solver() -> None:
    refused = solve(gallery.get("crushed-disc").problem, BARE, check=False)
    assert refused.status is Status.NO_SOLUTION
    assert "closed and checked" in refused.notes[-1]
    nothing = ContactProblem(M=np.eye(2), H=np.zeros((0, 2)), f=np.ones(2), w=np.zeros((0, 3)), mu=[])
    assert solve(nothing, BranchAndBound()).status is Status.SOLVED


def test_limits_leave_the_gap_open() -> None:
    problem = gallery.get("subset-sum-six-none").problem
    outcome = search(
        problem, BranchAndBound(heuristics=(NSGS(max_iterations=5),), restarts=0, max_iterations=20)
    )
    assert outcome.solution.status is Status.MAX_ITERATIONS
    assert outcome.proof is None
    assert 0.0 < outcome.gap <= 1.0
    assert outcome.solution.residual == problem.residual(outcome.solution.r)


def test_the_same_search_twice() -> None:
    problem = gallery.get("subset-sum-six").problem
    one, other = search(problem), search(problem)
    assert one.nodes == other.nodes
    np.testing.assert_array_equal(one.solution.r, other.solution.r)


def test_bad_settings() -> None:
    with pytest.raises(SettingsError, match="sector must be between 0 and π/2, got 0"):
        BranchAndBound(sector=0.0)
    with pytest.raises(SettingsError, match="tol must be positive"):
        BranchAndBound(tol=0.0)
    with pytest.raises(SettingsError, match="restarts must be at least 0, got -1"):
        BranchAndBound(restarts=-1)
