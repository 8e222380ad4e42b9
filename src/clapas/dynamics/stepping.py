"""Moreau's time stepping: one step fits on a page.

    q_m             middle of the step, reached at the old velocity
    contacts        those with gap ≤ 0 at q_m, or within reach of it; links
    problem         M v + f = Hᵀ r + Jᵀ λ, u = H v + w + C r, J v + b = 0, Coulomb's law, all evaluated at q_m
    solve           new velocity v and impulses r, λ
    q               from q_m at the new velocity

Several collisions inside one step are treated together, and an accumulation of bounces ends in
one step. Reference: Moreau 2003, section 7.1.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from clapas.bodies.links import Account
from clapas.bodies.rigid.motion import moved, work_on_many
from clapas.compiled.threads import one_blas_thread
from clapas.dynamics.assembly import ContactsInStep
from clapas.dynamics.births import with_births, work_of_laying
from clapas.dynamics.defaults import STEP_SOLVER
from clapas.dynamics.few.stepping import Outcome, step_of_few
from clapas.dynamics.freemotion import free_motion, lead, work_of_loads
from clapas.dynamics.held_contacts import between_free, with_held
from clapas.dynamics.jointed.outcome import JointedOutcome
from clapas.dynamics.jointed.stepping import step_of_mechanism
from clapas.dynamics.joints.commands import Commands
from clapas.dynamics.joints.instep import JointsInStep, joints_in_step
from clapas.dynamics.joints.projection import onto_joints
from clapas.dynamics.joints.reactions import Reactions
from clapas.dynamics.links import OF_JOINTS
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours, touching_gap
from clapas.dynamics.pulling import pulled_apart
from clapas.dynamics.reaching import default_reach, within_reach
from clapas.dynamics.schemes import STEP_SCHEME, MoreauJean
from clapas.dynamics.solving import Instant, ProblemSolver, Solved, solved
from clapas.dynamics.state import Impulses, State
from clapas.dynamics.step_problem import StepProblem
from clapas.dynamics.systems import (
    SystemsInStep,
    apart_from_themselves,
    bending_margin,
    energy_of,
    on_true_surfaces,
    systems_in_step,
    with_carriers,
)
from clapas.geometry.colliders import Contacts
from clapas.solvers import Solution
from clapas.solvers.loop import Solver
from clapas.status import Status
from clapas.typing import Indices, Mask
from clapas.units import counted


@dataclass(frozen=True)
class StepResult:
    """The result of a time step.

    Parameters
    ----------
    state : State
        The state at its end.
    middle : State
        Positions at which contacts were found, with the velocities of the start.
    problem : StepProblem
        The problem that was solved.
    solution : Solution
        Its solution.
    work : float
        Work of the contacts, and of depositing grains (J): negative when energy is lost.
    given : float
        External work (J): of loads, guides, and walls that move, also through joints.
    listed : Contacts, or None
        The contacts that touch or carry an impulse, where they are not all of the problem: some bodies sleep,
        or none was solved.
    rows : array (n,), or None
        Row of each of those in the problem, −1 between bodies that sleep. None if they are the same.
    joints : Reactions, or None
        Reactions of the joints, by name; None without joints.
    """

    state: State
    middle: State
    problem: StepProblem
    solution: Solution
    work: float
    given: float
    listed: Contacts | None
    rows: Indices | None = None
    joints: Reactions | None = field(default_factory=lambda: None)  # not a class attribute: see __getattr__

    @staticmethod
    def of(outcome: Outcome | JointedOutcome) -> StepResult:
        """A step by compiled kernels; fields that a loop does not need are computed when first read."""
        result = object.__new__(StepResult)
        result.__dict__.update(
            state=outcome.state, work=outcome.work, given=outcome.given, rows=outcome.rows, outcome=outcome
        )
        if isinstance(outcome, Outcome):
            result.__dict__["joints"] = None
        return result

    def __repr__(self) -> str:
        state = self.state
        return (
            f"StepResult(t = {state.time:.6g} s, step {state.step}, "
            f"{counted(self.n_contacts, 'contact', 'contacts')}, residual {self.residual:.2e})"
        )

    @cached_property
    def contacts(self) -> Contacts:
        """The contacts that touch or carry an impulse, in the order of the impulses of the state."""
        outcome = self.__dict__.get("outcome")
        if isinstance(outcome, JointedOutcome):  # control loops read only these: skip the other details
            return outcome.contacts()
        if self.listed is not None:
            return self.listed
        return self.problem.contacts_at(self.rows)

    @property
    def status(self) -> Status:
        """How the solver ended."""
        outcome = self.__dict__.get("outcome")
        return self.solution.status if outcome is None else outcome.answer.status

    @property
    def n_contacts(self) -> int:
        """Number of contacts that touch or carry an impulse."""
        return len(self.state.impulses.a)

    @property
    def residual(self) -> float:
        """Residual of the solution."""
        outcome = self.__dict__.get("outcome")
        return self.solution.residual if outcome is None else outcome.answer.residual

    def __getattr__(self, name: str) -> Any:
        outcome = self.__dict__.get("outcome")
        if outcome is None or name not in StepResult.__dataclass_fields__:
            raise AttributeError(f"'StepResult' has no attribute '{name}'")
        self.__dict__.update(outcome.details())
        return self.__dict__[name]


def step(
    model: Model,
    state: State,
    dt: float,
    solver: Solver | None = None,
    scheme: MoreauJean | None = None,
    neighbours: Neighbours | None = None,
    *,
    asleep: Mask | None = None,
    commands: Commands | None = None,
    solved_by: ProblemSolver | None = None,
) -> StepResult:
    """Advance a state by one time step.

    Parameters
    ----------
    model, state
        The bodies, and the state at the start of the step.
    dt : float
        Time step (s).
    solver : Solver, optional
        Method for the contact problem; :data:`clapas.dynamics.defaults.STEP_SOLVER` by default.
    scheme : MoreauJean, optional
        Moreau's midpoint scheme by default.
    neighbours : Neighbours, optional
        The detector and its list of near pairs, kept from step to step for speed.
    asleep : array of bool, optional
        Bodies to hold during the step, at velocity zero: the contacts between them keep their impulses.
        Bodies beyond its length are awake.
    commands : Commands, optional
        Targets of motors; those of the scene by default.
    solved_by : callable, optional
        Solves the contact problem in place of the solver, for problems shared with other ranks.
    """
    scheme, neighbours = scheme or STEP_SCHEME, neighbours or Neighbours(model)
    solver = solver or STEP_SOLVER
    if asleep is None and scheme.projection == 0.0:
        outcome = _compiled(state, dt, solver, scheme, neighbours, commands)
        if outcome is not None:
            return StepResult.of(outcome)
    # Matrices of systems have some hundred rows, for which threads of BLAS cost more than they gain.
    with one_blas_thread() if model.systems else nullcontext():
        return _moreau(model, state, dt, solver, scheme, neighbours, asleep, commands, solved_by)


def _moreau(
    model: Model,
    state: State,
    dt: float,
    solver: Solver,
    scheme: MoreauJean,
    neighbours: Neighbours,
    asleep: Mask | None,
    commands: Commands | None,
    solved_by: ProblemSolver | None,
) -> StepResult:
    """The general step, for any bodies; see :func:`step`."""
    before, state = state, with_births(model, state)
    alive = model.first(state.n_bodies)
    held = asleep if asleep is not None and asleep.any() else None
    if held is not None:
        alive = alive.holding(np.pad(held, (0, state.n_bodies - len(held))))

    middle, systems = drifted(alive, state, scheme, dt)
    found, treated, touching = _detected(alive, middle, neighbours, scheme, dt, held is not None)
    if held is None:
        found = treated  # frees the others: a quarter of a gigabyte for a million grains
    free = free_motion(alive, middle, dt)  # after detection, which takes most memory
    ahead = lead(alive, middle, treated, state.velocity, scheme.theta, dt)
    near = ContactsInStep(alive, middle, treated, dt, touching, ahead)
    joints = None
    if alive.joints is not None:
        joints = joints_in_step(alive, state, middle, scheme.theta, dt, commands, systems)
    at = Instant(state, near, systems, neighbours.kept, solved_by)
    answer = solved(at, free, joints, solver)
    at = replace(at, systems=answer.systems)

    end, lift = _advanced(at, answer, scheme)
    listed, impulses, rows = _borne(at, answer, found, held is not None)
    end = replace(end, impulses=impulses)
    reactions = None if answer.joints is None else _reactions(answer.joints, answer)
    contact_work, given = _accounts(at, answer, end)
    contact_work, given = contact_work + work_of_laying(model, before, state), given + lift
    return StepResult(
        end, middle, answer.problem, answer.solution, contact_work, given, listed, rows, reactions
    )


def _compiled(
    state: State,
    dt: float,
    solver: Solver,
    scheme: MoreauJean,
    neighbours: Neighbours,
    commands: Commands | None,
) -> Outcome | JointedOutcome | None:
    """The same step by compiled kernels, for few bodies or a mechanism; None where they do not apply."""
    if few := neighbours.few(state):
        outcome = step_of_few(few, state, dt, solver, scheme, neighbours)
        if outcome is not None:
            return outcome
    if mechanism := neighbours.mechanism(state):
        return step_of_mechanism(mechanism, state, dt, solver, scheme, neighbours, commands)
    return None


def drifted(model: Model, state: State, scheme: MoreauJean, dt: float) -> tuple[State, SystemsInStep]:
    """The middle of the step: positions (1 − θ) h later, initial velocities (imposed ones at the middle)."""
    velocity = state.velocity if scheme.inertia else np.zeros_like(state.velocity)
    if model.motions or velocity[model.walls].any():
        velocity = velocity.copy()
        velocity[model.walls] = 0.0
    for body in model.motions:
        velocity[body] = model.driven(body, velocity[body], state.time + 0.5 * dt)
    position, orientation = moved(state.position, state.orientation, velocity, (1.0 - scheme.theta) * dt)
    middle = replace(state, position=position, orientation=orientation, velocity=velocity)
    if not model.systems:
        return middle, SystemsInStep.none()
    systems, middle = systems_in_step(model, state, middle, scheme.theta, dt, inertia=scheme.inertia)
    return middle, systems


def _detected(
    model: Model, middle: State, neighbours: Neighbours, scheme: MoreauJean, dt: float, holding: bool
) -> tuple[Contacts, Contacts, float]:
    """All contacts within reach, those in the problem of the step, and the gap (m) up to which they touch.

    ``holding`` says whether some bodies are held: contacts between them are left out of the problem.
    """
    reach = default_reach(model, dt) if scheme.reach is None else scheme.reach
    touching = touching_gap(middle)
    within = max(reach, touching)
    found = neighbours.detect(middle, within + bending_margin(model, middle.parts))
    if model.systems:
        found = on_true_surfaces(model, middle, found, within)
    treated = between_free(model, found) if holding else found
    if model.systems:
        treated = apart_from_themselves(model, treated)
    return found, within_reach(model, middle, treated, touching, reach, dt), touching


def _advanced(at: Instant, answer: Solved, scheme: MoreauJean) -> tuple[State, float]:
    """The state at the end: positions from the middle at the new velocities, joints closed.

    Also returns the potential energy (J) gained by closing the joints.
    """
    middle, state, h = at.middle, at.start, scheme.theta * at.dt
    position, orientation = moved(middle.position, middle.orientation, answer.velocity, h)
    end = replace(
        state,
        time=state.time + at.dt,
        step=state.step + 1,
        position=position,
        orientation=orientation,
        velocity=answer.velocity,
        dt=at.dt,
        sleep=None,
        applied={},
        links=answer.problem.of_links(answer.solution.r),
    )
    if scheme.projection > 0.0:
        end = pulled_apart(at.model, end, answer.problem, scheme.projection)
    if at.systems.systems:
        end = with_carriers(at.model, replace(end, parts=at.systems.moved(answer.others, h)))
    if (joints := answer.joints) is not None:
        x = joints.drives.middle + h * joints.rates(answer.velocity, answer.others)
        closed = onto_joints(at.model, replace(end, coordinates=x), joints.motion, at.systems, h)
        lifted = (end.position - closed.position)[at.model.movable] @ at.model.gravity
        lift = float(at.model.mass[at.model.movable] @ lifted)
        if joints.hold_systems:
            lift += energy_of(at.model, closed).potential - energy_of(at.model, end).potential
        return closed, lift
    return end, 0.0


def _borne(
    at: Instant, answer: Solved, found: Contacts, holding: bool
) -> tuple[Contacts | None, Impulses, Indices | None]:
    """The contacts that touch or carry, their impulses and rows in the problem; see :class:`StepResult`."""
    problem, r, state = answer.problem, answer.solution.r, at.start
    contacts, rows = None, problem.carrying(r)
    impulses = problem.impulses(r, rows)
    if holding:
        among = np.arange(len(problem.contacts)) if rows is None else rows
        ratio = at.dt / state.dt if state.dt else 1.0
        contacts, impulses, place = with_held(
            at.model,
            found,
            problem.contacts_at(rows),
            impulses,
            state.impulses,
            ratio,
            at.near.touching,
        )
        rows = np.where(place < 0, -1, np.append(among, -1)[place])
    elif len(at.near.contacts) and not len(problem.contacts) and at.model.blocked is None:
        # Bodies that touch and move together were left out of the problem: their impulses are zero.
        contacts = at.near.contacts.take(np.flatnonzero(at.near.contacts.gap <= at.near.touching))
        impulses, rows = Impulses.zero(contacts), np.full(len(contacts), -1)
    return contacts, impulses, rows


def _reactions(joints: JointsInStep, answer: Solved) -> Reactions:
    """Impulses of the joints: along their rows, and the total along their coordinates."""
    rows, links = joints.motion.rows, answer.problem.links
    assert answer.multipliers is not None
    impulse, link_impulses = rows.of_terms(answer.multipliers), None
    if links is not None and joints.acting is not None:
        link_impulses = answer.problem.link_rows(answer.solution.r)[links.owner == OF_JOINTS]
    impulse[rows.n_closing :] += joints.along(link_impulses)
    return Reactions(rows, joints.motion.placed, impulse, joints.dt)


def _accounts(at: Instant, answer: Solved, end: State) -> tuple[float, float]:
    """Work of contacts and joints (J), and external work: of loads, guides and walls that move."""
    model, middle, problem, r = at.model, at.middle, answer.problem, answer.solution.r
    velocity = answer.velocity
    bodies = model.mass, model.inertia, model.movable
    internal = work_on_many(*bodies, middle.velocity, answer.free, velocity)
    internal += answer.systems.work(answer.others)
    walls = problem.work_of_walls(r)
    outside = work_of_loads(model, at.start.velocity, middle, velocity, at.dt) - walls
    through = 0.0
    if problem.links is not None:
        rigid = 0.5 * (middle.velocity + velocity)[model.movable]
        mean = np.concatenate((rigid.ravel(), *at.systems.mean(answer.others)))
        link_r = problem.link_rows(r)
        internal -= problem.links.work(link_r, mean, Account.STORED)
        through += problem.links.work(link_r, mean, Account.GIVEN)
    if answer.joints is not None:
        assert answer.multipliers is not None
        mean, others = 0.5 * (middle.velocity + velocity), answer.systems.mean(answer.others)
        through += answer.joints.given(answer.multipliers, mean, others)
        internal += answer.joints.stored(end)
    internal += walls - through
    return internal, outside + through
