"""One step of bodies with joints: Moreau's method by compiled kernels."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from clapas.dynamics.evenness import applies, begins_at_rest, shared_force_changes, tolerance_at_rest
from clapas.dynamics.few.kernels import SweepPlan, begin
from clapas.dynamics.few.stepping import EXACT
from clapas.dynamics.few.tables import ContactArrays, Placed
from clapas.dynamics.freemotion import free_motion, lead, work_of_loads
from clapas.dynamics.jointed.advancing import DONE, After, StepInputs, advance_jointed
from clapas.dynamics.jointed.mechanism import Mechanism
from clapas.dynamics.jointed.meeting import pose_contacts
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
    mechanism: Mechanism,
    state: State,
    dt: float,
    solver: Solver,
    scheme: MoreauJean,
    near: Neighbours,
    commands: Commands | None,
) -> JointedOutcome | None:
    """Advance a state by one time step; None where the general step must do it (see the head of the package).

    Parameters are those of :func:`clapas.dynamics.stepping.step`; ``mechanism`` has the bodies, all born.
    """
    model, dt, began = mechanism.model, float(dt), time.perf_counter()
    span, (before, old) = mechanism.scheme(scheme.theta, dt), mechanism.arrays_of(state, dt)
    middle, free = Placed.blank(before.start), np.empty(before.start.velocity.shape)
    walls, inertia = mechanism.imposed(state.time + 0.5 * dt), bool(scheme.inertia)
    gain, reach = mechanism.gain_and_reach(dt)
    opening = before.start, walls, mechanism.rigid, gain, inertia, span.before, dt, middle, free
    touching = TOUCHING * mechanism.call(begin, *opening)
    at_middle = middle.state(state)
    if is_loaded := bool(model.loads or state.applied):
        free = free_motion(model, at_middle, dt)

    reach = reach if scheme.reach is None else float(scheme.reach)
    contacts = ContactArrays(*near.find(middle.position, middle.orientation, max(reach, touching))[:5])
    carried = state.impulses.impulse
    if begins_at_rest(solver, len(contacts.gap), middle.velocity, carried, mechanism.speed_gained(dt)):
        return None
    # Only the iterations of Auto are compiled: other solvers are called by the general step.
    finer = tolerance_at_rest(solver, len(contacts.gap), middle.velocity, mechanism.speed_gained(dt))
    plan = SweepPlan(EXACT, finer, 1 if isinstance(solver, Auto) else 0, 0, 0.0)
    inputs = StepInputs(mechanism.targets(commands), mechanism.driven(at_middle, dt), span, plan)
    ahead: Array | None = None
    while True:
        if model.motions:
            treated = within_reach(model, at_middle, contacts.as_contacts(), touching, reach, dt)
            contacts = ContactArrays.of(treated)
            ahead = lead(model, at_middle, treated, state.velocity, scheme.theta, dt)
        posed, after = mechanism.no_contact, mechanism.room(len(contacts.gap))
        if len(contacts.gap):
            correction = mechanism.no_lead if ahead is None else ahead
            bodies = middle, mechanism.rigid, mechanism.laws, correction, old
            step = dt, touching, reach, mechanism.sizes, after.kept
            posed = mechanism.call(pose_contacts, contacts, *bodies, *step)
        if after.kept.all():
            break
        contacts = contacts.take(np.flatnonzero(after.kept))
    place = before, middle, free, posed, after
    ending, iterations = mechanism.call(advance_jointed, mechanism.constants, inputs, *place)
    if ending != DONE:
        return None
    n, pairs = len(contacts.gap), posed.pairs
    if applies(solver, n) and shared_force_changes(pairs, posed.guess, after.r[:n], model.is_joined):
        return None

    end, rows = _ended(mechanism, state, dt, contacts, touching, after)
    mechanism.last = end
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
        mechanism=mechanism,
        solver=solver,
        commands=commands,
        theta=scheme.theta,
        touching=touching,
        lead=ahead,
        treated=contacts,
        after=after,
        r=after.r[: len(contacts.gap) + int(linked)],
    )


def _ended(
    mechanism: Mechanism, state: State, dt: float, contacts: ContactArrays, touching: float, after: After
) -> tuple[State, Indices | None]:
    """The state at the end of a step, and the rows of the contacts that it keeps; None for all of them."""
    n, (count, linked, is_still) = len(contacts.gap), after.account[:3].tolist()
    identity, impulse, rows = contacts.identity, after.impulse, None
    if is_still and n:  # bodies that touch and move together: zero impulses
        kept = np.flatnonzero(contacts.gap <= touching)
        identity, impulse = np.ascontiguousarray(identity[:, kept]), impulse[kept]
        rows = np.full(len(kept), -1)
    elif count < n or linked:
        rows = np.flatnonzero((contacts.gap <= touching) | after.r[:n].any(axis=1))
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
        impulses=Impulses(identity[0], identity[1], identity[2], impulse, mechanism.no_couples(len(impulse))),
        dt=dt,
        links=links,
        coordinates=after.coordinates,
    )
    return end, rows
