"""Contact of two spheres, or two disks: one point on the line of centres."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting, write
from clapas.collision.records import Records, Shapes
from clapas.compiled import subroutine


class Spheres(NamedTuple):
    """Method for two spheres in dimension d."""

    d: int


@subroutine
def touch_spheres(method: Spheres, rows: Records, count: int, meeting: Meeting, shapes: Shapes) -> int:
    """The contact of two spheres. Coincident centres give the last axis (z, or y in the plane) as normal."""
    x, y, z = meeting.x, meeting.y, meeting.z
    r_i, r_j = shapes.centres[meeting.i].bound, shapes.centres[meeting.j].bound
    length = np.sqrt(x * x + y * y + z * z)
    gap = length - r_i - r_j
    if gap > meeting.distance:
        return count
    if length > 0.0:
        x, y, z = x / length, y / length, z / length
    else:
        x, y, z = 0.0, 0.0 if method.d == 3 else 1.0, 1.0 if method.d == 3 else 0.0
    along, c = r_i + 0.5 * gap, shapes.centres[meeting.i]
    return write(rows, count, meeting, 0, c.x + along * x, c.y + along * y, c.z + along * z, x, y, z, gap)
