"""Alart and Curnier's Newton method and Gauss-Seidel exactly as Cadoux's thesis runs them (table 5.6).

The solvers of the package work in scaled variables, regularise singular equations, break cycles and solve
single contacts exactly. The thesis does not: both methods here use its function f_AC (the disc of
friction follows r_N, equation 1.24) with ρ = 1 in the units of the problem, and stop where a matrix is
singular. They serve only the comparison with its tables.

The thesis gives a line search for AC (Goldstein and Price, 25 trials at most) and limits for the Newton
method inside GS (15 steps, 1e-8), but does not say whether the latter has a line search:
:class:`PrintedGaussSeidel` has both variants.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clapas.compiled import kernel, subroutine
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.solvers.newton import GoldsteinPrice, JeanMoreauMap, LineSearch
from clapas.solvers.newton.augmentation import Augmentation
from clapas.status import Status
from clapas.typing import Array

INNER_STEPS, INNER_ACCURACY = 15, 1e-8  # table 5.6
TRIALS, LOW, HIGH = 25, 0.1, 0.9  # of Goldstein and Price's search


@dataclass(frozen=True, kw_only=True)
class PrintedNewton(IterativeSolver):
    """AC of the thesis: Newton's method on f_AC with ρ = 1, W dense, Goldstein and Price's search.

    References
    ----------
    Cadoux 2009, sections 4.2.1 and 4.4.2, table 5.6.

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solve(gallery.get("one-slide").problem, PrintedNewton(tol=1e-10)).status.name
    'SOLVED'
    """

    max_iterations: int = 10**6
    line_search: LineSearch = field(default_factory=lambda: GoldsteinPrice(max_trials=TRIALS))

    measures_each_iteration = True

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Form W."""
        return _Newton(self, problem, guess)


class _Newton(Iteration):
    def __init__(self, settings: PrintedNewton, problem: ContactProblem, guess: Array) -> None:
        self._problem, self._search = problem, settings.line_search
        self._W, self._q, self._mu = _dense(problem)
        ones = np.ones(problem.n_contacts)
        self._map, self._rho = JeanMoreauMap(), Augmentation(ones, ones)
        self._r = guess.copy()

    def impulses(self) -> Array:
        return self._r

    def advance(self, count: int) -> None:
        for _ in range(count):
            self._step()

    def _step(self) -> None:
        n, d = self._r.shape
        tangent = self._map.linearise(self._velocity(self._r), self._r, self._mu, self._rho)
        matrix = np.einsum("nij,njk->nik", tangent.by_u, self._W.reshape(n, d, n * d)).reshape(n, d, n, d)
        every = np.arange(n)
        matrix[every, :, every, :] += tangent.by_r
        try:
            change = np.linalg.solve(matrix.reshape(n * d, n * d), -tangent.value.ravel()).reshape(n, d)
        except np.linalg.LinAlgError:
            raise Halt(Status.NUMERICAL_ERROR) from None
        merit = 0.5 * float(np.vdot(tangent.value, tangent.value))
        t = self._search.step(lambda t: self._merit(self._r + t * change), [merit])
        self._r = self._r + t * change

    def _velocity(self, r: Array) -> Array:
        return (self._W @ r.ravel()).reshape(r.shape) + self._q

    def _merit(self, r: Array) -> float:
        value = self._map.value(self._velocity(r), r, self._mu, self._rho)
        return 0.5 * float(np.vdot(value, value))


@dataclass(frozen=True, kw_only=True)
class PrintedGaussSeidel(IterativeSolver):
    """GS of the thesis: each contact by at most 15 Newton steps on its f_AC with ρ = 1.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    searches : bool
        Goldstein and Price's search along the inner steps, or full steps. The thesis does not say which.

    References
    ----------
    Cadoux 2009, section 4.8.2, table 5.6.

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solve(gallery.get("one-slide").problem, PrintedGaussSeidel(tol=1e-4)).status.name
    'SOLVED'
    """

    max_iterations: int = 10**7
    searches: bool = False

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Form W."""
        return _Sweeps(self, problem, guess)


class _Sweeps(Iteration):
    def __init__(self, settings: PrintedGaussSeidel, problem: ContactProblem, guess: Array) -> None:
        self._searches = settings.searches
        self._W, self._q, self._mu = _dense(problem)
        self._r = guess.copy()

    def impulses(self) -> Array:
        return self._r.copy()

    def advance(self, count: int) -> None:
        sweeps(self._W, self._q, self._mu, self._r, count, self._searches)
        if not np.isfinite(self._r).all():
            raise Halt(Status.NUMERICAL_ERROR)


def _dense(problem: ContactProblem) -> tuple[Array, Array, Array]:
    reduced = reduce(problem)
    return np.ascontiguousarray(reduced.W.toarray()), np.ascontiguousarray(reduced.q), problem.mu


# ------------------------------------------------------------------ kernels, for one contact in d components


@subroutine
def _value(u: Any, r: Any, mu: float, f: Any) -> float:
    """f_AC = r − P(r − u) into ``f``; returns its square."""
    d, square = len(r), 0.0
    f[0] = r[0] - max(r[0] - u[0], 0.0)
    size = 0.0
    for k in range(1, d):
        size += (r[k] - u[k]) ** 2
    size, radius = np.sqrt(size), mu * max(r[0], 0.0)
    shrink = radius / size if size > radius else 1.0
    for k in range(1, d):
        f[k] = r[k] - shrink * (r[k] - u[k])
    for k in range(d):
        square += float(f[k] * f[k])
    return square


@subroutine
def _matrix(W: Any, u: Any, r: Any, mu: float, J: Any) -> None:
    """∂f/∂u W + ∂f/∂r into ``J`` (appendix D of the thesis)."""
    d = len(r)
    size = 0.0
    for k in range(1, d):
        size += (r[k] - u[k]) ** 2
    size, radius = np.sqrt(size), mu * r[0]
    for j in range(d):
        J[0, j] = W[0, j] if r[0] - u[0] > 0.0 else (1.0 if j == 0 else 0.0)
    for i in range(1, d):
        for j in range(d):
            if radius > 0.0 and size <= radius:  # sticks
                J[i, j] = W[i, j]
            elif radius > 0.0:  # slides: the projection has slope (radius/size)(I − s sᵀ)
                J[i, j] = 1.0 if i == j else 0.0
                for k in range(1, d):
                    s = (r[i] - u[i]) * (r[k] - u[k]) / (size * size)
                    slope = radius / size * ((1.0 if i == k else 0.0) - s)
                    J[i, j] += slope * (W[k, j] - (1.0 if k == j else 0.0))
                if j == 0:
                    J[i, j] -= mu * (r[i] - u[i]) / size
            else:
                J[i, j] = 1.0 if i == j else 0.0


@subroutine
def _eliminate(J: Any, b: Any) -> bool:
    """Solve J x = b in place by Gaussian elimination with pivoting; False where a pivot vanishes."""
    d = len(b)
    for k in range(d):
        pivot = k
        for i in range(k + 1, d):
            if abs(J[i, k]) > abs(J[pivot, k]):
                pivot = i
        if J[pivot, k] == 0.0:
            return False
        for j in range(d):
            J[k, j], J[pivot, j] = J[pivot, j], J[k, j]
        b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, d):
            factor = J[i, k] / J[k, k]
            for j in range(k, d):
                J[i, j] -= factor * J[k, j]
            b[i] -= factor * b[k]
    for k in range(d - 1, -1, -1):
        for j in range(k + 1, d):
            b[k] -= J[k, j] * b[j]
        b[k] /= J[k, k]
    return True


@subroutine
def _search(W: Any, free: Any, mu: float, r: Any, dr: Any, start: float, u: Any, x: Any, f: Any) -> float:
    """Goldstein and Price's step between two lines below ``start``; else the best tried."""
    short, long, t, best, least = 0.0, np.inf, 1.0, 1.0, np.inf
    for _ in range(TRIALS):
        for k in range(len(r)):
            x[k] = r[k] + t * dr[k]
        for k in range(len(r)):
            u[k] = free[k]
            for j in range(len(r)):
                u[k] += W[k, j] * x[j]
        square = _value(u, x, mu, f)
        if square < least:
            least, best = square, t
        if not square <= start * (1.0 - 2.0 * LOW * t):
            long = t
        elif square < start * (1.0 - 2.0 * HIGH * t):
            short = t
        else:
            return t
        t = 2.0 * short if long == np.inf else 0.5 * (short + long)
    return best


@kernel
def sweeps(W: Any, q: Any, mu: Any, r: Any, count: int, searches: bool) -> None:
    """Sweep ``count`` times over the contacts; ``r`` (n, d) is changed in place."""
    n, d = r.shape
    u, f, x, free = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    J, block = np.empty((d, d)), np.empty((d, d))
    for _ in range(count):
        for i in range(n):
            for k in range(d):
                free[k] = q[i, k]
                for m in range(n):
                    if m != i:
                        for j in range(d):
                            free[k] += W[i * d + k, m * d + j] * r[m, j]
                for j in range(d):
                    block[k, j] = W[i * d + k, i * d + j]
            for _step in range(INNER_STEPS):
                for k in range(d):
                    u[k] = free[k]
                    for j in range(d):
                        u[k] += block[k, j] * r[i, j]
                square = _value(u, r[i], mu[i], f)
                if square / (2.0 * d) < INNER_ACCURACY:
                    break
                _matrix(block, u, r[i], mu[i], J)
                for k in range(d):
                    f[k] = -f[k]
                if not _eliminate(J, f):
                    break
                dr = f.copy()
                t = _search(block, free, mu[i], r[i], dr, square, u, x, f) if searches else 1.0
                for k in range(d):
                    r[i, k] += t * dr[k]
