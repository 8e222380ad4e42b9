"""Every method on every kind of problem, one residual, measured here and not by the package.

Where theory lets a method fail on a kind of problem, it is listed in MAY_FAIL with the reason; its failures
must then be honest, and the default method must solve the problem. Counter-examples show that the reasons
are real. All other methods must solve, whether a theorem says so or not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clapas.problems.lcp import LCP
from clapas.solvers.lcp import LCPSolution, enumerate_lcp, registry, solve_lcp
from clapas.status import Status
from tests.unit.solvers.lcp import families

Family = Callable[[int, int], LCP]

TOL = 1e-8
SEEDS = {1: 3, 2: 4, 7: 4, 30: 2, 120: 1, 400: 1}
LARGEST = {"enumeration": 8, "mixed-integer": 10}  # exponential time
LARGE = {"principal-pivoting": 500, "quadratic-program": 500}  # minutes beyond
MODERATE = {  # iterations granted to methods that may fail
    "quadratic-program": 10,
    "gauss-seidel": 100,
    "conjugate-gradient": 100,
    "minimum-map": 200,
    "fischer-burmeister": 200,
    "block-pivoting": 500,
}
ALL = set(registry.names())
ANY_MATRIX = {"enumeration", "mixed-integer"}

NEEDS_ROW_SUFFICIENT = "Keller's method ends for row sufficient matrices; on others a basis may come back"
NEEDS_MONOTONE = "the steps contract for monotone M only; on circular P-matrices they go round"
STATIONARY = "stationary points of zᵀ(M z + q) need not be solutions where M is not row sufficient"
PROXIMAL = "proximal steps descend for monotone or symmetric M only"
INTERIOR = "the path from inside leads to a solution for P₀-matrices; on others it may turn back"
PPAD = "equilibria of games: merit functions, proximal steps and the artificial ray all have dead ends there"

MAY_FAIL: dict[Family, dict[str, str]] = {
    families.definite: {},
    families.p_matrix: {},
    families.p_general: dict.fromkeys(("gauss-seidel", "conjugate-gradient", "latin"), NEEDS_MONOTONE),
    families.semidefinite: {},
    families.monotone: {},
    families.degenerate: {},
    families.copositive_symmetric: {"principal-pivoting": NEEDS_ROW_SUFFICIENT},
    families.copositive: {
        "principal-pivoting": NEEDS_ROW_SUFFICIENT,
        "quadratic-program": STATIONARY,
        "interior-point": INTERIOR,
    },
    families.copositive_plus: {
        "principal-pivoting": NEEDS_ROW_SUFFICIENT,
        "quadratic-program": STATIONARY,
        "interior-point": INTERIOR,
        **dict.fromkeys(("gauss-seidel", "conjugate-gradient", "latin"), NEEDS_MONOTONE),
        **dict.fromkeys(("block-pivoting", "minimum-map", "fischer-burmeister"), PROXIMAL),
    },
    families.game: dict.fromkeys(ALL - ANY_MATRIX - {"lemke"}, PPAD),
}
CASES = [(family, name) for family in MAY_FAIL for name in registry.names()]
# Ten seconds and more from n = 400 on: left to the slow tests.
LABORIOUS = {
    (families.p_general, "quadratic-program"),
    (families.p_general, "minimum-map"),
    (families.copositive_symmetric, "quadratic-program"),
    (families.copositive, "minimum-map"),
    (families.copositive, "fischer-burmeister"),
    (families.copositive_plus, "lemke"),
    (families.copositive_plus, "lemke-tableau"),
    (families.game, "lemke"),
}
# More than a minute at 2000 unknowns.
SLOW = {
    (families.semidefinite, "gauss-seidel"): 800,
    (families.semidefinite, "latin"): 800,
    (families.copositive, "block-pivoting"): 800,
}


def names(case: object) -> str:
    return str(getattr(case, "__name__", case))


def sizes(family: Family, name: str) -> list[int]:
    largest = LARGEST.get(name, 400)
    if (family, name) in LABORIOUS:
        largest = 120
    if name in MAY_FAIL[family]:
        largest = min(largest, 30)
    return [n for n in SEEDS if n <= largest and not (family is families.game and n == 1)]


def missed(solution: LCPSolution) -> float:
    """|min(w, λ z)| / |q|, from the data."""
    problem = solution.problem
    w = problem.dense @ solution.z + problem.q
    np.testing.assert_allclose(solution.w, w, atol=1e-9 * np.abs(w).max())
    return float(np.linalg.norm(np.minimum(solution.z * problem.response, w)) / np.linalg.norm(problem.q))


def is_solved_or_honest(solution: LCPSolution) -> bool:
    """Whether a failure is called one, with the true residual and the name of a method that succeeds."""
    if solution.status.is_solved:
        return missed(solution) <= TOL
    advice = solution.notes[-1]
    return (
        solution.residual == solution.problem.residual(solution.z) > TOL
        and np.isfinite(solution.z).all()
        and "Lemke()" in advice
        and missed(solve_lcp(solution.problem)) <= TOL
    )


@pytest.mark.parametrize(("family", "name"), CASES, ids=names)
def test_battery(family: Family, name: str) -> None:
    for n in sizes(family, name):
        for seed in range(SEEDS[n]):
            problem = family(1000 * n + seed, n)
            if name in MAY_FAIL[family]:
                solver = registry.make(name, max_iterations=MODERATE.get(name, 3000))
                solution = solve_lcp(problem, solver, check=False)
                assert is_solved_or_honest(solution), (n, seed)
            else:
                assert missed(solve_lcp(problem, registry.make(name))) <= TOL, (n, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "name"), CASES, ids=names)
def test_large_battery(family: Family, name: str) -> None:
    if name in LARGEST or family is families.game:
        pytest.skip("exponential time")
    if name in MAY_FAIL[family]:
        pytest.skip("may fail")
    n = 400 if (family, name) in LABORIOUS else SLOW.get((family, name), LARGE.get(name, 2000))
    assert missed(solve_lcp(family(n, n), registry.make(name))) <= TOL


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("gauss-seidel", families.p_general(7009, 7)),
        ("conjugate-gradient", families.p_general(7009, 7)),
        ("principal-pivoting", families.copositive(30003, 30)),
        ("quadratic-program", families.copositive(2008, 2)),
        ("lemke-tableau", families.game(0, 4)),
        ("principal-pivoting", families.game(0, 4)),
        ("gauss-seidel", families.game(0, 4)),
    ],
    ids=names,
)
def test_counter_examples(name: str, problem: LCP) -> None:
    """Solvable problems on which a method fails, and says so: the theorems cannot be extended to them."""
    solution = solve_lcp(problem, registry.make(name), check=False)
    assert not solution.status.is_solved
    assert is_solved_or_honest(solution)


@pytest.mark.parametrize("name", sorted(ALL))
def test_infeasible_problems_come_with_a_proof(name: str) -> None:
    for n in (n for n in SEEDS if n <= LARGEST.get(name, 400)):
        check_proof(families.infeasible(n, n), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ALL - LARGEST.keys()))
def test_large_infeasible_problems_come_with_a_proof(name: str) -> None:
    n = LARGE.get(name, 2000)
    check_proof(families.infeasible(n, n), name)


def check_proof(problem: LCP, name: str) -> None:
    solution = solve_lcp(problem, registry.make(name), check=False)
    assert solution.status is Status.NO_SOLUTION
    assert solution.infeasibility is not None
    y = solution.infeasibility.y
    assert y.min() >= 0.0
    assert (problem.dense.T @ y).max() <= 1e-8 * (np.abs(problem.dense).T @ y).max()
    assert problem.q @ y < -1e-4 * np.abs(problem.q) @ y


@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("family", [families.murty, families.fathi], ids=names)
def test_paths_of_exponential_length(family: Callable[[int], LCP], name: str) -> None:
    """Both problems are monotone, hence solved by all; pivoting methods need up to 2ⁿ pivots."""
    for n in (1, 2, 5, 8, 11):
        if n <= LARGEST.get(name, 11):
            assert missed(solve_lcp(family(n), registry.make(name))) <= TOL, n


@pytest.mark.parametrize("name", sorted(ALL))
def test_trivial_problems(name: str) -> None:
    empty = solve_lcp(LCP(np.zeros((0, 0)), []), registry.make(name))
    assert (empty.status, empty.z.shape, empty.iterations) == (Status.SOLVED, (0,), 0)
    idle = solve_lcp(LCP(np.eye(2), [1.0, 0.0]), registry.make(name))
    assert (idle.iterations, idle.z.tolist()) == (0, [0.0, 0.0])
    single = solve_lcp(LCP([[4.0]], [-8.0]), registry.make(name))
    assert single.z[0] == pytest.approx(2.0, rel=1e-7)


@pytest.mark.parametrize("name", sorted(ALL - {"mixed-integer"}))  # which says that it looks up to 1e5 only
def test_large_solutions_are_not_taken_for_none(name: str) -> None:
    """Nearly singular: z = 1e6, a million times q."""
    near_one = 1.0 - 1e-6
    solution = solve_lcp(LCP([[1.0, -near_one], [-near_one, 1.0]], [-1.0, -1.0]), registry.make(name))
    np.testing.assert_allclose(solution.z, 1e6, rtol=1e-6)


@pytest.mark.parametrize("name", sorted(ALL))
def test_p_matrices_have_one_solution(name: str) -> None:
    """Enumeration finds exactly one, and every method finds that one."""
    for seed in range(8):
        problem = families.p_matrix(seed, 6)
        found = enumerate_lcp(problem)
        assert len(found) == 1
        z = solve_lcp(problem, registry.make(name, tol=1e-10)).z
        np.testing.assert_allclose(z, found[0], atol=1e-6 * (1 + np.abs(found[0]).max()))


@pytest.mark.parametrize("name", sorted(ALL - LARGEST.keys()))
def test_sparse_problems(name: str) -> None:
    problem = families.membrane(8)
    solution = solve_lcp(problem, registry.make(name, tol=1e-7))
    assert problem.is_sparse
    assert solution.residual <= 1e-7
    assert 5 < (solution.z > 0).sum() < 60


@pytest.mark.parametrize("name", sorted(ALL - LARGEST.keys() - {"lemke-tableau"}))
def test_units_do_not_matter(name: str) -> None:
    problem = families.definite(3, 10)
    other = LCP(problem.dense * 1e-7, problem.q * 1e-3)
    solver = registry.make(name, tol=1e-6)
    one, two = solve_lcp(problem, solver), solve_lcp(other, solver)
    assert two.iterations == one.iterations
    np.testing.assert_allclose(two.z, one.z * 1e4, rtol=1e-3, atol=1e-3)


def test_registry_is_complete() -> None:
    assert {entry.solver.__module__.rsplit(".", 1)[0] for entry in registry.entries()} == {
        "clapas.solvers.lcp"
    }
    assert len(registry.names()) == 14
