"""Enumeration of active sets: all solutions of a tiny LCP."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from scipy import optimize

from clapas.errors import ProblemError
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.scaling import Equilibrated
from clapas.solvers.loop import IterativeSolver
from clapas.typing import Array, Mask

LARGEST = 14  # unknowns
ZERO = 1e-10  # tolerance of nonnegativity, in the scaled problem
SAME = 1e-8  # distance below which two points are one
SINGULAR = 1e-11  # smallest singular value of a regular block


def enumerate_lcp(problem: LCP, *, largest: int = LARGEST) -> tuple[Array, ...]:
    """Find the solutions of a tiny LCP: the isolated ones, and a point of each part of a continuum.

    Each set α of unknowns allowed to be positive leaves M_αα z_α = −q_α with z_α ≥ 0 and M z + q ≥ 0. Regular
    blocks give one candidate each; for singular ones a linear program finds a point or none. The problem is
    equilibrated first. An empty result means that none was found: it is no proof
    (:func:`~clapas.solvers.lcp.refutation.refute` gives one).

    Parameters
    ----------
    problem : LCP
        At most ``largest`` unknowns: 2ⁿ sets are tried.
    largest : int
        Another limit.

    Examples
    --------
    >>> [z.tolist() for z in enumerate_lcp(LCP([[-1.0]], [1.0]))]
    [[0.0], [1.0]]
    >>> enumerate_lcp(LCP([[-1.0]], [-1.0]))
    ()
    """
    if problem.size > largest:
        raise ProblemError(
            f"enumeration tries 2ⁿ active sets and stops at {largest} unknowns, got {problem.size}: "
            "raise the limit, or take MixedInteger"
        )
    scaled = Equilibrated.of(problem)
    solutions: list[Array] = []
    for choice in product((False, True), repeat=problem.size):
        z = _point(scaled.problem, np.array(choice, dtype=bool))
        if z is not None and all(np.abs(z - other).max(initial=0.0) > SAME for other in solutions):
            solutions.append(z)
    return tuple(scaled.back(z) for z in solutions)


def _point(data: LCP, active: Mask) -> Array | None:
    """A solution with z = 0 outside the active set and w = 0 on it, or None."""
    block = data.dense[np.ix_(active, active)]
    z = np.zeros(data.size)
    if active.any():
        if np.linalg.svd(block, compute_uv=False)[-1] > SINGULAR * np.abs(block).max():
            z[active] = np.linalg.solve(block, -data.q[active])
        else:
            inside = _feasible_point(data, active)
            if inside is None:
                return None
            z[active] = inside
    slack = ZERO * (1.0 + np.abs(z).max(initial=0.0))
    w = data.slack(z)
    return np.maximum(z, 0.0) if z.min(initial=0.0) >= -slack and w.min(initial=0.0) >= -slack else None


def _feasible_point(data: LCP, active: Mask) -> Array | None:
    M, q = data.dense[:, active], data.q
    nearest = np.linalg.lstsq(M[active], -q[active], rcond=None)[0]
    if np.abs(M[active] @ nearest + q[active]).max() > SAME:
        return None  # the equations alone have no solution
    outside = {"A_ub": -M[~active], "b_ub": q[~active]} if not active.all() else {}
    result = optimize.linprog(
        np.ones(M.shape[1]), A_eq=M[active], b_eq=-q[active], bounds=(0.0, None), method="highs", **outside
    )
    return np.asarray(result.x) if result.status == 0 else None


@dataclass(frozen=True, kw_only=True)
class LCPEnumeration(IterativeSolver):
    """Enumeration as a solver: the solution nearest to the guess, or a proof that there is none.

    A reference for tests, for at most 14 unknowns. One iteration does everything. Status NO_SOLUTION comes
    with a proof by cases in ``solution.refutation``; without solution and proof the status is STALLED.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. The time limit is not checked within the one iteration.

    References
    ----------
    Murty 1988.

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[-1.0, 0.0], [0.0, 1.0]], [1.0, -1.0]), LCPEnumeration(), guess=[0.9, 0.0]).z
    array([1., 1.])
    """

    max_iterations: int = 1

    measures_each_iteration: ClassVar[bool] = True

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Prepare the search; it is done at the first iteration."""
        return _Search(problem, guess, self.time_limit)


class _Search(LCPMethod):
    def __init__(self, problem: LCP, guess: Array, time_limit: float) -> None:
        self.problem, self.z, self.time_limit = problem, guess, time_limit

    def unknowns(self) -> Array:
        """The guess, then the solution nearest to it."""
        return self.z

    def advance(self, count: int) -> None:
        """Try every active set."""
        found = enumerate_lcp(self.problem)
        self.notes = (f"{len(found)} solution{'s' * (len(found) != 1)} found",)
        if not found:
            self.refute(self.problem, self.time_limit)
            return
        self.z = min(found, key=lambda z: float(np.linalg.norm(z - self.z)))
