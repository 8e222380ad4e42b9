"""Where no solution exists impulses grow, and rounding with them: it must not pass for the cause."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.problems import ContactProblem
from clapas.solvers import Auto, BranchAndBound, ProximalPoint, solve
from clapas.status import Status

# Rows of H and velocities imposed: one contact in space with a body on a rail, without solution.
RAILS = [([0.51, 2.37, -0.74], [-1.0, -2.0, -1.0]), ([0.35, -2.36, 1.01], [-1.0, 1.0, 1.0])]

# Three contacts on two velocities, without solution.
THREE = np.array(
    [
        [2.103349105524711, -0.13811509946501047],
        [-0.4884083890455035, -0.6271817143728055],
        [0.760438452250922, 1.0446656627023703],
        [0.3153950534289986, 0.9384250997960747],
        [-1.4301458335050097, -0.30313520597705484],
        [-0.4023724117653944, 0.0726766802037529],
    ]
).reshape(3, 2, 2)


def on_a_rail(H: list[float], w: list[float]) -> ContactProblem:
    """A contact in space with a body that has one velocity."""
    return ContactProblem(M=[[1.0]], H=np.array(H)[:, None], f=[0.0], w=[w], mu=1.0)


def three_contacts(order: list[int]) -> ContactProblem:
    """The three contacts in some order."""
    mu, w = np.array([0.5, 10.0, 2.0]), np.array([[2.0, 1.0], [2.0, 0.0], [-2.0, 0.0]])
    H = THREE[order].reshape(6, 2)
    return ContactProblem(M=2.0 * np.eye(2), H=H, f=np.zeros(2), w=w[order], mu=mu[order])


@pytest.mark.parametrize("solver", [Auto(), BranchAndBound()], ids=["auto", "branch-and-bound"])
@pytest.mark.parametrize(("H", "w"), RAILS)
def test_no_solution_is_proved_however_large_the_impulses(
    H: list[float], w: list[float], solver: Auto | BranchAndBound
) -> None:
    assert solve(on_a_rail(H, w), solver, check=False).status is Status.NO_SOLUTION


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_the_verdict_does_not_depend_on_the_order_of_contacts(order: list[int]) -> None:
    assert solve(three_contacts(order), BranchAndBound(), check=False).status is Status.NO_SOLUTION


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_a_useless_residual_is_not_called_almost_solved(order: list[int]) -> None:
    solution = solve(three_contacts(order), ProximalPoint(), check=False)
    assert solution.residual > 1e-2
    assert solution.status is not Status.ALMOST_SOLVED
