"""The first impulses of a few bodies placed at rest: those nearest to even ones.

Rigid plates that press a box say how much they press, not how the force is shared by the corners of a face.
Coulomb's law has many solutions then. In some of them all corners hold; in others one corner bears most, and
the box pivots about it. Gauss–Seidel from nothing finds either. Where nothing is carried yet and nothing
moves, impulses that hold everything are asked for instead,

    min ½ |r − r̄|²    such that    W r + q = 0,  r ∈ K,

with the same normal impulse r̄ at all contacts, the mean of what the smallest solution bears. The first
condition alone is a linear system, and mostly its answer lies in the cones: one projection. Else Dykstra's
alternating projections go on for a while. If they do not end, friction may be too weak: the even impulses
with their tangential parts cut down to it are tried, which let a box slide straight down. Whatever comes out
is judged as any answer is; where it is none, the solver begins as if nothing had been tried.

This is done where joints or guides hold bodies. Structures of 64 contacts or more have sparse matrices and
Newton steps for the same question (:mod:`clapas.dynamics.resting`). Limits, friction and motors in joints are
rows of the same problem. They are not evened. Those that would bear more than they can, or cannot keep their
rate, give what they have, and the others are balanced under it.
"""

from __future__ import annotations

import numpy as np

from clapas.convex.coulomb import CoulombCone, project
from clapas.dynamics.model import Model
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers import Auto, Solution
from clapas.solvers.loop import Solver
from clapas.solvers.nsgs.orders import SEVERAL
from clapas.solvers.solution import History
from clapas.status import Status
from clapas.typing import Array, Mask

SLOW = 1e3  # speeds below so many tolerances, of what gravity gives in a step, are those of bodies at rest
SATURATIONS = 5  # rounds in which links may reach what they can bear
PROJECTIONS = 200  # of Dykstra, at most
RANK = 1e-10  # of the largest eigenvalue of W: what is below is rounding
BALANCED = 1e-9  # of the free velocity: impulses that leave more of it do not hold the bodies
AT_REST = 1e-8  # residual that carried impulses of bodies at rest may have
FINE = 1e-3  # of the tolerance: what an answer may leave; what it leaves is carried on
WITHIN = 1e-12  # of the largest impulse: how far out of its cone rounding may put one


def is_held(model: Model) -> bool:
    """Whether joints or guides hold bodies, as those of a gripper do.

    Bodies that only lie on one another settle their forces as they always did.
    """
    return model.joints is not None or model.blocked is not None


def begins_at_rest(solver: Solver, n_contacts: int, velocity: Array, carried: Array, gain: float) -> bool:
    """Whether a few contacts begin to bear bodies that hardly move.

    ``velocity`` (N, size) is that at the start of the step, ``carried`` the impulses from before it, and
    ``gain`` the speed that gravity gives in the step.
    """
    if not (isinstance(solver, Auto) and 1 < n_contacts < SEVERAL and gain > 0.0):
        return False
    if carried.any() or solver.time_limit < np.inf:
        return False
    return float(np.abs(velocity).max(initial=0.0)) <= SLOW * solver.tol * gain


def tolerance_at_rest(solver: Solver, n_contacts: int, velocity: Array, gain: float) -> float:
    """The tolerance to which impulses of a few contacts are carried on while bodies hardly move.

    What a tolerance leaves accelerates a held body for as long as it is held. Where everything is at rest a
    finer one costs a sweep now and then.
    """
    tol, is_few = float(solver.tol), isinstance(solver, Auto) and 0 < n_contacts < SEVERAL
    if not is_few or float(np.abs(velocity).max(initial=0.0)) > SLOW * tol * gain:
        return tol
    return min(tol, AT_REST)


def solved_evenly(problem: ContactProblem, solver: Solver, n_contacts: int) -> Solution | None:
    """The impulses nearest to even ones, if they are an answer: of bodies at rest, or just too weakly held.

    The first ``n_contacts`` are contacts, the others are links.
    """
    if not isinstance(problem.cone, CoulombCone) or not problem.is_definite:
        return None
    reduced = problem if problem.form == "reduced" else reduce(problem)
    W, q, mu, d = reduced.W.toarray(), problem.q.ravel(), problem.mu, problem.d
    r, bears = np.zeros(problem.q.shape), np.ones(len(q), dtype=bool)
    for _ in range(SATURATIONS):
        load = q + W[:, ~bears] @ r.ravel()[~bears]
        rows = bears.reshape(-1, d)
        found, missed = even_impulses(W[np.ix_(bears, bears)], load[bears], rows, mu, n_contacts)
        r = np.where(rows, found, r)
        cut = _cut(_against(missed, r, mu), mu)
        over = ((cut != r) | (missed != 0.0)) & rows
        over[:n_contacts] = False
        if not over.any():
            break
        r, bears = np.where(over, cut, r), bears & ~over.ravel()
    r = r + 0.0  # in which -0.0 is 0.0
    residual = problem.residual(r)
    if not residual <= FINE * solver.tol:
        return None
    none = np.array([0]), np.array([0.0]), np.array([residual])
    return Solution(
        problem=problem,
        solver=solver,
        r=r,
        status=Status.SOLVED,
        residual=residual,
        iterations=1,
        time=0.0,
        history=History(*none),
        notes=("even impulses of bodies at rest",),
    )


def even_impulses(W: Array, q: Array, bears: Mask, mu: Array, n_contacts: int) -> tuple[Array, Array]:
    """Impulses (n, d) nearest to even ones with W r + q = 0 and r ∈ K, and what nothing balances of q.

    Where nothing balances it within K, even ones with tangential parts cut down to it.

    Parameters
    ----------
    W, q : arrays (m, m) and (m,)
        Response, symmetric and positive semidefinite, and free velocities of the rows that bear.
    bears : array (n, d) of bool
        Which rows those are; the others are zero. All rows of contacts bear.
    mu : array (n,)
        Friction.
    n_contacts : int
        How many are contacts, the first ones; the others stay as they are balanced.
    """
    values, vectors = np.linalg.eigh(0.5 * (W + W.T))
    kept = values > RANK * float(values.max(initial=0.0))
    basis, stiff = vectors[:, kept], 1.0 / values[kept]

    def balanced(r: Array) -> Array:
        """The nearest impulses (n, d) with W r + q = 0."""
        made = np.zeros(bears.shape)
        made[bears] = r[bears] - basis @ (stiff * (basis.T @ (W @ r[bears] + q)))
        return made

    def inside(r: Array) -> Array:
        """The nearest impulses in their cones."""
        return np.vstack((project(np.ascontiguousarray(r[:n_contacts]), mu[:n_contacts]), r[n_contacts:]))

    least, missed = balanced(np.zeros(bears.shape)), np.zeros(bears.shape)
    left = W @ least[bears] + q
    missed[bears] = np.where(np.abs(left) > BALANCED * np.linalg.norm(q), left, 0.0)
    if missed.any():
        return least, missed
    r, away = np.zeros(bears.shape), np.zeros(bears.shape)
    r[:n_contacts, 0] = max(float(least[:n_contacts, 0].mean()), 0.0)
    weak = balanced(r)
    weak[:n_contacts] = _cut(weak[:n_contacts], mu[:n_contacts])
    for _ in range(PROJECTIONS):
        r = balanced(r)
        if np.linalg.norm(inside(r) - r) <= WITHIN * np.linalg.norm(r):
            return r, missed
        nearest = inside(r + away)
        away, r = r + away - nearest, nearest
    return weak, missed


def _against(slip: Array, r: Array, mu: Array) -> Array:
    """Impulses with those that slip at velocities (n, d) held back with all they have."""
    speed = np.linalg.norm(slip[:, 1:], axis=1)
    back = -(mu * r[:, 0] / np.where(speed > 0.0, speed, 1.0))[:, None] * slip[:, 1:]
    return np.column_stack((r[:, 0], np.where(speed[:, None] > 0.0, back, r[:, 1:])))


def _cut(r: Array, mu: Array) -> Array:
    """Impulses with normal parts that press, and tangential parts that friction allows."""
    normal, size = np.maximum(r[:, 0], 0.0), np.linalg.norm(r[:, 1:], axis=1)
    share = np.minimum(1.0, mu * normal / np.where(size > 0.0, size, 1.0))
    return np.column_stack((normal, np.where(size > 0.0, share, 1.0)[:, None] * r[:, 1:]))
