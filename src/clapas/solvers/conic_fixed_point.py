"""Cadoux's conic fixed point: freeze the sliding speeds, minimise over the cones, update the speeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.convex import ConvexProblem
from clapas.solvers.fixed_point import Anderson, Scheme
from clapas.solvers.fixed_point.base import FixedPointIteration, FixedPointSolver
from clapas.solvers.loop import Iteration
from clapas.typing import Array

InitialSpeeds: TypeAlias = Literal["guess", "zero"]


@dataclass(frozen=True, kw_only=True)
class ConicFixedPoint(FixedPointSolver):
    """Cadoux's fixed point on the sliding speeds: a second-order cone program at each iteration.

    With s_i = |u_T,i| frozen in the shifted velocity ũ = u + E s, E = diag(mu_i e_N), Coulomb's law
    K* ∋ ũ ⟂ r ∈ K is the optimality of the convex pair

        min { ½ rᵀW r + (q + E s)ᵀr : r ∈ K }        (impulses)
        min { ½ vᵀM v + fᵀv : H v + w + E s ∈ K* }   (velocities).

    Its velocity is unique; then s_i ← F_i(s) = |u_T,i|. Stopped at any outer iteration r ∈ K, while u_N may
    be negative. A continuum of impulses (hyperstatic structures) is a single point for this method,
    which iterates on velocities. Only the frictionless case needs no iteration.

    Parameters
    ----------
    tol, max_iterations, time_limit, inner, scheme, forcing, accuracy
        See :class:`FixedPointSolver`. The thesis took ``inner=ProjectedGradient(max_iterations=250)``,
        ``accuracy=1e-10`` and ``scheme=Picard()`` (NA-pf), ``Broyden()`` (NA-Broyden) or ``Newton()``
        (NA-Newton).
    initial_speeds : "guess" or "zero"
        Initial s: the sliding speeds of the guess, or zero, as if all contacts stuck. For a structure at
        rest the convex problem at s = 0 is Coulomb's problem: with an exact inner method, such as
        ``ConvexInteriorPoint()`` with ``accuracy=1e-10``, one iteration solves it.

    References
    ----------
    Cadoux 2009, sections 3.2 (the map F, existence) and 4.7 (the method); Acary et al. 2011.

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.get("alea-42-5").problem, ConicFixedPoint(tol=1e-8))
    >>> solution.status.name
    'SOLVED'

    A wall at rest, in one exact minimisation:

    >>> from clapas.solvers.interior_point import ConvexInteriorPoint
    >>> exact = ConicFixedPoint(initial_speeds="zero", inner=ConvexInteriorPoint(), accuracy=1e-10)
    >>> solve(gallery.brick_wall(4, 3).problem, exact).iterations
    1
    """

    scheme: Scheme = field(default_factory=Anderson)
    initial_speeds: InitialSpeeds = "guess"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.initial_speeds not in get_args(InitialSpeeds):
            raise SettingsError(f"initial_speeds must be 'guess' or 'zero', got {self.initial_speeds!r}")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Begin with the sliding speeds of the guess, or with none."""
        iteration = _Speeds(problem, self, guess)
        if self.initial_speeds == "zero":
            iteration.s = np.zeros(problem.n_contacts)
        return iteration


class _Speeds(FixedPointIteration):
    def frozen_numbers(self, r: Array, u: Array) -> Array:
        # Where mu = 0 the speed has no effect: it is left out of the fixed point.
        numbers: Array = np.where(self.problem.mu > 0.0, np.linalg.norm(u[:, 1:], axis=1), 0.0)
        return numbers

    def frozen_problem(self, s: Array, lag: Array | float) -> ConvexProblem:
        return ConvexProblem.conic(self.contacts, s, lag)
