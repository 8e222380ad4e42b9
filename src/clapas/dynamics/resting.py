"""Accurate impulses for structures at rest, and a few sweeps where carried impulses nearly solve a problem.

The error that a tolerance leaves in a structure at rest accumulates. Carried impulses that are out of
balance by a residual ε accelerate it: velocities grow with the number k of steps as k ε, gaps as k² ε / 2.
Two things follow.

*The first impulses are computed more accurately than required.* Where no impulse is carried and nothing
moves, the least impulses that hold all bodies at rest are computed first, by Newton steps that end at
rounding (:mod:`clapas.solvers.least_impulses`); where nothing holds them, or a factorisation would be
expensive, the accelerated projection is tried, down to a millionth of the tolerance. Coordinates are exact
then, so that no gap disturbs. Hundreds of steps that follow cost one residual each.

*Later they are recomputed from time to time.* Under fixed impulses a body that turns a little is an inverted
pendulum: below the weight of twelve courses rounding errors grow by 8 % a step, and after two to three
hundred steps they are as large as the tolerance. Bodies still hardly move then, and the impulses nearest to
the carried ones stop them. A second computation is needed in the next step, because impulses that stop a
motion reverse it if they persist (:func:`set_in_motion`). All this is decided by the state alone, so that a
resumed run gives the same results.

*Impulses slightly beyond the tolerance are swept*, where bodies move. A dozen plain sweeps, contact after
contact in the given order, are mostly enough. They need only the blocks of the contacts, so that in the step
of few bodies (:mod:`clapas.dynamics.few`) they are part of one compiled call. This module does the same for
the general step, by the same kernels: the impulses are the same, bit by bit. Where a dozen sweeps are not
enough the solver starts from the carried impulses, as if they had not been done.
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
from clapas.typing import Array, Indices, Mask
from clapas.units import counted

AT_START, FINEST = 1e-6, 1e-11
"""Share of the tolerance that the first impulses should reach, and the residual that is always enough."""
EVEN = 0.7
"""Preload to which the distance of the impulses is least: without it 82 of 816 contacts of a wall bear
nothing, with it none, so that the bearing contacts stay the same from step to step."""
NEWTON_STEPS = 20
"""Most steps to the least impulses at the start: a wall needs five, rubble sometimes one more."""
FEW_STEPS = 8
"""Most steps from carried impulses to those nearest to them: one, some more if contacts start to bear or to
slide. Errors above rounding set bodies in motion: with at most three, the impulses of a wall of 1 500 bricks
had to be recomputed ten times in 200 steps."""
PRODUCTS = 3000
"""Most steps of the accelerated projection at the start: less than a second for thousands of contacts."""
SLACK = 2.0
"""Gaps whose closing velocity is below so many tolerances times the free velocity count as zero: between
bodies at rest they are the error that the tolerance left. With 0.1 half of the attempts failed, and long runs
took half as long again. The result is accepted only by the residual of the original problem."""
ROUGH = 1e3
"""Bodies are at rest where speeds are below so many tolerances times the speed that gravity gives in a step;
their impulses are recomputed while the residual is below so many tolerances."""
STOPPED, STILL = 100.0, 1e-3
"""Bodies are set in motion where speeds grow by the first factor in a step, and exceed the second factor
times the tolerance times the speed that gravity gives in a step."""
MOST_AT_REST = 100_000
"""Most contacts for which the start is treated. Few contacts matter too: by Gauss–Seidel from zero, a
pile of four rows of disks stood with mu = 0.48, fell with 0.6 and stood with 0.7."""
NEAR = 10.0
"""Residuals below so many tolerances are nearly solved."""
MOST_SWEPT = 5000
"""Most contacts for which this is done; beyond, sweeps of many contacts at a time are faster."""
DOZEN = AT_A_TIME * (MEASURED - 1)


def begins_with_sweeps(solver: Solver) -> bool:
    """Whether a solver starts with plain sweeps and may do a dozen of them."""
    is_plain = isinstance(solver, Auto) or (
        type(solver) is NSGS
        and NSGS(tol=solver.tol, max_iterations=solver.max_iterations, time_limit=solver.time_limit) == solver
    )
    return is_plain and solver.max_iterations >= DOZEN and solver.time_limit == np.inf


def are_at_rest(
    solver: Solver, pairs: Indices, movable: Mask, velocity: Array, carried: Array, gain: float
) -> bool:
    """Whether bodies in contact hardly move, and the impulses at rest should be computed by this module.

    ``pairs`` (n, 2) are the bodies of the contacts, ``movable`` (N,) those that impulses move, ``velocity``
    (N, size) is that at the start of the step, ``carried`` the impulses from before it, and ``gain`` the
    speed that gravity gives in it. What touches nothing may fly, but no wall may move: where a support goes
    away, other impulses may hold what is to follow it. Few contacts are treated only at the start: later on,
    sweeps follow the small changes.
    """
    n_contacts = len(pairs)
    if not (SEVERAL <= n_contacts <= MOST_AT_REST or (1 < n_contacts < SEVERAL and not carried.any())):
        return False
    if hardly_move(solver, velocity, gain):
        return True
    speed = speed_at_rest(solver, gain)
    return speed is not None and not (
        walls_move(velocity, movable, speed) or _exceeds(velocity, speed, pairs)
    )


def hardly_move(solver: Solver, velocity: Array, gain: float) -> bool:
    """Whether all bodies hardly move, whatever the number of contacts."""
    speed = speed_at_rest(solver, gain)
    return speed is not None and float(np.abs(velocity).max(initial=0.0)) <= speed


def walls_move(velocity: Array, movable: Mask, speed: float) -> bool:
    """Whether a body that no impulse moves has a velocity beyond a speed."""
    return float(np.abs(velocity[~movable]).max(initial=0.0)) > speed


def speed_at_rest(solver: Solver, gain: float) -> float | None:
    """The speed up to which bodies are at rest; None where the solver leaves no room for this module."""
    if not isinstance(solver, Auto) or solver.max_iterations < PRODUCTS or solver.time_limit < np.inf:
        return None
    return ROUGH * solver.tol * gain


def set_in_motion(before: Array, after: Array, tol: float, gain: float, pairs: Indices) -> bool:
    """Whether a step set bodies at rest in motion, from velocities before to velocities after (N, size).

    Impulses that brought moving bodies to rest are too strong in the next step: they reverse the motion.
    Only the bodies of the contacts ``pairs`` (n, 2) count.
    """
    if not _exceeds(after, STILL * tol * gain, pairs):
        return False
    return _exceeds(after, STOPPED * float(np.abs(before[pairs]).max(initial=0.0)), pairs)


def _exceeds(velocity: Array, speed: float, pairs: Indices) -> bool:
    """Whether a velocity of a body of the contacts ``pairs`` (n, 2) has a component above a speed."""
    if float(np.abs(velocity).max(initial=0.0)) <= speed:
        return False  # mostly all is at rest, or the first contacts already move
    return any(float(np.abs(velocity[some]).max(initial=0.0)) > speed for some in (pairs[:SEVERAL], pairs))


def solved_at_rest(
    problem: ContactProblem, solver: Solver, guess: Array, pushes_back: bool = False
) -> Solution | None:
    """The impulses of bodies at rest, more accurate than the tolerance; None where they are not found.

    ``guess`` (n, d) are the impulses carried from before the step; ``pushes_back`` means that they are
    recomputed even if they are within the tolerance.
    """
    if not is_between_bodies(problem):
        return None
    begins, before = not guess.any(), problem.residual(guess)
    least = 0.0 if pushes_back else solver.tol
    if not begins and not least < before <= ROUGH * solver.tol:
        return None
    goal, level = max(AT_START * solver.tol, min(FINEST, solver.tol)), _closed(problem, SLACK * solver.tol)
    for name, method in _methods(level, goal, begins):
        solution = iterate(level, method, guess)
        residual = problem.residual(solution.r)
        if residual <= solver.tol:
            steps, seconds = np.array([0, solution.iterations]), np.array([0.0, solution.time])
            return replace(
                solution,
                problem=problem,
                solver=solver,
                status=Status.SOLVED,
                residual=residual,
                history=History(steps, seconds, np.array([before, residual])),
                notes=(f"{name}: {solution.iterations} iterations, residual {residual:.1e}",),
            )
    return None


def _closed(problem: ContactProblem, slack: float) -> ContactProblem:
    """The problem with gaps set to zero that would close at less than this share of the free velocity.

    These gaps contribute more to the residual than the impulses do, and would hide which impulses are best.
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
    """The solution by a dozen sweeps from a guess (n, d) that nearly solves the problem; None if they fail.

    Fewer than 64 contacts are swept in the given order by the solver itself.
    """
    if not (SEVERAL <= problem.n_contacts <= MOST_SWEPT and begins_with_sweeps(solver)):
        return None
    if not is_between_bodies(problem):
        return None
    if not solver.tol < problem.residual(guess) < NEAR * solver.tol:
        return None
    sweeps = NSGS(tol=solver.tol, max_iterations=DOZEN, order=Given(), acceleration=0)
    solution = iterate(problem, sweeps, guess)
    if not solution.status.is_solved:
        return None
    notes = (f"nsgs: {counted(solution.iterations, 'iteration')}",) if isinstance(solver, Auto) else ()
    return replace(solution, solver=solver, notes=notes)


def is_between_bodies(problem: ContactProblem) -> bool:
    """Whether all contacts have Coulomb's cone and join two bodies of one size each."""
    by_bodies = problem.is_by_blocks and type(problem.blocks) is BodyBlocks
    return by_bodies and isinstance(problem.cone, CoulombCone)
