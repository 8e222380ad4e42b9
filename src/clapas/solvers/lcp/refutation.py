"""Proofs by cases that an LCP has no solution although its inequalities are feasible.

Either z_i = 0 or w_i = 0, for each i. A case decides this for some i and requires z, w ≥ 0 of the others. It
is empty if there is y with

    y_i ≥ 0 unless w_i = 0 was decided,    (Mᵀy)_i ≤ 0 unless z_i = 0 was decided,    qᵀy < 0,

because a solution would give 0 ≤ yᵀw = (Mᵀy)ᵀz + qᵀy < 0. If all cases of a complete tree are
empty, the problem has no solution. Candidates for y are least-squares residuals of M z + q = w with z and w
of the case: their optimality conditions are the three above. They are checked in integer arithmetic; since y
consists of doubles, (Mᵀy)_i ≤ 0 holds up to rounding, and the proof excludes solutions up to a size,
``radius``.

The proof is for the equilibrated problem (:class:`~clapas.solvers.lcp.scaling.Equilibrated`), which has
the same solutions and is dimensionless.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from clapas.linalg import exact
from clapas.problems.lcp import LCP, WIDE_ENOUGH, is_surely_definite
from clapas.solvers.lcp.scaling import Equilibrated
from clapas.typing import Array, Mask

MOST_NODES = 20_000
FEASIBLE = 1e-9  # residual of least squares where a case is not empty
DECIDED = 1e-12  # min(z_i, w_i) below which a pair is complementary


@dataclass(frozen=True, eq=False)
class Leaf:
    """A case that is empty, by its certificate y (n,)."""

    y: Array


@dataclass(frozen=True, eq=False)
class Cases:
    """A decision about i: the subtrees for z_i = 0 and for w_i = 0."""

    i: int
    without_z: Leaf | Cases
    without_w: Leaf | Cases


@dataclass(frozen=True, eq=False, repr=False)
class Refutation:
    """A proof by cases that an LCP has no solution."""

    tree: Leaf | Cases

    def radius(self, problem: LCP) -> float:
        """Largest Σ ẑ_i of the equilibrated problem that is excluded; 0 if this proves nothing.

        Everything is recomputed from the problem, in integer arithmetic.
        """
        data = Equilibrated.of(problem).problem
        M, q = exact.integers(data.dense.T), exact.integers(data.q[None, :])
        least = math.inf
        nothing = np.zeros(data.size, dtype=bool)
        stack: list[tuple[Leaf | Cases, Mask, Mask]] = [(self.tree, nothing, nothing)]
        while stack and least > 0.0:
            node, no_z, no_w = stack.pop()
            if isinstance(node, Leaf):
                least = min(least, _radius(M, q, node.y, no_z, no_w))
            else:
                decided = np.arange(data.size) == node.i
                stack += [(node.without_z, no_z | decided, no_w), (node.without_w, no_z, no_w | decided)]
        return least

    def proves(self, problem: LCP) -> bool:
        """Whether the cases exclude all solutions of realistic size.

        Where M is positive definite by more than its own rounding a solution exists, however large, and only
        a proof without bound on it would be accepted.
        """
        radius = self.radius(problem)
        if math.isinf(radius) or radius < WIDE_ENOUGH:
            return math.isinf(radius)
        return not (is_surely_definite(problem) or is_surely_definite(Equilibrated.of(problem).problem))

    @property
    def leaves(self) -> int:
        """Number of cases."""
        count, stack = 0, [self.tree]
        while stack:
            node = stack.pop()
            if isinstance(node, Cases):
                stack += [node.without_z, node.without_w]
            else:
                count += 1
        return count

    def __repr__(self) -> str:
        return f"Refutation({self.leaves} cases)"


def _radius(M: exact.Integers, q: exact.Integers, y: Array, no_z: Mask, no_w: Mask) -> float:
    """Largest Σ z for which a certificate closes a case; ``M`` is the transposed matrix."""
    if not np.isfinite(y).all() or (y[~no_w] < 0.0).any():
        return 0.0
    integer_y = exact.integers(y)
    gain = -float((q @ integer_y).nearest()[0])
    slope = float(np.max((M @ integer_y).nearest()[~no_z], initial=0.0))
    if gain <= 0.0:
        return 0.0
    return (1.0 - 1e-15) * gain / slope if slope > 0.0 else math.inf


@dataclass(eq=False)
class Attempt:
    """Result of an attempt to refute: a proof, a solution found instead, or neither.

    Parameters
    ----------
    refutation : Refutation or None
        The proof.
    z : array (n,) or None
        A point at which every pair is complementary, up to rounding.
    nodes : int
        Number of cases examined.
    """

    refutation: Refutation | None = None
    z: Array | None = None
    nodes: int = 0


def refute(problem: LCP, *, time_limit: float = math.inf, max_nodes: int = MOST_NODES) -> Attempt:
    """Try to prove that an LCP has no solution.

    Examples
    --------
    >>> attempt = refute(LCP([[0.0, -1.0], [1.0, 0.0]], [1.0, -2.0]))
    >>> attempt.z
    array([2., 1.])
    >>> attempt = refute(LCP([[0.0, 1.0], [0.0, 0.0]], [-1.0, 1.0]))
    >>> attempt.refutation, attempt.refutation.proves(LCP([[0.0, 1.0], [0.0, 0.0]], [-1.0, 1.0]))
    (Refutation(2 cases), True)
    """
    scaled = Equilibrated.of(problem)
    search = _Search(scaled.problem, time.perf_counter() + time_limit, max_nodes)
    nothing = np.zeros(problem.size, dtype=bool)
    tree = search.close(nothing, nothing)
    attempt = Attempt(nodes=search.nodes)
    if tree is not None:
        attempt.refutation = Refutation(tree)
    elif search.solution is not None:
        attempt.z = scaled.back(search.solution)
    return attempt


@dataclass(eq=False)
class _Search:
    data: LCP
    deadline: float
    max_nodes: int
    nodes: int = 0
    solution: Array | None = None
    M: exact.Integers = field(init=False)
    q: exact.Integers = field(init=False)

    def __post_init__(self) -> None:
        self.M, self.q = exact.integers(self.data.dense.T), exact.integers(self.data.q[None, :])

    def close(self, no_z: Mask, no_w: Mask) -> Leaf | Cases | None:
        """The proof that a case is empty, or None: it has a solution, or is undecided."""
        self.nodes += 1
        if self.nodes > self.max_nodes or time.perf_counter() > self.deadline:
            return None
        z, y = self._least_squares(no_z, no_w)
        y[~no_w] = np.maximum(y[~no_w], 0.0)
        if _radius(self.M, self.q, y, no_z, no_w) >= WIDE_ENOUGH:
            return Leaf(y)
        w = np.maximum(self.data.slack(z), 0.0)
        undecided = np.where(no_z | no_w, -1.0, np.minimum(z, w))
        i = int(np.argmax(undecided)) if len(z) else 0
        if not len(z) or undecided[i] <= DECIDED:
            if float(np.linalg.norm(y)) <= FEASIBLE:
                self.solution = z
                return None
            i = int(np.argmax(~(no_z | no_w)))
            if (no_z | no_w)[i]:
                return None
        decided = np.arange(self.data.size) == i
        without_z = self.close(no_z | decided, no_w)
        without_w = self.close(no_z, no_w | decided) if without_z is not None else None
        return Cases(i, without_z, without_w) if without_z is not None and without_w is not None else None

    def _least_squares(self, no_z: Mask, no_w: Mask) -> tuple[Array, Array]:
        """The nearest point of M z + q = w with z, w ≥ 0 of the case, and its residual w − M z − q."""
        from clapas.solvers.branch_and_bound.least_squares import nonnegative_least_squares

        z_columns, w_columns = np.flatnonzero(~no_z), np.flatnonzero(~no_w)
        columns = np.column_stack((self.data.dense[:, z_columns], -np.eye(self.data.size)[:, w_columns]))
        weights, residual, _ = nonnegative_least_squares(np.ascontiguousarray(columns), -self.data.q)
        z = np.zeros(self.data.size)
        z[z_columns] = weights[: len(z_columns)]
        size = float(np.linalg.norm(residual))
        return z, residual / size if size > FEASIBLE else residual
