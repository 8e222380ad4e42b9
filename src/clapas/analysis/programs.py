"""Linear objectives over forces in cones: the programs of limit analysis, and their solution.

    min goal·x   such that   B x = b,   |x_p| ≤ x_N for each part p of each contact,

where unknowns after those of the contacts (load factors) are only ≥ 0. In the plane a part is one number
and this is a linear program (HiGHS). In space it is a second-order cone program (Clarabel, an
interior-point method).

An interior-point method may fail where the set is nearly empty, or has no interior. Its result is therefore
checked, and if it violates the constraints, the distance from the equations,

    min |B x − b|   over the cones,

which always has a solution, decides whether the set is empty: its dual is a lower bound. If the set is not
empty, linear programs minimise the goal: cones are replaced by polyhedra around them, and every cone that
the solution violates is cut there, u·x_p ≤ x_N with u = x_p/|x_p|, until none is (Kelley 1960).
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
ENGINE = 1e-10  # tolerance of Clarabel and HiGHS
EXACT = 1e-8  # largest error accepted, relative to the right-hand side
ROUNDING = 1e-12  # of the largest load: smaller ones count as zero
FIRST_CUTS = 8  # sides of the initial polygons around cones
ROUNDS = 200
FAR = 1e7  # of the right-hand side: bound on x; a goal limited by it alone is unbounded

Optimum = tuple[Array | None, float]
USABLE = ("Solved", "AlmostSolved")  # statuses of Clarabel with a result worth checking
EMPTY: Optimum = (None, math.inf)
UNBOUNDED_GOAL: Optimum = (None, -math.inf)


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
        forces = x[: self.n * self.k].reshape(self.n, self.k)
        sizes = [np.linalg.norm(forces[:, part], axis=1) - forces[:, 0] for part in self.parts]
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

    def least(self, goal: Array) -> Optimum:
        """Minimiser and least goal·x; (None, inf) if the set is empty, (None, −inf) if unbounded."""
        B, b, scale = self._scaled
        if b is None:
            return EMPTY
        if self.size == 0 or len(b) == 0:
            return self._without_balance(goal, len(b) > 0)
        x, value = self._solved(B, b, goal)
        return (None, value) if x is None else (scale * x, scale * value)

    @cached_property
    def _scaled(self) -> tuple[sparse.csr_array, Array | None, float]:
        """Rows divided by their largest entries, b of size one; None for b if a row is infeasible."""
        B = sparse.csr_array(self.balance)
        largest = np.asarray(abs(B).max(axis=1).toarray()).ravel() if self.size else np.zeros(len(self.load))
        used = largest > 0.0
        most = float(np.abs(self.load).max(initial=0.0))
        if np.any(np.abs(self.load[~used]) > ROUNDING * most):  # a body that nothing touches
            return B, None, 1.0
        rows = sparse.csr_array(sparse.diags_array(1.0 / largest[used]) @ B[used]) if used.any() else B[used]
        b = self.load[used] / largest[used]
        scale = float(np.abs(b).max(initial=0.0)) or 1.0
        return rows, b / scale, scale

    def _without_balance(self, goal: Array, is_held: bool) -> Optimum:
        """No unknown, or no equation: zero is a solution unless the goal is unbounded."""
        if is_held:  # loads without contacts
            return EMPTY
        corner = self._corners()
        falls = bool(np.any(corner.T @ goal < 0.0)) if self.discs.is_plane else bool(goal.any())
        return UNBOUNDED_GOAL if falls else (np.zeros(self.size), 0.0)

    def _solved(self, B: sparse.csr_array, b: Array, goal: Array) -> Optimum:
        if self.discs.is_plane:
            return self._linear(B, b, goal)
        x, value, gap, status = _conic(B, b, goal, self.discs, self.moves)
        if status == "PrimalInfeasible":
            return EMPTY
        if status in USABLE and gap <= EXACT * max(1.0, abs(value)) and self._holds(B, b, x):
            return x, value
        distance, near = _nearest(B, b, self.discs, self.moves)
        if distance > EXACT:
            return EMPTY
        holds = self._holds(B, b, near)
        if holds and not goal.any():
            return near, 0.0
        if status == "DualInfeasible":
            return UNBOUNDED_GOAL
        optimum = self._by_cuts(B, b, goal)
        if holds and optimum[1] == math.inf:  # empty only to within the accuracy: one point
            return near, float(goal @ near)
        return optimum

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

    def _linear(self, B: sparse.csr_array, b: Array, goal: Array) -> Optimum:
        edges = self._corners()
        y, value = _linprog(edges.T @ goal, B @ edges, b)
        if y is None and not math.isfinite(value):
            return None, value
        if y is None:  # HiGHS may not distinguish the two: a zero goal is bounded
            return (
                UNBOUNDED_GOAL
                if goal.any() and self._linear(B, b, np.zeros_like(goal))[0] is not None
                else EMPTY
            )
        return edges @ y, value

    # ---------------------------------------------------------------- cuts

    def _by_cuts(self, B: sparse.csr_array, b: Array, goal: Array) -> Optimum:
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
                return EMPTY
            if x is None:
                break
            if self._holds(B, b, x):
                return UNBOUNDED_GOAL if goal.any() and float(far @ x) > 0.5 * FAR else (x, value)
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
        forces = x[: self.discs.n * self.discs.k].reshape(self.discs.n, self.discs.k)
        cuts = []
        for part in self.discs.parts:
            length = np.linalg.norm(forces[:, part], axis=1)
            rows = np.flatnonzero(length > forces[:, 0] + 0.1 * EXACT)
            cuts.append(self._cut(rows, part, forces[rows, part] / length[rows, None]))
        return sparse.csr_array(sparse.vstack(cuts))

    def _cut(self, contacts: Indices, part: slice, direction: Array) -> sparse.csr_array:
        """Rows that say direction·x_part − x_N ≤ 0 at some contacts."""
        count, width, k = len(contacts), part.stop - part.start, self.discs.k
        rows = np.repeat(np.arange(count), width + 1)
        columns = np.column_stack((contacts * k, contacts[:, None] * k + np.arange(part.start, part.stop)))
        entries = np.column_stack((-np.ones(count), direction))
        matrix = sparse.coo_array((entries.ravel(), (rows, columns.ravel())), shape=(count, self.size))
        return sparse.csr_array(matrix)


def _linprog(
    goal: Array,
    B: sparse.csr_array,
    b: Array,
    cuts: sparse.sparray | None = None,
    tops: Array | None = None,
    bounds: Any = (0.0, None),
) -> Optimum:
    """A linear program by HiGHS; (None, NaN) if it is empty or unbounded and HiGHS does not say which."""
    options = {"primal_feasibility_tolerance": ENGINE, "dual_feasibility_tolerance": ENGINE}
    result = linprog(
        goal, A_ub=cuts, b_ub=tops, A_eq=B, b_eq=b, bounds=bounds, method="highs", options=options
    )
    if result.status == INFEASIBLE:
        return EMPTY
    if result.status == UNBOUNDED:
        return UNBOUNDED_GOAL
    if result.status != 0 or result.x is None:
        return None, math.nan
    return np.asarray(result.x), float(result.fun)


def _conic(
    B: sparse.csr_array, b: Array, goal: Array, discs: Discs, moves: Mask
) -> tuple[Array, float, float, str]:
    """The program by Clarabel: x, the goal, its distance from the dual goal, and the status."""
    engine = _engine()
    rows, cones = _cones(discs, moves, B.shape[1])
    end = _clarabel(goal, [B, *rows], b, [engine.ZeroConeT(len(b)), *cones])
    return (
        np.array(end.x),
        float(end.obj_val),
        abs(end.obj_val - end.obj_val_dual),
        str(end.status),
    )


def _nearest(B: sparse.csr_array, b: Array, discs: Discs, moves: Mask) -> tuple[float, Array]:
    """A lower bound of |B x − b| over the cones, and a minimiser.

    The unknowns are x, e = b − B x and t ≥ |e|; the goal is t.
    """
    engine = _engine()
    m, size = B.shape
    zero = sparse.csr_array((m, 1))
    balance = sparse.hstack((B, sparse.eye_array(m), zero))
    rows, cones = _cones(discs, moves, size)
    rows = [sparse.hstack((row, sparse.csr_array((row.shape[0], m + 1)))) for row in rows]
    ball = sparse.hstack((sparse.csr_array((m + 1, size)), sparse.eye_array(m + 1)))[[m, *range(m)]]
    goal = np.append(np.zeros(size + m), 1.0)
    cones = [engine.ZeroConeT(m), *cones, engine.SecondOrderConeT(m + 1)]
    result = _clarabel(goal, [balance, *rows, -ball], b, cones)
    bound = float(result.obj_val_dual) if str(result.status) in USABLE else 0.0
    return bound, np.array(result.x)[:size]


def _cones(discs: Discs, moves: Mask, size: int) -> tuple[list[sparse.sparray], list[Any]]:
    """Rows and cones of x ∈ K; x_N ≥ 0 also without friction."""
    engine = _engine()
    n, k = discs.n, discs.k
    identity = sparse.eye_array(size, format="csr")
    normal, still = k * np.arange(n), np.flatnonzero(~moves)
    signed = np.append(normal, np.arange(n * k, size))
    rows, cones = [identity[still], -identity[signed]], [engine.ZeroConeT(len(still))]
    cones.append(engine.NonnegativeConeT(len(signed)))
    for part in discs.parts:
        columns = np.column_stack((normal, normal[:, None] + np.arange(part.start, part.stop)))
        rows.append(-identity[columns.ravel()])
        cones += [engine.SecondOrderConeT(columns.shape[1])] * n
    return (rows, cones) if len(still) else (rows[1:], cones[1:])


def _clarabel(goal: Array, rows: list[sparse.sparray], b: Array, cones: list[Any]) -> Any:
    """Result of Clarabel for min goal·x over b' − A x in the cones, b' = b followed by zeros."""
    engine = _engine()
    A = sparse.csc_matrix(sparse.vstack(rows))
    bounds = np.concatenate((b, np.zeros(A.shape[0] - len(b))))
    options = engine.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = ENGINE
    nothing = sparse.csc_matrix((len(goal), len(goal)))
    return engine.DefaultSolver(nothing, goal, A, bounds, cones, options).solve()


def _engine() -> Any:
    try:
        return import_module("clarabel")
    except ImportError:
        raise MissingDependency("clarabel", "conic", "Limit analysis in 3-D") from None
