"""Friction with mode and direction determined in advance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.problems.lcp import LCP
from clapas.solvers.models.base import SLIPS, FrictionModel
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class FrozenSlip(FrictionModel):
    """Each contact slides or sticks as it would without impulses, and friction acts against that slip.

    Where q_T ≠ 0 the contact slides: r_T = −mu r_N q_T/|q_T|, in any case. Elsewhere it sticks, u_T = 0,
    without a limit on its friction. There remains linear complementarity in the normal impulses. Friction
    is not limited: where it could bring a slow contact to rest it reverses its slip instead, and
    energy may be created. The modes are not revised.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`FrictionModel`.

    References
    ----------
    Baraff 1991; Acary, Cadoux, Lemaréchal, Malick 2009, section 2.3 (the frozen status).

    Examples
    --------
    A slow particle, which friction would stop, goes backwards:

    >>> from clapas import solve
    >>> solve(ContactProblem(W=np.eye(3), q=[[-1.0, 0.1, 0.0]], mu=[0.5]), FrozenSlip()).u.round(6).tolist()
    [[0.0, -0.4, 0.0]]
    """

    def impulses(self, problem: ContactProblem, guess: Array) -> tuple[Array, float]:
        """Write r = P r_N + S r_S, sliding in P and sticking in S; eliminate r_S, then pivot."""
        from clapas.solvers.lcp import Lemke
        from clapas.solvers.lcp.solve import solve_lcp

        n, d = problem.n_contacts, problem.d
        W, q = reduce(problem).W.toarray(), problem.q
        speed = np.linalg.norm(q[:, 1:], axis=1)
        slides = (speed > SLIPS * problem.free_speed) | (problem.mu == 0.0)
        direction = np.divide(q[:, 1:], speed[:, None], out=np.zeros((n, d - 1)), where=speed[:, None] > 0.0)
        P, normal = np.zeros((n * d, n)), np.arange(0, n * d, d)
        P[normal, np.arange(n)] = 1.0
        for k in range(1, d):
            P[normal + k, np.arange(n)] = np.where(slides, -problem.mu * direction[:, k - 1], 0.0)
        stuck = (normal[~slides, None] + np.arange(1, d)).ravel()
        # u_T = 0 where it sticks: r_S = −W_SS⁻¹ (q + W P r_N)_S, in the least-squares sense if singular.
        inverse = np.linalg.pinv(W[np.ix_(stuck, stuck)])
        stop = np.zeros((n * d, n * d))
        stop[np.ix_(stuck, stuck)] = -inverse
        A = (W + W @ stop @ W) @ P
        b = q.ravel() + W @ (stop @ q.ravel())
        solution = solve_lcp(LCP(A[normal], b[normal]), Lemke(tol=self.tol), check=False)
        along = P @ solution.z
        r = along + stop @ (q.ravel() + W @ along)
        return r.reshape(n, d), solution.residual
