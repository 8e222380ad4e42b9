"""Factorisation of unsymmetric matrices of one symmetric pattern, as in Newton's method for contact.

Two engines behind one interface, since the faster one depends on the shape of the body: SciPy's SuperLU,
given a nested-dissection order of METIS where pymetis is installed, and the package's own multifrontal
method. Both keep the unknowns of a group together (the displacements of a node and the forces at its
contacts, in this order), so that a contact force, whose diagonal entry is zero, is eliminated after the
displacements that fill its pivot.

Measured on one core with pymetis, seconds per analysis and per factorisation (``clapas bench fem``): see
docs/decisions/003-factorisation.md.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.linalg.elimination import minimum_degree
from clapas.linalg.lu import Solve, lu
from clapas.linalg.multifrontal import Multifrontal
from clapas.typing import Array, Indices

Engine = Literal["superlu", "multifrontal"]
REFINED = 1e-13  # relative residual at which a solution needs no further refinement
LOST = 1e-6  # and above which the factors without pivoting are not trusted


class SymmetricPattern:
    """A sparse pattern, analysed once, for matrices that are factorised again and again.

    Parameters
    ----------
    rows, columns : arrays (nnz,) of int
        Positions of the entries; repeated positions are summed.
    size : int
        Number of unknowns.
    groups : array (size,) of int
        Unknowns that belong together, numbered from 0 without gaps.
    engine : "superlu" or "multifrontal"
        Factorisation used.

    Examples
    --------
    >>> pattern = SymmetricPattern(np.array([0, 1, 0]), np.array([0, 0, 1]), 2, np.array([0, 0]))
    >>> pattern.solve(np.array([2.0, 1.0, 1.0]), np.array([3.0, 1.0]))
    array([1., 1.])
    """

    def __init__(
        self, rows: Indices, columns: Indices, size: int, groups: Indices, engine: Engine = "superlu"
    ) -> None:
        self.size, self.engine = size, engine
        order = dissection(rows, columns, groups)
        if engine == "multifrontal":
            self._fronts = Multifrontal(rows, columns, size, groups, order)
            self._order = np.arange(size)
        else:
            self._order = np.argsort(np.argsort(order)[groups], kind="stable")
        # Stored in the order of elimination, so that no factorisation needs a permutation.
        rank = np.argsort(self._order)
        key, place = np.unique(rank[columns] * size + rank[rows], return_inverse=True)
        self._place = place.ravel()
        self._indices = (key % size).astype(np.int32)
        self._indptr = np.searchsorted(key, np.arange(size + 1) * size).astype(np.int32)

    def matrix(self, values: Array) -> sparse.csc_array:
        """The matrix with these entries (in the order of ``rows, columns``), its unknowns as eliminated."""
        data = np.bincount(self._place, values, minlength=len(self._indices))
        return sparse.csc_array((data, self._indices, self._indptr), shape=(self.size, self.size))

    def solve(self, values: Array, right: Array) -> Array:
        """Solve with the matrix of these entries, refined until the residual is of the order of rounding.

        Raises
        ------
        numpy.linalg.LinAlgError
            The matrix is singular.
        """
        A = self.matrix(values)
        for pivoting in (False, True):
            try:
                apply = self._factors(A, values, pivoting)
            except (RuntimeError, ArithmeticError, np.linalg.LinAlgError):
                continue
            x = _refined(A, apply, right[self._order])
            if x is not None:
                result = np.empty_like(x)
                result[self._order] = x
                return result
        raise np.linalg.LinAlgError("the matrix is singular")

    def _factors(self, A: sparse.csc_array, values: Array, pivoting: bool) -> Solve:
        if pivoting:
            return lu(A)
        if self.engine == "multifrontal":
            return self._fronts.factorise(values).solve
        factor = sparse_linalg.splu(
            A, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        return lambda right: np.asarray(factor.solve(right))


def dissection(rows: Indices, columns: Indices, groups: Indices) -> Indices:
    """A fill-reducing order of the groups, by METIS where it is installed."""
    count = int(groups.max(initial=-1)) + 1
    a, b = groups[rows], groups[columns]
    off = a != b
    graph = sparse.coo_array((np.ones(int(off.sum())), (a[off], b[off])), shape=(count, count)).tocsr()
    graph = sparse.csr_array(graph + graph.T)
    try:
        import pymetis
    except ImportError:
        return minimum_degree(graph)
    adjacency = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    return np.asarray(pymetis.nested_dissection(adjacency)[0], dtype=np.int64)


def _refined(A: sparse.csc_array, apply: Solve, right: Array) -> Array | None:
    x = apply(right)
    scale = float(np.abs(right).max(initial=0.0)) or 1.0
    best, error = x, np.inf
    for _ in range(4):
        residual = right - A @ x
        relative = float(np.abs(residual).max(initial=0.0)) / scale
        if not np.isfinite(relative):
            return None
        if relative >= error:
            break
        best, error = x, relative
        if error <= REFINED:
            break
        x = x + apply(residual)
    return best if error <= LOST else None
