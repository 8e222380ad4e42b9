"""Random complementarity problems of the kinds that the theory distinguishes."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.problems.lcp import LCP


def definite(seed: int, n: int) -> LCP:
    """Symmetric positive definite."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    return LCP(A @ A.T / n + 0.05 * np.eye(n), rng.normal(size=n))


def p_matrix(seed: int, n: int) -> LCP:
    """Positive definite but far from symmetric."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, n, n))
    return LCP(A @ A.T / n + 0.2 * np.eye(n) + (B - B.T) / np.sqrt(4 * n), rng.normal(size=n))


def semidefinite(seed: int, n: int) -> LCP:
    """Symmetric of half rank, with a solution."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, (n + 1) // 2))
    return with_solution(A @ A.T / n, rng)


def monotone(seed: int, n: int) -> LCP:
    """Semidefinite of half rank plus a skew part, with a solution."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(n, (n + 1) // 2)), rng.normal(size=(n, n))
    return with_solution(A @ A.T / n + (B - B.T) / np.sqrt(n), rng)


def p_general(seed: int, n: int) -> LCP:
    """All principal minors positive, though the symmetric part is indefinite from n = 3 on.

    Block triangular; each 3×3 block is circular, like that on which many rules go round for ever.
    """
    rng = np.random.default_rng(seed)
    M = np.triu(rng.normal(size=(n, n)), 1) / np.sqrt(n)
    for i in range(0, n, 3):
        k = min(3, n - i)
        M[i : i + k, i : i + k] = np.eye(k) + 3.0 * np.roll(np.eye(k), 1, axis=1) * (k == 3)
    return LCP(M, rng.normal(size=n))


def copositive(seed: int, n: int) -> LCP:
    """Nonnegative entries, positive diagonal: a solution for every q, not always one."""
    rng = np.random.default_rng(seed)
    return LCP(rng.random((n, n)) + 0.2 * np.eye(n), rng.normal(size=n))


def copositive_symmetric(seed: int, n: int) -> LCP:
    """The same with a symmetric matrix: solutions are the stationary points of a function."""
    problem = copositive(seed, n)
    return LCP(0.5 * (problem.dense + problem.dense.T), problem.q)


def copositive_plus(seed: int, n: int) -> LCP:
    """Copositive-plus and no more: a singular semidefinite block, a nonnegative one, a skew coupling."""
    rng = np.random.default_rng(seed)
    half, rest = n // 2, n - n // 2
    A, B = rng.normal(size=(half, (half + 1) // 2)), rng.normal(size=(n, n))
    M = 0.3 * (B - B.T) / np.sqrt(n)
    M[:half, :half] += A @ A.T / max(half, 1)
    M[half:, half:] += rng.random((rest, rest)) + 0.2 * np.eye(rest)
    return with_solution(M, rng)


def game(seed: int, n: int) -> LCP:
    """The equilibria of a bimatrix game of positive costs: M = [[0, A], [Bᵀ, 0]], q = −1."""
    rng = np.random.default_rng(seed)
    rows = max(1, n // 2)
    M = np.zeros((n, n))
    M[:rows, rows:] = rng.uniform(0.1, 1.0, size=(rows, n - rows))
    M[rows:, :rows] = rng.uniform(0.1, 1.0, size=(n - rows, rows))
    return LCP(M, -np.ones(n))


def murty(n: int) -> LCP:
    """Murty's matrix, on which Lemke's path and principal pivots visit 2ⁿ vertices; z = (0, …, 0, 1)."""
    return LCP(np.eye(n) + 2.0 * np.triu(np.ones((n, n)), 1), -np.ones(n))


def fathi(n: int) -> LCP:
    """Fathi's symmetric form of it, positive definite with a condition number of n⁴; z = (1, 0, …, 0)."""
    L = np.eye(n) + 2.0 * np.tril(np.ones((n, n)), -1)
    return LCP(L @ L.T, -np.ones(n))


def degenerate(seed: int, n: int) -> LCP:
    """Definite, with a solution where z_i = w_i = 0 for many i, and ties everywhere."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-2, 3, size=(n, n)).astype(float)
    M = A @ A.T + np.eye(n)
    z = (rng.random(n) < 0.4).astype(float)
    w = ((z == 0) & (rng.random(n) < 0.5)).astype(float)
    return LCP(M, w - M @ z)


def infeasible(seed: int, n: int) -> LCP:
    """Semidefinite with y > 0, M y = 0 and qᵀy < 0."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) + 0.1
    A = rng.normal(size=(n, (n + 1) // 2))
    A = A - np.outer(y, y @ A) / (y @ y) if n > 1 else 0.0 * A
    q = rng.normal(size=n)
    return LCP(A @ A.T / n, q - (q @ y + np.linalg.norm(y)) * y / (y @ y))


def membrane(side: int) -> LCP:
    """An elastic membrane pushed on an obstacle: sparse, side² unknowns."""
    one = sparse.eye_array(side)
    second = sparse.diags_array([2.0, -1.0, -1.0], offsets=[0, -1, 1], shape=(side, side))
    x = (np.arange(side) + 0.5) / side
    load = np.sin(3 * np.pi * x)[:, None] * np.cos(2 * np.pi * x)
    return LCP(sparse.kron(one, second) + sparse.kron(second, one), load.ravel() / side**2)


def with_solution(M: np.ndarray, rng: np.random.Generator) -> LCP:
    n = len(M)
    z = rng.exponential(size=n) * (rng.random(n) < 0.5)
    w = rng.exponential(size=n) * (z == 0)
    return LCP(M, w - M @ z)
