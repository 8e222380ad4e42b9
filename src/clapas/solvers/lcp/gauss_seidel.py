"""Projected Gauss-Seidel: solve the conditions one after another, in sweeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.errors import ProblemError, SettingsError
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.polishing import Polished
from clapas.solvers.lcp.splitting import SymmetricMethod, SymmetricSteps
from clapas.solvers.loop import IterativeSolver
from clapas.typing import Array

SYMMETRY = 1e-10
PATIENCE = 20  # sweeps within which the step must be shorter
CONTRACTION = 0.9  # than this fraction of its previous length


@dataclass(frozen=True, kw_only=True)
class GaussSeidel(IterativeSolver):
    """Nonlinear Gauss-Seidel (NLGS), or projected overrelaxation (PSOR).

    A sweep visits each unknown, holds the others and replaces z_i ← max(0, z_i − ω w_i / M_ii). One iteration
    is one sweep, of as many operations as M has entries.

    For symmetric M a sweep lowers ½ zᵀM z + qᵀz: it converges for positive semidefinite M and 0 < ω < 2, and
    to one of the solutions for strictly copositive M (Mangasarian 1977). Where M is not symmetric, sweeps
    that do not contract are replaced by the corrected ones of :mod:`clapas.solvers.lcp.splitting`, which
    converge for every positive semidefinite M; on others, such as [[1, 3, 0], [0, 1, 3], [3, 0, 1]], both may
    cycle. Once the active set has settled its equations are solved (``polish``).

    Robust, good for warm starts, slow on ill-conditioned problems. Negative diagonal entries are an error.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    relaxation : float
        Factor ω between 0 and 2; 1 is Gauss-Seidel.
    polish : bool
        Solve the equations of a settled active set; False gives the plain sweeps.

    References
    ----------
    Cryer 1971; Mangasarian 1977; Cottle, Pang, Stone 2009, section 5.2.

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), GaussSeidel()).z.round(6)
    array([1.333333, 2.333333])
    """

    max_iterations: int = 100_000
    relaxation: float = 1.0
    polish: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.relaxation < 2:
            raise SettingsError(f"relaxation must be between 0 and 2, got {self.relaxation}")

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Store M by rows."""
        require_nonnegative_diagonal(problem)
        kind = Sweeps if is_symmetric(problem) else _Guarded
        method = kind(problem, guess, self.relaxation)
        return Polished(problem, method) if self.polish else method


class Sweeps(SymmetricMethod):
    """Plain sweeps on one problem."""

    def __init__(self, problem: LCP, guess: Array, relaxation: float = 1.0) -> None:
        rows = sparse.csr_array(problem.M)
        self.rows = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data
        # An unknown with a zero diagonal cannot be solved for: a short step along its slack instead.
        self.diagonal, self.q = problem.response, problem.q
        self.z, self.relaxation = np.maximum(guess, 0.0), relaxation

    def unknowns(self) -> Array:
        """The current z ≥ 0."""
        return self.z

    def advance(self, count: int) -> None:
        """Do ``count`` sweeps."""
        from clapas.solvers.lcp.sweep_kernels import sweep

        sweep(*self.rows, self.diagonal, self.q, self.z, self.relaxation, count)

    def restart(self, q: Array, z: Array) -> None:
        """Take another constant term, and start from z ≥ 0."""
        self.q, self.z = q, z.copy()


class _Guarded(LCPMethod):
    """Plain sweeps as long as they contract, corrected ones afterwards."""

    def __init__(self, problem: LCP, guess: Array, relaxation: float) -> None:
        self.problem, self.guess = problem, guess
        self.plain = Sweeps(problem, guess, relaxation)
        self.current: LCPMethod = self.plain
        self.step, self.done = np.inf, 0

    def unknowns(self) -> Array:
        """The current z ≥ 0."""
        return self.current.unknowns()

    def advance(self, count: int) -> None:
        """Do ``count`` sweeps, or steps of the corrected method."""
        for _ in range(count):
            previous = self.plain.z.copy()
            self.current.advance(1)
            if self.current is self.plain:
                self._check_contraction(float(np.linalg.norm(self.plain.z - previous)))

    def _check_contraction(self, step: float) -> None:
        """Compare the length of the step with the previous one, at intervals."""
        self.done += 1
        if self.done % PATIENCE:
            return
        if not step <= CONTRACTION * self.step:
            self.notes = ("the plain sweeps did not contract: corrected ones were taken",)
            self.current = SymmetricSteps(self.problem, self.guess, Sweeps)
        self.step = step


def is_symmetric(problem: LCP) -> bool:
    """Whether M is symmetric up to rounding."""
    largest = abs(problem.M).max() if problem.size else 0.0
    return not problem.size or bool(abs(problem.M - problem.M.T).max() <= SYMMETRY * largest)


def require_nonnegative_diagonal(problem: LCP) -> None:
    """Raise an error for negative diagonal entries of M, for which sweeps fail."""
    diagonal = np.array(problem.M.diagonal())
    if diagonal.min(initial=0.0) < 0.0:
        place = int(np.argmin(diagonal))
        raise ProblemError(
            f"Gauss-Seidel divides by the diagonal of M, whose entry {place} is {diagonal[place]:g}: "
            "take MixedInteger, or Lemke"
        )
