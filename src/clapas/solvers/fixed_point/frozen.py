"""Cadoux's map F: the convex pair at frozen sliding speeds, its two optimal values, and the slopes of F.

For studies rather than for solving: whether F is a contraction near a fixed point decides whether the
plain iteration converges there (Cadoux 2009, conclusion of part I and figure 5.9).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.solvers.convex.base import ConvexProblem, ConvexSolver
from clapas.solvers.fixed_point.base import default_inner
from clapas.typing import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Frozen:
    """The convex pair at s.

    Parameters
    ----------
    s, value : arrays (n,)
        The frozen speeds, and F(s) = |u_T| (m/s).
    r, u : arrays (n, d)
        Impulses (not unique) and velocities (unique) at the contacts, u = W r + q.
    q : float
        Least value of ½ rᵀW r + (q + E s)ᵀr over K, equation 3.13 (J).
    p : float
        Least value of ½ vᵀM v + fᵀv where H v + w + E s ∈ K*, equation 3.11 (J). In the reduced form, which
        has no bodies, up to the constant ½ fᵀM⁻¹f: −q.
    """

    s: Array
    value: Array
    r: Array
    u: Array
    p: float
    q: float


def frozen(
    problem: ContactProblem,
    s: npt.ArrayLike,
    *,
    guess: Array | None = None,
    inner: ConvexSolver | None = None,
    accuracy: float = 1e-11,
) -> Frozen:
    """Solve the convex pair at frozen sliding speeds and return F(s), p(s), q(s).

    The two values obey q(s) + p(s) + ½ fᵀM⁻¹f = 0 (3.17); here p is computed from the motion, so that their
    sum measures the accuracy.

    Parameters
    ----------
    problem : ContactProblem
        With a symmetric W.
    s : array (n,)
        Speeds ≥ 0 (m/s).
    guess : array (n, d), optional
        Impulses to start from.
    inner : ConvexSolver, optional
        Method; by default that of :class:`ConicFixedPoint`.
    accuracy : float
        Residual required, relative to |q|.

    Examples
    --------
    On the rod of Painlevé with two solutions F(s) = 2 s − 1 between ½ and 5/4:

    >>> from clapas import gallery
    >>> float(frozen(gallery.get("painleve-up-two").problem, [1.2]).value[0].round(9))
    1.4
    """
    speeds = np.asarray(s, dtype=float)
    n = problem.n_contacts
    if speeds.shape != (n,) or not (speeds >= 0.0).all():
        raise ProblemError(f"s must be {n} speeds ≥ 0, one per contact, got {s!r}")
    convex = ConvexProblem.conic(problem, speeds)
    start = np.zeros((n, problem.d)) if guess is None else guess
    r = (inner or default_inner()).start(problem).solve(convex, start, accuracy).r
    u = problem.velocity(r)
    dual = convex.energy(r, convex.velocity(r))
    primal = -dual
    if problem.form == "global":
        v = problem.motion(r)
        primal = float(0.5 * v @ (problem.M @ v) + problem.f @ v)
    return Frozen(s=speeds, value=np.linalg.norm(u[:, 1:], axis=1), r=r, u=u, p=primal, q=dual)


def slopes(problem: ContactProblem, s: npt.ArrayLike, *, step: float = 1e-4) -> Array:
    """∂F_i/∂s_j at s by central differences, (n, n); one-sided at s_j = 0.

    ``step`` is relative to the largest of s and of the free speed. The spectral radius tells whether s ← F(s)
    converges near a fixed point (below 1) or not; F has kinks, across which a difference is a mean of two
    slopes.

    Examples
    --------
    >>> from clapas import gallery
    >>> rod = gallery.get("painleve-up-two").problem
    >>> slopes(rod, [1.0]).round(4).tolist(), slopes(rod, [1.5]).round(4).tolist()  # repels; attracts at once
    ([[2.0]], [[0.0]])
    """
    speeds = np.asarray(s, dtype=float)
    h = step * max(float(speeds.max(initial=0.0)), problem.free_speed)
    centre = frozen(problem, speeds)
    columns = []
    for j in range(len(speeds)):
        ends = []
        for sign in (-1.0, 1.0):
            shifted = speeds.copy()
            shifted[j] = max(speeds[j] + sign * h, 0.0)
            ends.append(frozen(problem, shifted, guess=centre.r))
        columns.append((ends[1].value - ends[0].value) / (ends[1].s[j] - ends[0].s[j]))
    return np.array(columns).T.reshape(len(speeds), len(speeds))


def contraction(problem: ContactProblem, s: npt.ArrayLike) -> float:
    """Spectral radius of the slopes of F at s; below 1 the plain iteration converges near a fixed point."""
    return float(np.abs(np.linalg.eigvals(slopes(problem, s))).max(initial=0.0))
