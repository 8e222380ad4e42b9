"""Complementarity as a mixed-integer program for HiGHS, exact for any matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import optimize, sparse

from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.polishing import polished
from clapas.solvers.lcp.scaling import Equilibrated
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array

SMALLEST = 1e-5  # α below this is within the tolerance of the engine, not a solution
TIME_OUT = 1  # status of milp


@dataclass(frozen=True, kw_only=True)
class MixedInteger(IterativeSolver):
    """Pardalos and Rosen's program, which needs no bound on the unknowns, by HiGHS.

        max α    subject to   0 ≤ y ≤ x,   0 ≤ M y + α q ≤ 1 − x,   0 ≤ α ≤ 1,   x ∈ {0, 1}ⁿ

    If α > 0 then z = y/α is a solution (x says which unknowns do not vanish); if the largest α is zero,
    none exists. The program is solved with equilibrated data, in which α ≥ 1e-5 corresponds to solutions up
    to 1e5 times the size of q. The engine is accurate to about 1e-6, which is no proof: status NO_SOLUTION
    comes with a proof by cases (``solution.refutation``), and where none is found the status is STALLED.

    For any matrix, in exponential time: some tens of unknowns, more where bounds prune well. One
    iteration does everything; the result is polished on its active set.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`; HiGHS obeys the time limit.

    References
    ----------
    Pardalos, Rosen 1988; Huangfu, Hall 2018 (the engine).

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[0.0, 2.0], [-1.0, -1.0]], [-1.0, 3.0]), MixedInteger()).z.round(6)
    array([0., 3.])
    """

    max_iterations: int = 1

    measures_each_iteration: ClassVar[bool] = True

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Scale the problem; the program is solved at the first iteration."""
        return _Program(problem, guess, self.time_limit)


class _Program(LCPMethod):
    def __init__(self, problem: LCP, guess: Array, time_limit: float) -> None:
        self.problem, self.scaled, self.z, self.time_limit = (
            problem,
            Equilibrated.of(problem),
            guess,
            time_limit,
        )

    def unknowns(self) -> Array:
        """The guess, then the solution."""
        return self.z

    def advance(self, count: int) -> None:
        """Solve the program."""
        data = self.scaled.problem
        result = _run(data, self.time_limit)
        if result.x is None:
            raise Halt(Status.TIME_LIMIT if result.status == TIME_OUT else Status.NUMERICAL_ERROR)
        y, alpha = result.x[: data.size], float(result.x[-1])
        if alpha <= SMALLEST:
            if result.status == TIME_OUT:
                raise Halt(Status.TIME_LIMIT)
            self.refute(self.problem, self.time_limit)
            return
        self.z = polished(self.problem, self.scaled.back(polished(data, y / alpha)))


def _run(data: LCP, time_limit: float) -> Any:
    n = data.size
    one, none = sparse.eye_array(n), sparse.csr_array((n, 1))
    M, q = sparse.csr_array(data.M), sparse.csr_array(data.q[:, None])
    rows = sparse.block_array([[one, -one, none], [M, None, q], [M, one, q]], format="csc")
    lower = np.concatenate((np.full(n, -np.inf), np.zeros(n), np.full(n, -np.inf)))
    upper = np.concatenate((np.zeros(n), np.full(n, np.inf), np.ones(n)))
    return optimize.milp(
        np.concatenate((np.zeros(2 * n), [-1.0])),
        integrality=np.concatenate((np.zeros(n), np.ones(n), [0.0])),
        bounds=optimize.Bounds(0.0, 1.0),
        constraints=optimize.LinearConstraint(rows, lower, upper),
        options={"time_limit": time_limit} if math.isfinite(time_limit) else {},
    )
