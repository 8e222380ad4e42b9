"""Motions that open contacts: their margin, the smallest one, and the regularised problem."""

from __future__ import annotations

import math

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.existence.programs import Method, least_motion, reach_of, widest
from clapas.typing import Array


def bounded_margin(problem: ContactProblem, bound: float, *, method: Method = "exact") -> float:
    """Margin σ* among motions with |v|_∞ ≤ bound (m/s): how well conditioned existence is.

    A margin that needs enormous velocities is of little use; this one is always finite.

    References
    ----------
    Cadoux 2009, (3.37).

    Examples
    --------
    >>> from clapas.problems import gallery
    >>> round(bounded_margin(gallery.get("painleve-down-forward").problem, 10.0), 5)
    3.03553
    """
    if not 0 < bound < math.inf:
        raise SettingsError(f"bound must be positive and finite, got {bound}")
    reach = reach_of(problem)
    if problem.n_contacts == 0:
        return math.inf
    best = widest(reach, bound, method, math.inf)
    return best.sigma if best else math.nan


def nearest_motion(problem: ContactProblem, *, time_limit: float = math.inf) -> tuple[Array | None, Array]:
    """The least motion that opens all contacts, min { ½ |v|² : H v + w ∈ K* }, or the proof that none does.

    An alternative decision of (H̄), by least squares instead of a margin (Cadoux 2009, 3.38). In the reduced
    form v stands for impulses, u = W v + q.

    Returns
    -------
    array (m,) or None
        The motion; None where (H̄) fails.
    array (n, d)
        Multipliers r ∈ K with v = Hᵀ r; where (H̄) fails, impulses with Hᵀ r ≈ 0, w·r < 0 and Σ r_N = 1.

    Examples
    --------
    >>> from clapas.problems import gallery
    >>> motion, wedge = nearest_motion(gallery.get("crushed-disc").problem)
    >>> motion is None, wedge[:, 0].round(3).tolist()
    (True, [0.5, 0.5])
    """
    return least_motion(reach_of(problem), time_limit)


def regularised(problem: ContactProblem, delta: float) -> ContactProblem:
    """The problem with w + mu δ e_N in place of w: contacts open slightly, and (H̄) becomes (H).

    This is how the thesis proves that fixed points exist without an interior point: those of the problems
    with δ > 0 have a limit (Cadoux 2009, 3.3.2). Problems on the boundary of the criterion are then inside
    it, at the price of an error of u_N of at most mu δ. Contacts without friction are not changed.

    Parameters
    ----------
    problem : ContactProblem
        In either form.
    delta : float
        Speed δ > 0 (m/s).

    Examples
    --------
    >>> from clapas.problems import ContactProblem
    >>> problem = ContactProblem(W=np.eye(3), q=[[-1.0, 0.0, 0.0]], mu=[0.5])
    >>> float(regularised(problem, 0.1).q[0, 0])
    -0.95
    """
    if not 0 < delta < math.inf:
        raise SettingsError(f"delta must be positive, got {delta}")
    opening = np.zeros((problem.n_contacts, problem.d))
    opening[:, 0] = problem.mu * delta
    mu, d, name = problem.mu, problem.d, problem.name
    if problem.form == "global":
        w = problem.w + opening
        return ContactProblem(M=problem.M, H=problem.H, f=problem.f, w=w, mu=mu, d=d, name=name)
    return ContactProblem(W=problem.W, q=problem.q + opening, mu=mu, d=d, name=name)
