"""``solution.method`` says what really ran."""

from __future__ import annotations

import numpy as np
import pytest

from clapas import NSGS, Auto, gallery, solve
from clapas.problems import ContactProblem, reduce
from clapas.solvers import InteriorPoint
from clapas.solvers.nsgs import Coloured
from clapas.solvers.solution import Solution

PARTICLE = ContactProblem(W=np.eye(3), q=[[-1.0, 0.3, 0.0]], mu=0.5)


@pytest.mark.parametrize(
    ("solution", "expected"),
    [
        (lambda: solve(PARTICLE, NSGS()), "NSGS: sweeps on blocks of W"),
        (lambda: solve(PARTICLE, InteriorPoint()), "InteriorPoint"),
        (lambda: solve(PARTICLE, NSGS(), guess=solve(PARTICLE)), "the guess was good enough"),
        (lambda: solve(gallery.box_stack(2).problem, NSGS()), "NSGS: sweeps on bodies of one size"),
        (
            lambda: solve(gallery.box_stack(2).problem, NSGS(order=Coloured())),
            "NSGS: sweeps on bodies of one size, by vectors",
        ),
        (lambda: solve(PARTICLE, Auto()), "Auto: dense-newton"),
        (
            lambda: solve(
                ContactProblem(M=np.zeros((2, 2)), H=np.eye(2), f=[1.0, 0.0], mu=[0.5]), InteriorPoint()
            ),
            "InteriorPoint, in 1 proximal step",
        ),
    ],
)
def test_what_ran(solution: object, expected: str) -> None:
    done = solution()  # type: ignore[operator]
    assert isinstance(done, Solution)
    assert done.method == expected
    assert done.as_dict()["method"] == expected


def test_the_portfolio_names_who_arrived() -> None:
    wall = reduce(gallery.brick_wall(8, 6).problem)
    solution = solve(wall, Auto(tol=1e-10))
    assert solution.method.startswith("Auto: ")
    name = solution.method.removeprefix("Auto: ").split(",")[0].split(";")[0]
    assert any(note.startswith(name) or f": {name}" in note for note in solution.notes)
