"""Newton's method on a nonsmooth equation Φ(z) = 0 equivalent to an LCP, with a line search.

Whatever Φ, the merit function is Ψ = ½|Φ_FB|² with the function of Fischer and Burmeister: it is
smooth, and where M is a P₀-matrix its only stationary points are the solutions (De Luca, Facchinei, Kanzow
2000). Where the search stalls nevertheless, because M is singular or indefinite, the method changes to
proximal problems (:mod:`clapas.solvers.lcp.proximal`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterator

import numpy as np

from clapas.problems.lcp import LCP
from clapas.solvers.lcp import fischer_burmeister_function as fischer_burmeister
from clapas.solvers.lcp.polishing import polished
from clapas.solvers.lcp.proximal import Proximal, ProximalMethod
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt
from clapas.status import Status
from clapas.typing import Array

ARMIJO = 1e-4
HALVINGS = 20
MEMORY = 5  # number of past merits that a new one is compared with
REGULARISATION = 1e-10  # of singular systems, relative to the Jacobian
CLOSE = 1e-6  # |Φ| relative to ε |z − c| below which a proximal problem counts as solved
EXACT = 1e-13  # |Φ| of a solved problem, relative to |z|
PATIENCE = 15  # steps within which the merit must have halved


class DampedNewton(ProximalMethod):
    """Solve J dz = −Φ with an element J of the generalised Jacobian, with a backtracking line search.

    Singular systems are solved in the regularised least-squares sense (Levenberg, Marquardt); where that
    step does not lower the merit, Newton's on Φ_FB is tried, then its gradient. The merit must be below
    the largest of the last few values (nonmonotone search).
    """

    def __init__(self, problem: LCP, guess: Array) -> None:
        self.scaled = Scaled.of(problem)
        self.z = self.scaled.forth(guess)
        self.proximal = Proximal(self.scaled.problem, self.z)
        self._resume()

    @abstractmethod
    def values(self, z: Array, w: Array) -> Array:
        """Φ(z), from w = M z + q."""

    @abstractmethod
    def jacobian(self, z: Array, w: Array) -> tuple[Array, Array]:
        """Diagonals A and B of J = A + B M."""

    def unknowns(self) -> Array:
        """The current z, possibly slightly negative; polished in proximal problems."""
        return self.scaled.back(polished(self.scaled.problem, self.z) if self.proximal.shift else self.z)

    def advance(self, count: int) -> None:
        """Do ``count`` steps."""
        for _ in range(count):
            self._step()

    def _resume(self) -> None:
        self.merits: deque[float] = deque(maxlen=MEMORY)
        self.goal, self.remaining = np.inf, PATIENCE

    def _step(self) -> None:
        data = self.proximal.problem
        w = data.slack(self.z)
        phi = fischer_burmeister.values(self.z, w)
        size = float(np.linalg.norm(phi))
        distance = self.proximal.shift * float(np.linalg.norm(self.z - self.proximal.centre))
        if size <= max(EXACT * (1.0 + float(np.linalg.norm(self.z))), CLOSE * distance):
            self._accept()
            return
        self._record(0.5 * size**2)
        if self.remaining == 0 or not self._move(data, w, phi):
            self._regularise()

    def _record(self, merit: float) -> None:
        self.merits.append(merit)
        self.remaining -= 1
        if merit <= self.goal:
            self.goal, self.remaining = 0.5 * merit, PATIENCE

    def _move(self, data: LCP, w: Array, phi: Array) -> bool:
        """Take the first direction along which the merit decreases; False when there is none."""
        A, B = fischer_burmeister.jacobian(self.z, w)
        gradient = A * phi + data.M.T @ (B * phi)
        for step in self._directions(data, w, phi, gradient):
            slope = min(float(gradient @ step), 0.0)
            if np.isfinite(step).all() and self._search(data, step, slope):
                return True
        return False

    def _directions(self, data: LCP, w: Array, phi: Array, gradient: Array) -> Iterator[Array]:
        values = self.values(self.z, w)
        yield _newton_step(data, *self.jacobian(self.z, w), values)
        if not np.array_equal(values, phi):
            yield _newton_step(data, *fischer_burmeister.jacobian(self.z, w), phi)
        yield -gradient

    def _search(self, data: LCP, step: Array, slope: float) -> bool:
        allowed, length = max(self.merits), 1.0
        for _ in range(HALVINGS):
            trial = self.z + length * step
            phi = fischer_burmeister.values(trial, data.slack(trial))
            merit = 0.5 * float(phi @ phi)
            if merit <= allowed + ARMIJO * length * slope and merit < (1.0 - ARMIJO) * allowed:
                self.z = trial
                return True
            if slope == 0.0:
                return False
            length *= 0.5
        return False

    def _regularise(self) -> None:
        """Change to a proximal problem whose matrix is more regular."""
        if self.proximal.is_exhausted:
            self.notes = ("no step lowers the merit: M is not semidefinite, this is a stationary point",)
            raise Halt(Status.STALLED)
        self.notes = ("Newton's steps stalled: proximal problems were solved",)
        self.proximal.raise_shift()
        self.z = self.proximal.centre
        self._resume()


def _newton_step(data: LCP, A: Array, B: Array, phi: Array) -> Array:
    J = np.diag(A) + B[:, None] * data.dense
    try:
        step = np.linalg.solve(J, -phi)
    except np.linalg.LinAlgError:
        step = np.full_like(phi, np.nan)
    residual = np.linalg.norm(J @ step + phi)
    if residual <= 1e-6 * np.linalg.norm(phi):
        return np.asarray(step)
    size = REGULARISATION * float(np.abs(J).sum(axis=1).max()) ** 2
    return np.asarray(np.linalg.solve(J.T @ J + size * np.eye(len(phi)), -J.T @ phi))
