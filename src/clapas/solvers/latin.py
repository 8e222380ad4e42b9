"""LATIN (LArge Time INcrement) with friction: alternate between dynamics and the law of each contact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.errors import SettingsError
from clapas.linalg.lu import lu
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class LATIN(IterativeSolver):
    """LATIN: alternate between u = W r + q and Coulomb's law along a fixed search direction.

    With h_i = λ_i / k for contact i (velocity per impulse) and a = û + h r̂,

        linear stage:  (W + h) r = a − q,    u = a − h r
        local stage:   ŝ = u − h r,    r̂_N = max(0, −ŝ_N)/h,    r̂_T = P(−ŝ_T/h) on the disc of radius mu r̂_N,
                       û = ŝ + h r̂

    One matrix is factorised once; an iteration is one solve with it and one visit of each contact. Friction
    is bounded in both directions: by a disc, or by an interval in the plane.

    Suits small and medium problems solved again and again with the same W. The best direction k depends on
    the problem: below 1 for stiff chains of contacts. Not proved to converge with friction.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    k : float
        Direction, relative to the responses of the contacts: no unit.
    relaxation : float
        Fraction of each step taken, up to 1 (the original method).

    References
    ----------
    Ladevèze 1999; Alart, Dureisseix 2008 (with contacts).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solve(gallery.get("one-slide").problem, LATIN(tol=1e-10)).status.name
    'SOLVED'
    """

    max_iterations: int = 100_000
    k: float = 1.0
    relaxation: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.k > 0:
            raise SettingsError(f"k must be positive, got {self.k}")
        if not 0 < self.relaxation <= 1:
            raise SettingsError(f"relaxation must be above 0 and at most 1, got {self.relaxation}")

    def start(self, problem: ContactProblem, guess: Array) -> Stages:
        """Factorise W + h."""
        return Stages(reduce(problem), guess, self)


class Stages(Iteration):
    """The two stages; ``balanced`` holds r and u of the linear one, which violates the law."""

    def __init__(self, problem: ContactProblem, guess: Array, settings: LATIN) -> None:
        self.mu, self.q, self.relaxation = problem.mu, problem.q, settings.relaxation
        self.h = problem.response[:, None] / settings.k
        direction = sparse.diags_array(np.repeat(self.h, problem.d))
        self.solve = lu(sparse.csc_array(problem.W) + direction) if guess.size else np.asarray
        self.r_hat = guess
        self.a = problem.velocity(guess) + self.h * guess
        self.balanced = (guess, problem.velocity(guess))  # r and u of the linear stage: u = W r + q

    def impulses(self) -> Array:
        """Impulses r̂ of the local stage, in their cones."""
        return self.r_hat

    def advance(self, count: int) -> None:
        """Do ``count`` iterations of a linear and a local stage."""
        for _ in range(count):
            r = self.solve((self.a - self.q).ravel()).reshape(self.a.shape)
            s = self.a - 2.0 * self.h * r
            self.balanced = (r, s + self.h * r)
            self.r_hat = self._local_stage(-s / self.h)
            self.a += self.relaxation * (s + 2.0 * self.h * self.r_hat - self.a)

    def _local_stage(self, trial: Array) -> Array:
        normal = np.maximum(trial[:, 0], 0.0)
        size = np.linalg.norm(trial[:, 1:], axis=1)
        radius = self.mu * normal
        shrink = np.where(size > radius, radius / np.where(size > 0.0, size, 1.0), 1.0)
        return np.column_stack((normal, shrink[:, None] * trial[:, 1:]))
