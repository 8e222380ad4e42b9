"""Bimatrix games by the pivots of Lemke and Howson.

Two players have positive costs A and B; w = M z + q with M = [[0, A], [Bᵀ, 0]], q < 0 and z = (x, y). The
first player's strategy k is taken without its condition: x_k alone, as small as Bᵀx allows, followed by y_r
alone, as small as A y allows. From there complementary pivots follow the only path of points that violate no
pair except k, and end where x_k or its slack becomes zero. The path cannot end on a ray, because the costs
are positive.
"""

from __future__ import annotations

import numpy as np

from clapas.problems.lcp import LCP
from clapas.solvers.lcp.basis import Basis
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt
from clapas.status import Status
from clapas.typing import Array, Indices, Mask

MISSING = 0  # the strategy of the first player whose condition is left out initially


def players(problem: LCP) -> Mask | None:
    """Mask of the unknowns of the first player if the problem is a game; None if it is not.

    >>> players(LCP([[0.0, 2.0], [3.0, 0.0]], [-1.0, -1.0]))
    array([ True, False])
    >>> players(LCP(np.eye(2), [-1.0, -1.0])) is None
    True
    """
    if problem.size < 2 or (problem.q >= 0.0).any() or np.any(problem.M.diagonal()):
        return None
    first = np.asarray(problem.dense[0] == 0.0)
    same = first[:, None] == first[None, :]
    is_game = not first.all() and not problem.dense[same].any() and (problem.dense[~same] > 0.0).all()
    return first if is_game else None


class LemkeHowson(LCPMethod):
    """Pivots from one pure strategy of each player.

    Parameters
    ----------
    problem : LCP
        A game.
    first : array of bool (n,)
        The unknowns of the first player, the unknown 0 among them.
    refactorise : int
        Pivots after which the inverse of the basis is computed from the data.
    """

    def __init__(self, problem: LCP, first: Mask, refactorise: int) -> None:
        self.scaled = Scaled.of(problem)
        self.basis = Basis(self.scaled.problem, np.zeros(problem.size), refactorise)
        response = self._enter(MISSING, np.flatnonzero(~first))
        self.entering: int | None = self._enter(response, np.flatnonzero(first)) + self.basis.n
        self.was_measured = False  # the end of the path
        if self.entering == MISSING + self.basis.n:
            self.entering = None  # two pure strategies that answer each other: the start is the end

    def unknowns(self) -> Array:
        """The z of the basis; a solution once the missing pair is complementary."""
        return self.scaled.back(self.basis.unknowns())

    def advance(self, count: int) -> int:
        """Do ``count`` pivots."""
        for done in range(1, count + 1):
            if self.entering is None and self.was_measured:
                raise Halt(Status.NUMERICAL_ERROR)  # the path has ended without reaching the tolerance
            if self.entering is None or self._pivot(self.entering):
                self.was_measured = True
                return done
        return count

    def _enter(self, strategy: int, rows: Indices) -> int:
        """Enter one pure strategy, just enough for all conditions of the other player; return the last."""
        basis = self.basis
        direction = basis.direction(strategy + basis.n)
        row = int(rows[np.argmax(basis.values[rows] / direction[rows])])
        return basis.exchange(row, strategy + basis.n, direction)

    def _pivot(self, entering: int) -> bool:
        """Do one pivot; return whether the missing pair is complementary now."""
        basis = self.basis
        direction = basis.direction(entering)
        rows = basis.blocking_rows(direction, np.ones(basis.n, dtype=bool))
        if not len(rows):
            raise Halt(Status.NUMERICAL_ERROR)  # possible only by rounding
        ends = rows[basis.variables[rows] % basis.n == MISSING]
        row = int(ends[0]) if len(ends) else basis.lexicographic(rows, direction)
        left = basis.exchange(row, entering, direction)
        self.entering = None if left % basis.n == MISSING else basis.complement(left)
        if self.entering is None:
            basis.renew()
        return self.entering is None
