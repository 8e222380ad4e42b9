"""Elimination of the bilateral rows of a problem: joints and imposed motions beside the contacts.

A mixed problem has, besides the contacts, rows without inequality and their impulses λ:

    local     u = W r + V λ + q,           0 = Vᵀ r + R λ + s
    global    M v = H r + G λ + f,         0 = Gᵀ v + b,         u = Hᵀ v + w

(the letters of FCLib). λ is a linear function of r, so it can be eliminated exactly:

    λ = −R⁻¹ (Vᵀ r + s),    u = (W − V R⁻¹ Vᵀ) r + (q − V R⁻¹ s).

The global form becomes the local one by the Schur complement of M in its saddle point matrix:
with A = M⁻¹, W = Hᵀ A H, V = Hᵀ A G, R = Gᵀ A G, q = w + Hᵀ A f, s = b + Gᵀ A f. The result has
contacts only, but its W is full among the contacts that the joints connect.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import linalg, sparse

from clapas.errors import ProblemError
from clapas.linalg.factor import BlockDiagonalFactor, Factor, factorise
from clapas.typing import Array

CONSISTENT = 1e-9  # largest disagreement of redundant rows, relative to their right-hand sides
RANK = 1e-12  # singular values below this fraction of the largest are redundant rows


def eliminate(*, W: Any, V: Any, R: Any, q: Array, s: Array) -> tuple[sparse.csr_array, Array]:
    """Return W − V R⁻¹ Vᵀ and q − V R⁻¹ s.

    Redundant rows (a singular R) are accepted if they are consistent: λ is then not unique, but u is.

    Examples
    --------
    A joint that blocks the second of two coupled components leaves the first free to respond.

    >>> V, R = np.array([[1.0], [2.0]]), np.array([[2.0]])
    >>> W, q = eliminate(W=np.diag([1.0, 3.0]), V=V, R=R, q=np.zeros(2), s=np.array([2.0]))
    >>> W.toarray()
    array([[ 0.5, -1. ],
           [-1. ,  1. ]])
    >>> q
    array([-1., -2.])
    """
    V, R = sparse.csr_array(V), _dense(R)
    coupled = np.flatnonzero(np.diff(V.indptr))
    rows = V[coupled].toarray()
    solved = _solve(R, np.column_stack((rows.T, s)))
    correction = rows @ solved[:, :-1]
    if float(np.max(np.abs(R - R.T))) <= RANK * float(np.max(np.abs(R))):
        correction = 0.5 * (correction + correction.T)  # asymmetric by rounding only
    selection = sparse.csr_array(
        (np.ones(coupled.size), (coupled, np.arange(coupled.size))), shape=(V.shape[0], coupled.size)
    )
    reduced = sparse.csr_array(sparse.csr_array(W) - selection @ sparse.csr_array(correction) @ selection.T)
    return reduced, q - np.asarray(V @ solved[:, -1])


def eliminate_global(
    *, M: Any, H: Any, G: Any, f: Array, w: Array, b: Array
) -> tuple[sparse.csr_array, Array]:
    """Return the W and q left among the contacts when the rows Gᵀ v + b = 0 are eliminated."""
    H, G = sparse.csr_array(H), sparse.csr_array(G)
    mass = factorise(sparse.csr_array(M))
    AH, AG, Af = _solve_mass(mass, H), _solve_mass(mass, G), mass.solve(f)
    W, R = H.T @ AH, G.T @ AG
    return eliminate(W=0.5 * (W + W.T), V=H.T @ AG, R=0.5 * (R + R.T), q=w + H.T @ Af, s=b + G.T @ Af)


def _solve_mass(mass: Factor, columns: sparse.csr_array) -> sparse.csr_array:
    """M⁻¹ times sparse columns: sparse if M is block diagonal (rigid bodies), full otherwise."""
    if isinstance(mass, BlockDiagonalFactor):
        return sparse.csr_array(mass.inverse @ columns)
    return sparse.csr_array(mass.solve(columns.toarray()))


def _solve(R: Array, right: Array) -> Array:
    """R⁻¹ b, or the minimum-norm solution when R is singular and b lies in its range."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            return np.asarray(linalg.solve(R, right))
    except (linalg.LinAlgError, linalg.LinAlgWarning):
        solution = np.asarray(linalg.lstsq(R, right, cond=RANK)[0])
    defect = float(np.max(np.abs(R @ solution - right), initial=0.0))
    if defect > CONSISTENT * float(np.max(np.abs(right), initial=0.0)):
        raise ProblemError(
            f"the {R.shape[0]} bilateral rows contradict each other: they leave {defect:.1e} unsatisfied. "
            "Remove the redundant ones"
        )
    return solution


def _dense(matrix: Any) -> Array:
    return np.asarray(sparse.csr_array(matrix, dtype=np.float64).toarray())
