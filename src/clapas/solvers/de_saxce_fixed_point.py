"""De Saxcé's fixed point (Uzawa's method): projected steps of all impulses along the shifted velocity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from clapas.convex.base import FrictionCone
from clapas.problems.contact import ContactProblem
from clapas.solvers.convex.projections import projection
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.solvers.products import ScaledDelassus
from clapas.solvers.steps import AdaptiveStep, Stepper, StepRule
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class DeSaxceFixedPoint(IterativeSolver):
    """De Saxcé and Feng's fixed point: r ← P_K(r − ρ ũ(r)), all contacts at once.

    Coulomb's law is the fixed point of this map for any ρ > 0, with ũ = u + mu |u_T| e_N and u = W r + q. It
    is a projected gradient whose field is not a gradient: with a fixed step it diverges as
    soon as contacts push on each other. The self-adaptive step stabilises it.

    For one contact, or as the simplest reference; :class:`Extragradient` is its robust form.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    step : AdaptiveStep or FixedStep
        The rule for ρ. The thesis (DS): ``FixedStep(rho=1.0, relative=False)``.

    References
    ----------
    De Saxcé, Feng 1998; Cadoux 2009, (4.8)-(4.9).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.get("one-slide").problem, DeSaxceFixedPoint(tol=1e-10))
    >>> solution.status.name
    'SOLVED'
    """

    max_iterations: int = 100_000
    step: StepRule = field(default_factory=AdaptiveStep)

    cones: ClassVar[tuple[type, ...]] = (FrictionCone,)

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Scale the problem and begin at the guess."""
        return ProjectedIteration(problem, guess, self.step)


class ProjectedIteration(Iteration):
    """x ← P_K(x − ρ ũ(x)) in dimensionless variables."""

    def __init__(self, problem: ContactProblem, guess: Array, step: StepRule) -> None:
        self.scaled = ScaledDelassus(problem)
        assert isinstance(problem.cone, FrictionCone)
        self.cone = problem.cone
        self.onto_cones = projection(self.cone, self.scaled.root.ravel())
        self.free = self.scaled.from_velocities(problem.q)
        self.stepper: Stepper = step.start(self.scaled)
        self.x = self.scaled.from_impulses(guess)
        self.here = self.shifted_velocity(self.x)

    def shifted_velocity(self, x: Array) -> Array:
        """Shifted velocity ũ of the impulse x."""
        g = self.scaled.product(x) + self.free
        g[:, 0] += self.cone.shift(g)
        return g

    def project(self, x: Array, along: Array, rho: Array | float) -> Array:
        """P_K(x − ρ along)."""
        return self.onto_cones(x - rho * along)

    def advance(self, count: int) -> None:
        """Do ``count`` projections (more when steps are rejected)."""
        for _ in range(count):
            self.x, self.here, _ = self.stepper.move(self.x, self.here, self.shifted_velocity, self.project)

    def impulses(self) -> Array:
        """The impulses of the current point."""
        return self.scaled.to_impulses(self.x)
