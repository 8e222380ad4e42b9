"""Lemke's method on a plain tableau, as it was long programmed: a lesson in rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class LemkeTableau(IterativeSolver):
    """Lemke's pivots on the whole tableau [I, −M, −1 | q], updated and never computed afresh.

    No scaling, no tolerance on pivots, no rule for ties. Rounding of all the pivots adds up in the tableau:
    its answer loses digits as the problem grows, all of them in the worst case, and the residual says so.
    Degenerate problems may cycle. Kept to reproduce published failures; use :class:`Lemke`.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.

    References
    ----------
    Lemke 1965.

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), LemkeTableau()).z.round(6)
    array([1.333333, 2.333333])
    """

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Write the tableau."""
        return _Tableau(problem)


class _Tableau(LCPMethod):
    def __init__(self, problem: LCP) -> None:
        n = problem.size
        self.n = n
        self.rows = np.hstack((np.eye(n), -problem.dense, -np.ones((n, 1)), problem.q[:, None]))
        self.variables = np.arange(n)
        self.entering: int | None = None

    def unknowns(self) -> Array:
        """The z that the last column of the tableau shows."""
        z = np.zeros(self.n)
        basic = (self.variables >= self.n) & (self.variables < 2 * self.n)
        z[self.variables[basic] - self.n] = self.rows[basic, -1]
        return z

    def advance(self, count: int) -> int:
        """One iteration is one pivot."""
        for done in range(1, count + 1):
            left = self._pivot()
            if left == 2 * self.n:
                self.entering = left
                return done
            self.entering = (left + self.n) % (2 * self.n)
        return count

    def _pivot(self) -> int:
        if self.entering == 2 * self.n:
            self.notes = ("z₀ has left: the tableau shows a solution, the data do not",)
            raise Halt(Status.STALLED)
        if self.entering is None:
            return self._exchange(int(np.argmin(self.rows[:, -1])), 2 * self.n)
        column = self.rows[:, self.entering]
        rows = np.flatnonzero(column > 0.0)
        if not len(rows):
            self.notes = ("the tableau shows a ray",)
            raise Halt(Status.STALLED)
        return self._exchange(int(rows[np.argmin(self.rows[rows, -1] / column[rows])]), self.entering)

    def _exchange(self, row: int, variable: int) -> int:
        left = int(self.variables[row])
        self.rows[row] /= self.rows[row, variable]
        others = self.rows[:, variable].copy()
        others[row] = 0.0
        self.rows -= np.outer(others, self.rows[row])
        self.variables[row] = variable
        return left
