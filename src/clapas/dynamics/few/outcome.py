"""What came of a step of few bodies: the state at once, the rest when someone asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clapas.dynamics.assembly import StepProblem
from clapas.dynamics.few.bodies import FewBodies
from clapas.dynamics.few.posing import pose
from clapas.dynamics.few.tables import Met, Placed, Posed
from clapas.dynamics.model import State
from clapas.geometry.colliders import Contacts
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.solvers.auto import Auto
from clapas.solvers.loop import GUESS, Solver
from clapas.solvers.nsgs.dozen import AT_A_TIME
from clapas.solvers.solution import History, Solution
from clapas.status import Status
from clapas.typing import Array, Indices


@dataclass
class Problem:
    """What the contact problem of a step is made of.

    Parameters
    ----------
    few : FewBodies
        The bodies.
    middle : Placed
        Where they are in the middle of the step, with the velocities of its start.
    met : Met
        The contacts.
    lead : array (n, d), without rows where it is zero
        What the velocities of walls miss (m/s).
    dt, touching : float
        The step (s), and the gap up to which contacts touch (m).
    """

    few: FewBodies
    middle: Placed
    met: Met
    lead: Array
    dt: float
    touching: float

    def posed(self) -> Posed:
        """The arrays of the problem; the free velocities are still zero."""
        few, met = self.few, self.met
        pairs = np.ascontiguousarray(met.identity[:2].T)
        given = self.middle, few.rigid, few.laws, self.lead, self.dt, self.touching, few.sizes
        return pose(met, pairs, *given)

    def made(self, posed: Posed, free: Array) -> StepProblem:
        """The problem as the rest of the package knows it, for free velocities (N, size)."""
        model, n = self.few.model, len(posed.mu)
        y_free = np.zeros_like(posed.y_free)
        y_free[:-1] = (free * model.mass_root)[model.moving]
        blocks = BodyBlocks(posed.G, posed.bodies, y_free, model.roots)
        imposes = bool(model.motions) or model.laws.has_restitution or bool(posed.apart.any())
        problem = ContactProblem.from_blocks(blocks, mu=posed.mu, w=posed.w if imposes else None)
        wall = posed.wall if model.motions else None
        reading = np.zeros(n), np.ones((1, model.d))  # no cohesion; unknowns are impulses
        return StepProblem(problem, self.met.contacts(), posed.apart, posed.frame, wall, *reading)


@dataclass
class Settled:
    """Impulses found without the solver: by how many sweeps, with which residuals, in how many seconds."""

    sweeps: int
    measured: Array
    seconds: float
    status: ClassVar[Status] = Status.SOLVED

    @property
    def residual(self) -> float:
        """The last residual."""
        return float(self.measured[self.sweeps // AT_A_TIME])

    def solution(self, problem: ContactProblem, solver: Solver, r: Array) -> Solution:
        """The same as the solver would have said, which begins alike."""
        count = 1 + self.sweeps // AT_A_TIME
        residuals = self.measured[:count].copy()
        swept = self.sweeps > 0 and isinstance(solver, Auto)
        return Solution(
            problem=problem,
            solver=solver,
            r=r,
            status=self.status,
            residual=self.residual,
            iterations=self.sweeps,
            time=self.seconds,
            history=History(AT_A_TIME * np.arange(count), np.full(count, self.seconds), residuals),
            notes=(f"nsgs: {self.sweeps} iterations",) if swept else (),
            method=f"{type(solver).__name__}: sweeps on few bodies, in one call" if self.sweeps else GUESS,
        )


@dataclass
class Outcome:
    """A step done; what its fields do not say of :class:`clapas.dynamics.stepping.Stepped`, ``details`` do.

    Parameters
    ----------
    state : State
        Where it led.
    work, given, rows
        See :class:`clapas.dynamics.stepping.Stepped`.
    before : State
        Where it began.
    problem : Problem
        What was solved.
    free : array (N, size)
        The velocities without impulses of the problem.
    r : array (n, d)
        Its answer.
    answer : Settled or Solution
        How that was found; a solution if by the solver.
    solver : Solver
        The solver asked for.
    idle : Contacts, optional
        Contacts that are in no problem because nothing happens there.
    """

    state: State
    work: float
    given: float
    rows: Indices | None
    before: State
    problem: Problem
    free: Array
    r: Array
    answer: Settled | Solution
    solver: Solver
    idle: Contacts | None = None

    def details(self) -> dict[str, Any]:
        """Middle, problem, solution and contacts."""
        problem = self.problem.made(self.problem.posed(), self.free)
        solution = self.answer
        if isinstance(solution, Settled):
            solution = solution.solution(problem.problem, self.solver, self.r)
        contacts = problem.contacts if self.idle is None else self.idle
        if self.rows is not None and self.idle is None:
            contacts = contacts.take(self.rows)
        middle = self.problem.middle.state(self.before)
        return {"middle": middle, "problem": problem, "solution": solution, "contacts": contacts}
