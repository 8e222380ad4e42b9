"""Sweeps and Newton steps on a dense W: for small problems, where everything else pays more for Python."""

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

FIRST_SWEEPS, MORE, MOST_SWEEPS = 16, 2, 256  # sweeps of the first round, growth from round to round, most
NEWTON_STEPS = 15  # of a round, at most
VAIN = 4  # Newton steps without a better residual that end a round
LARGEST = 6000  # rows of W; it then takes 0.6 GB, and as much for Newton's matrix
COMPLIANCE = 1e-10  # added to W in Newton's matrix, relative to the response of a contact


@dataclass(frozen=True, kw_only=True)
class DenseNewton(IterativeSolver):
    """Rounds of Gauss-Seidel sweeps and semismooth Newton steps on a dense W: for up to a hundred contacts.

    Sweeps find out which contacts open, stick and slide; Newton's method then solves for all of them at once.
    With the wish p = r − u/λ of a contact, λ its response, it looks for the zero of Alart and Curnier's
    function

        open   p_N ≤ 0            F = r
        stick  |p_T| ≤ mu p_N     F = u/λ
        slide  else               F = (u_N/λ, r_T − mu p_N p_T/|p_T|)

    by full steps. What a round reaches is kept only if it is better than the sweeps before it, and the next
    round makes twice as many sweeps. Self-stress, for which Newton's matrix is singular, is bounded by a
    compliance of 1e-10 that the answer does not see.

    A round of twenty contacts takes a fifth of a millisecond, one of a hundred some milliseconds; the time
    grows with the cube of the contacts. Convergence is not guaranteed. :class:`Auto` takes it below a
    hundred contacts.

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
        """Write W in full, in the canonical frames of the contacts."""
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
        """Do a round, whatever the ``count``; the number of its sweeps and Newton steps."""
        done, missed = self._kernels.sweep(self._sweeps, self._goal, self._data, self._part, self._r)
        self._sweeps = min(MORE * self._sweeps, MOST_SWEEPS)
        if missed > self._goal:
            done += self._newton(missed)
        return int(done)

    def _newton(self, missed: float) -> int:
        """Newton steps from the impulses of the sweeps; keep the best."""
        r, vain, done = self._r.copy(), 0, 0
        while done < NEWTON_STEPS:
            done += 1
            J, F = self._kernels.linearise(self._data, r, COMPLIANCE)
            # LAPACK counts by columns: for it J, stored by rows, is the transpose.
            factor, pivots, failed = lapack.dgetrf(J.T, overwrite_a=True)
            if failed:
                break
            change, _ = lapack.dgetrs(factor, pivots, F, trans=1, overwrite_b=True)
            r -= change.reshape(r.shape)
            now = self._kernels.measure(self._data, r)
            if now < missed:
                self._r, missed, vain = r.copy(), now, 0
            else:
                vain += 1
            if missed <= self._goal or vain == VAIN or not np.isfinite(now):
                break
        return done
