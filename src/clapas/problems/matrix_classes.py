"""Classes of matrices on which the theory of complementarity rests, tested numerically.

Deciding whether a matrix is P or copositive is hard in general: the tests answer None where they would
take too long or do not know.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from clapas.typing import Array

ROUNDING = 1e-12  # relative to the largest entry
LARGEST_P_TEST = 16  # the test makes 2ⁿ steps


def is_symmetric(M: Array) -> bool:
    """Whether M = Mᵀ up to rounding."""
    return bool(np.abs(M - M.T).max(initial=0.0) <= ROUNDING * np.abs(M).max(initial=0.0))


def is_positive_semidefinite(M: Array) -> bool:
    """Whether xᵀM x ≥ 0 for all x, up to rounding.

    >>> is_positive_semidefinite(np.array([[1.0, 5.0], [-5.0, 0.0]]))
    True
    """
    return bool(smallest_eigenvalue(M) >= -len(M) * ROUNDING * np.abs(M).max(initial=0.0))


def smallest_eigenvalue(M: Array) -> float:
    """Smallest eigenvalue of the symmetric part ½(M + Mᵀ)."""
    if len(M) == 0:
        return 0.0
    return float(linalg.eigh(0.5 * (M + M.T), eigvals_only=True, subset_by_index=[0, 0])[0])


def is_p_matrix(M: Array, largest: int = LARGEST_P_TEST) -> bool | None:
    """Whether all principal minors are positive; None for large matrices that are not plainly so.

    A matrix with a positive definite symmetric part is P. Otherwise the test of Tsatsomeros and Li runs:
    M is P if and only if M_11 > 0 and both M without its first row and column and the Schur complement
    of M_11 are P.

    >>> is_p_matrix(np.array([[1.0, -3.0], [0.0, 1.0]])), is_p_matrix(np.array([[1.0, 2.0], [2.0, 1.0]]))
    (True, False)
    """
    scale = np.abs(M).max(initial=0.0)
    if (M.diagonal() <= 0.0).any():
        return False
    if smallest_eigenvalue(M) > len(M) * ROUNDING * scale:
        return True
    return _has_positive_minors(M) if len(M) <= largest else None


def _has_positive_minors(M: Array) -> bool:
    if len(M) == 0:
        return True
    if M[0, 0] <= ROUNDING * np.abs(M).max():
        return False
    rest = M[1:, 1:]
    return _has_positive_minors(rest) and _has_positive_minors(rest - np.outer(M[1:, 0], M[0, 1:]) / M[0, 0])


def is_copositive_plus(M: Array) -> bool | None:
    """A hint whether xᵀM x ≥ 0 for x ≥ 0, and (M + Mᵀ) x = 0 where it vanishes.

    True for positive semidefinite matrices and for nonnegative ones with a positive diagonal, False when a
    2×2 principal block forbids it, None otherwise: the question is hard in general.

    >>> is_copositive_plus(np.array([[1.0, 2.0], [2.0, 1.0]]))
    True
    >>> is_copositive_plus(np.array([[0.0, 1.0], [0.0, 1.0]])), is_copositive_plus(np.array([[-1.0]]))
    (False, False)
    """
    if is_positive_semidefinite(M):
        return True
    diagonal, twice = M.diagonal(), M + M.T
    if (M >= 0.0).all() and (diagonal > 0.0).all():
        return True
    slack = ROUNDING * np.abs(M).max(initial=0.0)
    if (diagonal < -slack).any():
        return False
    root = np.sqrt(np.maximum(diagonal, 0.0))
    if (twice < -2.0 * np.outer(root, root) - slack).any():
        return False
    # x = e_i has no energy, so row i of M + Mᵀ must vanish.
    idle = diagonal <= slack
    return False if (np.abs(twice[idle]) > slack).any() else None
