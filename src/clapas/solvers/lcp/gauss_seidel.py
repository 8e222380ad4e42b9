"""Projected Gauss-Seidel: solve the conditions one after another, in sweeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.errors import ProblemError, SettingsError
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.loop import IterativeSolver
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class GaussSeidel(IterativeSolver):
    """Nonlinear Gauss-Seidel (NLGS), or projected overrelaxation (PSOR).

    A sweep visits each unknown, holds the others and replaces z_i ← max(0, z_i − ω w_i / M_ii). One iteration
    is one sweep, of as many operations as M has entries.

    Converges for symmetric positive definite M and 0 < ω < 2, and for diagonally dominant ones; often
    otherwise. Robust, warm starts well, slow on ill-conditioned problems. Needs a positive diagonal.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    relaxation : float
        Factor ω between 0 and 2; 1 is Gauss-Seidel.

    References
    ----------
    Cryer 1971; Cottle, Pang, Stone 2009, section 5.2.

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), GaussSeidel()).z.round(6)
    array([1.333333, 2.333333])
    """

    max_iterations: int = 100_000
    relaxation: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.relaxation < 2:
            raise SettingsError(f"relaxation must be between 0 and 2, got {self.relaxation}")

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Arrange M by rows."""
        return _Sweeps(problem, guess, self.relaxation)


class _Sweeps(LCPMethod):
    def __init__(self, problem: LCP, guess: Array, relaxation: float) -> None:
        rows = sparse.csr_array(problem.M)
        self.rows = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data
        self.diagonal, self.q = require_positive_diagonal(problem, "Gauss-Seidel"), problem.q
        self.z, self.relaxation = np.maximum(guess, 0.0), relaxation

    def unknowns(self) -> Array:
        """The current z ≥ 0."""
        return self.z

    def advance(self, count: int) -> None:
        """One iteration is one sweep."""
        from clapas.solvers.lcp.sweep_kernels import sweep

        sweep(*self.rows, self.diagonal, self.q, self.z, self.relaxation, count)


def require_positive_diagonal(problem: LCP, method: str) -> Array:
    """The diagonal of M, refused unless it is positive."""
    diagonal = np.array(problem.M.diagonal())
    if (diagonal <= 0.0).any():
        place = int(np.argmin(diagonal))
        raise ProblemError(
            f"{method} divides by the diagonal of M, whose entry {place} is {diagonal[place]:g}: "
            "take Lemke, or another method without that need"
        )
    return diagonal
