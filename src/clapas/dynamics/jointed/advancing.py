"""A step with joints in one call, from its contacts to its end."""

from __future__ import annotations

from typing import NamedTuple

from clapas.bodies.rigid.motion import GYRO_ROUNDS
from clapas.compiled import kernel, put
from clapas.dynamics.few.kernels import SweepPlan
from clapas.dynamics.few.tables import Placed, Rigid
from clapas.dynamics.jointed.ending import end_jointed, works, write_impulses
from clapas.dynamics.jointed.holding import hold
from clapas.dynamics.jointed.linking import links
from clapas.dynamics.jointed.meeting import PosedContacts
from clapas.dynamics.jointed.posing import POSED, pose_jointed
from clapas.dynamics.jointed.responding import ENDS, GOES_ON, respond
from clapas.dynamics.jointed.settling import REFUSED, STILL, UNSOLVED, settle
from clapas.dynamics.jointed.tables import Driven, DriveTable, Linked, Scheme
from clapas.typing import Array, Indices, Mask

DONE, REFUSES = range(2)
"""Endings: done; joints prevent the motion of some contacts, which must be left out; the general step is
needed."""


class Constants(NamedTuple):
    """Constant data of a run."""

    linked: Linked
    drives: DriveTable
    rigid: Rigid
    gravity: Array


class StepInputs(NamedTuple):
    """Inputs of a step from outside the mechanism.

    Parameters
    ----------
    target : array (k,)
        Targets of the motors.
    driven : Driven
        Driven walls and loads.
    scheme : Scheme
        The step.
    plan : SweepPlan
        The accuracy of the impulses.
    """

    target: Array
    driven: Driven
    scheme: Scheme
    plan: SweepPlan


class Before(NamedTuple):
    """Start of a step: bodies, coordinates (k,), and impulses of links by identity.

    ``ratio`` is its length over that of the last one.
    """

    start: Placed
    coordinates: Array
    identity: Indices
    links: Array
    ratio: float


class After(NamedTuple):
    """Output of a step.

    Parameters
    ----------
    placed : Placed
        The bodies at the end.
    free : array (N, size)
        Velocities without impulses.
    coordinates : array (k,)
        Of the joints.
    ahead, active, rows : arrays (t,), (k, 2) and (j,)
        Terms of joints and the limits in the problem (:class:`Held`), and impulses along the rows.
    identity : array (at least l,)
        Of the links.
    r : array (at least n + l, d)
        Impulses of contacts and links.
    impulse : array (n, d)
        Those of contacts in the world.
    kept : array (n,) of bool
        Contacts within reach.
    account : array (8,)
        Contacts that touch or carry; links; 1 if touching bodies move together; residual; work of all
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
    constants: Constants,
    inputs: StepInputs,
    before: Before,
    middle: Placed,
    free: Array,
    posed: PosedContacts,
    after: After,
) -> tuple[int, int]:
    """Compute a step from its middle, its velocities (N, size) without joints, and its contacts.

    Returns the ending, and the number of sweeps and Newton steps.
    """
    linked, drives, rigid, gravity = constants
    target, driven, scheme, plan = inputs
    start, coordinates, old_identity, old_links, ratio = before
    d = posed.w.shape[1]
    clear, held = hold(linked, drives, rigid, start, middle, free, coordinates, target, driven, scheme)
    if not clear:
        return REFUSES, 0
    velocity, left = after.placed.velocity, GYRO_ROUNDS - 1
    while True:
        acting = links(held, linked.terms.ends, drives, rigid, target, scheme, d)
        code, problem, r = pose_jointed(
            posed, acting, held.rows, linked, rigid, old_identity, old_links, ratio
        )
        if code != POSED:
            return REFUSES, 0
        response, status, iterations, residual = GOES_ON, STILL, 0, 0.0
        while response == GOES_ON:
            status, iterations, residual = settle(problem, held.velocity, rigid.diagonals[1], plan, r)
            if status in (REFUSED, UNSOLVED):
                return REFUSES, 0
            response = respond(
                problem.listed, r, linked, drives, rigid, middle, driven, scheme, left <= 0,
                held, velocity, after.rows,
            )  # fmt: skip
            left -= 1
        if response == ENDS:
            break
    touching = write_impulses(problem.islands.order, r, posed.frame, posed.apart, after.r, after.impulse)
    work, walls, through = works(
        acting, after.r, posed.wall, linked, drives, rigid, middle.velocity, held, after.rows, velocity
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
    account[0], account[1], account[2] = touching, len(acting.identity), 1.0 if status == STILL else 0.0
    account[3], account[4], account[5] = residual, work + stored, walls
    account[6], account[7] = through, lift
    return DONE, iterations
