"""Impulses of the islands, one by one: the guess if it is good enough, else sweeps and Newton steps."""

from __future__ import annotations

import numpy as np

from clapas.compiled import subroutine
from clapas.dynamics.few.settling import ROUNDING, Way
from clapas.dynamics.few.tables import Rigid, Sizes
from clapas.dynamics.jointed.posing import JointedProblem
from clapas.linalg.norms import SAFE
from clapas.solvers.dense.kernels import Dense, turned
from clapas.solvers.dense.rounds import few_rounds
from clapas.typing import Array

ROUNDS = 3  # on an island, before the solver is asked
STILL, MOVES, REFUSED, UNSOLVED = range(4)
"""How it ends: nothing happens at the contacts; solved; numbers are not finite, or their squares are not; not
solved."""


@subroutine
def settle(
    problem: JointedProblem, velocity: Array, rigid: Rigid, way: Way, sizes: Sizes, r: Array
) -> tuple[int, int, float]:
    """Solve the islands from the guess r (m, d), in place, at velocities (N, size) without contact.

    An island is solved to the tolerance of its own free velocity, and so is the whole. Return how it ends,
    the number of sweeps and Newton steps, and the residual of the whole.
    """
    islands, d, root = problem.islands, len(sizes.components), rigid.diagonals[1]
    iterations, square, violation, how = 0, 0.0, 0.0, STILL
    q = np.empty(r.shape)
    for island in range(len(islands.start) - 1):
        s, e = islands.start[island], islands.start[island + 1]
        own, fastest, largest = 0.0, 0.0, 0.0
        for i in range(s, e):
            for k in range(d):
                total, size = problem.w[i, k], abs(problem.w[i, k])
                for end in range(2):
                    body = problem.bodies[i, end]
                    if body >= 0:
                        for c in range(len(sizes.body)):
                            part = problem.G[i, end, k, c] * velocity[body, c] * root[body, c]
                            total += part
                            size = max(size, abs(part))
                q[i, k] = total
                own += total * total
                fastest, largest = max(fastest, abs(total)), max(largest, size)
        if not np.isfinite(own):
            return REFUSED, 0, 0.0
        square += own
        if fastest <= ROUNDING * largest:  # what touches moves together
            for i in range(s, e):
                for k in range(d):
                    r[i, k] = 0.0
            continue
        speed = np.sqrt(own)
        if not SAFE < speed < 1.0 / SAFE:
            return REFUSED, 0, 0.0
        o, p, width = islands.matrix[island], islands.matrix[island + 1], d * (e - s)
        turn, goal = problem.turn[s:e], way.tol * speed
        data = Dense(
            problem.rows[o:p].reshape((width, width)),
            problem.columns[o:p].reshape((width, width)),
            turned(q[s:e], turn, 1.0),
            problem.mu[s:e],
            problem.response[s:e],
            problem.coefficients[s:e],
        )
        own_r = turned(r[s:e], turn, 1.0)
        done, missed = few_rounds(ROUNDS if way.most > 0 else 0, goal, data, way.part, own_r)
        if not missed <= goal:
            return UNSOLVED, 0, 0.0
        how, iterations, violation = MOVES, max(iterations, done), violation + missed * missed
        if done > 0:
            back = turned(own_r, turn, -1.0)
            for i in range(e - s):
                for k in range(d):
                    r[s + i, k] = back[i, k] + 0.0
    return how, iterations, np.sqrt(violation / square) if square > 0.0 else 0.0
