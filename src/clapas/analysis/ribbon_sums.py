"""Sum the forces through a ribbon about Oz (compiled)."""

from __future__ import annotations

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.typing import Array


@inlined
def _ahead(point: Array, start: Array, normal_r: float, normal_z: float) -> bool:
    r = np.sqrt(point[0] ** 2 + point[1] ** 2)
    return bool((r - start[0]) * normal_r + (point[2] - start[1]) * normal_z > 0.0)


@kernel
def sum_through(
    behind: Array, ahead: Array, point: Array, force: Array, start: Array, end: Array, sums: Array
) -> int:
    """Add up R_r, R_z, and their squares, of the contacts through a ribbon.

    Parameters
    ----------
    behind, ahead : arrays (n, 3)
        Ends of the branches: centres of the bodies a and b.
    point, force : arrays (n, 3)
        Contact points, and forces on b.
    start, end : arrays (2,)
        The segment (r, z); its normal is to its right.
    sums : array (2, 2)
        Receives the sums of (R_r, R_z) and of their squares; R is the force of the side behind on the side
        ahead.

    Returns
    -------
    int
        Contacts counted.
    """
    along_r, along_z = end[0] - start[0], end[1] - start[1]
    length = np.sqrt(along_r**2 + along_z**2)
    along_r, along_z = along_r / length, along_z / length
    count = 0
    for k in range(len(point)):
        side_a = _ahead(behind[k], start, along_z, -along_r)
        side_b = _ahead(ahead[k], start, along_z, -along_r)
        if side_a == side_b:
            continue
        r = np.sqrt(point[k, 0] ** 2 + point[k, 1] ** 2)
        abscissa = (r - start[0]) * along_r + (point[k, 2] - start[1]) * along_z
        if abscissa < 0.0 or abscissa >= length or r == 0.0:
            continue
        sign = 1.0 if side_b else -1.0
        outward = sign * (force[k, 0] * point[k, 0] + force[k, 1] * point[k, 1]) / r
        upward = sign * force[k, 2]
        sums[0, 0] += outward
        sums[0, 1] += upward
        sums[1, 0] += outward**2
        sums[1, 1] += upward**2
        count += 1
    return count
