"""Limits of time inside long iterations, by a clock that moves on when it is looked at.

One look is one second: nothing is measured, and a method that does not look within its long iterations
(a subproblem, a node of a tree) goes on far beyond the limit.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from clapas.problems import ContactProblem, gallery
from clapas.solvers import solve
from clapas.solvers.branch_and_bound import BranchAndBound
from clapas.solvers.branch_and_bound.least_squares import nonnegative_least_squares
from clapas.solvers.loop import Halt
from clapas.solvers.minimisation import Bipotential
from clapas.solvers.newton import LevenbergMarquardt
from clapas.status import Status

UNREACHABLE = 1e-300


class Clock:
    """Seconds are looks."""

    def __init__(self) -> None:
        self.looks = 0.0

    def __call__(self) -> float:
        self.looks += 1.0
        return self.looks


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "perf_counter", made)
    return made


@pytest.fixture(scope="module")
def wall() -> ContactProblem:
    return gallery.brick_wall(4, 4).problem


@pytest.mark.parametrize("limit", [20.0, 60.0])
def test_bipotential_ends_within_a_subproblem(limit: float, wall: ContactProblem, clock: Clock) -> None:
    solver = Bipotential(tol=UNREACHABLE, time_limit=limit, inner_iterations=10_000)
    solution = solve(wall, solver, check=False)
    assert solution.status is Status.TIME_LIMIT
    assert limit < clock.looks < limit + 20.0
    assert solution.iterations < limit / 2.0  # most looks were within subproblems
    assert np.isfinite(solution.r).all()


@pytest.mark.parametrize("limit", [20.0, 60.0])
def test_levenberg_marquardt_ends_in_time(limit: float, wall: ContactProblem, clock: Clock) -> None:
    solution = solve(wall, LevenbergMarquardt(tol=UNREACHABLE, time_limit=limit), check=False)
    assert solution.status in (Status.TIME_LIMIT, Status.STALLED)
    assert clock.looks < limit + 20.0


@pytest.mark.parametrize("limit", [20.0, 60.0, 300.0])
def test_a_tree_ends_in_time(limit: float, wall: ContactProblem, clock: Clock) -> None:
    """In the heuristics, in a node, between nodes: the limit is one for all."""
    solution = solve(wall, BranchAndBound(tol=UNREACHABLE, time_limit=limit), check=False)
    assert solution.status is Status.TIME_LIMIT
    assert limit < clock.looks < limit + 20.0
    assert np.isfinite(solution.r).all()


def test_a_node_looks_at_the_clock(clock: Clock) -> None:
    """Least squares over a large node: thousands of columns may come in, some between two looks."""
    random = np.random.default_rng(1)
    columns, b = np.abs(random.normal(size=(400, 1500))), np.abs(random.normal(size=400))
    with pytest.raises(Halt) as caught:
        nonnegative_least_squares(columns, b, deadline=0.0)
    assert caught.value.status is Status.TIME_LIMIT
    assert clock.looks == 1.0
