"""The deepest cut, whose hyperplane is farthest from the point in a chosen norm.

The distance of the origin to {x : d·x = −1} in a norm is 1/|d|_*, with the dual norm, so that the deepest cut
minimises |d|_* over the reverse polar Q⁻. In the Euclidean norm this is a quadratic program with a unique
solution; in the norms 1 and ∞ it is a linear one. By duality 1/|d*|_* is the distance of the origin from Q,
and in the Euclidean norm the nearest point of Q is q* = −d*/|d*|².

Reference: Cadoux 2009, lemma 6.9, theorem 6.11 with its sign corrected, lemma 6.13, (6.10).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.cuts.cut import Cut, scaled
from clapas.cuts.disjunction import Disjunction
from clapas.cuts.lp import LinearProgram, Outcome
from clapas.cuts.program import cut_of, cut_rows, direction_rows, size_row
from clapas.errors import ProblemError, SettingsError
from clapas.typing import Array

ACCURACY = 1e-11  # tolerance of the interior point method, below what rounding allows


def deepest_cut(disjunction: Disjunction, *, norm: float = 2, N: float = np.inf) -> Cut:
    """The cut whose hyperplane is farthest from the point.

    Parameters
    ----------
    disjunction : Disjunction
        Seen from any point of the relaxation, vertex or not.
    norm : 1, 2 or inf
        Norm in which the distance is measured.
    N : float
        Bound on the sum of the multipliers; none is needed, since the norm keeps d bounded.

    Raises
    ------
    ProblemError
        There is no cut: the point is in the convex hull of the branches.

    Examples
    --------
    >>> A, b = [[3.0, 2.0], [-3.0, 2.0], [-1.0, 0.0], [0.0, -1.0]], [6.0, 0.0, 0.0, 0.0]
    >>> disjunction = Disjunction.split(A, b, [1.0, 1.5], 1)
    >>> [deepest_cut(disjunction, norm=norm).d.round(6) + 0.0 for norm in (1, 2, np.inf)]
    [array([0., 2.]), array([0., 2.]), array([0., 2.])]
    """
    if norm not in (1, 2, np.inf):
        raise SettingsError(f"norm must be 1, 2 or inf, got {norm}")
    z = _nearest(disjunction, N) if norm == 2 else _by_linear_program(disjunction, norm, N)
    return _normalised(disjunction, cut_of(disjunction, z))


def _by_linear_program(disjunction: Disjunction, norm: float, N: float) -> Array:
    """Min |d|_* with bounds t on |d_k|: one t for all and the norm 1, one each and the norm ∞."""
    m, n = disjunction.A.shape
    rows, right = cut_rows(disjunction)
    direction = direction_rows(disjunction)
    t = sparse.csr_array(np.ones((n, 1))) if norm == 1 else sparse.eye_array(n, format="csr")
    matrix = sparse.block_array(
        [[rows, None], [size_row(disjunction), None], [direction, -t], [-direction, -t]],
        format="csc",
    )
    free = np.full(2 * n, -np.inf)
    program = LinearProgram(
        np.concatenate((np.zeros(2 * m + 4), np.ones(t.shape[1]))),
        matrix,
        np.concatenate((right, [-np.inf], free)),
        np.concatenate((right, [N], np.zeros(2 * n))),
        np.zeros(matrix.shape[1]),
        np.full(matrix.shape[1], np.inf),
    )
    solved = program.solve()
    if solved.outcome is not Outcome.OPTIMAL:
        raise _no_cut(N)
    return solved.x[: 2 * m + 4]


def _nearest(disjunction: Disjunction, N: float) -> Array:
    """Min |d|²/2 by Clarabel's interior point method, d = Aᵀu_0 + v_0 p_0 kept as variables of their own."""
    import clarabel

    m, n = disjunction.A.shape
    count = 2 * m + 4
    rows, right = cut_rows(disjunction)
    equations = sparse.block_array([[rows, None], [direction_rows(disjunction), -sparse.eye_array(n)]])
    signs = sparse.hstack((-sparse.eye_array(count), sparse.csr_array((count, n))))
    parts, rhs = [equations, signs], [right, np.zeros(n + count)]
    if np.isfinite(N):
        parts.append(sparse.hstack((size_row(disjunction), sparse.csr_array((1, n)))))
        rhs.append(np.array([N]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ACCURACY
    hessian = sparse.csc_matrix(sparse.block_diag((sparse.csr_array((count, count)), sparse.eye_array(n))))
    matrix = sparse.csc_matrix(sparse.vstack(parts))
    cones = [clarabel.ZeroConeT(2 * n + 2), clarabel.NonnegativeConeT(matrix.shape[0] - 2 * n - 2)]
    solver = clarabel.DefaultSolver(
        hessian, np.zeros(count + n), matrix, np.concatenate(rhs), cones, settings
    )
    solution = solver.solve()
    if "Infeasible" in str(solution.status):
        raise _no_cut(N)
    if "Solved" not in str(solution.status) and "InsufficientProgress" not in str(solution.status):
        raise ProblemError(f"the quadratic program of the deepest cut was not solved: {solution.status}")
    return _repaired(rows, right, np.asarray(solution.x[:count]))


def _repaired(rows: sparse.csr_array, right: Array, z: Array) -> Array:
    """Multipliers that satisfy their equations to rounding: the interior point method is less accurate.

    The least relative change, z (1 + y) with |y| smallest, keeps those that are nearly zero nearly zero.
    """
    z = np.maximum(z, 0.0)
    for _ in range(2):
        weighted = rows.toarray() * z
        z = np.maximum(z * (1.0 + np.linalg.lstsq(weighted, right - rows @ z, rcond=1e-13)[0]), 0.0)
    return z


def _normalised(disjunction: Disjunction, cut: Cut) -> Cut:
    """The cut scaled so that its multipliers prove a violation of exactly one."""
    violations = cut.v * disjunction.offsets - cut.u @ disjunction.b
    return scaled(cut, 1.0 / float(violations.min()))


def _no_cut(N: float) -> ProblemError:
    bounded = f" with multipliers up to N = {N:.3g}" if np.isfinite(N) else ""
    return ProblemError(
        f"no cut separates the point from the disjunction{bounded}: it is in the hull of the branches"
    )
