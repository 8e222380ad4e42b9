"""Euclidean length without overflow or underflow."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def euclidean(x: npt.ArrayLike) -> float:
    """|x| of all entries, right wherever it is a double: squares of 1e200 or 1e-200 are never formed.

    Infinite where an entry is; NaN where one is NaN.

    >>> euclidean([3e200, 4e200]), euclidean([3e-200, -4e-200]), euclidean([])
    (5e+200, 5e-200, 0.0)
    """
    values = np.asarray(x, dtype=float)
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    scale = math.ldexp(1.0, min(math.frexp(largest)[1], 1023))  # a power of two: nothing is rounded by it
    if scale == 0.0 or 1.0 / scale == math.inf:
        return float(np.hypot.reduce(np.abs(values).ravel()))
    with np.errstate(under="ignore", over="ignore"):
        return float(np.sqrt(np.sum((values / scale) ** 2)) * scale)
