"""One step of bodies with joints: Moreau's method again, by kernels."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from clapas.dynamics.evenness import applies, begins_at_rest, shared_force_changes, tolerance_at_rest
from clapas.dynamics.few.kernels import Way, begin
from clapas.dynamics.few.stepping import EXACTLY
from clapas.dynamics.few.tables import Met, Placed
from clapas.dynamics.freemotion import free_motion, lead, work_of_loads
from clapas.dynamics.jointed.advancing import DONE, LEAVE_OUT, After, Asked, advance_jointed
from clapas.dynamics.jointed.mechanism import Mechanism
from clapas.dynamics.jointed.meeting import meet
from clapas.dynamics.jointed.outcome import JointedOutcome
from clapas.dynamics.joints.commands import Commands
from clapas.dynamics.links import OF_JOINTS
from clapas.dynamics.neighbours import TOUCHING, Neighbours
from clapas.dynamics.reaching import within_reach
from clapas.dynamics.state import Impulses, LinkImpulses, State
from clapas.solvers import Auto
from clapas.solvers.loop import Solver
from clapas.typing import Array, Indices

if TYPE_CHECKING:
    from clapas.dynamics.schemes import MoreauJean


def step_of_mechanism(
    its: Mechanism,
    state: State,
    dt: float,
    solver: Solver,
    scheme: MoreauJean,
    near: Neighbours,
    commands: Commands | None,
) -> JointedOutcome | None:
    """Advance a state by one time step; None where the general step must do it (see the head of the package).

    Parameters are those of :func:`clapas.dynamics.stepping.step`; ``its`` are the bodies, all of them born.
    """
    model, dt, began = its.model, float(dt), time.perf_counter()
    span, (before, old) = its.scheme(scheme.theta, dt), its.taken(state, dt)
    middle, free = Placed.blank(before.start), np.empty(before.start.velocity.shape)
    walls, inertia = its.imposed(state.time + 0.5 * dt), bool(scheme.inertia)
    gain, reach = its.gain_and_reach(dt)
    opening = before.start, walls, its.rigid, gain, inertia, span.before, dt, middle, free
    touching = TOUCHING * its.call(begin, *opening)
    at_middle = middle.state(state)
    if is_loaded := bool(model.loads or state.applied):
        free = free_motion(model, at_middle, dt)

    reach = reach if scheme.reach is None else float(scheme.reach)
    met = Met(*near.find(middle.position, middle.orientation, max(reach, touching))[:5])
    carried = state.impulses.impulse
    if begins_at_rest(solver, len(met.gap), middle.velocity, carried, its.speed_gained(dt)):
        return None
    # Only rounds as those of Auto are compiled: another solver does its work in the general step.
    finer = tolerance_at_rest(solver, len(met.gap), middle.velocity, its.speed_gained(dt))
    way = Way(EXACTLY, finer, 1 if isinstance(solver, Auto) else 0, 0, 0.0)
    asked = Asked(its.targets(commands), its.driven(at_middle, dt), span, way)
    ahead: Array | None = None
    how, iterations = LEAVE_OUT, 0
    while how == LEAVE_OUT:
        if model.motions:
            treated = within_reach(model, at_middle, met.contacts(), touching, reach, dt)
            met, ahead = Met.of(treated), lead(model, at_middle, treated, state.velocity, scheme.theta, dt)
        meeting, after = its.no_contact, its.room(len(met.gap))
        if len(met.gap):
            missing = its.no_lead if ahead is None else ahead
            where = met, middle, its.rigid, its.laws, missing, old, dt, touching, reach, its.sizes
            meeting = its.call(meet, *where, after.kept)
        if after.kept.all():
            place = before, middle, free, meeting, after
            how, iterations = its.call(advance_jointed, its.constants, asked, *place)
            if how == LEAVE_OUT:  # joints hold a contact: the general step looks whether they press it
                return None
        if how == LEAVE_OUT:
            met = met.take(np.flatnonzero(after.kept))
    if how != DONE:
        return None
    n, pairs = len(met.gap), meeting.pairs
    if applies(solver, n) and shared_force_changes(pairs, meeting.guess, after.r[:n], model.is_joined):
        return None

    end, rows = _ended(its, state, dt, met, touching, after)
    its.last = end
    _, linked, _, residual, work, walls_work, through, lift = after.account.tolist()
    outside = 0.0 - walls_work
    if is_loaded:
        outside += work_of_loads(model, state.velocity, at_middle, end.velocity, dt)
    return JointedOutcome(
        state=end,
        work=work + walls_work - through,
        given=outside + through + lift,
        rows=rows,
        iterations=iterations,
        residual=residual,
        seconds=time.perf_counter() - began,
        before=state,
        middle=at_middle,
        mechanism=its,
        solver=solver,
        commands=commands,
        theta=scheme.theta,
        touching=touching,
        lead=ahead,
        treated=met,
        after=after,
        r=after.r[: len(met.gap) + int(linked)],
    )


def _ended(
    its: Mechanism, state: State, dt: float, met: Met, touching: float, after: After
) -> tuple[State, Indices | None]:
    """The state at the end of a step, and which contacts it keeps: None for all of them."""
    n, (count, linked, is_still) = len(met.gap), after.account[:3].tolist()
    identity, impulse, rows = met.identity, after.impulse, None
    if is_still and n:  # what touches and moves together bears nothing
        kept = np.flatnonzero(met.gap <= touching)
        identity, impulse = np.ascontiguousarray(identity[:, kept]), impulse[kept]
        rows = np.full(len(kept), -1)
    elif count < n or linked:
        rows = np.flatnonzero((met.gap <= touching) | after.r[:n].any(axis=1))
        identity, impulse = np.ascontiguousarray(identity[:, rows]), impulse[rows]
    links, m = None, int(n + linked)
    if linked and not is_still:
        links = LinkImpulses(np.full(m - n, OF_JOINTS), after.identity[: m - n], after.r[n:m])
    end = State(
        time=state.time + dt,
        step=state.step + 1,
        position=after.placed.position,
        orientation=after.placed.orientation,
        velocity=after.placed.velocity,
        impulses=Impulses(identity[0], identity[1], identity[2], impulse, its.no_couples(len(impulse))),
        dt=dt,
        links=links,
        coordinates=after.coordinates,
    )
    return end, rows
