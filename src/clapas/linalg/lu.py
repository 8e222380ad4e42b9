"""LU factorisation of any square matrix, for many solves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse import linalg as sparse_linalg

from clapas.typing import Array

Solve = Callable[[Array], Array]


def lu(A: Array | sparse.sparray) -> Solve:
    """The function b ↦ A⁻¹b of a square matrix, full or sparse, symmetric or not.

    Raises
    ------
    numpy.linalg.LinAlgError
        A is singular.

    Examples
    --------
    >>> lu(np.array([[0.0, 2.0], [1.0, 0.0]]))(np.array([2.0, 3.0]))
    array([3., 1.])
    """
    if A.shape[0] == 0:
        return lambda right: right
    if sparse.issparse(A):
        try:
            factor = sparse_linalg.splu(sparse.csc_array(A))
        except RuntimeError:
            raise np.linalg.LinAlgError("the matrix is singular") from None
        return lambda right: np.asarray(factor.solve(right))
    triangles, exchanges, failed = lapack.dgetrf(np.asarray(A))
    if failed:
        raise np.linalg.LinAlgError("the matrix is singular")
    return lambda right: np.asarray(lapack.dgetrs(triangles, exchanges, right)[0])
