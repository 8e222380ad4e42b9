"""Two-branch disjunctions: two parts of a polyhedron that exclude the current point.

A relaxation {x : A x ≤ b} contains a point x̄ that the true problem excludes, since every solution satisfies
one of two more inequalities. Seen from x̄ (which becomes the origin, b ← b − A x̄ ≥ 0) the branches are

    Q_i = {x : A x ≤ b, p_i·x ≤ −a_i},    a_i > 0,    i = 0, 1,

and every cut that excludes the origin from Q = cl conv(Q_0 ∪ Q_1) is an element of the *reverse polar*

    Q⁻ = {d : d·x ≤ −1 for all x ∈ Q} = Q_0⁻ ∩ Q_1⁻.

Each Q_i has a single row with a negative right-hand side, so that by Farkas's lemma d ∈ Q⁻ if and only if
there are multipliers u_i ≥ 0 (m each), λ_i ≥ 0 with

    d = (Aᵀ + p_i bᵀ/a_i) u_i + (1/a_i + λ_i) p_i,    i = 0, 1.

With v_i = 1/a_i + b·u_i/a_i + λ_i this reads d = Aᵀu_i + v_i p_i, b·u_i − a_i v_i = −1 − a_i λ_i ≤ −1, the
sum of rows that proves the cut on branch i.

Integer variables give p_0 = π, p_1 = −π (:meth:`Disjunction.split`). Complementarity x_i = 0 or y_i = 0, with
y = M x + q, gives two different normals, p_0 = e_i and p_1 = row i of M
(:meth:`Disjunction.complementarity`). If a branch is empty, the multipliers describe a subset of Q⁻ and the
cuts stay valid.

Reference: Cadoux 2009, (6.2), (6.6), (7.13) with the upper branch corrected, theorem 7.16, 7.3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.errors import ProblemError
from clapas.typing import Array, Indices

ON_ROW = 1e-9  # slack, relative to the size of a row, below which the point is on it


class NothingToSeparate(ProblemError):
    """The point satisfies one of the branches: no valid inequality excludes it by this disjunction."""


@dataclass(frozen=True, eq=False)
class Disjunction:
    """Two branches of a polyhedron, seen from a point that neither contains.

    Parameters
    ----------
    A : sparse matrix (m, n)
        Rows of the relaxation.
    b : array (m,)
        Slacks of the rows at the point, not negative; exact zeros on the rows through it.
    normals : array (2, n)
        p_0 and p_1.
    offsets : array (2,)
        a_0 and a_1, by how much the point violates each branch.
    point : array (n,)
        x̄, in the coordinates of the problem.

    Examples
    --------
    max x₂ under 3x₁ + 2x₂ ≤ 6, −3x₁ + 2x₂ ≤ 0, x ≥ 0 is attained at (1, 3/2); x₂ ≤ 1 or x₂ ≥ 2:

    >>> A, b = [[3.0, 2.0], [-3.0, 2.0], [-1.0, 0.0], [0.0, -1.0]], [6.0, 0.0, 0.0, 0.0]
    >>> disjunction = Disjunction.split(A, b, [1.0, 1.5], 1)
    >>> disjunction.normals, disjunction.offsets
    (array([[ 0.,  1.],
           [-0., -1.]]), array([0.5, 0.5]))
    """

    A: sparse.csr_array
    b: Array
    normals: Array
    offsets: Array
    point: Array

    @classmethod
    def of(
        cls, A: Any, b: npt.ArrayLike, point: npt.ArrayLike, normals: npt.ArrayLike, bounds: npt.ArrayLike
    ) -> Disjunction:
        """The disjunction normals[0]·x ≤ bounds[0] or normals[1]·x ≤ bounds[1] on {A x ≤ b}, seen from a
        point.

        Raises
        ------
        NothingToSeparate
            The point satisfies one of the two.
        ProblemError
            The shapes do not fit, or the point is outside {A x ≤ b}.
        """
        rows = sparse.csr_array(A, dtype=float)
        right, x = np.asarray(b, dtype=float), np.asarray(point, dtype=float)
        p, beta = np.asarray(normals, dtype=float), np.asarray(bounds, dtype=float)
        m, n = rows.shape
        if right.shape != (m,) or x.shape != (n,) or p.shape != (2, n) or beta.shape != (2,):
            raise ProblemError(
                f"A is {m} by {n}: b must be ({m},), the point ({n},), two normals (2, {n}) and bounds (2,), "
                f"got {right.shape}, {x.shape}, {p.shape} and {beta.shape}"
            )
        size = np.maximum(1.0, np.abs(right) + abs(rows) @ np.abs(x))
        slack = right - rows @ x
        slack[np.abs(slack) <= ON_ROW * size] = 0.0
        if (slack < 0.0).any():
            worst = int(np.argmin(slack / size))
            raise ProblemError(
                f"the point violates row {worst} of the relaxation by {-slack[worst]:.3g}: "
                "only points of {A x ≤ b} are separated"
            )
        offsets = p @ x - beta
        scale = np.maximum(1.0, np.abs(beta) + np.abs(p) @ np.abs(x))
        inside = np.flatnonzero(offsets <= ON_ROW * scale)
        if len(inside):
            raise NothingToSeparate(
                f"nothing to separate: the point satisfies branch {inside[0]} of the disjunction "
                f"({p[inside[0]] @ x:.6g} ≤ {beta[inside[0]]:.6g})"
            )
        return cls(rows, slack, p, offsets, x)

    @classmethod
    def split(cls, A: Any, b: npt.ArrayLike, point: npt.ArrayLike, variable: int) -> Disjunction:
        """The split x_j ≤ ⌊x̄_j⌋ or x_j ≥ ⌊x̄_j⌋ + 1 of an integer variable."""
        x = np.asarray(point, dtype=float)
        floor = float(np.floor(x[variable] + ON_ROW * max(1.0, abs(x[variable]))))
        pi = np.zeros(len(x))
        pi[variable] = 1.0
        return cls.of(A, b, x, [pi, -pi], [floor, -floor - 1.0])

    @classmethod
    def complementarity(
        cls,
        A: Any,
        b: npt.ArrayLike,
        point: npt.ArrayLike,
        variable: int,
        row: npt.ArrayLike,
        constant: float,
    ) -> Disjunction:
        """The disjunction x_i ≤ 0 or row·x + constant ≤ 0, where both are known to be at least zero."""
        n = len(np.asarray(point))
        return cls.of(A, b, point, [np.eye(n)[variable], np.asarray(row)], [0.0, -float(constant)])

    @property
    def active(self) -> Indices:
        """Rows through the point."""
        return np.flatnonzero(self.b == 0.0)

    def branch(self, i: int) -> tuple[sparse.csr_array, Array]:
        """Rows and right-hand sides of Q_i, the point being the origin."""
        rows = sparse.vstack((self.A, sparse.csr_array(self.normals[i : i + 1])), format="csr")
        return rows, np.append(self.b, -self.offsets[i])
