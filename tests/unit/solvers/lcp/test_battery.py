"""Every method on every kind of problem it is made for, one residual."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clapas.problems.lcp import LCP
from clapas.solvers.lcp import enumerate_lcp, registry, solve_lcp
from clapas.status import Status
from tests.unit.solvers.lcp import families

Family = Callable[[int, int], LCP]

SYMMETRIC = {"gauss-seidel", "conjugate-gradient"}  # made for symmetric matrices
NEED_P = {"block-pivoting", "minimum-map"}  # a singular block stops them
TINY = {"enumeration": 8, "mixed-integer": 10, "lemke-tableau": 30}
DIRECT = {"lemke", "lemke-tableau", "enumeration", "mixed-integer"}  # need no more than a path or a search
ALL = set(registry.names())

SUITED: dict[Family, set[str]] = {
    families.definite: ALL,
    families.p_matrix: ALL - SYMMETRIC,
    families.semidefinite: ALL - NEED_P - {"fischer-burmeister"},
    families.monotone: ALL - NEED_P - SYMMETRIC - {"fischer-burmeister"},
    families.copositive: DIRECT,
    families.degenerate: ALL - {"lemke-tableau"},
}
CASES = [(family, name) for family, names in SUITED.items() for name in sorted(names)]


def sizes(name: str) -> list[int]:
    return [n for n in (1, 2, 7, 30, 120) if n <= TINY.get(name, 120)]


@pytest.mark.parametrize(("family", "name"), CASES, ids=lambda x: getattr(x, "__name__", x))
def test_battery(family: Family, name: str) -> None:
    for n in sizes(name):
        problem = family(n, n)
        solution = solve_lcp(problem, registry.make(name, tol=1e-8))
        # Measured here, not by the package.
        w = problem.dense @ solution.z + problem.q
        missed = np.linalg.norm(np.minimum(solution.z * problem.response, w))
        assert missed <= 1e-8 * np.linalg.norm(problem.q), n
        np.testing.assert_allclose(solution.w, w, atol=1e-9 * np.abs(w).max())


@pytest.mark.parametrize("name", sorted(ALL))
def test_infeasible_problems_come_with_a_proof(name: str) -> None:
    for n in (2, 8):
        problem = families.infeasible(n, n)
        settings = {} if name in TINY or name == "quadratic-program" else {"max_iterations": 300}
        solution = solve_lcp(problem, registry.make(name, **settings), check=False)
        assert solution.status is Status.NO_SOLUTION
        assert solution.infeasibility is not None
        y = solution.infeasibility.y
        assert y.min() >= 0.0
        assert (problem.dense.T @ y).max() <= 1e-9 * np.abs(y).max()
        assert problem.q @ y < -1e-3 * np.abs(y).max()


@pytest.mark.parametrize("name", sorted(ALL))
def test_trivial_problems(name: str) -> None:
    empty = solve_lcp(LCP(np.zeros((0, 0)), []), registry.make(name))
    assert (empty.status, empty.z.shape, empty.iterations) == (Status.SOLVED, (0,), 0)
    idle = solve_lcp(LCP(np.eye(2), [1.0, 0.0]), registry.make(name))
    assert (idle.iterations, idle.z.tolist()) == (0, [0.0, 0.0])
    single = solve_lcp(LCP([[4.0]], [-8.0]), registry.make(name))
    assert single.z[0] == pytest.approx(2.0, rel=1e-7)


@pytest.mark.parametrize("name", sorted(ALL - SYMMETRIC))
def test_p_matrices_have_one_solution(name: str) -> None:
    """Enumeration finds exactly one, and every method finds that one."""
    for seed in range(8):
        problem = families.p_matrix(seed, 6)
        found = enumerate_lcp(problem)
        assert len(found) == 1
        z = solve_lcp(problem, registry.make(name, tol=1e-10)).z
        np.testing.assert_allclose(z, found[0], atol=1e-6 * (1 + np.abs(found[0]).max()))


@pytest.mark.parametrize("name", sorted(ALL - {"enumeration", "mixed-integer", "lemke-tableau"}))
def test_sparse_problems(name: str) -> None:
    problem = families.membrane(8)
    solution = solve_lcp(problem, registry.make(name, tol=1e-7))
    assert problem.is_sparse
    assert solution.residual <= 1e-7
    assert 5 < (solution.z > 0).sum() < 60


@pytest.mark.parametrize("name", sorted(ALL - TINY.keys() - {"principal-pivoting", "fischer-burmeister"}))
def test_units_do_not_matter(name: str) -> None:
    problem = families.definite(3, 10)
    other = LCP(problem.dense * 1e-7, problem.q * 1e-3)
    solver = registry.make(name, tol=1e-6)
    one, two = solve_lcp(problem, solver), solve_lcp(other, solver)
    assert two.iterations == one.iterations
    np.testing.assert_allclose(two.z, one.z * 1e4, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ALL - TINY.keys()))
def test_two_thousand_unknowns(name: str) -> None:
    # Principal pivoting makes several times as many pivots as there are unknowns: minutes at 2000.
    problem = families.definite(1, 500 if name == "principal-pivoting" else 2000)
    assert solve_lcp(problem, registry.make(name, tol=1e-6)).residual <= 1e-6


def test_registry_is_complete() -> None:
    assert {entry.solver.__module__.rsplit(".", 1)[0] for entry in registry.entries()} == {
        "clapas.solvers.lcp"
    }
    assert len(registry.names()) == 13
