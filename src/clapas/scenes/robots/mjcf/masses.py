"""What the compiler element of MJCF does to masses: where they come from, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clapas.scenes.robots.description import Inertia, Link
from clapas.scenes.robots.xml import Node

ROUNDING = 1e-9  # of moments: those of a thin plate are just possible


@dataclass
class Masses:
    """Masses of bodies as the compiler of MuJoCo makes them.

    Parameters
    ----------
    from_geoms : bool, optional
        Whether geoms go before ``<inertial>``, or give no masses (False); None lets them give those of bodies
        without ``<inertial>``.
    least_mass, least_moment : float
        Lower bounds on the mass (kg) and the principal moments (kg·m²) of each body.
    is_balanced : bool
        Whether moments that no body can have, one above the sum of the others, become their mean.
    total : float, optional
        Mass of all bodies together (kg), to which they are scaled.
    """

    from_geoms: bool | None = None
    least_mass: float = 0.0
    least_moment: float = 0.0
    is_balanced: bool = False
    total: float | None = None

    def read(self, node: Node) -> None:
        """Take what a compiler element sets."""
        self.from_geoms = node.flag("inertiafromgeom", self.from_geoms)
        self.least_mass = node.number("boundmass", self.least_mass)
        self.least_moment = node.number("boundinertia", self.least_moment)
        self.is_balanced = bool(node.flag("balanceinertia", self.is_balanced))
        total = node.number("settotalmass", -1.0)
        self.total = total if total > 0.0 else self.total  # what is not positive sets nothing

    def of_body(self, inertial: Inertia | None, geoms: Sequence[Inertia]) -> Inertia | None:
        """The mass of a body, from what its file gives; None without mass."""
        together = Inertia.together(list(geoms)) if geoms and self.from_geoms is not False else None
        found = (together or inertial) if self.from_geoms else (inertial or together)
        if found is None:
            if self.least_mass <= 0.0:
                return None
            found = Inertia(0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))
        moments, axes = np.linalg.eigh(found.tensor)
        bounded = np.maximum(moments, self.least_moment)
        if self.is_balanced and 2.0 * bounded.max() > (1.0 + ROUNDING) * bounded.sum():
            bounded[:] = bounded.mean()
        if not np.array_equal(bounded, moments):
            found = replace(found, tensor=(axes * bounded) @ axes.T)
        return replace(found, mass=max(found.mass, self.least_mass))

    def scaled(self, links: Sequence[Link]) -> tuple[Link, ...]:
        """The links, their masses scaled to the total where it is set."""
        heavy = [link.inertia for link in links if link.inertia is not None]
        if self.total is None or not heavy:
            return tuple(links)
        ratio = self.total / sum(one.mass for one in heavy)

        def of(one: Inertia | None) -> Inertia | None:
            return one and replace(one, mass=ratio * one.mass, tensor=ratio * one.tensor)

        return tuple(replace(link, inertia=of(link.inertia)) for link in links)
