"""The walk: inside the cones at every step, both directions exact, the path's end a solution."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.convex.jordan import product
from clapas.linalg.multifrontal import SingularMatrix
from clapas.problems import ContactProblem, gallery
from clapas.solvers.contact_system import contact_system, multiply
from clapas.solvers.convex import ConvexProblem
from clapas.solvers.interior_point import lorentz
from clapas.solvers.interior_point.directions import PlainDirection, ScaledDirection
from clapas.solvers.interior_point.path import Path
from tests.random_problems import random_global

X = np.array([[2.0, 1.0, 0.5], [1.0, -0.9, 0.0]])
Y = np.array([[1.0, 0.2, -0.3], [3.0, 1.0, 1.0]])


@pytest.mark.parametrize("kind", [PlainDirection, ScaledDirection])
def test_directions_know_the_inverse_of_their_matrix(kind: type[PlainDirection] | type[ScaledDirection]):
    law = kind(X, Y)
    np.testing.assert_allclose(law.P_inverse() @ law.P, np.tile(np.eye(3), (2, 1, 1)), atol=1e-10)
    np.testing.assert_allclose(law.product[:, 0], np.einsum("ij,ij->i", X, Y))  # scaling keeps x·y


def test_the_plain_direction_is_the_derivative():
    rng = np.random.default_rng(0)
    dx, dy = rng.standard_normal((2, 2, 3))
    law = PlainDirection(X, Y)
    linear = multiply(law.P, dx) + multiply(law.A, dy)
    np.testing.assert_allclose(product(X + dx, Y + dy), product(X, Y) + linear + law.second_order(dx, dy))


@pytest.mark.parametrize("frozen", [False, True])
def test_every_step_is_inside_and_the_end_is_a_solution(frozen: bool):
    problem = random_global(1, n=5, bodies=4, d=3)
    convex = ConvexProblem.conic(problem, np.full(5, 0.3))
    path = Path(problem, contact_system(problem), convex.b if frozen else None)
    judge = convex.residual if frozen else problem.residual
    for _ in range(30):
        path.advance()
        assert lorentz.inside(path.x)
        assert lorentz.inside(path.y)
        if judge(path.r) <= 1e-10:
            break
    assert judge(path.r) <= 1e-10


def test_without_friction_tangents_stay_zero():
    given = random_global(1, n=5, bodies=4, d=3)
    mu = np.array([0.0, 0.5, 0.0, 0.3, 0.0])
    problem = ContactProblem(M=given.M, H=given.H, f=given.f, w=given.w, mu=mu)
    path = Path(problem, contact_system(problem))
    for _ in range(6):
        path.advance()
        assert not path.r[mu == 0.0, 1:].any()
        assert path.r[mu > 0.0, 1:].any()


def test_a_start_near_the_solution_is_shorter():
    problem = gallery.get("packing-100").problem

    def steps(path: Path) -> int:
        for done in range(60):
            if problem.residual(path.r) <= 1e-8:
                return done
            path.advance()
        raise AssertionError("no solution in 60 steps")

    cold = Path(problem, contact_system(problem))
    far = steps(cold)
    near = Path(problem, contact_system(problem))
    near.begin(cold.r * 1.0001, depth=1e-4)
    assert lorentz.inside(near.x)
    assert steps(near) < far // 2


def test_a_walk_that_brings_nothing_is_stuck():
    problem = gallery.get("packing-plane-100").problem
    path = Path(problem, contact_system(problem))
    assert not path.is_stuck
    with np.errstate(all="ignore"):
        for _ in range(100):
            if path.is_stuck:
                break
            path.advance()
    assert path.is_stuck


def test_no_direction_is_told():
    problem = gallery.get("painleve-down-none").problem
    path = Path(problem, contact_system(problem))

    def walk() -> None:
        for _ in range(100):
            path.advance()

    with np.errstate(all="ignore"), pytest.raises(SingularMatrix, match="no direction"):
        walk()
