"""Nonnegative least squares by Lawson and Hanson's active sets: min |Σ z_k c_k − b| over z ≥ 0.

Columns enter one by one, the steepest first, and leave when their weight would be negative. Those in use
are kept orthonormalised (Gram and Schmidt, twice; rotations where one leaves), so that the residual, b − Σ
z_k c_k, is orthogonal to them to rounding even where it is small: it is the certificate of an
infeasible node, and must be accurate.

Reference: Lawson, Hanson 1974, chapter 23.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clapas.compiled import inlined, kernel, subroutine
from clapas.solvers.loop import Halt
from clapas.status import Status
from clapas.typing import Array, Mask

STEEP = 1e-13  # cosine of a column with the residual, above which it enters
SHORT = 1e-13  # length of a column below which it is rounding: it is not used
NOTHING = 1e-14  # residual, relative to b, that counts as zero
WORK_BETWEEN_CHECKS = 20_000_000  # products between two checks of the clock: some hundredths of a second
DEPENDENT = 1e-10  # independent part of a unit column, below which it counts as dependent


class _Factors(NamedTuple):
    """Columns in use, as Qᵀ R: orthonormal rows Q, triangle R, coordinates p = Q b of b."""

    Q: Array
    R: Array
    p: Array
    used: npt.NDArray[np.int64]


def nonnegative_least_squares(
    columns: Array, b: Array, deadline: float = math.inf
) -> tuple[Array, Array, bool]:
    """Weights z (k,) of the columns (m, k), the residual (m,), and whether the iterations converged.

    Past the ``deadline`` (by ``time.perf_counter``) raises :class:`Halt` with TIME_LIMIT: large problems take
    seconds, so the clock is checked between some iterations.
    """
    size, count = columns.shape
    lengths = np.sqrt((columns * columns).sum(axis=0))
    lengths = np.where(lengths > SHORT, lengths, np.inf)
    c = columns / lengths
    z, residual = np.zeros(count), b.copy()
    available = np.ones(count, np.bool_)
    factors = _Factors(
        np.empty((size, size)), np.empty((size, size)), np.empty(size), np.empty(size, np.int64)
    )
    n, remaining, at_once = 0, 10 * (count + size), max(1, WORK_BETWEEN_CHECKS // max(1, size * count))
    while remaining > 0:
        n, has_ended = _advance(c, b, z, residual, available, factors, n, min(remaining, at_once))
        if has_ended:
            return z / lengths, residual, True
        remaining -= at_once
        if time.perf_counter() > deadline:
            raise Halt(Status.TIME_LIMIT)
    return np.zeros(count), b, False


@kernel
def _advance(
    c: Array, b: Array, z: Array, residual: Array, available: Mask, factors: _Factors, n: int, count: int
) -> tuple[int, bool]:
    """Let ``count`` columns enter; returns the number in use, and whether the minimum is reached."""
    size, slopes = len(b), np.empty(len(z))
    enough = NOTHING * np.sqrt(_dot(b, b))
    for _ in range(count):
        entering = _steepest(c, residual, available, slopes, enough)
        if entering < 0 or n == size:
            _orthogonalise(factors, n, residual)
            return n, True
        available[entering] = False
        if not _add(factors, c[:, entering], b, n):
            continue
        factors.used[n] = entering
        n_before, n = n + 1, _step(factors, z, n + 1)
        if n == n_before:
            _subtract(residual, _dot(factors.Q[n - 1], residual), factors.Q[n - 1])
            continue
        square = _dot(residual, residual)
        residual[:] = b
        _orthogonalise(factors, n, residual)
        if _dot(residual, residual) < (1.0 - STEEP) * square:  # otherwise columns could cycle
            available[:] = True
            available[factors.used[:n]] = False
    return n, False


@inlined
def _dot(a: Array, b: Array) -> float:
    """a·b in four independent sums, for instruction-level parallelism."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = len(a) - len(a) % 4
    for i in range(0, whole, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(whole, len(a)):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@inlined
def _subtract(x: Array, factor: float, a: Array) -> None:
    for i in range(len(x)):
        x[i] -= factor * a[i]


@subroutine
def _steepest(c: Array, residual: Array, available: Mask, slopes: Array, enough: float) -> int:
    """The column that reduces the residual most; −1 if none does, or if it is small enough."""
    size = np.sqrt(_dot(residual, residual))
    if size <= enough:
        return -1
    slopes[:] = 0.0
    for i in range(len(residual)):
        _subtract(slopes, -residual[i], c[i])
    best, entering = STEEP * size, -1
    for k in range(len(slopes)):
        if available[k] and slopes[k] > best:
            best, entering = slopes[k], k
    return entering


@subroutine
def _add(factors: _Factors, column: Array, b: Array, n: int) -> bool:
    """Add a column to the factors, if it is independent."""
    Q, R, remainder = factors.Q, factors.R, column.copy()
    R[: n + 1, n] = 0.0
    length = 1.0
    for _ in range(2):  # twice is enough, and once where little cancels
        previous = length
        for k in range(n):
            part = _dot(Q[k], remainder)
            R[k, n] += part
            _subtract(remainder, part, Q[k])
        length = np.sqrt(_dot(remainder, remainder))
        if length > 0.5 * previous:
            break
    if length < DEPENDENT:
        return False
    R[n, n] = length
    Q[n] = remainder / length
    factors.p[n] = _dot(Q[n], b)
    return True


@subroutine
def _step(factors: _Factors, z: Array, n: int) -> int:
    """Move to the least squares over the columns in use, dropping those whose weight would change sign."""
    used = factors.used
    while True:
        best = _triangular(factors, n)
        fraction, changes = 1.0, False
        for k in range(n):
            if best[k] <= 0.0:
                fraction, changes = min(fraction, z[used[k]] / (z[used[k]] - best[k] + 1e-300)), True
        for k in range(n - 1, -1, -1):
            j, old = used[k], z[used[k]]
            z[j] += fraction * (best[k] - old)
            if best[k] <= 0.0 and z[j] <= 1e-14 * (old + abs(best[k])):
                z[j] = 0.0
                _drop(factors, k, n)
                n -= 1
        if not changes:
            return n


@subroutine
def _triangular(factors: _Factors, n: int) -> Array:
    """The weights of least squares, R⁻¹ p."""
    best = factors.p[:n].copy()
    for k in range(n - 1, -1, -1):
        best[k] /= factors.R[k, k]
        for i in range(k):
            best[i] -= factors.R[i, k] * best[k]
    return best


@subroutine
def _drop(factors: _Factors, place: int, n: int) -> None:
    """Remove one of n columns, by rotations of the rows after it."""
    Q, R, p, used = factors
    for j in range(place, n - 1):
        used[j] = used[j + 1]
        for i in range(j + 2):
            R[i, j] = R[i, j + 1]
    for j in range(place, n - 1):
        length = np.hypot(R[j, j], R[j + 1, j])
        cosine, sine = R[j, j] / length, R[j + 1, j] / length
        for k in range(j, n - 1):
            R[j, k], R[j + 1, k] = (
                cosine * R[j, k] + sine * R[j + 1, k],
                cosine * R[j + 1, k] - sine * R[j, k],
            )
        for i in range(Q.shape[1]):
            Q[j, i], Q[j + 1, i] = (
                cosine * Q[j, i] + sine * Q[j + 1, i],
                cosine * Q[j + 1, i] - sine * Q[j, i],
            )
        p[j], p[j + 1] = cosine * p[j] + sine * p[j + 1], cosine * p[j + 1] - sine * p[j]


@subroutine
def _orthogonalise(factors: _Factors, n: int, x: Array) -> None:
    """Remove from x its components along the columns in use."""
    for k in range(n):
        _subtract(x, _dot(factors.Q[k], x), factors.Q[k])
