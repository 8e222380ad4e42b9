"""Least impulses: the impulses of least norm that hold all bodies at rest, by a few Newton steps.

The impulses that carry a wall are not unique. The least impulses are, and their problem has a simple
dual. With W = G Gᵀ in units in which every body has unit mass
(:class:`clapas.problems.blocks.BodyBlocks`), impulses that stop the free motion y_free solve

    min {½ |r|² : Gᵀ r + y_free = 0, r ∈ K},    whose dual is    min_z  ½ |P_K(G z)|² + y_free·z,

a smooth convex problem without constraints in as many unknowns as the bodies have velocities; r = P_K(G z).
In words: each contact is a spring of unit stiffness that cannot pull and whose friction is limited,
and z is the small motion under which these springs carry the load. Newton's matrix Gᵀ P_K' G is sparse
like the contact graph of the bodies.

With r − r̄ in place of r, where r̄ is a preload, the impulses are those nearest to uniform ones, r = P_K(G z
+ r̄). Fewer contacts are then unloaded, and more are well inside their cones, at the same cost. With a guess
in place of the preload they are those nearest to the guess, and one step suffices where it is nearly good.

Where no impulses hold the bodies the dual has no minimum: the steps stop and another method is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from clapas.convex.coulomb import CoulombCone
from clapas.errors import ProblemError, SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class LeastImpulses(IterativeSolver):
    """The least impulses that hold all bodies at rest: u = 0 wherever an impulse acts.

    Semismooth Newton steps with a line search on the dual problem (see the head of the file), impulses
    being scaled contact by contact by √λ_i of its response. Walls and towers of some thousand
    contacts take 2 to 10 steps to rounding from a cold start; a guess is used only with ``nearest``.

    It solves nothing else: where a body must move it stalls. It is therefore the first method
    of time steps for structures placed at rest, and one of the portfolio :class:`Auto`, not a general solver.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. An iteration is one Newton step, that is one factorisation.
    slack : float
        Open contacts whose imposed velocity is at most this fraction of the largest free velocity may be
        loaded: they touch up to rounding.
    preload : float
        Normal part of r̄ relative to the mean impulse, which the first step determines; with 0 the
        solution is the least in norm.
    nearest : bool
        Find the impulses nearest to the guess, which replaces the preload.

    References
    ----------
    Rockafellar 1974 (the dual); Qi, Sun 1993 (semismooth Newton steps).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.brick_wall(6, 5).problem, LeastImpulses(tol=1e-12))
    >>> solution.status.name, solution.iterations < 12
    ('SOLVED', True)
    """

    max_iterations: int = 50
    slack: float = 0.0
    preload: float = 0.0
    nearest: bool = False

    measures_each_iteration: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.slack < 1:
            raise SettingsError(f"slack must be a share, from 0 to less than 1, got {self.slack}")
        if not 0 <= self.preload < math.inf:
            raise SettingsError(f"preload must be zero or positive and finite, got {self.preload}")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Analyse the pattern of Newton's matrix."""
        from clapas.solvers.least_impulses.iteration import Dual  # kernels load the compiler

        if not can_rest(problem):
            raise ProblemError(
                "LeastImpulses looks for bodies at rest, with Coulomb's law between two bodies and no "
                "velocity imposed at contacts that touch; this problem is not of that kind: take Auto"
            )
        return Dual(problem, self.slack, self.preload, guess if self.nearest else None)


def can_rest(problem: ContactProblem) -> bool:
    """Whether the problem has the right structure, and a quick test does not exclude rest.

    Contacts are between two bodies each, and no imposed velocity makes one slide or close.
    """
    from clapas.problems.blocks import BodyBlocks

    if problem.form != "global" or not isinstance(problem.cone, CoulombCone):
        return False
    if type(problem.blocks) is not BodyBlocks or problem.compliance is not None or problem.J is not None:
        return False
    w = problem.imposed
    return w is None or not ((w[:, 0] <= 0.0) & w.any(axis=1)).any()
