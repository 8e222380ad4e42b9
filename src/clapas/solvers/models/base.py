"""Base class of the models of friction: computed once, then measured by Coulomb's law."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.convex.base import ConvexProblem
from clapas.solvers.fixed_point.base import default_inner
from clapas.solvers.loop import DirectModel, Iteration
from clapas.solvers.solution import History, Solution
from clapas.status import Status
from clapas.typing import Array

SLIPS = 1e-9  # relative to the free speed: slower counts as rest


@dataclass(frozen=True, kw_only=True)
class FrictionModel(DirectModel):
    """A friction law in place of Coulomb's.

    Parameters
    ----------
    tol : float
        Accuracy to which the law of the model is solved, and residual of Coulomb's law below which the
        status is SOLVED.
    max_iterations, time_limit
        See :class:`IterativeSolver`; a model does one iteration.
    """

    @abstractmethod
    def impulses(self, problem: ContactProblem, guess: Array) -> tuple[Array, float]:
        """Impulses (n, d) that obey the law of the model, and the accuracy to which they do.

        ``guess`` (n, d) are those of the previous step, which some models use.
        """

    def compute(self, problem: ContactProblem, guess: Array) -> Solution:
        """The impulses of the model, measured by Coulomb's law."""
        began = time.perf_counter()
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            r, accuracy = self.impulses(problem, guess)
        residual, seconds = problem.residual(r), time.perf_counter() - began
        notes: tuple[str, ...] = ()
        status = Status.SOLVED if residual <= self.tol else Status.OTHER_LAW
        if not accuracy <= self.tol:
            status = Status.STALLED
            notes = (f"the law of {type(self).__name__} holds to {accuracy:.1e} only",)
        return Solution(
            problem=problem,
            solver=self,
            r=r + 0.0,  # turns -0.0 into 0.0
            status=status,
            residual=residual,
            iterations=1,
            time=seconds,
            history=History(np.ones(1, dtype=np.int64), np.array([seconds]), np.array([residual])),
            notes=notes,
            method=type(self).__name__,
        )

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Raise an error: models do not iterate and cannot be used by portfolios or inner loops."""
        raise SettingsError(
            f"{type(self).__name__} is another law than Coulomb's, not a method for it: give it to solve, to "
            "a scene or to --solver, not to another method"
        )


def convex_solution(problem: ContactProblem, convex: ConvexProblem, tol: float) -> tuple[Array, float]:
    """Minimiser of a convex problem, and its residual."""
    start = np.zeros((problem.n_contacts, problem.d))
    solution = default_inner().start(problem).solve(convex, start, tol)
    return solution.r, solution.residual


@dataclass(frozen=True, eq=False, kw_only=True)
class Defects:
    """Violation of Coulomb's law by impulses, part by part.

    Parameters
    ----------
    problem : ContactProblem
        The contacts.
    r, u : arrays (n, d)
        Impulses and velocities, u = W r + q.
    """

    problem: ContactProblem
    r: Array
    u: Array

    @cached_property
    def lifting(self) -> Array:
        """u_N where a contact pushes, (n,): zero under Coulomb's law (m/s)."""
        return np.where(self.r[:, 0] > 0.0, self.u[:, 0], 0.0)

    @cached_property
    def penetration(self) -> Array:
        """Speed at which contacts close, (n,): zero under Coulomb's law (m/s)."""
        return np.asarray(np.maximum(-self.u[:, 0], 0.0))

    @cached_property
    def deviation(self) -> Array:
        """Angle between friction and the direction against the slip, (n,); 0 where nothing slides (rad)."""
        slip, force = np.linalg.norm(self.u[:, 1:], axis=1), np.linalg.norm(self.r[:, 1:], axis=1)
        slides = (slip > SLIPS * self.problem.free_speed) & (force > 0.0)
        opposite = -np.einsum("ni,ni->n", self.u[:, 1:], self.r[:, 1:])
        cosine = np.divide(opposite, slip * force, out=np.ones_like(slip), where=slides)
        return np.asarray(np.arccos(np.clip(cosine, -1.0, 1.0)))

    @cached_property
    def excess(self) -> Array:
        """|r_T| − mu r_N, (n,): at most zero under Coulomb's law (N·s)."""
        return np.asarray(np.linalg.norm(self.r[:, 1:], axis=1) - self.problem.mu * self.r[:, 0])


def defects(solution: Solution) -> Defects:
    """Violation of Coulomb's law by the impulses of a model.

    Examples
    --------
    >>> from clapas import solve
    >>> from clapas.solvers.models import Associated
    >>> particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5])
    >>> solution = solve(particle, Associated())
    >>> solution.status.name, defects(solution).lifting.round(6).tolist()
    ('OTHER_LAW', [1.0])
    """
    return Defects(problem=solution.problem, r=solution.r, u=solution.u)
