"""Drawing of rods: polylines along their centrelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clapas.bodies.drawn import Field, Look, Skin
from clapas.bodies.kind import Part
from clapas.bodies.rods.arrays import starts_of
from clapas.typing import Array, Indices

if TYPE_CHECKING:
    from clapas.bodies.rods.rods import Rods

PER_ELEMENT = 8  # segments of a centreline
TWISTING, BENDING = 0, slice(1, 3)  # among the strains of an element


def centrelines(rods: Rods, part: Part, per_element: int = PER_ELEMENT) -> tuple[Array, Indices, Array]:
    """Polylines of all rods.

    Returns
    -------
    points : array (n, 3)
        Points of all rods, one rod after another (m).
    start : array (rods + 1,)
        Those of rod k are ``start[k]`` to ``start[k + 1]``.
    radius : array (rods,)
        Of the surface (m).
    """
    count = np.array([rod.elements * per_element + 1 for rod in rods.rods])
    start = starts_of(count)
    rod = np.repeat(np.arange(len(count)), count)
    length = np.array([rod.length for rod in rods.rods])
    s = (np.arange(start[-1]) - start[rod]) / (count[rod] - 1) * length[rod]
    radius = np.array([max(rod.axes) for rod in rods.rods])
    return rods.sections(part, rod, s)[0], start, radius


def skin(rods: Rods) -> Skin:
    """All rods as tubes."""
    points, start, radius = centrelines(rods, rods.start())
    here = np.delete(np.arange(len(points)), start[1:] - 1)  # an end begins no segment
    thick = np.repeat(radius, np.diff(start) - 1)
    fields = (Field("curvature", "1/m", "cell"), Field("twist", "1/m", "cell"))
    return Skin("rods", len(points), np.stack((here, here + 1), axis=1), thick, fields)


def look(rods: Rods, part: Part) -> Look:
    """Centrelines, with the curvature and the twist of the elements."""
    strain = rods.split(part.q)[0]
    bent, turned = np.linalg.norm(strain[:, BENDING], axis=1), strain[:, TWISTING]
    per_element = (np.repeat(values, PER_ELEMENT) for values in (bent, turned))
    return Look(centrelines(rods, part)[0], tuple(per_element))
