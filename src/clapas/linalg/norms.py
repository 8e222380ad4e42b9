"""The Euclidean norm of an array, for numbers of any magnitude."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

SAFE = 1e-140  # numbers between this and its inverse have squares that neither overflow nor underflow


def norm(x: npt.ArrayLike) -> float:
    """Return |x| of all entries of x, without overflow or underflow; NaN if an entry is NaN.

    The usual root of the sum of squares wherever that is safe. (``np.linalg.norm`` overflows beyond
    1e154, gives zero below 1e-162 and starts the threads of BLAS.)

    >>> norm(np.array([[3e200, 4e200]])) / 1e200, norm(np.array([3e-310, 4e-310])) / 1e-310
    (5.0, 5.0)
    """
    flat = np.asarray(x, dtype=float).ravel()
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        size = math.sqrt(float(np.einsum("i,i->", flat, flat)))
    if SAFE < size < 1.0 / SAFE or not len(flat):
        return size
    largest = float(np.max(np.abs(flat)))
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    with np.errstate(under="ignore"):
        scaled = flat / largest
    return largest * math.sqrt(float(np.einsum("i,i->", scaled, scaled)))
