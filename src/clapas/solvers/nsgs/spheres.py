"""Blocked sweeps between spheres.

The same sweeps as in ``blocked``, with ``momentum``, 8 rows of lanes per block in place of 45 (11 where
velocities are imposed), and one cache line per body that holds its velocity, its spin and its response
(see ``clapas.problems.sphere_blocks``). Impulses are vectors of the world: no tangents are needed, because
the response of a contact between spheres is the same along all of them, and its exact solution is

    r_N = max(0, r_N − u_N / W_N),     r_T = the tangential part of r − u / W_T, cut to |r_T| ≤ mu r_N.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.compiled.prefetch import AHEAD, prefetch
from clapas.compiled.sharing import launch
from clapas.compiled.simd import (
    WIDTH,
    aligned_empty,
    aligned_zeros,
    any_lane,
    gather_rows,
    lane_of,
    load,
    scatter_rows,
    sqrt,
    store,
    where,
)
from clapas.compiled.threads import Worker, chunk, thread_count, wait
from clapas.linalg.norms import SAFE
from clapas.problems.contact import ContactProblem
from clapas.problems.sphere_blocks import ROW, SphereBlocks, diagonal, imposed, in_frame, in_world
from clapas.solvers.local.canonical import LARGEST_MU
from clapas.solvers.nsgs.lanes import Lanes, Triple, projected_normal
from clapas.solvers.nsgs.layout import BlockLayout
from clapas.solvers.nsgs.momentum import Leader, Momentum, lead_all_on
from clapas.solvers.nsgs.precision import EPSILON, Doubts, is_coarse
from clapas.solvers.nsgs.sweeps import ParallelSweeps, SweepSettings
from clapas.typing import Array, Indices

ROWS = 8  # normal (3), distances to the centres of a and b, 1/W_N, 1/W_T, mu
REACH, INVERSES, MU = 3, 5, 7
LINE = (0,) * ROW


class SphereSweeps(ParallelSweeps):
    """Parallel sweeps on the velocities and spins of spheres, each contact solved exactly, with momentum.

    In single precision where that is sufficient (see ``precision``).
    """

    form = "spheres, by vectors"

    def __init__(
        self, problem: ContactProblem, blocks: SphereBlocks, settings: SweepSettings, guess: Array
    ) -> None:
        self._problem, self._blocks, self._settings = problem, blocks, settings
        layout = problem.kept.of(BlockLayout)(blocks.bodies, blocks.n_bodies)
        self._stored, self._bodies = layout.contacts, layout.bodies.reshape(-1)
        self._bounds, self._number = layout.bounds, layout.number
        self._threads = thread_count(settings.threads, blocks.n_contacts, max(1, len(self._bounds) // 2))
        self._leader, self._doubts = Leader(), Doubts(settings.tol)
        is_single = settings.is_single
        if is_single is None:
            is_single = is_coarse(problem, blocks, settings.tol, guess)
        self._place(guess, np.float32 if is_single else np.float64)

    def _place(self, guess: Array, precision: Any) -> None:
        """Write the data of the contacts and their impulses (n, 3) in lanes of single or double precision."""
        problem, blocks, n_blocks = self._problem, self._blocks, len(self._bodies) // (2 * WIDTH)
        w = imposed(problem.imposed)
        self._data = aligned_empty((n_blocks, ROWS, WIDTH), precision)
        lanes = (n_blocks, 3, WIDTH)
        # One w for all if they are zero.
        self._w = aligned_empty(lanes, precision) if len(w) else aligned_zeros((1, 3, WIDTH), precision)
        self.r = aligned_empty(lanes, precision)
        self.y = aligned_zeros((blocks.n_bodies + len(self._bounds) - 1, ROW), precision)
        self._momentum = Momentum.none(precision)
        contacts = blocks.normal, blocks.reach, blocks.bodies, blocks.x_free, problem.mu, w, guess
        launch(self._threads, fill, self._stored, *contacts, self._data, self._w, self.r)

    def impulses(self) -> Array:
        """The current impulses in the frames and the order of the problem."""
        r, normal = np.empty_like(self._blocks.normal), self._blocks.normal
        launch(self._threads, read_impulses, self._stored, normal, self.r, r)
        return r

    def glance(self) -> float | None:
        """The residual from the current velocities: costs less than a sweep, where the judge costs four."""
        scale = self._problem.free_speed
        if not SAFE < scale < 1.0 / SAFE:
            return None
        square, changed = self.squares()
        residual = math.sqrt(square) / scale
        self._leader.watch(residual)
        self._doubts.note(residual, EPSILON * math.sqrt(changed) / scale)
        return residual

    def squares(self) -> tuple[float, float]:
        """Squares of the violation and of the velocities impulses cause, from the current velocities."""
        squares = np.zeros((len(self._bounds) - 1, 2))
        blocks = self._bounds, self._data.reshape(-1), self._w.reshape(-1), self._bodies
        r, x = self.r.reshape(-1), self.y
        launch(self._threads, violations, *blocks, r, x, squares)
        total, changed = squares.sum(axis=0)
        return float(total), float(changed)

    def refresh(self) -> None:
        """Velocities and spins under the current impulses."""
        carried = self.y.copy() if len(self._momentum.y) else self.y
        launch(self._threads, put_free, self._number, self._blocks.x_free, self.y)
        blocks = self._bounds, self._data.reshape(-1), self._bodies, self.r.reshape(-1), self.y
        launch(self._threads, push_all, *blocks)
        self._momentum.correct(carried, self.y)

    def rows(self, bodies: Indices) -> Indices:
        """Rows of ``y`` that belong to some bodies."""
        return np.asarray(self._number[bodies])

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps."""
        self._sweep(count, self._momentum)

    def sweep_ahead(self, momentum: Momentum) -> None:
        """Do one sweep with a momentum kept elsewhere."""
        self._sweep(1, momentum)

    def _sweep(self, count: int, momentum: Momentum) -> None:
        blocks = self._bounds, self._data.reshape(-1), self._w.reshape(-1), self._bodies
        r, y, relaxation = self.r.reshape(-1), self.y, self._settings.relaxation
        launch(self._threads, sweep, count, relaxation, *blocks, momentum, r, y)

    def _accelerated(self, count: int) -> int:
        """Prepare momentum; change to double precision once single precision is in doubt."""
        if self._doubts.are_serious and self.r.dtype == np.float32:
            self._place(self.impulses(), np.float64)
            self._leader.restart()
            self._fresh_until = 0
        if self._settings.acceleration:
            self._momentum = self._leader.ahead(count, self._momentum, self.r, self.y)
        return count


@kernel
def fill(
    worker: Worker,
    stored: Indices,
    normal: Array,
    reach: Array,
    bodies: Indices,
    x: Array,
    mu: Array,
    w: Array,
    guess: Array,
    data: Array,
    lanes_of_w: Array,
    r: Array,
) -> None:
    """One thread's part of the rows of the blocks, and of w and the impulses in the world.

    Idle lanes stay open: all their rows are zero.
    """
    first, last = chunk(worker, len(data))
    for place in range(first * WIDTH, last * WIDTH):
        later = stored[min(place + 2 * AHEAD, len(stored) - 1)]
        prefetch(normal, later)
        prefetch(reach, later)
        prefetch(bodies, later)
        prefetch(guess, later)
        prefetch(mu, later)
        if len(w) > 0:
            prefetch(w, later)
        soon = stored[min(place + AHEAD, len(stored) - 1)]  # its bodies are known by now
        if soon >= 0:
            prefetch(x, bodies[soon, 0])
            prefetch(x, bodies[soon, 1])
        i, block, l = stored[place], place // WIDTH, place % WIDTH
        if i < 0:
            for k in range(ROWS):
                data[block, k, l] = 0.0
            put((0.0, 0.0, 0.0), r, block, l)
            if len(w) > 0:
                put((0.0, 0.0, 0.0), lanes_of_w, block, l)
            continue
        along, across = diagonal(reach, bodies, x, i)
        for k in range(3):
            data[block, k, l] = normal[i, k]
        data[block, REACH, l], data[block, REACH + 1, l] = reach[i, 0], reach[i, 1]
        data[block, INVERSES, l], data[block, INVERSES + 1, l] = 1.0 / along, 1.0 / across
        data[block, MU, l] = min(mu[i], LARGEST_MU)
        put(in_world(normal, i, guess[i, 0], guess[i, 1], guess[i, 2]), r, block, l)
        if len(w) > 0:
            put(in_world(normal, i, w[i, 0], w[i, 1], w[i, 2]), lanes_of_w, block, l)


@inlined
def put(vector: tuple[float, float, float], lanes: Array, block: int, l: int) -> None:
    """Write a vector in its lane."""
    lanes[block, 0, l], lanes[block, 1, l], lanes[block, 2, l] = vector


@kernel
def put_free(worker: Worker, number: Indices, x_free: Array, x: Array) -> None:
    """One thread's part of the rows of the bodies without impulses, under their new numbers."""
    first, last = chunk(worker, len(number))
    for body in range(first, last):
        for k in range(ROW):
            x[number[body], k] = x_free[body, k]


@kernel
def read_impulses(worker: Worker, stored: Indices, normal: Array, lanes: Array, r: Array) -> None:
    """One thread's part of the impulses (n, 3) along normals and tangents."""
    first, last = chunk(worker, len(lanes))
    for place in range(first * WIDTH, last * WIDTH):
        later = stored[min(place + AHEAD, len(stored) - 1)]
        prefetch(normal, later)
        prefetch(r, later)
        i, block, l = stored[place], place // WIDTH, place % WIDTH
        if i >= 0:
            r[i, 0], r[i, 1], r[i, 2] = in_frame(
                normal, i, lanes[block, 0, l], lanes[block, 1, l], lanes[block, 2, l]
            )


@kernel
def sweep(
    worker: Worker,
    count: int,
    relaxation: float,
    bounds: Indices,
    data: Array,
    w: Array,
    bodies: Indices,
    momentum: Momentum,
    r: Array,
    x: Array,
) -> None:
    """One thread's part of ``count`` sweeps."""
    n_slabs = len(bounds) - 1
    rows = x.reshape(-1)
    stride = 1 if len(w) == len(r) else 0
    for turn in range(count):
        if len(momentum.shares) > 0:
            lead_all_on(worker, momentum.shares[turn], momentum, r, rows)
        for parity in range(2):  # even slabs, then odd ones
            first, last = chunk(worker, (n_slabs + 1 - parity) // 2)
            for half in range(first, last):
                slab = 2 * half + parity
                for block in range(bounds[slab], bounds[slab + 1]):
                    visit_block(block, relaxation, data, w, stride, bodies, r, x)
            wait(worker)


@kernel
def push_all(worker: Worker, bounds: Indices, data: Array, bodies: Indices, r: Array, x: Array) -> None:
    """One thread's part of adding the effect of all impulses to the velocities."""
    n_slabs = len(bounds) - 1
    for parity in range(2):
        first, last = chunk(worker, (n_slabs + 1 - parity) // 2)
        for half in range(first, last):
            for block in range(bounds[2 * half + parity], bounds[2 * half + parity + 1]):
                push_block(block, data, bodies, r, x)
        wait(worker)


@kernel
def violations(
    worker: Worker,
    bounds: Indices,
    data: Array,
    w: Array,
    bodies: Indices,
    r: Array,
    x: Array,
    squares: Array,
) -> None:
    """One thread's part of the squares of the violation and of the velocities impulses cause, by slabs."""
    stride = 1 if len(w) == len(r) else 0
    first, last = chunk(worker, len(squares))
    for slab in range(first, last):
        total, changed = 0.0, 0.0
        for block in range(bounds[slab], bounds[slab + 1]):
            violation, change = block_violation(block, data, w, stride, bodies, r, x)
            for l in range(WIDTH):
                total += lane_of(violation, l)
                changed += lane_of(change, l)
        squares[slab, 0], squares[slab, 1] = total, changed


@inlined
def block_violation(
    block: int, data: Array, w: Array, stride: int, bodies: Indices, r: Array, x: Array
) -> tuple[Lanes, Lanes]:
    """:func:`clapas.problems.judge.violation_square` at each contact, and the square of the response to r."""
    rows, a, at = block * ROWS * WIDTH, 2 * block * WIDTH, 3 * block * WIDTH
    x_a, x_b = gather_rows(x, bodies, a, LINE), gather_rows(x, bodies, a + WIDTH, LINE)
    n, f, k = three(data, rows), three(r, at), three(data, rows + INVERSES * WIDTH)
    rho_a, rho_b = load(data, rows + REACH * WIDTH), load(data, rows + (REACH + 1) * WIDTH)
    v, turn = approaching(x_a, x_b, rho_a, rho_b, n, three(w, at * stride))
    response = where(k[0] > 0.0, (1.0 / k[0] + 2.0 / k[1]) / 3.0, 0.0)  # idle lanes do not respond
    along, approach = response * dot(f, n), dot(v, n)
    friction = plus((response * f[0], response * f[1], response * f[2]), -along, n)
    trial = plus(plus(plus(friction, -1.0, v), -1.0, turn), approach, n)
    radius, square = k[2] * where(along > 0.0, along, 0.0), dot(trial, trial)
    shrink = where(square > radius * radius, radius / sqrt(square), 1.0)
    tangential, normal = plus(friction, -1.0 * shrink, trial), where(approach < along, approach, along)
    return normal * normal + dot(tangential, tangential), response * response * dot(f, f)


@inlined
def push_block(block: int, data: Array, bodies: Indices, r: Array, x: Array) -> None:
    """Add the effect of the impulses of one block to its bodies; flat arrays but x."""
    rows, a = block * ROWS * WIDTH, 2 * block * WIDTH
    x_a, x_b = gather_rows(x, bodies, a, LINE), gather_rows(x, bodies, a + WIDTH, LINE)
    rho_a, rho_b = load(data, rows + REACH * WIDTH), load(data, rows + (REACH + 1) * WIDTH)
    f = three(r, 3 * block * WIDTH)
    moment = cross(f, three(data, rows))
    scatter_rows(x, bodies, a, pushed(x_a, -x_a[6], x_a[7] * rho_a, f, moment))
    scatter_rows(x, bodies, a + WIDTH, pushed(x_b, x_b[6], x_b[7] * rho_b, f, moment))


@inlined
def visit_block(
    block: int, relaxation: float, data: Array, w: Array, stride: int, bodies: Indices, r: Array, x: Array
) -> None:
    """Visit the contacts of one block at the same time; flat arrays but x. Stride 0: one w for all blocks.

    No array is passed on conditionally: counting references to it would cost more than the visit.
    """
    rows, a, at = block * ROWS * WIDTH, 2 * block * WIDTH, 3 * block * WIDTH
    x_a, x_b = gather_rows(x, bodies, a, LINE), gather_rows(x, bodies, a + WIDTH, LINE)
    n, old = three(data, rows), three(r, at)
    rho_a, rho_b = load(data, rows + REACH * WIDTH), load(data, rows + (REACH + 1) * WIDTH)
    k = three(data, rows + INVERSES * WIDTH)
    v, turn = approaching(x_a, x_b, rho_a, rho_b, n, three(w, at * stride))
    new = solved(old, v, turn, n, k)
    if relaxation != 1.0:
        new = relaxed(relaxation, k[2], n, old, new)
    store(r, at, new[0])
    store(r, at + WIDTH, new[1])
    store(r, at + 2 * WIDTH, new[2])
    change = plus(new, -1.0, old)
    moment = cross(change, n)
    scatter_rows(x, bodies, a, pushed(x_a, -x_a[6], x_a[7] * rho_a, change, moment))
    scatter_rows(x, bodies, a + WIDTH, pushed(x_b, x_b[6], x_b[7] * rho_b, change, moment))


@inlined
def approaching(
    x_a: Any, x_b: Any, rho_a: Lanes, rho_b: Lanes, n: Triple, w: Triple
) -> tuple[Triple, Triple]:
    """Velocities at the contacts of a block: those of the centres plus imposed ones; those by spins."""
    v = plus(w, 1.0, (x_b[0] - x_a[0], x_b[1] - x_a[1], x_b[2] - x_a[2]))
    z = (
        rho_a * x_a[3] + rho_b * x_b[3],
        rho_a * x_a[4] + rho_b * x_b[4],
        rho_a * x_a[5] + rho_b * x_b[5],
    )
    return v, cross(n, z)


@inlined
def solved(f: Triple, v: Triple, turn: Triple, n: Triple, k: Triple) -> Triple:
    """New impulses of a block, from the velocities of the centres and by spins, which are tangential.

    Each block waits for those before it that move the same bodies: what counts is the longest chain of
    operations from velocities to impulses, and roots are taken only where some contact slides.
    """
    inverse, across, mu = k
    along, approach = dot(f, n), dot(v, n)
    push = along - inverse * approach
    push = where(push > 0.0, push, 0.0)
    # A sticking contact has the tangential part of f − u / W_T.
    t = plus(plus(f, -along, n), -across, turn)
    t = plus(plus(t, -across, v), across * approach, n)
    return limited(push, t, n, mu * push)


@inlined
def limited(push: Lanes, t: Triple, n: Triple, limit: Lanes) -> Triple:
    """The vector with normal part ``push`` and tangential part t cut to the limit."""
    square = dot(t, t)
    slides = square > limit * limit
    if any_lane(slides):
        factor = where(slides, limit / sqrt(square), 1.0)
        t = factor * t[0], factor * t[1], factor * t[2]
    return plus(t, push, n)


@inlined
def relaxed(omega: float, mu: Lanes, n: Triple, old: Triple, new: Triple) -> Triple:
    """P_K(r + ω (r_new − r)): see ``relax``."""
    x = plus(old, omega, plus(new, -1.0, old))
    along = dot(x, n)
    t = plus(x, -along, n)
    size = sqrt(dot(t, t))
    push = projected_normal(along, size, mu)
    return limited(push, t, n, mu * push)


@inlined
def pushed(x: Any, inverse_mass: Lanes, spin_response: Lanes, f: Triple, moment: Triple) -> Any:
    """The rows of bodies after impulses and moments."""
    return (
        x[0] + inverse_mass * f[0],
        x[1] + inverse_mass * f[1],
        x[2] + inverse_mass * f[2],
        x[3] + spin_response * moment[0],
        x[4] + spin_response * moment[1],
        x[5] + spin_response * moment[2],
        x[6],
        x[7],
    )


@inlined
def three(data: Array, at: int) -> Triple:
    """Three rows of lanes."""
    return load(data, at), load(data, at + WIDTH), load(data, at + 2 * WIDTH)


@inlined
def plus(a: Triple, factor: Any, b: Triple) -> Triple:
    """Return a + factor · b."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@inlined
def dot(a: Triple, b: Triple) -> Lanes:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a: Triple, b: Triple) -> Triple:
    """Cross product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
