"""Moreau's ribbons: the mean force that passes through conical and cylindrical cuts about a vertical axis.

A segment in a half-plane through the axis Oz sweeps, when it turns about Oz, a ribbon: a cylinder, a ring
or a truncated cone. The contacts between grains whose centres lie on either side, and whose point projects
onto the ribbon, carry a force with a part R_r away from the axis and a part R_z along it. Their sums
divided by the area of the ribbon are the *meridian force density* T.

Reciprocal cuts: with the normals n, n′ and the densities T, T′ of two ribbons about the same place,

    n · T′ = n′ · T,

since Cauchy's stress is symmetric. Its error measures how far grains are from a continuum.

Reference: Moreau 2003, sections 9.1 and 9.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from clapas.analysis.images import images, is_periodic
from clapas.analysis.instant import Instant, carries
from clapas.analysis.ribbon_sums import sum_through
from clapas.errors import SettingsError
from clapas.typing import Array


@dataclass(frozen=True)
class Ribbon:
    """A segment of the half-plane (r, z), to be turned about Oz.

    Parameters
    ----------
    start, end : (r, z)
        Its ends (m); r ≥ 0.

    Examples
    --------
    A cylinder of radius 2 and height 1, seen from the axis:

    >>> ribbon = Ribbon((2.0, 0.0), (2.0, 1.0))
    >>> ribbon.normal.tolist(), round(ribbon.area / math.pi, 12)
    ([1.0, 0.0], 4.0)
    """

    start: tuple[float, float]
    end: tuple[float, float]

    def __post_init__(self) -> None:
        if min(self.start[0], self.end[0]) < 0 or self.length == 0:
            raise SettingsError(f"a ribbon needs two points with r ≥ 0, got {self.start} and {self.end}")

    @classmethod
    def about(cls, middle: Sequence[float], angle: float, length: float) -> Self:
        """The ribbon of given middle (r, z), its normal at ``angle`` above the outward horizontal (rad)."""
        r, z = middle
        along = 0.5 * length * np.array([-math.sin(angle), math.cos(angle)])
        return cls((float(r - along[0]), float(z - along[1])), (float(r + along[0]), float(z + along[1])))

    @property
    def length(self) -> float:
        """Length of the segment (m)."""
        return math.dist(self.start, self.end)

    @property
    def area(self) -> float:
        """Area of the ribbon, π (r₁ + r₂) length (m²)."""
        return math.pi * (self.start[0] + self.end[0]) * self.length

    @property
    def normal(self) -> Array:
        """Unit normal (r, z), to the right of the segment."""
        (r, z), (s, y) = self.start, self.end
        return np.asarray(np.array([y - z, r - s]) / self.length)

    @property
    def middle(self) -> Array:
        """Its middle (r, z)."""
        return np.asarray(0.5 * (np.array(self.start) + np.array(self.end)))


@dataclass(frozen=True)
class Cut(Ribbon):
    """Ribbon in the plane: a segment through bodies in 2-D, with (x, y) for (r, z), anywhere.

    Its area is its length, so that densities are forces per length (Pa, as forces are per metre of depth).

    Examples
    --------
    >>> Cut((-1.0, 0.0), (-1.0, 2.0)).area
    2.0
    """

    def __post_init__(self) -> None:
        if self.length == 0:
            raise SettingsError(f"a cut needs two different points, got {self.start} and {self.end}")

    @property
    def area(self) -> float:
        """Its length (m)."""
        return self.length


@dataclass(frozen=True)
class ForceDensity:
    """Force that passes through a ribbon, from behind it to ahead (where its normal points).

    Parameters
    ----------
    ribbon : Ribbon
        The ribbon.
    density : array (2,)
        Its parts along r and z (Pa): P n under a hydrostatic pressure P.
    error : array (2,)
        Their standard error by sampling (Pa): that of a sum of independent contact forces.
    contacts : int
        Contacts that carry it.
    """

    ribbon: Ribbon
    density: Array
    error: Array
    contacts: int


def force_density(instant: Instant, ribbon: Ribbon) -> ForceDensity:
    """Mean force density on a ribbon in 3-D or a cut in 2-D; in periodic cells every image cut counts."""
    if (instant.d == 2) != isinstance(ribbon, Cut):
        raise SettingsError(
            f"a {type(ribbon).__name__} does not cut this scene: this one is in {instant.d}-D, and takes a "
            f"{Cut.__name__ if instant.d == 2 else Ribbon.__name__}"
        )
    if instant.d == 2:
        return _through_segment(instant, ribbon)
    sums = np.zeros((2, 2))
    start, end = instant.branches
    point, force = instant.point, instant.force
    if is_periodic(instant.period):
        wide = np.full(3, max(ribbon.start[0], ribbon.end[0]))
        rows, shift = images(point, point, instant.period, (-wide, wide))
        start, end, point, force = start[rows] + shift, end[rows] + shift, point[rows] + shift, force[rows]
    carrying = carries(force)
    ends = np.array(ribbon.start), np.array(ribbon.end)
    count = sum_through(start[carrying], end[carrying], point[carrying], force[carrying], *ends, sums)
    return ForceDensity(ribbon, sums[0] / ribbon.area, np.sqrt(sums[1]) / ribbon.area, int(count))


def _through_segment(instant: Instant, cut: Ribbon) -> ForceDensity:
    """Forces of the contacts between bodies on either side of a segment, whose point projects onto it."""
    start, end = instant.branches
    point, force = instant.point, instant.force
    if is_periodic(instant.period):
        corners = np.array([cut.start, cut.end])
        rows, shift = images(point, point, instant.period, (corners.min(axis=0), corners.max(axis=0)))
        start, end, point, force = start[rows] + shift, end[rows] + shift, point[rows] + shift, force[rows]
    origin, normal = np.array(cut.start), cut.normal
    along = (np.array(cut.end) - origin) / cut.length
    behind, ahead = ((ends - origin) @ normal > 0.0 for ends in (start, end))
    abscissa = (point - origin) @ along
    chosen = (behind != ahead) & (abscissa >= 0.0) & (abscissa < cut.length) & carries(force)
    passed = np.where(ahead[chosen], 1.0, -1.0)[:, None] * force[chosen]
    error = np.sqrt((passed**2).sum(axis=0)) / cut.area
    return ForceDensity(cut, passed.sum(axis=0) / cut.area, error, int(chosen.sum()))


@dataclass(frozen=True)
class Reciprocity:
    """Two cuts about the same place.

    Parameters
    ----------
    first, second : ForceDensity
        The cuts.
    error : float
        |n · T′ − n′ · T| / (|T| + |T′|)·2: 0 in a continuum.
    """

    first: ForceDensity
    second: ForceDensity
    error: float


def reciprocity(
    instant: Instant, middle: Sequence[float], length: float, angles: tuple[float, float] | None = None
) -> Reciprocity:
    """Check the reciprocal cuts at a place.

    Parameters
    ----------
    instant : Instant
        Grains and forces.
    middle : (r, z), or (x, y) in 2-D
        Middle of both cuts (m).
    length : float
        Their length (m).
    angles : two floats, optional
        Angles of their normals (rad). By default as in the lemma: the first cut is a cylinder, the second
        lies along the force through the first.
    """
    kind = Cut if instant.d == 2 else Ribbon
    first = force_density(instant, kind.about(middle, angles[0] if angles else 0.0, length))
    across = math.atan2(first.density[1], first.density[0]) + math.pi / 2
    second = force_density(instant, kind.about(middle, angles[1] if angles else across, length))
    defect = first.ribbon.normal @ second.density - second.ribbon.normal @ first.density
    size = 0.5 * float(np.linalg.norm(first.density) + np.linalg.norm(second.density))
    return Reciprocity(first, second, abs(float(defect)) / size if size > 0.0 else 0.0)


def draw_densities(axes: Any, densities: Iterable[ForceDensity], scale: float | None = None) -> None:
    """Draw ribbons as segments of the half-plane (r, z), with the force densities as arrows.

    ``scale`` is the length drawn per unit of density (m/Pa); by default the largest is as long as its ribbon.
    """
    shown = list(densities)
    sizes = [float(np.linalg.norm(each.density)) for each in shown]
    if scale is None:
        scale = max((each.ribbon.length for each in shown), default=0.0) / (max(sizes, default=0.0) or 1.0)
    for each in shown:
        ribbon = each.ribbon
        axes.plot(*zip(ribbon.start, ribbon.end, strict=True), "k-", lw=1)
        arrow = scale * each.density
        head = {"width": 2e-2 * ribbon.length, "length_includes_head": True, "color": "tab:red", "zorder": 3}
        axes.arrow(*ribbon.middle, *arrow, **head)
    axes.set(xlabel="r (m)", ylabel="z (m)", aspect="equal")
