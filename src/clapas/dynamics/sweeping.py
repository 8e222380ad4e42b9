"""Moreau's sweeping process: a point that a moving set pushes along.

A point q(t) must stay in a moving closed set Φ(t). It rests while it is inside and, when the boundary
reaches it, moves along the inward normal just enough:

    −dq/dt ∈ N_Φ(t)(q).

The catching-up algorithm projects on the set of the new instant, q ← proj(q, Φ(t)). When Φ(t) is
{f(t, x) ≤ 0}, the velocity on the boundary is −(f_t/|∇f|²) ∇f and an explicit step follows it.

Reference: Moreau 2003, section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from clapas.errors import ProblemError
from clapas.typing import Array

NEWTON_STEPS = 100


class Projects(Protocol):
    """A convex set with a projection (see :mod:`clapas.convex`)."""

    def project(self, x: Array) -> Array:
        """Nearest points of the set, row by row."""
        ...


def catching_up(moving_set: Callable[[float], Projects], q0: npt.ArrayLike, times: npt.ArrayLike) -> Array:
    """Follow a point swept by a moving convex set, by successive projections.

    Parameters
    ----------
    moving_set : callable
        Time ↦ the set at that time, an object with ``project((1, k) array)``.
    q0 : array (k,)
        Start; it is projected on the set of the first instant.
    times : array (n,)
        Instants, increasing.

    Returns
    -------
    array (n, k)
        The point at each instant.

    Examples
    --------
    A half-line x ≥ t pushes a point that starts at 1: it rests until t = 1.

    >>> from clapas.convex import Interval
    >>> path = catching_up(lambda t: Interval(np.array([t]), np.array([np.inf])), [1.0], [0.0, 0.5, 1.5, 2.0])
    >>> path.ravel()
    array([1. , 1. , 1.5, 2. ])
    """
    return _caught_up(lambda t, q: np.asarray(moving_set(t).project(q[None])).reshape(q.shape), q0, times)


def catching_up_levels(
    f: Callable[[float, Array], float],
    gradient: Callable[[float, Array], Array],
    q0: npt.ArrayLike,
    times: npt.ArrayLike,
) -> Array:
    """The same for Φ(t) = {f(t, x) ≤ 0}: the implicit step, a projection found by Newton's method.

    The nearest point q of the boundary has q − q_old = −λ ∇f(t, q), f(t, q) = 0. Suits convex or
    smooth level functions; the step must be small against the curvature of the boundary.
    """
    return _caught_up(lambda t, q: _onto_level(f, gradient, t, q), q0, times)


def catching_up_inequalities(
    f: Callable[[float, Array], Array],
    jacobian: Callable[[float, Array], Array],
    q0: npt.ArrayLike,
    times: npt.ArrayLike,
) -> Array:
    """The same for a set given by several inequalities, Φ(t) = {f_1(t, x) ≤ 0, …, f_m(t, x) ≤ 0}.

    Each step projects on the set of the new instant: the inequalities are linearised, the nearest point of
    the polyhedron is found exactly, and this is repeated until it does not move. In a corner the point is
    pushed by several inequalities at once. Suits convex or smooth sets; the step must be small against the
    curvature of the boundary.

    Parameters
    ----------
    f, jacobian : callables
        (t, x) ↦ the m values f, and their derivatives (m, k) with respect to x.
    q0 : array (k,)
        Start; it is projected on the set of the first instant.
    times : array (n,)
        Instants, increasing.

    Examples
    --------
    Two walls, x ≥ t and y ≥ 0, that close a corner push a point along:

    >>> walls = lambda t, x: np.array([t - x[0], -x[1]])
    >>> slopes = lambda t, x: -np.eye(2)
    >>> catching_up_inequalities(walls, slopes, [0.5, -1.0], [0.0, 2.0]).round(12) + 0.0
    array([[0.5, 0. ],
           [2. , 0. ]])
    """
    return _caught_up(lambda t, q: _onto_inequalities(f, jacobian, t, q), q0, times)


def explicit_sweeping(
    f: Callable[[float, Array], float],
    gradient: Callable[[float, Array], Array],
    rate: Callable[[float, Array], float],
    q0: npt.ArrayLike,
    times: npt.ArrayLike,
) -> Array:
    """The same by explicit steps q + h γ(t, q), γ = −(f_t/|∇f|²) ∇f on the boundary when f_t > 0.

    ``rate`` is f_t. Errors accumulate to first order in the step, where the implicit method stays on
    the set.
    """
    times = _increasing(times)
    q = np.atleast_1d(np.asarray(q0, dtype=float)).copy()
    path = np.empty((len(times), len(q)))
    path[0] = q
    for k, (t, t_next) in enumerate(pairwise(times)):
        slope = gradient(float(t), q)
        speed = max(0.0, rate(float(t), q))
        if f(float(t), q) >= 0.0:
            q = q - (t_next - t) * speed / float(slope @ slope) * slope
        path[k + 1] = q
    return path


def _caught_up(projected: Callable[[float, Array], Array], q0: npt.ArrayLike, times: npt.ArrayLike) -> Array:
    """The path (n, k) of a point that is projected on the set of each instant; (t, q) ↦ the projection."""
    times = _increasing(times)
    q = np.atleast_1d(np.asarray(q0, dtype=float))
    path = np.empty((len(times), len(q)))
    for k, t in enumerate(times):
        q = projected(float(t), q)
        path[k] = q
    return path


def _onto_level(
    f: Callable[[float, Array], float], gradient: Callable[[float, Array], Array], t: float, start: Array
) -> Array:
    q = start
    if f(t, start) <= 0.0:
        return q
    for _ in range(NEWTON_STEPS):
        slope = gradient(t, q)
        square = float(slope @ slope)
        if square == 0.0:
            raise ProblemError(f"the gradient vanishes at {q.tolist()}, t = {t}: no normal to follow")
        # Step to the level along the normal, keeping q − start parallel to it.
        along = float((start - q) @ slope) / square
        new = start - (along + f(t, q) / square) * slope
        if np.abs(new - q).max() <= 1e-15 * (1.0 + np.abs(q).max()):
            return np.asarray(new)
        q = new
    raise ProblemError(
        f"no projection found on the set at t = {t}: the steps are too long for the curvature of its boundary"
    )


def _onto_inequalities(
    f: Callable[[float, Array], Array], jacobian: Callable[[float, Array], Array], t: float, start: Array
) -> Array:
    q = start
    for _ in range(NEWTON_STEPS):
        slopes = np.atleast_2d(np.asarray(jacobian(t, q), dtype=float))
        values = np.atleast_1d(np.asarray(f(t, q), dtype=float))
        # f(q) + J (y − q) ≤ 0 is −J (y − start) ≥ f(q) + J (start − q).
        new = start + _least_displacement(-slopes, values + slopes @ (start - q), t)
        if np.abs(new - q).max(initial=0.0) <= 1e-14 * (1.0 + np.abs(q).max(initial=0.0)):
            return new
        q = new
    raise ProblemError(
        f"no projection found on the set at t = {t}: the steps are too long for the curvature of its boundary"
    )


def _least_displacement(A: Array, b: Array, t: float) -> Array:
    """The least z with A z ≥ b, by nonnegative least squares on its dual (Lawson, Hanson 1974, ch. 23)."""
    if (b <= 0.0).all():
        return np.zeros(A.shape[1])
    size = float(np.abs(b).max())
    E = np.vstack((A.T, b[None] / size))
    target = np.append(np.zeros(A.shape[1]), 1.0)
    multipliers, _ = nnls(E, target)
    rest = E @ multipliers - target
    if float(rest @ rest) <= 1e-24:
        raise ProblemError(f"the set at t = {t} is empty: its inequalities contradict each other")
    return np.asarray(-size * rest[:-1] / rest[-1])


def _increasing(times: npt.ArrayLike) -> Array:
    values = np.atleast_1d(np.asarray(times, dtype=float))
    if (np.diff(values) < 0).any() or not np.isfinite(values).all():
        raise ProblemError("times must be finite and increasing")
    return values
