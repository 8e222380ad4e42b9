"""The face of Q = cl conv(Q_0 ∪ Q_1) that an inequality exposes, and its dimension.

With σ = max(σ_0, σ_1) the support of Q in the direction d, the face is spanned by the faces of the branches
whose own support σ_i is σ, and by the recession directions r of either branch with d·r = 0. Each of these
sets is a polyhedron {C x ≤ h, d·x = σ}, whose affine hull is that of its *implicit equations*: the rows tight
all over it. One linear program finds them all (Freund, Roundy, Todd 1985),

    max Σ y    subject to   C x + y ≤ τ h,   d·x = τ σ,   0 ≤ y ≤ 1,   τ ≥ 1:

row k is an implicit equation if and only if y_k = 0, and every other row has y_k = 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import null_space

from clapas.cuts.disjunction import Disjunction
from clapas.cuts.lp import LinearProgram, Outcome
from clapas.cuts.program import cut_rows, direction_rows, size_row
from clapas.errors import ProblemError
from clapas.typing import Array

SAME_SUPPORT = 1e-7  # σ_0 and σ_1 within this share of σ are equal: linear programs are not exact
SLAB = 1e-8  # the face is taken as {d·x ≥ σ − SLAB |σ|}: σ comes from another linear program
LONGEST = 1e3  # bound of τ, so that a slack that is rounding does not grow to one
IMPLICIT = 0.1  # y below this is an implicit equation
RANK = 1e-7  # singular value, relative to the largest, below which it is zero
ON_NORMALISATION = 0.999  # fraction of N above which a cut is on the normalisation
FEASIBLE = 1e-10  # error allowed to directions that come from linear programs


@dataclass(frozen=True)
class Face:
    """The face of Q that an inequality exposes.

    Parameters
    ----------
    support : float
        σ_Q(d), −1 for a cut that touches Q; −∞ if both branches are empty.
    dimension : int
        Of the face of Q.
    branches : tuple of int
        Dimension of its part on each branch; −1 where it does not touch the branch.
    hull : int
        Dimension of Q.
    """

    support: float
    dimension: int
    branches: tuple[int, int]
    hull: int

    @property
    def is_facet(self) -> bool:
        """One dimension less than Q."""
        return self.dimension == self.hull - 1


def exposed_face(disjunction: Disjunction, d: Array, hull: int | None = None) -> Face:
    """The face of Q = cl conv(Q_0 ∪ Q_1) on which d·x is largest.

    Parameters
    ----------
    disjunction : Disjunction
        The branches.
    d : array (n,)
        Direction; x is counted from the point of the disjunction.
    hull : int, optional
        Dimension of Q, if it is known (:func:`hull_dimension`).

    Examples
    --------
    The square [0, 3/2]² with x₁ integer is the rectangle [0, 1] × [0, 3/2], of which x₁ ≤ 1 is an edge:

    >>> A, b = np.vstack((np.eye(2), -np.eye(2))), [1.5, 1.5, 0.0, 0.0]
    >>> disjunction = Disjunction.split(A, b, [1.5, 1.5], 0)
    >>> exposed_face(disjunction, np.array([2.0, 0.0]))
    Face(support=-1.0, dimension=1, branches=(1, -1), hull=2)
    >>> exposed_face(disjunction, np.array([1.0, 1.0])).dimension
    0
    """
    supports = [_support(disjunction, i, d) for i in (0, 1)]
    support = max(supports)
    size = SAME_SUPPORT * max(1.0, abs(support))
    dimensions, spans, points = [-1, -1], [], []
    for i, value in enumerate(supports):
        if value == -np.inf:  # an empty branch has no recession directions either
            continue
        touched = value >= support - size
        basis, point = _affine_hull(disjunction, i, d, value if touched else None)
        spans.append(basis)
        if touched:
            dimensions[i] = basis.shape[1]
            points.append(point)
    if len(points) == 2:
        spans.append((points[1] - points[0])[:, None])
    dimension = _rank(np.hstack(spans)) if points else -1
    whole = hull_dimension(disjunction) if hull is None else hull
    return Face(support, dimension, (dimensions[0], dimensions[1]), whole)


def hull_dimension(disjunction: Disjunction) -> int:
    """Dimension of Q; −1 if both branches are empty."""
    zero = np.zeros(disjunction.A.shape[1])
    alive = [i for i in (0, 1) if _support(disjunction, i, zero) == 0.0]
    hulls = [_affine_hull(disjunction, i, zero, 0.0) for i in alive]
    if not hulls:
        return -1
    spans = [basis for basis, _ in hulls]
    if len(hulls) == 2:
        spans.append((hulls[1][1] - hulls[0][1])[:, None])
    return _rank(np.hstack(spans))


def least_size(disjunction: Disjunction, d: Array) -> float:
    """Least sum of multipliers that proves d·x ≤ −1 on both branches; infinite if d is not in Q⁻.

    A piece of a decomposition whose least sum is the normalisation N is not an extreme point of Q⁻, but the
    point where N truncates a ray.
    """
    m, n = disjunction.A.shape
    rows, right = cut_rows(disjunction)
    matrix = sparse.vstack((rows, direction_rows(disjunction)), format="csc")
    sides = np.concatenate((right, d))
    slack = FEASIBLE * max(1.0, float(np.abs(d).max(initial=0.0)))
    lower, upper = sides.copy(), sides.copy()
    lower[-n:], upper[-n:] = d - slack, d + slack  # d comes from a linear program itself
    solved = LinearProgram(
        size_row(disjunction).toarray()[0],
        matrix,
        lower,
        upper,
        np.zeros(2 * m + 4),
        np.full(2 * m + 4, np.inf),
    ).solve()
    return solved.value


def _support(disjunction: Disjunction, i: int, d: Array) -> float:
    """Max d·x over branch i; −∞ if it is empty."""
    C, h = disjunction.branch(i)
    n = C.shape[1]
    free = np.full(n, np.inf)
    solved = LinearProgram(-d, C, np.full(len(h), -np.inf), h, -free, free, simplex="dual").solve()
    return 0.0 - solved.value


def _affine_hull(disjunction: Disjunction, i: int, d: Array, support: float | None) -> tuple[Array, Array]:
    """Basis (n, k) of the directions of {x ∈ Q_i : d·x = σ}, and a point of its relative interior.

    Without a support: those of {r : r a recession direction of Q_i, d·r = 0}.
    """
    C, h = disjunction.branch(i)
    m, n = C.shape
    size = float(np.linalg.norm(d)) or 1.0
    d, support = d / size, None if support is None else support / size
    h, sigma = (np.zeros(m), 0.0) if support is None else (h, support - SLAB * max(1.0, abs(support)))
    matrix = sparse.block_array(
        [[C, sparse.csr_array(-h[:, None]), sparse.eye_array(m)], [d[None, :], [[-sigma]], None]],
        format="csc",
    )
    solved = LinearProgram(
        np.concatenate((np.zeros(n + 1), -np.ones(m))),
        matrix,
        np.append(np.full(m, -np.inf), 0.0),
        np.append(np.zeros(m), np.inf),  # d·x ≤ σ holds anyway
        np.concatenate((np.full(n, -np.inf), [1.0], np.zeros(m))),
        np.concatenate((np.full(n, np.inf), [LONGEST], np.ones(m))),
    ).solve()
    if solved.outcome is not Outcome.OPTIMAL:
        raise ProblemError(
            "the face could not be found: rounding leaves it empty; scale the rows of the relaxation"
        )
    x, tau, y = solved.x[:n], solved.x[n], solved.x[n + 1 :]
    equations = np.vstack((C[y < IMPLICIT].toarray(), d))
    sizes = np.linalg.norm(equations, axis=1, keepdims=True)
    return null_space(equations / np.where(sizes > 0.0, sizes, 1.0), rcond=RANK), x / tau


def _rank(columns: Array) -> int:
    if columns.shape[1] == 0:
        return 0
    values = np.linalg.svd(columns / np.linalg.norm(columns, axis=0).max(), compute_uv=False)
    return int((values > RANK * max(1.0, values[0])).sum())
