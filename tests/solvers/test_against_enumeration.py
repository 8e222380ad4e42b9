"""Every method against the list of all solutions of tiny random problems."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from clapas.problems import ContactProblem
from clapas.solvers import SolutionSet, enumerate_solutions, registry, solve
from tests.random_problems import random_global

# (seed, contacts, dimension)
PROBLEMS = ((0, 1, 2), (1, 2, 2), (2, 3, 2), (3, 4, 2), (4, 1, 3), (5, 2, 3), (6, 3, 3), (7, 4, 3))
METHODS = [name for name in registry.names() if name != "enumeration"]
# References of the literature that need not arrive (local minima, cycles): honest if they do not.
MAY_FAIL = {"haslinger", "bipotential", "levenberg-marquardt", "conjugate-gradient", "merit-function"}
SETTINGS = {
    "bipotential": {"tol": 1e-4, "max_iterations": 10, "inner_iterations": 100},
    "conjugate-gradient": {"max_iterations": 5000},
}


@cache
def case(seed: int, n: int, d: int) -> tuple[ContactProblem, SolutionSet]:
    problem = random_global(seed, n=n, bodies=n + 1, d=d)
    return problem, enumerate_solutions(problem)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("seed", "n", "d"), PROBLEMS)
def test_the_answer_is_one_of_all_solutions(name: str, seed: int, n: int, d: int) -> None:
    problem, every = case(seed, n, d)
    assert every.points
    settings = {"tol": 1e-9, "time_limit": 20.0} | SETTINGS.get(name, {})
    solution = solve(problem, registry.make(name, **settings), check=False)
    assert solution.status.is_solved == (problem.residual(solution.r) <= settings["tol"])
    if name not in MAY_FAIL:
        assert solution.status.is_solved
    if solution.status.is_solved:
        slack = 3e3 * settings["tol"] * max(float(np.abs(r).max()) for r in every.points)
        assert every.contains(solution.r, max(slack, 1e-5 * float(np.abs(solution.r).max())))
