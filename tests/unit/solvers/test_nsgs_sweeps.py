"""Sweeps that extrapolate from the last ones."""

from __future__ import annotations

import numpy as np
import pytest

from clapas import gallery
from clapas.errors import SettingsError
from clapas.solvers import NSGS, Coloured, Given, Shuffled, solve
from clapas.solvers.nsgs import Order
from clapas.solvers.nsgs.sweeps import after, before, best_weights, memory
from clapas.status import Status

ORDERS: list[Order] = [Given(), Shuffled(seed=1), Coloured()]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: type(order).__name__)
@pytest.mark.parametrize("form", ["bodies", "delassus"])
def test_the_same_solutions_in_every_form(order: Order, form: str) -> None:
    problem = gallery.box_stack(3).problem
    solution = solve(problem, NSGS(tol=1e-9, acceleration=3, order=order, form=form))  # type: ignore[arg-type]
    assert problem.residual(solution.r) <= 1e-9


def test_fewer_sweeps_where_weight_travels_far() -> None:
    problem = gallery.box_stack(10).problem
    plain, accelerated = (
        solve(problem, NSGS(tol=1e-5, max_iterations=50_000, acceleration=depth)) for depth in (0, 3)
    )
    assert accelerated.status is plain.status is Status.SOLVED
    assert accelerated.iterations < 0.6 * plain.iterations


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 7])
def test_limits_are_kept(limit: int) -> None:
    problem = gallery.box_stack(3).problem
    solver = NSGS(tol=1e-14, acceleration=2, max_iterations=limit)
    assert solve(problem, solver, check=False).iterations == limit


def test_threads_leave_the_bits_alone() -> None:
    problem = gallery.sphere_packing(500).problem
    one, two = (
        solve(problem, NSGS(tol=1e-6, acceleration=3, order=Coloured(threads=threads)), check=False)
        for threads in (1, 2)
    )
    assert np.array_equal(one.r, two.r)


@pytest.mark.parametrize(
    ("depth", "kind"), [(-1, "a whole number from 0 to 20"), (21, "a whole number"), (1.5, "an integer")]
)
def test_bad_settings(depth: int, kind: str) -> None:
    with pytest.raises(SettingsError, match=f"acceleration must be {kind}"):
        NSGS(acceleration=depth)


def test_weights_cancel_the_gaps() -> None:
    gaps = np.array([[1.0, 0.0], [-3.0, 0.0]])
    np.testing.assert_allclose(best_weights(gaps @ gaps.T, 2), [0.75, 0.25], atol=1e-9)
    assert best_weights(np.ones((3, 3)), 3).sum() == pytest.approx(1.0)


def test_a_linear_map_is_solved_in_as_many_steps_as_it_has_directions() -> None:
    """On T(r) = A r + b acceleration is a Krylov method: exact after one step more than the dimension."""
    A, b = np.diag([0.9, 0.5, -0.7]), np.array([1.0, 2.0, 3.0])
    r, y = np.zeros(3), np.zeros(0)
    kept = memory(r, y, depth=4)
    for _ in range(5):
        before(kept, r, y)
        r[:] = A @ r + b
        after(kept, r, y)
    np.testing.assert_allclose(r, np.linalg.solve(np.eye(3) - A, b), rtol=1e-5)


def test_velocities_follow_the_impulses() -> None:
    C = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
    r, y, kept = np.array([3.0, 1.0, 2.0]), np.zeros(2), memory(np.zeros(3), np.zeros(2), depth=2)
    for _ in range(4):
        y[:] = C @ r + 1.0
        before(kept, r, y)
        np.testing.assert_allclose(y, C @ r + 1.0, rtol=1e-9)
        r *= 0.5
        y[:] = C @ r + 1.0
        after(kept, r, y)


def test_a_gap_that_grows_empties_the_memory() -> None:
    r, y = np.zeros(2), np.zeros(0)
    kept = memory(r, y, depth=3)
    for change in (1.0, 0.5, 0.8):
        before(kept, r, y)
        r += change
        after(kept, r, y)
    assert kept.tally.tolist() == [0, 0]
