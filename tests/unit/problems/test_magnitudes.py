"""Numbers whose squares overflow or vanish: another unit of velocity or mass changes no verdict."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from clapas.errors import NotSolved
from clapas.problems import ContactProblem, existence, gallery, magnitudes
from clapas.problems.existence import Verdict
from clapas.solvers import NSGS, Auto, BranchAndBound, InteriorPoint, solve
from clapas.solvers.loop import Solver, rounding_floor

SIZES = [1e155, 1e200, 1e300, 1e-200, 1e-300]


def sliding(size: float) -> ContactProblem:
    """A particle that slides: r = (size, −size/2)."""
    return ContactProblem(W=np.eye(2), q=[[-size, size]], mu=0.5)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("solver", [Auto(), NSGS(), InteriorPoint(), BranchAndBound()])
def test_every_method_solves_at_any_size(size: float, solver: Solver) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = solve(sliding(size), solver)
    np.testing.assert_allclose(solution.r / size, [[1.0, -0.5]], atol=1e-8)
    assert solution.problem.q[0, 1] == size


@pytest.mark.parametrize("size", SIZES)
def test_the_global_form_and_its_joints_are_scaled_too(size: float) -> None:
    """A particle whose second tangent a joint drives at ``size``: friction acts against both slips."""
    problem = ContactProblem(
        M=np.eye(3),
        H=np.eye(3),
        f=size * np.array([1.0, -1.0, 0.0]),
        mu=[0.5],
        J=[[0.0, 0.0, 1.0]],
        b=[-size],
    )
    solution = solve(problem)
    assert solution.residual <= 1e-8
    assert solution.v is not None
    assert solution.v[2] == pytest.approx(size)


def test_ordinary_sizes_are_left_alone() -> None:
    assert magnitudes.factor(sliding(1e100)) == magnitudes.factor(sliding(0.0)) == 1.0
    assert magnitudes.factor(sliding(1e200)) == 2.0**-665


@pytest.mark.parametrize("size", SIZES)
def test_rounding_has_no_unit(size: float) -> None:
    floor = rounding_floor(sliding(size), np.array([[size, -0.5 * size]]))
    assert floor == pytest.approx(np.finfo(float).eps * np.sqrt(1.25 / 2.0))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["painleve-down-none", "crushed-disc", "painleve-down-forward"])
def test_existence_has_no_unit(name: str, size: float) -> None:
    problem = gallery.get(name).problem
    given, large = existence.check(problem), existence.check(magnitudes.scaled(problem, size))
    assert large.verdict is given.verdict
    assert large.relative_margin == pytest.approx(given.relative_margin)


def test_a_motion_too_large_for_a_number_certifies_nothing() -> None:
    light = ContactProblem(W=1e-310 * np.eye(2), q=[[-1.0, 1.0]], mu=0.5)
    assert existence.check(light).verdict is Verdict.UNKNOWN
    with pytest.raises(NotSolved, match="It is not known whether a solution exists"):
        solve(light)
