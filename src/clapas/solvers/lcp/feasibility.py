"""Proofs that an LCP has no solution because its inequalities are infeasible."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.linalg.lu import lu
from clapas.problems.lcp import LCP, Infeasibility
from clapas.solvers.lcp.scaling import Scaled
from clapas.typing import Array, Mask

LARGEST = 3000  # unknowns up to which a proof is sought after a failure
MOST = 100  # steps
FEASIBLE = 1e-20  # value below which the inequalities hold
SHIFT = 1e-8  # of the second derivative, relative to its largest entry
ROUGH = 1e-6  # relative to the terms of Mᵀy, above which sharpening cannot help
ARMIJO, HALVINGS = 1e-4, 40


def prove_infeasible(problem: LCP) -> Infeasibility | None:
    """Find y ≥ 0 with Mᵀy ≤ 0 and qᵀy < 0, or None: then some z ≥ 0 has M z + q ≥ 0, up to rounding.

    With u = max(0, −M z − q) and v = max(0, −z), the convex function ½|u|² + ½|v|² of z vanishes where the
    inequalities hold. At a minimum that does not vanish its gradient Mᵀu + v does: u is the proof, since
    Mᵀu = −v ≤ 0 and qᵀu = −|u|² − |v|². The function is piecewise quadratic, and Newton's method finds the
    minimum in finitely many steps (Mangasarian 2004), some twenty. The result is checked on the data.

    None does not mean that the LCP has a solution.

    Examples
    --------
    >>> prove_infeasible(LCP([[0.0, 1.0], [-1.0, 0.0]], [1.0, -1.0])).y
    array([0., 1.])
    """
    scaled = Scaled.of(problem)
    data, z = scaled.problem, np.zeros(problem.size)
    for _ in range(MOST):
        u, v = _violations(data, z)
        value = 0.5 * float(u @ u + v @ v)
        if value <= FEASIBLE:
            return None
        proof = Infeasibility(scaled.unit * u / (scaled.unit * u).max()) if u.any() else None
        established = proof.established(problem, ROUGH) if proof else None
        if established is not None:
            return established
        z = _descend(data, z, value, -(data.M.T @ u) - v, u > 0.0, v > 0.0)
    return None


def _violations(data: LCP, z: Array) -> tuple[Array, Array]:
    return np.maximum(-data.slack(z), 0.0), np.maximum(-z, 0.0)


def _descend(data: LCP, z: Array, value: float, gradient: Array, low: Mask, negative: Mask) -> Array:
    """One step of Newton's method with a backtracking line search."""
    rows = data.M[np.flatnonzero(low)]
    H = rows.T @ rows
    diagonal = negative + SHIFT * max(1.0, float(abs(H).max()) if low.any() else 0.0)
    step = -lu(H + (sparse.diags_array(diagonal) if data.is_sparse else np.diag(diagonal)))(gradient)
    slope, length = float(gradient @ step), 1.0
    for _ in range(HALVINGS):
        u, v = _violations(data, z + length * step)
        if 0.5 * float(u @ u + v @ v) <= value + ARMIJO * length * slope:
            break
        length *= 0.5
    return np.asarray(z + length * step)
