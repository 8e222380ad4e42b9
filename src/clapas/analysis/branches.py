"""Distribution of contact branches over the cells of a grid (compiled)."""

from __future__ import annotations

import numpy as np

from clapas.compiled import kernel
from clapas.typing import Array, Indices


@kernel
def spread_over_cells(
    start: Array, end: Array, tensor: Array, low: Array, size: Array, shape: Indices, total: Array
) -> None:
    """Share the tensor of each branch among the cells, by the length of the branch inside each.

    Parameters
    ----------
    start, end : arrays (n, d)
        Both ends of the branches.
    tensor : array (n, d, d)
        Tensor of each branch.
    low, size : arrays (d,)
        Corner of the grid and size of a cell.
    shape : array (d,)
        Numbers of cells.
    total : array (cells, d, d)
        Receives the sums, cells in C order.
    """
    n, d = start.shape
    cuts = np.empty(2 + d * (2 + np.max(shape)))
    for k in range(n):
        cuts[0], cuts[1], count = 0.0, 1.0, 2
        for axis in range(d):
            first, last = (start[k, axis] - low[axis]) / size[axis], (end[k, axis] - low[axis]) / size[axis]
            # A branch crosses the planes between its ends; those outside the grid do not matter.
            plane = max(np.ceil(min(first, last)), 0.0)
            while plane <= min(max(first, last), float(shape[axis])):
                if last != first:
                    cuts[count] = (plane - first) / (last - first)
                    count += 1
                plane += 1.0
        along = np.sort(cuts[:count])
        for piece in range(count - 1):
            length, middle = along[piece + 1] - along[piece], 0.5 * (along[piece + 1] + along[piece])
            cell, inside = 0, length > 0.0
            for axis in range(d):
                position = start[k, axis] + middle * (end[k, axis] - start[k, axis])
                index = int(np.floor((position - low[axis]) / size[axis]))
                inside = inside and 0 <= index < shape[axis]
                cell = cell * shape[axis] + index
            if inside:
                total[cell] += length * tensor[k]


@kernel
def sum_over_bodies(a: Indices, b: Indices, arm_a: Array, arm_b: Array, force: Array, total: Array) -> None:
    """Add arm ⊗ force of each contact to its two bodies: the internal moment tensors, (N, d, d)."""
    n, d = force.shape
    for k in range(n):
        for i in range(d):
            for j in range(d):
                total[a[k], i, j] -= arm_a[k, i] * force[k, j]
                total[b[k], i, j] += arm_b[k, i] * force[k, j]
