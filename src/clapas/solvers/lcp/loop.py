"""Methods for linear complementarity, in the loop that all methods share."""

from __future__ import annotations

from typing import ClassVar, Protocol

from clapas.linalg.threads import one_blas_thread
from clapas.problems.lcp import LCP, Infeasibility
from clapas.solvers.lcp.solution import LCPSolution, Ray
from clapas.solvers.loop import Limits, Method, Pace, Watcher, run
from clapas.typing import Array

ENTRIES_PER_SECOND = 200_000_000  # of M that an iteration visits, roughly


class LCPMethod(Method):
    """A method under way on one problem; its unknowns are z.

    ``ray`` is what Lemke's method leaves when it fails, ``infeasibility`` a proof that there is no solution.
    """

    ray: Ray | None = None
    infeasibility: Infeasibility | None = None

    # A degenerate pivot changes the basis and not z.
    repeats_when_stuck: ClassVar[bool] = False


class LCPSolver(Limits, Protocol):
    """What ``solve_lcp`` needs of a method: its limits and how to start it on a problem."""

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Prepare the method on a problem, from a guess (n,)."""
        ...


def iterate(problem: LCP, solver: LCPSolver, guess: Array, watcher: Watcher | None = None) -> LCPSolution:
    """Run a method on a problem until it is solved or must stop; return the best iterate measured."""
    pace = Pace(1, max(20, ENTRIES_PER_SECOND // max(1, problem.M.size)))
    with one_blas_thread():
        done = run(problem.residual, solver, lambda: solver.start(problem, guess), guess, pace, watcher)
    return LCPSolution(
        problem=problem,
        solver=solver,
        z=done.unknowns,
        w=problem.slack(done.unknowns),
        status=done.status,
        residual=done.residual,
        iterations=done.iterations,
        time=done.seconds,
        history=done.history,
        notes=done.notes,
        ray=done.method.ray if done.method else None,
        infeasibility=done.method.infeasibility if done.method else None,
    )
