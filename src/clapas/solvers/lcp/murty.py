"""Block principal pivoting: exchange the wrong members of the active set, at once or one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.linalg.lu import lu
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.polishing import polished
from clapas.solvers.lcp.proximal import Proximal, ProximalMethod
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array, Mask

ZERO = 1e-13  # tolerance of nonnegativity, in the scaled problem
ACCURATE = 1e-8  # relative residual of a solve with a regular block


@dataclass(frozen=True, kw_only=True)
class BlockPivoting(IterativeSolver):
    """Principal pivoting of Kostreva, Júdice and Pires, with Murty's least-index rule as fallback.

    With a guess α of the unknowns that do not vanish, z_α = −M_αα⁻¹ q_α. All indices with a negative z or
    w are exchanged at once while their number decreases, or did within the last ``patience`` tries; otherwise
    only the last of them is (Murty's rule), which cannot cycle for P-matrices.

    A singular block, or a repeated active set, shows that M is not a P-matrix. From then on the
    method solves proximal problems (:mod:`clapas.solvers.lcp.proximal`), whose matrices are, and polishes
    their solutions: it converges for positive semidefinite matrices and symmetric copositive ones too.

    Very fast: some ten factorisations for thousands of unknowns, and the guess helps.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`; one iteration is one factorisation.
    patience : int
        Exchanges of whole blocks without progress before single ones; 0 is Murty's method.

    References
    ----------
    Murty 1974; Kostreva 1978; Júdice, Pires 1994; Rockafellar 1976.

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solution = solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), BlockPivoting())
    >>> solution.z.round(6), solution.iterations
    (array([1.333333, 2.333333]), 1)
    """

    patience: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patience < 0:
            raise SettingsError(f"patience must be at least 0, got {self.patience}")

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Start with the positive unknowns of the guess as the active set."""
        return _Blocks(problem, guess, self.patience)


class _Blocks(ProximalMethod):
    def __init__(self, problem: LCP, guess: Array, patience: int) -> None:
        self.problem, self.scaled, self.patience = problem, Scaled.of(problem), patience
        self.z = np.maximum(self.scaled.forth(guess), 0.0)
        self.proximal = Proximal(self.scaled.problem, self.z)
        self._begin(self.z > 0.0)
        if self.active.any():
            self._solve()

    def unknowns(self) -> Array:
        """The z of the current active set, negative where it is wrong; polished in proximal problems."""
        if self.proximal.shift:
            return self.scaled.back(polished(self.scaled.problem, self.z))
        return self.scaled.back(self.z)

    def advance(self, count: int) -> int:
        """Do ``count`` changes of the active set, each with one factorisation."""
        for done in range(1, count + 1):
            w = self.proximal.problem.slack(self.z)
            slack = ZERO * (1.0 + np.abs(self.z).max(initial=0.0))
            wrong = np.where(self.active, self.z, w) < -slack
            if not wrong.any():
                self._accept()
                return done
            if self._exchange(wrong):
                self._solve()
            else:
                self._regularise()
        return count

    def _begin(self, active: Mask) -> None:
        self.active = active.copy()
        self.remaining, self.fewest = self.patience, self.problem.size + 1
        self.visited: set[bytes] = set()  # active sets of the single exchanges

    def _exchange(self, wrong: Mask) -> bool:
        """Change the active set; False when single exchanges repeat a previous one."""
        number = int(wrong.sum())
        if number < self.fewest:
            self.fewest, self.remaining = number, self.patience
            self.visited.clear()
        else:
            self.remaining -= 1
        if self.remaining > 0:
            self.active = self.active ^ wrong
            return True
        self.active[int(np.flatnonzero(wrong)[-1])] ^= True
        key = self.active.tobytes()
        is_new = key not in self.visited
        self.visited.add(key)
        return is_new

    def _solve(self) -> None:
        places = np.flatnonzero(self.active)
        block, right = self.proximal.problem.M[places][:, places], -self.proximal.problem.q[places]
        try:
            x = lu(block)(right)
        except np.linalg.LinAlgError:
            x = np.full(len(places), np.nan)
        if not np.linalg.norm(block @ x - right) <= ACCURATE * (1.0 + np.linalg.norm(right)):
            self._regularise()
            return
        self.z = np.zeros(self.problem.size)
        self.z[places] = x

    def _regularise(self) -> None:
        """Change to a proximal problem whose matrix is more regular."""
        if self.proximal.is_exhausted:
            self.notes = ("M is neither a P-matrix nor semidefinite, and the active sets go round",)
            raise Halt(Status.STALLED)
        self.notes = ("M is not a P-matrix: proximal problems were solved",)
        self.proximal.raise_shift()
        self._resume()

    def _resume(self) -> None:
        self._begin(self.active)
        self._solve()
