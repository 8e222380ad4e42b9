"""Sparse systems cut into groups and a border: the groups are solved in parallel.

With the unknowns of the groups i, which no entry couples, and those b of the border,

    y_i = A_ii⁻¹ r_i,    S x_b = r_b − Σ A_bi y_i,    x_i = y_i − Z_i x_b,    Z_i = A_ii⁻¹ A_ib,

S = A_bb − Σ A_bi Z_i. A solve with one sparse factor uses one thread; here threads share the groups,
and only the small dense S is sequential. The groups do not depend on the number of threads, so
that the results do not either.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.errors import ProblemError
from clapas.multiscale.team import Share, one_by_one
from clapas.typing import Array, Indices

ACCURATE = 1e-8  # residual of a trial solution, relative to the right-hand side


class Group:
    """One group of unknowns: its factor, and its coupling with the border.

    Parameters
    ----------
    matrix : sparse (n × n)
        The whole.
    unknowns : array (i,)
        Unknowns of the group.
    border : array (b,)
        Those of the border.
    """

    def __init__(self, matrix: sparse.csc_array, unknowns: Indices, border: Indices) -> None:
        rows = matrix[unknowns]
        across, back = sparse.csc_array(rows[:, border]), sparse.csr_array(matrix[border][:, unknowns])
        coupled = np.flatnonzero(np.diff(across.indptr) + np.diff(back.indptr))
        self.unknowns, self.coupled, self._back = unknowns, coupled, back[coupled]
        self._factor = sparse_linalg.splu(sparse.csc_array(rows[:, unknowns]))
        self._Z = np.ascontiguousarray(self._factor.solve(across[:, coupled].toarray()))
        self._y = np.zeros(len(unknowns))

    @property
    def complement(self) -> Array:
        """A_bi Z_i on the coupled unknowns of the border."""
        return np.asarray(self._back @ self._Z)

    def forward(self, right: Array) -> Array:
        """Contribution A_bi y_i of its loads to the border."""
        self._y = self._factor.solve(right[self.unknowns])
        return np.asarray(self._back @ self._y)

    def backward(self, border: Array) -> Array:
        """Its solution for given values of the border."""
        return np.asarray(self._y - self._Z @ border[self.coupled])


class Bordered:
    """A matrix factorised in groups and a border.

    Parameters
    ----------
    matrix : sparse (n × n)
        Regular.
    group : array (n,)
        Group of each unknown, −1 for the border. Unknowns of different groups must not be coupled.

    Raises
    ------
    ProblemError
        A group is singular without its border, or too many digits are lost: factorise the whole matrix
        instead.

    Examples
    --------
    >>> A = sparse.csc_array([[2.0, 0, 1], [0, 3, 1], [1, 1, 4]])
    >>> Bordered(A, np.array([0, 1, -1])).solve(np.array([3.0, 4.0, 6.0])).round(9).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, matrix: sparse.csc_array, group: Indices) -> None:
        self._border = np.flatnonzero(group < 0)
        numbers = range(int(group.max(initial=-1)) + 1)
        try:
            self.groups = [Group(matrix, np.flatnonzero(group == g), self._border) for g in numbers]
        except RuntimeError:
            raise ProblemError("a group is singular without its border") from None
        S = matrix[self._border][:, self._border].toarray()
        for each in self.groups:
            S[np.ix_(each.coupled, each.coupled)] -= each.complement
        self._dense = linalg.lu_factor(S, check_finite=False) if len(S) else None
        trial = np.random.default_rng(0).standard_normal(matrix.shape[0])
        residual = matrix @ self.solve(trial) - trial
        if not np.abs(residual).max(initial=0.0) <= ACCURATE * np.abs(trial).max(initial=1.0):
            raise ProblemError("the groups lose too many digits")

    def solve(self, right: Array, share: Share = one_by_one) -> Array:
        """Solve, with the groups distributed by ``share``."""
        team = share(self.groups)
        count, x = len(self.groups), np.empty(len(right))
        border = right[self._border]
        for each, pull in zip(self.groups, team("forward", [right] * count), strict=True):
            border[each.coupled] -= pull
        if self._dense is not None:
            border = linalg.lu_solve(self._dense, border, check_finite=False)
        x[self._border] = border
        for each, values in zip(self.groups, team("backward", [border] * count), strict=True):
            x[each.unknowns] = values
        return x
