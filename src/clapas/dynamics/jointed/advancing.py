"""A step with joints in one call, from its contacts to its end."""

from __future__ import annotations

from typing import NamedTuple

from clapas.bodies.rigid.motion import GYRO_ROUNDS
from clapas.compiled import kernel, put
from clapas.dynamics.few.kernels import Way
from clapas.dynamics.few.tables import Placed, Rigid
from clapas.dynamics.jointed.ending import end_jointed, works, write_impulses
from clapas.dynamics.jointed.holding import hold
from clapas.dynamics.jointed.linking import links
from clapas.dynamics.jointed.meeting import Meeting
from clapas.dynamics.jointed.posing import HELD_FAST, TOO_LARGE, pose_jointed
from clapas.dynamics.jointed.responding import ENDS, GOES_ON, respond
from clapas.dynamics.jointed.settling import REFUSED, STILL, UNSOLVED, settle
from clapas.dynamics.jointed.tables import Driven, DriveTable, Linked, Scheme
from clapas.typing import Array, Indices, Mask

DONE, LEAVE_OUT, REFUSES = range(3)
"""How it ends: well; with contacts to leave out, that joints let no motion; so that the general step must do
it."""


class Constants(NamedTuple):
    """What does not change in a run."""

    linked: Linked
    drives: DriveTable
    rigid: Rigid
    gravity: Array


class Asked(NamedTuple):
    """What a step needs from outside the mechanism.

    Parameters
    ----------
    target : array (k,)
        Of the motors.
    driven : Driven
        What the world does.
    scheme : Scheme
        The step.
    way : Way
        How impulses are looked for.
    """

    target: Array
    driven: Driven
    scheme: Scheme
    way: Way


class Before(NamedTuple):
    """What a step starts from: bodies, coordinates (k,), and impulses of links by identity.

    ``ratio`` is how much longer it is than the last one.
    """

    start: Placed
    coordinates: Array
    identity: Indices
    links: Array
    ratio: float


class After(NamedTuple):
    """To be written.

    Parameters
    ----------
    placed : Placed
        The bodies at the end.
    free : array (N, size)
        Velocities without impulses.
    coordinates : array (k,)
        Of the joints.
    ahead, active, rows : arrays (t,), (k, 2) and (j,)
        What joints impose and the limits in the problem (:class:`Held`), and impulses along the rows.
    identity : array (at least l,)
        Of the links.
    r : array (at least n + l, d)
        Impulses of contacts and links.
    impulse : array (n, d)
        Those of contacts in the world.
    kept : array (n,) of bool
        Contacts not to leave out, where that is how it ends.
    account : array (8,)
        Contacts that touch or carry; links; 1 if nothing happens at the contacts; residual; work of all
        impulses, of walls, through joints, and of closing them (J).
    """

    placed: Placed
    free: Array
    coordinates: Array
    ahead: Array
    active: Mask
    rows: Array
    identity: Indices
    r: Array
    impulse: Array
    kept: Mask
    account: Array


@kernel
def advance_jointed(
    its: Constants,
    asked: Asked,
    before: Before,
    middle: Placed,
    free: Array,
    meeting: Meeting,
    after: After,
) -> tuple[int, int]:
    """Do the step of bodies at a middle, from velocities (N, size) without joints and the contacts there.

    Returns how it ends, and the number of sweeps and Newton steps.
    """
    linked, drives, rigid, gravity = its
    target, driven, scheme, way = asked
    start, coordinates, old_identity, old_links, ratio = before
    n, d = meeting.w.shape
    for i in range(n):
        after.kept[i] = True
    clear, held = hold(linked, drives, rigid, start, middle, free, coordinates, target, driven, scheme)
    if not clear:
        return REFUSES, 0
    velocity, left = after.placed.velocity, GYRO_ROUNDS - 1
    while True:
        acting = links(held, linked.terms.ends, drives, rigid, target, scheme, d)
        code, problem, r = pose_jointed(
            meeting, acting, held.rows, linked, rigid, old_identity, old_links, ratio, after.kept
        )
        if code == TOO_LARGE:
            return REFUSES, 0
        if code == HELD_FAST:
            return LEAVE_OUT, 0
        how, state, iterations, residual = GOES_ON, STILL, 0, 0.0
        while how == GOES_ON:
            state, iterations, residual = settle(problem, held.velocity, rigid.diagonals[1], way, r)
            if state in (REFUSED, UNSOLVED):
                return REFUSES, 0
            how = respond(
                problem.listed, r, linked, drives, rigid, middle, driven, scheme, left <= 0,
                held, velocity, after.rows,
            )  # fmt: skip
            left -= 1
        if how == ENDS:
            break
    touching = write_impulses(problem.islands.order, r, meeting.frame, meeting.apart, after.r, after.impulse)
    work, walls, through = works(
        acting, after.r, meeting.wall, linked, drives, rigid, middle.velocity, held, after.rows, velocity
    )
    closes, lift, stored = end_jointed(
        linked, drives, rigid, gravity, middle, held, target, scheme, after.placed, after.coordinates
    )
    if not closes:
        return REFUSES, 0
    put(held.free, after.free)
    for i in range(len(held.ahead)):
        after.ahead[i] = held.ahead[i]
    for k in range(len(held.active)):
        after.active[k, 0], after.active[k, 1] = held.active[k, 0], held.active[k, 1]
    for i in range(len(acting.identity)):
        after.identity[i] = acting.identity[i]
    account = after.account
    account[0], account[1], account[2] = touching, len(acting.identity), 1.0 if state == STILL else 0.0
    account[3], account[4], account[5] = residual, work + stored, walls
    account[6], account[7] = through, lift
    return DONE, iterations
