"""Haslinger's fixed point: freeze the friction thresholds, minimise, update the thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from clapas.problems.contact import ContactProblem
from clapas.solvers.convex import ConvexProblem
from clapas.solvers.fixed_point import Newton
from clapas.solvers.fixed_point.base import FixedPointIteration, FixedPointSolver, Scheme, Search
from clapas.solvers.loop import Iteration
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class Haslinger(FixedPointSolver):
    """Haslinger's fixed point: Tresca friction whose threshold is updated until it is Coulomb's.

    With the thresholds s_i frozen, friction is a convex problem,

        r ∈ argmin { ½ rᵀW r + qᵀr : r_N ≥ 0, |r_T| ≤ s };     then  s_i ← mu_i r_N,i.

    The fixed points are the solutions of Coulomb's law. At any outer iteration, the result satisfies
    u_N ≥ 0 up to the accuracy of the inner method: no penetration, while r may leave the cone.
    Contacts without friction (s = 0) take no part in the fixed point.

    Suits deformable bodies and moderate friction; only products by W are needed (with a gradient method
    inside). Where mu is large or the structure hyperstatic, :class:`ConicFixedPoint` is more robust.

    Parameters
    ----------
    tol, max_iterations, time_limit, inner, scheme, forcing, accuracy
        See :class:`FixedPointSolver`. The thesis (H-pf): ``inner=ProjectedGradient(max_iterations=250)``,
        ``accuracy=1e-10``.

    References
    ----------
    Haslinger 1983; Cadoux 2009, section 4.6 (H-pf) and Table 5.6.

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.get("alea-42-5").problem, Haslinger(tol=1e-8))
    >>> solution.status.name
    'SOLVED'
    """

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Begin with the thresholds mu r_N of the guess."""
        return _Thresholds(problem, self, guess)


class _Thresholds(FixedPointIteration):
    """s as a velocity: λ_i mu_i r_N,i."""

    def start_search(self, scheme: Scheme) -> Search:
        return (scheme.start_on_thresholds if isinstance(scheme, Newton) else scheme.start)(self.problem)

    def frozen_numbers(self, r: Array, u: Array) -> Array:
        numbers: Array = self.problem.response * self.problem.mu * r[:, 0]
        return numbers

    def frozen_problem(self, s: Array, lag: Array | float) -> ConvexProblem:
        return ConvexProblem.tresca(self.contacts, s / self.problem.response, lag)
