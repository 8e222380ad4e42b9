"""A cut, with the multipliers that prove it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.cuts.disjunction import Disjunction
from clapas.typing import Array


@dataclass(frozen=True, eq=False)
class Cut:
    """The inequality d·(x − x̄) ≤ −1, valid on both branches of a disjunction and violated at x̄ by one.

    d is an element of the reverse polar Q⁻. On branch i the multipliers prove its validity: d = Aᵀu_i + v_i
    p_i and b·u_i − a_i v_i ≤ −1, in the letters of :class:`~clapas.cuts.disjunction.Disjunction`.

    Parameters
    ----------
    d : array (n,)
        Direction.
    u : array (2, m)
        Multipliers of the rows, not negative.
    v : array (2,)
        Multipliers of the branches, not negative.
    """

    d: Array
    u: Array
    v: Array

    @property
    def depth(self) -> float:
        """Euclidean distance from the point to the hyperplane of the cut, 1/|d|."""
        return 1.0 / float(np.linalg.norm(self.d))

    def excess(self, disjunction: Disjunction) -> Array:
        """λ_i = v_i − (1 + b·u_i)/a_i of the two branches, (2,)."""
        return np.asarray(self.v - (1.0 + self.u @ disjunction.b) / disjunction.offsets)

    def size(self, disjunction: Disjunction) -> float:
        """Sum of the multipliers, Σu_0 + λ_0 + Σu_1 + λ_1, which a normalisation bounds."""
        return float(self.u.sum() + self.excess(disjunction).sum())

    def right(self, disjunction: Disjunction) -> float:
        """Right-hand side of d·x ≤ right in the coordinates of the problem."""
        return float(self.d @ disjunction.point) - 1.0

    def error(self, disjunction: Disjunction) -> float:
        """Error of the multipliers as a proof of the cut, relative to |d|; of the order of rounding."""
        worst = max(0.0, -float(self.u.min(initial=0.0)), -float(self.v.min(initial=0.0)))
        for u, v, p, a in zip(self.u, self.v, disjunction.normals, disjunction.offsets, strict=True):
            worst = max(worst, float(np.abs(disjunction.A.T @ u + v * p - self.d).max(initial=0.0)))
            worst = max(worst, float(disjunction.b @ u - a * v) + 1.0)
        return worst / float(np.linalg.norm(self.d))


def scaled(cut: Cut, factor: float) -> Cut:
    """The cut factor·d; in Q⁻ for every factor ≥ 1."""
    return Cut(factor * cut.d, factor * cut.u, factor * cut.v)


def combined(cuts: list[Cut], weights: Array) -> Cut:
    """The convex combination of cuts, Σ w_i d_i, which they imply together."""
    d = sum(w * cut.d for w, cut in zip(weights, cuts, strict=True))
    u = sum(w * cut.u for w, cut in zip(weights, cuts, strict=True))
    v = sum(w * cut.v for w, cut in zip(weights, cuts, strict=True))
    return Cut(np.asarray(d), np.asarray(u), np.asarray(v))
