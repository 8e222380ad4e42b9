"""The kernels of a step of few bodies, in the order of the step.

``begin`` computes the middle of the step and the free motion; ``pose`` states the problem of the contacts, as
:mod:`clapas.dynamics.assembly` does for isotropic sliding friction; ``settle`` computes impulses from free
velocities and a guess, or reports that the solver is needed; ``respond`` and ``end`` give velocities under
the impulses, positions, impulses in the world, and work. ``advance`` does all from the contacts on in one
call, as long as a dozen sweeps are enough.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from clapas.bodies.rigid.motion import (
    GYRO_ROUNDS,
    GYRO_SHARE,
    fall,
    fill_blocks_2d,
    fill_blocks_3d,
    gyrate,
    move,
    plus_multiple,
    work,
)
from clapas.compiled import kernel, put, rounded
from clapas.compiled.tables import unsigned
from clapas.dynamics.few.tables import (
    CarriedImpulses,
    ContactArrays,
    Laws,
    Placed,
    Posed,
    Rigid,
    Sizes,
    blank_problem,
)
from clapas.dynamics.freemotion import add_lead
from clapas.dynamics.reaching import mark_within_reach
from clapas.dynamics.warm_start import carry, match, product, to_world
from clapas.linalg.norms import SAFE
from clapas.problems.blocks import (
    add_by_blocks,
    extent_of,
    size_and_largest,
    velocities_by_blocks,
    write_frame,
)
from clapas.solvers.nsgs.dozen import dozen_sweeps
from clapas.typing import Array, Indices


@kernel
def begin(
    start: Placed,
    imposed: Array,
    rigid: Rigid,
    gain: Array,
    keeps_velocity: bool,
    drift: float,
    dt: float,
    middle: Placed,
    free: Array,
) -> float:
    """Write the middle of a step and the velocities (N, size) at its end without contacts.

    Parameters
    ----------
    start : Placed
        The state.
    imposed : array (N, size)
        Velocities of walls in the middle of the step.
    rigid : Rigid
        The bodies.
    gain : array (d,)
        h · gravity (m/s).
    keeps_velocity : bool
        False forgets the velocities of the start.
    drift, dt : float
        Time from the start to the middle, and the step h (s).
    middle, free : Placed and array (N, size)
        Output.

    Returns
    -------
    float
        Largest coordinate of a centre (m).
    """
    movable, no_push = rigid.flags[0], np.zeros((len(imposed), 3))
    for i in range(len(imposed)):
        for k in range(imposed.shape[1]):
            moves = movable[i] and keeps_velocity
            middle.velocity[i, k] = start.velocity[i, k] if moves else imposed[i, k]
    move(start.position, start.orientation, middle.velocity, drift, middle.position, middle.orientation)
    fall(middle.velocity, gain, rigid.inertia, movable, no_push, dt, free)
    largest = 0.0
    for i in range(len(imposed)):
        for k in range(len(gain)):
            largest = max(largest, abs(middle.position[i, k]))
    return largest


@kernel
def pose(
    contacts: ContactArrays,
    pairs: Indices,
    middle: Placed,
    rigid: Rigid,
    laws: Laws,
    lead: Array,
    dt: float,
    touching: float,
    sizes: Sizes,
) -> Posed:
    """State the problem of the contacts, except for the data that depend on the free velocities.

    ``pairs`` (n, 2) are the bodies; ``lead`` (n, d) corrects the velocities of walls at the contacts, without
    rows where there is no correction; ``touching`` (m) is the gap up to which contacts touch.
    """
    n, d, ground = len(pairs), len(sizes.components), 0
    movable, diagonals = rigid.flags[0], rigid.diagonals
    for body in range(len(movable)):
        ground += movable[body]
    posed = blank_problem(n, d, ground, len(sizes.body))
    for i in range(n):
        posed.bodies[i, 0], posed.bodies[i, 1] = rigid.number[pairs[i, 0]], rigid.number[pairs[i, 1]]
        write_frame(contacts.normal, i, posed.frame)
    place = pairs, contacts.point, np.empty((0, d)), posed.frame
    at = middle.position, middle.orientation, middle.velocity, diagonals[2], movable
    if d == 3:
        fill_blocks_3d(*place, *at, posed.G, posed.wall)
    else:
        fill_blocks_2d(*place, *at, posed.G, posed.wall)
    before = posed.wall
    if laws.has_restitution:
        y = np.empty_like(middle.velocity)
        for i in range(len(y)):
            for k in range(len(sizes.body)):
                y[i, k] = middle.velocity[i, k] * diagonals[1, i, k]
        before = velocities_by_blocks(posed.G, pairs, y, posed.wall, sizes.components, sizes.body)
    if len(lead) > 0:
        add_lead(posed.frame, lead, posed.wall)
    for i in range(n):
        m_a, m_b = laws.material[contacts.colliders[0, i]], laws.material[contacts.colliders[1, i]]
        posed.mu[i], posed.apart[i] = laws.tables[0, m_a, m_b], contacts.gap[i] > touching
        for k in range(d):
            posed.w[i, k] = posed.wall[i, k]
            if laws.has_restitution and not posed.apart[i]:
                restitution = laws.tables[1 if k == 0 else 2, m_a, m_b]
                posed.w[i, k] = plus_multiple(posed.w[i, k], restitution, before[i, k])
        if posed.apart[i]:
            posed.w[i, 0] = with_closing(posed.w[i, 0], contacts.gap[i], dt)
    return posed


@rounded
def with_closing(w: float, gap: float, dt: float) -> float:
    """The imposed velocity plus that at which a gap closes in one step."""
    return w + gap / dt


@kernel
def guess(contacts: ContactArrays, frame: Array, old: CarriedImpulses, r: Array) -> None:
    """Write the impulses carried from the last step, in the frames (n, d, d); zero at new contacts."""
    n, d = r.shape
    place, identity, scale = np.empty(n, dtype=np.int64), contacts.identity, np.empty((1, d))
    for i in range(n):
        place[i] = -1
        for k in range(d):
            r[i, k] = 0.0
    for k in range(d):
        scale[0, k] = 1.0
    match(old.a, old.b, old.feature, identity[0], identity[1], identity[2], place)
    carry(place, old.ratio, old.impulse, np.empty((0, 3)), frame, np.zeros(n), scale, r)


ROUNDING = 16.0 * float(np.finfo(float).eps)

SETTLED, UNSETTLED, STILL, REFUSED = 0, 1, 2, 3
"""Endings of :func:`settle`: the impulses meet the tolerance; they do not; the free velocities at contacts
are rounding, and all impulses zero; the numbers are not finite, or their squares are not."""


class SweepPlan(NamedTuple):
    """Which problems are swept here, and to what accuracy.

    Parameters
    ----------
    part : named tuple
        The local solver.
    tol : float
        Residual to be reached.
    most, most_if_near : int
        Most contacts to be swept from any guess, and from one that nearly solves the problem.
    near : float
        Residual below which a guess nearly solves the problem.
    """

    part: Any
    tol: float
    most: int
    most_if_near: int
    near: float


@kernel
def settle(
    posed: Posed, free: Array, rigid: Rigid, plan: SweepPlan, sizes: Sizes, r: Array, measured: Array
) -> tuple[int, int]:
    """Measure the residual of the impulses r (n, d) at free velocities (N, size), and sweep if allowed.

    Returns the ending and the number of sweeps; the residuals are written to ``measured`` (4,).
    """
    movable, mass_root = rigid.flags[0], rigid.diagonals[1]
    for body in range(len(movable)):
        if movable[body]:
            for k in range(len(sizes.body)):
                posed.y_free[rigid.number[body], k] = free[body, k] * mass_root[body, k]
    if len(r) == 0:
        measured[0] = 0.0
        return SETTLED, 0
    response, row, y, is_finite = extent_of(posed.G, posed.y_free, sizes.components, sizes.body)
    for i in range(len(r)):
        posed.response[i] = response[i]
    q = velocities_by_blocks(posed.G, posed.bodies, posed.y_free, posed.w, sizes.components, sizes.body)
    speed, fastest = size_and_largest(q)
    if not is_finite or not np.isfinite(speed):
        return REFUSED, 0
    if fastest <= ROUNDING * plus_multiple(size_and_largest(posed.wall)[1], row, y):
        return STILL, 0
    if not SAFE < speed < 1.0 / SAFE:
        return REFUSED, 0
    problem = posed.G, posed.bodies, posed.y_free, posed.w, posed.mu, posed.response, speed
    largest_residual = 0.0
    if len(r) <= plan.most:
        largest_residual = np.inf
    elif len(r) <= plan.most_if_near:
        largest_residual = plan.near
    dimensions = sizes.components, sizes.body
    sweeps = dozen_sweeps(*problem, plan.part, plan.tol, largest_residual, *dimensions, r, measured)
    if sweeps < 0:
        return UNSETTLED, 0
    for i in range(len(r)):
        for k in range(len(sizes.components)):
            r[i, k] = unsigned(r[i, k])
    return SETTLED, sweeps


@kernel
def respond(
    posed: Posed,
    r: Array,
    before: Array,
    free: Array,
    rigid: Rigid,
    spin_change: Array,
    dt: float,
    sizes: Sizes,
    velocity: Array,
    without: Array,
) -> bool:
    """Write the velocities (N, size) under the impulses r (n, d), and those without impulses.

    Where bodies gyrate, both have the gyroscopic term at the mean of the velocities before and after
    (:func:`clapas.bodies.rigid.motion.gyrate`), to which loads add ``spin_change`` (N, 3), in rad/s. Returns
    whether that affects the contacts.
    """
    movable, gyrates = rigid.flags[0], rigid.flags[1]
    masses, inverse_root = rigid.diagonals[0], rigid.diagonals[2]
    y, plain = np.empty_like(posed.y_free), np.empty_like(free)
    put(posed.y_free, y)
    put(free, plain)
    add_by_blocks(posed.G, posed.bodies, r, y, sizes.components, sizes.body)
    for body in range(len(movable)):
        if movable[body]:
            for k in range(len(sizes.body)):
                plain[body, k] = unsigned(inverse_root[body, k] * y[rigid.number[body], k])
    number = 0
    for body in range(len(gyrates)):
        number += gyrates[body]
    if number > 0 and len(r) > 0:
        bodies = masses, rigid.inertia, movable, gyrates
        return gyrate(before, free, plain, *bodies, spin_change, dt, GYRO_SHARE, velocity, without)
    put(plain, velocity)
    put(free, without)
    return False


Ended: TypeAlias = tuple[int, float, float]
"""Number of contacts that touch or carry, and the work of contacts and of walls (J)."""


@kernel
def end(
    posed: Posed,
    r: Array,
    middle: Placed,
    without: Array,
    rigid: Rigid,
    rest: float,
    after: Placed,
    impulse: Array,
) -> Ended:
    """Write the poses at the end of a step, ``rest`` (s) after its middle, and impulses (n, d) in the world.

    ``without`` (N, size) are the velocities without impulses.
    """
    velocity = after.velocity
    move(middle.position, middle.orientation, velocity, rest, after.position, after.orientation)
    to_world(posed.frame, r, impulse)
    count = 0
    for i in range(len(r)):
        carries = False
        for k in range(r.shape[1]):
            carries = carries or r[i, k] != 0.0
        count += 1 if carries or not posed.apart[i] else 0
    done = work(rigid.diagonals[0, :, 0], rigid.inertia, rigid.flags[0], middle.velocity, without, velocity)
    return count, done, product(r, posed.wall)


OUT_OF_REACH = 4
"""A further ending of :func:`advance`: some contacts are out of reach and must be left out first."""


class Span(NamedTuple):
    """The step h (s), the part of it after its middle, the gap of contacts that touch, and the reach (m)."""

    dt: float
    rest: float
    touching: float
    reach: float


@kernel
def advance(
    contacts: ContactArrays,
    middle: Placed,
    free: Array,
    old: CarriedImpulses,
    rigid: Rigid,
    laws: Laws,
    lead: Array,
    span: Span,
    plan: SweepPlan,
    sizes: Sizes,
    spin_change: Array,
    after: Placed,
    r: Array,
    impulse: Array,
    measured: Array,
) -> tuple[int, int, Ended]:
    """Pose the problem, solve it from the carried impulses and end the step.

    ``free`` (N, size), velocities at the end without contacts, become those of the last problem if that is
    solved; ``spin_change`` (N, 3) is the change of spins by loads. Returns the ending, the number of sweeps
    of the last problem, and the results of :func:`end` if the ending is SETTLED.
    """
    n, nothing = len(r), (0, 0.0, 0.0)
    pairs = np.empty((n, 2), dtype=np.int64)
    for i in range(n):
        pairs[i, 0], pairs[i, 1] = contacts.identity[0, i], contacts.identity[1, i]
    kept, no_shift = np.empty(n, dtype=np.bool_), np.empty((0, len(sizes.components)))
    place = pairs, contacts.point, no_shift, contacts.normal, contacts.gap
    at = middle.position, middle.orientation, middle.velocity
    mark_within_reach(*place, *at, span.touching, span.reach, span.dt, kept)
    left_out = 0
    for i in range(n):
        left_out += not kept[i]
    if left_out > 0:
        return OUT_OF_REACH, 0, nothing
    posed = pose(contacts, pairs, middle, rigid, laws, lead, span.dt, span.touching, sizes)
    guess(contacts, posed.frame, old, r)
    without, at_first, sweeps = np.empty_like(free), np.empty_like(free), 0
    put(free, at_first)
    for left in range(GYRO_ROUNDS - 1, -1, -1):
        ending, sweeps = settle(posed, free, rigid, plan, sizes, r, measured)
        if ending != SETTLED:
            put(at_first, free)
            return ending, 0, nothing
        arguments = posed, r, middle.velocity, free, rigid, spin_change, span.dt, sizes
        if not respond(*arguments, after.velocity, without) or left == 0:
            break
        put(without, free)
    return SETTLED, sweeps, end(posed, r, middle, without, rigid, span.rest, after, impulse)
