"""Polishing: solve the active equations of an approximate solution."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.linalg.lu import lu
from clapas.problems.lcp import LCP, Infeasibility
from clapas.solvers.lcp import feasibility
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.loop import Halt
from clapas.status import Status
from clapas.typing import Array, Indices, Mask

CONSISTENT = 1e-9  # relative residual of a solve
SHIFTS = (0.0, 1e-10, 1e-6)  # added to the diagonal of singular blocks, relative to their largest entry
REFINEMENTS = 4
PROOF = 1e-12  # accuracy of a proof from the iterates: slow progress must not look like one
EARLY = 100  # iterations before divergence is tested
STEADY = 0.9  # fraction of their speed that divergent iterates keep while the iterations double
FAR = 0.25  # fraction of their size that they gain meanwhile (asymptotically one half)
HUGE = 1e100  # size of diverged iterates
PROGRESS = 0.1  # decrease of the residual for a second try on the same active set


def active_set(problem: LCP, z: Array) -> Mask:
    """Mask of the slacks w_i, rather than unknowns z_i, taken as zero: those with λ_i z_i > w_i."""
    return np.asarray(problem.response * z > problem.slack(z))


def polished(problem: LCP, z: Array) -> Array:
    """The better of z and the point with w_i = 0 where λ_i z_i > w_i and z_i = 0 elsewhere.

    Where that block of M is singular, a point near z is taken.

    Examples
    --------
    >>> polished(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), np.array([1.33, 2.34])).round(6)
    array([1.333333, 2.333333])
    """
    z = np.maximum(z, 0.0)
    active = np.flatnonzero(active_set(problem, z))
    start = np.zeros(problem.size)
    start[active] = z[active]
    candidate = start.copy()
    correction = solve_block(problem, active, -problem.slack(start)[active])
    candidate[active] = np.maximum(start[active] + correction, 0.0)
    return min(z, start, candidate, key=problem.residual)


def solve_block(problem: LCP, places: Indices, right: Array) -> Array:
    """Solve M_αα x = b; zero where the equations have no solution.

    A singular block is shifted, M_αα + δ I, and the shift removed by refinement: for semidefinite blocks this
    tends to the smallest x, at the cost of a factorisation.
    """
    block = problem.M[places][:, places]
    largest = float(abs(block).max()) if len(places) else 0.0
    goal = CONSISTENT * float(np.linalg.norm(right))
    for shift in SHIFTS:
        try:
            solve = lu(block + shift * largest * identity(problem, len(places)) if shift else block)
        except np.linalg.LinAlgError:
            continue
        x = solve(right)
        for _ in range(REFINEMENTS):
            residual = right - block @ x
            if np.linalg.norm(residual) <= goal and shift:
                break
            x = x + solve(residual)
        if np.linalg.norm(right - block @ x) <= goal:
            return np.asarray(x)
    return np.zeros(len(places))


def identity(problem: LCP, size: int) -> Array | sparse.sparray:
    """The unit matrix, stored as M is."""
    return sparse.eye_array(size, format="csr") if problem.is_sparse else np.eye(size)


class Polished(LCPMethod):
    """A slow method whose iterates are polished once their active set has settled, which makes it exact.

    A factorisation is done only where the active set is that of the previous measurement, and again on the
    same set only after progress. Where there is no solution the iterates diverge, and the difference from one
    measurement to the next tends to a proof of it. That may take long: the first time that iterates
    have kept their speed while the iterations doubled, :func:`prove_infeasible` is called.

    Parameters
    ----------
    problem : LCP
        The problem.
    method : LCPMethod
        The method running on it.
    """

    def __init__(self, problem: LCP, method: LCPMethod) -> None:
        self.problem, self.method = problem, method
        self.last_z = method.unknowns().copy()
        self.last: Mask | None = None
        self.tried: Mask | None = None
        self.reached = np.inf
        self.done, self.speed = 0, np.inf
        self.mark, self.marked = self.last_z, 0  # a past iterate, and its number of iterations
        self.may_be_infeasible = problem.size <= feasibility.LARGEST

    def unknowns(self) -> Array:
        """The iterate of the method, or the better point of its active set."""
        z = self.method.unknowns()
        if not np.abs(z).max(initial=0.0) < HUGE:
            return z
        self._look_for_proof(z)
        active = active_set(self.problem, z)
        has_settled = self.last is not None and np.array_equal(active, self.last)
        self.last = active
        return self._polish(z, active) if has_settled else z

    def advance(self, count: int) -> int | None:
        """Advance the method."""
        if self.infeasibility is not None:
            raise Halt(Status.NO_SOLUTION)
        try:
            done = self.method.advance(count) or count
        finally:
            self.notes = self.method.notes
        self.done += done
        return done

    def _polish(self, z: Array, active: Mask) -> Array:
        residual = self.problem.residual(z)
        is_known = self.tried is not None and np.array_equal(active, self.tried)
        if is_known and not residual <= PROGRESS * self.reached:
            return z
        self.tried, self.reached = active, residual
        return polished(self.problem, z)

    def _look_for_proof(self, z: Array) -> None:
        if self.infeasibility is not None:
            return
        proof = Infeasibility(np.maximum(z - self.last_z, 0.0))
        self.last_z = z.copy()
        self.infeasibility = proof.established(self.problem, PROOF)
        if self.infeasibility is not None:
            return
        if self.may_be_infeasible and self._diverges(z):
            self.may_be_infeasible = False
            self.infeasibility = feasibility.prove_infeasible(self.problem)

    def _diverges(self, z: Array) -> bool:
        """Whether z has moved far since the mark, at the same speed as before."""
        if self.done < max(EARLY, 2 * self.marked):
            return False
        distance = float(np.linalg.norm(z - self.mark))
        previous_speed, self.speed = self.speed, distance / (self.done - self.marked)
        self.mark, self.marked = z.copy(), self.done
        return self.speed > STEADY * previous_speed and distance > FAR * float(np.linalg.norm(z))
