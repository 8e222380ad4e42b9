"""Structures at rest in a scene where something else moves: their contacts are a problem of their own.

The residual is relative to all free velocities. Beside a box that slides at 100 m/s a tolerance of 1e-6 is an
error of 0.1 mm/s for whatever stands still, step after step, although nothing reaches it. Parts that share no
movable body do not know of each other. Those whose bodies hardly move are therefore solved as bodies at rest,
to the tolerance of their own velocities, and the others together as without them. Parts of few contacts join
the others unless these are fast: the error is small then, and the step of few bodies is quicker.

While a wall moves nothing is set apart: other impulses may hold what is to follow a support that goes away.
On several ranks all contacts have one tolerance.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from clapas.dynamics.resting import speed_at_rest, walls_move
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Solver
from clapas.solvers.nsgs.orders import SEVERAL
from clapas.solvers.solution import History, Solution
from clapas.status import Status
from clapas.typing import Array, Indices, Mask
from clapas.units import counted

FAST = 1e3
"""Bodies are fast beyond this multiple of the speed that gravity gives in a step."""


def contacts_at_rest(
    solver: Solver, pairs: Indices, movable: Mask, velocity: Array, gain: float
) -> Mask | None:
    """The contacts (n,) of parts whose bodies hardly move, beside others that move; None if there are none.

    Parameters
    ----------
    solver : Solver
        The solver of the step.
    pairs : array (n, 2)
        The bodies of the contacts.
    movable : array (N,) of bool
        The bodies that impulses move: parts are connected by these only.
    velocity : array (N, size)
        Their velocities at the start of the step.
    gain : float
        The speed that gravity gives in the step.
    """
    slow = speed_at_rest(solver, gain)
    if not slow:
        return None
    speed = np.abs(velocity[:, : 2 if velocity.shape[1] == 3 else 3]).max(axis=1, initial=0.0)
    least = 2 if (speed > FAST * gain)[pairs].any() else SEVERAL
    if len(pairs) < least or walls_move(velocity, movable, slow):
        return None
    is_slow = (np.abs(velocity).max(axis=1) <= slow)[pairs].all(axis=1)
    if is_slow.all() or np.count_nonzero(is_slow) < least:
        return None
    n, joins = len(movable), movable[pairs].all(axis=1)
    links = sparse.coo_array((np.ones(np.count_nonzero(joins)), tuple(pairs[joins].T)), shape=(n, n))
    label = csgraph.connected_components(links, directed=False)[1]
    part = label[np.where(movable[pairs[:, 0]], pairs[:, 0], pairs[:, 1])]
    rests = (np.bincount(part, ~is_slow, n) == 0) & (np.bincount(part, minlength=n) >= least)
    return rests[part] if rests[part].any() else None


def part_of(problem: ContactProblem, contacts: Mask) -> ContactProblem:
    """The problem of some contacts, between the same bodies."""
    blocks = problem.blocks
    assert isinstance(blocks, BodyBlocks)
    less = BodyBlocks(blocks.G[contacts], blocks.bodies[contacts], blocks.y_free, blocks.root)
    w = problem.imposed
    part = ContactProblem.from_blocks(less, mu=problem.mu[contacts], w=None if w is None else w[contacts])
    part.kept = problem.kept
    return part


def joined(
    problem: ContactProblem, solver: Solver, rests: Mask, still: Solution, moving: Solution
) -> Solution:
    """The solution of the whole, from those of the parts at rest and of the others.

    The status is about the whole: what is within its tolerance is solved, even if parts at rest have not come
    to theirs, which is finer.
    """
    r = np.empty((problem.n_contacts, problem.d))
    r[rests], r[~rests] = still.r, moving.r
    residual, seconds = problem.residual(r), still.time + moving.time
    steps, apart = still.iterations + moving.iterations, f"{counted(len(still.r), 'contact')} at rest, apart"
    reached = still.method
    if not still.status.is_solved:
        reached += f", {still.status.name.lower().replace('_', ' ')} at residual {still.residual:.1e}"
    notes = still.notes, moving.notes
    if still.status is Status.NO_SOLUTION:  # a proof comes last, where it is looked for
        notes = moving.notes, still.notes
    return Solution(
        problem=problem,
        solver=solver,
        r=r,
        status=Status.SOLVED if residual <= solver.tol else _failed(moving.status, still.status),
        residual=residual,
        iterations=steps,
        time=seconds,
        history=History(np.array([steps]), np.array([seconds]), np.array([residual])),
        notes=(f"{apart}: {reached}", *notes[0], *notes[1]),
        method=moving.method,
    )


def _failed(*statuses: Status) -> Status:
    """Why the whole is not solved: a proof that a part has no solution is one for the whole."""
    if Status.NO_SOLUTION in statuses:
        return Status.NO_SOLUTION
    unsolved = [status for status in statuses if not status.is_solved]
    return unsolved[0] if unsolved else Status.ALMOST_SOLVED  # the sum of their squares was rounded up
