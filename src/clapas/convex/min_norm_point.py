"""Wolfe's method: nearest point to the origin of a convex set given by its extreme points and rays.

The set is C = conv(p_1 … p_k) + cone(r_1 … r_l), given as a list or by an *oracle* that minimises linear
functions over it. Wolfe's method keeps a few of the points, the *corral*, together with the weights of
x among them. A major cycle finds the extreme point p that minimises x·p: if x·p ≥ x·x the hyperplane through
x separates C from the origin, and x is the nearest point. Otherwise p joins the corral, and minor cycles move
towards the nearest point of the affine hull of the corral, dropping points whose weights would become
negative. The method ends with the nearest point *and* its decomposition, in at most n + 1 points and rays.

The nearest point of an affine hull is a least-squares solution. With the columns a_i = (σ, p_i) for points
and a_j = (0, r_j) for rays, any σ > 0, the vector

    v = argmin |A v − e_0|,    A = [a_1 … a_k],

divided by its sum over the points is the weight of the nearest point of aff(p_i) + span(r_j): the normal
equations read p_i·x = constant for all points and r_j·x = 0 for all rays. Wolfe solves them with a Cholesky
factor of AᵀA; here A = Q R is kept, orthogonalised twice when a column is added and restored by rotations
when one is removed, so that the error grows with the condition of A and not with its square. σ is the length
of the first point, so that neither part of a column dominates the other.

In exact arithmetic a point that improves x is never in the affine hull of the corral. In floating point it
may be, within rounding: then no progress is possible, the method stops, and ``gap`` bounds the error of
the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr_delete, solve_triangular

from clapas.errors import ProblemError, SettingsError
from clapas.typing import Array, Indices, Mask

DEPENDENT = 1e-12  # relative part of a new column outside the span of the corral that counts as rounding
TINY_WEIGHT = 1e-14  # weights below this are zero


class Extreme(NamedTuple):
    """An extreme point of C, or with ``is_ray`` the direction of an extreme ray."""

    value: Array
    is_ray: bool = False


Oracle = Callable[[Array], Extreme]


@dataclass(frozen=True, eq=False)
class MinNormPoint:
    """The nearest point to the origin and its decomposition, x = Σ w_i p_i, in points and rays.

    Parameters
    ----------
    x : array (n,)
        The nearest point.
    points : array (k, n)
        Extreme points and rays of the decomposition.
    weights : array (k,)
        Positive; those of the points sum to one.
    is_ray : array (k,) of bool
        Which of them are rays.
    gap : float
        x·x − min x·p over C, by the last call of the oracle: |x − x*|² ≤ gap. Infinite if that call returned
        a ray that improves x, by less than the tolerance.
    calls : int
        Calls of the oracle.
    places : array (k,) of int
        Indices of the points in the list given (points first, then rays); with an oracle 0 for the start and
        k for the result of its k-th call.
    """

    x: Array
    points: Array
    weights: Array
    is_ray: Mask
    gap: float
    calls: int
    places: Indices

    @property
    def distance(self) -> float:
        """Distance |x| from the origin."""
        return float(np.linalg.norm(self.x))


def min_norm_point(
    points: npt.ArrayLike, rays: npt.ArrayLike | None = None, *, tol: float = 1e-12
) -> MinNormPoint:
    """Nearest point to the origin of conv(points) + cone(rays), with its decomposition.

    Parameters
    ----------
    points : array (k, n)
        At least one point; duplicates and affinely dependent points are allowed.
    rays : array (l, n), optional
        Directions of rays, of any length; zeros are ignored.
    tol : float
        See :func:`min_norm_point_of`.

    References
    ----------
    Wolfe 1976; Cadoux 2009, 7.1.1 to 7.1.3.

    Examples
    --------
    >>> nearest = min_norm_point([[2.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
    >>> nearest.x, nearest.weights, nearest.places
    (array([1., 1.]), array([0.5, 0.5]), array([0, 1]))

    With the ray (−1, 0) the set reaches further:

    >>> nearest = min_norm_point([[2.0, 1.0]], rays=[[-1.0, 0.0]])
    >>> nearest.x, nearest.weights, nearest.is_ray
    (array([0., 1.]), array([1., 2.]), array([False,  True]))
    """
    listed = np.array(points, dtype=float, ndmin=2)
    directions = np.zeros((0, listed.shape[1])) if rays is None else np.array(rays, dtype=float, ndmin=2)
    if listed.size == 0 or listed.ndim != 2 or directions.shape[1:] != listed.shape[1:]:
        raise ProblemError(
            f"points must be (k, n) with k ≥ 1 and rays (l, n), got {listed.shape} and {directions.shape}"
        )
    if not (np.isfinite(listed).all() and np.isfinite(directions).all()):
        raise ProblemError("points and rays must be finite, got NaN or infinity")
    lengths = np.linalg.norm(directions, axis=1)
    units = directions / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    returned: list[int] = []

    def extreme(x: Array) -> Extreme:
        slopes = units @ x
        steepest = int(np.argmin(slopes)) if len(units) else -1
        if steepest >= 0 and slopes[steepest] < -tol * np.linalg.norm(x):
            returned.append(len(listed) + steepest)
            return Extreme(directions[steepest], is_ray=True)
        returned.append(int(np.argmin(listed @ x)))
        return Extreme(listed[returned[-1]])

    first = int(np.argmin(np.linalg.norm(listed, axis=1)))
    nearest = _Corral(listed[first]).run(extreme, tol, 10 * (len(listed) + len(units) + listed.shape[1]))
    places = np.array([first, *returned])[nearest.places]
    return replace(nearest, points=np.vstack((listed, directions))[places], places=places)


def min_norm_point_of(
    oracle: Oracle, start: npt.ArrayLike, *, tol: float = 1e-10, max_calls: int = 10_000
) -> MinNormPoint:
    """Nearest point to the origin of a convex set C known by an oracle.

    Parameters
    ----------
    oracle : callable
        ``oracle(x)`` returns an :class:`Extreme` of C: the point that minimises x·p, or a ray with x·r < 0.
    start : array (n,)
        A point of C, extreme if the points of the decomposition are to be.
    tol : float
        Stops when x·x − x·p ≤ tol |x| s, with s the largest |p_i| of the corral and of p, since x·p is known
        only up to rounding; or |x| ≤ tol s, the origin being in C; or a ray of length one has
        x·r ≥ −tol |x|.
    max_calls : int
        Calls of the oracle, after which the best point so far is returned with its gap.

    References
    ----------
    Wolfe 1976; Cadoux 2009, algorithm 7.1 and remark 7.2 (the oracle in place of the list).

    Examples
    --------
    The unit disc about (2, 0) has an oracle in closed form, and infinitely many extreme points:

    >>> def disc(x):
    ...     return Extreme(np.array([2.0, 0.0]) - x / np.linalg.norm(x))
    >>> min_norm_point_of(disc, [2.0, 1.0], tol=1e-12).distance
    1.0
    """
    if not tol > 0.0:
        raise SettingsError(f"tol must be positive, got {tol}")
    first = np.array(start, dtype=float)
    if first.ndim != 1 or not np.isfinite(first).all():
        raise ProblemError(f"start must be a finite vector, got {start!r}")
    return _Corral(first).run(oracle, tol, max_calls)


class _Corral:
    """Points and rays in use with their weights, and the factors Q R of their columns (σ, p) or (0, r).

    Rays are scaled by a power of two to about the length of the first point, so that weights are of order
    one.
    """

    def __init__(self, start: Array) -> None:
        self.sigma = float(np.linalg.norm(start)) or 1.0
        self.points = np.zeros((0, len(start)))
        self.is_ray = np.zeros(0, dtype=bool)
        self.scales = np.zeros(0)  # the given vectors are the stored ones times this
        self.places = np.zeros(0, dtype=int)  # 0 is the start, k the result of the k-th call of the oracle
        self.weights = np.zeros(0)
        self.Q, self.R = np.zeros((len(start) + 1, 0)), np.zeros((0, 0))
        self._append(Extreme(start), 0)
        self.weights[:] = 1.0

    def run(self, oracle: Oracle, tol: float, max_calls: int) -> MinNormPoint:
        """Major cycles until no extreme point improves."""
        gap = np.inf
        for call in range(1, max_calls + 1):
            x = self.weights @ self.points
            distance = float(np.linalg.norm(x))
            new = oracle(x)
            slope = float(x @ new.value)
            if new.is_ray:
                gap = 0.0 if slope >= 0.0 else np.inf
                converged = slope >= -tol * distance * float(np.linalg.norm(new.value))
            else:
                gap = max(0.0, distance**2 - slope)
                longest = float(
                    np.linalg.norm(np.vstack((self.points[~self.is_ray], new.value)), axis=1).max()
                )
                converged = distance <= tol * longest or gap <= tol * longest * distance
            if converged or not self._append(new, call):
                break
            self._move()
        return MinNormPoint(
            x=np.asarray(self.weights @ self.points),
            points=self.points * self.scales[:, None],
            weights=self.weights / self.scales,
            is_ray=self.is_ray,
            gap=gap,
            calls=call,
            places=self.places,
        )

    def _append(self, new: Extreme, place: int) -> bool:
        """Append a column to the factors; False if it depends on those present, within rounding."""
        scale = 2.0 ** round(np.log2(np.linalg.norm(new.value) / self.sigma)) if new.is_ray else 1.0
        column = np.concatenate(([0.0 if new.is_ray else self.sigma], new.value / scale))
        length = float(np.linalg.norm(column))
        part = self.Q.T @ column
        rest = column - self.Q @ part
        again = self.Q.T @ rest  # once is not enough where the column is nearly in the span
        rest -= self.Q @ again
        height = float(np.linalg.norm(rest))
        if height <= DEPENDENT * length:
            return False
        k = len(self.R)
        R = np.zeros((k + 1, k + 1))
        R[:k, :k], R[:k, k], R[k, k] = self.R, part + again, height
        self.Q, self.R = np.column_stack((self.Q, rest / height)), R
        self.points = np.vstack((self.points, column[1:]))
        self.scales = np.append(self.scales, scale)
        self.is_ray = np.append(self.is_ray, new.is_ray)
        self.places = np.append(self.places, place)
        self.weights = np.append(self.weights, 0.0)
        return True

    def _move(self) -> None:
        """Minor cycles: move to the nearest point of the affine hull, dropping points of negative weight."""
        while True:
            v = solve_triangular(self.R, self.Q[0])
            v /= v[~self.is_ray].sum()
            if (v > TINY_WEIGHT).all():
                self.weights = v
                return
            # Largest step from the weights towards v at which none is negative.
            decreasing = v <= TINY_WEIGHT
            steps = self.weights[decreasing] / np.maximum(
                self.weights[decreasing] - v[decreasing], np.finfo(float).tiny
            )
            step = min(1.0, float(steps.min()))
            moved = (1.0 - step) * self.weights + step * v
            first = np.flatnonzero(decreasing)[int(np.argmin(steps))]
            removed = moved <= TINY_WEIGHT
            removed[first] = True  # rounding may leave a residue; without this the cycle need not end
            self.weights = moved
            for k in np.flatnonzero(removed)[::-1]:
                self._remove(int(k))
            self.weights /= self.weights[~self.is_ray].sum()

    def _remove(self, k: int) -> None:
        self.Q, self.R = qr_delete(self.Q, self.R, k, which="col")
        size = len(self.points) - 1
        self.Q, self.R = self.Q[:, :size], self.R[:size]
        self.points = np.delete(self.points, k, axis=0)
        self.is_ray, self.places = np.delete(self.is_ray, k), np.delete(self.places, k)
        self.weights, self.scales = np.delete(self.weights, k), np.delete(self.scales, k)
