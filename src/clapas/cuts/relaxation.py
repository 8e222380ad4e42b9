"""The linear relaxation of a mixed-integer program with cuts, and its optimal vertex as rows A x ≤ b."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.cuts.intersection import Basis
from clapas.cuts.lp import LinearProgram, Outcome
from clapas.cuts.milp import MILP
from clapas.errors import ProblemError
from clapas.typing import Array, Indices, Mask

SLACK = 1e-7  # slack of a unit-length cut above which it is inactive


class NoSolution(ProblemError):
    """The relaxation is infeasible, and so is the problem."""


@dataclass(frozen=True, eq=False)
class Vertex:
    """The optimum of a relaxation, seen as a vertex of {x : A x ≤ b} with rows of length one.

    Parameters
    ----------
    x : array (n,)
        The vertex.
    value : float
        Of the relaxation, without offset.
    A, b
        All rows: bounds of variables, constraints, cuts.
    basis : Basis or None
        The rows of the simplex basis; None where the optimum is no vertex (free variables).
    lower_rows, upper_rows : array (n,) of int
        Number of the row that bounds each variable below and above, −1 where none does.
    """

    x: Array
    value: float
    A: sparse.csr_array
    b: Array
    basis: Basis | None
    lower_rows: Indices
    upper_rows: Indices


class Relaxation:
    """The relaxation of a mixed-integer program, to which cuts are added.

    Examples
    --------
    >>> from clapas.cuts.instances import knapsack
    >>> relaxation = Relaxation(knapsack(10, seed=0))
    >>> vertex = relaxation.solve()
    >>> vertex.A.shape, int((vertex.b - vertex.A @ vertex.x < 1e-9).sum())
    ((21, 10), 10)
    """

    def __init__(self, problem: MILP) -> None:
        self.problem = problem
        sizes = sparse.linalg.norm(problem.A, axis=1) if problem.A.shape[0] else np.zeros(0)
        scale = 1.0 / np.where(sizes > 0.0, sizes, 1.0)
        self.rows = sparse.csr_array(sparse.diags_array(scale) @ problem.A)
        self.row_lower, self.row_upper = problem.row_lower * scale, problem.row_upper * scale
        self.program = LinearProgram(
            problem.c, self.rows, self.row_lower, self.row_upper, problem.lower, problem.upper, simplex="dual"
        )

    @property
    def n_cuts(self) -> int:
        """Cuts present."""
        return int(self.rows.shape[0] - self.problem.A.shape[0])

    def solve(self) -> Vertex:
        """The optimum, from the last basis.

        Raises
        ------
        NoSolution
            The relaxation is infeasible.
        ProblemError
            It is unbounded.
        """
        solved = self.program.solve()
        if solved.outcome is Outcome.INFEASIBLE:
            raise NoSolution(
                f"{self.problem}: the linear relaxation has no solution, and so has the problem none"
            )
        if solved.outcome is Outcome.UNBOUNDED:
            raise ProblemError(
                f"{self.problem}: the linear relaxation is unbounded: give the variables that matter bounds"
            )
        return self._vertex(solved.x, solved.value)

    def is_split_empty(self, j: int, value: float) -> bool:
        """Whether nothing has x_j at most the integer below a value, nor at least the one above."""
        problem = self.problem
        for lower, upper in ((-np.inf, np.floor(value)), (np.ceil(value), np.inf)):
            low, high = problem.lower.copy(), problem.upper.copy()
            low[j], high[j] = max(low[j], lower), min(high[j], upper)
            if low[j] > high[j]:
                continue
            nothing = np.zeros(len(problem.c))
            branch = LinearProgram(nothing, self.rows, self.row_lower, self.row_upper, low, high)
            if branch.solve().outcome is not Outcome.INFEASIBLE:
                return False
        return True

    def add(self, d: Array, right: Array) -> None:
        """Add cuts d·x ≤ right, one per row of d (k, n), of length one."""
        below = np.full(len(right), -np.inf)
        self.program.add_rows(d, below, right)
        self.rows = sparse.vstack((self.rows, sparse.csr_array(d)), format="csr")
        self.row_lower = np.concatenate((self.row_lower, below))
        self.row_upper = np.concatenate((self.row_upper, right))

    def drop_slack_cuts(self, x: Array) -> int:
        """Delete the inactive cuts at x; return their number."""
        slack = self.row_upper - self.rows @ x > SLACK
        slack[: self.problem.A.shape[0]] = False
        self.program.delete_rows(np.flatnonzero(slack))
        self.rows = self.rows[~slack]
        self.row_lower, self.row_upper = self.row_lower[~slack], self.row_upper[~slack]
        return int(slack.sum())

    def _vertex(self, x: Array, value: float) -> Vertex:
        problem, one = self.problem, sparse.eye_array(len(x), format="csr")
        sides = (
            (-one, -problem.lower),
            (one, problem.upper),
            (-self.rows, -self.row_lower),
            (self.rows, self.row_upper),
        )
        present = [np.isfinite(right) for _, right in sides]
        A = sparse.vstack([rows[here] for (rows, _), here in zip(sides, present, strict=True)], format="csr")
        b = np.concatenate([right[here] for (_, right), here in zip(sides, present, strict=True)])
        numbers = np.split(
            _numbered(np.concatenate(present)), np.cumsum([len(here) for here in present])[:-1]
        )
        at = self.program.nonbasic()
        chosen = np.concatenate(
            [number[mask] for number, mask in zip(numbers, (at[0], at[1], *at[2:]), strict=True)]
        )
        chosen = chosen[chosen >= 0]
        basis = Basis.of(A, chosen) if len(chosen) == len(x) else None
        return Vertex(x, value, A, b, basis, numbers[0], numbers[1])


def _numbered(present: Mask) -> Indices:
    """Number of each row that is present, −1 for the others."""
    return np.where(present, np.cumsum(present) - 1, -1)
