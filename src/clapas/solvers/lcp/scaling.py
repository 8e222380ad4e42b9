"""The same LCP in dimensionless unknowns.

With λ the response of the problem and D = diag(1/√λ), the problem M̂ = D M D, q̂ = D q / s has a unit
diagonal where M has a positive one, and |q̂|∞ = 1. Methods that compare entries (such as pivots) work on it;
symmetry, definiteness and the other classes are preserved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.linalg import exact
from clapas.problems.lcp import LCP, Infeasibility
from clapas.typing import Array

SWEEPS = 12  # of the equilibration; each halves the remaining exponents


@dataclass(frozen=True, eq=False)
class Scaled:
    """A dimensionless LCP and the map back: z = s D ẑ.

    Examples
    --------
    >>> Scaled.of(LCP([[4.0]], [-8.0])).problem.M
    array([[1.]])
    """

    problem: LCP
    unit: Array  # of each z_i

    @classmethod
    def of(cls, problem: LCP) -> Scaled:
        """Scale a problem."""
        D = 1.0 / np.sqrt(problem.response)
        size = float(np.abs(D * problem.q).max(initial=0.0)) or 1.0
        if sparse.issparse(problem.M):
            diagonal = sparse.diags_array(D)
            M = (diagonal @ problem.M @ diagonal).tocsr()
        else:
            M = D[:, None] * problem.M * D
        return cls(LCP(M, D * problem.q / size), size * D)

    def back(self, z: Array) -> Array:
        """The unknowns of the original problem."""
        return self.unit * z

    def forth(self, z: Array) -> Array:
        """The dimensionless unknowns."""
        return z / self.unit

    def proof(self, scaled: Infeasibility) -> Infeasibility:
        """The proof for the original problem, from one for the scaled problem."""
        return Infeasibility(self.unit * scaled.y)


@dataclass(frozen=True, eq=False)
class Equilibrated:
    """An LCP whose rows and columns all have a largest entry near 1: ŵ = R w / s, z = s C ẑ.

    Rows and columns are scaled separately (Ruiz 2001), which preserves the solutions, their signs and zeros,
    but not symmetry or definiteness: for methods that use neither, on data of any units. The factors are
    powers of two, so that what is proved for the scaled data is proved for the given ones.

    Examples
    --------
    >>> Equilibrated.of(LCP([[1e8, 3e8], [0.0, 2e-8]], [-1.0, 1.0])).problem.M.round(2)
    array([[1.49, 1.12],
           [0.  , 0.67]])
    """

    problem: LCP
    unit: Array  # of each z_i

    @classmethod
    def of(cls, problem: LCP) -> Equilibrated:
        """Scale a problem."""
        M = problem.dense
        rows, columns = np.ones(problem.size), np.ones(problem.size)
        for _ in range(SWEEPS):
            size = np.abs(rows[:, None] * M * columns)
            rows *= _inverse_root(size.max(axis=1, initial=0.0))
            size = np.abs(rows[:, None] * M * columns)
            columns *= _inverse_root(size.max(axis=0, initial=0.0))
        q = rows * problem.q
        largest = float(np.abs(q).max(initial=0.0))
        size_of_q = float(exact.nearest_power_of_two(largest)) if largest > 0.0 else 1.0
        return cls(LCP(rows[:, None] * M * columns, q / size_of_q), size_of_q * columns)

    def back(self, z: Array) -> Array:
        """The unknowns of the original problem."""
        return self.unit * z


def _inverse_root(largest: Array) -> Array:
    """Powers of two near 1/√x; 1 for rows and columns of zeros."""
    return exact.nearest_power_of_two(1.0 / np.sqrt(np.where(largest > 0.0, largest, 1.0)))
