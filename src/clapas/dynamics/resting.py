"""The impulses of structures at rest, and of those nearly solved by what they carry.

What a tolerance leaves of a structure at rest adds up. Carried impulses that are out of
balance by a residual ε accelerate it: velocities grow with the number k of steps as k ε, gaps as k² ε / 2.
Two things follow.

*The first impulses are found better than asked for.* Where nothing is carried and nothing moves, the least
impulses that hold all bodies at rest are looked for first, by Newton steps that end at rounding
(:mod:`clapas.solvers.least_impulses`); where nothing holds them, or a factorisation would be dear, the
accelerated projection is tried, down to a millionth of the tolerance. Coordinates are exact then, so that no
gap disturbs. Hundreds of steps that follow cost one residual each.

*Later they are found again, now and then.* Under fixed impulses a body that turns a little is a pendulum
upside down: below the weight of twelve courses what rounding leaves grows by 8 % a step, and after two to
three hundred steps it is as large as the tolerance. Bodies still hardly move then, and the impulses
nearest to the carried ones stop them. A second time is needed in the next step, because impulses that stop a
motion push back if they last (:func:`set_in_motion`). All this is decided by the state alone, so that a
resumed run goes on alike.

*Impulses beyond the tolerance by little are swept*, where bodies move. A dozen plain sweeps, contact after
contact in the given order, mostly put that right. They need nothing but the blocks of the contacts, so that
in the step of few bodies (:mod:`clapas.dynamics.few`) they are part of one compiled call. Here is the same
for the general step, by the same kernels: the impulses are the same, bit by bit. Where a dozen sweeps are not
enough the solver begins from the carried impulses, as if they had not been done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from clapas.convex.coulomb import CoulombCone
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.solvers import NSGS, AcceleratedProjection, Auto, Solution
from clapas.solvers.least_impulses import LeastImpulses, can_rest
from clapas.solvers.loop import Solver, iterate
from clapas.solvers.nsgs import Given
from clapas.solvers.nsgs.dozen import AT_A_TIME, MEASURED
from clapas.solvers.nsgs.orders import SEVERAL
from clapas.solvers.solution import History
from clapas.status import Status
from clapas.typing import Array

AT_START, FINEST = 1e-6, 1e-11
"""Share of the tolerance that the first impulses are to reach, and the residual that is always enough."""
EVEN = 0.7
"""Preload from which the departure of impulses is least: of 816 contacts of a wall 82 bear nothing without
it, none with it, so that they are the same contacts from step to step."""
NEWTON_STEPS = 20
"""Steps to the least impulses at the start: five for a wall, one more every now and then for rubble."""
FEW_STEPS = 8
"""Steps from carried impulses to those nearest to them: one, some more if contacts begin to bear or to slide.
What is not found to rounding sets bodies in motion: with at most three, those of a wall of 1 500 bricks had
to be found again ten times in 200 steps."""
PRODUCTS = 3000
"""Steps of the accelerated projection at the start: less than a second for thousands of contacts."""
SLACK = 2.0
"""Tolerances up to which gaps that a step would close are no gaps, beside the free velocity: between bodies
at rest they are what the tolerance left. With 0.1 half of the attempts failed, and long runs took half as
long again. The judge has the last word."""
ROUGH = 1e3
"""Residuals below so many tolerances, and speeds below as large a share of what gravity gives in a step, are
those of bodies at rest whose impulses have become rough."""
STOPPED, STILL = 100.0, 1e-3
"""Bodies are set in motion where speeds grow by this factor in a step, and are then more than this share of
the tolerance beside what gravity gives in a step."""
MOST_AT_REST = 100_000
"""Contacts up to which the start is taken care of. Few contacts count too: by Gauss–Seidel from nothing, a
pile of four rows of disks stood with mu = 0.48, fell with 0.6 and stood with 0.7."""
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


def are_at_rest(solver: Solver, n_contacts: int, velocity: Array, carried: Array, gain: float) -> bool:
    """Whether bodies hardly move, and whether that is looked after.

    ``velocity`` (N, size) is that at the start of the step, ``carried`` the impulses from before it, and
    ``gain`` the speed that gravity gives in it. Few contacts are looked after at the start only: later on,
    sweeps find what little has changed.
    """
    if not (SEVERAL <= n_contacts <= MOST_AT_REST or (1 < n_contacts < SEVERAL and not carried.any())):
        return False
    return hardly_move(solver, velocity, gain)


def hardly_move(solver: Solver, velocity: Array, gain: float) -> bool:
    """The same, whatever the number of contacts."""
    if not isinstance(solver, Auto) or solver.max_iterations < PRODUCTS or solver.time_limit < np.inf:
        return False
    return float(np.abs(velocity).max(initial=0.0)) <= ROUGH * solver.tol * gain


def set_in_motion(before: Array, after: Array, tol: float, gain: float) -> bool:
    """Whether a step set bodies at rest in motion, from velocities before to velocities after (N, size).

    Impulses that brought moving bodies to rest are too strong in the next step: they push them back.
    """
    speed = float(np.abs(after).max(initial=0.0))
    if speed <= STILL * tol * gain:
        return False
    return speed > STOPPED * float(np.abs(before).max(initial=0.0))


def solved_at_rest(
    problem: ContactProblem, solver: Solver, guess: Array, pushes_back: bool = False
) -> Solution | None:
    """The impulses of bodies at rest, more accurate than the tolerance; None where they are not found.

    ``guess`` (n, d) is what is carried from before the step; ``pushes_back`` says that they are to be found
    even if it is within the tolerance.
    """
    if not is_between_bodies(problem):
        return None
    begins, before = not guess.any(), problem.residual(guess)
    least = 0.0 if pushes_back else solver.tol
    if not begins and not least < before <= ROUGH * solver.tol:
        return None
    goal, level = max(AT_START * solver.tol, min(FINEST, solver.tol)), _closed(problem, SLACK * solver.tol)
    for name, method in _methods(level, goal, begins):
        found = iterate(level, method, guess)
        residual = problem.residual(found.r)
        if residual <= solver.tol:
            steps, seconds = np.array([0, found.iterations]), np.array([0.0, found.time])
            return replace(
                found,
                problem=problem,
                solver=solver,
                status=Status.SOLVED,
                residual=residual,
                history=History(steps, seconds, np.array([before, residual])),
                notes=(f"{name}: {found.iterations} iterations, residual {residual:.1e}",),
            )
    return None


def _closed(problem: ContactProblem, slack: float) -> ContactProblem:
    """The problem in which gaps that would close at less than this share of the free velocity are no gaps.

    What these gaps leave of the residual, more than the impulses do, would hide which impulses hold best.
    """
    w, blocks = problem.imposed, problem.blocks
    if w is None or blocks is None:
        return problem
    small = np.abs(w).max(axis=1) <= slack * problem.free_speeds[1]
    level = ContactProblem.from_blocks(blocks, mu=problem.mu, w=np.where(small[:, None], 0.0, w))
    level.kept = problem.kept
    return level


def _methods(problem: ContactProblem, goal: float, begins: bool) -> Iterator[tuple[str, Solver]]:
    if can_rest(problem):
        least = LeastImpulses(tol=min(FINEST, goal), max_iterations=NEWTON_STEPS, preload=EVEN)
        if not begins:
            yield "nearest-impulses", replace(least, max_iterations=FEW_STEPS, nearest=True)
        yield "least-impulses", least
    if begins:
        yield "accelerated-projection", AcceleratedProjection(tol=goal, max_iterations=PRODUCTS)


def solved_from_near(problem: ContactProblem, solver: Solver, guess: Array) -> Solution | None:
    """The solution by a dozen sweeps from a guess (n, d) that is nearly good; None where that does not serve.

    Fewer than 64 contacts are swept in the given order by the solver itself.
    """
    if not (SEVERAL <= problem.n_contacts <= MOST_SWEPT and begins_with_sweeps(solver)):
        return None
    if not is_between_bodies(problem):
        return None
    if not solver.tol < problem.residual(guess) < NEAR * solver.tol:
        return None
    sweeps = NSGS(tol=solver.tol, max_iterations=DOZEN, order=Given(), acceleration=0)
    found = iterate(problem, sweeps, guess)
    if not found.status.is_solved:
        return None
    notes = (f"nsgs: {found.iterations} iterations",) if isinstance(solver, Auto) else ()
    return replace(found, solver=solver, notes=notes)


def is_between_bodies(problem: ContactProblem) -> bool:
    """Whether contacts slide and join two bodies of one size each."""
    by_bodies = problem.is_by_blocks and type(problem.blocks) is BodyBlocks
    return by_bodies and isinstance(problem.cone, CoulombCone)
