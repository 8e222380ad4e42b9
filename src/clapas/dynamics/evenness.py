"""Even distribution of indeterminate forces over the contacts of a few bodies.

Rigid plates that press a box determine the total force, not its distribution over the corners of a face.
Coulomb's law then has many solutions. In some of them all corners stick, or all slide alike; in others one
corner bears most, and the box pivots about it. Gauss–Seidel from zero finds either. Real plates behave as the
limit of slightly compliant contacts. So every contact gets the same small compliance α around impulses r₀,

    u = W r + q + α D (r − r₀),    D = diag(λ_i), the response of contact i to itself,

which has one solution, found by Newton's method (:mod:`clapas.solvers.newton.proximal_step`). From r₀ = 0 it
gives the total force between each pair of bodies; r₀ is then the same normal impulse at all contacts of a
pair. Each further step is centred at the solution of the last, and gains a factor of the order of α: after
three or four the compliance has no effect, and the result solves the problem itself, sticking or sliding, to
rounding. Its residual is measured as usual; where it fails, the solver's solution is kept.

This is done where joints or guides hold bodies: where no impulse is carried yet and nothing moves, and where
the force shared by several contacts of a held body with another changes, as when fingers close, after that
impact, or when a box slides off the edge of a plate. In between, impulses are carried from step to step; the
rounding errors of bodies at rest grow, and are corrected by the same steps, centred at the carried impulses.
Structures of 64 contacts or more have sparse matrices and Newton steps for bodies at rest
(:mod:`clapas.dynamics.resting`). Limits, friction and motors in joints are rows of the same problem; their
impulses are not evened.
"""

from __future__ import annotations

import numpy as np

from clapas.convex.coulomb import CoulombCone
from clapas.dynamics.model import Model
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers import Auto, Solution
from clapas.solvers.loop import Solver
from clapas.solvers.nsgs.orders import SEVERAL
from clapas.solvers.solution import History
from clapas.status import Status
from clapas.typing import Array, Indices, Mask

SLOW = 1e3  # bodies are at rest below so many tolerances times the speed that gravity gives in a step
COMPLIANCES = (1e-3, 1e-5, 1e-7)  # α tried: weak bounded motors give way under the first
ACCURACY = 1e-3  # of a proximal step, relative to the velocity its compliance adds
STEPS = 12  # most proximal steps
DROPS = 0.3  # factor by which a step must reduce the residual to be followed by another
AT_REST = 1e-11  # largest residual of impulses carried between bodies at rest
FINE = 1e-3  # of the tolerance: largest residual of an even solution, since its error is carried on
ANEW = 0.1  # of the largest impulse: a larger change of a carried impulse calls for a new distribution
BEARS = 1e-6  # of the largest impulse: contacts with more bear load


def is_held(model: Model) -> bool:
    """Whether joints or guides hold bodies, as those of a gripper do.

    Without joints and guides nothing is evened.
    """
    return model.joints is not None or model.blocked is not None


def holders(model: Model) -> Mask:
    """The bodies that joints or guides hold, (N,)."""
    guided = False if model.blocked is None else model.blocked.any(axis=1)
    return np.asarray(model.is_joined | guided)


def applies(solver: Solver, n_contacts: int) -> bool:
    """Whether impulses are evened: for a few contacts, with the default solver, which names no selection."""
    return isinstance(solver, Auto) and 1 < n_contacts < SEVERAL and solver.time_limit == np.inf


def begins_at_rest(solver: Solver, n_contacts: int, velocity: Array, carried: Array, gain: float) -> bool:
    """Whether a few contacts start to bear bodies that hardly move.

    ``velocity`` (N, size) is that at the start of the step, ``carried`` the impulses from before it, and
    ``gain`` the speed that gravity gives in the step.
    """
    if not applies(solver, n_contacts) or gain <= 0.0 or carried.any():
        return False
    return float(np.abs(velocity).max(initial=0.0)) <= SLOW * solver.tol * gain


def shared_force_changes(pairs: Indices, before: Array, after: Array, holds: Mask) -> bool:
    """Whether the force shared by several contacts of a held body with another changes in a step.

    This happens where a contact starts to bear beside another, and at an impact and after it. The carried
    impulses then do not determine the distribution.

    Parameters
    ----------
    pairs : array (n, 2)
        The bodies of the contacts.
    before, after : arrays (n, d)
        The impulses carried to the step, and those of its solution.
    holds : array (N,) of bool
        The bodies that joints or guides hold.
    """
    largest = np.abs(after).max(initial=0.0)
    changes = (np.abs(after - before) > ANEW * largest).any(axis=1) & holds[pairs].any(axis=1)
    if not changes.any():
        return False
    bears = (np.abs(after) > BEARS * largest).any(axis=1)
    is_same = (pairs[changes, None] == pairs[None, bears]).all(axis=2)
    return bool((is_same.sum(axis=1) > 1).any())


def tolerance_at_rest(solver: Solver, n_contacts: int, velocity: Array, gain: float) -> float:
    """The tolerance for carried impulses of a few contacts while bodies hardly move.

    The remaining error accelerates a held body for as long as it is held. Where everything is at rest a
    finer tolerance costs only an occasional sweep.
    """
    tol, is_few = float(solver.tol), isinstance(solver, Auto) and 0 < n_contacts < SEVERAL
    if not is_few or float(np.abs(velocity).max(initial=0.0)) > SLOW * tol * gain:
        return tol
    return min(tol, AT_REST)


def solved_evenly(
    problem: ContactProblem, solver: Solver, pairs: Indices, carried: Array | None = None
) -> Solution | None:
    """The solution with evenly distributed impulses; None if it is not found.

    ``pairs`` (n, 2) are the bodies of the first contacts; the other rows are links. With carried impulses
    (n, d) it is the solution nearest to them.
    """
    if not isinstance(problem.cone, CoulombCone) or not problem.is_definite:
        return None
    for compliance in COMPLIANCES:
        r, iterations = even_impulses(problem, pairs, compliance, carried)
        residual = problem.residual(r)
        if residual <= FINE * solver.tol:
            break
    else:
        return None
    none = np.array([0]), np.array([0.0]), np.array([residual])
    return Solution(
        problem=problem,
        solver=solver,
        r=r,
        status=Status.SOLVED,
        residual=residual,
        iterations=iterations,
        time=0.0,
        history=History(*none),
        notes=("even impulses of contacts that are alike",),
    )


def even_impulses(
    problem: ContactProblem,
    pairs: Indices,
    compliance: float = COMPLIANCES[0],
    carried: Array | None = None,
) -> tuple[Array, int]:
    """Even impulses (n, d) by proximal steps, and the number of Newton steps.

    ``pairs`` (n, 2) are the bodies of the first contacts, those to be evened; ``compliance`` is α. With
    carried impulses (n, d) these are the first r₀.
    """
    # Kernels are imported here so that naming a solver does not load the compiler.
    from clapas.solvers.newton.equations import Equations
    from clapas.solvers.newton.proximal_step import ProximalStep

    equations = Equations(problem if problem.form == "reduced" else reduce(problem))
    scaled, count = equations.scaled, 0
    centre, best, least = np.zeros(equations.shape), np.zeros(equations.shape), np.inf
    if carried is not None:
        centre = scaled.from_impulses(carried)
    for k in range(STEPS):
        proximal = ProximalStep(equations, centre, compliance, ACCURACY)
        count += sum(1 for _ in proximal.run())
        candidates = [scaled.to_impulses(x) + 0.0 for x in proximal.candidates]  # -0.0 becomes 0.0
        residuals = [problem.residual(r) for r in candidates]
        r, residual = candidates[int(np.argmin(residuals))], min(residuals)
        if k == 0 and carried is None:
            centre = scaled.from_impulses(_evened(r, pairs))
            continue
        is_last = not residual <= DROPS * least
        if residual < least:
            best, least, centre = r, residual, scaled.from_impulses(r)
        if is_last:
            break
    return best, count


def _evened(r: Array, pairs: Indices) -> Array:
    """Impulses (n, d) with the same normal part at all bearing contacts of a pair, and no tangential part."""
    even = r.copy()
    even[: len(pairs), 1:] = 0.0
    bears = r[: len(pairs), 0] > 0.0
    for pair in np.unique(pairs[bears], axis=0):
        contacts = np.flatnonzero((pairs == pair).all(axis=1) & bears)
        even[contacts, 0] = r[contacts, 0].mean()
    return even
