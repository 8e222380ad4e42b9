"""Contacts of a half-space and a cylinder: up to five points.

They are the lowest point of each rim and, on the lower cap, the point opposite and the two points between. A
cylinder that stands upright has no lowest point; then the points are fixed to the body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.contact_table import Meeting
from clapas.collision.narrow.planes import below, over_plane
from clapas.collision.records import Records, Shapes
from clapas.collision.topology import PRISM_SIDES
from clapas.compiled import subroutine

UPRIGHT = (
    1e-5  # sine of the tilt below which a cylinder has no lowest point: rounding would decide its direction
)


class CylinderOnPlane(NamedTuple):
    """Method for a cylinder and a plane."""


@subroutine
def touch_cylinder_plane(
    method: CylinderOnPlane, rows: Records, count: int, meeting: Meeting, shapes: Shapes
) -> int:
    """Contacts of a cylinder: code 4·cap + quarter turns from the lowest point."""
    over = over_plane(meeting, shapes)
    if over.height - shapes.pieces[over.c].bound > meeting.distance:
        return count
    piece = shapes.pieces[over.c]
    r, half, a = piece.radius, piece.half, shapes.faces[piece.face + 1]
    n = shapes.faces[over.face]
    rise = n.x * a.x + n.y * a.y + n.z * a.z
    # u is the direction of steepest descent in the caps, w across it.
    ux, uy, uz = rise * a.x - n.x, rise * a.y - n.y, rise * a.z - n.z
    sine = np.sqrt(ux * ux + uy * uy + uz * uz)
    if sine > UPRIGHT:
        ux, uy, uz = ux / sine, uy / sine, uz / sine
    else:
        v = shapes.vertices[piece.vertex + PRISM_SIDES]
        ux, uy, uz = (v.x - half * a.x) / r, (v.y - half * a.y) / r, (v.z - half * a.z) / r
        sine = -(n.x * ux + n.y * uy + n.z * uz)
    wx, wy, wz = a.y * uz - a.z * uy, a.z * ux - a.x * uz, a.x * uy - a.y * ux
    lower = 0 if rise > 0.0 else 1
    for cap in range(2):
        along = half if cap == 1 else -half
        for quarter in range(4 if cap == lower else 1):
            down = (r, 0.0, -r, 0.0)[quarter]
            across = (0.0, r, 0.0, -r)[quarter]
            vx = along * a.x + down * ux + across * wx
            vy = along * a.y + down * uy + across * wy
            vz = along * a.z + down * uz + across * wz
            gap = over.height + along * rise - down * sine
            count = below(rows, count, meeting, 4 * cap + quarter, shapes, over, vx, vy, vz, 0.0, gap)
    return count
