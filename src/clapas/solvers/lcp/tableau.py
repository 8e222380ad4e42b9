"""Lemke's method on a plain tableau, as in old programs, to show the effect of rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import linalg

from clapas.errors import SettingsError
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.basis import PIVOT, TIE
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array, Indices


@dataclass(frozen=True, kw_only=True)
class LemkeTableau(IterativeSolver):
    """Lemke's pivots on the whole tableau [I, −M, −1 | q], updated and never recomputed.

    Rounding of all pivots accumulates in the tableau: the result loses digits as the problem grows, all
    of them in the worst case, as the residual shows. Kept to reproduce published failures; use
    :class:`Lemke`.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    ties : "lexicographic" or "first"
        Rule for tied rows. With "first", as in old programs, the data are not scaled, no entry is
        too small to be a pivot, and degenerate problems may cycle.
    precision : "double" or "single"
        Of the numbers in the tableau.

    References
    ----------
    Lemke 1965.

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), LemkeTableau()).z.round(6)
    array([1.333333, 2.333333])
    """

    max_iterations: int = 100_000
    ties: Literal["lexicographic", "first"] = "lexicographic"
    precision: Literal["double", "single"] = "double"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ties not in ("lexicographic", "first"):
            raise SettingsError(f"ties must be 'lexicographic' or 'first', got '{self.ties}'")
        if self.precision not in ("double", "single"):
            raise SettingsError(f"precision must be 'double' or 'single', got '{self.precision}'")

    def start(self, problem: LCP, guess: Array) -> Tableau:
        """Assemble the tableau."""
        return Tableau(problem, self)


class Tableau(LCPMethod):
    """The tableau of one problem, pivot by pivot."""

    def __init__(self, problem: LCP, settings: LemkeTableau) -> None:
        n = problem.size
        self.n, self.is_lexicographic = n, settings.ties == "lexicographic"
        # Ties can be distinguished from rounding only among dimensionless values.
        self.scaled = Scaled.of(problem) if self.is_lexicographic else Scaled(problem, np.ones(n))
        data = self.scaled.problem
        whole = np.hstack((np.eye(n), -data.dense, -np.ones((n, 1)), data.q[:, None]))
        self.rows: Array = whole.astype("float64" if settings.precision == "double" else "float32")
        self.add_product = linalg.get_blas_funcs("ger", (self.rows,))
        self.variables = np.arange(n)
        self.entering: int | None = None

    def unknowns(self) -> Array:
        """The z in the last column of the tableau."""
        return self.scaled.back(self.shown()[1])

    def shown(self) -> tuple[Array, Array, float]:
        """The values (w, z, z₀) in the last column of the tableau, correct or not, in its units."""
        values = np.zeros(2 * self.n + 1)
        values[self.variables] = self.rows[:, -1]
        return values[: self.n], values[self.n : -1], float(values[-1])

    def advance(self, count: int) -> int:
        """Do ``count`` pivots."""
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
            return self._exchange(self._most_negative(), 2 * self.n)
        column = self.rows[:, self.entering]
        least = PIVOT * float(np.abs(column).max()) if self.is_lexicographic else 0.0
        rows = np.flatnonzero(column > least)
        if not len(rows):
            self.notes = ("the tableau shows a ray",)
            raise Halt(Status.STALLED)
        row = self._lexicographic(rows) if self.is_lexicographic else self._first(rows)
        return self._exchange(row, self.entering)

    def _most_negative(self) -> int:
        values = self.rows[:, -1]
        return int(np.argmin(values) if not self.is_lexicographic else self.n - 1 - np.argmin(values[::-1]))

    def _first(self, rows: Indices) -> int:
        return int(rows[np.argmin(self.rows[rows, -1] / self.rows[rows, self.entering])])

    def _lexicographic(self, rows: Indices) -> int:
        """Among the rows that reach zero first, that of z₀, or the lexicographically first."""
        values, pivots = np.maximum(self.rows[rows, -1], 0.0), self.rows[rows, self.entering]
        ratios = values / pivots
        tied = rows[ratios <= ratios.min() * (1.0 + TIE) + TIE]
        last = tied[self.variables[tied] == 2 * self.n]
        if len(last):
            return int(last[0])
        for k in range(self.n):  # the columns of the inverse of the basis
            if len(tied) == 1:
                break
            keys = self.rows[tied, k] / self.rows[tied, self.entering]
            tied = tied[keys <= keys.min() + TIE]
        return int(tied[0])

    def _exchange(self, row: int, variable: int) -> int:
        left = int(self.variables[row])
        self.rows[row] /= self.rows[row, variable]
        others = self.rows[:, variable].copy()
        others[row] = 0.0
        self.add_product(-1.0, self.rows[row].copy(), others, a=self.rows.T, overwrite_a=True)
        self.variables[row] = variable
        return left
