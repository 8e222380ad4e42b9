"""Staggered model: normal impulses first, then friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers.convex.base import ConvexProblem
from clapas.solvers.models.base import FrictionModel, convex_solution
from clapas.solvers.models.lagged import without_friction
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class Staggered(FrictionModel):
    """Two convex programs in sequence: normal impulses without friction, then friction at given thresholds.

    The second program, min ½ r_Tᵀ W_TT r_T + r_T·u_T with |r_T| ≤ mu r_N, leaves the normal impulses of the
    first unchanged. Friction is always dissipative and computed at once. But it changes normal velocities too
    (a push at the foot of a block rotates it), which are not corrected: contacts close, u_N < 0.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`FrictionModel`.

    References
    ----------
    Kaufman, Edmunds, Pai 2005; Cadoux 2009, section 1.5.1.

    Examples
    --------
    Where tangential impulses move along the normal, friction drives the bodies into each other:

    >>> from clapas import solve
    >>> W = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> solve(ContactProblem(W=W, q=[[-1.0, 3.0, 0.0]], mu=[0.5]), Staggered()).u.round(6).tolist()
    [[-0.25, 3.0, 0.0]]
    """

    def impulses(self, problem: ContactProblem, guess: Array) -> tuple[Array, float]:
        """Normal impulses, then friction."""
        r, accuracy = without_friction(problem, self.tol)
        n, d = r.shape
        u = problem.velocity(r)
        tangents = np.delete(np.arange(n * d), np.arange(0, n * d, d))
        # The same contacts with decoupled normals: r_N stays zero.
        W = reduce(problem).W.toarray()
        W_tangential = np.zeros_like(W)
        W_tangential[np.ix_(tangents, tangents)] = W[np.ix_(tangents, tangents)]
        W_tangential[np.arange(0, n * d, d), np.arange(0, n * d, d)] = problem.local_blocks[:, 0, 0]
        u_tangential = np.concatenate((np.zeros((n, 1)), u[:, 1:]), axis=1)
        friction_problem = ContactProblem.from_full(W_tangential, u_tangential, mu=problem.mu)
        thresholds = problem.mu * r[:, 0]
        friction, friction_accuracy = convex_solution(
            friction_problem, ConvexProblem.tresca(friction_problem, thresholds), self.tol
        )
        r[:, 1:] = friction[:, 1:]
        return r, max(accuracy, friction_accuracy)
