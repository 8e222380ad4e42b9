"""One step of few bodies: Moreau's method by compiled kernels.

Only the state is computed at once; the problem and the solution, which a loop does not need, are built on
request (:class:`Outcome`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clapas.bodies.rigid.motion import GYRO_ROUNDS
from clapas.dynamics.few.kernels import (
    OUT_OF_REACH,
    REFUSED,
    SETTLED,
    STILL,
    UNSETTLED,
    Ended,
    Span,
    SweepPlan,
    advance,
    begin,
    end,
    guess,
    pose,
    respond,
    settle,
)
from clapas.dynamics.few.tables import CarriedImpulses, ContactArrays, FewBodies, Placed, Posed
from clapas.dynamics.freemotion import free_motion, lead, load_impulses, spin_changes, work_of_loads
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import TOUCHING, Neighbours
from clapas.dynamics.reaching import within_reach
from clapas.dynamics.resting import (
    MOST_SWEPT,
    NEAR,
    are_at_rest,
    begins_with_sweeps,
    hardly_move,
    set_in_motion,
    solved_at_rest,
    solved_from_near,
)
from clapas.dynamics.resting_parts import contacts_at_rest
from clapas.dynamics.state import Impulses, State
from clapas.dynamics.step_problem import StepProblem
from clapas.geometry.colliders import Contacts
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import MANY, ContactProblem
from clapas.problems.workspace import Workspace
from clapas.solvers import solve
from clapas.solvers.auto import Auto
from clapas.solvers.local.exact import MAX_STEPS, ExactPart
from clapas.solvers.loop import GUESS, Solver
from clapas.solvers.nsgs.dozen import AT_A_TIME, MEASURED
from clapas.solvers.nsgs.orders import SEVERAL
from clapas.solvers.solution import History, Solution
from clapas.status import Status
from clapas.typing import Array, Indices
from clapas.units import counted

if TYPE_CHECKING:
    from clapas.dynamics.schemes import MoreauJean


@dataclass
class Problem:
    """Data of the contact problem of a step.

    Parameters
    ----------
    few : FewBodies
        The bodies.
    middle : Placed
        Their poses in the middle of the step, with the velocities of its start.
    contacts : ContactArrays
        The contacts.
    lead : array (n, d), without rows where it is zero
        Correction of the velocities of walls (m/s).
    dt, touching : float
        The step (s), and the gap up to which contacts touch (m).
    """

    few: FewBodies
    middle: Placed
    contacts: ContactArrays
    lead: Array
    dt: float
    touching: float

    def posed(self) -> Posed:
        """The arrays of the problem; the free velocities are still zero."""
        few, contacts = self.few, self.contacts
        pairs = np.ascontiguousarray(contacts.identity[:2].T)
        arguments = self.middle, few.rigid, few.laws, self.lead, self.dt, self.touching, few.sizes
        return pose(contacts, pairs, *arguments)

    def step_problem(self, posed: Posed, free: Array) -> StepProblem:
        """The problem in the form of the general step, for free velocities (N, size)."""
        model, n = self.few.model, len(posed.mu)
        y_free = np.zeros_like(posed.y_free)
        y_free[:-1] = (free * model.mass_root)[model.moving]
        blocks = BodyBlocks(posed.G, posed.bodies, y_free, model.roots)
        imposes = bool(model.motions) or self.few.laws.has_restitution or bool(posed.apart.any())
        problem = ContactProblem.from_blocks(blocks, mu=posed.mu, w=posed.w if imposes else None)
        wall = posed.wall if model.motions else None
        reading = np.zeros(n), np.ones((1, model.d))  # no cohesion; unknowns are impulses
        return StepProblem(problem, self.contacts.as_contacts(), posed.apart, posed.frame, wall, *reading)


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
        """The solution that the solver would have returned, which starts with the same sweeps."""
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
            notes=(f"nsgs: {counted(self.sweeps, 'iteration')}",) if swept else (),
            method=f"{type(solver).__name__}: sweeps on few bodies, in one call" if self.sweeps else GUESS,
        )


@dataclass
class Outcome:
    """Result of a step; ``details`` gives the rest of a :class:`~clapas.dynamics.stepping.StepResult`.

    Parameters
    ----------
    state : State
        The state at its end.
    work, given, rows
        See :class:`clapas.dynamics.stepping.StepResult`.
    before : State
        The state at its start.
    problem : Problem
        The problem.
    free : array (N, size)
        The velocities without impulses of the problem.
    r : array (n, d)
        Its solution.
    answer : Settled or Solution
        How that was found; a Solution if by the solver.
    solver : Solver
        The solver that the user chose.
    idle : Contacts, optional
        Contacts left out of the problem because their bodies move together.
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
        problem = self.problem.step_problem(self.problem.posed(), self.free)
        solution = self.answer
        if isinstance(solution, Settled):
            solution = solution.solution(problem.problem, self.solver, self.r)
        middle = self.problem.middle.state(self.before)
        return {"middle": middle, "problem": problem, "solution": solution, "listed": self.idle}


EXACT = ExactPart(MAX_STEPS)


def step_of_few(
    few: FewBodies, state: State, dt: float, solver: Solver, scheme: MoreauJean, near: Neighbours
) -> Outcome | None:
    """Advance a state by one time step; None where the general step must do it (see the head of the package).

    Parameters are those of :func:`clapas.dynamics.stepping.step`; ``few`` are the bodies of the model, all of
    them born.
    """
    model, theta, dt = few.model, scheme.theta, float(dt)
    gained = few.speed_gained(dt)
    if not few.are_few and not hardly_move(solver, state.velocity, gained):
        return None
    gain, reach = few.gain_and_reach(dt)
    reach = reach if scheme.reach is None else float(scheme.reach)
    start, old = few.arrays_of(state, dt)
    middle, free = Placed.blank(start), np.empty(state.velocity.shape)
    imposed, drift = few.imposed(state.time + 0.5 * dt), (1.0 - theta) * dt
    touching = TOUCHING * few.call(
        begin, start, imposed, few.rigid, gain, bool(scheme.inertia), drift, dt, middle, free
    )
    spin_change = few.no_spin_change
    if model.loads or state.applied:
        free, spin_change = _loaded(model, middle.state(state), dt)
    contacts = ContactArrays(*near.find(middle.position, middle.orientation, max(reach, touching))[:5])
    if model.has_spheres and len(contacts.gap) >= MANY:
        return None
    problem = Problem(few, middle, contacts, few.no_lead, dt, touching)
    if model.motions:
        _leave_out(problem, state, reach)
        ahead = lead(model, middle.state(state), problem.contacts.as_contacts(), state.velocity, theta, dt)
        problem.lead = few.no_lead if ahead is None else ahead

    carried = state.impulses.impulse
    span = Span(dt, theta * dt, touching, reach)
    after, measured, began = Placed.blank(start), np.empty(MEASURED), time.perf_counter()
    ending = OUT_OF_REACH
    while ending == OUT_OF_REACH:
        n, pairs = len(problem.contacts.gap), problem.contacts.identity[:2].T
        rests = are_at_rest(solver, pairs, model.movable, middle.velocity, carried, gained)
        if not rests and contacts_at_rest(solver, pairs, model.movable, middle.velocity, gained) is not None:
            return None
        plan = _sweep_plan(solver, rests)
        r, impulse = np.empty((n, model.d)), np.empty((n, model.d))
        bodies = few.rigid, few.laws, problem.lead, span, plan, few.sizes, spin_change
        arguments = problem.contacts, middle, free, old, *bodies, after, r, impulse, measured
        ending, sweeps, ended = few.call(advance, *arguments)
        if ending == OUT_OF_REACH:
            _leave_out(problem, state, reach)
    is_settled = ending == SETTLED
    pushed = rests and is_settled
    pushed = pushed and set_in_motion(middle.velocity, after.velocity, solver.tol, gained, pairs)
    if not is_settled or pushed:
        return _by_solver(
            problem, state, free, spin_change, old, span, plan, solver, rests, pushed, near.kept
        )
    answer = Settled(sweeps, measured, time.perf_counter() - began)
    return _outcome(problem, state, free, r, answer, solver, after, impulse, ended)


def _loaded(model: Model, middle: State, dt: float) -> tuple[Array, Array]:
    """Velocities (N, size) without contacts under loads, and the changes of the spins by these (N, 3)."""
    return free_motion(model, middle, dt), spin_changes(model, load_impulses(model, middle, dt))


def _leave_out(problem: Problem, state: State, reach: float) -> None:
    """Leave out the contacts that are not within reach."""
    model, found = problem.few.model, problem.contacts.as_contacts()
    middle = problem.middle.state(state)
    kept = within_reach(model, middle, found, problem.touching, reach, problem.dt)
    if kept is not found:
        problem.contacts = ContactArrays.of(kept)


def _outcome(
    problem: Problem,
    state: State,
    free: Array,
    r: Array,
    answer: Settled | Solution,
    solver: Solver,
    after: Placed,
    impulse: Array,
    ended: Ended,
) -> Outcome:
    """The result of a step, from the output of its kernels."""
    few, identity, rows = problem.few, problem.contacts.identity, None
    count, work, walls = ended
    if count < len(r):
        rows = np.flatnonzero((problem.contacts.gap <= problem.touching) | r.any(axis=1))
        # C order, to which kernels are bound: indexing columns may give Fortran order.
        identity, impulse = np.ascontiguousarray(identity[:, rows]), impulse[rows]
    position, orientation, velocity = after
    end = State(
        time=state.time + problem.dt,
        step=state.step + 1,
        position=position,
        orientation=orientation,
        velocity=velocity,
        impulses=Impulses(identity[0], identity[1], identity[2], impulse, few.no_couples(len(impulse))),
        dt=problem.dt,
    )
    few.last = end
    outside = 0.0
    if few.model.loads or state.applied:
        middle = problem.middle.state(state)
        outside = work_of_loads(few.model, state.velocity, middle, velocity, problem.dt)
    return Outcome(end, work + walls, outside - walls, rows, state, problem, free, r, answer, solver)


def _by_solver(
    problem: Problem,
    state: State,
    free: Array,
    spin_change: Array,
    old: CarriedImpulses,
    span: Span,
    plan: SweepPlan,
    solver: Solver,
    rests: bool,
    pushed: bool,
    kept: Workspace,
) -> Outcome | None:
    """The step whose problem a dozen sweeps do not solve, or whose touching bodies move together.

    ``rests`` says that bodies are at rest, ``pushed`` that the carried impulses set them in motion; ``kept``
    is the workspace of solvers. None if numbers are not finite: the general step reports the error.
    """
    few, middle, treated = problem.few, problem.middle, problem.contacts
    posed, measured, began = problem.posed(), np.empty(MEASURED), time.perf_counter()
    r, without = np.empty((len(treated.gap), few.model.d)), np.empty_like(free)
    after = Placed.blank(middle)
    guess(treated, posed.frame, old, r)
    for left in range(GYRO_ROUNDS - 1, -1, -1):
        ending, sweeps = settle(posed, free, few.rigid, plan, few.sizes, r, measured)
        if ending == REFUSED or (ending == STILL and left < GYRO_ROUNDS - 1):
            return None
        if ending == STILL:
            problem.contacts, problem.lead = treated.take(np.empty(0, dtype=np.int64)), few.no_lead
            posed, r = problem.posed(), r[:0]
            settle(posed, free, few.rigid, plan, few.sizes, r, measured)
        answer: Settled | Solution
        if ending == UNSETTLED or (ending == SETTLED and pushed):
            stated, solution = problem.step_problem(posed, free).problem, None
            stated.kept = kept
            if rests:  # otherwise the sweeps have been tried already
                solution = solved_at_rest(stated, solver, r, pushed) or solved_from_near(stated, solver, r)
            answer = solution or solve(stated, solver, r, check=False)
            r = answer.r
        else:
            answer = Settled(sweeps, measured, time.perf_counter() - began)
        arguments = posed, r, middle.velocity, free, few.rigid, spin_change, span.dt, few.sizes
        if not respond(*arguments, after.velocity, without) or left == 0:
            break
        free = without.copy()
    impulse = np.empty(r.shape)
    ended = end(posed, r, middle, without, few.rigid, span.rest, after, impulse)
    outcome = _outcome(problem, state, free, r, answer, solver, after, impulse, ended)
    if ending == STILL:  # bodies that touch and move together: zero impulses
        outcome.idle = treated.take(np.flatnonzero(treated.gap <= problem.touching)).as_contacts()
        outcome.rows = np.full(len(outcome.idle), -1)
        outcome.state = replace(outcome.state, impulses=Impulses.zero(outcome.idle))
    return outcome


def _sweep_plan(solver: Solver, rests: bool) -> SweepPlan:
    """Sweeps to try before the solver, which would start with the same ones.

    Impulses of bodies at rest are measured and not swept: see :mod:`clapas.dynamics.resting`.
    """
    sweeps, tol = begins_with_sweeps(solver), float(solver.tol)
    swept = MOST_SWEPT if sweeps and not rests else 0
    return SweepPlan(EXACT, tol, SEVERAL - 1 if sweeps and not rests else 0, swept, NEAR * tol)
