"""The basis of a pivoting method: the basic variables and their values.

The variables of w − M z − d z₀ = q are numbered w_0 … w_{n−1}, z_0 … z_{n−1}, z₀. A basis picks n of them; B
is made of their columns and their values are B⁻¹q. B⁻¹ is kept explicitly, only its columns that differ from
the identity being updated, and is recomputed from the data after a number of pivots: the rounding of
thousands of pivots, which spoils a tableau, does not accumulate.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.problems.lcp import LCP
from clapas.typing import Array, Indices, Mask

TIE = 1e-12  # ratios closer than this, relative to the scaled data, are equal
PIVOT = 1e-10  # entries of a direction below this fraction of the largest are not used as pivots


class Basis:
    """The basic variables of a scaled LCP and the inverse of their columns.

    Parameters
    ----------
    problem : LCP
        Scaled.
    cover : array (n,)
        The column d of z₀.
    refactorise : int
        Pivots after which the inverse is recomputed.
    """

    def __init__(self, problem: LCP, cover: Array, refactorise: int) -> None:
        n = problem.size
        self.problem, self.n, self.cover = problem, n, cover
        self.by_columns = sparse.csc_array(problem.M) if problem.is_sparse else None
        self.variables: Indices = np.arange(n)
        self.columns = np.eye(n)
        self.is_changed: Mask = np.zeros(n, dtype=bool)
        self.values = problem.q.copy()
        self.refactorise, self.pivots_since = refactorise, 0

    @property
    def artificial(self) -> int:
        """Number of the variable z₀."""
        return 2 * self.n

    def complement(self, variable: int) -> int:
        """z_i for w_i and w_i for z_i."""
        return (variable + self.n) % (2 * self.n)

    def column(self, variable: int) -> Array:
        """Column of a variable in [I, −M, −d]."""
        if variable == self.artificial:
            return -self.cover
        if variable >= self.n:
            j = variable - self.n
            chosen = self.problem.M[:, j] if self.by_columns is None else self.by_columns[:, [j]].toarray()
            return -np.asarray(chosen, dtype=float).ravel()
        unit = np.zeros(self.n)
        unit[variable] = 1.0
        return unit

    def direction(self, variable: int) -> Array:
        """B⁻¹ times the column of a variable: the decrease of the basic ones per unit of it."""
        from clapas.solvers.lcp.pivoting_kernels import multiply

        return multiply(self.columns, self.is_changed, self.column(variable))

    def exchange(self, row: int, variable: int, direction: Array) -> int:
        """Exchange the basic variable of a row for another; return the one that left."""
        from clapas.solvers.lcp.pivoting_kernels import exchange

        left = int(self.variables[row])
        exchange(self.columns, self.is_changed, direction, row)
        step = self.values[row] / direction[row]
        self.values -= step * direction
        self.values[row] = step
        self.variables[row] = variable
        self.pivots_since += 1
        if self.pivots_since >= self.refactorise:
            self.renew()
        return left

    def renew(self) -> None:
        """Recompute the inverse and the values from the data."""
        places = np.flatnonzero(self.variables != np.arange(self.n))
        B = np.column_stack([self.column(int(v)) for v in self.variables[places]] or [np.empty((self.n, 0))])
        inverse = np.linalg.inv(B[places])
        self.columns[self.is_changed] = 0.0
        self.columns[self.is_changed, self.is_changed] = 1.0
        self.columns[places] = -(B @ inverse).T
        self.columns[np.ix_(places, places)] = inverse.T
        self.is_changed[:] = False
        self.is_changed[places] = True
        self.values = self._solve(self.problem.q)
        self.values += self._solve(self.problem.q - self._assemble(places, B))
        self.pivots_since = 0

    def blocking_rows(self, direction: Array, is_guarded: Mask) -> Indices:
        """Rows whose variable reaches zero first as another enters: several in case of ties, or none."""
        pivots = np.flatnonzero(is_guarded & (direction > PIVOT * np.abs(direction).max(initial=1e-300)))
        if not len(pivots):
            return pivots
        ratios = np.maximum(self.values[pivots], 0.0) / direction[pivots]
        return np.asarray(pivots[ratios <= ratios.min() * (1.0 + TIE) + TIE], dtype=np.int64)

    def lexicographic(self, rows: Indices, direction: Array) -> int:
        """Among tied rows, the one whose row of B⁻¹ over its pivot is lexicographically first: no cycles."""
        for k in range(self.n):
            if len(rows) == 1:
                break
            keys = self.columns[k, rows] / direction[rows]
            rows = rows[keys <= keys.min() + TIE]
        return int(rows[0])

    def unknowns(self) -> Array:
        """The z of the current basis, at least 0."""
        basic = (self.variables >= self.n) & (self.variables < self.artificial)
        z = np.zeros(self.n)
        z[self.variables[basic] - self.n] = self.values[basic]
        return np.maximum(z, 0.0)

    def spread(self, values: Array) -> tuple[Array, Array, float]:
        """Values of the basic variables as (w, z, z₀), the others being zero."""
        everything = np.zeros(2 * self.n + 1)
        everything[self.variables] = values
        return everything[: self.n], everything[self.n : -1], float(everything[-1])

    def _solve(self, right: Array) -> Array:
        from clapas.solvers.lcp.pivoting_kernels import multiply

        return multiply(self.columns, self.is_changed, right)

    def _assemble(self, places: Indices, B: Array) -> Array:
        kept = self.values.copy()
        kept[places] = 0.0
        return kept + np.asarray(B @ self.values[places])
