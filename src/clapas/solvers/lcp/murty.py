"""Block principal pivoting: guess the active set, exchange all that is wrong, at once or one by one."""

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

ZERO = 1e-13  # what counts as nonnegative, in the scaled problem
ACCURATE = 1e-8  # what a solve with a regular block may miss


@dataclass(frozen=True, kw_only=True)
class BlockPivoting(IterativeSolver):
    """Principal pivoting of Kostreva, Júdice and Pires, with Murty's least index to fall back on.

    With a guess α of the unknowns that do not vanish, z_α = −M_αα⁻¹ q_α. All indices with a negative z or
    w are exchanged at once while their number falls, or fell within the last ``patience`` tries; otherwise
    only the last of them is (Murty's rule), which cannot cycle for P-matrices.

    A singular block, or an active set that comes back, shows that M is not a P-matrix. From then on the
    method solves proximal problems (:mod:`clapas.solvers.lcp.proximal`), whose matrices are, and polishes
    their answers: it ends for positive semidefinite matrices and symmetric copositive ones too.

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
        """Begin with the unknowns that the guess has positive."""
        return _Blocks(problem, guess, self.patience)


class _Blocks(ProximalMethod):
    def __init__(self, problem: LCP, guess: Array, patience: int) -> None:
        self.given, self.scaled, self.patience = problem, Scaled.of(problem), patience
        self.z = np.maximum(self.scaled.forth(guess), 0.0)
        self.proximal = Proximal(self.scaled.problem, self.z)
        self._begin(self.z > 0.0)
        if self.active.any():
            self._solve()

    def unknowns(self) -> Array:
        """The z of the present active set, negative where it is wrong; polished in proximal problems."""
        if self.proximal.shift:
            return self.scaled.back(polished(self.scaled.problem, self.z))
        return self.scaled.back(self.z)

    def advance(self, count: int) -> int:
        """One iteration is one change of the active set and one factorisation."""
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
        self.left, self.fewest = self.patience, self.given.size + 1
        self.seen: set[bytes] = set()  # by the single exchanges

    def _exchange(self, wrong: Mask) -> bool:
        """Change the active set; False when single exchanges came back to one already tried."""
        number = int(wrong.sum())
        if number < self.fewest:
            self.fewest, self.left = number, self.patience
            self.seen.clear()
        else:
            self.left -= 1
        if self.left > 0:
            self.active = self.active ^ wrong
            return True
        self.active[int(np.flatnonzero(wrong)[-1])] ^= True
        key = self.active.tobytes()
        is_new = key not in self.seen
        self.seen.add(key)
        return is_new

    def _solve(self) -> None:
        places = np.flatnonzero(self.active)
        block, right = self.proximal.problem.M[places][:, places], -self.proximal.problem.q[places]
        try:
            found = lu(block)(right)
        except np.linalg.LinAlgError:
            found = np.full(len(places), np.nan)
        if not np.linalg.norm(block @ found - right) <= ACCURATE * (1.0 + np.linalg.norm(right)):
            self._regularise()
            return
        self.z = np.zeros(self.given.size)
        self.z[places] = found

    def _regularise(self) -> None:
        """Turn to a proximal problem whose matrix is more regular."""
        if self.proximal.is_exhausted:
            self.notes = ("M is neither a P-matrix nor semidefinite, and the active sets go round",)
            raise Halt(Status.STALLED)
        self.notes = ("M is not a P-matrix: proximal problems were solved",)
        self.proximal.raise_shift()
        self._resume()

    def _resume(self) -> None:
        self._begin(self.active)
        self._solve()
