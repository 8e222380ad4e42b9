"""Simplified models of friction that people compare with Coulomb's law, each with the defect it is known for.

They replace the law by something easier. None is a solver: what they return does not obey Coulomb's law, and
:class:`Approximation` says by how much, measured by the same judge.

* :func:`associated`, K* ∋ u ⟂ r ∈ K, one convex program: what slides lifts, u_N = mu |u_T|.
* :func:`pyramid`, k edges instead of the cone, a linear complementarity problem: friction is not opposite to
  the slip.
* :func:`lagged`, thresholds from other normal impulses, one program: |r_T| ≠ mu r_N where it slides.

References
----------
Cadoux 2009, section 1.5.1; Lötstedt 1984 (thresholds frozen); Stewart, Trinkle 1996 and Anitescu, Potra 1997
(the pyramid); Moreau 1988 (why the associated law is not friction).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.friction_lcp import polyhedral_lcp
from clapas.solvers.convex.base import ConvexProblem
from clapas.solvers.fixed_point.base import default_inner
from clapas.typing import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Approximation:
    """What a simplified model answers, and how far this is from Coulomb's law.

    Parameters
    ----------
    problem : ContactProblem
        The contacts.
    r, u : arrays (n, d)
        Impulses and velocities, u = W r + q.
    """

    problem: ContactProblem
    r: Array
    u: Array

    @property
    def residual(self) -> float:
        """Distance from Coulomb's law, by the judge of all solvers."""
        return self.problem.residual(self.r)

    @cached_property
    def lifting(self) -> Array:
        """u_N where a contact pushes, (n,): zero under Coulomb's law (m/s)."""
        return np.where(self.r[:, 0] > 0.0, self.u[:, 0], 0.0)

    @cached_property
    def deviation(self) -> Array:
        """Angle between friction and the direction against the slip, (n,); 0 where nothing slides (rad)."""
        slip, force = np.linalg.norm(self.u[:, 1:], axis=1), np.linalg.norm(self.r[:, 1:], axis=1)
        slides = (slip > 1e-9 * self.problem.free_speed) & (force > 0.0)
        opposite = -np.einsum("ni,ni->n", self.u[:, 1:], self.r[:, 1:])
        cosine = np.divide(opposite, slip * force, out=np.ones_like(slip), where=slides)
        return np.asarray(np.arccos(np.clip(cosine, -1.0, 1.0)))

    @cached_property
    def excess(self) -> Array:
        """|r_T| − mu r_N, (n,): at most zero under Coulomb's law (N·s)."""
        return np.asarray(np.linalg.norm(self.r[:, 1:], axis=1) - self.problem.mu * self.r[:, 0])


def associated(problem: ContactProblem, *, accuracy: float = 1e-10) -> Approximation:
    """The associated law, K* ∋ u ⟂ r ∈ K: the convex program of Cadoux's method at s = 0.

    It always has a unique velocity, and the dissipation is maximal over the whole cone. But the velocity then
    leaves along the normal to the cone: a contact that slides at |u_T| rises at mu |u_T|. Exact where nothing
    slides.

    Examples
    --------
    A particle that slides at 3 m/s is lifted off the floor:

    >>> particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5])
    >>> found = associated(particle)
    >>> bool(np.isclose(found.lifting[0], 0.5 * np.linalg.norm(found.u[0, 1:])))
    True
    """
    convex = ConvexProblem.conic(problem, np.zeros(problem.n_contacts))
    return _solved(problem, convex, accuracy)


def pyramid(problem: ContactProblem, facets: int = 4) -> Approximation:
    """Friction on a pyramid of so many edges, by Lemke's method on its linear complementarity problem.

    Friction prefers the edges: it is up to π/k off the direction opposite to the slip, and how much a floor
    resists depends on how its tangents were chosen. In the plane it is exact.

    Examples
    --------
    >>> slip = np.array([-1.0, 3.0 * np.cos(0.7), 3.0 * np.sin(0.7)])
    >>> found = pyramid(ContactProblem(W=np.eye(3), q=slip[None], mu=[0.5]), facets=4)
    >>> bool(found.deviation[0] > 0.3)
    True
    """
    from clapas.solvers.lcp import Lemke
    from clapas.solvers.lcp.solve import solve_lcp

    friction = polyhedral_lcp(problem, facets=facets)
    r = friction.impulses(solve_lcp(friction.lcp, Lemke()).z)
    return Approximation(problem=problem, r=r, u=problem.velocity(r))


def lagged(
    problem: ContactProblem, normal: npt.ArrayLike | None = None, *, accuracy: float = 1e-10
) -> Approximation:
    """Friction with thresholds mu r_N of other normal impulses: those given, or those without friction.

    One convex program (Tresca's friction): the first iteration of Haslinger's fixed point, where Lötstedt's
    method stops, taking the normal impulses of the step before. Good where they change little; otherwise
    contacts slide with more or less friction than they have, and one that has opened still rubs.

    Parameters
    ----------
    problem : ContactProblem
        The contacts.
    normal : array (n,), optional
        Normal impulses ≥ 0 that set the thresholds (N·s).
    accuracy : float
        Of the convex program.

    Examples
    --------
    A normal impulse of the step before that was twice as large brakes twice as much:

    >>> particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5])
    >>> lagged(particle, [2.0]).r.round(6).tolist()
    [[1.0, -1.0, 0.0]]
    """
    n = problem.n_contacts
    if normal is None:
        normal = _solved(problem, ConvexProblem.tresca(problem, np.zeros(n)), accuracy).r[:, 0]
    pressed = np.asarray(normal, dtype=float)
    if pressed.shape != (n,) or not (pressed >= 0.0).all():
        raise ProblemError(f"normal must be {n} impulses ≥ 0, one per contact, got {normal!r}")
    return _solved(problem, ConvexProblem.tresca(problem, problem.mu * pressed), accuracy)


def _solved(problem: ContactProblem, convex: ConvexProblem, accuracy: float) -> Approximation:
    start = np.zeros((problem.n_contacts, problem.d))
    r = default_inner().start(problem).solve(convex, start, accuracy).r
    return Approximation(problem=problem, r=r, u=problem.velocity(r))
