"""Indicators of how hard a contact problem is: n d / m, density and condition number of W."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce

LARGEST = 1500  # rows of W up to which its singular values take seconds at most


class Spectrum(NamedTuple):
    """Ratio, density and condition number, as in Cadoux's tables of problems.

    ``ratio`` is n d / m, equations at contacts per degree of freedom: from 1 on W is singular. None in the
    reduced form, which has no degrees of freedom. ``density`` is the share of nonzero entries of W,
    ``condition`` its condition number in the 2-norm; beyond about 1e16 it only says that W is singular. Both
    are None where W has more than LARGEST rows, 0 and 1 where it has none.
    """

    ratio: float | None
    density: float | None
    condition: float | None


def describe(problem: ContactProblem, largest: int = LARGEST) -> Spectrum:
    """Compute the indicators of tables 5.1 to 5.4 of Cadoux's thesis.

    Examples
    --------
    >>> from clapas.problems import ContactProblem
    >>> M, H = np.diag([1.0, 4.0]), np.eye(2)
    >>> describe(ContactProblem(M=M, H=H, f=np.zeros(2), w=[[0.0, 0.0]], mu=[0.5]))
    Spectrum(ratio=1.0, density=0.5, condition=4.0)
    """
    rows = problem.n_contacts * problem.d
    ratio = rows / problem.n_dof if problem.form == "global" and problem.n_dof else None
    if rows == 0:
        return Spectrum(ratio, 0.0, 1.0)
    if rows > largest:
        return Spectrum(ratio, None, None)
    W = reduce(problem).W.toarray()
    sizes = np.linalg.svd(W, compute_uv=False)
    condition = float(sizes[0] / sizes[-1]) if sizes[-1] > 0.0 else np.inf
    return Spectrum(ratio, float(np.count_nonzero(W) / W.size), condition)
