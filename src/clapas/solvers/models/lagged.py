"""Friction with thresholds from other normal impulses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.solvers.convex.base import ConvexProblem
from clapas.solvers.models.base import FrictionModel, convex_solution
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class Lagged(FrictionModel):
    """Friction with thresholds mu r_N of other normal impulses: of the guess, or without friction.

    One convex program (Tresca's friction): the first iteration of Haslinger's fixed point, where Lötstedt's
    method stops, with the normal impulses of the previous step. Good where they change little; otherwise
    contacts slide with too much or too little friction, and an open contact may still have friction.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`FrictionModel`.

    References
    ----------
    Lötstedt 1984; Cadoux 2009, sections 1.5.1 and 4.6.

    Examples
    --------
    With a normal impulse twice as large in the previous step, friction is doubled:

    >>> from clapas import solve
    >>> particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5])
    >>> solve(particle, Lagged(), guess=[[2.0, 0.0, 0.0]]).r.round(6).tolist()
    [[1.0, -1.0, 0.0]]
    """

    def impulses(self, problem: ContactProblem, guess: Array) -> tuple[Array, float]:
        """Freeze the thresholds and minimise."""
        normal = guess[:, 0]
        if not guess.any():
            normal = without_friction(problem, self.tol)[0][:, 0]
        thresholds = problem.mu * np.maximum(normal, 0.0)
        return convex_solution(problem, ConvexProblem.tresca(problem, thresholds), self.tol)


def without_friction(problem: ContactProblem, tol: float) -> tuple[Array, float]:
    """Impulses (n, d) of smooth contacts, and the accuracy."""
    return convex_solution(problem, ConvexProblem.tresca(problem, np.zeros(problem.n_contacts)), tol)
