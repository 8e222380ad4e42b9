"""Rounds of sweeps and Newton steps on a dense W: promises, kernels against plain twins, structures."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import ProblemError
from clapas.problems import ContactProblem, gallery, reduce
from clapas.problems.conversions import delassus_matrix
from clapas.solvers import NSGS, DenseNewton, solve
from clapas.solvers.dense import kernels
from clapas.solvers.local import Exact
from tests.random_problems import random_global
from tests.unit.solvers import contract


@pytest.mark.parametrize("d", [2, 3])
def test_agrees_with_gauss_seidel(d: int) -> None:
    contract.agrees_with_gauss_seidel(DenseNewton, d)


@pytest.mark.parametrize(
    "promise",
    [
        contract.knows_answers_on_paper,
        contract.forgets_units,
        contract.treats_frictionless_contacts,
        contract.accepts_no_contact,
        contract.starts_from_guesses,
        contract.tells_the_truth,
    ],
)
def test_promise(promise: contract.Make) -> None:
    promise(DenseNewton)


@pytest.mark.parametrize("name", ["box-stack-10", "brick-wall-6-5", "tower-10", "mass-ratio-1e6"])
def test_self_stress_and_mass_ratios(name: str) -> None:
    problem = gallery.get(name).problem
    solution = solve(problem, DenseNewton(tol=1e-9))
    assert problem.residual(solution.r) <= 1e-9
    assert len(solution.history) <= 6  # few rounds


@pytest.mark.filterwarnings("ignore:W is not symmetric")
def test_an_asymmetric_matrix_is_used_as_given() -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(12, 12))
    W = A @ A.T + 6 * np.eye(12) + 1e-2 * (A - A.T)
    problem = ContactProblem(W=W, q=rng.normal(size=(4, 3)) - [1.0, 0, 0], mu=0.3)
    assert problem.residual(solve(problem, DenseNewton(tol=1e-12)).r) <= 1e-12


def test_large_problems_are_refused() -> None:
    with pytest.raises(ProblemError, match="at most 6000 rows, got 9000; take Auto"):
        solve(gallery.sphere_packing(3000).problem, DenseNewton())


# -------------------------------------------------------------------------------------- kernels


def prepared(problem: ContactProblem) -> tuple[kernels.Dense, np.ndarray]:
    W = delassus_matrix(problem).toarray()
    return kernels.prepare(W, problem.local_blocks, problem.q, problem.mu, problem.response)


@pytest.mark.parametrize("d", [2, 3])
def test_the_turned_problem_is_the_same_problem(d: int) -> None:
    problem = random_global(5, n=6, bodies=3, d=d)
    data, turn = prepared(problem)
    r = np.random.default_rng(0).normal(size=(6, d))
    turned = kernels.turned(r, turn, 1.0)
    np.testing.assert_allclose(kernels.turned(turned, turn, -1.0), r, atol=1e-14)
    u = data.q + (data.rows @ turned.ravel()).reshape(r.shape)
    np.testing.assert_allclose(kernels.turned(u, turn, -1.0), problem.velocity(r), atol=1e-12)
    np.testing.assert_array_equal(data.columns, data.rows.T)
    missed = kernels.measure(data, turned)
    assert missed == pytest.approx(problem.residual(r) * problem.free_speed, rel=1e-12)


def test_blocks_in_full() -> None:
    W = reduce(random_global(5, n=6, bodies=3, d=3)).W
    np.testing.assert_array_equal(kernels.in_full(W.indptr, W.indices, W.data), W.toarray())


@pytest.mark.parametrize("d", [2, 3])
def test_a_sweep_is_that_of_gauss_seidel(d: int) -> None:
    problem = random_global(5, n=6, bodies=3, d=d)
    plain = solve(problem, NSGS(max_iterations=3, acceleration=0, tol=1e-300), check=False)
    data, turn = prepared(problem)
    r = np.zeros((6, d))
    assert kernels.sweep(3, 0.0, data, Exact().part(), r)[0] == 3
    np.testing.assert_allclose(kernels.turned(r, turn, -1.0), plain.r, atol=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_newtons_matrix_is_the_derivative(d: int) -> None:
    """Against differences of Alart and Curnier's function, at impulses in the three modes."""
    problem = random_global(7, n=8, bodies=3, d=d)
    data, _ = prepared(problem)
    r = 0.3 * np.random.default_rng(3).normal(size=(8, d)) + np.eye(d)[0] * 0.3
    J, F = kernels.linearise(data, r, 0.0)
    u = data.q + (data.rows @ r.ravel()).reshape(r.shape)
    # The function with the radius mu p_N in place of mu r_N, written anew.
    wish = r - u / data.response[:, None]
    radius = np.maximum(0.0, data.mu * wish[:, 0])
    size = np.linalg.norm(wish[:, 1:], axis=1)
    shrink = np.where(size > radius, radius / size, 1.0)
    expected = r - np.column_stack((np.maximum(0.0, wish[:, 0]), shrink[:, None] * wish[:, 1:]))
    np.testing.assert_allclose(F.reshape(r.shape), expected, atol=1e-13)
    step, change = 1e-7, np.random.default_rng(4).normal(size=r.shape)
    ahead, behind = (kernels.linearise(data, r + s * change, 0.0)[1] for s in (step, -step))
    np.testing.assert_allclose(J @ change.ravel(), (ahead - behind) / (2 * step), atol=1e-6)
