"""How contacts of a few bodies share a force that rigid bodies leave open: as contacts that are alike do.

Rigid plates that press a box say how much they press, not how the force is shared by the corners of a face.
Coulomb's law has many solutions then. In some of them all corners hold, or all slide alike; in others one
corner bears most, and the box pivots about it. Gauss–Seidel from nothing finds either. What real plates do
is the limit of contacts that all give a little. So every contact is given the same small compliance α around
impulses r₀,

    u = W r + q + α D (r − r₀),    D = diag(λ_i), the response of contact i to itself,

which has one answer, found by Newton's method (:mod:`clapas.solvers.newton.proximal_step`). From r₀ = 0 it
tells how much each pair of bodies presses; r₀ is then the same normal impulse at all contacts of a pair. Each
further step is centred at the answer of the last, and gains a factor of the order of α: after three or four
the compliance plays no part, and the answer is one of the problem itself, held or sliding, to rounding. It is
judged as any answer is; where it is none, that of the solver stays.

This is done where joints or guides hold bodies: where nothing is carried yet and nothing moves, and where
several contacts of a held body with another share another force than before, as when fingers close, after
that impact, or when a box slides off the edge of a plate. In between impulses are carried from step to step;
what rounding leaves of bodies at rest grows, and is put right by the same steps, centred at what is carried.
Structures of 64 contacts or more have sparse matrices and Newton steps for bodies at rest
(:mod:`clapas.dynamics.resting`). Limits, friction and motors in joints are rows of the same problem. They are
not evened.
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

SLOW = 1e3  # speeds below so many tolerances, of what gravity gives in a step, are those of bodies at rest
COMPLIANCES = (1e-3, 1e-5, 1e-7)  # α tried: weak bounded motors give way under the first
ACCURACY = 1e-3  # of a proximal step, relative to the velocity its compliance adds
STEPS = 12  # proximal ones, at most
DROPS = 0.3  # of the residual: what a step must leave of it to be followed by another
AT_REST = 1e-11  # residual that carried impulses of bodies at rest may have
FINE = 1e-3  # of the tolerance: what an answer may leave; what it leaves is carried on
ANEW = 0.1  # of the largest impulse: a change by more is no small change of what is carried
BEARS = 1e-6  # of the largest impulse: what a contact that bears bears at least


def is_held(model: Model) -> bool:
    """Whether joints or guides hold bodies, as those of a gripper do.

    Bodies that only lie on one another settle their forces as they always did.
    """
    return model.joints is not None or model.blocked is not None


def holders(model: Model) -> Mask:
    """The bodies that joints or guides hold, (N,)."""
    guided = False if model.blocked is None else model.blocked.any(axis=1)
    return np.asarray(model.is_joined | guided)


def looks_after(solver: Solver, n_contacts: int) -> bool:
    """Whether a few contacts are looked after here: with the default solver, which names no selection."""
    return isinstance(solver, Auto) and 1 < n_contacts < SEVERAL and solver.time_limit == np.inf


def begins_at_rest(solver: Solver, n_contacts: int, velocity: Array, carried: Array, gain: float) -> bool:
    """Whether a few contacts begin to bear bodies that hardly move.

    ``velocity`` (N, size) is that at the start of the step, ``carried`` the impulses from before it, and
    ``gain`` the speed that gravity gives in the step.
    """
    if not looks_after(solver, n_contacts) or gain <= 0.0 or carried.any():
        return False
    return float(np.abs(velocity).max(initial=0.0)) <= SLOW * solver.tol * gain


def are_shared_anew(pairs: Indices, before: Array, after: Array, holds: Mask) -> bool:
    """Whether contacts of a held body with another that share a force share another one after a step.

    So they do where one begins to bear beside another, and at an impact and after it. What of the force is
    whose is then not known from before.

    Parameters
    ----------
    pairs : array (n, 2)
        The bodies of the contacts.
    before, after : arrays (n, d)
        The impulses carried to the step, and those of its answer.
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
    """The tolerance to which impulses of a few contacts are carried on while bodies hardly move.

    What a tolerance leaves accelerates a held body for as long as it is held. Where everything is at rest a
    finer one costs a sweep now and then.
    """
    tol, is_few = float(solver.tol), isinstance(solver, Auto) and 0 < n_contacts < SEVERAL
    if not is_few or float(np.abs(velocity).max(initial=0.0)) > SLOW * tol * gain:
        return tol
    return min(tol, AT_REST)


def solved_evenly(
    problem: ContactProblem, solver: Solver, pairs: Indices, carried: Array | None = None
) -> Solution | None:
    """The solution in which contacts are alike, if it is found.

    The first contacts are those of ``pairs`` (n, 2), the bodies they are between; the others are links. With
    carried impulses (n, d) it is the solution next to them.
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
    """Impulses (n, d) of contacts that are alike, by proximal steps, and the number of Newton steps.

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
        found = [scaled.to_impulses(x) + 0.0 for x in proximal.candidates]  # in which -0.0 is 0.0
        residuals = [problem.residual(r) for r in found]
        r, residual = found[int(np.argmin(residuals))], min(residuals)
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
    """Impulses (n, d) with the same normal part at all contacts of a pair that bear, and no other."""
    even = r.copy()
    even[: len(pairs), 1:] = 0.0
    bears = r[: len(pairs), 0] > 0.0
    for pair in np.unique(pairs[bears], axis=0):
        its = np.flatnonzero((pairs == pair).all(axis=1) & bears)
        even[its, 0] = r[its, 0].mean()
    return even
