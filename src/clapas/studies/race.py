"""Methods against a stopping rule and the clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clapas.problems import ContactProblem, coulomb
from clapas.solvers.loop import Halt, Solver
from clapas.typing import Array

Measure = Callable[[ContactProblem, Array], float]
SMALLEST_SHARE = 8  # measure again after an eighth of the iterations done


@dataclass(frozen=True)
class Outcome:
    """How a run ended: seconds of process time used, the last measure, whether it is small enough."""

    seconds: float
    value: float
    is_reached: bool


def thesis_measure(problem: ContactProblem, r: Array) -> float:
    """The measure of the thesis, |f_AC(u, r)|² / (2 n d) with ρ = 1: a squared norm, not free of units."""
    with np.errstate(all="ignore"):
        f = coulomb.alart_curnier(problem.velocity(r), r, problem.mu, np.ones(problem.n_contacts))
        return float(np.vdot(f, f)) / (2 * f.size)


def residual(problem: ContactProblem, r: Array) -> float:
    """The residual of the package."""
    return problem.residual(r)


def race(
    problem: ContactProblem,
    solver: Solver,
    measure: Measure,
    goal: float,
    limit: float,
    first: Array | None = None,
) -> Outcome:
    """Run a method until the measure falls below the goal, it gives up, or time is over.

    It starts from the impulses ``first``, zero by default.
    """
    start = time.process_time()
    r = np.zeros((problem.n_contacts, problem.d)) if first is None else first.copy()
    iteration = solver.start(problem, r)
    done, gave_up = 0, False
    while True:
        value = measure(problem, r)
        seconds = time.process_time() - start
        if value < goal:
            return Outcome(seconds, value, True)
        if gave_up or seconds > limit or done >= solver.max_iterations or not math.isfinite(value):
            return Outcome(seconds, value, False)
        count = 1 if solver.measures_each_iteration else max(1, done // SMALLEST_SHARE)
        try:
            with np.errstate(all="ignore"):
                iteration.advance(count)
        except Halt:
            gave_up = True
        done += count
        r = iteration.impulses()
