"""Every registered method: right on what it can solve, honest on what it cannot, whatever the units."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers import registry, solve
from clapas.status import Status
from tests.random_problems import particle, random_global

NAMES = registry.names()
TOL = 1e-6
# Fixed points on the thresholds may cycle where contacts slide (Cadoux 2009, 4.6); the bipotential, merit
# functions with kinks and least squares have local minima, and the subproblems of the first are long.
MAY_FAIL = {"haslinger", "bipotential", "levenberg-marquardt", "merit-function"}
FEW = {"bipotential": {"max_iterations": 5, "inner_iterations": 50}}
LARGEST = {"enumeration": 4}
EASY = (
    "one-slide",
    "one-stick",
    "one-no-friction",
    "sliding-block",
    "inclined-plane-slide",
    "two-blocks",
    "alea-42-5",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("problem", EASY)
def test_easy_problems_of_the_gallery(name: str, problem: str) -> None:
    entry = gallery.get(problem)
    if entry.problem.n_contacts > LARGEST.get(name, 1000):
        pytest.skip("more contacts than the method treats")
    solution = solve(
        entry.problem, registry.make(name, tol=TOL, **FEW.get(name, {})), check=name not in MAY_FAIL
    )
    assert solution.status.is_solved == (entry.problem.residual(solution.r) <= TOL)
    if solution.status.is_solved:
        assert entry.recognises(solution.r, tol=1e-3) is not False


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("d", [2, 3])
def test_random_problems_in_both_forms(name: str, d: int) -> None:
    for seed in range(3):
        problem = random_global(seed, n=3, bodies=4, d=d)
        for form in (problem, reduce(problem)):
            solution = solve(
                form, registry.make(name, tol=TOL, time_limit=20.0, **FEW.get(name, {})), check=False
            )
            assert solution.residual == form.residual(solution.r)
            assert (solution.status is Status.SOLVED) == (solution.residual <= TOL)
            assert name in MAY_FAIL or solution.status is Status.SOLVED


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("problem", ["painleve-down-none", "crushed-disc", "subset-sum-none"])
def test_problems_without_solution_are_not_solved(name: str, problem: str) -> None:
    solution = solve(
        gallery.get(problem).problem,
        registry.make(name, **({"max_iterations": 200, "time_limit": 5.0} | FEW.get(name, {}))),
        check=False,
    )
    assert solution.status is not Status.SOLVED
    assert np.isfinite(solution.r).all()


@pytest.mark.parametrize("name", NAMES)
def test_units_do_not_matter(name: str) -> None:
    problem = random_global(3, n=4, bodies=4, d=3)
    mass, speed = 1e6, 1e-3
    other = ContactProblem(
        M=problem.M * mass, H=problem.H, f=problem.f * mass * speed, w=problem.w * speed, mu=problem.mu
    )
    method = registry.make(name, tol=TOL, **FEW.get(name, {}))
    here, there = (solve(p, method, check=False) for p in (problem, other))
    assert here.status is there.status
    assert there.iterations <= 1.2 * here.iterations + 5


@pytest.mark.parametrize("name", NAMES)
def test_a_solution_as_guess_needs_no_iteration(name: str) -> None:
    first = solve(particle(), registry.make(name, tol=1e-9))
    assert solve(particle(), registry.make(name, tol=1e-9), guess=first).iterations == 0


@pytest.mark.parametrize("name", NAMES)
def test_no_contact(name: str) -> None:
    empty = ContactProblem(W=np.zeros((0, 0)), q=np.zeros((0, 3)), mu=[])
    assert solve(empty, registry.make(name)).status is Status.SOLVED


@pytest.mark.parametrize("name", ["accelerated-projection", "conic-fixed-point"])
@pytest.mark.parametrize("problem", ["box-stack-10", "brick-wall-6-5", "pyramid-8", "packing-plane-100"])
def test_hyperstatic_structures_at_tight_tolerance(name: str, problem: str) -> None:
    solver = registry.make(name, tol=1e-8, max_iterations=100_000, time_limit=60.0)
    assert solve(gallery.get(problem).problem, solver).status is Status.SOLVED
