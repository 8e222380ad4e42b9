"""Mixed complementarity and relays, through their LCPs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from clapas.errors import ProblemError
from clapas.problems.mixed_lcp import MixedLCP
from clapas.problems.relay import Kind, Relay
from clapas.solvers.lcp import Lemke, registry, solve_lcp
from clapas.status import Status

OF_RANK_3 = np.array(
    [
        [3.0, -3.0, 0.0, 0.0, 1.0, -1.0],
        [-3.0, 3.0, 0.0, 0.0, -1.0, 1.0],
        [0.0, 0.0, 2.0, -1.0, 1.0, 1.0],
        [0.0, 0.0, -1.0, 2.0, 0.0, -1.0],
        [1.0, -1.0, 1.0, 0.0, 1.0, 0.0],
        [-1.0, 1.0, 1.0, -1.0, 0.0, 1.0],
    ]
)
PUSHED = [0.32531306509186125, 1.3178546403047942, -0.3090828745115687, -0.2576447654414606, -0.05, 1.4469]
EVERY_OTHER = [False, True, False, True, False, True]


def positive(rng: np.random.Generator, n: int) -> np.ndarray:
    A = rng.normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


@given(st.integers(0, 200), st.integers(1, 6))
def test_equations_are_eliminated_or_split(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    is_equation = rng.random(n) < 0.5
    problem = MixedLCP(positive(rng, n), rng.normal(size=n), is_equation)
    by_elimination = problem.expand(solve_lcp(problem.reduced(), Lemke(tol=1e-11)).z)
    assert problem.residual(by_elimination) < 1e-9
    parts = problem.split()
    by_splitting = parts.unknowns(solve_lcp(parts.lcp, Lemke(tol=1e-11)).z)
    np.testing.assert_allclose(by_splitting, by_elimination, atol=1e-7)


@pytest.mark.parametrize("name", registry.names())
def test_every_method_solves_mixed_problems(name: str) -> None:
    """Eliminated or split, symmetric or not, by any method: one answer."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(4, 4))
        M = positive(rng, 4) + (A - A.T if seed % 2 else 0.0)
        problem = MixedLCP(M, rng.normal(size=4), [True, False, True, False])
        expected = problem.expand(solve_lcp(problem.reduced(), Lemke(tol=1e-12)).z)
        parts = problem.split()
        for z in (
            problem.expand(solve_lcp(problem.reduced(), registry.make(name)).z),
            parts.unknowns(solve_lcp(parts.lcp, registry.make(name)).z),
        ):
            assert problem.residual(z) < 1e-7
            np.testing.assert_allclose(z, expected, atol=1e-5)


def test_equations_that_determine_nothing() -> None:
    problem = MixedLCP([[0.0, 1.0], [-1.0, 1.0]], [-1.0, 0.0], [True, False])
    with pytest.raises(ProblemError, match="use split"):
        problem.reduced()
    parts = problem.split()
    assert problem.residual(parts.unknowns(solve_lcp(parts.lcp).z)) < 1e-12


def test_a_mask_of_another_size() -> None:
    with pytest.raises(ProblemError, match="is_equation has shape"):
        MixedLCP(np.eye(2), [0.0, 0.0], [True])


def test_the_residual_sees_equations() -> None:
    assert MixedLCP([[1.0]], [-1.0], [True]).residual([3.0]) == pytest.approx(2.0)


@pytest.mark.parametrize("kind", ["primal", "dual"])
@given(seed=st.integers(0, 200), n=st.integers(1, 6))
def test_relays_are_solved_through_their_lcp(kind: Kind, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    lower = -rng.random(n)
    relay = Relay(positive(rng, n), 2 * rng.normal(size=n), lower, lower + rng.random(n), kind)
    z = relay.unknowns(solve_lcp(relay.lcp(), Lemke(tol=1e-10)).z)
    assert relay.residual(z) < 1e-7


@pytest.mark.parametrize("name", registry.names())
@pytest.mark.parametrize("kind", ["primal", "dual"])
def test_every_method_solves_relays(kind: Kind, name: str) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        relay = Relay(positive(rng, 3), 2 * rng.normal(size=3), -0.5, 0.7, kind)
        expected = relay.unknowns(solve_lcp(relay.lcp(), Lemke(tol=1e-12)).z)
        z = relay.unknowns(solve_lcp(relay.lcp(), registry.make(name)).z)
        assert relay.residual(z) < 1e-7
        np.testing.assert_allclose(z, expected, atol=1e-5)


@given(seed=st.integers(0, 200), n=st.integers(1, 6))
def test_a_symmetric_relay_is_a_minimum_in_a_box(seed: int, n: int) -> None:
    """½ zᵀM z + qᵀz over l ≤ z ≤ u, found without any complementarity."""
    rng = np.random.default_rng(seed)
    relay = Relay(positive(rng, n), 2 * rng.normal(size=n), -0.4, 0.6)
    z = relay.unknowns(solve_lcp(relay.lcp(), Lemke(tol=1e-11)).z)
    root = np.linalg.cholesky(relay.M.toarray()).T
    target = -np.linalg.solve(root.T, relay.q)
    known = optimize.lsq_linear(root, target, bounds=(-0.4, 0.6), method="bvls", tol=1e-14).x
    np.testing.assert_allclose(z, known, atol=1e-8)


def test_a_relay_on_paper() -> None:
    """Driven harder than the bound it yields; below, it holds."""
    relay = Relay(np.eye(2), [3.0, 0.5], -1.0, 1.0, "primal")
    np.testing.assert_allclose(relay.unknowns(solve_lcp(relay.lcp()).z), [-1.0, -0.5])
    dual = Relay(np.eye(2), [3.0, 0.5], -1.0, 1.0, "dual")
    np.testing.assert_allclose(dual.unknowns(solve_lcp(dual.lcp()).z), [-2.0, 0.0])
    assert relay.residual([0.0, 0.0]) > 0.1
    assert dual.residual([-3.0, 0.0]) > 0.1


def test_bounds_that_do_not_fit() -> None:
    with pytest.raises(ProblemError, match="unknown 1: lower must be at most upper"):
        Relay(np.eye(2), [0.0, 0.0], [0.0, 2.0], 1.0)
    with pytest.raises(ProblemError, match="'primal' or 'dual'"):
        Relay(np.eye(1), [0.0], 0.0, 1.0, "both")  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="upper must be finite"):
        Relay(np.eye(1), [0.0], 0.0, np.inf)


def test_rounding_of_an_elimination_is_no_coefficient() -> None:
    """M of rank 3 and three equations: the conditions that are left have M = 0 exactly, and q < 0.

    Where the elimination leaves 1e-16 instead, 1e16 passes for an answer.
    """
    problem = MixedLCP(OF_RANK_3, PUSHED, EVERY_OTHER)
    np.testing.assert_array_equal(problem.reduced().M, np.zeros((3, 3)))
    assert solve_lcp(problem.reduced(), check=False).status is Status.NO_SOLUTION
