"""Principal pivoting: make the negative slacks nonnegative, one after the other."""

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

    Needs no artificial variable, but on random problems about three times the pivots of :class:`Lemke`. For
    positive semidefinite and P-matrices (precisely, row sufficient ones); on others it may return to a
    previous basis, which is reported. The guess is not used.

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
        """Start at z = 0."""
        return _Cycles(problem, self.refactorise)


class _Cycles(LCPMethod):
    def __init__(self, problem: LCP, refactorise: int) -> None:
        self.scaled = Scaled.of(problem)
        self.basis = Basis(self.scaled.problem, np.zeros(problem.size), refactorise)
        self.distinguished = -1  # the negative slack being increased
        self.driving = -1
        self.is_negative = self.basis.values < -ZERO
        self.visited: set[bytes] = set()  # bases at the start of a cycle

    def unknowns(self) -> Array:
        """The z of the basis."""
        return self.scaled.back(self.basis.unknowns())

    def advance(self, count: int) -> int:
        """Do ``count`` pivots."""
        for done in range(1, count + 1):
            if self.distinguished < 0 and not self._choose():
                return done
            self._pivot()
        return count

    def _choose(self) -> bool:
        """Choose the most negative slack; False when there is none."""
        basis = self.basis
        if not self.is_negative.any():
            basis.renew()
            self.is_negative = basis.values < -ZERO * (1.0 + np.abs(basis.values).max(initial=0.0))
            if not self.is_negative.any():
                return False
        key = np.sort(basis.variables).tobytes()
        if key in self.visited:
            self.notes = ("a basis came back: M is not row sufficient",)
            raise Halt(Status.STALLED)
        self.visited.add(key)
        row = int(np.argmin(np.where(self.is_negative, basis.values, np.inf)))
        self.distinguished = int(basis.variables[row])
        self.driving = basis.complement(self.distinguished)
        return True

    def _pivot(self) -> None:
        basis = self.basis
        direction = basis.direction(self.driving)
        distinguished_row = int(np.flatnonzero(basis.variables == self.distinguished)[0])
        rows = basis.blocking_rows(direction, ~self.is_negative)
        row = basis.lexicographic(rows, direction) if len(rows) else -1
        if self._ends(direction, distinguished_row, row):
            row = distinguished_row
        if row < 0:
            self.notes = ("nothing stops the increase of an unknown: no solution if M is semidefinite",)
            raise Halt(Status.STALLED)
        left = basis.exchange(row, self.driving, direction)
        self.is_negative[row] = False
        self.is_negative &= basis.values < -ZERO
        self.driving = basis.complement(left)
        if left == self.distinguished:
            self.distinguished = -1

    def _ends(self, direction: Array, distinguished_row: int, row: int) -> bool:
        """Whether the distinguished slack reaches zero before any other variable."""
        values, slope = self.basis.values, -direction[distinguished_row]
        if slope <= PIVOT * np.abs(direction).max():
            return False
        step = -values[distinguished_row] / slope
        return row < 0 or step <= max(values[row], 0.0) / direction[row]
