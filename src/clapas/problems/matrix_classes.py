"""Classes of matrices on which the theory of complementarity rests, tested numerically.

Deciding whether a matrix is P or copositive is NP-hard in general: the tests return None where they would
take too long or are inconclusive.
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
    """Whether all principal minors are positive; None for large matrices where simple tests do not decide.

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
    """Test whether xᵀM x ≥ 0 for x ≥ 0, and (M + Mᵀ) x = 0 where it vanishes.

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
    zero = diagonal <= slack
    return False if (np.abs(twice[zero]) > slack).any() else None


def least_on_simplex(M: Array, largest: int = LARGEST_P_TEST) -> float | None:
    """The least xᵀM x over x ≥ 0, Σ x_i = 1; None for large matrices: the test visits 2ⁿ faces.

    A minimum inside a face F of the simplex has S_F x = λ 1, S = ½ (M + Mᵀ), and the value λ. If S_F is
    regular, x is along S_F⁻¹ 1. If its kernel is one line, not orthogonal to 1, then λ = 0 and x is on that
    line; in all other cases one can move along the kernel to the border of the face without changing the
    value.

    >>> least_on_simplex(np.array([[1.0, -0.5], [-0.5, 1.0]]))
    0.25
    """
    n = len(M)
    if n == 0 or n > largest:
        return 0.0 if n == 0 else None
    S = 0.5 * (M + M.T)
    slack = n * ROUNDING * np.abs(S).max(initial=0.0)
    least = float(S.diagonal().min())
    for mask in range(1, 1 << n):
        face = [i for i in range(n) if mask >> i & 1]
        if len(face) < 2:
            continue
        values, vectors = np.linalg.eigh(S[np.ix_(face, face)])
        kernel = np.abs(values) <= slack
        if not kernel.any():
            x = vectors @ ((vectors.T @ np.ones(len(face))) / values)
        elif kernel.sum() == 1:
            x = vectors[:, kernel][:, 0]
        else:
            continue
        x = x if x.sum() > 0.0 else -x
        if (x > 0.0).all():
            x = x / x.sum()
            least = min(least, float(x @ S[np.ix_(face, face)] @ x))
    return least


def is_strictly_copositive(M: Array) -> bool | None:
    """Whether xᵀM x > 0 for all x ≥ 0 but zero: then LCP(q, M) has a solution for every q (theorem 4.5).

    None for large matrices where simple tests do not decide.

    >>> is_strictly_copositive(np.array([[1.0, 5.0], [-5.0, 1.0]]))
    True
    >>> is_strictly_copositive(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    False
    """
    slack = len(M) * ROUNDING * np.abs(M).max(initial=0.0)
    if smallest_eigenvalue(M) > slack or ((M >= 0.0).all() and (M.diagonal() > 0.0).all()):
        return True
    if (M.diagonal() <= 0.0).any():
        return False
    least = least_on_simplex(M)
    return None if least is None else bool(least > slack)


def copositive_condition(M: Array, q: Array, largest: int = 12) -> bool | None:
    """Whether theorem 4.6 assures that 0 ≤ x ⟂ M x + q ≥ 0 has a solution.

    It does if M is copositive and v·q ≥ 0 for all v ≥ 0 with M v ≥ 0 and v·M v = 0. Such v solve 0 ≤ v ⟂ M v
    ≥ 0: they are sought on each of the 2ⁿ choices of which v_i may differ from zero, by a linear program.
    False does not mean that there is no solution. None where n is larger than ``largest``.

    References
    ----------
    Cottle, Pang, Stone 1992; Cadoux 2009, theorem 4.6.

    >>> M = np.array([[0.0, 0.0], [0.0, 1.0]])
    >>> copositive_condition(M, np.array([1.0, -1.0])), copositive_condition(M, np.array([-1.0, 0.0]))
    (True, False)
    """
    from scipy.optimize import linprog

    n = len(M)
    if n > largest:
        return None
    slack = max(n, 1) * ROUNDING * max(float(np.abs(M).max(initial=0.0)), 1e-300)
    least = least_on_simplex(M)
    if least is None or least < -slack:
        return None if least is None else False
    for mask in range(1, 1 << n):
        free = np.array([bool(mask >> i & 1) for i in range(n)])
        program = linprog(
            q,
            A_ub=np.vstack((-M[~free], np.zeros((1, n)))),
            b_ub=np.zeros(n - free.sum() + 1),
            A_eq=np.vstack((M[free], np.ones((1, n)))),
            b_eq=np.append(np.zeros(free.sum()), 1.0),
            bounds=[(0.0, None if each else 0.0) for each in free],
        )
        if program.status == 0 and program.fun < -ROUNDING * max(float(np.abs(q).max(initial=0.0)), 1e-300):
            return False
    return True
