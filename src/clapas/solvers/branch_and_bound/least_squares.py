"""Nonnegative least squares by Lawson and Hanson's active sets: min |Σ z_k c_k − b| over z ≥ 0.

Columns come in one by one, the steepest first, and leave when their weight would be negative. Those in use
are kept orthonormalised (Gram and Schmidt, twice; rotations where one leaves), so that what is missed, b − Σ
z_k c_k, can be made orthogonal to them to the last bit even where it is small: it is the certificate of an
empty node, and lives by its digits.

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

STEEP = 1e-13  # cosine of a column with what is missed, above which it comes in
SHORT = 1e-13  # length of a column that is nothing but rounding: it is not used
NOTHING = 1e-14  # what is missed, relative to b, below which nothing is
WORK_BETWEEN_LOOKS = 20_000_000  # products between two looks at the clock: some hundredths of a second
DEPENDENT = 1e-10  # what a column of length one has of its own, below which it adds nothing


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
    seconds, so the clock is looked at between some iterations.
    """
    size, count = columns.shape
    lengths = np.sqrt((columns * columns).sum(axis=0))
    lengths = np.where(lengths > SHORT, lengths, np.inf)
    c = columns / lengths
    z, missed = np.zeros(count), b.copy()
    waiting = np.ones(count, np.bool_)
    factors = _Factors(
        np.empty((size, size)), np.empty((size, size)), np.empty(size), np.empty(size, np.int64)
    )
    n, left, at_once = 0, 10 * (count + size), max(1, WORK_BETWEEN_LOOKS // max(1, size * count))
    while left > 0:
        n, has_ended = _advance(c, b, z, missed, waiting, factors, n, min(left, at_once))
        if has_ended:
            return z / lengths, missed, True
        left -= at_once
        if time.perf_counter() > deadline:
            raise Halt(Status.TIME_LIMIT)
    return np.zeros(count), b, False


@kernel
def _advance(
    c: Array, b: Array, z: Array, missed: Array, waiting: Mask, factors: _Factors, n: int, count: int
) -> tuple[int, bool]:
    """Let ``count`` columns come in; how many are in use, and whether nothing more can be gained."""
    size, slopes = len(b), np.empty(len(z))
    enough = NOTHING * np.sqrt(_dot(b, b))
    for _ in range(count):
        entering = _steepest(c, missed, waiting, slopes, enough)
        if entering < 0 or n == size:
            _clear(factors, n, missed)
            return n, True
        waiting[entering] = False
        if not _add(factors, c[:, entering], b, n):
            continue
        factors.used[n] = entering
        more, n = n + 1, _step(factors, z, n + 1)
        if n == more:
            _subtract(missed, _dot(factors.Q[n - 1], missed), factors.Q[n - 1])
            continue
        before = _dot(missed, missed)
        missed[:] = b
        _clear(factors, n, missed)
        if _dot(missed, missed) < (1.0 - STEEP) * before:  # else columns would come and go for ever
            waiting[:] = True
            waiting[factors.used[:n]] = False
    return n, False


@inlined
def _dot(a: Array, b: Array) -> float:
    """a·b in four sums, which the processor makes at once."""
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
def _subtract(x: Array, share: float, a: Array) -> None:
    for i in range(len(x)):
        x[i] -= share * a[i]


@subroutine
def _steepest(c: Array, missed: Array, waiting: Mask, slopes: Array, enough: float) -> int:
    """The column that reduces the residual most; −1 if none does, or if it is small enough."""
    size = np.sqrt(_dot(missed, missed))
    if size <= enough:
        return -1
    slopes[:] = 0.0
    for i in range(len(missed)):
        _subtract(slopes, -missed[i], c[i])
    best, entering = STEEP * size, -1
    for k in range(len(slopes)):
        if waiting[k] and slopes[k] > best:
            best, entering = slopes[k], k
    return entering


@subroutine
def _add(factors: _Factors, column: Array, b: Array, n: int) -> bool:
    """Factorise one more column, if it has something of its own."""
    Q, R, own = factors.Q, factors.R, column.copy()
    R[: n + 1, n] = 0.0
    length = 1.0
    for _ in range(2):  # twice is enough, and once where little is lost
        before = length
        for k in range(n):
            part = _dot(Q[k], own)
            R[k, n] += part
            _subtract(own, part, Q[k])
        length = np.sqrt(_dot(own, own))
        if length > 0.5 * before:
            break
    if length < DEPENDENT:
        return False
    R[n, n] = length
    Q[n] = own / length
    factors.p[n] = _dot(Q[n], b)
    return True


@subroutine
def _step(factors: _Factors, z: Array, n: int) -> int:
    """Go to the least squares over the columns in use, dropping those whose weight would change sign."""
    used = factors.used
    while True:
        best = _triangular(factors, n)
        share, changes = 1.0, False
        for k in range(n):
            if best[k] <= 0.0:
                share, changes = min(share, z[used[k]] / (z[used[k]] - best[k] + 1e-300)), True
        for k in range(n - 1, -1, -1):
            j, before = used[k], z[used[k]]
            z[j] += share * (best[k] - before)
            if best[k] <= 0.0 and z[j] <= 1e-14 * (before + abs(best[k])):
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
    """Take a column out of n, by rotations of the rows after it."""
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
def _clear(factors: _Factors, n: int, missed: Array) -> None:
    """Take out of a vector what the columns in use can make."""
    for k in range(n):
        _subtract(missed, _dot(factors.Q[k], missed), factors.Q[k])
