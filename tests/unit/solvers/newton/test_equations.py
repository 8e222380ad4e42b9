"""Newton's linear equations: scaled solutions, singular matrices."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.problems import gallery, reduce
from clapas.solvers.loop import Halt
from clapas.solvers.newton.equations import Equations
from clapas.solvers.newton.maps import AlartCurnierMap, Tangent
from tests.random_problems import random_global


def test_solves_the_linearised_law():
    problem = random_global(3, n=5)
    equations = Equations(problem)
    x = np.random.default_rng(0).normal(size=equations.shape)
    tangent = AlartCurnierMap().linearise(equations.velocity(x), x, problem.mu, equations.augmentation(0.5))
    dx = equations.solve(tangent, 1e-9, refinements=2)
    dg = equations.scaled.product(dx)
    left = np.einsum("nij,nj->ni", tangent.by_u, dg) + np.einsum("nij,nj->ni", tangent.by_r, dx)
    np.testing.assert_allclose(left, -tangent.value, atol=1e-9)


def test_singular_but_consistent_equations_are_solved():
    """Four corners of a rigid block, all sticking: W has rank 6 of 12, and W dr = −q has many solutions."""
    problem = reduce(gallery.get("block-on-floor").problem)
    equations = Equations(problem)
    n, d = equations.shape
    unit = np.broadcast_to(np.eye(d), (n, d, d))
    stick = Tangent(equations.free, np.array(unit), np.zeros((n, d, d)))
    dx = equations.solve(stick, 1e-9, refinements=3)
    np.testing.assert_allclose(equations.velocity(dx), 0.0, atol=1e-12)


def test_equations_that_are_not_numbers_halt():
    problem = random_global(3, n=2)
    equations = Equations(problem)
    bad = Tangent(np.full((2, 3), np.nan), np.zeros((2, 3, 3)), np.zeros((2, 3, 3)))
    with pytest.raises(Halt):
        equations.solve(bad, 1e-9, refinements=0)


def test_equations_without_any_matrix_halt():
    equations = Equations(random_global(3, n=2))
    nothing = Tangent(np.ones((2, 3)), np.zeros((2, 3, 3)), np.zeros((2, 3, 3)))
    with pytest.raises(Halt):
        equations.solve(nothing, 1e-9, refinements=0)
