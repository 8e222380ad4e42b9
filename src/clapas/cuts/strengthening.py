"""Strengthening of split cuts by the integrality of the other variables (Balas and Jeroslow)."""

from __future__ import annotations

import math

import numpy as np

from clapas.cuts.cut import Cut
from clapas.cuts.disjunction import Disjunction
from clapas.cuts.milp import MILP
from clapas.cuts.relaxation import Vertex
from clapas.typing import Array


def strengthened(cut: Cut, disjunction: Disjunction, vertex: Vertex, problem: MILP) -> tuple[Array, float]:
    """The cut d·x ≤ right with larger coefficients at integer variables.

    The split π·x ≤ π_0 or π·x ≥ π_0 + 1 stays one if an integer multiple of an integer variable t ≥ 0,
    counted from a bound, is added to π·x. With the multipliers of the rows and of the branches as they are,
    but without that of the bound, branch 0 gives t the coefficient c_0 + v_0 m and branch 1 the coefficient
    c_1 − v_1 m, and the cut has the smaller of the two. The best integer m is next to m̄ = (c_1 − c_0)/(v_0 +
    v_1), so that the coefficient becomes

        max(c_0 + v_0 ⌊m̄⌋, c_1 − v_1 ⌈m̄⌉),

    never smaller than before. The right-hand side moves with the bound from which t is counted.

    References
    ----------
    Balas, Jeroslow 1980; Balas, Ceria, Cornuéjols 1993, section 3.
    """
    d, right = cut.d.copy(), cut.right(disjunction)
    on_split = disjunction.normals[0] != 0.0
    for k in np.flatnonzero(problem.is_integer & ~on_split):
        low, high = vertex.lower_rows[k], vertex.upper_rows[k]
        weights = [cut.u[:, row].sum() if row >= 0 else 0.0 for row in (low, high)]
        if max(weights) <= 0.0:
            continue  # no multiplier to drop: the two branches agree
        sign, row, bound = (
            (1.0, low, problem.lower[k]) if weights[0] >= weights[1] else (-1.0, high, problem.upper[k])
        )
        c_0, c_1 = sign * d[k] + cut.u[:, row]
        v_0, v_1 = cut.v
        m = (c_1 - c_0) / (v_0 + v_1)
        coefficient = sign * max(c_0 + v_0 * math.floor(m), c_1 - v_1 * math.ceil(m))
        right += (coefficient - d[k]) * bound
        d[k] = coefficient
    return d, right
