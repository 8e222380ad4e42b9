"""A factor of W, so that a reduced problem is decided on motions as a global one is.

With W = G Gᵀ the velocities q + W x of impulses x are the q + G v of motions v, v = Gᵀ x. The criterion needs
the image only, which is the same, but programs and ranks on W itself see the square of the condition of G:
masses that differ by 1e6 then look like dependent contacts.

Cholesky with complete pivoting, of W with a unit diagonal, since contacts may have units of their own. It
stops at the rank; what it leaves must be rounding, or W has no factor to trust: one that is not symmetric or
not positive semidefinite, and one that may have a rank more or less.

References
----------
Higham 2002, 10.3 (pivoted Cholesky of semidefinite matrices).

>>> factor = factor_of(sparse.csr_array([[4.0, 6.0], [6.0, 9.0]]))
>>> factor.G.toarray().ravel(), factor.impulses(np.ones(1))
(array([2., 3.]), array([0.5, 0. ]))
>>> factor_of(sparse.csr_array([[1.0, 2.0], [2.0, 1.0]])) is None
True
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack

from clapas.typing import Array, Indices

PIVOT = 1e-11  # pivots of W with a unit diagonal above which a row counts as independent of those before
LEFT = 32 * float(np.finfo(float).eps)  # of an entry, per row, that rounding may leave of a dependent row


class Factor(NamedTuple):
    """W = G Gᵀ with independent columns, triangular in the rows ``pivots``."""

    G: sparse.csr_array
    pivots: Indices

    def impulses(self, v: Array) -> Array:
        """Impulses x with W x = G v, at the contacts of the pivots only."""
        x = np.zeros(self.G.shape[0])
        triangle = self.G[self.pivots].toarray()
        x[self.pivots] = linalg.solve_triangular(triangle, v, lower=True, trans="T")
        return x


def factor_of(W: sparse.csr_array) -> Factor | None:
    """Factor W; None if no factor reproduces it to rounding, or its rank is in doubt."""
    diagonal = W.diagonal()
    if not (diagonal >= 0.0).all():
        return None
    root = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    unit = W.toarray() / root[:, None] / root
    lower, order, rank, _ = lapack.dpstrf(unit, tol=PIVOT, lower=1)
    order = order - 1
    columns = np.zeros((len(root), rank))
    columns[order] = np.tril(lower)[:, :rank]
    if np.abs(unit - columns @ columns.T).max(initial=0.0) > LEFT * len(root):
        return None
    return Factor(sparse.csr_array(root[:, None] * columns), order[:rank])
