"""Block principal pivoting: guess the active set, exchange all that is wrong, at once or one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.linalg.lu import lu
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import IterativeSolver
from clapas.typing import Array, Mask

ZERO = 1e-13


@dataclass(frozen=True, kw_only=True)
class BlockPivoting(IterativeSolver):
    """Principal pivoting of Kostreva, Júdice and Pires, with Murty's least index to fall back on.

    With a guess α of the unknowns that do not vanish, z_α = −M_αα⁻¹ q_α. All indices with a negative z or
    w are exchanged at once while their number falls, or fell within the last ``patience`` tries; otherwise
    only the last of them is (Murty's rule), which cannot cycle for P-matrices.

    Very fast: some ten factorisations for thousands of unknowns, and the guess helps. For P-matrices only: a
    singular block ends it.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`; one iteration is one factorisation.
    patience : int
        Exchanges of whole blocks without progress before single ones; 0 is Murty's method.

    References
    ----------
    Murty 1974; Kostreva 1978; Júdice, Pires 1994.

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


class _Blocks(LCPMethod):
    def __init__(self, problem: LCP, guess: Array, patience: int) -> None:
        self.scaled = Scaled.of(problem)
        self.data = self.scaled.problem
        self.active: Mask = guess > 0.0
        self.patience = self.left = patience
        self.fewest = problem.size + 1
        self.z = self.scaled.forth(guess)
        if self.active.any():
            self._solve()

    def unknowns(self) -> Array:
        """The z of the present active set; negative where it is wrong."""
        return self.scaled.back(self.z)

    def advance(self, count: int) -> None:
        """One iteration is one change of the active set and one factorisation."""
        for _ in range(count):
            w = self.data.slack(self.z)
            slack = ZERO * (1.0 + np.abs(self.z).max(initial=0.0))
            wrong = np.where(self.active, self.z, w) < -slack
            if not wrong.any():
                return
            self._exchange(wrong)
            self._solve()

    def _exchange(self, wrong: Mask) -> None:
        number = int(wrong.sum())
        if number < self.fewest:
            self.fewest, self.left = number, self.patience
        else:
            self.left -= 1
        if self.left > 0:
            self.active = self.active ^ wrong
        else:
            last = int(np.flatnonzero(wrong)[-1])
            self.active[last] ^= True

    def _solve(self) -> None:
        places = np.flatnonzero(self.active)
        self.z = np.zeros(self.data.size)
        try:
            self.z[places] = lu(self.data.M[places][:, places])(-self.data.q[places])
        except np.linalg.LinAlgError:
            self.notes = (f"the block of M on {len(places)} unknowns is singular: M is not a P-matrix",)
            raise
