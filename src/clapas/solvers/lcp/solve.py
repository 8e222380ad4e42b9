"""The ``solve_lcp`` function."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from clapas.compiled.threads import one_blas_thread
from clapas.errors import NotSolved, ProblemError
from clapas.problems.lcp import LCP
from clapas.solvers.lcp import feasibility
from clapas.solvers.lcp.advice import advise
from clapas.solvers.lcp.auto import Auto
from clapas.solvers.lcp.loop import LCPSolver, iterate
from clapas.solvers.lcp.solution import LCPSolution
from clapas.solvers.loop import NEAR_FLOOR, USABLE, Watcher, rounding_words
from clapas.status import Status


def solve_lcp(
    problem: LCP,
    solver: LCPSolver | None = None,
    guess: npt.ArrayLike | None = None,
    check: bool = True,
    progress: Watcher | None = None,
) -> LCPSolution:
    """Solve a linear complementarity problem.

    When a method ends without a solution, :func:`prove_infeasible` decides whether any z ≥ 0 has M z + q ≥ 0
    (up to 3000 unknowns); if none has, the status is NO_SOLUTION and the proof is in
    ``solution.infeasibility``. If one has, the notes name a method that solves problems of this class; where
    the residual is all that rounding leaves, and at most 1e-2, the status is ALMOST_SOLVED instead.

    Parameters
    ----------
    problem : LCP
        The problem.
    solver : LCPSolver, optional
        The method with its settings; ``Auto()`` of this package by default: Lemke's pivots, then others
        where they fail.
    guess : array (n,), optional
        Unknowns to start from; zero by default. Pivoting methods do not use it.
    check : bool
        Raise :class:`NotSolved`, which carries the solution, unless the residual reached the tolerance. With
        False the solution is returned whatever its status.
    progress : callable, optional
        Called at each measurement with one :class:`~clapas.solvers.loop.Progress`, the named tuple
        ``(iterations, residual, seconds)``; return True to stop.

    Examples
    --------
    >>> solve_lcp(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])).z.round(6)
    array([1.333333, 2.333333])

    −z − 1 is negative for all z ≥ 0:

    >>> solution = solve_lcp(LCP([[-1.0]], [-1.0]), check=False)
    >>> solution.status.name, solution.infeasibility.proves(solution.problem)
    ('NO_SOLUTION', True)
    """
    if not isinstance(problem, LCP):
        raise ProblemError(
            f"expected an LCP, got {repr(problem)[:80]}: the method as_lcp() of mixed problems and relays "
            "gives one, clapas.solve solves contact problems"
        )
    start = np.zeros(problem.size) if guess is None else problem.unknowns(guess).copy()
    if not np.isfinite(start).all():
        raise ProblemError("the guess must be finite, got NaN or infinity: leave it out to start from zero")
    solution = iterate(problem, solver or Auto(), start, progress)
    if not solution.status.is_solved:
        solution = _with_explanation(solution)
        if check:
            raise NotSolved(
                cast(Any, solution), " ".join(solution.notes)
            )  # it has all attributes that the error uses
    return solution


def _is_at_rounding_floor(solution: LCPSolution) -> bool:
    """Whether a method ended with all that rounding leaves, which is of use and above its tolerance."""
    if solution.status in (Status.SOLVED, Status.NO_SOLUTION, Status.STOPPED, Status.TIME_LIMIT):
        return False
    floor = solution.problem.rounding_floor(solution.z)
    return solution.solver.tol < floor and solution.residual <= min(NEAR_FLOOR * floor, USABLE)


def _almost_solved(solution: LCPSolution) -> LCPSolution:
    floor = solution.problem.rounding_floor(solution.z)
    note = f"{rounding_words(floor, solution.solver.tol)}: give a tol above it, or unknowns less unlike"
    return replace(solution, status=Status.ALMOST_SOLVED, notes=(*solution.notes, note))


def _with_explanation(solution: LCPSolution) -> LCPSolution:
    """The failed solution with a proof that there is none, or with advice."""
    problem, proof = solution.problem, solution.infeasibility
    if solution.status is Status.STOPPED:
        return solution
    if proof is None and problem.size <= feasibility.LARGEST:
        with one_blas_thread():
            proof = feasibility.prove_infeasible(problem)
    if proof is None and solution.refutation is not None:
        return solution  # proved by cases
    if proof is None and solution.status is Status.NO_SOLUTION:
        solution = replace(solution, status=Status.STALLED)  # non-existence needs a proof
    if proof is None and _is_at_rounding_floor(solution):
        return _almost_solved(solution)
    if proof is None:
        advice = advise(problem, tried=type(solution.solver).__name__)
        return replace(solution, notes=(*solution.notes, advice))
    radius = proof.radius(problem)
    size = f" up to {radius:.0e} times the size that q suggests" if math.isfinite(radius) else ""
    note = f"proved: no z ≥ 0{size} has M z + q ≥ 0"
    return replace(solution, status=Status.NO_SOLUTION, infeasibility=proof, notes=(*solution.notes, note))
