"""Products by W in variables without unit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers.products import DENSE_ROWS, ScaledDelassus
from tests.random_problems import random_global


def elastic_chain(n: int) -> ContactProblem:
    """Masses joined by springs, one contact each: M is not block diagonal."""
    m = 3 * n
    M = sparse.diags_array([np.full(m - 3, -1.0), np.full(m, 4.0), np.full(m - 3, -1.0)], offsets=[-3, 0, 3])
    rng = np.random.default_rng(0)
    return ContactProblem(M=M, H=sparse.eye_array(m), f=rng.normal(size=m), mu=np.full(n, 0.3))


PROBLEMS = {
    "small": random_global(1, n=5),
    "many rigid": gallery.sphere_packing(120, seed=1).problem,
    "many reduced": reduce(gallery.sphere_packing(120, seed=1).problem),
    "deformable": elastic_chain(110),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_products_are_those_of_the_problem(problem: ContactProblem) -> None:
    scaled = ScaledDelassus(problem)
    r = np.random.default_rng(0).normal(size=problem.q.shape)
    u = scaled.to_velocities(scaled.product(scaled.from_impulses(r)))
    np.testing.assert_allclose(u, problem.apply_delassus(r), rtol=1e-10, atol=1e-12 * np.abs(u).max())
    np.testing.assert_allclose(scaled.to_impulses(scaled.from_impulses(r)), r)
    np.testing.assert_allclose(scaled.from_velocities(scaled.to_velocities(r)), r)


def test_the_sizes_of_the_test_are_on_both_sides_of_the_choice() -> None:
    rows = {name: problem.n_contacts * problem.d for name, problem in PROBLEMS.items()}
    assert rows["small"] <= DENSE_ROWS < min(rows["many rigid"], rows["deformable"])


@pytest.mark.filterwarnings("ignore:W is not symmetric")
@pytest.mark.parametrize("n", [2, 110])
def test_transposed_product(n: int) -> None:
    rng = np.random.default_rng(3)
    W = np.diag(rng.uniform(1, 2, 3 * n)) + 1e-3 * rng.normal(size=(3 * n, 3 * n))
    scaled = ScaledDelassus(ContactProblem(W=W, q=rng.normal(size=(n, 3)), mu=0.1))
    x, y = rng.normal(size=(2, n, 3))
    assert np.vdot(y, scaled.product(x)) == pytest.approx(np.vdot(scaled.product_transposed(y), x))


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_norm_bounds_the_largest_eigenvalue(problem: ContactProblem) -> None:
    scaled = ScaledDelassus(problem)
    D = np.repeat(1.0 / scaled.root.ravel(), problem.d)
    W = D[:, None] * reduce(problem).W.toarray() * D
    largest = np.linalg.eigvalsh(W)[-1]
    assert largest <= scaled.norm * 1.001
    assert scaled.norm <= 1.2 * largest


def test_size_is_the_ruler_of_the_residual() -> None:
    problem = random_global(4, n=5)
    scaled = ScaledDelassus(problem)
    r = np.random.default_rng(1).normal(size=(5, 3))
    violation = problem.violation(r) / problem.response[:, None]  # as an impulse
    assert scaled.size(scaled.from_impulses(violation)) == pytest.approx(problem.residual(r))


def test_no_contact() -> None:
    scaled = ScaledDelassus(gallery.get("no-contact").problem)
    assert scaled.product(np.zeros((0, 3))).shape == (0, 3)
    assert scaled.norm == 1.0
