"""Free surface of grains in 2-D: the line of the highest ones, and its slope."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.analysis.images import images
from clapas.analysis.instant import Instant
from clapas.analysis.surface import check_spacing
from clapas.errors import SettingsError
from clapas.typing import Array


@dataclass(frozen=True)
class Incline:
    """A straight line y = height + x tan(angle) through points of a surface.

    Parameters
    ----------
    angle : float
        With the horizontal, positive where it rises along x (rad).
    error : float
        Standard error of the angle, from the scatter of the points (rad).
    height : float
        At x = 0 (m).
    """

    angle: float
    error: float
    height: float


def surface_line(instant: Instant, spacing: float, low: float, high: float) -> Array:
    """Tops of the highest grains, one per column between two abscissae, (m, 2), from left to right.

    Parameters
    ----------
    instant : Instant
        Grains in 2-D.
    spacing : float
        Width of the columns (m), at least the mean diameter of the grains: a narrower column may
        contain no grain of the surface and show a buried one.
    low, high : float
        Range of abscissae (m).
    """
    if instant.d != 2:
        raise SettingsError(
            "a surface line is that of a scene in 2-D, this one is in 3-D: take surface_samples"
        )
    if not low < high:
        raise SettingsError(f"low must be less than high, got {low} and {high}")
    check_spacing(spacing, instant.reach[instant.is_sized])
    centre, reach = instant.centre[instant.is_sized], instant.reach[instant.is_sized]
    rows, shift = images(centre, centre, instant.period, ((low, -math.inf), (high, math.inf)))
    x = (centre[rows] + shift)[:, 0]
    inside = (x >= low) & (x <= high)
    x, top = x[inside], (centre[rows, 1] + reach[rows])[inside]
    order = np.argsort(-top, kind="stable")
    _, first = np.unique(np.floor((x[order] - low) / spacing), return_index=True)
    return np.column_stack((x, top))[order[first]]


def incline(points: Array) -> Incline:
    """Least-squares line through points of a surface.

    >>> found = incline(np.array([(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]))
    >>> round(math.degrees(found.angle), 9), round(found.height, 9)
    (45.0, 1.0)
    """
    if len(points) < 3:
        raise SettingsError(f"a slope needs three points of the surface at least, got {len(points)}")
    x, y = points.T
    if not np.ptp(x) > 0.0:
        raise SettingsError("a slope needs points of the surface at different abscissae, got one column")
    gradient, height = np.polyfit(x, y, 1)
    scatter = np.sum((y - height - gradient * x) ** 2) / (len(x) - 2)
    error = math.sqrt(scatter / np.sum((x - x.mean()) ** 2)) / (1 + gradient**2)
    return Incline(math.atan(gradient), error, float(height))


def draw_profile(axes: Any, instant: Instant, points: Array, found: Incline) -> None:
    """Draw the grains, the points of the surface and the line through them."""
    from matplotlib.collections import EllipseCollection

    grains = instant.movable
    width = 2 * instant.reach[grains]
    axes.add_collection(
        EllipseCollection(
            width,
            width,
            np.zeros_like(width),
            units="xy",
            offsets=instant.centre[grains],
            transOffset=axes.transData,
            facecolors="0.85",
            edgecolors="0.5",
        )
    )
    axes.plot(*points.T, "k.", ms=4)
    x = points[[0, -1], 0]
    axes.plot(x, found.height + x * math.tan(found.angle), "r-", label=f"{math.degrees(found.angle):.1f}°")
    margin = float(width.max())
    axes.set(xlabel="x (m)", ylabel="y (m)", aspect="equal", xlim=(x[0] - 2 * margin, x[1] + 2 * margin))
    axes.locator_params(axis="x", nbins=6)
    axes.legend()
