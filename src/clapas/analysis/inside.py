"""A box inside grains: the largest that holds no air outside of their free surface.

The box about all grains is cut into cells. A cell is covered if none of its points is far from a grain: pores
are narrow, the air beside a heap is wide. Of all boxes of covered cells, that is taken which has most room
after a skin is left out: one mean diameter at the ends of the grains, where they lie against walls, and two
at a free surface, of which a cell may stand out.
"""

from __future__ import annotations

import itertools

import numpy as np

from clapas.analysis.cells import gaps
from clapas.analysis.instant import Instant
from clapas.typing import Array, Mask

SKIN, SURFACE = 1.0, 2.0  # mean diameters left out at the ends of the grains, and at a free surface
PORE = 0.6  # mean diameters from a grain, beyond which a point is outside; in the hole of a missing grain 0.5
MOST_CELLS = {2: 48, 3: 24}  # along each axis
MOST_POINTS = 5  # of a cell, along each axis
LEAST = 1.0  # mean diameters a box measures along each axis
STRAYS = (0.0, 0.01, 0.05)  # share of the grains left out at each end where no box is found with all


def box_inside(instant: Instant) -> tuple[Array, Array] | None:
    """Corners of the largest box inside the grains, None if there is none a mean diameter wide.

    Along a periodic axis it is the whole period where grains cover that.
    """
    radius, centre = instant.reach[instant.is_sized], instant.centre[instant.is_sized]
    if len(centre) == 0:
        return None
    for share in STRAYS:  # a grain that rolled far away makes cells too large for a heap
        low = np.quantile(centre - radius[:, None], share, axis=0, method="lower")
        high = np.quantile(centre + radius[:, None], 1.0 - share, axis=0, method="higher")
        found = _largest(instant, low, high, 2.0 * float(radius.mean()))
        if found is not None:
            return found
    return None


def _largest(instant: Instant, low: Array, high: Array, diameter: float) -> tuple[Array, Array] | None:
    """The largest box inside the grains between two corners."""
    d = instant.d
    ends = np.full(d, SKIN * diameter)  # left out at both ends of each axis
    for axis, length in enumerate(instant.period[: d - 1]):
        if length is not None:
            low[axis], high[axis], ends[axis] = 0.0, length, 0.0
    fine = np.maximum(1, np.ceil((high - low) / diameter)).astype(int)
    each = np.minimum(np.ceil(fine / MOST_CELLS[d]).astype(int), MOST_POINTS)
    count = np.minimum(np.ceil(fine / each).astype(int), MOST_CELLS[d])
    covered = _covered(instant, low, high, count, each, PORE * diameter)
    # Intervals of cells along each axis: first and last + 1, and the length that is left of them.
    intervals = [np.array(list(itertools.combinations(range(n + 1), 2))) for n in count]
    places = []
    for axis, pairs in enumerate(intervals):
        lines = np.linspace(low[axis], high[axis], count[axis] + 1)
        skin = np.where(pairs == (0, count[axis]), ends[axis], SURFACE * diameter)
        places.append(np.column_stack((lines[pairs[:, 0]] + skin[:, 0], lines[pairs[:, 1]] - skin[:, 1])))
    widths = [place[:, 1] - place[:, 0] for place in places]
    lengths = [np.where(width >= LEAST * diameter * (1.0 - 1e-9), width, 0.0) for width in widths]
    if d == 2:  # one layer
        covered, intervals, lengths = covered[None], [np.array([[0, 1]]), *intervals], [np.ones(1), *lengths]
    best = 0.0
    chosen: tuple[int, ...] | None = None
    areas = lengths[1][:, None] * lengths[2][None, :]
    for k, (first, last) in enumerate(intervals[0]):
        if lengths[0][k] * areas.max() <= best:
            continue
        layer = np.asarray(covered[first:last].all(axis=0))
        room = np.where(_full(layer, *intervals[1:]), lengths[0][k] * areas, 0.0)
        if room.max() > best:
            best = float(room.max())
            chosen = (k, *map(int, np.unravel_index(int(room.argmax()), room.shape)))[3 - d :]
    if chosen is None:
        return None
    corners = np.array([p[k] for p, k in zip(places, chosen, strict=True)])
    return corners[:, 0], corners[:, 1]


def _covered(instant: Instant, low: Array, high: Array, count: Array, each: Array, pore: float) -> Mask:
    """Cells of a lattice of which no point is farther than that from a grain."""
    total = count * each
    size = (high - low) / total
    lines = [low[k] + size[k] * (np.arange(total[k]) + 0.5) for k in range(instant.d)]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, instant.d)
    shape = [int(n) for pair in zip(count, each, strict=True) for n in pair]
    near = (gaps(instant, points) <= pore).reshape(shape)
    return np.asarray(near.all(axis=tuple(range(1, 2 * instant.d, 2))))


def _full(layer: Mask, rows: Array, columns: Array) -> Mask:
    """For each interval of rows and of columns, whether all of a layer between them is covered."""
    holes = np.zeros((layer.shape[0] + 1, layer.shape[1] + 1), dtype=np.int32)
    holes[1:, 1:] = (~layer).cumsum(axis=0).cumsum(axis=1)
    band = holes[rows[:, 1]] - holes[rows[:, 0]]
    return np.asarray(band[:, columns[:, 1]] == band[:, columns[:, 0]])
