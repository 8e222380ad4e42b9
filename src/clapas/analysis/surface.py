"""The free surface of a heap: its slope, with a confidence interval.

The surface is sampled by the highest grain of each column of a square lattice. A cone z = h − r tan θ is
fitted, by least squares, to the samples of each of several sectors about the axis, between the rounded
summit and the scattered foot: the spread between sectors gives the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from clapas.analysis.instant import Instant
from clapas.errors import SettingsError
from clapas.typing import Array, Indices


@dataclass(frozen=True)
class Slope:
    """Slope of a heap.

    Parameters
    ----------
    angle : float
        Mean angle of the flanks with the horizontal (rad).
    low, high : float
        Its confidence interval (rad).
    summit : float
        Height of the tip of the mean cone (m).
    foot : float
        Radius at which the mean cone reaches the ground (m).
    top : float
        Height of the highest sample (m).
    """

    angle: float
    low: float
    high: float
    summit: float
    foot: float
    top: float


def surface_samples(instant: Instant, spacing: float, slowest: float = math.inf) -> Array:
    """Tops of the highest grains, one per column of a square lattice, (m, 3): x, y of the grain, height.

    Parameters
    ----------
    instant : Instant
        Grains.
    spacing : float
        Side of the columns (m), at least the mean diameter of the grains: a narrower column may
        contain no grain of the surface and show a buried one.
    slowest : float
        Grains faster than this are in the air or rolling: left out (m/s).
    """
    if instant.d != 3:
        raise SettingsError("columns stand in a scene in 3-D, this one is in 2-D: take profile.surface_line")
    rest = instant.is_sized & (np.linalg.norm(instant.velocity, axis=1) <= slowest)
    centre, radius = instant.centre[rest], instant.reach[rest]
    check_spacing(spacing, radius)
    top = centre[:, 2] + radius
    order = np.argsort(-top)
    columns = np.floor(centre[order, :2] / spacing).astype(np.int64)
    _, first = np.unique(columns, axis=0, return_index=True)
    chosen = order[first]
    return np.column_stack((centre[chosen, :2], top[chosen]))


def check_spacing(spacing: float, radius: Array) -> None:
    """Reject columns narrower than the mean diameter of grains of these radii (m)."""
    least = 2.0 * float(radius.mean()) if len(radius) else 0.0
    if not (spacing > 0.0 and spacing >= least * (1.0 - 1e-9)):
        raise SettingsError(
            f"spacing must be positive and at least the mean diameter of the grains, {least:g} m, got "
            f"{spacing}: narrower columns show buried grains"
        )


def slope(
    samples: Array,
    *,
    ground: float = 0.0,
    sectors: int = 8,
    inner: float = 0.2,
    outer: float = 0.85,
    confidence: float = 0.95,
) -> Slope:
    """Fit a cone to the flanks.

    Parameters
    ----------
    samples : array (m, 3)
        Points of the surface (m).
    ground : float
        Height of the ground (m).
    sectors : int
        Sectors about the axis, at least 2.
    inner, outer : float
        Fractions of the radius of the foot that bound the flanks.
    confidence : float
        Probability of the interval (Student's law over the sectors).
    """
    if sectors < 2 or not 0 <= inner < outer or not 0 < confidence < 1:
        raise SettingsError(
            f"impossible sectors {sectors}, inner {inner}, outer {outer} or confidence {confidence}"
        )
    if len(samples) < 3:
        raise SettingsError(f"too few points ({len(samples)}) of a surface make no heap: no grain at rest?")
    r, z = np.hypot(samples[:, 0], samples[:, 1]), samples[:, 2] - ground
    sector = ((np.arctan2(samples[:, 1], samples[:, 0]) + math.pi) / (2 * math.pi) * sectors).astype(int)
    foot = _foot(r, z)
    flank = (r >= inner * foot) & (r <= outer * foot)
    fits = _fits(r[flank], z[flank], sector[flank] % sectors, sectors)
    if len(fits) < 2:
        raise SettingsError(f"too few points on the flanks ({int(flank.sum())}) to fit {sectors} sectors")
    angles = np.arctan(-fits[:, 0])
    angle, error = float(angles.mean()), float(angles.std(ddof=1) / math.sqrt(len(angles)))
    width = float(stats.t.ppf(0.5 + confidence / 2, len(angles) - 1)) * error
    summit = float(fits[:, 1].mean())
    return Slope(
        angle,
        angle - width,
        angle + width,
        ground + summit,
        summit / math.tan(angle),
        ground + float(z.max()),
    )


def _foot(r: Array, z: Array) -> float:
    """Radius at which the line through the upper samples reaches the ground, ignoring stray grains."""
    high = z > 0.25 * float(z.max())
    if high.sum() < 3:
        raise SettingsError(f"too few points ({len(z)}) make no heap")
    gradient, summit = np.polyfit(r[high], z[high], 1)
    if gradient >= 0:
        raise SettingsError("the surface does not go down away from the axis: no heap")
    return float(-summit / gradient)


def _fits(r: Array, z: Array, sector: Indices, sectors: int) -> Array:
    """Gradient and height at the axis of each sector with three points at least, (m, 2)."""
    groups = [sector == k for k in range(sectors)]
    return np.array([np.polyfit(r[own], z[own], 1) for own in groups if own.sum() >= 3]).reshape(-1, 2)


def draw_surface(axes: Any, samples: Array, found: Slope) -> None:
    """Draw the samples in the half-plane (r, z) and the fitted line."""
    r = np.hypot(samples[:, 0], samples[:, 1])
    axes.plot(r, samples[:, 2], ".", ms=3, color="0.5")
    label = f"{math.degrees(found.angle):.1f}° ± {math.degrees(found.high - found.angle):.1f}°"
    axes.plot(
        [0, found.foot], [found.summit, found.summit - found.foot * math.tan(found.angle)], "r-", label=label
    )
    axes.set(xlabel="r (m)", ylabel="z (m)", aspect="equal")
    axes.legend()
