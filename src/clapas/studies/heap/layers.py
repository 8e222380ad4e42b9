"""Fossil layers and forces: the angles between them, over the cuts of a heap.

Moreau's conjecture: on a cylinder about the axis the force is parallel to the local layer of grains deposited
at the same time. By reciprocity, on a cone parallel to the free surface it is vertical. Forces
fluctuate while grains arrive: cuts of several instants and heaps are pooled, the cuts of an instant
counting as one sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from clapas.analysis import Instant
from clapas.analysis.fossils import LayerProfile, layer, layer_profile
from clapas.analysis.ribbons import ForceDensity, Ribbon, force_density
from clapas.analysis.surface import Slope
from clapas.typing import Array

RINGS = 12  # to the foot, in which the height of a layer is averaged
LAYERS = 9  # of equal duration, followed through the deposit


class Alignments(NamedTuple):
    """Cuts of a heap at one instant.

    Parameters
    ----------
    height : array (n,)
        Heights of the cylinders over that of the summit.
    angle : array (n,)
        From the local fossil layer to the force on each cylinder (rad).
    radius : array (m,)
        Radii of the cones over that of the foot.
    leaning : array (m,)
        From the vertical to the force on each cone parallel to the free surface, positive outward (rad).
    """

    height: Array
    angle: Array
    radius: Array
    leaning: Array

    @property
    def leaning_outside(self) -> Array:
        """``leaning`` in the outer half of the slope, the subject of the printed statement."""
        return self.leaning[self.radius > 0.5]


def alignments(instant: Instant, laid_until: float, surface: Slope, cut: float) -> Alignments:
    """Angles on cuts inside a heap deposited until a time (s)."""
    middles = list(places(surface, cut))
    rings = np.linspace(0.0, surface.foot, RINGS + 1)
    profiles = [
        layer_profile(
            instant, layer(instant, (share - 0.05) * laid_until, (share + 0.05) * laid_until), rings
        )
        for share in np.linspace(0.1, 0.9, LAYERS)
    ]
    heights, angles = [], []
    for each in on_cylinders(instant, middles, cut):
        r, z = each.ribbon.middle
        steep = [_steepness(profile, r, z, cut) for profile in profiles]
        near = [angle for angle in steep if not math.isnan(angle)]
        if near and each.contacts:
            heights.append(z / surface.summit)
            angles.append(math.atan2(-each.density[1], each.density[0]) - float(np.mean(near)))
    cones = [each for each in on_cones(instant, middles, surface.angle, cut) if each.contacts]
    radii = [each.ribbon.middle[0] / surface.foot for each in cones]
    leaning = [math.atan2(*each.density) for each in cones]
    return Alignments(*map(np.array, (heights, angles, radii, leaning)))


def places(surface: Slope, cut: float) -> Iterator[tuple[float, float]]:
    """A lattice of points (r, z) whose cuts in any direction lie inside the heap."""
    columns = int(surface.foot / (1.2 * cut))
    for i in range(columns):
        r, z = (0.6 + 1.2 * i) * cut, 0.6 * cut
        while z + 0.6 * cut < surface.summit * (1.0 - (r + 0.3 * cut) / surface.foot):
            yield r, z
            z += 1.2 * cut


def on_cylinders(instant: Instant, middles: Sequence[tuple[float, float]], cut: float) -> list[ForceDensity]:
    """Force densities on cylindrical cuts about the axis."""
    return [force_density(instant, Ribbon.about(place, 0.0, cut)) for place in middles]


def on_cones(
    instant: Instant, middles: Sequence[tuple[float, float]], slope: float, cut: float
) -> list[ForceDensity]:
    """Force densities on conical cuts that fall outward by an angle, where they do not reach the axis."""
    ribbons = [Ribbon.about(place, math.pi / 2 - slope, cut) for place in middles if place[0] > cut / 2]
    return [force_density(instant, ribbon) for ribbon in ribbons]


def _steepness(profile: LayerProfile, r: float, z: float, reach: float) -> float:
    """Slope of a layer within ``reach`` of a point, else NaN."""
    away = np.hypot(profile.radius - r, profile.height - z)
    if np.isnan(away).all():
        return math.nan
    nearest = int(np.nanargmin(away))
    return float(profile.slope[nearest]) if away[nearest] <= reach / 2 else math.nan


class Spread(NamedTuple):
    """Angles of several instants (degrees): mean, deviation over cuts, standard error over instants."""

    mean: float
    deviation: float
    error: float
    cuts: int
    instants: int

    def __str__(self) -> str:
        where = f"{self.cuts} cuts at {self.instants} instants"
        return f"{self.mean:+.0f}° on average, ± {self.deviation:.0f}° over {where}"


def spread(samples: Sequence[Array]) -> Spread | None:
    """The spread of angles (rad), one array for each instant; None without any."""
    known = [np.degrees(each) for each in samples if len(each)]
    if not known:
        return None
    whole, means = np.concatenate(known), np.array([each.mean() for each in known])
    error = float(means.std(ddof=1) / math.sqrt(len(means))) if len(means) > 1 else math.inf
    return Spread(float(whole.mean()), float(whole.std()), error, len(whole), len(known))
