"""One-contact solvers: exact to rounding whenever the contact has a solution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.errors import SettingsError
from clapas.problems import ContactProblem
from clapas.solvers.local import AlartCurnier, DeSaxce, Exact, LocalSolver
from clapas.solvers.local.canonical import canonical_coefficients, turn_tangents
from clapas.solvers.local.dispatch import solve_contact
from tests.random_problems import random_block

EXACT = [Exact(), AlartCurnier()]


def solve_one(local: LocalSolver, W: np.ndarray, q: np.ndarray, mu: float, r: np.ndarray) -> np.ndarray:
    """Visit a single contact once, from the impulse r."""
    d = len(q)
    coefficients, turn = canonical_coefficients(W[None], np.array([mu]))
    start, u = turn_tangents(r[None], turn)[0], turn_tangents((W @ r + q)[None], turn)[0]
    if d == 2:
        start, u = np.append(start, 0.0), np.append(u, 0.0)
    new = np.array(solve_contact(local.part(), *start, *u, coefficients[0]))
    return turn_tangents(new[None, :d], turn, back=True)[0]


def residual(W: np.ndarray, q: np.ndarray, mu: float, r: np.ndarray) -> float:
    return ContactProblem(W=W, q=q[None], mu=[mu]).residual(r[None])


@st.composite
def contacts(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.sampled_from([2, 3]))
    W = random_block(rng, d) * 10.0 ** draw(st.integers(-6, 6))
    q = rng.normal(size=d)
    q[0] *= draw(st.sampled_from([-1.0, 1.0, -1e-3]))
    mu = draw(st.sampled_from([0.0, 1e-3, 0.3, 1.0, 10.0, 1e6]))
    r = rng.normal(size=d) * draw(st.sampled_from([0.0, 1.0])) / np.trace(W)
    return W, q, mu, r


@pytest.mark.parametrize("local", EXACT, ids=lambda s: type(s).__name__)
@given(contact=contacts())
def test_exact_solvers_reach_rounding(
    local: LocalSolver, contact: tuple[np.ndarray, np.ndarray, float, np.ndarray]
) -> None:
    W, q, mu, r = contact
    found = solve_one(local, W, q, mu, r)
    # What rounding in u = W r + q allows, for blocks that are badly conditioned or mu huge.
    floor = 1e-14 * (1 + np.abs(W @ np.diag(np.abs(found))).sum() / np.linalg.norm(q)) * max(1.0, mu)
    assert residual(W, q, mu, found) <= floor


@pytest.mark.parametrize("local", EXACT, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("seed", range(50))
def test_singular_blocks(local: LocalSolver, seed: int) -> None:
    """Rank 2 in 3-D: solved unless the contact jams along the tangent it cannot move."""
    rng = np.random.default_rng(seed)
    W = random_block(rng, 3, rank=2)
    v = rng.normal(size=2)
    values, vectors = np.linalg.eigh(W)
    image = vectors[:, 1:] * np.sqrt(values[1:])  # W = image imageᵀ
    q = image @ v  # in the range of W: sticking can always be tried, so a solution exists
    found = solve_one(local, W, q, 0.5, np.zeros(3))
    assert residual(W, q, 0.5, found) < 1e-10


def test_a_contact_without_solution_stays_finite() -> None:
    """Painlevé's rod pushed down: no impulse obeys the law; a visit must not overflow."""
    W, q = 0.5 * np.ones((2, 2)), np.array([-0.5, 0.5])  # mu = 2, u0 = 1
    r = np.zeros(2)
    for _ in range(20):
        r = solve_one(Exact(), W, q, 2.0, r)
    assert np.isfinite(r).all()
    assert residual(W, q, 2.0, r) > 1e-2


def test_sliding_sphere_by_hand() -> None:
    """W = diag(1, 3.5, 3.5) (a sphere): r_T = −mu r_N u_T/|u_T| at once."""
    r = solve_one(Exact(), np.diag([1.0, 3.5, 3.5]), np.array([-2.0, 30.0, 40.0]), 0.5, np.zeros(3))
    np.testing.assert_allclose(r, [2.0, -0.6, -0.8], rtol=1e-15)


@pytest.mark.parametrize("mu", [0.0, 0.2, 0.7])
def test_plane_contact_by_hand(mu: float) -> None:
    """Slip in 2-D with a coupled block: r_N = −q_N / (W_NN − mu W_NT), r_T = −mu r_N for u_T > 0."""
    W, q = np.array([[2.0, 0.5], [0.5, 3.0]]), np.array([-1.0, 4.0])
    r_n = 1.0 / (2.0 - 0.5 * mu)
    found = solve_one(Exact(), W, q, mu, np.zeros(2))
    np.testing.assert_allclose(found, [r_n, -mu * r_n], rtol=1e-14)


def test_projections_converge_to_the_exact_answer() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        W, q = random_block(rng, 3) + np.eye(3), rng.normal(size=3)
        exact = solve_one(Exact(), W, q, 0.4, np.zeros(3))
        projected = solve_one(DeSaxce(projections=5000), W, q, 0.4, np.zeros(3))
        np.testing.assert_allclose(projected, exact, atol=1e-10)
        once = solve_one(DeSaxce(), W, q, 0.4, np.zeros(3))
        assert residual(W, q, 0.4, once) <= residual(W, q, 0.4, np.zeros(3)) + 1e-15


def test_turning_back_undoes_turning() -> None:
    rng = np.random.default_rng(1)
    blocks = np.array([random_block(rng, 3) for _ in range(5)])
    coefficients, turn = canonical_coefficients(blocks, np.full(5, 0.3))
    x = rng.normal(size=(5, 3))
    np.testing.assert_allclose(turn_tangents(turn_tangents(x, turn), turn, back=True), x, atol=1e-15)
    for block, k, (cosine, sine) in zip(blocks, coefficients, turn, strict=True):
        Q = np.array([[1, 0, 0], [0, cosine, sine], [0, -sine, cosine]])
        c = np.array([1.0, k[1], k[2]])
        np.testing.assert_allclose(
            Q @ block @ Q.T, np.outer(c, c) / k[0] + np.diag([0, k[3], k[4]]), atol=1e-12
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AlartCurnier(max_iterations=0), "max_iterations must be at least 1, got 0"),
        (lambda: AlartCurnier(tol=2.0), "tol must be between 0 and 1, got 2.0"),
        (lambda: DeSaxce(projections=0), "projections must be at least 1, got 0"),
        (lambda: DeSaxce(tol=0.0), "tol must be between 0 and 1, got 0.0"),
    ],
)
def test_bad_settings(make: object, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make()  # type: ignore[operator]
