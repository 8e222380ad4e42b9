"""Extragradient method: a trial projection, then a step along the velocity at the trial point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from clapas.convex.base import FrictionCone
from clapas.problems.contact import ContactProblem
from clapas.solvers.de_saxce_fixed_point import ProjectedIteration
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.solvers.steps import AdaptiveStep, StepRule
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class Extragradient(IterativeSolver):
    """Extragradient method for Coulomb's law as a variational inequality, K* ∋ ũ(r) ⟂ r ∈ K.

        r̄ = P_K(r − ρ ũ(r)),    r⁺ = P_K(r − ρ ũ(r̄)).

    The second velocity makes projections converge on any monotone field, gradient or not. The
    field ũ is not monotone because of the term mu |u_T|, and no proof applies; yet with the self-adaptive
    step the method nearly always comes near a solution.

    Least memory (products by W only) and rare failures at 1e-4; slow beyond. A good first attempt on
    an unknown problem, and a start for others.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    step : AdaptiveStep or FixedStep
        The rule for ρ.

    References
    ----------
    Korpelevich 1976; Khobotov 1987; Acary, Brémond, Huber 2018.

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.box_stack(3).problem, Extragradient(tol=1e-6))
    >>> solution.status.name
    'SOLVED'
    """

    max_iterations: int = 100_000
    step: StepRule = field(default_factory=AdaptiveStep)

    cones: ClassVar[tuple[type, ...]] = (FrictionCone,)

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Scale the problem and begin at the guess."""
        return _Extragradient(problem, guess, self.step)


class _Extragradient(ProjectedIteration):
    def advance(self, count: int) -> None:
        """Do ``count`` iterations of two projections (more when steps are rejected)."""
        for _ in range(count):
            trial = self.stepper.move(self.x, self.here, self.shifted_velocity, self.project)
            self.x = self.project(self.x, trial.field, trial.rho)
            self.here = self.shifted_velocity(self.x)
