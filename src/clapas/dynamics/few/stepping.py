"""One step of few bodies: Moreau's method again, by kernels.

The state is there at once; what people ask of a step but a loop does not need, its problem and its solution,
is made when asked for (:class:`Outcome`).
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
    Way,
    advance,
    begin,
    end,
    guess,
    pose,
    respond,
    settle,
)
from clapas.dynamics.few.tables import Carried, FewBodies, Met, Placed, Posed
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

if TYPE_CHECKING:
    from clapas.dynamics.schemes import MoreauJean


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
        imposes = bool(model.motions) or self.few.laws.has_restitution or bool(posed.apart.any())
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
    """A step done; ``details`` make the rest of a :class:`~clapas.dynamics.stepping.StepResult`.

    Parameters
    ----------
    state : State
        Where it led.
    work, given, rows
        See :class:`clapas.dynamics.stepping.StepResult`.
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
        middle = self.problem.middle.state(self.before)
        return {"middle": middle, "problem": problem, "solution": solution, "listed": self.idle}


EXACTLY = ExactPart(MAX_STEPS)


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
    start, old = few.taken(state, dt)
    middle, free = Placed.blank(start), np.empty(state.velocity.shape)
    imposed, drift = few.imposed(state.time + 0.5 * dt), (1.0 - theta) * dt
    touching = TOUCHING * few.call(
        begin, start, imposed, few.rigid, gain, bool(scheme.inertia), drift, dt, middle, free
    )
    kick = few.no_kick
    if model.loads or state.applied:
        free, kick = _loaded(model, middle.state(state), dt)
    met = Met(*near.find(middle.position, middle.orientation, max(reach, touching))[:5])
    if model.has_spheres and len(met.gap) >= MANY:
        return None
    problem = Problem(few, middle, met, few.no_lead, dt, touching)
    if model.motions:
        _leave_out(problem, state, reach)
        ahead = lead(model, middle.state(state), problem.met.contacts(), state.velocity, theta, dt)
        problem.lead = few.no_lead if ahead is None else ahead

    carried = state.impulses.impulse
    rests = are_at_rest(solver, len(problem.met.gap), middle.velocity, carried, gained)
    way = _way(solver, rests)
    span = Span(dt, theta * dt, touching, reach)
    after, measured, began = Placed.blank(start), np.empty(MEASURED), time.perf_counter()
    how = OUT_OF_REACH
    while how == OUT_OF_REACH:
        n = len(problem.met.gap)
        r, impulse = np.empty((n, model.d)), np.empty((n, model.d))
        given = problem.met, middle, free, old, few.rigid, few.laws, problem.lead, span, way, few.sizes
        how, sweeps, ended = few.call(advance, *given, kick, after, r, impulse, measured)
        if how == OUT_OF_REACH:
            _leave_out(problem, state, reach)
    pushed = rests and how == SETTLED and set_in_motion(middle.velocity, after.velocity, solver.tol, gained)
    if how != SETTLED or pushed:
        return _by_solver(problem, state, free, kick, old, span, way, solver, rests, pushed, near.kept)
    answer = Settled(sweeps, measured, time.perf_counter() - began)
    return _outcome(problem, state, free, r, answer, solver, after, impulse, ended)


def _loaded(model: Model, middle: State, dt: float) -> tuple[Array, Array]:
    """Velocities (N, size) without contacts under loads, and what these change of the spins (N, 3)."""
    return free_motion(model, middle, dt), spin_changes(model, load_impulses(model, middle, dt))


def _leave_out(problem: Problem, state: State, reach: float) -> None:
    """Leave out the contacts that a step need not consider."""
    model, found = problem.few.model, problem.met.contacts()
    middle = problem.middle.state(state)
    kept = within_reach(model, middle, found, problem.touching, reach, problem.dt)
    if kept is not found:
        problem.met = Met.of(kept)


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
    """The step that ends like this."""
    few, identity, rows = problem.few, problem.met.identity, None
    count, work, walls = ended
    if count < len(r):
        rows = np.flatnonzero((problem.met.gap <= problem.touching) | r.any(axis=1))
        # In rows, as kernels are bound to it: NumPy may lay chosen columns out the other way round.
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
    kick: Array,
    old: Carried,
    span: Span,
    way: Way,
    solver: Solver,
    rests: bool,
    pushed: bool,
    kept: Workspace,
) -> Outcome | None:
    """The step whose problem a dozen sweeps do not solve, or at whose contacts nothing happens.

    ``rests`` says that bodies are at rest, ``pushed`` that the carried impulses set them in motion; ``kept``
    is what solvers use again. None if numbers are refused: the general step says why.
    """
    few, middle, treated = problem.few, problem.middle, problem.met
    posed, measured, began = problem.posed(), np.empty(MEASURED), time.perf_counter()
    r, without = np.empty((len(treated.gap), few.model.d)), np.empty_like(free)
    after = Placed.blank(middle)
    guess(treated, posed.frame, old, r)
    for left in range(GYRO_ROUNDS - 1, -1, -1):
        how, sweeps = settle(posed, free, few.rigid, way, few.sizes, r, measured)
        if how == REFUSED or (how == STILL and left < GYRO_ROUNDS - 1):
            return None
        if how == STILL:
            problem.met, problem.lead = treated.take(np.empty(0, dtype=np.int64)), few.no_lead
            posed, r = problem.posed(), r[:0]
            settle(posed, free, few.rigid, way, few.sizes, r, measured)
        answer: Settled | Solution
        if how == UNSETTLED or (how == SETTLED and pushed):
            made, found = problem.made(posed, free).problem, None
            made.kept = kept
            if rests:  # else the sweeps are done
                found = solved_at_rest(made, solver, r, pushed) or solved_from_near(made, solver, r)
            answer = found or solve(made, solver, r, check=False)
            r = answer.r
        else:
            answer = Settled(sweeps, measured, time.perf_counter() - began)
        given = posed, r, middle.velocity, free, few.rigid, kick, span.dt, few.sizes
        if not respond(*given, after.velocity, without) or left == 0:
            break
        free = without.copy()
    impulse = np.empty(r.shape)
    ended = end(posed, r, middle, without, few.rigid, span.rest, after, impulse)
    done = _outcome(problem, state, free, r, answer, solver, after, impulse, ended)
    if how == STILL:  # what touches and moves together bears nothing
        done.idle = treated.take(np.flatnonzero(treated.gap <= problem.touching)).contacts()
        done.rows = np.full(len(done.idle), -1)
        done.state = replace(done.state, impulses=Impulses.zero(done.idle))
    return done


def _way(solver: Solver, rests: bool) -> Way:
    """How the impulses are looked for before the solver is asked, which would begin alike.

    Those of bodies at rest are measured and not swept: see :mod:`clapas.dynamics.resting`.
    """
    sweeps, tol = begins_with_sweeps(solver), float(solver.tol)
    swept = MOST_SWEPT if sweeps and not rests else 0
    return Way(EXACTLY, tol, SEVERAL - 1 if sweeps and not rests else 0, swept, NEAR * tol)
