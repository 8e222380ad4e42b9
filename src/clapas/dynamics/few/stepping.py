"""One step of few bodies: Moreau's method again, by kernels."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clapas.bodies.rigid.motion import GYRO_ROUNDS
from clapas.dynamics.few.advancing import OUT_OF_REACH, Span, advance
from clapas.dynamics.few.beginning import begin
from clapas.dynamics.few.bodies import FewBodies
from clapas.dynamics.few.ending import Ended, end, respond
from clapas.dynamics.few.outcome import Outcome, Problem, Settled
from clapas.dynamics.few.posing import guess
from clapas.dynamics.few.settling import REFUSED, SETTLED, STILL, UNSETTLED, Way, settle
from clapas.dynamics.few.tables import Carried, Met, Placed
from clapas.dynamics.following import lead
from clapas.dynamics.freemotion import free_motion, given_by_loads, kicks, pushes
from clapas.dynamics.model import Impulses, Model, State
from clapas.dynamics.nearness import (
    MOST_SWEPT,
    NEAR,
    are_at_rest,
    begins_with_sweeps,
    set_in_motion,
    solved_at_rest,
    solved_from_near,
)
from clapas.dynamics.reaching import within_reach
from clapas.dynamics.surroundings import TOUCHING, Surroundings
from clapas.problems.contact import MANY
from clapas.solvers import Solution, solve
from clapas.solvers.local.exact import MAX_STEPS, ExactPart
from clapas.solvers.loop import Solver
from clapas.solvers.nsgs.dozen import MEASURED
from clapas.solvers.nsgs.orders import SEVERAL
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.dynamics.stepping import MoreauJean

EXACTLY = ExactPart(MAX_STEPS)


def step_of_few(
    few: FewBodies, state: State, dt: float, solver: Solver, scheme: MoreauJean, near: Surroundings
) -> Outcome | None:
    """Advance a state by one time step; None where the general step must do it (see the head of the package).

    Parameters are those of :func:`clapas.dynamics.stepping.step`; ``few`` are the bodies of the model, all of
    them born.
    """
    model, theta, dt = few.model, scheme.theta, float(dt)
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

    gained = few.speed_gained(dt)
    rests = are_at_rest(solver, len(problem.met.gap), middle.velocity, gained)
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
        return _by_solver(problem, state, free, kick, old, span, way, solver, rests, pushed)
    answer = Settled(sweeps, measured, time.perf_counter() - began)
    return _outcome(problem, state, free, r, answer, solver, after, impulse, ended)


def _loaded(model: Model, middle: State, dt: float) -> tuple[Array, Array]:
    """Velocities (N, size) without contacts under loads, and what these change of the spins (N, 3)."""
    return free_motion(model, middle, dt), kicks(model, pushes(model, middle, dt))


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
        outside = given_by_loads(few.model, state.velocity, middle, velocity, problem.dt)
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
) -> Outcome | None:
    """The step whose problem a dozen sweeps do not solve, or at whose contacts nothing happens.

    ``rests`` says that bodies are at rest, and ``pushed`` that the carried impulses set them in motion. None
    if numbers are refused: the general step says why.
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
        answer: Settled | Solution = Settled(sweeps, measured, time.perf_counter() - began)
        if how == UNSETTLED or (how == SETTLED and pushed):
            made, found = problem.made(posed, free).problem, None
            if rests:  # else the sweeps are done
                found = solved_at_rest(made, solver, r, pushed) or solved_from_near(made, solver, r)
            answer = found or solve(made, solver, r, check=False)
            r = answer.r
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

    Those of bodies at rest are measured and not swept: see :mod:`clapas.dynamics.nearness`.
    """
    sweeps, tol = begins_with_sweeps(solver), float(solver.tol)
    swept = MOST_SWEPT if sweeps and not rests else 0
    return Way(EXACTLY, tol, SEVERAL - 1 if sweeps else 0, swept, NEAR * tol)
