"""Newton's method on the function of Fischer and Burmeister."""

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
class FischerBurmeisterNewton(IterativeSolver):
    """Newton on Φ(z) = z + w − √(z² + w²), zero exactly where 0 ≤ w ⟂ z ≥ 0.

    Its square is smooth, so that the line search never meets a kink: for P-matrices and monotone problems
    with a bounded solution set every limit point is a solution. Quadratic in the end where the solution is
    isolated. Dense matrices; the guess helps.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.

    References
    ----------
    Fischer 1992; De Luca, Facchinei, Kanzow 1996.

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), FischerBurmeisterNewton()).z.round(6)
    array([1.333333, 2.333333])
    """

    max_iterations: int = 500

    measures_each_iteration: ClassVar[bool] = True

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Begin at the guess."""
        return _FischerBurmeister(problem, guess)


class _FischerBurmeister(DampedNewton):
    def values(self, z: Array, w: Array) -> Array:
        # z + w − √(z² + w²), without cancellation where both are positive.
        length = np.hypot(z, w)
        total = z + w
        positive = total > 0.0
        safe = np.where(positive, total + length, 1.0)
        return np.where(positive, 2.0 * z * w / safe, total - length)

    def jacobian(self, z: Array, w: Array) -> tuple[Array, Array]:
        length = np.hypot(z, w)
        # At z = w = 0 any (1 − cos t, 1 − sin t) is a limit; the diagonal one treats both alike.
        corner = length == 0.0
        safe = np.where(corner, 1.0, length)
        diagonal = np.sqrt(0.5)
        return 1.0 - np.where(corner, diagonal, z / safe), 1.0 - np.where(corner, diagonal, w / safe)
