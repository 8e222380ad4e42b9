"""The way down from a saddle of an energy: a structure in balance that buckles.

Where the tangent K has a negative eigenvalue, forces balance, but the least push lets the structure move
away: a straight column under more than its critical load, a bar that stands on its tip. Newton's method stays
there, for the forces that would push it out are exactly zero in a symmetric shape.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from clapas.errors import ProblemError
from clapas.linalg.factor import Factor, factorise
from clapas.typing import Array, Indices

ROUNDING = 1e-13  # of the energy, relative to its largest part
ITERATIONS = 200
RAISES = 40  # of the shift by a factor of ten
SETTLED = 1e-2  # relative change of the stiffness of the motion at which it is good enough


def definite_factor(
    K: sparse.csc_array,
    shift: float,
    least: float,
    order: Indices | None = None,
    M: sparse.csc_array | None = None,
) -> tuple[Factor, float]:
    """Factors of K + s M with the first s that makes it definite: ``shift``, then ``least``, times 10, …

    M is the unit matrix by default. All eigenvalues of K x = λ M x are then above −s.

    Examples
    --------
    >>> definite_factor(sparse.csc_array(np.diag([1.0, -0.5])), 0.0, 1e-3)[1]
    1.0
    """
    unit = sparse.eye_array(K.shape[0]) if M is None else M
    for raised in range(RAISES + 1):
        try:
            shifted = K if shift == 0.0 else K + shift * unit
            return factorise(sparse.csr_array(shifted), order), shift
        except ProblemError:
            if raised == RAISES:
                raise  # M is not definite where K is not
            shift = max(10.0 * shift, least)
    raise AssertionError


def buckling_motion(
    K: sparse.csc_array, least: float, order: Indices | None = None, rigid: Array | None = None
) -> Array | None:
    """A motion of negative stiffness, a unit vector; None where there is none but the rigid ones.

    Inverse iteration with K + s I, definite: the motion with the most negative stiffness grows most.

    Parameters
    ----------
    K : sparse array (n_dof × n_dof)
        Tangent stiffness (N/m).
    least : float
        Negative stiffness that counts as none (N/m).
    order : array (n_dof,), optional
        Fill-reducing order.
    rigid : array (n_dof × k), optional
        Orthonormal motions to leave out of consideration.

    Examples
    --------
    >>> K = sparse.csc_array(np.diag([1.0, -0.5, 2.0]))
    >>> abs(buckling_motion(K, 1e-12)).round(1)
    array([0., 1., 0.])
    """
    factor, shift = definite_factor(K, 0.0, least, order)
    if shift <= least:
        return None
    motion, stiffness = np.random.default_rng(0).standard_normal(K.shape[0]), np.inf
    for _ in range(ITERATIONS):
        motion = factor.solve(motion)
        if rigid is not None:
            motion -= rigid @ (rigid.T @ motion)
        motion /= np.linalg.norm(motion)
        before, stiffness = stiffness, float(motion @ (K @ motion))
        if stiffness < -least and abs(stiffness - before) <= SETTLED * abs(stiffness):
            break
    return motion if stiffness < -least else None


def pushed(
    energy: Callable[[Array], float], U: Array, motion: Array, stiffness: float, scale: float, farthest: float
) -> Array | None:
    """Displacements from U as far along a motion, to the better side, as the energy falls, or None.

    Parameters
    ----------
    energy : function
        Potential energy (J) at displacements.
    U : array (n_dof,)
        Displacements in balance (m).
    motion : array (n_dof,)
        Direction.
    stiffness : float
        Second derivative of the energy along the motion, negative.
    scale : float
        Energy that rounding is relative to (J).
    farthest : float
        Multiple of the motion that a step does not exceed.
    """
    now = energy(U)
    first = (200.0 * ROUNDING * scale / -stiffness) ** 0.5  # here the gain stands out of rounding
    paths = [_fall(energy, U, side * motion, first, now, farthest) for side in (1.0, -1.0)]
    least, ahead = min(paths, key=lambda path: path[0])
    return ahead if least < now - ROUNDING * scale else None


def _fall(
    energy: Callable[[Array], float], U: Array, motion: Array, step: float, now: float, farthest: float
) -> tuple[float, Array]:
    """Least energy in steps that double while it falls, and the displacements there."""
    while step <= farthest:
        ahead = U + step * motion
        there = energy(ahead)
        if not there < now:
            break
        now, U, step = there, ahead, 2.0 * step
    return now, U
