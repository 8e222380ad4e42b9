"""An independent judge of small problems: plain Python with fractions, nothing of the package.

Contact in the plane is decided by trying every choice of modes (open, stick, slide either way); LCPs by
trying every set of positive unknowns. Each choice leaves linear equations and inequalities with rational
data, decided by the simplex method with Bland's rule, in fractions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product

Row = list[Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


def exact(values: Iterable[float]) -> Row:
    return [Fraction(float(value)) for value in values]


def feasible_point(equations: Sequence[Row], right: Sequence[Fraction]) -> Row | None:
    """A point x ≥ 0 with A x = b, or None: the first phase of the simplex method, with Bland's rule."""
    rows = [list(row) for row in equations]
    b = list(right)
    columns = len(rows[0]) if rows else 0
    for i, value in enumerate(b):
        if value < 0:
            rows[i], b[i] = [-entry for entry in rows[i]], -value
    basis = [columns + i for i in range(len(rows))]  # artificial
    cost = [-sum((row[j] for row in rows), start=ZERO) for j in range(columns)]
    while True:
        entering = next((j for j in range(columns) if cost[j] < 0), None)
        if entering is None:
            break
        ratios = [(b[i] / row[entering], basis[i], i) for i, row in enumerate(rows) if row[entering] > 0]
        if not ratios:
            break
        _, _, i = min(ratios)
        pivot = rows[i][entering]
        rows[i], b[i] = [entry / pivot for entry in rows[i]], b[i] / pivot
        for k, row in enumerate(rows):
            if k != i and row[entering]:
                share = row[entering]
                rows[k] = [x - share * y for x, y in zip(row, rows[i], strict=True)]
                b[k] -= share * b[i]
        share = cost[entering]
        cost = [x - share * y for x, y in zip(cost, rows[i], strict=True)]
        basis[i] = entering
    if any(b[i] for i in range(len(rows)) if basis[i] >= columns):
        return None
    x = [ZERO] * columns
    for i, variable in enumerate(basis):
        if variable < columns:
            x[variable] = b[i]
    return x


def lcp_solution(M: Sequence[Sequence[float]], q: Sequence[float]) -> Row | None:
    """A solution of 0 ≤ M z + q ⟂ z ≥ 0, or None: there is none."""
    matrix, free = [exact(row) for row in M], exact(q)
    n = len(free)
    for choice in product((False, True), repeat=n):
        # unknowns: z_i where chosen, w_i elsewhere; M z − w = −q
        rows = [
            [matrix[i][j] if choice[j] else (-ONE if i == j else ZERO) for j in range(n)] for i in range(n)
        ]
        found = feasible_point(rows, [-value for value in free])
        if found is not None:
            return [value if chosen else ZERO for value, chosen in zip(found, choice, strict=True)]
    return None


OPEN, STICK, FORWARD, BACKWARD = range(4)


def contact_solution(W: Sequence[Sequence[float]], q: Sequence[float], mu: Sequence[float]) -> Row | None:
    """Impulses (flat, normal and tangent in turn) that obey Coulomb's law in the plane, or None.

    A contact is described by two nonnegative numbers, whose columns depend on its mode:

        open      r = 0,               u_N = s, u_T = t free
        stick     u = 0,               r = s (1, mu) + t (1, −mu)
        slide ±   r = s (1, ∓mu),      u = (0, ±t)
    """
    matrix, free, friction = [exact(row) for row in W], exact(q), exact(mu)
    n, size = len(friction), len(free)
    for modes in product(range(4), repeat=n):
        columns: list[Row] = []
        impulses: list[Row] = []
        for i, mode in enumerate(modes):
            for r, u in _columns(mode, friction[i]):
                pushed = [r[0] * matrix[k][2 * i] + r[1] * matrix[k][2 * i + 1] for k in range(size)]
                pushed[2 * i] -= u[0]
                pushed[2 * i + 1] -= u[1]
                columns.append(pushed)
                impulse = [ZERO] * size
                impulse[2 * i], impulse[2 * i + 1] = r
                impulses.append(impulse)
        rows = [[column[k] for column in columns] for k in range(size)]
        found = feasible_point(rows, [-value for value in free])
        if found is not None:
            return [
                sum((x * r[k] for x, r in zip(found, impulses, strict=True)), start=ZERO) for k in range(size)
            ]
    return None


def _columns(mode: int, mu: Fraction) -> list[tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]]:
    """Pairs (r, u) of a contact whose nonnegative sums are what a mode allows."""
    none = (ZERO, ZERO)
    if mode == OPEN:
        return [(none, (ONE, ZERO)), (none, (ZERO, ONE)), (none, (ZERO, -ONE))]
    if mode == STICK:
        return [((ONE, mu), none), ((ONE, -mu), none)]
    sign = ONE if mode == FORWARD else -ONE
    return [((ONE, -sign * mu), none), (none, (ZERO, sign))]


def misses(
    W: Sequence[Sequence[float]], q: Sequence[float], mu: Sequence[float], r: Sequence[float]
) -> Fraction:
    """By how much impulses miss the law, relative to the largest |q|, in exact arithmetic.

    The largest of: penetration velocity, pull (as the velocity it makes), excess of friction (likewise),
    complementarity of the normal parts, and friction that is neither at its limit nor without slip.
    """
    matrix, free, friction, impulse = [exact(row) for row in W], exact(q), exact(mu), exact(r)
    size = len(free)
    u = [free[k] + sum((a * b for a, b in zip(matrix[k], impulse, strict=True)), ZERO) for k in range(size)]
    scale = max((abs(value) for value in free), default=ZERO) or ONE
    worst = ZERO
    for i, coefficient in enumerate(friction):
        n, t = 2 * i, 2 * i + 1
        response = (matrix[n][n] + matrix[t][t]) / 2
        pressed, slip = response * impulse[n], u[t]
        excess = response * abs(impulse[t]) - coefficient * response * max(impulse[n], ZERO)
        # where friction is not at its limit against the slip, there must be none
        limit = coefficient * response * impulse[n]
        against = abs(response * impulse[t] + (limit if slip > 0 else -limit)) if slip else ZERO
        worst = max(worst, -u[n], -pressed, excess, min(abs(u[n]), abs(pressed)), min(abs(slip), against))
    return worst / scale
