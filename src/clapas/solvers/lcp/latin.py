"""LATIN (LArge Time INcrement): alternate between the linear equations and the local conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from clapas.errors import SettingsError
from clapas.linalg.lu import Solve, lu
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.polishing import Polished
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array

GROWTH = 10.0  # of a step over the shortest so far, which shows that M is not monotone
NEGLIGIBLE = 1e-9  # steps below this fraction of the iterate may grow by rounding
PATIENCE, SHRINKAGE = 2_000, 0.999  # iterations within which the step must have decreased, and the factor
DOUBLINGS = 12


@dataclass(frozen=True, kw_only=True)
class LATIN(IterativeSolver):
    """LATIN: alternate between w = M z + q and 0 ≤ w ⟂ z ≥ 0 along a fixed search direction k.

        linear stage:  (M + k) z = k ẑ + ŵ − q,    w = ŵ + k ẑ − k z
        local stage:   s = w − k z,    ŵ = max(0, s),    ẑ = max(0, −s)/k

    In terms of a = ŵ + k ẑ this is a ← |a − 2 k z(a)|, the splitting of Peaceman and Rachford. One matrix is
    factorised once; an iteration is one solve with it.

    Converges for every monotone M (positive semidefinite, symmetric or not) when ``relaxation`` is below 1:
    the step |Δa|, in the norm of 1/k, then never grows. Where it does, M is not monotone and k is doubled;
    for symmetric copositive M this ends once k exceeds the norm of M, and the method converges (Li and Pong
    2016). The rate depends on k, whose best value is found by trial: near 1 for well-conditioned problems,
    below for others. Once the active set has settled its equations are solved (``polish``), which avoids the
    slow final convergence.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    k : float
        Direction, relative to the response λ of the problem (its diagonal): no unit.
    direction : "diagonal" or "scalar"
        k λ_i for each unknown, or k times the mean of λ for all.
    relaxation : float
        Fraction of each step taken, up to 1 (the original method).
    polish : bool
        Solve the equations of a settled active set; False gives the plain stages.

    References
    ----------
    Ladevèze 1999; Peaceman, Rachford 1955; Lions, Mercier 1979 (convergence); Li,
    Pong 2016 (beyond monotony).

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
    polish: bool = True

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
        method = _Stages(problem, guess, self.k * scale, self.relaxation)
        return Polished(problem, method) if self.polish else method


class _Stages(LCPMethod):
    def __init__(self, problem: LCP, guess: Array, k: Array, relaxation: float) -> None:
        self.problem, self.relaxation = problem, relaxation
        self.guess, self.doublings = guess, 0
        self.z_hat: Array
        self.a: Array
        self.solve: Solve
        self._begin(k)

    def unknowns(self) -> Array:
        """ẑ ≥ 0 of the local stage."""
        return self.z_hat

    def advance(self, count: int) -> None:
        """Do ``count`` iterations of a linear and a local stage."""
        for _ in range(count):
            s = self.a - 2.0 * self.k * self.solve(self.a - self.problem.q)
            self.z_hat = np.maximum(-s, 0.0) / self.k
            step = self.relaxation * (np.abs(s) - self.a)
            self.a = self.a + step
            self._check_contraction(step)

    def _begin(self, k: Array) -> None:
        """Factorise M + k and start."""
        problem, self.k = self.problem, k
        self.z_hat = np.maximum(self.guess, 0.0)
        try:
            self.solve = lu(problem.M + (sparse.diags_array(k) if problem.is_sparse else np.diag(k)))
        except np.linalg.LinAlgError:  # impossible for a monotone problem
            self._double()
            return
        self.a = np.maximum(problem.slack(self.z_hat), 0.0) + k * self.z_hat
        self.shortest = self.previous_shortest = np.inf
        self.done = 0

    def _check_contraction(self, step: Array) -> None:
        """Double k where the step grows or does not decrease, which excludes a solvable monotone problem."""
        self.done += 1
        length, size = (float(np.linalg.norm(x / np.sqrt(self.k))) for x in (step, self.a))
        self.shortest = min(self.shortest, length)
        has_grown = not length <= GROWTH * self.shortest + NEGLIGIBLE * size
        if has_grown or (self.done % PATIENCE == 0 and self.shortest > SHRINKAGE * self.previous_shortest):
            self._double()
        elif self.done % PATIENCE == 0:
            self.previous_shortest = self.shortest

    def _double(self) -> None:
        if self.doublings == DOUBLINGS:
            self.notes = ("M is not monotone, and no direction k makes the stages contract",)
            raise Halt(Status.STALLED)
        self.doublings += 1
        self.notes = (f"the stages did not contract: k was doubled {self.doublings} times",)
        self._begin(2.0 * self.k)
