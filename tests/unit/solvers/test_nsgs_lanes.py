"""Eight contacts side by side against the law, one contact at a time in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.compiled import kernel
from clapas.compiled.simd import WIDTH, load, store
from clapas.solvers.local import AlartCurnier, DeSaxce, Exact, LocalSolver
from clapas.solvers.nsgs.lanes import lane_by_lane, project, relax_lanes, solve_lanes
from tests.unit.solvers import twins

N_TRIES = 40


@kernel
def visit(part: Any, r: np.ndarray, u: np.ndarray, k: np.ndarray, new: np.ndarray) -> None:
    """New impulses of eight contacts; flat arrays, component by component."""
    old = load(r, 0), load(r, WIDTH), load(r, 2 * WIDTH)
    at = load(u, 0), load(u, WIDTH), load(u, 2 * WIDTH)
    c = (
        load(k, 0),
        load(k, WIDTH),
        load(k, 2 * WIDTH),
        load(k, 3 * WIDTH),
        load(k, 4 * WIDTH),
        load(k, 5 * WIDTH),
    )
    n, t_1, t_2 = solve_lanes(part, old, at, c)
    store(new, 0, n)
    store(new, WIDTH, t_1)
    store(new, 2 * WIDTH, t_2)


@kernel
def one_by_one(r: np.ndarray, u: np.ndarray, k: np.ndarray, chosen: np.ndarray, new: np.ndarray) -> None:
    """The lanes where ``chosen`` is positive by the scalar solver, the others as they are."""
    old = load(r, 0), load(r, WIDTH), load(r, 2 * WIDTH)
    at = load(u, 0), load(u, WIDTH), load(u, 2 * WIDTH)
    c = (
        load(k, 0),
        load(k, WIDTH),
        load(k, 2 * WIDTH),
        load(k, 3 * WIDTH),
        load(k, 4 * WIDTH),
        load(k, 5 * WIDTH),
    )
    n, t_1, t_2 = lane_by_lane(load(chosen, 0) > 0.0, old, old, at, c)
    store(new, 0, n)
    store(new, WIDTH, t_1)
    store(new, 2 * WIDTH, t_2)


@kernel
def onto_cone(x: np.ndarray, mu: np.ndarray, new: np.ndarray) -> None:
    n, t_1, t_2 = project(load(x, 0), load(x, WIDTH), load(x, 2 * WIDTH), load(mu, 0))
    store(new, 0, n)
    store(new, WIDTH, t_1)
    store(new, 2 * WIDTH, t_2)


@kernel
def relax(omega: float, mu: np.ndarray, r: np.ndarray, x: np.ndarray, new: np.ndarray) -> None:
    old = load(r, 0), load(r, WIDTH), load(r, 2 * WIDTH)
    found = load(x, 0), load(x, WIDTH), load(x, 2 * WIDTH)
    n, t_1, t_2 = relax_lanes(omega, load(mu, 0), old, found)
    store(new, 0, n)
    store(new, WIDTH, t_1)
    store(new, 2 * WIDTH, t_2)


def lanes(rows: np.ndarray) -> np.ndarray:
    """(8, k) as flat lanes, component by component."""
    return np.ascontiguousarray(rows.T).ravel()


def blocks_of(k: np.ndarray) -> np.ndarray:
    """W_ii = W_NN (1, c)(1, c)ᵀ + diag(0, s) of rows (1/W_NN, c_1, c_2, s_1, s_2, mu)."""
    arm = np.column_stack((np.ones(len(k)), k[:, 1:3]))
    W = arm[:, :, None] * arm[:, None, :] / k[:, 0, None, None]
    W[:, 1, 1] += k[:, 3]
    W[:, 2, 2] += k[:, 4]
    return W


def drawn(seed: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Impulses, velocities and coefficients of eight contacts: open, sticking, sliding, without friction."""
    rng = np.random.default_rng(seed)
    c, s = rng.uniform(-0.4, 0.4, (WIDTH, 2)), rng.uniform(0.5, 2.0, (WIDTH, 2))
    s[::3, 1] = s[::3, 0]
    mu = rng.choice([0.0, 0.2, 0.6, 1.0], WIDTH)
    k = np.column_stack((rng.uniform(0.5, 2.0, WIDTH) / scale, c, s * scale, mu))
    q = rng.normal(size=(WIDTH, 3))
    q[:, 0] = -np.abs(q[:, 0]) * rng.choice([1.0, 1.0, 5.0, -1.0], WIDTH)
    r = rng.normal(size=(WIDTH, 3)) / scale * rng.choice([0.0, 1.0])
    return r, np.einsum("nij,nj->ni", blocks_of(k), r) + q, k


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
@pytest.mark.parametrize("local", [Exact(), AlartCurnier()], ids=lambda s: type(s).__name__)
def test_exact_methods_solve_each_contact(local: LocalSolver, scale: float) -> None:
    met = set()
    for seed in range(N_TRIES):
        r, u, k = drawn(seed, scale)
        new = np.empty(3 * WIDTH)
        visit(local.part(), lanes(r), lanes(u), lanes(k), new)
        W = blocks_of(k)
        q = u - np.einsum("nij,nj->ni", W, r)
        for l in range(WIDTH):
            expected = twins.one_contact(W[l], q[l], k[l, 5])
            size = np.abs(q).max() / np.trace(W[l])
            np.testing.assert_allclose(new.reshape(3, WIDTH)[:, l], expected, rtol=1e-9, atol=1e-10 * size)
            tangential = np.linalg.norm(expected[1:])
            on_edge = bool(expected[0] > 0 and tangential >= k[l, 5] * expected[0] * (1 - 1e-12))
            met.add((bool(expected[0] > 0), on_edge))
    assert met == {(False, False), (True, False), (True, True)}


@pytest.mark.parametrize("projections", [1, 3])
def test_de_saxce_projects_as_the_formula_says(projections: int) -> None:
    """Each step is r ← P_K(r − ρ (u + mu |u_T| e_N)), u = W r + q."""
    for seed in range(N_TRIES):
        r, u, k = drawn(seed)
        new = np.empty(3 * WIDTH)
        visit(DeSaxce(projections=projections).part(), lanes(r), lanes(u), lanes(k), new)
        W = blocks_of(k)
        for l in range(WIDTH):
            rho = k[l, 0] / (1 + k[l, 1] ** 2 + k[l, 2] ** 2 + k[l, 0] * max(k[l, 3], k[l, 4]))
            x, q = r[l], u[l] - W[l] @ r[l]
            for _ in range(projections):
                v = W[l] @ x + q
                v[0] += k[l, 5] * np.linalg.norm(v[1:])
                x = twins.project(x - rho * v, k[l, 5])
            np.testing.assert_allclose(new.reshape(3, WIDTH)[:, l], x, rtol=1e-11, atol=1e-12)


def test_chosen_lanes_are_solved_alone() -> None:
    r, u, k = drawn(3)
    chosen = np.where(np.arange(WIDTH) % 3 == 0, 1.0, -1.0)
    new = np.empty(3 * WIDTH)
    one_by_one(lanes(r), lanes(u), lanes(k), chosen, new)
    W = blocks_of(k)
    for l in range(WIDTH):
        expected = r[l] if l % 3 else twins.one_contact(W[l], u[l] - W[l] @ r[l], k[l, 5])
        np.testing.assert_allclose(new.reshape(3, WIDTH)[:, l], expected, rtol=1e-9, atol=1e-11)


def test_projection_and_relaxation() -> None:
    for seed in range(N_TRIES):
        rng = np.random.default_rng(seed)
        x, r, mu = rng.normal(size=(WIDTH, 3)), rng.normal(size=(WIDTH, 3)), rng.uniform(0.1, 2.0, WIDTH)
        new = np.empty(3 * WIDTH)
        onto_cone(lanes(x), mu, new)
        expected = np.array([twins.project(*both) for both in zip(x, mu, strict=True)])
        np.testing.assert_allclose(new.reshape(3, WIDTH).T, expected, rtol=1e-12, atol=1e-14)
        relax(1.3, mu, lanes(r), lanes(x), new)
        moved = r + 1.3 * (x - r)
        expected = np.array([twins.project(*both) for both in zip(moved, mu, strict=True)])
        np.testing.assert_allclose(new.reshape(3, WIDTH).T, expected, rtol=1e-11, atol=1e-13)


def test_outside_a_kernel_there_are_no_lanes() -> None:
    with pytest.raises(NotImplementedError, match="inside a kernel"):
        solve_lanes(Exact().part(), (), (), ())  # type: ignore[arg-type]
