"""Friction on a pyramid, as linear complementarity."""

from __future__ import annotations

from dataclasses import dataclass

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.friction_lcp import polyhedral_lcp
from clapas.solvers.models.base import FrictionModel
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class Pyramid(FrictionModel):
    """Friction on a pyramid with ``facets`` edges, by Lemke's method on its linear complementarity problem.

    Friction is along the edges: it deviates by up to π/k from the direction opposite to the slip, and the
    resistance depends on the choice of tangents. In the plane it is exact. For some hundred contacts; a
    scene whose friction *is* polygonal has ``section`` in its law, which the solvers treat exactly.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`FrictionModel`.
    facets : int
        Edges of the pyramid, an even number; at least 4.

    References
    ----------
    Stewart, Trinkle 1996; Anitescu, Potra 1997; Cadoux 2009, section 1.5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from clapas import solve
    >>> from clapas.solvers.models import defects
    >>> slip = [[-1.0, 3.0 * np.cos(0.7), 3.0 * np.sin(0.7)]]
    >>> solution = solve(ContactProblem(W=np.eye(3), q=slip, mu=[0.5]), Pyramid(facets=4))
    >>> bool(defects(solution).deviation[0] > 0.3)
    True
    """

    facets: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if (
            isinstance(self.facets, bool)
            or not isinstance(self.facets, int)
            or self.facets < 4
            or self.facets % 2
        ):
            raise SettingsError(f"facets must be an even number, at least 4, got {self.facets!r}")

    def impulses(self, problem: ContactProblem, guess: Array) -> tuple[Array, float]:
        """Solve the LCP by Lemke's method."""
        from clapas.solvers.lcp import Lemke
        from clapas.solvers.lcp.solve import solve_lcp

        friction = polyhedral_lcp(problem, facets=self.facets)
        solution = solve_lcp(friction.lcp, Lemke(tol=self.tol), check=False)
        return friction.impulses(solution.z), solution.residual
