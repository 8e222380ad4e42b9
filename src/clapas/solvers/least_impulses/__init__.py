"""Least impulses: the smallest impulses that hold all bodies at rest, by a few Newton steps.

A wall that stands has infinitely many ways to carry its weight. To ask for the smallest impulses makes the
answer unique, and dual to something simple. With W = G Gᵀ in units in which every body has unit mass
(:class:`clapas.problems.blocks.BodyBlocks`), impulses that stop the free motion y_free solve

    min {½ |r|² : Gᵀ r + y_free = 0, r ∈ K},    whose dual is    min_z  ½ |P_K(G z)|² + y_free·z,

a smooth convex problem without constraints in as many unknowns as the bodies have velocities; r = P_K(G z).
In words: each contact is a spring of one stiffness that cannot pull and holds no more than friction allows,
and z is the small motion under which these springs carry the load. Newton's matrix Gᵀ P_K' G is sparse
like the neighbourhood of the bodies.

With r − r̄ in place of r, where r̄ is a preload, the impulses are those nearest to even ones, r = P_K(G z + r̄).
Fewer contacts bear nothing then, and more are well inside their cones, at the same cost. With a guess in
place of the preload they are those nearest to the guess, and one step finds them where it is nearly good.

Where no impulses hold the bodies the dual has no minimum: the steps stop and another method must be asked.
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
    """The least impulses that hold everything at rest: u = 0 wherever an impulse acts.

    Semismooth Newton steps with a line search on the dual problem (see the head of the file), impulses
    being measured contact by contact in the unit √λ_i of its response. Walls and towers of some thousand
    contacts take 2 to 10 steps to rounding, from nothing; a guess is used if ``nearest`` says so.

    It solves nothing else: where a body must move it stalls. So it is no method of its own but the first
    that time steps ask for structures placed at rest, and one of the portfolio :class:`Auto`.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. An iteration is one Newton step, that is one factorisation.
    slack : float
        Contacts apart whose imposed velocity is at most this share of the largest free velocity may bear:
        what touches up to rounding touches.
    preload : float
        Normal part of r̄ as a share of the mean impulse, which the first step finds; 0 is none, and the
        answer is the least in size.
    nearest : bool
        Look for the impulses nearest to the guess, which takes the place of the preload.

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
    """Whether rest is possible as far as can be seen at once, and the structure of the problem is right.

    Contacts are between two bodies each, and none is made to slide or to close by an imposed velocity.
    """
    from clapas.problems.blocks import BodyBlocks

    if problem.form != "global" or not isinstance(problem.cone, CoulombCone):
        return False
    if type(problem.blocks) is not BodyBlocks or problem.compliance is not None or problem.J is not None:
        return False
    w = problem.imposed
    return w is None or not ((w[:, 0] <= 0.0) & w.any(axis=1)).any()
