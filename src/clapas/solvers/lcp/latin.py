"""LATIN (LArge Time INcrement): alternate between the linear equations and the local conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from clapas.errors import SettingsError
from clapas.linalg.lu import lu
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.loop import IterativeSolver
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class LATIN(IterativeSolver):
    """LATIN: go to and fro between w = M z + q and 0 ≤ w ⟂ z ≥ 0 along a fixed direction k.

        linear stage:  (M + k) z = k ẑ + ŵ − q,    w = ŵ + k ẑ − k z
        local stage:   s = w − k z,    ŵ = max(0, s),    ẑ = max(0, −s)/k

    In terms of a = ŵ + k ẑ this is a ← |a − 2 k z(a)|, the splitting of Peaceman and Rachford. One matrix is
    factorised once; an iteration is one solve with it.

    Converges for every monotone M (positive semidefinite, symmetric or not) when ``relaxation`` is below 1;
    the speed depends on k, whose best value is found by trying: near 1 for well-conditioned problems, below
    for others.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    k : float
        Direction, relative to the response λ of the problem (its diagonal): no unit.
    direction : "diagonal" or "scalar"
        k λ_i for each unknown, or k times the mean of λ for all.
    relaxation : float
        Share of each step taken, up to 1 (the plain method).

    References
    ----------
    Ladevèze 1999; Peaceman, Rachford 1955; Lions, Mercier 1979 (convergence).

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), LATIN()).z.round(6)
    array([1.333333, 2.333333])
    """

    max_iterations: int = 100_000
    k: float = 1.0
    direction: Literal["diagonal", "scalar"] = "diagonal"
    relaxation: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.k > 0:
            raise SettingsError(f"k must be positive, got {self.k}")
        if self.direction not in ("diagonal", "scalar"):
            raise SettingsError(f"direction must be 'diagonal' or 'scalar', got '{self.direction}'")
        if not 0 < self.relaxation <= 1:
            raise SettingsError(f"relaxation must be above 0 and at most 1, got {self.relaxation}")

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Factorise M + k."""
        scale = problem.response
        if self.direction == "scalar" and problem.size:
            scale = np.full(problem.size, scale.mean())
        return _Stages(problem, guess, self.k * scale, self.relaxation)


class _Stages(LCPMethod):
    def __init__(self, problem: LCP, guess: Array, k: Array, relaxation: float) -> None:
        self.q, self.k, self.relaxation = problem.q, k, relaxation
        self.solve = lu(problem.M + (sparse.diags_array(k) if problem.is_sparse else np.diag(k)))
        self.z_hat = np.maximum(guess, 0.0)
        self.a = np.maximum(problem.slack(self.z_hat), 0.0) + k * self.z_hat

    def unknowns(self) -> Array:
        """ẑ ≥ 0 of the local stage."""
        return self.z_hat

    def advance(self, count: int) -> None:
        """One iteration is a linear and a local stage."""
        for _ in range(count):
            s = self.a - 2.0 * self.k * self.solve(self.a - self.q)
            self.z_hat = np.maximum(-s, 0.0) / self.k
            self.a = (1.0 - self.relaxation) * self.a + self.relaxation * np.abs(s)
