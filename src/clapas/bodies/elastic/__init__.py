"""Deformable bodies by finite elements: meshes, materials, assembly, contact geometry, motion in scenes.

>>> from clapas.bodies.elastic import Elastic, Solid, block
>>> Solid(mesh=block((1.0, 1.0), (4, 4)), material=Elastic(young=1.0)).n_dof
50
"""

from clapas.bodies.elastic.contact import RigidContact, SurfaceContact
from clapas.bodies.elastic.files import read_mesh, write_mesh
from clapas.bodies.elastic.generators import bar, block, graded, hertz_block, ring
from clapas.bodies.elastic.kind import ElasticBodies
from clapas.bodies.elastic.logarithmic import FiniteVonMises
from clapas.bodies.elastic.materials import Elastic, NeoHookean, VonMises
from clapas.bodies.elastic.mesh import Mesh, join, oriented
from clapas.bodies.elastic.mortar import MortarContact
from clapas.bodies.elastic.obstacles import Obstacle
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Support, symmetry

__all__ = [
    "Elastic",
    "ElasticBodies",
    "FiniteVonMises",
    "Mesh",
    "MortarContact",
    "NeoHookean",
    "Obstacle",
    "RigidContact",
    "Solid",
    "Support",
    "SurfaceContact",
    "VonMises",
    "bar",
    "block",
    "graded",
    "hertz_block",
    "join",
    "oriented",
    "read_mesh",
    "ring",
    "symmetry",
    "write_mesh",
]
