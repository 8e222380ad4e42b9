"""Last digits: solve the equations that an approximate solution says hold."""

from __future__ import annotations

import numpy as np

from clapas.problems.lcp import LCP
from clapas.typing import Array

CONSISTENT = 1e-8  # what a regular solve may miss of b


def polished(problem: LCP, z: Array) -> Array:
    """The better of z and the point with w_i = 0 where λ_i z_i > w_i and z_i = 0 elsewhere.

    Where that block of M is singular, the point nearest to z is taken.

    Examples
    --------
    >>> polished(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), np.array([1.33, 2.34])).round(6)
    array([1.333333, 2.333333])
    """
    z = np.maximum(z, 0.0)
    active = np.flatnonzero(problem.response * z > problem.slack(z))
    start = np.zeros(problem.size)
    start[active] = z[active]
    block, missed = problem.dense[np.ix_(active, active)], problem.slack(start)[active]
    correction = _solve(block, -missed)
    candidate = start.copy()
    candidate[active] = np.maximum(start[active] + correction, 0.0)
    return min(z, start, candidate, key=problem.residual)


def _solve(A: Array, b: Array) -> Array:
    """Solve A x = b; the smallest x in the least-squares sense where A is singular."""
    try:
        x = np.linalg.solve(A, b)
        if np.linalg.norm(A @ x - b) <= CONSISTENT * np.linalg.norm(b):
            return np.asarray(x)
    except np.linalg.LinAlgError:
        pass
    return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])
