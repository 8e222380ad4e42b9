"""Limits, friction and bounded motors of a step as links (:mod:`clapas.dynamics.joints.drives`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import subroutine
from clapas.dynamics.few.tables import Rigid
from clapas.dynamics.jointed.holding import gap_of, motor_row
from clapas.dynamics.jointed.rows import own_rate_of
from clapas.dynamics.jointed.tables import SERVO, VELOCITY, DriveTable, Held, Scheme
from clapas.dynamics.joints.drives import FRICTION, LAWS_PER_COORDINATE, LEAST_SHARE, UPPER
from clapas.dynamics.joints.rows import TURN
from clapas.typing import Array, Indices


class Acting(NamedTuple):
    """The l limits, frictions and bounded motors of a step, as links (:class:`clapas.bodies.links.Links`).

    Parameters
    ----------
    identity : array (l,)
        Coordinate · 4 + law.
    scale : array (l,)
        Factor on the row of the coordinate: −1 for upper limits, times a length for angles.
    G, bodies : arrays (l, 2, d, size) and (l, 2)
        Rows in units of unit mass; −1 for a body that cannot move.
    w, compliance, mu : arrays (l, d), (l, d) and (l,)
        See :class:`clapas.bodies.links.Links`.
    """

    identity: Indices
    scale: Array
    G: Array
    bodies: Indices
    w: Array
    compliance: Array
    mu: Array


@subroutine
def links(
    held: Held, ends: Indices, drives: DriveTable, rigid: Rigid, target: Array, scheme: Scheme, d: int
) -> Acting:
    """The limits, frictions and bounded motors of a step."""
    of, along, ahead, velocity, active = held.of, held.along, held.ahead, held.velocity, held.active
    numbers, motor, movable, inverse_root = drives.numbers, drives.motor, rigid.flags[0], rigid.diagonals[2]
    size, h, n_closing = of.shape[2], scheme.dt, ends.shape[1] - len(active)
    most = LAWS_PER_COORDINATE * len(active) if drives.has_links else 0
    identity, scale, mu = np.empty(most, dtype=np.int64), np.empty(most), np.zeros(most)
    G, bodies = np.zeros((most, 2, d, size)), np.empty((most, 2), dtype=np.int64)
    w, compliance = np.zeros((most, d)), np.empty((most, d))
    count = 0
    for k in range(most // LAWS_PER_COORDINATE):
        term = n_closing + k
        response, length = coordinate_response(ends, of, inverse_root, term)
        if response <= 0.0:
            continue
        soft, before = response * length * length, along[2, k]
        for law in range(LAWS_PER_COORDINATE):
            sign, rate, bound, motor_compliance = 1.0, 0.0, 0.0, 0.0
            if law <= UPPER:
                if not active[k, law]:
                    continue
                sign = 1.0 if law == 0 else -1.0
                gap, zero = gap_of(numbers[1 + law, k], along[1, k], law)
                rate = sign * numbers[3, k] * before if gap <= zero else max(gap, 0.0) / h
            elif law == FRICTION:
                if not numbers[4, k] > 0.0:
                    continue
                bound = h * numbers[4, k]
            else:
                if not (motor[k] in (VELOCITY, SERVO) and np.isfinite(numbers[8, k])):
                    continue
                motor_compliance, rate = motor_row(numbers, motor[k], k, along[1, k], target[k], scheme)
                bound = h * numbers[8, k]
            rate = length * (rate + sign * ahead[term])
            for j in range(d):
                compliance[count, j] = soft
            if law <= UPPER:
                w[count, 0], compliance[count, 0] = rate, 0.0
            else:
                # u_N = c (r_N − ρ) fixes r_N = ρ, and mu ρ is the bound; ρ is the expected impulse.
                w[count, 1], compliance[count, 1] = rate, length * length * motor_compliance
                here = own_rate_of(ends, term, of, velocity, movable)
                speed = max(abs(length * here + rate), abs(length * before))
                bound /= length
                rho = min(max(speed / soft, LEAST_SHARE * bound), bound)
                w[count, 0], mu[count] = -soft * rho, bound / rho
            identity[count], scale[count] = k * LAWS_PER_COORDINATE + law, sign * length
            row = 0 if law <= UPPER else 1
            for end in range(2):
                body = ends[1 + end, term]
                moves = body >= 0 and movable[body]
                bodies[count, end] = body if moves else -1
                if moves:
                    for e in range(size):
                        G[count, end, row, e] = scale[count] * of[end, term, e] * inverse_root[body, e]
            count += 1
    return Acting(
        identity[:count], scale[:count], G[:count], bodies[:count], w[:count], compliance[:count], mu[:count]
    )


@subroutine
def coordinate_response(ends: Indices, of: Array, inverse_root: Array, term: int) -> tuple[float, float]:
    """Rate of a coordinate per unit of impulse without joints, and the length its row is multiplied by.

    The length is the radius of gyration of the bodies about the axis of a turn, 1 for a displacement.
    """
    response, inverse_mass = 0.0, 0.0
    for end in range(2):
        body = ends[1 + end, term]
        if body >= 0:
            for e in range(of.shape[2]):
                response += (of[end, term, e] * inverse_root[body, e]) ** 2
            inverse_mass += inverse_root[body, 0] ** 2
    turns = ends[0, term] >= TURN and response > 0.0 and inverse_mass > 0.0
    return response, np.sqrt(inverse_mass / response) if turns else 1.0
