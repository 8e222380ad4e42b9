"""Common part of the gradient methods: scaled variables, iteration limit, best point kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.convex.base import ConvexProblem, ConvexSolution
from clapas.solvers.convex.projections import Projection, projection
from clapas.solvers.kinds import require_kinds
from clapas.solvers.products import ScaledDelassus
from clapas.typing import Array

REFRESH = 50  # iterations after which a gradient updated by differences is recomputed


@dataclass(frozen=True, kw_only=True)
class GradientSettings:
    """Settings of every gradient method.

    Parameters
    ----------
    max_iterations : int
        Iterations of one minimisation; a warm-started fixed point rarely needs more than some hundreds.
    """

    max_iterations: int = 500

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.max_iterations < 1:
            raise SettingsError(f"max_iterations must be at least 1, got {self.max_iterations}")


@dataclass
class Quadratic:
    """The convex problem in scaled variables: ½ xᵀW̃x + b̃ᵀx over a set given by its projection."""

    scaled: ScaledDelassus
    b: Array
    project: Projection

    def gradient(self, x: Array) -> Array:
        """W̃ x + b̃."""
        return self.scaled.product(x) + self.b

    def value(self, x: Array, g: Array) -> float:
        """½ xᵀW̃x + b̃ᵀx, from the gradient g at x."""
        return 0.5 * float(np.vdot(x, g + self.b))

    def residual(self, x: Array, g: Array) -> float:
        """The residual of :class:`ConvexProblem`, from scaled variables."""
        return self.scaled.size(x - self.project(x - g))


@dataclass
class Best:
    """The point of least residual so far, with its gradient."""

    accuracy: float
    residual: float = np.inf
    x: Array = field(default_factory=lambda: np.empty(0))
    g: Array = field(default_factory=lambda: np.empty(0))

    def add(self, residual: float, x: Array, g: Array) -> bool:
        """Keep the point if it is the best so far; return whether it is good enough.

        Points are kept by reference: methods allocate new arrays and do not overwrite old ones.
        """
        if residual < self.residual or self.x.size == 0:
            self.residual, self.x, self.g = residual, x, g
        return residual <= self.accuracy


class GradientMethod(ABC):
    """A running gradient method: it minimises in scaled variables."""

    def __init__(self, contacts: ContactProblem, max_iterations: int) -> None:
        self.scaled = ScaledDelassus(contacts)
        self.max_iterations = max_iterations

    def solve(self, frozen: ConvexProblem, guess: Array, accuracy: float) -> ConvexSolution:
        """Minimise from a guess; see :class:`ConvexMethod`."""
        scaled = self.scaled
        scale = scaled.root.ravel() / scaled.speed
        quadratic = Quadratic(scaled, scaled.from_velocities(frozen.b), projection(frozen.admissible, scale))
        best = Best(accuracy * frozen.scale / scaled.speed)
        x = quadratic.project(scaled.from_impulses(guess))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            iterations = self.minimise(quadratic, x, best)
        r, u = scaled.to_impulses(best.x), scaled.to_velocities(best.g)
        return ConvexSolution(r, u, best.residual * scaled.speed / frozen.scale, iterations)

    @abstractmethod
    def minimise(self, problem: Quadratic, x: Array, best: Best) -> int:
        """Descend from x, in the set; add every point to ``best``, return the number of iterations."""
