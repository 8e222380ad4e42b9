"""Methods for symmetric matrices, applied to monotone ones that are not symmetric.

M = S + K has a symmetric part S and a skew part K. One step from z solves an LCP with a symmetric matrix,

    z̄ = solution of the LCP (S + ρ I, q + K z − ρ z),

and moves along e = (ρ I − K)(z − z̄). For every solution z* of the LCP (M, q) and M positive semidefinite,

    (z − z*)ᵀe ≥ (z − z̄)ᵀe = ρ |z − z̄|²,

because K is skew: the step z ← max(0, z − γ e) with γ = ρ |z − z̄|² / |e|² brings z nearer to all of them, and
z̄ tends to one (Solodov and Tseng 1996; He 1997). S + ρ I is definite and well conditioned, whatever M.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.polishing import identity
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt
from clapas.status import Status
from clapas.typing import Array

RELAXATION = 1.5  # of the step γ; any value between 0 and 2 converges
SHARE = 0.1  # residual of the symmetric problem relative to ρ |z − z̄|
INNER = 200  # iterations on one symmetric problem
PATIENCE, SHRINKAGE = 300, 0.99  # steps within which |z − z̄| must have decreased, and the factor
POWERS, MARGIN = 30, 1.1  # power iterations for a norm, and a factor for their error


class SymmetricMethod(LCPMethod):
    """A method for symmetric matrices, which can continue with another q."""

    @abstractmethod
    def restart(self, q: Array, z: Array) -> None:
        """Take another constant term, and start from z ≥ 0."""


class SymmetricSteps(LCPMethod):
    """Monotone steps, each by some iterations of a method that needs a symmetric matrix.

    Parameters
    ----------
    problem : LCP
        With a positive semidefinite M.
    guess : array (n,)
        Starting point.
    inner : callable
        Starts the method on a symmetric problem from a guess.
    """

    def __init__(self, problem: LCP, guess: Array, inner: Callable[[LCP, Array], SymmetricMethod]) -> None:
        self.scaled = Scaled.of(problem)
        M, self.q = self.scaled.problem.M, self.scaled.problem.q
        self.K = 0.5 * (M - M.T)
        self.rho = norm(self.K) or 1.0
        self.symmetric = LCP(0.5 * (M + M.T) + self.rho * identity(problem, problem.size), self.q)
        self.z = np.maximum(self.scaled.forth(guess), 0.0)
        self.near = self.z  # z̄
        self.inner = inner(self.symmetric, self.near)
        self.smallest = self.previous = np.inf  # |z − z̄|, now and PATIENCE steps ago
        self.done = 0

    def unknowns(self) -> Array:
        """The solution z̄ ≥ 0 of the last symmetric problem."""
        return self.scaled.back(self.near)

    def advance(self, count: int) -> None:
        """Solve ``count`` symmetric problems."""
        for _ in range(count):
            self._step()

    def _step(self) -> None:
        self.near = self._solve(self.q + self.K @ self.z - self.rho * self.z)
        gap = self.z - self.near
        e = self.rho * gap - self.K @ gap
        size = float(e @ e)
        if size > 0.0:
            self.z = np.maximum(self.z - RELAXATION * (float(gap @ e) / size) * e, 0.0)
        self._check_progress(float(np.linalg.norm(gap)))

    def _check_progress(self, gap: float) -> None:
        """Stop where |z − z̄| no longer decreases: for solvable monotone problems it does so linearly."""
        self.done += 1
        self.smallest = min(self.smallest, gap)
        if self.done % PATIENCE:
            return
        if self.smallest > SHRINKAGE * self.previous:
            self.notes = ("the steps do not shrink: M is not positive semidefinite, or there is no solution",)
            raise Halt(Status.STALLED)
        self.previous = self.smallest

    def _solve(self, q: Array) -> Array:
        """Solve the symmetric problem of a constant term q, as accurately as the step from z needs."""
        self.inner.restart(q, self.near)
        for _ in range(INNER):
            self.inner.advance(1)
            near = self.inner.unknowns()
            error = self.symmetric.natural_map(near, np.asarray(self.symmetric.M @ near + q))
            if np.linalg.norm(error) <= SHARE * self.rho * np.linalg.norm(self.z - near):
                break
        return near.copy()


def norm(M: Array) -> float:
    """|M|₂ of a symmetric or skew matrix by power iterations, with a margin."""
    x, size = np.ones(M.shape[0]) + 0.1 * np.cos(np.arange(M.shape[0])), 0.0
    for _ in range(POWERS):
        product = M @ (x / (np.linalg.norm(x) or 1.0))
        size = max(size, float(np.linalg.norm(product)))
        if size == 0.0:
            return 0.0
        x = product
    return MARGIN * size
