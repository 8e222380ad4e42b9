"""Direction of least penetration of a cylinder over a straight edge, among those across the edge.

Let b be the centre of the cylinder from a point of the edge, a its axis, h its half length and r its radius. Along n across
the edge it is s(n) = n·b − h |n·a| − r √(1 − (n·a)²) above the edge. Seen along the edge the cylinder is a convex figure, and
as n turns by dt, s changes by (e × n)·w dt with w from the edge to the point of the cylinder that is lowest along n. A
change of this sign from plus to minus is a maximum (crest), smooth where a rim touches, or a kink where n is across the
side or a cap: bisection finds both to rounding. On a rim seen nearly edge-on the normal turns by many degrees within a
degree of the circle, so that a prism with ever finer sides does not converge to it.
"""

from __future__ import annotations

import numpy as np

from clapas.collision.records import Shapes
from clapas.compiled import subroutine

STEPS = 8  # directions tried on either side
HALVINGS = 50


@subroutine
def height_slope(
    shapes: Shapes, c: int, bx: float, by: float, bz: float, nx: float, ny: float, nz: float,
    wx: float, wy: float, wz: float,
) -> float:  # fmt: skip
    """Change of the height of cylinder c over an edge as n turns towards w, at right angles to both."""
    piece = shapes.pieces[c]
    a = shapes.faces[piece.face + 1]
    along, turn = nx * a.x + ny * a.y + nz * a.z, wx * a.x + wy * a.y + wz * a.z
    sine = np.sqrt(max(1.0 - along * along, 1e-30))
    arm = piece.radius * along / sine - (piece.half if along >= 0.0 else -piece.half)
    return wx * bx + wy * by + wz * bz + turn * arm


@subroutine
def crest(
    shapes: Shapes, c: int, bx: float, by: float, bz: float, ex: float, ey: float, ez: float,
    nx: float, ny: float, nz: float, width: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Largest height of cylinder c over the edge along e (m), and its direction across e.

    Only directions at an angle to n below ``width`` (rad) count; the height is −∞ if none of them is a maximum.
    """
    piece = shapes.pieces[c]
    a = shapes.faces[piece.face + 1]
    length = np.sqrt(ex * ex + ey * ey + ez * ez)
    ex, ey, ez = ex / length, ey / length, ez / length
    along = nx * ex + ny * ey + nz * ez
    nx, ny, nz = nx - along * ex, ny - along * ey, nz - along * ez
    length = np.sqrt(nx * nx + ny * ny + nz * nz)
    best, x, y, z = -np.inf, nx, ny, nz
    if length <= 1e-6:
        return best, x, y, z
    nx, ny, nz = nx / length, ny / length, nz / length
    wx, wy, wz = ey * nz - ez * ny, ez * nx - ex * nz, ex * ny - ey * nx
    before = -1.0
    for k in range(-STEPS, STEPS + 1):
        cosine, sine = np.cos(k * width / STEPS), np.sin(k * width / STEPS)
        x1, y1, z1 = cosine * nx + sine * wx, cosine * ny + sine * wy, cosine * nz + sine * wz
        u1, v1, w1 = cosine * wx - sine * nx, cosine * wy - sine * ny, cosine * wz - sine * nz
        slope = height_slope(shapes, c, bx, by, bz, x1, y1, z1, u1, v1, w1)
        if before > 0.0 and slope <= 0.0:
            low, high = (k - 1) * width / STEPS, k * width / STEPS
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                cosine, sine = np.cos(middle), np.sin(middle)
                x1, y1, z1 = cosine * nx + sine * wx, cosine * ny + sine * wy, cosine * nz + sine * wz
                u1, v1, w1 = cosine * wx - sine * nx, cosine * wy - sine * ny, cosine * wz - sine * nz
                if height_slope(shapes, c, bx, by, bz, x1, y1, z1, u1, v1, w1) > 0.0:
                    low = middle
                else:
                    high = middle
            along = x1 * a.x + y1 * a.y + z1 * a.z
            s = x1 * bx + y1 * by + z1 * bz - piece.half * abs(along)
            s -= piece.radius * np.sqrt(max(0.0, 1.0 - along * along))
            if s > best:
                best, x, y, z = s, x1, y1, z1
        before = slope
    return best, x, y, z
