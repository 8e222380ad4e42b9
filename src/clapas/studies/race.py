"""Runs of methods with a stopping rule and a time limit."""

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
    """Result of a run: seconds of process time, the last measure, whether it is small enough."""

    seconds: float
    value: float
    is_reached: bool


def thesis_measure(problem: ContactProblem, r: Array) -> float:
    """The measure of the thesis, |f_AC(u, r)|² / (2 n d) with ρ = 1: a squared norm, not dimensionless."""
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
    """Run a method until the measure is below the goal, it stops, or time is over.

    It starts from the impulses ``first``, zero by default.
    """
    start = time.process_time()
    r = np.zeros((problem.n_contacts, problem.d)) if first is None else first.copy()
    iteration = solver.start(problem, r)
    iterations, halted = 0, False
    while True:
        value = measure(problem, r)
        seconds = time.process_time() - start
        if value < goal:
            return Outcome(seconds, value, True)
        if halted or seconds > limit or iterations >= solver.max_iterations or not math.isfinite(value):
            return Outcome(seconds, value, False)
        count = 1 if solver.measures_each_iteration else max(1, iterations // SMALLEST_SHARE)
        try:
            with np.errstate(all="ignore"):
                iteration.advance(count)
        except Halt:
            halted = True
        iterations += count
        r = iteration.impulses()
