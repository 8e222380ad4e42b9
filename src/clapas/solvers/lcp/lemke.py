"""Lemke's method: complementary pivots until the artificial variable leaves the basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.lcp import LCP
from clapas.solvers.lcp import games
from clapas.solvers.lcp.basis import Basis
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.lcp.solution import Ray
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class Lemke(IterativeSolver):
    """Lemke's method: an artificial unknown makes all slacks positive, pivots remove it.

    The path of w = M z + q + z₀ d with z₀ ≥ 0 and one pair z_i, w_i both zero is followed from z₀ = ∞: at
    each pivot the complement of the variable that left enters. It ends when z₀ leaves, at a solution; or on a
    ray, kept in ``solution.ray``, which for positive semidefinite and copositive-plus matrices proves that no
    solution exists (status NO_SOLUTION). Ties are broken lexicographically, so that degenerate problems
    cannot cycle; the inverse of the basis is recomputed at intervals, so that rounding does not accumulate.

    Bimatrix games, M = [[0, A], [Bᵀ, 0]] with A, B > 0 and q < 0, are started as Lemke and Howson do, with
    one pair missing instead of an artificial unknown (:mod:`clapas.solvers.lcp.games`): every path from z₀
    = ∞ would end on a ray at once there.

    Exact up to rounding, for any q, from a cold start only (the guess is not used). Suits full matrices up to
    some thousand unknowns; one iteration is one pivot, of n² operations.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    refactorise : int
        Pivots after which the inverse is computed from the data.

    References
    ----------
    Lemke 1965; Lemke, Howson 1964 (games); Cottle, Pang, Stone 2009, section 4.4 (with lexicographic
    ties, 4.9).

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solution = solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), Lemke())
    >>> solution.z.round(6), solution.iterations
    (array([1.333333, 2.333333]), 3)
    >>> solve_lcp(LCP([[0.0]], [-1.0]), Lemke(), check=False).status.name
    'NO_SOLUTION'
    """

    max_iterations: int = 100_000
    refactorise: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refactorise < 1:
            raise SettingsError(f"refactorise must be at least 1, got {self.refactorise}")

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Start at z = 0, where z₀ covers the most negative slack; games at a pair of pure strategies."""
        players = games.players(problem)
        if players is not None:
            return games.LemkeHowson(problem, players, self.refactorise)
        return _Path(problem, self.refactorise)


class _Path(LCPMethod):
    def __init__(self, problem: LCP, refactorise: int) -> None:
        self.scaled = Scaled.of(problem)
        self.problem = problem
        self.basis = Basis(self.scaled.problem, np.ones(problem.size), refactorise)
        self.entering: int | None = None

    def unknowns(self) -> Array:
        """The z of the basis; a solution once z₀ has left."""
        return self.scaled.back(self.basis.unknowns())

    def advance(self, count: int) -> int:
        """Do ``count`` pivots."""
        for done in range(1, count + 1):
            if self._pivot():
                self.basis.renew()
                return done
        return count

    def _pivot(self) -> bool:
        """Do one pivot; return whether z₀ has left the basis."""
        basis = self.basis
        if self.entering is None:
            self._cover()
            return False
        if self.entering == basis.artificial:  # it left before without reaching the tolerance
            raise Halt(Status.NUMERICAL_ERROR)
        direction = basis.direction(self.entering)
        rows = basis.blocking_rows(direction, np.ones(basis.n, dtype=bool))
        if not len(rows):
            self._end_on_ray(direction)
        last = rows[basis.variables[rows] == basis.artificial]
        row = int(last[0]) if len(last) else basis.lexicographic(rows, direction)
        left = basis.exchange(row, self.entering, direction)
        self.entering = left if left == basis.artificial else basis.complement(left)
        return left == basis.artificial

    def _cover(self) -> None:
        """First pivot: z₀ enters for the most negative slack (the last of those tied comes first)."""
        basis = self.basis
        row = basis.n - 1 - int(np.argmin(basis.values[::-1] / basis.cover[::-1]))
        left = basis.exchange(row, basis.artificial, basis.direction(basis.artificial))
        self.entering = basis.complement(left)

    def _end_on_ray(self, direction: Array) -> None:
        """End on a ray, whose direction may prove that no solution exists."""
        basis = self.basis
        assert self.entering is not None
        basis.renew()
        w, z, z0 = basis.spread(np.maximum(basis.values, 0.0))
        dw, dz, dz0 = basis.spread(np.maximum(-direction, 0.0))
        (dz if self.entering >= basis.n else dw)[self.entering % basis.n] = 1.0
        unit, slack_unit = self.scaled.unit, self.scaled.unit * self.problem.response
        self.ray = Ray(
            unit * z, slack_unit * w, z0, unit * dz, slack_unit * dw, dz0, slack_unit * basis.cover
        )
        self.infeasibility = self.ray.infeasibility(self.problem)
        if self.infeasibility is not None:
            raise Halt(Status.NO_SOLUTION)
        self.notes = ("the path ended on a ray that proves nothing for this matrix: a solution may exist",)
        raise Halt(Status.STALLED)
