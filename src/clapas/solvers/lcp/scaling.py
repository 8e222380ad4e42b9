"""The same LCP in unknowns without unit.

With λ the response of the problem and D = diag(1/√λ), the problem M̂ = D M D, q̂ = D q / s has a unit
diagonal where M has a positive one, and |q̂|∞ = 1. Methods that compare entries (pivots, say) work on it;
symmetry, definiteness and the other classes are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.problems.lcp import LCP, Infeasibility
from clapas.typing import Array


@dataclass(frozen=True, eq=False)
class Scaled:
    """An LCP without unit and the way back: z = s D ẑ.

    Examples
    --------
    >>> Scaled.of(LCP([[4.0]], [-8.0])).problem.M
    array([[1.]])
    """

    problem: LCP
    unit: Array  # of each z_i

    @classmethod
    def of(cls, given: LCP) -> Scaled:
        """Scale a problem."""
        D = 1.0 / np.sqrt(given.response)
        size = float(np.abs(D * given.q).max(initial=0.0)) or 1.0
        if sparse.issparse(given.M):
            diagonal = sparse.diags_array(D)
            M = (diagonal @ given.M @ diagonal).tocsr()
        else:
            M = D[:, None] * given.M * D
        return cls(LCP(M, D * given.q / size), size * D)

    def back(self, z: Array) -> Array:
        """The unknowns of the problem given."""
        return self.unit * z

    def forth(self, z: Array) -> Array:
        """The unknowns without unit."""
        return z / self.unit

    def proof(self, scaled: Infeasibility) -> Infeasibility:
        """The proof for the problem given, from one for the problem without unit."""
        return Infeasibility(self.unit * scaled.y)
