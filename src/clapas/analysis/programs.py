"""Linear goals over forces in cones: the programs of limit analysis, and who solves them.

    min goal·x   such that   B x = b,   |x_p| ≤ x_N for each part p of each contact,

after the contacts come unknowns that are only ≥ 0 (load factors). In the plane a part is one number and this
is a linear program (HiGHS). In space it is a second-order cone program (Clarabel, an interior-point method).

An interior-point method may stop without an answer where the set is nearly empty, or has no interior. What
it returns is therefore measured, and when it does not hold, linear programs decide: cones are replaced by
polyhedra around them, and every cone that the point found violates is cut there, u·x_p ≤ x_N with
u = x_p/|x_p|, until none is (Kelley 1960). A set that is empty with the polyhedra is empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from clapas.errors import MissingDependency, ProblemError
from clapas.typing import Array, Indices, Mask

INFEASIBLE, UNBOUNDED = 2, 3  # of HiGHS
ENGINE = 1e-10  # what is asked of the conic engine, and of HiGHS
EXACT = 1e-8  # error of an answer that is accepted, relative to the right-hand side
FIRST_CUTS = 8  # sides of the polygons that cones begin with
ROUNDS = 200
FAR = 1e7  # of the right-hand side: a goal that only bounds there has none

Found = tuple[Array | None, float]
NOTHING: Found = (None, math.inf)
BOUNDLESS: Found = (None, -math.inf)


class Discs(NamedTuple):
    """Cones of n contacts of k unknowns each; ``parts`` are the columns of each disc."""

    n: int
    k: int
    parts: tuple[slice, ...]

    @property
    def is_plane(self) -> bool:
        """Whether every disc is a segment: the cone is a polyhedron."""
        return all(part.stop - part.start == 1 for part in self.parts)

    def violation(self, x: Array) -> float:
        """Largest excess |x_p| − x_N, at least 0."""
        own = x[: self.n * self.k].reshape(self.n, self.k)
        sizes = [np.linalg.norm(own[:, part], axis=1) - own[:, 0] for part in self.parts]
        return max(float(np.max(sizes, initial=0.0)), float(np.max(-x[self.n * self.k :], initial=0.0)))


@dataclass(frozen=True)
class ConeProgram:
    """The constraints.

    Parameters
    ----------
    balance : matrix (m × size)
        B.
    load : array (m,)
        b.
    discs : Discs
        Cones of the first unknowns.
    moves : array of bool
        False for unknowns of contacts that must be zero, such as friction where mu = 0.
    """

    balance: sparse.csc_array
    load: Array
    discs: Discs
    moves: Mask

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return int(self.balance.shape[1])

    def least(self, goal: Array) -> Found:
        """Least goal·x and where; (None, inf) if the set is empty, (None, −inf) if the goal has no bound."""
        B, b, scale = self._scaled
        if b is None:
            return NOTHING
        if self.size == 0 or len(b) == 0:
            return self._without_balance(goal, len(b) > 0)
        x, value = self._solved(B, b, goal)
        return (None, value) if x is None else (scale * x, scale * value)

    @cached_property
    def _scaled(self) -> tuple[sparse.csr_array, Array | None, float]:
        """Rows divided by their largest entries, b of size one; None for b if a row cannot hold."""
        B = sparse.csr_array(self.balance)
        largest = np.asarray(abs(B).max(axis=1).toarray()).ravel() if self.size else np.zeros(len(self.load))
        used = largest > 0.0
        most = float(np.abs(self.load).max(initial=0.0))
        if np.any(np.abs(self.load[~used]) > EXACT * most):
            return B, None, 1.0
        rows = sparse.csr_array(sparse.diags_array(1.0 / largest[used]) @ B[used]) if used.any() else B[used]
        b = self.load[used] / largest[used]
        scale = float(np.abs(b).max(initial=0.0)) or 1.0
        return rows, b / scale, scale

    def _without_balance(self, goal: Array, is_held: bool) -> Found:
        """No unknown, or no equation: zero is an answer unless the goal can fall for ever."""
        if is_held:  # there are loads and nothing to bear them
            return NOTHING
        corner = self._corners()
        falls = bool(np.any(corner.T @ goal < 0.0)) if self.discs.is_plane else bool(goal.any())
        return BOUNDLESS if falls else (np.zeros(self.size), 0.0)

    def _solved(self, B: sparse.csr_array, b: Array, goal: Array) -> Found:
        if self.discs.is_plane:
            return self._linear(B, b, goal)
        x, value, status = _conic(B, b, goal, self.discs, self.moves)
        if status == "PrimalInfeasible":
            return NOTHING
        if status == "Solved" and x is not None and self._holds(B, b, x):
            return x, value
        if goal.any() and self._solved(B, b, np.zeros_like(goal))[0] is None:
            return NOTHING
        if status == "DualInfeasible":
            return BOUNDLESS
        return self._by_cuts(B, b, goal)

    def _holds(self, B: sparse.csr_array, b: Array, x: Array) -> bool:
        """Whether x obeys the equations and the cones to ``EXACT``; b is of size one."""
        error = max(float(np.abs(B @ x - b).max(initial=0.0)), self.discs.violation(x))
        return bool(np.isfinite(x).all() and error <= EXACT)

    # ---------------------------------------------------------------- in the plane

    def _corners(self) -> sparse.csc_array:
        """Edges (1, ±1, …) of the polyhedral cones, and the unknowns after the contacts, as columns."""
        n, k = self.discs.n, self.discs.k
        signs = np.array(list(product((1.0, -1.0), repeat=k - 1)))
        edge = np.column_stack((np.ones(len(signs)), signs))
        blocks = sparse.kron(sparse.eye_array(n), edge.T)
        every = sparse.block_diag((blocks, sparse.eye_array(self.size - n * k)))
        moves = np.append(self.moves, np.ones(self.size - n * k))
        return sparse.csc_array(sparse.diags_array(moves.astype(float)) @ every)

    def _linear(self, B: sparse.csr_array, b: Array, goal: Array) -> Found:
        edges = self._corners()
        y, value = _linprog(edges.T @ goal, B @ edges, b)
        if y is None and not math.isfinite(value):
            return None, value
        if y is None:  # HiGHS may not tell which of the two: a goal of zero has a bound
            return (
                BOUNDLESS
                if goal.any() and self._linear(B, b, np.zeros_like(goal))[0] is not None
                else NOTHING
            )
        return edges @ y, value

    # ---------------------------------------------------------------- cuts

    def _by_cuts(self, B: sparse.csr_array, b: Array, goal: Array) -> Found:
        """Linear programs over polyhedra around the cones, cut where a cone is violated."""
        n, k, size = self.discs.n, self.discs.k, self.size
        bounds: list[tuple[float | None, float | None]]
        bounds = [(None, None) if free else (0.0, None) for free in np.arange(size) % k != 0]
        bounds[n * k :] = [(0.0, None)] * (size - n * k)
        bounds = [pair if moves else (0.0, 0.0) for pair, moves in zip(bounds, self._may_move, strict=True)]
        normal = np.append(np.arange(n * k) % k == 0, np.ones(size - n * k, dtype=bool))
        far = normal.astype(float)  # Σ x_N and load factors, at most FAR
        cuts = [sparse.csr_array(far[None, :]), *self._first_cuts()]
        tops = [np.array([FAR]), *(np.zeros(cut.shape[0]) for cut in cuts[1:])]
        for _ in range(ROUNDS):
            x, value = _linprog(goal, B, b, sparse.vstack(cuts), np.concatenate(tops), bounds)
            if x is None and value == math.inf:
                return NOTHING
            if x is None:
                break
            if self._holds(B, b, x):
                return BOUNDLESS if goal.any() and float(far @ x) > 0.5 * FAR else (x, value)
            new = self._cuts_at(x)
            if new.shape[0] == 0:
                break
            cuts.append(new)
            tops.append(np.zeros(new.shape[0]))
        raise ProblemError(
            f"limit analysis of {n} contacts found no answer within {EXACT:g} of the balance: the structure "
            "is too near its limit, or its forces too unequal, to decide; move it a little from the limit"
        )

    @cached_property
    def _may_move(self) -> Mask:
        return np.append(self.moves, np.ones(self.size - self.discs.n * self.discs.k, dtype=bool))

    def _first_cuts(self) -> Iterator[sparse.csr_array]:
        every: Indices = np.arange(self.discs.n)
        for part in self.discs.parts:
            for turn in np.linspace(0.0, 2.0 * math.pi, FIRST_CUTS, endpoint=False):
                direction = np.array([math.cos(turn), math.sin(turn)])[: part.stop - part.start]
                if abs(direction).sum() > 1e-9:
                    yield self._cut(every, part, np.tile(direction, (len(every), 1)))

    def _cuts_at(self, x: Array) -> sparse.csr_array:
        own = x[: self.discs.n * self.discs.k].reshape(self.discs.n, self.discs.k)
        made = []
        for part in self.discs.parts:
            length = np.linalg.norm(own[:, part], axis=1)
            rows = np.flatnonzero(length > own[:, 0] + 0.1 * EXACT)
            made.append(self._cut(rows, part, own[rows, part] / length[rows, None]))
        return sparse.csr_array(sparse.vstack(made))

    def _cut(self, contacts: Indices, part: slice, direction: Array) -> sparse.csr_array:
        """Rows that say direction·x_part − x_N ≤ 0 at some contacts."""
        count, width, k = len(contacts), part.stop - part.start, self.discs.k
        rows = np.repeat(np.arange(count), width + 1)
        columns = np.column_stack((contacts * k, contacts[:, None] * k + np.arange(part.start, part.stop)))
        entries = np.column_stack((-np.ones(count), direction))
        made = sparse.coo_array((entries.ravel(), (rows, columns.ravel())), shape=(count, self.size))
        return sparse.csr_array(made)


def _linprog(
    goal: Array,
    B: sparse.csr_array,
    b: Array,
    cuts: sparse.sparray | None = None,
    tops: Array | None = None,
    bounds: Any = (0.0, None),
) -> Found:
    """A linear program by HiGHS; (None, NaN) where it does not say whether it is empty or unbounded."""
    options = {"primal_feasibility_tolerance": ENGINE, "dual_feasibility_tolerance": ENGINE}
    found = linprog(
        goal, A_ub=cuts, b_ub=tops, A_eq=B, b_eq=b, bounds=bounds, method="highs", options=options
    )
    if found.status == INFEASIBLE:
        return NOTHING
    if found.status == UNBOUNDED:
        return BOUNDLESS
    if found.status != 0 or found.x is None:
        return None, math.nan
    return np.asarray(found.x), float(found.fun)


def _conic(
    B: sparse.csr_array, b: Array, goal: Array, discs: Discs, moves: Mask
) -> tuple[Array | None, float, str]:
    """The program by Clarabel: x, the goal, and the word of the engine."""
    engine = _engine()
    n, k, size = discs.n, discs.k, B.shape[1]
    identity = sparse.eye_array(size, format="csr")
    normal = k * np.arange(n)
    rows, cones = [B], [engine.ZeroConeT(len(b))]
    still = np.flatnonzero(~moves)
    if len(still):
        rows.append(identity[still])
        cones.append(engine.ZeroConeT(len(still)))
    signed = np.append(normal, np.arange(n * k, size))  # x_N ≥ 0 also where no friction asks for it
    rows.append(-identity[signed])
    cones.append(engine.NonnegativeConeT(len(signed)))
    for part in discs.parts:
        width = part.stop - part.start + 1
        columns = np.column_stack((normal, normal[:, None] + np.arange(part.start, part.stop)))
        rows.append(-identity[columns.ravel()])
        cones += [engine.SecondOrderConeT(width)] * n
    A = sparse.csc_matrix(sparse.vstack(rows))
    bounds = np.concatenate((b, np.zeros(A.shape[0] - len(b))))
    options = engine.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = ENGINE
    found = engine.DefaultSolver(sparse.csc_matrix((size, size)), goal, A, bounds, cones, options).solve()
    return np.array(found.x), float(found.obj_val), str(found.status)


def _engine() -> Any:
    try:
        return import_module("clarabel")
    except ImportError:
        raise MissingDependency("clarabel", "conic", "Limit analysis in 3-D") from None
