"""One contact with a polygonal section, judged by the residual of its problem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.convex import Polygons
from clapas.problems import ContactProblem
from clapas.solvers.local import Exact
from clapas.solvers.local.polygonal import is_inside, relaxed_in_polygon, solve_polygon
from clapas.solvers.nsgs.updates import Polygonal, updates
from clapas.typing import Array

SQUARE = [[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]]
KITE = [[2.0, 0.0], [0.0, 0.5], [-0.3, 0.0], [0.0, -0.5]]
RATCHET = [[-0.5], [2.0]]


def answered(problem: ContactProblem, r: Array) -> Array:
    """The impulse of the one contact of a problem after a visit at r."""
    cones, _ = updates(problem, Exact().part(), 1.0)
    assert isinstance(cones.law, Polygonal)
    u, pad = problem.velocity(r)[0], (0.0,) * (3 - problem.d)
    found = solve_polygon(
        cones.law.corners, 0, cones.law.mixed[0], *r[0], *pad, *u, *pad, tuple(cones.coefficients[0])
    )
    return np.array([found[: problem.d]])


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.floats(0.0, 0.6), st.sampled_from([SQUARE, KITE, RATCHET]))
def test_a_visit_solves_the_contact(seed: int, mu: float, corners: list[list[float]]) -> None:
    rng, d = np.random.default_rng(seed), len(corners[0]) + 1
    A = rng.normal(size=(d, d))
    W = A @ A.T + 2.0 * np.eye(d)
    problem = ContactProblem(W=W, q=rng.normal(size=(1, d)), mu=[mu], section=corners)
    r = answered(problem, np.abs(rng.normal(size=(1, d))))  # from anywhere
    assert problem.residual(r) < 1e-12
    np.testing.assert_allclose(answered(problem, r), r, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_units_do_not_matter(scale: float) -> None:
    W = scale * np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 3.0]])
    problem = ContactProblem(W=W, q=[[-1.0, 2.0, 0.3]], mu=[0.5], section=KITE)
    assert problem.residual(answered(problem, np.zeros((1, 3)))) < 1e-12


def test_limit_cases() -> None:
    def problem(W: Array, q: list[float], mu: float = 0.5) -> ContactProblem:
        return ContactProblem(W=W, q=[q], mu=[mu], section=SQUARE)

    zero = np.zeros((1, 3))
    np.testing.assert_array_equal(answered(problem(np.eye(3), [1.0, 3.0, 0.0]), zero), zero)  # opens
    np.testing.assert_array_equal(answered(problem(np.eye(3), [-1.0, 3.0, 0.0], 0.0), zero), [[1.0, 0, 0]])
    # Exactly on a side, and exactly at a corner of the section of the answer.
    np.testing.assert_allclose(answered(problem(np.eye(3), [-1.0, 0.5, 0.2]), zero), [[1.0, -0.5, -0.2]])
    np.testing.assert_allclose(answered(problem(np.eye(3), [-1.0, 0.5, 0.5]), zero), [[1.0, -0.5, -0.5]])
    # Nothing moves along one tangent, or along both: what can be stopped is.
    for W in (np.diag([1.0, 1.0, 0.0]), np.diag([1.0, 0.0, 0.0])):
        flat = problem(W, [-1.0, 0.3 * W[1, 1], 0.0])
        assert flat.residual(answered(flat, zero)) < 1e-14


def test_relaxed_impulses_stay_in_the_cone_and_keep_solutions() -> None:
    corners, r = np.array([KITE]), (1.0, 0.3, 0.1)
    assert relaxed_in_polygon(1.7, corners, 0, 0.5, *r, *r) == r
    n, t_1, t_2 = relaxed_in_polygon(1.9, corners, 0, 0.5, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0)
    assert is_inside(corners, 0, 0.5 * n * (1.0 + 1e-12), t_1, t_2)
    np.testing.assert_allclose((n, t_1, t_2), (1.9, 1.9, 0.0))
    inside = relaxed_in_polygon(1.5, corners, 0, 0.5, 1.0, 0.9, 0.0, 1.0, 1.0, 0.0)
    np.testing.assert_allclose(inside, (1.0, 1.0, 0.0), atol=1e-15)


def test_polygons_are_read_with_discs_among_them() -> None:
    section = Polygons(np.tile(KITE, (2, 1, 1)), np.array([True, False]))
    problem = ContactProblem(W=np.eye(6), q=np.full((2, 3), -1.0), mu=[0.5, 0.5], section=section)
    cones, turn = updates(problem, Exact().part(), 1.0)
    np.testing.assert_array_equal(cones.special, [False, True])
    np.testing.assert_array_equal(turn[1], [1.0, 0.0])
