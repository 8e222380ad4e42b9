"""Impulses from motions, theorem 3.20, the least motion, the regularisation of existence."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from clapas import solve
from clapas.errors import ProblemError, SettingsError
from clapas.problems import ContactProblem, existence, gallery, reduce
from clapas.problems.existence import impulses_of_motion, nearest_motion, opens_where_stuck, regularised


@pytest.mark.parametrize(
    "name", ["alea-42-5", "inclined-plane-slide", "one-open", "one-stick", "rigid-square"]
)
def test_impulses_come_back_from_the_motion_alone(name: str) -> None:
    problem = gallery.get(name).problem
    if problem.form != "global":
        pytest.skip("needs bodies")
    solution = solve(problem)
    found = impulses_of_motion(problem, solution.v, accuracy=1e-6)
    assert found.holds()
    assert problem.residual(found.r) < 1e-7


def test_a_hyperstatic_stack_gets_other_impulses_that_hold_it_too() -> None:
    problem = gallery.box_stack(3).problem
    found = impulses_of_motion(problem, solve(problem).v, accuracy=1e-6)
    assert found.holds()
    assert problem.residual(found.r) < 1e-7


def test_the_spurious_fixed_point_of_example_3_21() -> None:
    problem = gallery.get("spurious-fixed-point").problem
    found = impulses_of_motion(problem, [0.0, 0.0])  # F(0) = 0, and yet no impulse
    assert not found.holds()
    # The distance is about 1/(2 r_N): it vanishes only at infinity.
    assert found.mismatch == pytest.approx(0.5 / found.bound, rel=1e-3)
    assert not opens_where_stuck(problem, [0.0])
    true = impulses_of_motion(problem, [0.0, -1.0])
    assert true.holds()
    assert opens_where_stuck(problem, [1.0])


def test_theorem_3_20_holds_where_contacts_can_open() -> None:
    problem = gallery.get("alea-42-5").problem  # H is onto
    assert opens_where_stuck(problem, np.zeros(5))
    assert opens_where_stuck(reduce(problem), np.zeros(5))


def test_the_least_motion_is_the_shadow_of_its_multipliers() -> None:
    problem = gallery.get("alea-42-5").problem
    v, r = nearest_motion(problem)
    assert v is not None
    assert_allclose(v, problem.H.T @ r.ravel(), atol=1e-6)
    u = (problem.H @ v).reshape(r.shape) + problem.w
    assert (u[:, 0] - problem.mu * np.linalg.norm(u[:, 1:], axis=1)).min() > -1e-6
    assert existence.check(problem).exists


def test_a_wedge_has_no_motion() -> None:
    problem = gallery.get("crushed-disc-rough").problem
    v, r = nearest_motion(problem)
    assert v is None
    assert np.abs(problem.H.T @ r.ravel()).max() < 1e-6
    assert float(np.vdot(problem.w, r)) < 0.0


@pytest.mark.parametrize("reduced", [False, True])
def test_the_regularisation_opens_rough_contacts(reduced: bool) -> None:
    problem = gallery.get("spurious-fixed-point").problem
    problem = reduce(problem) if reduced else problem
    opened = regularised(problem, 0.25)
    moved = (opened.q if reduced else opened.w) - (problem.q if reduced else problem.w)
    assert_allclose(moved, [[0.25, 0.0, 0.0]])
    assert solve(opened).status.is_solved


def test_bad_input_is_refused() -> None:
    problem = gallery.get("one-stick").problem
    with pytest.raises(SettingsError, match="delta must be positive, got 0"):
        regularised(problem, 0.0)
    W = ContactProblem(W=np.eye(3), q=[[-1.0, 0.0, 0.0]], mu=[0.5])
    with pytest.raises(ProblemError, match="must be given by M, H, f, w"):
        impulses_of_motion(W, np.zeros(3))
    with pytest.raises(SettingsError, match="largest must be positive"):
        impulses_of_motion(gallery.get("rigid-square").problem, np.zeros(3), largest=-1.0)
