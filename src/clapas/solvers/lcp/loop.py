"""Methods for linear complementarity in the common loop."""

from __future__ import annotations

import math
from typing import ClassVar, Protocol

import numpy as np

from clapas.compiled.threads import one_blas_thread
from clapas.problems.lcp import LCP, Infeasibility
from clapas.solvers.lcp.refutation import Refutation, refute
from clapas.solvers.lcp.solution import LCPSolution, Ray
from clapas.solvers.loop import Halt, Limits, MeasureEvery, Method, Watcher, run
from clapas.status import Status
from clapas.typing import Array

ENTRIES_PER_SECOND = 200_000_000  # entries of M that iterations visit per second, roughly


class LCPMethod(Method):
    """A running method on one problem; its unknowns are z.

    ``ray`` is the result of Lemke's method when it fails, ``infeasibility`` and ``refutation`` are proofs
    that there is no solution.
    """

    ray: Ray | None = None
    infeasibility: Infeasibility | None = None
    refutation: Refutation | None = None
    z: Array

    def refute(self, problem: LCP, time_limit: float) -> None:
        """Search for a proof that there is no solution; a solution found in doing so is kept.

        Halts with NO_SOLUTION and the proof, or with STALLED where nothing is proved.
        """
        attempt = refute(problem, time_limit=time_limit)
        if attempt.z is not None:
            self.z = attempt.z
            return
        if attempt.refutation is None or not attempt.refutation.proves(problem):
            self.notes = ("no solution was found, and none of the proofs tried excludes one",)
            raise Halt(Status.STALLED)
        self.refutation = attempt.refutation
        radius = attempt.refutation.radius(problem)
        size = f" of size up to {radius:.0e} times that of q (equilibrated)" if math.isfinite(radius) else ""
        self.notes = (f"{attempt.refutation.leaves} cases closed and checked: no solution{size}",)
        raise Halt(Status.NO_SOLUTION)

    # A degenerate pivot changes the basis and not z.
    repeats_when_stuck: ClassVar[bool] = False


class LCPSolver(Limits, Protocol):
    """Interface of a method for ``solve_lcp``: its limits and its start on a problem."""

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Prepare the method on a problem, from a guess (n,)."""
        ...


def _slack(problem: LCP, z: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return problem.slack(z)


def iterate(problem: LCP, solver: LCPSolver, guess: Array, watcher: Watcher | None = None) -> LCPSolution:
    """Run a method on a problem until it is solved or must stop; return the best iterate measured."""
    pace = MeasureEvery(1, max(20, ENTRIES_PER_SECOND // max(1, problem.M.size)))
    # Divergent iterates overflow: the residual shows it, not a warning.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        result = run(problem.residual, solver, lambda: solver.start(problem, guess), guess, pace, watcher)
    return LCPSolution(
        problem=problem,
        solver=solver,
        z=result.unknowns,
        w=_slack(problem, result.unknowns),
        status=result.status,
        residual=result.residual,
        iterations=result.iterations,
        time=result.seconds,
        history=result.history,
        notes=result.notes,
        ray=result.method.ray if result.method else None,
        infeasibility=result.method.infeasibility if result.method else None,
        refutation=result.method.refutation if result.method else None,
    )
