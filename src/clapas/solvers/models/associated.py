"""The associated friction law, a convex model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.solvers.convex.base import ConvexProblem
from clapas.solvers.models.base import FrictionModel, convex_solution
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class Associated(FrictionModel):
    """The associated law, K* ∋ u ⟂ r ∈ K: the convex program of Cadoux's method at s = 0.

    It always has a unique velocity, and the dissipation is maximal over the whole cone. But the velocity then
    is normal to the cone: a contact that slides at |u_T| rises at mu |u_T|. Exact where nothing
    slides. Games and robot simulators that solve "friction as a cone program" solve this.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`FrictionModel`.

    References
    ----------
    Moreau 1988; Cadoux 2009, sections 1.5.1 and 3.2.

    Examples
    --------
    A particle that slides at 3 m/s is lifted off the floor:

    >>> from clapas import solve
    >>> solution = solve(ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5]), Associated())
    >>> solution.u.round(6).tolist()
    [[1.0, 2.0, 0.0]]
    """

    def impulses(self, problem: ContactProblem, guess: Array) -> tuple[Array, float]:
        """Minimise ½ rᵀW r + qᵀr over the cones."""
        convex = ConvexProblem.conic(problem, np.zeros(problem.n_contacts))
        return convex_solution(problem, convex, self.tol)
