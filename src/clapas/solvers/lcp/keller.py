"""Principal pivoting: repair one negative slack after the other, keeping what is repaired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.basis import PIVOT, Basis
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array

ZERO = 1e-13  # slacks above minus this, in the scaled problem, count as nonnegative


@dataclass(frozen=True, kw_only=True)
class PrincipalPivoting(IterativeSolver):
    """Principal pivoting of Dantzig, van de Panne, Whinston and Keller, for positive semidefinite matrices.

    A negative slack w_r is chosen and its z_r increased. When another variable, so far nonnegative, reaches
    zero, it leaves and its complement is increased in turn, until w_r itself reaches zero. Each such cycle
    leaves one negative slack less. If nothing stops the increase, the problem has no solution.

    Needs no artificial variable, but on random problems some three times the pivots of :class:`Lemke`. For
    positive semidefinite and P-matrices (row sufficient ones, to be exact); on others it may come back to a
    basis it has left, and then says so. The guess is not used.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`; one iteration is one pivot.
    refactorise : int
        Pivots after which the inverse of the basis is computed from the data.

    References
    ----------
    Keller 1973; Cottle, Pang, Stone 2009, section 4.3 (asymmetric version).

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solution = solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), PrincipalPivoting())
    >>> solution.z.round(6), solution.iterations
    (array([1.333333, 2.333333]), 2)
    """

    max_iterations: int = 100_000
    refactorise: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refactorise < 1:
            raise SettingsError(f"refactorise must be at least 1, got {self.refactorise}")

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Begin at z = 0."""
        return _Cycles(problem, self.refactorise)


class _Cycles(LCPMethod):
    def __init__(self, problem: LCP, refactorise: int) -> None:
        self.scaled = Scaled.of(problem)
        self.basis = Basis(self.scaled.problem, np.zeros(problem.size), refactorise)
        self.distinguished = -1  # the variable under repair
        self.driving = -1
        self.is_bad = self.basis.values < -ZERO
        self.seen: set[bytes] = set()  # bases from which a repair began

    def unknowns(self) -> Array:
        """The z of the basis."""
        return self.scaled.back(self.basis.unknowns())

    def advance(self, count: int) -> int:
        """One iteration is one pivot."""
        for done in range(1, count + 1):
            if self.distinguished < 0 and not self._choose():
                return done
            self._pivot()
        return count

    def _choose(self) -> bool:
        """Take the most negative slack for repair; False when there is none."""
        basis = self.basis
        if not self.is_bad.any():
            basis.renew()
            self.is_bad = basis.values < -ZERO * (1.0 + np.abs(basis.values).max(initial=0.0))
            if not self.is_bad.any():
                return False
        key = np.sort(basis.variables).tobytes()
        if key in self.seen:
            self.notes = ("a basis came back: M is not row sufficient",)
            raise Halt(Status.STALLED)
        self.seen.add(key)
        row = int(np.argmin(np.where(self.is_bad, basis.values, np.inf)))
        self.distinguished = int(basis.variables[row])
        self.driving = basis.complement(self.distinguished)
        return True

    def _pivot(self) -> None:
        basis = self.basis
        direction = basis.direction(self.driving)
        under_repair = int(np.flatnonzero(basis.variables == self.distinguished)[0])
        rows = basis.blocking_rows(direction, ~self.is_bad)
        row = basis.lexicographic(rows, direction) if len(rows) else -1
        if self._ends(direction, under_repair, row):
            row = under_repair
        if row < 0:
            self.notes = ("nothing stops the increase of an unknown: no solution if M is semidefinite",)
            raise Halt(Status.STALLED)
        left = basis.exchange(row, self.driving, direction)
        self.is_bad[row] = False
        self.is_bad &= basis.values < -ZERO
        self.driving = basis.complement(left)
        if left == self.distinguished:
            self.distinguished = -1

    def _ends(self, direction: Array, under_repair: int, row: int) -> bool:
        """Whether the slack under repair reaches zero before any other variable does."""
        values, slope = self.basis.values, -direction[under_repair]
        if slope <= PIVOT * np.abs(direction).max():
            return False
        step = -values[under_repair] / slope
        return row < 0 or step <= max(values[row], 0.0) / direction[row]
