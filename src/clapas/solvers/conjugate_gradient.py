"""Conjugate projected gradient: conjugate directions on the active set, thresholds updated at each step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.solvers.products import ScaledDelassus
from clapas.typing import Array

TOUCHING = 1e-12  # relative distance below which a friction impulse is on its circle


@dataclass(frozen=True, kw_only=True)
class ConjugateGradient(IterativeSolver):
    """Conjugate projected gradient (Renouf and Alart) with friction thresholds updated at each step.

    With C = {r_N ≥ 0, |r_T| ≤ mu r_N} taken at the current pressures, g = −(W r + q) and P_T the projection
    on the cone of directions that stay in C,

        α = g·p / p·W p,    r ← P_C(r + α p),    p ← P_T(g) + β P_T(p),    β = −P_T(g)·W p / p·W p.

    While the same contacts stick this is the conjugate gradient method. Where contacts slide the
    projection undoes part of the step, conjugacy is lost, and the method as published may cycle: a
    step that is undone by more than the fraction ``slack`` is replaced by a gradient step of safe length, r ←
    P_C(r + g/|W|).

    The fastest of all where few contacts slide (structures at rest); slow where many do.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    slack : float
        Fraction of a conjugate step that the projection may undo; infinity gives the published method.

    References
    ----------
    Renouf, Alart 2005; Dostál 2009 (the safe steps).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solve(gallery.box_stack(10).problem, ConjugateGradient(tol=1e-10)).iterations
    10
    """

    max_iterations: int = 100_000
    slack: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.slack >= 0:
            raise SettingsError(f"slack must be at least 0, got {self.slack}")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Scale the problem and begin along the gradient of the guess."""
        return _Conjugate(problem, guess, self.slack)


class _Conjugate(Iteration):
    def __init__(self, problem: ContactProblem, guess: Array, slack: float) -> None:
        from clapas.solvers.convex.kernels import project_tresca  # kernels load the compiler

        self.onto_discs = project_tresca
        self.scaled, self.slack = ScaledDelassus(problem), slack
        self.mu = problem.mu
        self.free = self.scaled.from_velocities(problem.q)
        self.safe = 1.0 / self.scaled.norm
        self._move_to(self._project(self.scaled.from_impulses(guess)))
        self.p = self._feasible(self.g)

    def impulses(self) -> Array:
        """The impulses of the current point."""
        return self.scaled.to_impulses(self.x)

    def advance(self, count: int) -> None:
        """Do ``count`` steps, conjugate or safe."""
        for _ in range(count):
            if not self._conjugate_step():
                self._move_to(self._project(self.x + self.safe * self.g))
                self.p = self._feasible(self.g)

    def _conjugate_step(self) -> bool:
        product = self.scaled.product(self.p)
        curvature, slope = float(np.vdot(self.p, product)), float(np.vdot(self.g, self.p))
        if not (curvature > 0.0 and slope > 0.0):
            return False
        trial = self.x + (slope / curvature) * self.p
        projected = self._project(trial)
        if _length(projected - trial) > self.slack * _length(trial - self.x):
            return False
        self._move_to(projected)
        free = self._feasible(self.g)
        self.p = free - (float(np.vdot(free, product)) / curvature) * self._feasible(self.p)
        return True

    def _move_to(self, x: Array) -> None:
        self.x, self.g = x, -(self.scaled.product(x) + self.free)

    def _project(self, x: Array) -> Array:
        """Pressures first, then friction on the discs of these pressures."""
        result = x.copy()
        self.onto_discs(result, self.mu * np.maximum(x[:, 0], 0.0), result)
        return result

    def _feasible(self, direction: Array) -> Array:
        """Projection of a direction on the tangent cone of C at x."""
        x, result = self.x, direction.copy()
        result[:, 0] = np.where(x[:, 0] > 0.0, direction[:, 0], np.maximum(direction[:, 0], 0.0))
        radius = self.mu * x[:, 0]
        size = np.sqrt(np.einsum("ij,ij->i", x[:, 1:], x[:, 1:]))
        on_circle = (size >= radius * (1.0 - TOUCHING)) & (size > 0.0)
        outward = x[:, 1:] / np.where(size > 0.0, size, 1.0)[:, None]
        along = np.maximum(np.einsum("ij,ij->i", outward, direction[:, 1:]), 0.0)
        result[:, 1:] -= np.where(on_circle, along, 0.0)[:, None] * outward
        result[radius <= 0.0, 1:] = 0.0
        return result


def _length(x: Array) -> float:
    return math.sqrt(float(np.vdot(x, x)))
