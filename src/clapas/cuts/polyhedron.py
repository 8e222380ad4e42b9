"""The reverse polar of a polyhedron given by its rows, as points and rays in closed form.

For Q = {x : A x ≤ b}, not empty and without the origin, sort the rows by the sign of b: I₋, I₀, I₊. Farkas's
lemma gives the normals of Q as the image under Aᵀ of the cone {u ≥ 0, b·u ≤ 0}, whose extreme rays are

    E = {e_i : i ∈ I₋ ∪ I₀} ∪ {b_j e_i − b_i e_j : i ∈ I₋, j ∈ I₊},

and the reverse polar as

    Q⁻ = {d : d·x ≤ −1 on Q} = conv{−a_i/b_i : i ∈ I₋} + cone(Aᵀ E).

Each generator is a row of A or a sum of two: sparse rows give sparse cuts. The nearest point of Q⁻ to the
origin is the deepest cut, q* = −d*/|d*|² the nearest point of Q.

Reference: Cadoux 2009, lemmas 7.5, 7.7 and 7.11, (7.6) to (7.10), example 7.10, 7.3.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from clapas.convex.min_norm_point import MinNormPoint, min_norm_point
from clapas.cuts.disjunction import NothingToSeparate
from clapas.cuts.lp import LinearProgram, Outcome
from clapas.errors import ProblemError
from clapas.typing import Array, Mask

COMBINATION = 1e-9  # relative distance of a vector to a cone below which it belongs to it


@dataclass(frozen=True, eq=False)
class ReversePolar:
    """Q⁻ = conv(points) + cone(generators) of a polyhedron that does not contain the origin.

    Parameters
    ----------
    points : array (k, n)
        −a_i/b_i of the rows that the origin violates.
    generators : array (l, n)
        Generators of the normal cone of Q; not all of them need be extreme.

    Examples
    --------
    The square with corners (−3, ±1) and (−1, ±1):

    >>> polar = ReversePolar.of([[0, 1], [1, 0], [0, -1], [-1, 0]], [1, -1, 1, 3])
    >>> polar.points
    array([[1., 0.]])
    >>> polar.generators
    array([[ 1.,  0.],
           [ 1.,  1.],
           [ 1., -1.],
           [ 2.,  0.]])
    >>> polar.generators[polar.extreme_rays()]
    array([[ 1.,  1.],
           [ 1., -1.]])
    >>> polar.deepest().x
    array([1., 0.])
    """

    points: Array
    generators: Array

    @classmethod
    def of(cls, A: npt.ArrayLike, b: npt.ArrayLike, point: npt.ArrayLike | None = None) -> ReversePolar:
        """The reverse polar of {x : A x ≤ b}, seen from a point (by default the origin).

        Raises
        ------
        NothingToSeparate
            The point is in the polyhedron.
        ProblemError
            The polyhedron is empty: every inequality is valid, and the formula would give too few.
        """
        rows, right = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
        if rows.ndim != 2 or right.shape != rows.shape[:1]:
            raise ProblemError(f"A must be (m, n) and b (m,), got {rows.shape} and {right.shape}")
        if point is not None:
            right = right - rows @ np.asarray(point, dtype=float)
        minus, zero, plus = (np.flatnonzero(each) for each in (right < 0.0, right == 0.0, right > 0.0))
        if len(minus) == 0:
            raise NothingToSeparate("nothing to separate: the point satisfies all rows of the polyhedron")
        if _is_empty(rows, right):
            raise ProblemError(
                "the polyhedron is empty: every inequality is valid for it, and none means anything"
            )
        pairs = [
            right[j] * rows[i] - right[i] * rows[j] for i in minus for j in plus
        ]  # sum of a violated and a satisfied row, through the origin
        singles = rows[np.sort(np.concatenate((minus, zero)))]
        return cls(
            -rows[minus] / right[minus, None],
            np.vstack((singles, np.array(pairs).reshape(-1, rows.shape[1]))) + 0.0,
        )

    def extreme_rays(self) -> Mask:
        """Which generators are extreme rays of the normal cone; of parallel ones the last."""
        return _not_generated(self.generators)

    def deepest(self) -> MinNormPoint:
        """The deepest cut, decomposed in points (which expose facets) and rays."""
        return min_norm_point(self.points, self.generators)

    def contains(self, d: npt.ArrayLike, tol: float = 1e-9) -> bool:
        """Whether d·x ≤ −1 is valid on Q: whether d is in conv(points) + cone(generators)."""
        target = np.asarray(d, dtype=float)
        size = max(1.0, float(np.abs(target).max(initial=0.0)))
        columns = np.hstack((self.points.T, self.generators.T))
        ones = np.concatenate((np.ones(len(self.points)), np.zeros(len(self.generators))))
        _, error = nnls(np.vstack((size * ones, columns)), np.append(size, target))
        return bool(error <= tol * size)


def _is_empty(A: Array, b: Array) -> bool:
    n = A.shape[1]
    free = np.full(n, np.inf)
    solved = LinearProgram(np.zeros(n), A, np.full(len(b), -np.inf), b, -free, free).solve()
    return solved.outcome is Outcome.INFEASIBLE


def _not_generated(vectors: Array) -> Mask:
    """Which vectors are no nonnegative combination of the others; of parallel ones the last is kept."""
    lengths = np.linalg.norm(vectors, axis=1)
    units = vectors / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    kept = lengths > 0.0
    for k in range(len(units)):
        if not kept[k]:
            continue
        others = kept.copy()
        others[k] = False
        if others.any() and nnls(units[others].T, units[k])[1] <= COMBINATION:
            kept[k] = False
    return np.asarray(kept)
