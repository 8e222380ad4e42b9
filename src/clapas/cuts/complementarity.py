"""Cuts from complementarity: x_i = 0 or y_i = 0, with y = M x + q, instead of integer variables.

The relaxation of a linear complementarity problem is {x ≥ 0, M x + q ≥ 0}. At a vertex x̄ with x̄_i > 0 and
ȳ_i > 0 every solution is in one of the branches x_i ≤ 0 and (M x + q)_i ≤ 0, whose normals differ, p_0 = e_i
and p_1 = row i of M; the theory of splits applies. The thesis of the method leaves this use
open. Here cuts tighten the relaxation of friction in the plane, and the modes that are then impossible for a
contact are found by *probing*: a mode whose equations leave the relaxation empty belongs to no solution.

Reference: Cadoux 2009, conclusion of part II; theorem 7.16 with two normals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from clapas.cuts.cut import Cut
from clapas.cuts.deepest import deepest_cut
from clapas.cuts.disjunction import Disjunction
from clapas.cuts.intersection import Basis, intersection_cut
from clapas.cuts.lp import LinearProgram, Outcome
from clapas.cuts.most_violated import most_violated_cut
from clapas.cuts.selection import Selection
from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.friction_lcp import reaction_lcp
from clapas.problems.lcp import LCP
from clapas.typing import Array, Indices, Mask

VIOLATED = 1e-7  # x_i and y_i above this, relative to the largest, violate complementarity
UNPROVED = 1e-6  # error of the multipliers above which a cut is rejected
SAFETY = 1e-8  # by which right-hand sides are relaxed
MODES = ("open", "stick", "forward", "backward")

Kind = Literal["intersection", "violated", "deepest"]


@dataclass(frozen=True, eq=False)
class Tightened:
    """The relaxation of a complementarity problem with cuts.

    Parameters
    ----------
    rows, right : array (k, n), (k,)
        Cuts rows·x ≤ right, of length one; every solution satisfies them.
    is_empty : bool
        The cuts leave an empty set: the problem has no solution.
    violated : tuple of int
        Pairs that violate complementarity at the vertex, before the first round and after each.
    """

    rows: Array
    right: Array
    is_empty: bool
    violated: tuple[int, ...]


def tighten(problem: LCP, *, rounds: int = 3, kind: Kind = "violated", factor: float = 10.0) -> Tightened:
    """Cut the relaxation {x ≥ 0, M x + q ≥ 0} of an LCP by its complementarity.

    Each round computes the vertex that minimises Σ (x_i + y_i) and cuts it off by the pairs it violates.

    Parameters
    ----------
    problem : LCP
        Any matrix.
    rounds : int
        At most; none are needed once a vertex is complementary (and a solution).
    kind : "intersection", "violated" or "deepest"
        Cuts made for each pair.
    factor : float
        Normalisation of "violated".

    Examples
    --------
    >>> lcp = LCP([[1.0, 2.0], [2.0, 1.0]], [-2.0, -2.0])
    >>> found = tighten(lcp)
    >>> found.is_empty, found.violated[-1]
    (False, 0)
    """
    M, q, n = problem.dense, problem.q, problem.size
    if n == 0:
        return Tightened(np.zeros((0, 0)), np.zeros(0), False, (0,))
    rows, right = np.vstack((-np.eye(n), -M)), np.concatenate((np.zeros(n), q))
    sizes = np.linalg.norm(rows, axis=1)
    rows, right = rows / np.where(sizes > 0.0, sizes, 1.0)[:, None], right / np.where(sizes > 0.0, sizes, 1.0)
    cost = np.ones(n) + M.sum(axis=0)
    free = np.full(n, np.inf)
    program = LinearProgram(cost, rows, np.full(2 * n, -np.inf), right, -free, free, simplex="dual")
    violated: list[int] = []
    for number in range(rounds + 1):
        solved = program.solve()
        if solved.outcome is not Outcome.OPTIMAL:
            return Tightened(
                rows[2 * n :], right[2 * n :], solved.outcome is Outcome.INFEASIBLE, tuple(violated)
            )
        x, y = solved.x, M @ solved.x + q
        least = np.minimum(x, y)
        pairs = np.flatnonzero(least > VIOLATED * max(1.0, float(np.abs(x).max()), float(np.abs(y).max())))
        violated.append(len(pairs))
        if number == rounds or len(pairs) == 0:
            break
        by_pair = [_cuts(rows, right, x, M[i], float(q[i]), int(i), kind, factor) for i in pairs]
        new = np.array([each for part in by_pair for each in part]).reshape(-1, n + 1)
        chosen = Selection(max_cuts=2 * n).choose(new[:, :-1], new[:, :-1] @ x - new[:, -1])
        if len(chosen) == 0:
            break
        added = new[chosen]
        program.add_rows(added[:, :-1], np.full(len(added), -np.inf), added[:, -1])
        rows, right = np.vstack((rows, added[:, :-1])), np.concatenate((right, added[:, -1]))
    return Tightened(rows[2 * n :], right[2 * n :], False, tuple(violated))


def _cuts(
    rows: Array, right: Array, x: Array, row: Array, constant: float, i: int, kind: Kind, factor: float
) -> list[Array]:
    """The cut (d, right) of one pair, of length one; none if rounding spoils its proof."""
    A = sparse.csr_array(rows)
    try:
        disjunction = Disjunction.complementarity(A, right, x, i, row, constant)
        cut = _cut(disjunction, kind, factor)
    except ProblemError:
        return []
    if cut.error(disjunction) > UNPROVED:
        return []
    size, right_side = float(np.linalg.norm(cut.d)), cut.right(disjunction)
    return [np.append(cut.d / size, right_side / size + SAFETY * max(1.0, abs(right_side) / size))]


def _cut(disjunction: Disjunction, kind: Kind, factor: float) -> Cut:
    if kind == "deepest":
        return deepest_cut(disjunction)
    basis = Basis.among(disjunction.A, disjunction.active)
    if kind == "intersection":
        return intersection_cut(disjunction, basis)
    return most_violated_cut(disjunction, factor=factor, basis=basis)


def possible_modes(problem: ContactProblem, *, rounds: int = 3, kind: Kind = "violated") -> Mask:
    """Modes the contacts of a problem in the plane may have: open, stick, forward, backward, (n, 4).

    The complementarity problem in impulses (:func:`~clapas.problems.friction_lcp.reaction_lcp`) is tightened
    by cuts, then each mode of each contact is probed twice: the exclusions of the first pass help the second.
    A contact without any mode means that there is no solution.

    Zero rounds probe without cuts.

    Examples
    --------
    A particle thrown up leaves the floor, and can do nothing else:

    >>> particle = ContactProblem(W=np.eye(2), q=[[1.0, 3.0]], mu=0.5)
    >>> possible_modes(particle)
    array([[ True, False, False, False]])
    """
    lcp, n = reaction_lcp(problem).lcp, problem.n_contacts
    relaxed = tighten(lcp, rounds=rounds, kind=kind)
    if relaxed.is_empty or n == 0:
        return np.zeros((n, 4), dtype=bool)
    size = lcp.size
    # Rows x, then y − q, then cuts: a quantity that vanishes is a row whose upper bound is its lower one.
    rows = np.vstack((np.eye(size), lcp.dense, relaxed.rows))
    low = np.concatenate((np.zeros(size), -lcp.q, np.full(len(relaxed.right), -np.inf)))
    high = np.concatenate((np.full(2 * size, np.inf), relaxed.right))
    free = np.full(size, np.inf)
    program = LinearProgram(np.zeros(size), rows, low, high, -free, free, simplex="dual")
    possible = np.ones((n, 4), dtype=bool)
    for _ in range(2):
        for contact in range(n):
            for mode in np.flatnonzero(possible[contact]):
                zero = _vanishing(contact, int(mode), n)
                program.bound_rows(zero, low[zero], low[zero])
                possible[contact, mode] = program.solve().outcome is not Outcome.INFEASIBLE
                program.bound_rows(zero, low[zero], high[zero])
            left = [set(_vanishing(contact, int(mode), n)) for mode in np.flatnonzero(possible[contact])]
            always = np.array(sorted(set.intersection(*left)), dtype=int) if left else np.zeros(0, dtype=int)
            program.bound_rows(always, low[always], low[always])
            high[always] = low[always]
    return possible


def _vanishing(contact: int, mode: int, n: int) -> Indices:
    """Quantities that vanish in a mode, numbered in (r_N, λ⁺, η⁻, u_N, η⁺, λ⁻), n each."""
    parts = ((0, 1, 5), (2, 3, 4), (1, 2, 3), (3, 4, 5))[mode]
    return np.array([part * n + contact for part in parts])
