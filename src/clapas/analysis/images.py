"""Images of bodies and branches in a periodic cell.

A periodic cell represents an infinite medium: a body at x is also at x + k L for every integer k. A measure
over a region of space must count every image that reaches into it; positions are not wrapped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clapas.errors import SettingsError
from clapas.typing import Array, Indices

MOST = 20_000_000  # images at once: a box with more is taken for a mistake

Period = tuple[float | None, float | None]


def images(
    low: Array, high: Array, period: Period, region: tuple[npt.ArrayLike, npt.ArrayLike]
) -> tuple[Indices, Array]:
    """Images of n objects that reach into a region.

    Parameters
    ----------
    low, high : arrays (n, d)
        Corners of a box around each object (m).
    period : tuple of two
        Lengths of the cell along x and y (m), or None.
    region : two arrays (d,)
        Opposite corners of the region (m). Axes that do not repeat do not matter.

    Returns
    -------
    rows (m,), shift (m, d)
        Object of each image, and the translation to add to its position (m).

    Examples
    --------
    A grain at 0.1 in a cell of length 1 is seen twice in a box from 0 to 1.5:

    >>> rows, shift = images(np.array([[0.1, 0]]), np.array([[0.1, 0]]), (1.0, None), ([0, 0], [1.5, 1]))
    >>> shift[:, 0].tolist()
    [0.0, 1.0]
    """
    corner, opposite = (np.asarray(end, dtype=float) for end in region)
    rows: Indices = np.arange(len(low))
    shift = np.zeros_like(low)
    for axis, length in enumerate(period):
        if length is None:
            continue
        first = np.ceil((corner[axis] - high[rows, axis]) / length).astype(np.int64)
        last = np.floor((opposite[axis] - low[rows, axis]) / length).astype(np.int64)
        count = np.maximum(last - first + 1, 0)
        total = int(count.sum())
        if total > MOST:
            raise SettingsError(
                f"a box of {opposite[axis] - corner[axis]:g} m holds {total} images of what is in a cell of "
                f"{length:g} m: take a box of a few periods"
            )
        rank = np.arange(total) - np.repeat(np.cumsum(count) - count, count)
        periods = np.repeat(first, count) + rank
        rows, shift = np.repeat(rows, count), np.repeat(shift, count, axis=0)
        shift[:, axis] = length * periods
    return rows, shift


def is_periodic(period: Period) -> bool:
    """Whether a cell repeats along some axis."""
    return any(length is not None for length in period)
