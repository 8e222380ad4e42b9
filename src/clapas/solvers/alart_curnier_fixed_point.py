"""Alart and Curnier's fixed point: project pressures on R₊ and friction on the disc of radius mu r_N."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.solvers.products import ScaledDelassus
from clapas.solvers.steps import AdaptiveStep, Stepper, StepRule
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class AlartCurnierFixedPoint(IterativeSolver):
    """Alart and Curnier's map iterated directly, all contacts at once.

        r_N ← max(0, r_N − ρ u_N),    r_T ← P_disc(mu r_N)(r_T − ρ u_T),    u = W r + q,

    with discs of the old r_N. Its fixed points are the solutions of Coulomb's law, for any ρ > 0. With
    a fixed step it converges for one contact and usually diverges for more; kept as a reference. The same
    map solved by Newton's method is another solver.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    step : AdaptiveStep or FixedStep
        The rule for ρ.

    References
    ----------
    Alart, Curnier 1991; Cadoux 2009, (4.7).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.get("one-slide").problem, AlartCurnierFixedPoint(tol=1e-10))
    >>> solution.status.name
    'SOLVED'
    """

    max_iterations: int = 100_000
    step: StepRule = field(default_factory=AdaptiveStep)

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Scale the problem and begin at the guess."""
        return _Map(problem, guess, self.step)


class _Map(Iteration):
    def __init__(self, problem: ContactProblem, guess: Array, step: StepRule) -> None:
        from clapas.solvers.convex.kernels import project_tresca  # kernels load the compiler

        self.onto_discs = project_tresca
        self.scaled = ScaledDelassus(problem)
        self.mu = problem.mu
        self.free = self.scaled.from_velocities(problem.q)
        self.stepper: Stepper = step.start(self.scaled)
        self.x = self.scaled.from_impulses(guess)
        self.here = self.velocity(self.x)

    def velocity(self, x: Array) -> Array:
        """Velocity u of the impulse x."""
        return self.scaled.product(x) + self.free

    def project(self, x: Array, along: Array, rho: Array | float) -> Array:
        """The map itself; the radii are mu times the pressures of x."""
        result = x - rho * along
        self.onto_discs(result, self.mu * np.maximum(x[:, 0], 0.0), result)
        return result

    def advance(self, count: int) -> None:
        """Apply the map ``count`` times (more often when steps are rejected)."""
        for _ in range(count):
            self.x, self.here, _ = self.stepper.move(self.x, self.here, self.velocity, self.project)

    def impulses(self) -> Array:
        """The impulses of the current point."""
        return self.scaled.to_impulses(self.x)
