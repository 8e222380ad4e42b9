"""Newton's method on the minimum map min(z, w) = 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.problems.lcp import LCP
from clapas.solvers.lcp.damped_newton import DampedNewton
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.loop import IterativeSolver
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class MinimumMap(IterativeSolver):
    """Newton on Φ(z) = min(z, w) in dimensionless unknowns: each step solves the equations of an active set.

    Where z_i > w_i the equation is w_i = 0, elsewhere z_i = 0. The last step is exact: convergence is
    finite. The plain steps may cycle, and min(z, w)² has kinks at which a search would stall:
    steps are measured by the smooth function of Fischer and Burmeister instead, and replaced by those of
    :class:`FischerBurmeisterNewton` where they do not lower it. Singular matrices as there. Dense matrices.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.

    References
    ----------
    Pang 1990; Aganagic 1984; Ben Gharbia, Gilbert 2012 (that the plain step may cycle); De Luca,
    Facchinei, Kanzow 2000 (the merit function).

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solution = solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), MinimumMap())
    >>> solution.z.round(6), solution.iterations
    (array([1.333333, 2.333333]), 1)
    """

    max_iterations: int = 2_000

    measures_each_iteration: ClassVar[bool] = True

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Begin at the guess."""
        return _Minimum(problem, guess)


class _Minimum(DampedNewton):
    def values(self, z: Array, w: Array) -> Array:
        return np.minimum(z, w)

    def jacobian(self, z: Array, w: Array) -> tuple[Array, Array]:
        on_slack = (w < z).astype(float)
        return 1.0 - on_slack, on_slack
