"""Newton's steps on a nonsmooth equation Φ(z) = 0 equivalent to an LCP, with a line search on ½|Φ|²."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque

import numpy as np

from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt
from clapas.status import Status
from clapas.typing import Array

ARMIJO = 1e-4
HALVINGS = 30
MEMORY = 5  # steps that may raise the merit before it must have fallen
REGULARISATION = 1e-10  # of singular systems, relative to the Jacobian


class DampedNewton(LCPMethod):
    """Solve J dz = −Φ with an element J of the generalised Jacobian, and shorten the step until it pays.

    Singular systems are solved in the regularised least-squares sense; where that step is not a descent
    direction the gradient −JᵀΦ is. The merit must fall below the worst of the last few values: watching more
    than one lets Newton cross small hills.
    """

    def __init__(self, problem: LCP, guess: Array) -> None:
        self.scaled = Scaled.of(problem)
        self.data = self.scaled.problem
        self.z = self.scaled.forth(guess)
        self.merits: deque[float] = deque(maxlen=MEMORY)

    @abstractmethod
    def values(self, z: Array, w: Array) -> Array:
        """Φ(z), from w = M z + q."""

    @abstractmethod
    def jacobian(self, z: Array, w: Array) -> tuple[Array, Array]:
        """Diagonals A and B of J = A + B M."""

    def unknowns(self) -> Array:
        """The current z, possibly slightly negative."""
        return self.scaled.back(self.z)

    def advance(self, count: int) -> None:
        """One iteration is one step."""
        for _ in range(count):
            self._step()

    def _step(self) -> None:
        w = self.data.slack(self.z)
        phi = self.values(self.z, w)
        merit = 0.5 * float(phi @ phi)
        if merit == 0.0:
            return
        self.merits.append(merit)
        A, B = self.jacobian(self.z, w)
        J = np.diag(A) + B[:, None] * self.data.dense
        step, slope = _newton_step(J, phi), -2.0 * merit
        gradient = J.T @ phi
        if not np.isfinite(step).all() or float(gradient @ step) > ARMIJO * slope:
            step, slope = -gradient, -float(gradient @ gradient)
        if slope == 0.0 or not self._search(step, slope):
            raise Halt(Status.STALLED)

    def _search(self, step: Array, slope: float) -> bool:
        allowed, length = max(self.merits), 1.0
        for _ in range(HALVINGS):
            trial = self.z + length * step
            phi = self.values(trial, self.data.slack(trial))
            if 0.5 * float(phi @ phi) <= allowed + ARMIJO * length * slope:
                self.z = trial
                return True
            length *= 0.5
        return False


def _newton_step(J: Array, phi: Array) -> Array:
    try:
        step = np.linalg.solve(J, -phi)
    except np.linalg.LinAlgError:
        step = np.full_like(phi, np.nan)
    missed = np.linalg.norm(J @ step + phi)
    if missed <= 1e-6 * np.linalg.norm(phi):
        return np.asarray(step)
    size = REGULARISATION * float(np.abs(J).sum(axis=1).max()) ** 2
    return np.asarray(np.linalg.solve(J.T @ J + size * np.eye(len(phi)), -J.T @ phi))
