"""Result of a step with joints: the state at once, the rest on demand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clapas.dynamics.assembly import ContactsInStep
from clapas.dynamics.few.tables import ContactArrays
from clapas.dynamics.jointed.advancing import After
from clapas.dynamics.jointed.mechanism import Mechanism
from clapas.dynamics.joints.commands import Commands
from clapas.dynamics.joints.instep import joints_in_step
from clapas.dynamics.joints.reactions import Reactions
from clapas.dynamics.solving import Instant
from clapas.dynamics.state import State
from clapas.dynamics.systems import SystemsInStep
from clapas.geometry.colliders import Contacts
from clapas.problems.workspace import Workspace
from clapas.solvers.loop import Solver
from clapas.solvers.solution import History, Solution
from clapas.status import Status
from clapas.typing import Array, Indices


@dataclass
class JointedOutcome:
    """Result of a step; ``details`` gives the rest of a :class:`~clapas.dynamics.stepping.StepResult`.

    Parameters
    ----------
    state, work, given, rows
        See :class:`clapas.dynamics.stepping.StepResult`.
    iterations, residual, seconds
        Iterations, residual and time (s) of the solution.
    before, middle : State
        The states at its start and in its middle.
    mechanism, solver, commands, theta
        Arguments of the step.
    touching, lead, treated
        See :class:`clapas.dynamics.assembly.ContactsInStep`.
    after : After
        Output of the kernels.
    r : array (m, d)
        Impulses of contacts and links.
    """

    state: State
    work: float
    given: float
    rows: Indices | None
    iterations: int
    residual: float
    seconds: float
    before: State
    middle: State
    mechanism: Mechanism
    solver: Solver
    commands: Commands | None
    theta: float
    touching: float
    lead: Array | None
    treated: ContactArrays
    after: After
    r: Array

    @property
    def answer(self) -> JointedOutcome:
        """The object with status and residual: itself, as steps that are not solved are not done here."""
        return self

    @property
    def status(self) -> Status:
        """How the solver ended."""
        return Status.SOLVED

    def contacts(self) -> Contacts:
        """The contacts that touch or carry an impulse."""
        treated = self.treated.as_contacts()
        if self.rows is None:
            return treated
        if len(self.rows) and self.rows[0] < 0:  # bodies that touch move together
            return treated.take(np.flatnonzero(treated.gap <= self.touching))
        return treated.take(self.rows)

    def details(self) -> dict[str, Any]:
        """Middle, problem, solution, contacts and reactions, by the general form of a step."""
        model, dt, treated = self.mechanism.model, self.state.dt, self.treated.as_contacts()
        joints = joints_in_step(model, self.before, self.middle, self.theta, dt, self.commands)
        joints = replace(joints, ahead=self.after.ahead, active=self.after.active)
        near = ContactsInStep(model, self.middle, treated, dt, self.touching, self.lead)
        at = Instant(self.before, near, SystemsInStep.none(), Workspace())
        problem = at.problem(self.after.free, joints)
        r = self.r
        if problem.problem.n_contacts != len(r):  # bodies that touch move together
            r = np.zeros((problem.problem.n_contacts, model.d))
        history = np.array([self.iterations]), np.array([self.seconds]), np.array([self.residual])
        solution = Solution(
            problem=problem.problem,
            solver=self.solver,
            r=r,
            status=self.status,
            residual=self.residual,
            iterations=self.iterations,
            time=self.seconds,
            history=History(*history),
        )
        rows, links = joints.motion.rows, self.r[len(treated) :]
        impulse = rows.of_terms(joints.motion.smallest(self.after.rows))
        impulse[rows.n_closing :] += joints.along(links if len(links) else None)
        return {
            "middle": self.middle,
            "problem": problem,
            "solution": solution,
            "listed": self.contacts(),
            "joints": Reactions(rows, joints.motion.placed, impulse, dt),
        }
