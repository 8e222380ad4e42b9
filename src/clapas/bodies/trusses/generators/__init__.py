"""Structures of the literature and of practice, ready to solve."""

from clapas.bodies.trusses.generators.cables import cable_net, guyed_mast, guyed_mast_3d
from clapas.bodies.trusses.generators.cuboctahedron import bolted_grid, grid, module
from clapas.bodies.trusses.generators.plane import kite
from clapas.bodies.trusses.generators.prisms import mast_of_prisms, prism
from clapas.bodies.trusses.generators.spheres import geodesic_sphere, six_strut_ball

__all__ = [
    "bolted_grid",
    "cable_net",
    "geodesic_sphere",
    "grid",
    "guyed_mast",
    "guyed_mast_3d",
    "kite",
    "mast_of_prisms",
    "module",
    "prism",
    "six_strut_ball",
]
