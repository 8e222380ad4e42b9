"""Impulses of the islands, one by one: the guess if it is accurate enough, else sweeps and Newton steps."""

from __future__ import annotations

import numpy as np

from clapas.compiled import subroutine
from clapas.dynamics.few.kernels import ROUNDING, SweepPlan
from clapas.dynamics.jointed.posing import JointedProblem, Listed
from clapas.linalg.norms import SAFE
from clapas.solvers.dense.kernels import Dense, turned
from clapas.solvers.dense.rounds import few_rounds
from clapas.typing import Array

ROUNDS = 3  # on an island, before the solver is called
STILL, MOVES, REFUSED, UNSOLVED = range(4)
"""Endings: bodies that touch move together, all impulses are zero; solved; numbers are not finite, or their
squares are not; not solved."""


@subroutine
def settle(
    problem: JointedProblem, velocity: Array, mass_root: Array, plan: SweepPlan, r: Array
) -> tuple[int, int, float]:
    """Solve the islands from the guess r (m, d), in place, at velocities (N, size) without contact.

    Each island is solved to the tolerance relative to its own free velocity, hence so is the whole. Returns
    the ending, the number of sweeps and Newton steps, and the residual of the whole.
    """
    start, matrix, listed = problem.islands.start, problem.islands.matrix, problem.listed
    rows, columns, response, coefficients, turn = problem.matrices
    d, iterations, square, violation, ending = r.shape[1], 0, 0.0, 0.0, STILL
    q, sizes = np.empty(r.shape), np.empty(r.shape)
    free_velocities(listed, velocity, mass_root, q, sizes)
    for island in range(len(start) - 1):
        s, e = start[island], start[island + 1]
        island_square, fastest, largest = 0.0, 0.0, 0.0
        for i in range(s, e):
            for k in range(d):
                island_square += q[i, k] * q[i, k]
                fastest, largest = max(fastest, abs(q[i, k])), max(largest, sizes[i, k])
        if not np.isfinite(island_square):
            return REFUSED, 0, 0.0
        square += island_square
        if fastest <= ROUNDING * largest:  # bodies that touch move together
            for i in range(s, e):
                for k in range(d):
                    r[i, k] = 0.0
            continue
        speed = np.sqrt(island_square)
        if not SAFE < speed < 1.0 / SAFE:
            return REFUSED, 0, 0.0
        o, p, width = matrix[island], matrix[island + 1], d * (e - s)
        island_turn, goal = turn[s:e], plan.tol * speed
        data = Dense(
            rows[o:p].reshape((width, width)),
            columns[o:p].reshape((width, width)),
            turned(q[s:e], island_turn, 1.0),
            listed.mu[s:e],
            response[s:e],
            coefficients[s:e],
        )
        island_r = turned(r[s:e], island_turn, 1.0)
        steps, error = few_rounds(ROUNDS if plan.most > 0 else 0, goal, data, plan.part, island_r)
        if not error <= goal:
            return UNSOLVED, 0, 0.0
        ending, iterations, violation = MOVES, max(iterations, steps), violation + error * error
        if steps > 0:
            back = turned(island_r, island_turn, -1.0)
            for i in range(e - s):
                for k in range(d):
                    r[s + i, k] = back[i, k] + 0.0
    return ending, iterations, np.sqrt(violation / square) if square > 0.0 else 0.0


@subroutine
def free_velocities(listed: Listed, velocity: Array, mass_root: Array, q: Array, sizes: Array) -> None:
    """Write q (m, d) at velocities (N, size) without contact, and the largest term of each entry."""
    G, bodies, w, _, _ = listed
    for i in range(len(q)):
        for k in range(q.shape[1]):
            total, size = w[i, k], abs(w[i, k])
            for end in range(2):
                body = bodies[i, end]
                if body >= 0:
                    for c in range(velocity.shape[1]):
                        part = G[i, end, k, c] * velocity[body, c] * mass_root[body, c]
                        total += part
                        size = max(size, abs(part))
            q[i, k], sizes[i, k] = total, size
