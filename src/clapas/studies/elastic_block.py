"""An elastic rectangle on a rigid plane, condensed on its contact nodes: plane stress, linear triangles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from clapas.bodies.elastic import Elastic, Obstacle, RigidContact, Solid, Support, block
from clapas.geometry.shapes import HalfPlane
from clapas.problems import ContactProblem, reduce
from clapas.problems.lcp import LCP
from clapas.statics.elastic import Condensed, ElasticContact, condense

STEEL = Elastic(young=200e9, poisson=0.33)


@dataclass(frozen=True, kw_only=True)
class ElasticBlock:
    """A rectangle of steel, one metre long, above a rigid plane.

    Parameters
    ----------
    contacts : int
        Contact nodes of the lower side; also the number of elements along it.
    rows : int
        Elements through the height.
    height : float
        (m).
    pressure : float
        On the loaded part of the upper side (Pa).
    loaded : (float, float)
        Start and end of that part (m).
    gap : float
        Distance of the unloaded block from the plane (m).
    curvature : float
        The lower side rises by this times x² (1/m): a curved foot, described by its gap alone.
    held : "clamped" or "guided"
        The left side is fixed, or free to slide vertically (then a rigid motion remains).

    Examples
    --------
    >>> block = ElasticBlock(contacts=4, rows=2)
    >>> block.frictionless()
    LCP(4 unknowns, dense)
    """

    contacts: int
    rows: int = 12
    height: float = 0.5
    pressure: float = 20e6
    loaded: tuple[float, float] = (0.8, 1.0)
    gap: float = 0.5e-3
    curvature: float = 0.0
    held: Literal["clamped", "guided"] = "clamped"

    def frictionless(self) -> LCP:
        """The separations z and the contact forces w = M z + q of a plane without friction.

        M is the stiffness condensed on the normal displacements of the contact nodes: positive definite
        when the block is clamped, singular when it is guided.
        """
        return self.condensed(0.0).lcp()

    def with_friction(self, mu: float) -> ContactProblem:
        """Contact problem with friction from rest (clamped blocks only): v are displacements, r forces."""
        return reduce(self.condensed(mu).contact_problem())

    def condensed(self, mu: float) -> Condensed:
        """The block condensed on its contact nodes."""
        small = condense(self.stage(mu))
        x = self.solid.mesh.nodes[small.increment.nodes, 0]
        rise = np.column_stack((self.curvature * x**2, np.zeros(len(x))))
        return replace(small, w=small.w + rise)

    def stage(self, mu: float) -> ElasticContact:
        """The block as a problem of statics, with a plane foot."""
        floor = Obstacle(HalfPlane(), position=(0.0, -self.gap))
        return ElasticContact(
            solid=self.solid,
            supports=[Support("left", "x" if self.held == "guided" else "xy")],
            load=self.solid.pressure("loaded", self.pressure),
            contacts=[RigidContact(surface="foot", obstacle=floor, mu=mu)],
        )

    @property
    def n_dof(self) -> int:
        """Number of free displacements."""
        return int(self.stage(0.0).held.free.sum())

    @cached_property
    def solid(self) -> Solid:
        """The elastic body, with groups for its foot and the loaded part of its top."""
        mesh = block((1.0, self.height), (self.contacts, self.rows), "T3")
        begin, end = self.loaded
        top = mesh.group("top")
        edges = np.column_stack((top[:-1], top[1:]))
        middles = mesh.nodes[edges, 0].mean(axis=1)
        pressed = edges[(middles > begin) & (middles < end)]
        mesh = mesh.with_group("loaded", pressed).with_group("foot", mesh.group("bottom")[1:])
        return Solid(mesh=mesh, material=STEEL, kinematics="plane stress")
