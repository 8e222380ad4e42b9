"""The most violated cut: the cut-generating linear program of lift-and-project."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.cuts.cut import Cut, scaled
from clapas.cuts.disjunction import Disjunction
from clapas.cuts.intersection import Basis, least_normalisation
from clapas.cuts.program import CutProgram


def most_violated_cut(
    disjunction: Disjunction, *, factor: float = 1.0, N: float | None = None, basis: Basis | None = None
) -> Cut:
    """The cut d·x ≤ ν with the largest violation −ν among those whose multipliers sum to at most N.

        max −ν    subject to   −ν = 1 + a_0 λ_0 = 1 + a_1 λ_1    and the equations of Q⁻.

    It is returned as d/|ν|, which is violated by one and is again in Q⁻. For 0-1 programs this is the cut of
    lift-and-project (the same linear program, up to multipliers of the split row).

    Parameters
    ----------
    disjunction : Disjunction
        Seen from a vertex, unless N is given.
    factor : float
        N is this times that of the intersection cut.
    N : float, optional
        The normalisation itself.
    basis : Basis, optional
        The vertex, see :class:`~clapas.cuts.intersection.Basis`.

    References
    ----------
    Balas, Ceria, Cornuéjols 1993; Cadoux 2009, remark 7.18 and (7.18) to (7.23).

    Examples
    --------
    >>> A, b = [[3.0, 2.0], [-3.0, 2.0], [-1.0, 0.0], [0.0, -1.0]], [6.0, 0.0, 0.0, 0.0]
    >>> most_violated_cut(Disjunction.split(A, b, [1.0, 1.5], 1)).d.round(12) + 0.0
    array([0., 2.])
    """
    if N is None:
        N = factor * least_normalisation(disjunction, basis)
    m = disjunction.A.shape[0]
    a_0, a_1 = disjunction.offsets
    equal = sparse.csr_array(([a_0, -a_1], ([0, 0], [m + 1, 2 * m + 3])), shape=(1, 2 * m + 4))
    program = CutProgram(disjunction, N, (equal, np.zeros(1), np.zeros(1)))
    costs = np.zeros(2 * m + 4)
    costs[m + 1] = -a_0
    cut, _ = program.solve(costs)
    violation = 1.0 + float((cut.excess(disjunction) * disjunction.offsets).min())
    return scaled(cut, 1.0 / violation)
