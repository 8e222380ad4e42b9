"""Two spheres, or two disks: one point on the line of centres."""

from __future__ import annotations

import numpy as np

from clapas.collision.lean import lean_kernel
from clapas.collision.records import Records, Shapes
from clapas.collision.rows import Pairs, between, write
from clapas.typing import Indices


@lean_kernel
def touch_spheres(
    which: Indices, pairs: Pairs, shapes: Shapes, d: int, distance: float, rows: Records
) -> int:
    """Contacts of pairs of spheres. Coincident centres give the last axis (z, or y in the plane) as normal."""
    count = 0
    for k in range(len(which)):
        p = which[k]
        i, j = pairs.listed[p].i, pairs.listed[p].j
        x, y, z = between(pairs, shapes, p)
        r_i, r_j = shapes.pieces[i].rounding, shapes.pieces[j].rounding
        limit, square = r_i + r_j + distance, x * x + y * y + z * z
        if limit < 0.0 or square > limit * limit:
            continue
        length = np.sqrt(square)
        gap = length - r_i - r_j
        if gap > distance:
            continue
        if length > 0.0:
            x, y, z = x / length, y / length, z / length
        else:
            x, y, z = 0.0, 0.0 if d == 3 else 1.0, 1.0 if d == 3 else 0.0
        along, c = r_i + 0.5 * gap, shapes.centres[i]
        count = write(rows, count, p, 0, c.x + along * x, c.y + along * y, c.z + along * z, x, y, z, gap)
    return count
