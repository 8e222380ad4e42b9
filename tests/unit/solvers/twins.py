"""Gauss-Seidel in plain NumPy, one contact after another: the oracle for the kernels of the sweeps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq


def project(x: np.ndarray, mu: float) -> np.ndarray:
    """The point of K = {|r_T| ≤ mu r_N} nearest to x."""
    size = np.linalg.norm(x[1:])
    if mu * size <= -x[0]:  # the polar cone first: for mu = 0 and x_T = 0 both conditions hold
        return np.zeros_like(x)
    if size <= mu * x[0]:
        return x.copy()
    n = (x[0] + mu * size) / (1.0 + mu**2)
    return np.concatenate(([n], mu * n * x[1:] / size))


def one_contact(W: np.ndarray, q: np.ndarray, mu: float) -> np.ndarray:
    """The impulse of one contact, u = W r + q, by cases: open, sticking, or sliding with u_T = −α r_T, α > 0.

    For sliding, u_N = 0 and W_TT r_T + W_TN r_N + q_T = −α r_T: r is linear in 1/(…+ α), and α is the
    root of |r_T| = mu r_N.
    """
    if q[0] >= 0.0:
        return np.zeros_like(q)
    stick = np.linalg.solve(W, -q)
    if stick[0] >= 0.0 and np.linalg.norm(stick[1:]) <= mu * stick[0]:
        return stick

    def sliding(alpha: float) -> np.ndarray:
        held = W.copy()
        held[1:, 1:] += alpha * np.eye(len(q) - 1)
        return np.linalg.solve(held, -q)

    def excess(alpha: float) -> float:
        r = sliding(alpha)
        return float(np.linalg.norm(r[1:]) - mu * r[0])

    if mu == 0.0:
        return np.concatenate(([-q[0] / W[0, 0]], np.zeros(len(q) - 1)))
    high = np.trace(W)
    while excess(high) > 0.0:
        high *= 2.0
    return sliding(brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-15))


def gauss_seidel(
    G: np.ndarray,
    bodies: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    mu: np.ndarray,
    r: np.ndarray,
    order: Sequence[int],
    relaxation: float = 1.0,
) -> np.ndarray:
    """Impulses after one sweep; y are the body velocities under the impulses r, with the ground's row last.

    At contact i: u = G_a y_a + G_b y_b + w, W = G_a G_aᵀ + G_b G_bᵀ, q = u − W r; then y += Gᵀ (r_new − r).
    """
    y, r = y.copy(), r.copy()
    for i in order:
        a, b = bodies[i]
        u = G[i, 0] @ y[a] + G[i, 1] @ y[b] + w[i]
        W = sum(G[i, side] @ G[i, side].T for side in range(2))
        new = one_contact(W, u - W @ r[i], mu[i])
        if relaxation != 1.0:
            new = project(r[i] + relaxation * (new - r[i]), mu[i])
        for side, body in enumerate((a, b)):
            y[body] += G[i, side].T @ (new - r[i])
        r[i] = new
    return r


def visiting_order(blocks: object, width: int) -> np.ndarray:
    """Contacts in the order of blocked sweeps: even slabs, then odd ones, block by block."""
    slab = np.searchsorted(blocks.bounds, blocks.place // width, side="right") - 1  # type: ignore[attr-defined]
    return np.lexsort((blocks.place, slab // 2, slab % 2))  # type: ignore[attr-defined]
