"""A step with joints in one call, from its contacts to its end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.bodies.rigid.motion import GYRO_ROUNDS
from clapas.compiled import kernel, put
from clapas.dynamics.few.settling import Way
from clapas.dynamics.few.tables import Carried, Laws, Met, Placed, Rigid, Sizes
from clapas.dynamics.jointed.ending import end_jointed
from clapas.dynamics.jointed.holding import hold
from clapas.dynamics.jointed.posing import HELD_FAST, TOO_LARGE, pose_jointed
from clapas.dynamics.jointed.responding import ENDS, GOES_ON, respond
from clapas.dynamics.jointed.settling import REFUSED, STILL, UNSOLVED, settle
from clapas.dynamics.jointed.tables import Driven, DriveTable, Linked, Scheme
from clapas.dynamics.reaching import mark_within_reach
from clapas.typing import Array, Indices, Mask

DONE, LEAVE_OUT, REFUSES = range(3)
"""How it ends: well; with contacts to leave out, that are beyond reach or that joints let no motion; so that
the general step must do it."""


class Constants(NamedTuple):
    """What does not change in a run."""

    linked: Linked
    drives: DriveTable
    rigid: Rigid
    laws: Laws
    gravity: Array
    sizes: Sizes


class Asked(NamedTuple):
    """What a step is asked for.

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
    touching, reach : float
        Gap of contacts that touch, and beyond which contacts do not count (m).
    """

    target: Array
    driven: Driven
    scheme: Scheme
    way: Way
    touching: float
    reach: float


class Before(NamedTuple):
    """What a step starts from: bodies, coordinates (k,), impulses of contacts, and of links by identity."""

    start: Placed
    coordinates: Array
    contacts: Carried
    identity: Indices
    links: Array


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
    met: Met,
    lead: Array,
    after: After,
) -> tuple[int, int]:
    """Do the step of bodies at a middle, from velocities (N, size) without joints and the contacts there.

    ``lead`` (n, d) is what the velocities of walls miss at the contacts, without rows where that is
    nothing. Returns how it ends, and the number of sweeps and Newton steps.
    """
    linked, drives, rigid, sizes = its.linked, its.drives, its.rigid, its.sizes
    n, d, scheme = len(met.gap), len(sizes.components), asked.scheme
    pairs = np.empty((n, 2), dtype=np.int64)
    for i in range(n):
        pairs[i, 0], pairs[i, 1] = met.identity[0, i], met.identity[1, i]
    place = pairs, met.point, np.empty((0, d)), met.normal, met.gap
    at = middle.position, middle.orientation, middle.velocity
    mark_within_reach(*place, *at, asked.touching, asked.reach, scheme.dt, after.kept)
    for i in range(n):
        if not after.kept[i]:
            return LEAVE_OUT, 0
    independent, held = hold(
        linked, drives, rigid, before.start, middle, free, before.coordinates, asked.target,
        asked.driven, scheme, sizes,
    )  # fmt: skip
    if not independent:
        return REFUSES, 0
    velocity, left = after.placed.velocity, GYRO_ROUNDS - 1
    while True:
        code, problem, r = pose_jointed(
            met, middle, held, linked, drives, rigid, its.laws, asked.target, lead, before.contacts,
            before.identity, before.links, scheme, asked.touching, sizes,
        )  # fmt: skip
        if code == TOO_LARGE:
            return REFUSES, 0
        if code == HELD_FAST:
            for i in range(n):
                after.kept[i] = not problem.held_fast[i]
            return LEAVE_OUT, 0
        how, state, iterations, residual = GOES_ON, STILL, 0, 0.0
        while how == GOES_ON:
            state, iterations, residual = settle(problem, held.velocity, rigid, asked.way, sizes, r)
            if state in (REFUSED, UNSOLVED):
                return REFUSES, 0
            how = respond(
                problem, r, linked, drives, rigid, middle, asked.driven, scheme, sizes, left <= 0,
                held, velocity, after.rows,
            )  # fmt: skip
            left -= 1
        if how == ENDS:
            break
    closes, ended = end_jointed(
        problem, r, linked, drives, rigid, its.gravity, middle, held, after.rows, asked.target, scheme,
        sizes, after.placed, after.coordinates, after.r, after.impulse,
    )  # fmt: skip
    if not closes:
        return REFUSES, 0
    put(held.free, after.free)
    for i in range(len(held.ahead)):
        after.ahead[i] = held.ahead[i]
    for k in range(len(held.active)):
        after.active[k, 0], after.active[k, 1] = held.active[k, 0], held.active[k, 1]
    for i in range(len(problem.acting.identity)):
        after.identity[i] = problem.acting.identity[i]
    after.account[0], after.account[1] = ended.touching, len(problem.acting.identity)
    after.account[2], after.account[3] = 1.0 if state == STILL else 0.0, residual
    after.account[4], after.account[5] = ended.work, ended.walls
    after.account[6], after.account[7] = ended.through, ended.lift
    return DONE, iterations
