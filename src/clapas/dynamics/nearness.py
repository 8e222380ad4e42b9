"""Carried impulses that are nearly good: a structure at rest needs a few sweeps, not a solver.

What a tolerance leaves of a structure at rest adds up: unbalanced impulses of a residual ε accelerate it, and after
some steps the carried impulses are beyond the tolerance by little. A dozen plain sweeps, contact after contact in
the given order, mostly put that right. They need nothing but the blocks of the contacts, so that in the step of few
bodies (:mod:`clapas.dynamics.few`) they are part of one compiled call. This is the same for the general step, by
the same kernels: the impulses are the same, bit by bit.

Where a dozen sweeps are not enough the solver begins from the carried impulses, as if they had not been done.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clapas.convex.coulomb import CoulombCone
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.solvers import NSGS, Auto, Solution
from clapas.solvers.loop import Solver, iterate
from clapas.solvers.nsgs import SEVERAL, Given
from clapas.solvers.nsgs.dozen import AT_A_TIME, MEASURED
from clapas.typing import Array

NEAR = 10.0
"""Residuals below so many tolerances are nearly good."""
MOST_SWEPT = 5000
"""Contacts up to which this is done; beyond, sweeps of many contacts at a time are faster."""
DOZEN = AT_A_TIME * (MEASURED - 1)


def begins_with_sweeps(solver: Solver) -> bool:
    """Whether a solver begins with plain sweeps and may do a dozen of them."""
    is_plain = isinstance(solver, Auto) or (
        type(solver) is NSGS
        and NSGS(tol=solver.tol, max_iterations=solver.max_iterations, time_limit=solver.time_limit) == solver
    )
    return is_plain and solver.max_iterations >= DOZEN and solver.time_limit == np.inf


def solved_from_near(problem: ContactProblem, solver: Solver, guess: Array) -> Solution | None:
    """The solution by a dozen sweeps from a guess (n, d) that is nearly good; None where that does not serve.

    Fewer than 64 contacts are swept in the given order by the solver itself.
    """
    if not (SEVERAL <= problem.n_contacts <= MOST_SWEPT and begins_with_sweeps(solver)):
        return None
    if not (isinstance(problem.cone, CoulombCone) and problem.is_by_blocks and type(problem.blocks) is BodyBlocks):
        return None
    if not solver.tol < problem.residual(guess) < NEAR * solver.tol:
        return None
    sweeps = NSGS(tol=solver.tol, max_iterations=DOZEN, order=Given(), acceleration=0)
    found = iterate(problem, sweeps, guess)
    if not found.status.is_solved:
        return None
    notes = (f"nsgs: {found.iterations} iterations",) if isinstance(solver, Auto) else ()
    return replace(found, solver=solver, notes=notes)
