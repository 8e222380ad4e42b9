"""The problem of a step with joints: contacts, then limits, friction and motors, joints eliminated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import inlined, put, subroutine
from clapas.dynamics.condensed import MOST_ROWS
from clapas.dynamics.crushing import HELD_BY_JOINTS
from clapas.dynamics.few.tables import Rigid
from clapas.dynamics.jointed.islands import Islands, eliminate, islands_of
from clapas.dynamics.jointed.linking import Acting
from clapas.dynamics.jointed.meeting import PosedContacts
from clapas.dynamics.jointed.tables import Linked, UnitRows
from clapas.solvers.dense.kernels import turn_rows
from clapas.solvers.local.canonical import canonical_coefficients
from clapas.typing import Array, Indices, Mask

POSED, TOO_LARGE, HELD_FAST = 0, 1, 2
"""Endings: done; an island is too large for a full matrix; joints prevent the motion of some contacts."""


class Listed(NamedTuple):
    """The m contacts and links of a step, island by island.

    Parameters
    ----------
    G, bodies : arrays (m, 2, d, size) and (m, 2)
        Rows in units of unit mass, and their bodies; −1 for one that cannot move.
    w, compliance : arrays (m, d)
        Imposed velocities and compliances.
    mu : array (m,)
        Friction.
    """

    G: Array
    bodies: Indices
    w: Array
    compliance: Array
    mu: Array


class Matrices(NamedTuple):
    """The matrices of all islands, one after another, in the canonical frames of the contacts.

    ``columns`` is the transpose of ``rows``; for the others see :class:`clapas.solvers.dense.kernels.Dense`.
    """

    rows: Array
    columns: Array
    response: Array
    coefficients: Array
    turn: Array


class JointedProblem(NamedTuple):
    """The problem of a step, except for the data that depend on the velocities without contact."""

    islands: Islands
    listed: Listed
    matrices: Matrices


@subroutine
def pose_jointed(
    posed: PosedContacts,
    acting: Acting,
    rows: UnitRows,
    linked: Linked,
    rigid: Rigid,
    old_identity: Indices,
    old_links: Array,
    ratio: float,
) -> tuple[int, JointedProblem, Array]:
    """State the problem of contacts and links, and compute the guess (m, d).

    ``old_identity`` and ``old_links`` are the impulses of links in the last step; this one is ``ratio`` times
    as long.
    """
    n, d, size = len(posed.pairs), posed.w.shape[1], rigid.diagonals.shape[2]
    bodies = bodies_of(posed.pairs, acting.bodies, rigid.flags[0])
    m = len(bodies)
    islands = islands_of(linked.trees.leader, linked.trees.of_label, bodies, d)
    listed, r = listed_by(islands.order, posed, acting, bodies, size)
    find_links(acting.identity, islands.order, n, old_identity, old_links, ratio, r)
    code, total = POSED, islands.matrix[len(islands.matrix) - 1]
    for i in range(len(islands.start) - 1):
        if d * (islands.start[i + 1] - islands.start[i]) > MOST_ROWS:
            code, total = TOO_LARGE, 0
    matrices = Matrices(np.empty(total), np.empty(total), np.empty(m), np.empty((m, 6)), np.empty((m, 2)))
    if code == POSED and not condense(islands, listed, rows, linked, n, matrices):
        code = HELD_FAST
    return code, JointedProblem(islands, listed, matrices), r


@subroutine
def bodies_of(pairs: Indices, of_links: Indices, movable: Mask) -> Indices:
    """The bodies (m, 2) of contacts and links, −1 for those that cannot move."""
    n, bodies = len(pairs), np.empty((len(pairs) + len(of_links), 2), dtype=np.int64)
    for i in range(len(bodies)):
        for end in range(2):
            if i < n:
                bodies[i, end] = pairs[i, end] if movable[pairs[i, end]] else -1
            else:
                bodies[i, end] = of_links[i - n, end]
    return bodies


@subroutine
def listed_by(
    order: Indices, posed: PosedContacts, acting: Acting, bodies: Indices, size: int
) -> tuple[Listed, Array]:
    """Contacts and links in the order of the islands, and the guess (m, d), still without that of links."""
    n, d, m = len(posed.pairs), posed.w.shape[1], len(bodies)
    G, w, mu, r = np.empty((m, 2, d, size)), np.empty((m, d)), np.empty(m), np.zeros((m, d))
    ordered, soft = np.empty((m, 2), dtype=np.int64), np.zeros((m, d))
    for place in range(m):
        i = order[place]
        blocks = posed.G[i] if i < n else acting.G[i - n]
        mu[place] = posed.mu[i] if i < n else acting.mu[i - n]
        for end in range(2):
            ordered[place, end] = bodies[i, end]
            for k in range(d):
                for e in range(size):
                    G[place, end, k, e] = blocks[end, k, e]
        for k in range(d):
            if i < n:
                w[place, k], r[place, k] = posed.w[i, k], posed.guess[i, k]
            else:
                w[place, k], soft[place, k] = acting.w[i - n, k], acting.compliance[i - n, k]
    return Listed(G, ordered, w, soft, mu), r


@subroutine
def condense(
    islands: Islands,
    listed: Listed,
    rows: UnitRows,
    linked: Linked,
    n: int,
    matrices: Matrices,
) -> bool:
    """Write the matrices W of the islands with the joints eliminated; False if joints hold a contact.

    Contacts are the first ``n`` of contacts and links. The general step looks whether joints also press it.
    """
    d = listed.w.shape[1]
    G, bodies, _, soft, mu = listed
    for island in range(len(islands.start) - 1):
        s, e = islands.start[island], islands.start[island + 1]
        o, p, width = islands.matrix[island], islands.matrix[island + 1], d * (e - s)
        W, without_joints = matrices.columns[o:p].reshape((width, width)), np.empty(width)
        labels = islands.labels[islands.label_start[island] : islands.label_start[island + 1]]
        eliminate(
            linked.trees,
            linked.elimination,
            linked.blocks[0],
            rows,
            G[s:e],
            bodies[s:e],
            labels,
            W,
            without_joints,
        )
        local = np.empty((e - s, d, d))
        for i in range(e - s):
            which = islands.order[s + i]
            if which < n and W[i * d, i * d] <= HELD_BY_JOINTS * without_joints[i * d]:
                return False
            mean = 0.0
            for k in range(d):
                W[i * d + k, i * d + k] += soft[s + i, k]
                mean += W[i * d + k, i * d + k]
            for k in range(d):
                for l in range(d):
                    local[i, k, l] = W[i * d + k, i * d + l]
            matrices.response[s + i] = mean / d
        coefficients, turn = canonical_coefficients(local, mu[s:e])
        put(coefficients, matrices.coefficients[s:e])
        put(turn, matrices.turn[s:e])
        transposed = matrices.rows[o:p].reshape((width, width))
        if d == 3:
            turn_rows(W, turn)
        put_transposed(W, transposed)
        if d == 3:
            turn_rows(transposed, turn)
        put_transposed(transposed, W)
    return True


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
