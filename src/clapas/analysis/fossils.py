"""Fossil layers: current positions of the grains born in an interval of time.

Reference: Moreau 2003, section 9.2 and figures 3 and 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.analysis.instant import Instant
from clapas.errors import SettingsError
from clapas.typing import Array, Indices, Mask


@dataclass(frozen=True)
class LayerProfile:
    """Meridian section of a fossil layer.

    Parameters
    ----------
    radius : array (bins,)
        Mean distance of the grains from the axis in each ring (m); NaN where there are too few.
    height : array (bins,)
        Their mean height (m).
    slope : array (bins,)
        Angle of the layer below the horizontal going outward (rad), by a straight line through the grains of
        the ring and its two neighbours.
    count : array (bins,)
        Grains of each ring.
    """

    radius: Array
    height: Array
    slope: Array
    count: Indices


def layer(instant: Instant, start: float, end: float) -> Mask:
    """Grains born in [start, end[ (s), (N,)."""
    if not start < end:
        raise SettingsError(f"a layer needs start < end, got {start} and {end}")
    return np.asarray(instant.movable & (instant.birth >= start) & (instant.birth < end))


def in_slice(instant: Instant, thickness: float) -> Mask:
    """Grains with their centres in the slice |y| ≤ thickness/2 through the axis, (N,)."""
    _require_space(instant)
    return np.asarray(instant.movable & (np.abs(instant.centre[:, 1]) <= thickness / 2))


def layer_profile(instant: Instant, chosen: Mask, edges: Array, least: int = 5) -> LayerProfile:
    """Mean section of a layer between radii ``edges`` (m); rings with fewer than ``least`` grains are NaN."""
    _require_space(instant)
    r, z = np.hypot(instant.centre[chosen, 0], instant.centre[chosen, 1]), instant.centre[chosen, 2]
    ring = np.digitize(r, edges) - 1
    bins = len(edges) - 1
    radius, height, slope = (np.full(bins, np.nan) for _ in range(3))
    for k in range(bins):
        inside, wide = ring == k, np.abs(ring - k) <= 1
        if inside.sum() >= least:
            radius[k], height[k] = r[inside].mean(), z[inside].mean()
            slope[k] = -np.arctan(np.polyfit(r[wide], z[wide], 1)[0])
    return LayerProfile(radius, height, slope, np.bincount(ring[(ring >= 0) & (ring < bins)], minlength=bins))


def _require_space(instant: Instant) -> None:
    if instant.d != 3:
        raise SettingsError(
            "slices and layers are about the vertical axis of a scene in 3-D, this one is in 2-D"
        )


def draw_slice(axes: Any, instant: Instant, thickness: float, dark: Mask | None = None) -> None:
    """Draw the grains of a slice through the axis, those of ``dark`` in black."""
    from matplotlib.collections import EllipseCollection

    black = np.zeros(instant.n_bodies, dtype=bool) if dark is None else dark
    shown = np.flatnonzero(in_slice(instant, thickness))
    shown = shown[np.lexsort((-instant.centre[shown, 1], black[shown]))]  # back to front, dark ones last
    size, centre = 2 * instant.reach[shown], instant.centre[shown][:, [0, 2]]
    axes.add_collection(
        EllipseCollection(
            size,
            size,
            np.zeros(len(shown)),
            units="xy",
            offsets=centre,
            transOffset=axes.transData,
            facecolors=np.where(black[shown], "k", "w").tolist(),
            edgecolors="0.3",
            linewidths=0.4,
        )
    )
    if len(shown):
        axes.update_datalim(np.concatenate((centre - size[:, None] / 2, centre + size[:, None] / 2)))
    axes.autoscale_view()
    axes.set(xlabel="x (m)", ylabel="z (m)", aspect="equal", title=f"t = {instant.time:.3g} s")
