"""Equilibrium of bodies held by contacts only: whether contact impulses can balance the loads.

Where M is singular, impulses in the cones must balance f along the kernel of M. Either some do, or (Farkas)
a motion z that the contacts allow, and that M and the joints do not resist, is driven by the loads:

    M z = 0,   J z = 0,   H z ∈ K*,   f·z < 0.

Such a motion proves that there is no solution, since f·z = r·H z ≥ 0 for every r ∈ K. Conversely, where the
bodies can move so that u = 0 everywhere (v̂ with H v̂ + w = 0; v̂ = 0 if nothing is imposed) and impulses
r ∈ K balance f + M v̂, then (r, v̂) is a solution: Coulomb's law allows any r ∈ K at a contact at rest. (This
is the safe theorem of the equilibrium of masonry.) Both are found by conic programming and checked from the
data.

References
----------
Heyman 1966 (the safe theorem); Cadoux 2009, 1.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.problems.contact import ContactProblem
from clapas.typing import Array

CERTAIN = 1e-7  # power of a mechanism, relative to |f|, that exceeds rounding
BALANCED = 1e-9  # imbalance of impulses, relative to the loads, attributed to rounding
FAR_ENOUGH = 1e6  # size of solutions that a mechanism must exclude, over that of the loads


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A motion that the contacts allow and the loads drive, if its power is positive.

    Parameters
    ----------
    z : array (m,)
        The motion, in units in which a column of H has length one and |z|_∞ ≤ 1.
    power : float
        −f·z over the largest that |z|_∞ ≤ 1 could give without contacts; 0 if there is no such motion.
    excluded : float
        Largest solution, in units of the loads, that z excludes; rounding hides larger ones.
    r : array (n, d)
        Multipliers of H z ∈ K*: impulses that balance the loads where the power is zero.
    """

    z: Array
    power: float
    excluded: float
    r: Array

    @property
    def is_proof(self) -> bool:
        """Whether it shows that there is no solution."""
        return self.power > CERTAIN and self.excluded > FAR_ENOUGH

    @property
    def sentence(self) -> str:
        """What it shows, in words."""
        size = "any size" if math.isinf(self.excluded) else f"up to {self.excluded:.0e} times the loads"
        return f"no impulses ({size}) balance the loads: a motion that the contacts allow is driven by them"


def mechanism(problem: ContactProblem, time_limit: float = math.inf) -> Mechanism | None:
    """Look for a motion that M and the joints do not resist, the contacts allow and the loads drive.

        max −f·z    with   M z = 0,   J z = 0,   H z ∈ K*,   |z|_∞ ≤ 1      (columns of H of length one)

    None where the program was not solved.

    Examples
    --------
    A block without mass on a floor, pushed upwards, and pressed down:

    >>> up = ContactProblem(M=np.zeros((2, 2)), H=np.eye(2), f=[-1.0, 0.0], mu=[0.5])
    >>> mechanism(up).is_proof
    True
    >>> down = ContactProblem(M=np.zeros((2, 2)), H=np.eye(2), f=[1.0, 0.3], mu=[0.5])
    >>> mechanism(down).is_proof
    False
    """
    engine: Any = import_module("clarabel")
    n, d, m = problem.n_contacts, problem.d, problem.n_dof
    lengths = _lengths(problem)
    H = sparse.csr_array(problem.H / lengths)
    load = problem.f / lengths
    size = float(np.abs(load).sum())
    if size == 0.0:
        return Mechanism(np.zeros(m), 0.0, 0.0, np.zeros((n, d)))
    equal = _unresisted(problem, lengths)
    weights, selected, smooth = _scaled_dual(problem.mu, d)
    rows = sparse.csr_array((weights, (np.arange(len(selected)), selected)), shape=(len(selected), n * d))
    box = sparse.vstack((sparse.eye_array(m), -sparse.eye_array(m)))
    A = sparse.vstack((equal, -(rows @ H), box), format="csc")
    h = np.concatenate((np.zeros(equal.shape[0] + len(selected)), np.ones(2 * m)))
    cones = [engine.ZeroConeT(equal.shape[0])] if equal.shape[0] else []
    cones += [engine.NonnegativeConeT(smooth)] if smooth else []
    cones += [engine.SecondOrderConeT(d) for _ in range((len(selected) - smooth) // d)]
    cones.append(engine.NonnegativeConeT(2 * m))
    options = engine.DefaultSettings()
    options.verbose, options.time_limit = False, min(time_limit, 1e9)
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    program = (sparse.csc_matrix((m, m)), load / size, sparse.csc_matrix(A), h, cones)
    result = engine.DefaultSolver(*program, options).solve()
    z, multiplier = np.array(result.x), np.array(result.z)
    if not (np.isfinite(z).all() and np.isfinite(multiplier).all()):
        return None
    contact = multiplier[equal.shape[0] : equal.shape[0] + len(selected)]
    r = size * np.asarray(rows.T @ contact).reshape(n, d)
    return Mechanism(z, -float(load @ z) / size, _excluded(problem, H, equal, load, z), r)


def _lengths(problem: ContactProblem) -> Array:
    """Lengths of the columns of H; for zero columns the mean of the others."""
    lengths = np.asarray(sparse_linalg.norm(problem.H, axis=0)) if problem.n_contacts else np.zeros(0)
    some = lengths[lengths > 0.0]
    lengths = lengths if len(lengths) else np.zeros(problem.n_dof)
    return np.where(lengths > 0.0, lengths, some.mean() if len(some) else 1.0)


def _unresisted(problem: ContactProblem, lengths: Array) -> sparse.csr_array:
    """Rows that vanish for motions that neither M nor a joint resists, each divided by its size."""
    rows = [problem.M / lengths] + ([] if problem.J is None else [problem.J / lengths])
    stacked = sparse.csr_array(sparse.vstack(rows))
    stacked = stacked[np.flatnonzero(np.asarray(abs(stacked).sum(axis=1)).ravel())]
    size = np.asarray(abs(stacked).sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(1.0 / size) @ stacked) if len(size) else stacked


def _scaled_dual(mu: Array, d: int) -> tuple[Array, Array, int]:
    """Weights and indices of components of u: rays first, then Lorentz cones, for u ∈ K*; number of rays."""
    n, smooth = len(mu), mu == 0.0
    weights = np.repeat(mu[:, None], d, axis=1)
    weights[:, 0] = 1.0
    weights /= np.maximum(1.0, mu)[:, None]
    column = np.arange(n * d).reshape(n, d)
    selected = np.concatenate((column[smooth, 0], column[~smooth].ravel()))
    return weights.ravel()[selected], selected, int(smooth.sum())


def _excluded(problem: ContactProblem, H: sparse.csr_array, equal: Any, load: Array, z: Array) -> float:
    """Size of solutions, over the loads, that z excludes though it is only nearly admissible."""
    u = np.asarray(H @ z).reshape(problem.n_contacts, problem.d)
    violation = float(np.max(problem.mu * np.linalg.norm(u[:, 1:], axis=1) - u[:, 0], initial=0.0))
    resisted = float(np.abs(equal @ z).max(initial=0.0)) if equal.shape[0] else 0.0
    # The program is feasible to 1e-11 at best: a smaller defect could be corrected away.
    slack = max(violation, resisted) - 1e-10
    power = -float(load @ z)
    if power <= 0.0:
        return 0.0
    return math.inf if slack <= 0.0 else power / slack / float(np.abs(load).sum())


def holding(problem: ContactProblem, v: Array, time_limit: float = math.inf) -> Array | None:
    """Impulses (n, d) in the cones that balance f + M v, with multipliers of joints; None if none is found.

    Examples
    --------
    >>> down = ContactProblem(M=np.zeros((2, 2)), H=np.eye(2), f=[1.0, 0.3], mu=[0.5])
    >>> holding(down, np.zeros(2)).round(6)
    array([[1. , 0.3]])
    """
    engine: Any = import_module("clarabel")
    n, d, m = problem.n_contacts, problem.d, problem.n_dof
    lengths, load = _lengths(problem), problem.f + problem.M @ v
    size = float(np.abs(load / lengths).max(initial=0.0))
    if size == 0.0:
        return np.zeros((n, d))
    J = sparse.csr_array((0, m)) if problem.J is None else problem.J
    unknowns = n * d + J.shape[0]
    balance = sparse.hstack((problem.H.T, J.T), format="csr")
    balance = sparse.csr_array(sparse.diags_array(1.0 / lengths) @ balance)
    smooth = problem.mu == 0.0
    column = np.arange(n * d).reshape(n, d)
    weights = np.ones((n, d))
    weights[:, 0] = np.where(smooth, 1.0, problem.mu)
    selected = np.concatenate((column[smooth, 0], column[~smooth].ravel()))
    frozen = column[smooth, 1:].ravel()
    eye = sparse.eye_array(unknowns, format="csr")
    cone_rows = sparse.diags_array(weights.ravel()[selected]) @ eye[selected]
    A = sparse.vstack((balance, eye[frozen], -cone_rows), format="csc")
    h = np.concatenate((load / lengths / size, np.zeros(len(frozen) + len(selected))))
    cones = [engine.ZeroConeT(m + len(frozen))]
    cones += [engine.NonnegativeConeT(int(smooth.sum()))] if smooth.any() else []
    cones += [engine.SecondOrderConeT(d) for _ in range(n - int(smooth.sum()))]
    options = engine.DefaultSettings()
    options.verbose, options.time_limit = False, min(time_limit, 1e9)
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-12
    # The smallest impulses: the program has a unique solution, inside the cones where possible.
    program = (sparse.csc_matrix(sparse.eye_array(unknowns)), np.zeros(unknowns), A, h, cones)
    x = np.array(engine.DefaultSolver(*program, options).solve().x)
    if not np.isfinite(x).all():
        return None
    r = problem.cone.project(size * x[: n * d].reshape(n, d))
    imbalance = (balance[:, : n * d] @ r.ravel() + balance[:, n * d :] @ (size * x[n * d :])) - load / lengths
    return r if float(np.abs(imbalance).max(initial=0.0)) <= BALANCED * size else None
