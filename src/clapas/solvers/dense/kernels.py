"""Compiled parts of a round: full W, sweeps, Newton's matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.problems.judge import violation_norm
from clapas.solvers.local.canonical import canonical_coefficients, coefficients_of
from clapas.solvers.local.dispatch import solve_contact
from clapas.typing import Array, Indices


class Dense(NamedTuple):
    """A problem in the canonical frames of its contacts.

    Parameters
    ----------
    rows, columns : arrays (d·n, d·n)
        Full W and its transpose, so that loops along either are contiguous and
        vectorised.
    q : array (n, d)
        Free velocities.
    mu, response : arrays (n,)
        Friction, and mean diagonals λ of the blocks of W.
    coefficients : array (n, 6)
        See :mod:`clapas.solvers.local.canonical`.
    """

    rows: Array
    columns: Array
    q: Array
    mu: Array
    response: Array
    coefficients: Array


@kernel
def in_full(indptr: Indices, indices: Indices, blocks: Array) -> Array:
    """Full matrix from blocks (…, d, d) stored by rows."""
    n, d = len(indptr) - 1, blocks.shape[1]
    W = np.zeros((d * n, d * n))
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            for k in range(d):
                for l in range(d):
                    W[d * i + k, d * indices[p] + l] = blocks[p, k, l]
    return W


@kernel
def prepare(W: Array, local_blocks: Array, q: Array, mu: Array, response: Array) -> tuple[Dense, Array]:
    """The problem in canonical frames, to which W is rotated in place, and their (cosine, sine) (n, 2)."""
    coefficients, turn = canonical_coefficients(local_blocks, mu)
    if q.shape[1] == 3:
        turn_rows(W, turn)
        columns = W.T.copy()
        turn_rows(columns, turn)
        W[:] = columns.T
    else:
        columns = W.T.copy()
    return Dense(W, columns, turned(q, turn, 1.0), mu, response, coefficients), turn


@inlined
def turn_rows(W: Array, turn: Array) -> None:
    """Rotate the two tangential rows of each contact."""
    for i in range(len(turn)):
        cosine, sine = turn[i, 0], turn[i, 1]
        first, second = W[3 * i + 1], W[3 * i + 2]
        for j in range(len(first)):
            a, b = first[j], second[j]
            first[j] = cosine * a + sine * b
            second[j] = cosine * b - sine * a


@kernel
def turned(vectors: Array, turn: Array, sense: float) -> Array:
    """Vectors (n, d) with rotated tangents, rotated back for a ``sense`` of −1; in the plane a copy."""
    result = vectors.copy()
    if vectors.shape[1] == 3:
        for i in range(len(vectors)):
            cosine, sine, a, b = turn[i, 0], sense * turn[i, 1], vectors[i, 1], vectors[i, 2]
            result[i, 1] = cosine * a + sine * b
            result[i, 2] = cosine * b - sine * a
    return result


@inlined
def velocities(data: Dense, r: Array) -> Array:
    """Return u = W r + q, (n, d)."""
    u = data.q.copy()
    flat, change = u.reshape(-1), r.reshape(-1)
    for j in range(len(flat)):
        if change[j] != 0.0:
            add_multiple(change[j], data.columns[j], flat)
    return u


@inlined
def add_multiple(factor: float, row: Array, target: Array) -> None:
    """Add factor · row to target."""
    for j in range(len(target)):
        target[j] += factor * row[j]


@kernel
def measure(data: Dense, r: Array) -> float:
    """Size of the violation of the law, a velocity: the judge's formula."""
    return float(violation_norm(velocities(data, r), r, data.mu, data.response))


@kernel
def sweep(most: int, goal: float, data: Dense, part: Any, r: Array) -> tuple[int, float]:
    """Visit all contacts until the violation of the law is at most ``goal``, or ``most`` times.

    Return the number of sweeps and the violation of the law, measured after 1, 2, 4, … sweeps. The
    velocities follow each change of an impulse.
    """
    n, d = r.shape
    done, next_sweeps = 0, 1
    u = velocities(data, r)
    flat = u.reshape(-1)
    while True:
        for _ in range(next_sweeps):
            for i in range(n):
                r_n, r_1, r_2, u_2 = r[i, 0], r[i, 1], 0.0, 0.0
                if d == 3:
                    r_2, u_2 = r[i, 2], u[i, 2]
                k = coefficients_of(data.coefficients, i)
                new_n, new_1, new_2 = solve_contact(part, r_n, r_1, r_2, u[i, 0], u[i, 1], u_2, k)
                r[i, 0], r[i, 1] = new_n, new_1
                add_multiple(new_n - r_n, data.columns[d * i], flat)
                add_multiple(new_1 - r_1, data.columns[d * i + 1], flat)
                if d == 3:
                    r[i, 2] = new_2
                    add_multiple(new_2 - r_2, data.columns[d * i + 2], flat)
        done += next_sweeps
        violation = float(violation_norm(u, r, data.mu, data.response))
        if violation <= goal or done >= most:
            return done, violation
        next_sweeps = min(done, most - done)


@kernel
def linearise(data: Dense, r: Array, compliance: float) -> tuple[Array, Array]:
    """Newton's matrix J (d·n, d·n) and Alart and Curnier's function F (d·n,) at the impulses r.

    The rows of a contact are A dr + B du/λ, du = W dr, with small matrices A and B; a compliance is added
    to W.
    """
    n, d = r.shape
    u = velocities(data, r)
    J, F = np.zeros((d * n, d * n)), np.empty(d * n)
    trial = np.empty(d)
    B = np.empty((d, d))
    for i in range(n):
        inverse, mu, first, size = 1.0 / data.response[i], data.mu[i], d * i, 0.0
        for k in range(d):
            trial[k] = r[i, k] - inverse * u[i, k]
            size += trial[k] * trial[k] if k else 0.0
        size = np.sqrt(size)
        if trial[0] <= 0.0:  # opens: F = r
            for k in range(d):
                F[first + k] = r[i, k]
                J[first + k, first + k] = 1.0
            continue
        B[:] = 0.0
        for k in range(d):  # sticks: F = u/λ
            F[first + k] = inverse * u[i, k]
            B[k, k] = 1.0
        if size > mu * trial[0]:  # slides: its tangents, F = r_T − mu p_N t
            shrink = mu * trial[0] / size
            for k in range(1, d):
                t_k = trial[k] / size
                F[first + k] = r[i, k] - mu * trial[0] * t_k
                J[first + k, first] = -mu * t_k
                B[k, 0] = mu * t_k
                for l in range(1, d):
                    one = 1.0 if k == l else 0.0
                    B[k, l] = shrink * (one - t_k * trial[l] / size)
                    J[first + k, first + l] = one - B[k, l]
        for k in range(d):
            for l in range(d):
                if B[k, l] != 0.0:
                    add_multiple(inverse * B[k, l], data.rows[first + l], J[first + k])
                    J[first + k, first + l] += compliance * B[k, l]
    return J, F
