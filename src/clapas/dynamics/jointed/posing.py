"""The problem of a step with joints: contacts, then limits, friction and motors, joints eliminated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import inlined, put, subroutine
from clapas.dynamics.condensed import HELD_BY_JOINTS, MOST_ROWS
from clapas.dynamics.few.posing import guess, pose
from clapas.dynamics.few.tables import Carried, Laws, Met, Placed, Rigid, Sizes
from clapas.dynamics.jointed.holding import gap_of, motor_row
from clapas.dynamics.jointed.islands import Islands, eliminate, islands_of
from clapas.dynamics.jointed.rows import own_rate_of
from clapas.dynamics.jointed.tables import SERVO, VELOCITY, DriveTable, Held, Linked, Scheme
from clapas.dynamics.joints.drives import FRICTION, LAWS_PER_COORDINATE, LEAST_SHARE, UPPER
from clapas.dynamics.joints.rows import TURN
from clapas.solvers.dense.kernels import turn_rows
from clapas.solvers.local.canonical import canonical_coefficients
from clapas.typing import Array, Indices, Mask

POSED, TOO_LARGE, HELD_FAST = 0, 1, 2
"""How it ends: well; an island is too large for a full matrix; joints let some contacts no motion."""


class Acting(NamedTuple):
    """The l limits, frictions and bounded motors of a step, as links (:class:`clapas.bodies.kind.Links`).

    Parameters
    ----------
    identity : array (l,)
        Coordinate · 4 + what it is.
    scale : array (l,)
        By which the row of the coordinate is multiplied: −1 for upper limits, times a length for angles.
    G, bodies : arrays (l, 2, d, size) and (l, 2)
        Rows in units of unit mass; −1 for a body that cannot move.
    w, compliance, mu : arrays (l, d), (l, d) and (l,)
        See :class:`clapas.bodies.kind.Links`.
    """

    identity: Indices
    scale: Array
    G: Array
    bodies: Indices
    w: Array
    compliance: Array
    mu: Array


class JointedProblem(NamedTuple):
    """The problem of a step, its m contacts and links island by island.

    Parameters
    ----------
    islands : Islands
        Where they are.
    G, bodies, w, mu
        Rows in units of unit mass (m, 2, d, size), their bodies (m, 2), imposed velocities (m, d), friction.
    W, rows, columns : arrays
        Matrices W of all islands; the same in the canonical frames of the contacts, and its transpose.
    response, coefficients, turn
        See :class:`clapas.solvers.dense.kernels.Dense`.
    frame, wall, apart
        Of the n contacts in their own order (:class:`clapas.dynamics.few.tables.Posed`).
    acting : Acting
        The links.
    held_fast : array (n,) of bool
        Contacts that joints let no motion.
    """

    islands: Islands
    G: Array
    bodies: Indices
    w: Array
    mu: Array
    W: Array
    rows: Array
    columns: Array
    response: Array
    coefficients: Array
    turn: Array
    frame: Array
    wall: Array
    apart: Mask
    acting: Acting
    held_fast: Mask


@subroutine
def pose_jointed(
    met: Met,
    middle: Placed,
    held: Held,
    linked: Linked,
    drives: DriveTable,
    rigid: Rigid,
    laws: Laws,
    target: Array,
    lead: Array,
    old: Carried,
    old_identity: Indices,
    old_links: Array,
    scheme: Scheme,
    touching: float,
    sizes: Sizes,
) -> tuple[int, JointedProblem, Array]:
    """Make the problem, but for what depends on the velocities without contact, and the guess (m, d).

    ``target`` (k,) is what motors are asked for; ``lead`` and ``touching`` see
    :func:`clapas.dynamics.few.posing.pose`; ``old``, ``old_identity`` and ``old_links`` are the impulses of
    the last step.
    """
    n, d, size = len(met.gap), len(sizes.components), len(sizes.body)
    pairs = np.empty((n, 2), dtype=np.int64)
    for i in range(n):
        pairs[i, 0], pairs[i, 1] = met.identity[0, i], met.identity[1, i]
    posed = pose(met, pairs, middle, rigid, laws, lead, scheme.dt, touching, sizes)
    first = np.empty((n, d))
    guess(met, posed.frame, old, first)
    acting = links(held, linked, drives, rigid, target, scheme, sizes)
    m, movable = n + len(acting.identity), rigid.flags[0]
    bodies = np.empty((m, 2), dtype=np.int64)
    for i in range(m):
        for end in range(2):
            if i < n:
                bodies[i, end] = pairs[i, end] if movable[pairs[i, end]] else -1
            else:
                bodies[i, end] = acting.bodies[i - n, end]
    islands = islands_of(linked, bodies, d)
    G, w, mu, r = np.empty((m, 2, d, size)), np.empty((m, d)), np.empty(m), np.zeros((m, d))
    ordered, soft = np.empty((m, 2), dtype=np.int64), np.zeros((m, d))
    for place in range(m):
        i = islands.order[place]
        blocks = posed.G[i] if i < n else acting.G[i - n]
        mu[place] = posed.mu[i] if i < n else acting.mu[i - n]
        for end in range(2):
            ordered[place, end] = bodies[i, end]
            for k in range(d):
                for e in range(size):
                    G[place, end, k, e] = blocks[end, k, e]
        for k in range(d):
            w[place, k] = posed.w[i, k] if i < n else acting.w[i - n, k]
            if i < n:
                r[place, k] = first[i, k]
            else:
                soft[place, k] = acting.compliance[i - n, k]
    find_links(acting.identity, islands.order, n, old_identity, old_links, old.ratio, r)
    held_fast, response = np.zeros(n, dtype=np.bool_), np.empty(m)
    for i in range(len(islands.start) - 1):
        if d * (islands.start[i + 1] - islands.start[i]) > MOST_ROWS:
            nothing, none = np.empty(0), np.empty((0, 2))
            empty = JointedProblem(
                islands, G, ordered, w, mu, nothing, nothing, nothing, response, none, none,
                posed.frame, posed.wall, posed.apart, acting, held_fast,
            )  # fmt: skip
            return TOO_LARGE, empty, r
    total = islands.matrix[len(islands.matrix) - 1]
    W, turned, columns = np.empty(total), np.empty(total), np.empty(total)
    coefficients, turn, code = np.empty((m, 6)), np.empty((m, 2)), POSED
    for island in range(len(islands.start) - 1):
        s, e = islands.start[island], islands.start[island + 1]
        o, p, width = islands.matrix[island], islands.matrix[island + 1], d * (e - s)
        own, alone = W[o:p].reshape((width, width)), np.empty(width)
        its = islands.labels[islands.label_start[island] : islands.label_start[island + 1]]
        eliminate(linked, held.rows.A, held.rows.L, held.rows.inverse, G[s:e], ordered[s:e], its, own, alone)
        for i in range(e - s):
            which = islands.order[s + i]
            if which < n and own[i * d, i * d] <= HELD_BY_JOINTS * alone[i * d]:
                held_fast[which], code = True, HELD_FAST
                own[i * d, i * d] = max(own[i * d, i * d], 1.0)  # to divide by; it is taken out before use
            for k in range(d):
                own[i * d + k, i * d + k] += soft[s + i, k]
        local = np.empty((e - s, d, d))
        for i in range(e - s):
            mean = 0.0
            for k in range(d):
                mean += own[i * d + k, i * d + k]
                for l in range(d):
                    local[i, k, l] = own[i * d + k, i * d + l]
            response[s + i] = mean / d
        its_coefficients, its_turn = canonical_coefficients(local, mu[s:e])
        put(its_coefficients, coefficients[s:e])
        put(its_turn, turn[s:e])
        its_rows, its_columns = turned[o:p].reshape((width, width)), columns[o:p].reshape((width, width))
        put(own, its_columns)
        if d == 3:
            turn_rows(its_columns, its_turn)
        put_transposed(its_columns, its_rows)
        if d == 3:
            turn_rows(its_rows, its_turn)
        put_transposed(its_rows, its_columns)
    problem = JointedProblem(
        islands, G, ordered, w, mu, W, turned, columns, response, coefficients, turn,
        posed.frame, posed.wall, posed.apart, acting, held_fast,
    )  # fmt: skip
    return code, problem, r


@inlined
def put_transposed(source: Array, target: Array) -> None:
    """Write the transpose of a square matrix."""
    for i in range(len(source)):
        for j in range(len(source)):
            target[i, j] = source[j, i]


@subroutine
def find_links(
    identity: Indices, order: Indices, n: int, old_identity: Indices, old: Array, ratio: float, r: Array
) -> None:
    """Write the impulses of links that were there at the last step; both lists are in increasing order."""
    place = np.empty(len(order), dtype=np.int64)
    for p in range(len(order)):
        place[order[p]] = p
    j = 0
    for i in range(len(identity)):
        while j < len(old_identity) and old_identity[j] < identity[i]:
            j += 1
        if j < len(old_identity) and old_identity[j] == identity[i]:
            for k in range(r.shape[1]):
                r[place[n + i], k] = ratio * old[j, k]


@subroutine
def links(
    held: Held,
    linked: Linked,
    drives: DriveTable,
    rigid: Rigid,
    target: Array,
    scheme: Scheme,
    sizes: Sizes,
) -> Acting:
    """The limits, frictions and bounded motors of a step (:mod:`clapas.dynamics.joints.drives`)."""
    d, size, h = len(sizes.components), len(sizes.body), scheme.dt
    most = LAWS_PER_COORDINATE * len(held.active) if drives.has_links else 0
    identity, scale, mu = np.empty(most, dtype=np.int64), np.empty(most), np.zeros(most)
    G, bodies = np.zeros((most, 2, d, size)), np.empty((most, 2), dtype=np.int64)
    w, compliance = np.zeros((most, d)), np.empty((most, d))
    count = 0
    for k in range(len(held.active) if drives.has_links else 0):
        term = linked.n_closing + k
        response, length = coordinate_response(linked, rigid, held, term)
        if response <= 0.0:
            continue
        soft, ahead, before = response * length * length, held.ahead[term], held.along[2, k]
        for law in range(LAWS_PER_COORDINATE):
            sign, rate, bound, own = 1.0, 0.0, 0.0, 0.0
            if law <= UPPER:
                if not held.active[k, law]:
                    continue
                sign = 1.0 if law == 0 else -1.0
                gap, nothing = gap_of(drives, held, k, law)
                rate = sign * drives.numbers[3, k] * before if gap <= nothing else max(gap, 0.0) / h
            elif law == FRICTION:
                if not drives.numbers[4, k] > 0.0:
                    continue
                bound = h * drives.numbers[4, k]
            else:
                its = drives.motor[k]
                if not (its in (VELOCITY, SERVO) and np.isfinite(drives.numbers[8, k])):
                    continue
                own, rate = motor_row(drives, k, held.along[1, k], target[k], scheme)
                bound = h * drives.numbers[8, k]
            rate = length * (rate + sign * ahead)
            for j in range(d):
                compliance[count, j] = soft
            if law <= UPPER:
                w[count, 0], compliance[count, 0] = rate, 0.0
            else:
                # u_N = c (r_N − ρ) fixes r_N = ρ, and mu ρ is the bound; ρ is the impulse to be expected.
                w[count, 1], compliance[count, 1] = rate, length * length * own
                here = own_rate_of(linked, term, held.of_a, held.of_b, held.velocity, rigid.flags[0])
                speed = max(abs(length * here + rate), abs(length * before))
                bound /= length
                rho = min(max(speed / soft, LEAST_SHARE * bound), bound)
                w[count, 0], mu[count] = -soft * rho, bound / rho
            identity[count], scale[count] = k * LAWS_PER_COORDINATE + law, sign * length
            row = 0 if law <= UPPER else 1
            for end in range(2):
                body = linked.terms[1 + end, term]
                moves = body >= 0 and rigid.flags[0, body]
                bodies[count, end] = body if moves else -1
                of = held.of_a if end == 0 else held.of_b
                if moves:
                    for e in range(size):
                        G[count, end, row, e] = scale[count] * of[term, e] * rigid.diagonals[2, body, e]
            count += 1
    return Acting(
        identity[:count], scale[:count], G[:count], bodies[:count], w[:count], compliance[:count], mu[:count]
    )


@subroutine
def coordinate_response(linked: Linked, rigid: Rigid, held: Held, term: int) -> tuple[float, float]:
    """Rate of a coordinate per unit of impulse with all joints open, and the length its row is multiplied by.

    The length is the radius of gyration of the bodies about the axis of a turn, 1 for a displacement.
    """
    response, light = 0.0, 0.0
    for end in range(2):
        body = linked.terms[1 + end, term]
        if body >= 0:
            of, root = held.of_a if end == 0 else held.of_b, rigid.diagonals[2]
            for e in range(of.shape[1]):
                response += (of[term, e] * root[body, e]) ** 2
            light += root[body, 0] ** 2
    turns = linked.terms[0, term] == TURN and response > 0.0 and light > 0.0
    return response, np.sqrt(light / response) if turns else 1.0
