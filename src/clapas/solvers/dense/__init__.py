"""Sweeps and Newton steps on a dense W, for small problems, where the overhead of Python dominates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import delassus_matrix
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.typing import Array

FIRST_SWEEPS, MORE, MOST_SWEEPS = 16, 2, 256  # sweeps of the first round, growth per round, maximum
NEWTON_STEPS = 15  # largest number per round
MAX_FAILURES = 4  # Newton steps without a better residual that end a round
LARGEST = 6000  # rows of W; it then takes 0.6 GB, and as much for Newton's matrix
COMPLIANCE = 1e-10  # added to W in Newton's matrix, relative to the response of a contact


@dataclass(frozen=True, kw_only=True)
class DenseNewton(IterativeSolver):
    """Rounds of Gauss-Seidel sweeps and semismooth Newton steps on a dense W: for up to a hundred contacts.

    Sweeps determine which contacts open, stick and slide; Newton's method then solves for all of them at
    once. With the trial impulse p = r − u/λ of a contact, λ its response, it seeks the zero of Alart and
    Curnier's function

        open   p_N ≤ 0            F = r
        stick  |p_T| ≤ mu p_N     F = u/λ
        slide  else               F = (u_N/λ, r_T − mu p_N p_T/|p_T|)

    by full steps. The result of the Newton steps is kept only if it is better than that of the sweeps, and
    the next round does twice as many sweeps. Self-stress, for which Newton's matrix is singular, is bounded
    by a compliance of 1e-10 that does not affect the solution.

    A round of twenty contacts takes a fifth of a millisecond, one of a hundred some milliseconds; the time
    grows with the cube of the number of contacts. Convergence is not guaranteed. :class:`Auto` uses it below
    a hundred contacts.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. An iteration is a sweep or a Newton step; they come in whole rounds.

    References
    ----------
    Alart, Curnier 1991; Jourdan, Alart, Jean 1998.

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.get("box-stack-10").problem, DenseNewton(tol=1e-12))
    >>> solution.status.name
    'SOLVED'
    """

    measures_each_iteration: ClassVar[bool] = True

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Assemble W as a full matrix, in the canonical frames of the contacts."""
        if problem.d * problem.n_contacts > LARGEST:
            raise ProblemError(
                f"DenseNewton writes W in full: it takes at most {LARGEST} rows, got "
                f"{problem.d * problem.n_contacts}; take Auto, InteriorPoint or ProximalPoint"
            )
        return _Rounds(self, problem, guess)


class _Rounds(Iteration):
    def __init__(self, settings: DenseNewton, problem: ContactProblem, guess: Array) -> None:
        # Kernels are imported here so that naming a solver does not load the compiler.
        from clapas.solvers.dense import kernels
        from clapas.solvers.local import Exact

        if problem.form == "reduced":
            W = kernels.in_full(problem.W.indptr, problem.W.indices, problem.W.data)
        else:
            W = np.ascontiguousarray(delassus_matrix(problem).toarray())
        self._kernels, self._part = kernels, Exact().part()
        self._data, self._turn = kernels.prepare(
            W, problem.local_blocks, problem.q, problem.mu, problem.response
        )
        self._r = kernels.turned(np.ascontiguousarray(guess), self._turn, 1.0)
        self._goal = settings.tol * problem.free_speed
        self._sweeps = FIRST_SWEEPS

    def impulses(self) -> Array:
        """The current impulses in the frames of the problem."""
        return np.asarray(self._kernels.turned(self._r, self._turn, -1.0))

    def advance(self, count: int) -> int:
        """Do one round, whatever the ``count``; returns the number of its sweeps and Newton steps."""
        count_done, violation = self._kernels.sweep(self._sweeps, self._goal, self._data, self._part, self._r)
        self._sweeps = min(MORE * self._sweeps, MOST_SWEEPS)
        if violation > self._goal:
            count_done += self._newton(violation)
        return int(count_done)

    def _newton(self, violation: float) -> int:
        """Do Newton steps from the impulses of the sweeps and keep the best; returns their number."""
        r, failures, steps = self._r.copy(), 0, 0
        while steps < NEWTON_STEPS:
            steps += 1
            J, F = self._kernels.linearise(self._data, r, COMPLIANCE)
            # LAPACK is column-major: for it J, stored by rows, is the transpose.
            factor, pivots, failed = lapack.dgetrf(J.T, overwrite_a=True)
            if failed:
                break
            change, _ = lapack.dgetrs(factor, pivots, F, trans=1, overwrite_b=True)
            r -= change.reshape(r.shape)
            new_violation = self._kernels.measure(self._data, r)
            if new_violation < violation:
                self._r, violation, failures = r.copy(), new_violation, 0
            else:
                failures += 1
            if violation <= self._goal or failures == MAX_FAILURES or not np.isfinite(new_violation):
                break
        return steps
