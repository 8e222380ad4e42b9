"""Newton's method on the function of Fischer and Burmeister."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clapas.problems.lcp import LCP
from clapas.solvers.lcp import fischer_burmeister_function as function
from clapas.solvers.lcp.damped_newton import DampedNewton
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.loop import IterativeSolver
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class FischerBurmeisterNewton(IterativeSolver):
    """Newton on Φ(z) = z + w − √(z² + w²), zero exactly where 0 ≤ w ⟂ z ≥ 0.

    Its square is smooth, without kinks along the line search, and for P-matrices its only stationary
    points are solutions. Where the search stalls (singular matrices, others), proximal problems are solved
    in sequence: they lead to a solution of every monotone problem and of symmetric copositive ones. Quadratic
    in the end where the solution is isolated. Dense matrices; the guess helps.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.

    References
    ----------
    Fischer 1992; De Luca, Facchinei, Kanzow 1996; Rockafellar 1976.

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), FischerBurmeisterNewton()).z.round(6)
    array([1.333333, 2.333333])
    """

    max_iterations: int = 2_000

    measures_each_iteration: ClassVar[bool] = True

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Begin at the guess."""
        return _FischerBurmeister(problem, guess)


class _FischerBurmeister(DampedNewton):
    def values(self, z: Array, w: Array) -> Array:
        return function.values(z, w)

    def jacobian(self, z: Array, w: Array) -> tuple[Array, Array]:
        return function.jacobian(z, w)
