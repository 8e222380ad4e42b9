"""Structures at rest: impulses worth carrying, and a few sweeps where they are nearly good.

What a tolerance leaves of a structure at rest adds up. Carried impulses that are out of balance by a residual
ε accelerate it: velocities grow with the number k of steps as k ε, gaps as k² ε / 2. Two things follow.

*The first impulses are found better than asked for.* Where nothing is carried and nothing moves, the
accelerated projection is tried first, down to a millionth of the tolerance. Coordinates are exact then, so
that no gap disturbs. Hundreds of steps that follow cost one residual each.

*Impulses beyond the tolerance by little are swept.* A dozen plain sweeps, contact after contact in the given
order, mostly put that right. They need nothing but the blocks of the contacts, so that in the step of few
bodies (:mod:`clapas.dynamics.few`) they are part of one compiled call. Here is the same for the general step,
by the same kernels: the impulses are the same, bit by bit. Where a dozen sweeps are not enough the solver
begins from the carried impulses, as if they had not been done.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clapas.convex.coulomb import CoulombCone
from clapas.dynamics.model import State
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.solvers import NSGS, AcceleratedProjection, Auto, Solution
from clapas.solvers.loop import Solver, iterate
from clapas.solvers.nsgs import Given
from clapas.solvers.nsgs.dozen import AT_A_TIME, MEASURED
from clapas.solvers.nsgs.orders import SEVERAL
from clapas.status import Status
from clapas.typing import Array

AT_START, FINEST = 1e-6, 1e-11
"""Share of the tolerance that the first impulses are to reach, and the residual that is always enough."""
PRODUCTS = 3000
"""Steps of the accelerated projection at the start: less than a second for thousands of contacts."""
MOST_AT_START = 100_000
"""Contacts up to which the start is taken care of."""
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


def solved_at_start(problem: ContactProblem, solver: Solver, state: State, guess: Array) -> Solution | None:
    """The first impulses of bodies placed at rest, better than the tolerance asks; None where that is not so.

    ``state`` is that at the start of the step, and ``guess`` (n, d) what is carried from before it.
    """
    if state.dt or guess.any() or state.velocity.any() or not isinstance(solver, Auto):
        return None
    if not (_is_between_bodies(problem) and SEVERAL <= problem.n_contacts <= MOST_AT_START):
        return None
    if solver.max_iterations < PRODUCTS or solver.time_limit < np.inf:
        return None
    goal = max(AT_START * solver.tol, min(FINEST, solver.tol))
    found = iterate(problem, AcceleratedProjection(tol=goal, max_iterations=PRODUCTS), guess)
    if found.residual > solver.tol:
        return None
    note = f"accelerated-projection: {found.iterations} iterations, residual {found.residual:.1e}"
    return replace(found, solver=solver, status=Status.SOLVED, notes=(note,))


def solved_from_near(problem: ContactProblem, solver: Solver, guess: Array) -> Solution | None:
    """The solution by a dozen sweeps from a guess (n, d) that is nearly good; None where that does not serve.

    Fewer than 64 contacts are swept in the given order by the solver itself.
    """
    if not (SEVERAL <= problem.n_contacts <= MOST_SWEPT and begins_with_sweeps(solver)):
        return None
    if not _is_between_bodies(problem):
        return None
    if not solver.tol < problem.residual(guess) < NEAR * solver.tol:
        return None
    sweeps = NSGS(tol=solver.tol, max_iterations=DOZEN, order=Given(), acceleration=0)
    found = iterate(problem, sweeps, guess)
    if not found.status.is_solved:
        return None
    notes = (f"nsgs: {found.iterations} iterations",) if isinstance(solver, Auto) else ()
    return replace(found, solver=solver, notes=notes)


def _is_between_bodies(problem: ContactProblem) -> bool:
    """Whether contacts slide and join two bodies of one size each."""
    by_bodies = problem.is_by_blocks and type(problem.blocks) is BodyBlocks
    return by_bodies and isinstance(problem.cone, CoulombCone)
