"""The intersection cut of a vertex: the cheapest cut, and the size of its multipliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.sparse.linalg import splu

from clapas.cuts.cut import Cut
from clapas.cuts.disjunction import Disjunction
from clapas.errors import ProblemError
from clapas.typing import Array, Indices

DEPENDENT = 1e-10  # pivot, relative to the first, below which active rows are dependent


@dataclass(frozen=True, eq=False)
class Basis:
    """A vertex as n independent rows through it, factorised once for all disjunctions seen from there.

    Parameters
    ----------
    rows : array (n,) of int
        Numbers of the rows.
    factor : object
        Factors of A_Bᵀ.
    """

    rows: Indices
    factor: Any

    @classmethod
    def of(cls, A: sparse.csr_array, rows: Indices) -> Basis:
        """The basis of n rows, as a simplex method gives them."""
        try:
            return cls(rows, splu(sparse.csc_matrix(A[rows].T)))
        except (RuntimeError, ValueError):
            raise _no_vertex(len(rows), A.shape[1]) from None

    @classmethod
    def among(cls, A: sparse.csr_array, active: Indices) -> Basis:
        """A basis among the rows through a point, by a QR factorisation with pivoting."""
        n = A.shape[1]
        _, R, order = qr(A[active].toarray().T, mode="economic", pivoting=True)
        heights = np.abs(np.diag(R))
        if len(heights) < n or heights[n - 1] <= DEPENDENT * heights[0]:
            raise _no_vertex(len(active), n)
        return cls.of(A, active[order[:n]])

    def multipliers(self, right: Array) -> Array:
        """U with A_Bᵀ u = right, (n,)."""
        return np.asarray(self.factor.solve(right))


def intersection_cut(disjunction: Disjunction, basis: Basis | None = None) -> Cut:
    """The cut through the points where the edges at the vertex leave the region between the branches.

    With B a set of n independent rows through the vertex (b_B = 0),

        A_Bᵀ u = p_1/a_1 − p_0/a_0,    u_0 = max(u, 0),  u_1 = max(−u, 0),    d = A_Bᵀ u_0 + p_0/a_0.

    For a split this is Balas's intersection cut, the Gomory cut before rounding. N_0 = Σ(u_0 + u_1) is a
    normalisation under which cuts exist (:func:`least_normalisation`).

    Parameters
    ----------
    disjunction : Disjunction
        Seen from a vertex.
    basis : Basis, optional
        By default one among the active rows.

    References
    ----------
    Balas 1971; Cadoux 2009, (7.24) to (7.26).

    Examples
    --------
    >>> A, b = [[3.0, 2.0], [-3.0, 2.0], [-1.0, 0.0], [0.0, -1.0]], [6.0, 0.0, 0.0, 0.0]
    >>> cut = intersection_cut(Disjunction.split(A, b, [1.0, 1.5], 1))
    >>> cut.d.round(12) + 0.0, round(cut.depth, 12), round(float(cut.u.sum()), 12)
    (array([0., 2.]), 0.5, 2.0)
    """
    if basis is None:
        basis = Basis.among(disjunction.A, disjunction.active)
    (p_0, p_1), (a_0, a_1) = disjunction.normals, disjunction.offsets
    weights = basis.multipliers(p_1 / a_1 - p_0 / a_0)
    u = np.zeros((2, disjunction.A.shape[0]))
    u[0, basis.rows], u[1, basis.rows] = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
    d = disjunction.A.T @ u[0] + p_0 / a_0
    return Cut(np.asarray(d), u, 1.0 / disjunction.offsets)


def least_normalisation(disjunction: Disjunction, basis: Basis | None = None) -> float:
    """N_0, the sum of the multipliers of the intersection cut: the normalisation of Cadoux 2009, 7.3.2."""
    return float(intersection_cut(disjunction, basis).u.sum())


def _no_vertex(rows: int, n: int) -> ProblemError:
    return ProblemError(
        f"the point is no vertex: {rows} rows pass through it and do not have rank {n}; "
        "solve the relaxation by a simplex method, or take the deepest cut"
    )
