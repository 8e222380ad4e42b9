"""Blocked sweeps between bodies that turn alike about every axis: spheres, mostly.

The same sweeps as in ``blocked`` with 24 rows of lanes per block in place of 45, and one cache line per
body that holds its velocity, its spin and how it answers (see ``clapas.problems.round_blocks``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.problems.contact import ContactProblem
from clapas.problems.round_blocks import ROW, RoundBlocks
from clapas.simd import WIDTH, aligned_empty, aligned_zeros, gather_rows, load, scatter_rows, store
from clapas.solvers.local.canonical import canonical
from clapas.solvers.nsgs.accelerated import PERIOD, Memory, ParallelSweeps, extrapolate, remember
from clapas.solvers.nsgs.arrangement import arranged
from clapas.solvers.nsgs.lanes import Triple, relax_lanes, solve_lanes
from clapas.solvers.nsgs.storage import impulse_of, read_impulses, write_impulses
from clapas.solvers.nsgs.sweeps import Manner
from clapas.team import Member, share, team_size, together, wait
from clapas.typing import Array, Indices

ROWS = 24  # frame (9), arms of a and b (3, 3), w (3), coefficients (6)
ARM_A, ARM_B, IMPOSED, COEFFICIENTS = 9, 12, 15, 18
LINE = (0,) * ROW


class RoundSweeps(ParallelSweeps):
    """Parallel sweeps on the velocities and spins of round bodies."""

    def __init__(self, problem: ContactProblem, blocks: RoundBlocks, manner: Manner, guess: Array) -> None:
        self._n = len(guess)
        arrangement = arranged(blocks.bodies, blocks.n_bodies)
        self._stored, self._bodies = arrangement.contacts, arrangement.bodies.reshape(-1)
        self._bounds = arrangement.bounds
        n_blocks, n_slabs = len(arrangement.bodies), len(self._bounds) - 1
        self._data, self._turn = aligned_empty((n_blocks, ROWS, WIDTH)), np.empty((self._n, 2))
        given = blocks.frame, blocks.arms, blocks.bodies, blocks.x_free, problem.w, problem.mu
        n_threads = team_size(manner.threads, self._n, n_blocks)
        together(n_threads, lambda member: fill_data(member, self._stored, *given, self._turn, self._data))
        self.r = aligned_zeros((n_blocks, 3, WIDTH))
        write_impulses(self._stored, self._turn, guess, self.r)
        self._x_free = aligned_zeros((blocks.n_bodies + n_slabs, ROW))
        self._x_free[arrangement.number] = blocks.x_free[:-1]
        self.y = aligned_empty(self._x_free.shape)
        self._begin(manner)

    def impulses(self) -> Array:
        """The current impulses in the frames and the order of the problem."""
        r = np.empty((self._n, 3))
        read_impulses(self._stored, self._turn, self.r, r)
        return r

    def refresh(self) -> None:
        """Velocities and spins under the current impulses."""
        self.y[:] = self._x_free
        self._run(0)

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps."""
        self._run(count)

    def _run(self, count: int) -> None:
        blocks = self._bounds, self._data.reshape(-1), self._bodies
        settings = count, self._manner.part, self._manner.relaxation
        r, y, memory = self.r.reshape(-1), self.y, self._memory
        n_threads = team_size(self._manner.threads, self._n, len(self._bounds) // 2)
        together(n_threads, lambda member: sweep(member, *settings, *blocks, memory, r, y))


@kernel
def fill_data(
    member: Member,
    stored: Indices,
    frame: Array,
    arms: Array,
    bodies: Indices,
    x: Array,
    w: Array,
    mu: Array,
    turn: Array,
    data: Array,
) -> None:
    """One thread's part of the rows of the blocks; the tangents are turned to canonical coordinates.

    Idle lanes stay open: their rows are zero, and their coefficients one, so that they divide by one.
    """
    first, last = share(member, len(data))
    for place in range(first * WIDTH, last * WIDTH):
        i, block, l = stored[place], place // WIDTH, place % WIDTH
        if i < 0:
            for k in range(ROWS):
                data[block, k, l] = 0.0 if k < COEFFICIENTS else 1.0
            continue
        inverse, c_1, c_2, s_1, s_2, cosine, sine = local_problem(frame, arms, bodies, x, i)
        turn[i, 0], turn[i, 1] = cosine, sine
        for j in range(3):
            data[block, j, l] = frame[i, 0, j]
            data[block, 3 + j, l] = cosine * frame[i, 1, j] + sine * frame[i, 2, j]
            data[block, 6 + j, l] = cosine * frame[i, 2, j] - sine * frame[i, 1, j]
            data[block, ARM_A + j, l] = arms[i, 0, j]
            data[block, ARM_B + j, l] = arms[i, 1, j]
        data[block, IMPOSED, l] = w[i, 0]
        data[block, IMPOSED + 1, l] = cosine * w[i, 1] + sine * w[i, 2]
        data[block, IMPOSED + 2, l] = cosine * w[i, 2] - sine * w[i, 1]
        data[block, COEFFICIENTS, l], data[block, COEFFICIENTS + 1, l] = inverse, c_1
        data[block, COEFFICIENTS + 2, l], data[block, COEFFICIENTS + 3, l] = c_2, s_1
        data[block, COEFFICIENTS + 4, l], data[block, COEFFICIENTS + 5, l] = s_2, mu[i]


@inlined
def local_problem(
    frame: Array, arms: Array, bodies: Indices, x: Array, i: int
) -> tuple[float, float, float, float, float, float, float]:
    """Canonical coefficients of W_ii = Σ over both bodies of 1/m + (|l|² − F l (F l)ᵀ)/J."""
    w_nn, w_n1, w_n2, w_11, w_12, w_22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for side in range(2):
        body = bodies[i, side]
        l_x, l_y, l_z = arms[i, side, 0], arms[i, side, 1], arms[i, side, 2]
        n = frame[i, 0, 0] * l_x + frame[i, 0, 1] * l_y + frame[i, 0, 2] * l_z
        t_1 = frame[i, 1, 0] * l_x + frame[i, 1, 1] * l_y + frame[i, 1, 2] * l_z
        t_2 = frame[i, 2, 0] * l_x + frame[i, 2, 1] * l_y + frame[i, 2, 2] * l_z
        light, nimble = x[body, 6], x[body, 7]
        w_nn += light + nimble * (t_1 * t_1 + t_2 * t_2)
        w_11 += light + nimble * (n * n + t_2 * t_2)
        w_22 += light + nimble * (n * n + t_1 * t_1)
        w_n1 -= nimble * n * t_1
        w_n2 -= nimble * n * t_2
        w_12 -= nimble * t_1 * t_2
    return canonical(w_nn, w_n1, w_n2, w_11, w_12, w_22)


@kernel
def sweep(
    member: Member,
    count: int,
    part: Any,
    relaxation: float,
    bounds: Indices,
    data: Array,
    bodies: Indices,
    memory: Memory,
    r: Array,
    x: Array,
) -> None:
    """One thread's part of ``count`` sweeps; none of them lets the impulses push the bodies once."""
    n_slabs = len(bounds) - 1
    rows = x.reshape(-1)
    accelerates = count > 0 and len(memory.values) > 0
    for turn in range(max(count, 1)):
        if accelerates and turn % PERIOD == 0:
            extrapolate(member, memory, r, rows)
        for parity in range(2):  # even slabs, then odd ones
            first, last = share(member, (n_slabs + 1 - parity) // 2)
            for half in range(first, last):
                slab = 2 * half + parity
                for block in range(bounds[slab], bounds[slab + 1]):
                    if count == 0:
                        push_block(block, data, bodies, impulse_of(r, block), x)
                    else:
                        visit_block(block, data, bodies, part, relaxation, r, x)
            wait(member)
        if accelerates and turn % PERIOD == PERIOD - 1:
            remember(member, memory, r, rows)


@inlined
def push_block(block: int, data: Array, bodies: Indices, impulse: Triple, x: Array) -> None:
    """Let impulses at the contacts of one block move their bodies."""
    rows, a = block * ROWS * WIDTH, 2 * block * WIDTH
    x_a, x_b = gather_rows(x, bodies, a, LINE), gather_rows(x, bodies, a + WIDTH, LINE)
    push(x_a, x_b, impulse, data, rows, bodies, a, x)


@inlined
def visit_block(
    block: int, data: Array, bodies: Indices, part: Any, relaxation: float, r: Array, x: Array
) -> None:
    """Visit the contacts of one block at the same time. All arrays but x are flat."""
    rows, a = block * ROWS * WIDTH, 2 * block * WIDTH
    x_a, x_b = gather_rows(x, bodies, a, LINE), gather_rows(x, bodies, a + WIDTH, LINE)
    arm_a, arm_b = three(data, rows + ARM_A * WIDTH), three(data, rows + ARM_B * WIDTH)
    turn_a = cross((x_a[3], x_a[4], x_a[5]), arm_a)
    turn_b = cross((x_b[3], x_b[4], x_b[5]), arm_b)
    d_x = x_b[0] - x_a[0] + turn_b[0] - turn_a[0]
    d_y = x_b[1] - x_a[1] + turn_b[1] - turn_a[1]
    d_z = x_b[2] - x_a[2] + turn_b[2] - turn_a[2]
    n, t_1, t_2 = three(data, rows), three(data, rows + 3 * WIDTH), three(data, rows + 6 * WIDTH)
    imposed = three(data, rows + IMPOSED * WIDTH)
    u = (
        imposed[0] + n[0] * d_x + n[1] * d_y + n[2] * d_z,
        imposed[1] + t_1[0] * d_x + t_1[1] * d_y + t_1[2] * d_z,
        imposed[2] + t_2[0] * d_x + t_2[1] * d_y + t_2[2] * d_z,
    )
    first, last = three(data, rows + COEFFICIENTS * WIDTH), three(data, rows + (COEFFICIENTS + 3) * WIDTH)
    k = first[0], first[1], first[2], last[0], last[1], last[2]
    old = impulse_of(r, block)
    new = solve_lanes(part, old, u, k)
    if relaxation != 1.0:
        new = relax_lanes(relaxation, k[5], old, new)
    at = 3 * block * WIDTH
    store(r, at, new[0])
    store(r, at + WIDTH, new[1])
    store(r, at + 2 * WIDTH, new[2])
    change = new[0] - old[0], new[1] - old[1], new[2] - old[2]
    push(x_a, x_b, change, data, rows, bodies, a, x)


@inlined
def push(
    x_a: Any, x_b: Any, impulse: Triple, data: Array, rows: int, bodies: Indices, at: int, x: Array
) -> None:
    """Write back the bodies of a block, read as x_a and x_b, moved by impulses in the frames."""
    n, t_1, t_2 = three(data, rows), three(data, rows + 3 * WIDTH), three(data, rows + 6 * WIDTH)
    f = (
        n[0] * impulse[0] + t_1[0] * impulse[1] + t_2[0] * impulse[2],
        n[1] * impulse[0] + t_1[1] * impulse[1] + t_2[1] * impulse[2],
        n[2] * impulse[0] + t_1[2] * impulse[1] + t_2[2] * impulse[2],
    )
    scatter_rows(x, bodies, at, pushed(x_a, -x_a[6], -x_a[7], three(data, rows + ARM_A * WIDTH), f))
    scatter_rows(x, bodies, at + WIDTH, pushed(x_b, x_b[6], x_b[7], three(data, rows + ARM_B * WIDTH), f))


@inlined
def pushed(x: Any, light: Any, nimble: Any, arm: Triple, f: Triple) -> Any:
    """The rows of bodies after impulses f at the ends of their arms."""
    torque = cross(arm, f)
    return (
        x[0] + light * f[0],
        x[1] + light * f[1],
        x[2] + light * f[2],
        x[3] + nimble * torque[0],
        x[4] + nimble * torque[1],
        x[5] + nimble * torque[2],
        x[6],
        x[7],
    )


@inlined
def three(data: Array, at: int) -> Triple:
    """Three rows of lanes."""
    return load(data, at), load(data, at + WIDTH), load(data, at + 2 * WIDTH)


@inlined
def cross(a: Triple, b: Triple) -> Triple:
    """Cross product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
