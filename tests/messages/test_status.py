"""Every status speaks: one sentence of cause, one of advice."""

from __future__ import annotations

import pytest

from clapas.errors import Error, MissingDependency, NotSolved
from clapas.problems import ContactProblem
from clapas.solvers import NSGS, solve
from clapas.status import Status


@pytest.mark.parametrize("status", Status)
def test_sentences(status: Status) -> None:
    for text in (status.cause, status.advice):
        assert text[0].isupper()
        assert text.endswith(".")
        assert text.count(". ") == 0
    assert status.is_solved == (status is Status.SOLVED)


def test_names_are_those_promised() -> None:
    assert [s.name for s in Status] == (
        "SOLVED ALMOST_SOLVED MAX_ITERATIONS TIME_LIMIT STALLED NUMERICAL_ERROR NO_SOLUTION STOPPED "
        "OTHER_LAW".split()
    )


def test_not_solved_carries_cause_advice_and_solution() -> None:
    problem = ContactProblem(
        W=[[2.0, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], q=[[-1, 1], [-1, 1]], mu=[1, 1]
    )
    with pytest.raises(NotSolved) as caught:
        solve(problem, NSGS(tol=1e-300, max_iterations=0))
    assert Status.MAX_ITERATIONS.cause in str(caught.value)
    assert Status.MAX_ITERATIONS.advice in str(caught.value)
    assert caught.value.solution.problem is problem


def test_missing_dependency_names_the_extra() -> None:
    error = MissingDependency("pymetis", "graph", "nested dissection")
    assert str(error) == "nested dissection needs the package 'pymetis': pip install 'clapas[graph]'"
    assert isinstance(error, Error)
    assert isinstance(error, ImportError)
