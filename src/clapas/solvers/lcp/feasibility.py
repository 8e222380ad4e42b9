"""Prove that an LCP has no solution because its inequalities alone have none."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from clapas.problems.lcp import LCP, Infeasibility
from clapas.solvers.lcp.scaling import Scaled

SMALLEST_GAIN = 1e-7  # of the scaled linear program


def prove_infeasible(problem: LCP) -> Infeasibility | None:
    """Find y ≥ 0 with Mᵀy ≤ 0 and qᵀy < 0, or None: then some z ≥ 0 has M z + q ≥ 0, up to rounding.

    A linear program on the scaled data, min {q̂ᵀy : M̂ᵀy ≤ 0, 0 ≤ y ≤ 1}, by HiGHS; its answer is checked
    on the data. None does not mean that the LCP has a solution.

    Examples
    --------
    >>> prove_infeasible(LCP([[0.0, 1.0], [-1.0, 0.0]], [1.0, -1.0])).y
    array([0., 1.])
    """
    if problem.size == 0:
        return None
    scaled = Scaled.of(problem)
    data = scaled.problem
    answer = optimize.linprog(
        data.q, A_ub=data.M.T, b_ub=np.zeros(problem.size), bounds=(0.0, 1.0), method="highs"
    )
    if answer.x is None or not answer.fun < -SMALLEST_GAIN:
        return None
    proof = Infeasibility(scaled.unit * np.maximum(answer.x, 0.0) / scaled.unit.max())
    return proof if proof.proves(problem) else None
