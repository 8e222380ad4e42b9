"""The direction in which a convex set in the plane reaches least far from the origin.

The set is known by how far rays reach in it. Chords between neighbouring ends of rays lie in the set, so that
the nearest chord bounds the least reach from below, the shortest ray from above. The next ray goes through
the foot of the nearest chord: where the chord lies on an edge of the set, it ends on the foot.
"""

from __future__ import annotations

import math
from collections.abc import Callable

RAYS = 8  # to begin with
MOST = 100
SAME = 1e-6  # relative difference of rays of the same length


def least_reach(reach: Callable[[float], float], accuracy: float = 5e-3) -> tuple[float, float]:
    """Angle (rad) and length of the shortest ray of a convex set.

    Parameters
    ----------
    reach : function
        Length of the ray at an angle; 0 if the set does not hold the origin.
    accuracy : float
        Relative; the length is exact where the boundary is straight.

    Examples
    --------
    The half-plane x + 2 y ≤ 1:

    >>> def reach(angle):
    ...     slope = math.cos(angle) + 2.0 * math.sin(angle)
    ...     return 1.0 / slope if slope > 1e-3 else 1e3
    >>> angle, length = least_reach(reach)
    >>> round(math.tan(angle), 9), round(length**2, 9)
    (2.0, 0.2)
    """
    rays = {angle: reach(angle) for angle in (2.0 * math.pi * k / RAYS for k in range(RAYS))}
    near = False
    while not near and 0.0 < min(rays.values()) and len(rays) < MOST:
        bound, foot = _nearest_chord(rays)
        near = bound >= (1.0 - accuracy) * min(rays.values())
        rays[foot] = reach(foot)  # when it is near enough too: on a straight edge this last ray is exact
    # Of rays that only rounding tells apart, the first: one along an axis, where there is one.
    least = min(rays.values())
    return next((angle, length) for angle, length in rays.items() if length <= (1.0 + SAME) * least)


def _nearest_chord(rays: dict[float, float]) -> tuple[float, float]:
    """Distance of the nearest chord between neighbouring rays, and the angle of its nearest point."""
    angles = sorted(rays)
    return min(_foot(a, rays[a], b, rays[b]) for a, b in zip(angles, angles[1:] + angles[:1], strict=True))


def _foot(a: float, near: float, b: float, far: float) -> tuple[float, float]:
    """Distance of the chord between the ends of two rays, and the angle of its nearest point."""
    start = complex(near * math.cos(a), near * math.sin(a))
    along = complex(far * math.cos(b), far * math.sin(b)) - start
    share = -(start.real * along.real + start.imag * along.imag) / max(abs(along) ** 2, 1e-300)
    point = start + min(max(share, 0.0), 1.0) * along
    angle = math.atan2(point.imag, point.real)
    return abs(point), angle + 2.0 * math.pi * (angle < 0.0)
