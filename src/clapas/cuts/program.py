"""The linear program over the reverse polar of a disjunction: the oracle of all cut generators.

Variables (u_0, v_0, λ_0, u_1, v_1, λ_1), in the letters of :mod:`~clapas.cuts.disjunction`:

    Aᵀu_0 + v_0 p_0 = Aᵀu_1 + v_1 p_1  (= d)
    a_i v_i − b·u_i − a_i λ_i = 1,    i = 0, 1
    Σu_0 + λ_0 + Σu_1 + λ_1 ≤ N

all nonnegative. The v_i are kept for sparsity: without them, the rank-one terms p_i bᵀ/a_i would
fill the matrix. N bounds the set, which has rays (the normals of valid inequalities that pass through the
point); an infinite N leaves it unbounded.

Reference: Cadoux 2009, theorem 7.16, (7.15), (7.27).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.convex.min_norm_point import Extreme
from clapas.cuts.cut import Cut
from clapas.cuts.disjunction import Disjunction
from clapas.cuts.lp import LinearProgram, Outcome
from clapas.errors import ProblemError
from clapas.typing import Array


def cut_rows(disjunction: Disjunction) -> tuple[sparse.csr_array, Array]:
    """Equations of the multipliers: a matrix (n + 2, 2 m + 4) and its right-hand side."""
    n = disjunction.A.shape[1]
    At = sparse.csr_array(disjunction.A.T)
    (p_0, p_1), (a_0, a_1) = disjunction.normals[:, :, None], disjunction.offsets
    b, none = sparse.csr_array(-disjunction.b[None, :]), sparse.csr_array((n, 1))
    rows = sparse.block_array(
        [
            [At, sparse.csr_array(p_0), none, -At, sparse.csr_array(-p_1), none],
            [b, [[a_0]], [[-a_0]], None, None, None],
            [None, None, None, b, [[a_1]], [[-a_1]]],
        ],
        format="csr",
    )
    return rows, np.concatenate((np.zeros(n), np.ones(2)))


def size_row(disjunction: Disjunction) -> sparse.csr_array:
    """Coefficients (1, 2 m + 4) of the normalised sum Σu_0 + λ_0 + Σu_1 + λ_1."""
    m = disjunction.A.shape[0]
    row = np.ones((1, 2 * m + 4))
    row[0, [m, 2 * m + 2]] = 0.0  # v_0 and v_1 follow from the others
    return sparse.csr_array(row)


def direction_rows(disjunction: Disjunction) -> sparse.csr_array:
    """The matrix (n, 2 m + 4) of d = Aᵀu_0 + v_0 p_0."""
    m, n = disjunction.A.shape
    first_branch = sparse.hstack((disjunction.A.T, sparse.csr_array(disjunction.normals[:1].T)))
    return sparse.hstack((first_branch, sparse.csr_array((n, m + 3))), format="csr")


def cut_of(disjunction: Disjunction, z: Array) -> Cut:
    """The cut of a vector of multipliers (2 m + 4,)."""
    z, m = np.maximum(z, 0.0), disjunction.A.shape[0]
    u, v = np.stack((z[:m], z[m + 2 : 2 * m + 2])), np.array([z[m], z[2 * m + 2]])
    return Cut(disjunction.A.T @ u[0] + v[0] * disjunction.normals[0], u, v)


class CutProgram:
    """Linear programs over Q⁻, bounded by a normalisation, each from the basis of the last.

    Parameters
    ----------
    disjunction : Disjunction
        The disjunction.
    N : float
        Bound on the sum of the multipliers; infinite for none.
    extra : tuple (rows (k, 2 m + 4), lower (k,), upper (k,)), optional
        More constraints on the multipliers.

    Attributes
    ----------
    answers : list of Cut
        Results of :meth:`oracle`; rays too, as ``Cut`` with a right-hand side of zero.
    pivots : int
        Simplex iterations of all solves.
    """

    def __init__(
        self,
        disjunction: Disjunction,
        N: float = np.inf,
        extra: tuple[sparse.sparray, Array, Array] | None = None,
    ) -> None:
        self.disjunction, self.N = disjunction, N
        self.answers: list[Cut] = []
        self.pivots = 0
        m = disjunction.A.shape[0]
        self._m = m
        rows, right = cut_rows(disjunction)
        parts = [rows, size_row(disjunction)]
        lower, upper = [right, np.array([-np.inf])], [right, np.array([N])]
        if extra is not None:
            parts, lower, upper = [*parts, extra[0]], [*lower, extra[1]], [*upper, extra[2]]
        self.program = LinearProgram(
            np.zeros(2 * m + 4),
            sparse.vstack(parts, format="csc"),
            np.concatenate(lower),
            np.concatenate(upper),
            np.zeros(2 * m + 4),
            np.full(2 * m + 4, np.inf),
        )

    def costs(self, direction: Array) -> Array:
        """Costs of the multipliers whose sum is direction·d."""
        row_costs = self.disjunction.A @ direction
        tail = [float(self.disjunction.normals[0] @ direction), 0.0]
        return np.concatenate((row_costs, tail, np.zeros(self._m + 2)))

    def solve(self, costs: Array) -> tuple[Cut, Outcome]:
        """The cut whose multipliers minimise these costs; a ray of Q⁻ if the program is unbounded."""
        solved = self.program.solve(costs)
        self.pivots += self.program.pivots
        if solved.outcome is Outcome.INFEASIBLE:
            raise ProblemError(
                f"no multipliers with a sum up to N = {self.N:.3g} give a cut: raise the normalisation, "
                "or the point cannot be separated"
            )
        if solved.outcome is Outcome.UNBOUNDED and not solved.x.any():
            raise ProblemError(
                "the linear program over the reverse polar is unbounded along no known ray: bound N"
            )
        return cut_of(self.disjunction, solved.x), solved.outcome

    def oracle(self, x: Array) -> Extreme:
        """Minimise x·d over Q⁻, as :func:`~clapas.convex.min_norm_point.min_norm_point_of` asks for it."""
        cut, outcome = self.solve(self.costs(x))
        self.answers.append(cut)
        return Extreme(cut.d, outcome is Outcome.UNBOUNDED)
