"""Exact arithmetic, for the few numbers on which a proof depends.

Every double is an integer times a power of two. An array written with one common power is an array of Python
integers (:class:`Integers`), whose sums and products are exact. Proofs use them to decide signs that rounding
would hide; nothing here is meant for speed.

>>> tiny = integers(np.array([[1.0, 1e-17], [1.0, -1.0]])) @ integers(np.array([1.0, -1.0]))
>>> tiny.is_at_most_zero(), tiny.nearest()
(array([False, False]), array([1., 2.]))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from clapas.typing import Array, Mask

MANTISSA = 53  # bits of a double


@dataclass(frozen=True, eq=False)
class Integers:
    """Numbers k · 2^exponent, with k an array of Python integers."""

    k: npt.NDArray[np.object_]
    exponent: int

    def __matmul__(self, other: Integers) -> Integers:
        return Integers(np.asarray(self.k @ other.k, dtype=object), self.exponent + other.exponent)

    @property
    def T(self) -> Integers:
        """The transpose."""
        return Integers(self.k.T, self.exponent)

    def is_at_most_zero(self) -> Mask:
        """Which of the numbers are negative or zero."""
        return np.asarray(self.k <= 0, dtype=bool)

    def nearest(self) -> Array:
        """The numbers rounded once, to the nearest doubles; infinite beyond their range."""
        return np.vectorize(self._rounded, otypes=[float])(self.k) if self.k.size else np.zeros(self.k.shape)

    def _rounded(self, k: int) -> float:
        try:
            return float(Fraction(k) * Fraction(2) ** self.exponent)
        except OverflowError:
            return math.copysign(math.inf, k)


def integers(values: npt.ArrayLike) -> Integers:
    """Write finite doubles with one common power of two, exactly.

    >>> integers([0.75, -2.0]).k, integers([0.75, -2.0]).exponent
    (array([3, -8], dtype=object), -2)
    """
    mantissas, exponents = np.frexp(np.asarray(values, dtype=float))
    k = (mantissas * 2.0**MANTISSA).astype(np.int64).astype(object)
    exponents = exponents.astype(np.int64) - MANTISSA
    # Trailing zeros are dropped, so that small integers stay small.
    zeros = np.vectorize(_trailing_zeros, otypes=[np.int64])(k) if k.size else exponents
    used = np.asarray(k != 0, dtype=bool)
    lowest = int(np.min((exponents + zeros)[used], initial=2_000)) if used.any() else 0
    shift = np.where(used, exponents - lowest, 0)
    shifted = np.vectorize(_shifted, otypes=[object])(k, shift) if k.size else k
    return Integers(np.asarray(shifted, dtype=object), lowest)


def _trailing_zeros(k: int) -> int:
    return (k & -k).bit_length() - 1 if k else 0


def _shifted(k: int, places: int) -> int:
    return int(k) << int(places) if places >= 0 else int(k) >> -int(places)


def nearest_power_of_two(values: npt.ArrayLike) -> Array:
    """Powers of two within a factor √2 of positive numbers: scaling by them is exact.

    >>> nearest_power_of_two([3.0, 5.0, 0.3])
    array([4.  , 4.  , 0.25])
    """
    with np.errstate(divide="ignore"):
        powers = np.rint(np.log2(np.asarray(values, dtype=float)))
    return np.asarray(np.exp2(np.clip(powers, -1000, 1000)))


def is_positive_definite(A: Array) -> bool:
    """Whether the symmetric part of a matrix is positive definite, decided exactly.

    Fraction-free elimination (Bareiss 1968): the pivots are the leading principal minors of A + Aᵀ.

    >>> is_positive_definite(np.array([[1.0, -1.0], [-1.0, 1.0 + 2.0**-52]]))
    True
    >>> is_positive_definite(np.ones((2, 2)))
    False
    """
    k = integers(A).k
    rows: Any = (k + k.T).copy()
    previous_pivot = 1
    for i in range(len(rows)):
        pivot = rows[i, i]
        if pivot <= 0:
            return False
        below = rows[i + 1 :, i].copy()
        rows[i + 1 :, i + 1 :] = (
            pivot * rows[i + 1 :, i + 1 :] - np.outer(below, rows[i, i + 1 :])
        ) // previous_pivot
        previous_pivot = pivot
    return True


def solve(A: list[list[Fraction]], b: list[Fraction], free: list[Fraction]) -> list[Fraction] | None:
    """Solve A x = b exactly; undetermined unknowns take the values ``free``.

    None where the equations are inconsistent.

    >>> solve([[Fraction(1), Fraction(1)]], [Fraction(3)], [Fraction(0), Fraction(2)])
    [Fraction(1, 1), Fraction(2, 1)]
    """
    rows = [[*row, right] for row, right in zip(A, b, strict=True)]
    columns = len(free)
    pivots: list[int] = []
    for column in range(columns):
        place = next((i for i in range(len(pivots), len(rows)) if rows[i][column]), None)
        if place is None:
            continue
        top = len(pivots)
        rows[top], rows[place] = rows[place], rows[top]
        head = rows[top][column]
        rows[top] = [value / head for value in rows[top]]
        for i, row in enumerate(rows):
            if i != top and row[column]:
                multiplier = row[column]
                rows[i] = [value - multiplier * other for value, other in zip(row, rows[top], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    x = list(free)
    for row, column in zip(rows, pivots, strict=False):
        x[column] = row[-1] - sum(
            (row[j] * x[j] for j in range(columns) if j not in pivots), start=Fraction(0)
        )
    return x
