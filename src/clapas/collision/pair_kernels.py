"""Types of pairs, and the method for each."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from clapas.collision.narrow.axes import new_trials
from clapas.collision.narrow.capsules_triangles import Thin
from clapas.collision.narrow.cylinder_plane import CylinderOnPlane
from clapas.collision.narrow.cylinders import Cylinders, new_directions, new_prism
from clapas.collision.narrow.gjk import new_simplex
from clapas.collision.narrow.manifold import new_clipping
from clapas.collision.narrow.planes import CornersOnPlane, HullOnPlane, SphereOnPlane, new_corner_list
from clapas.collision.narrow.polygons import Polygons
from clapas.collision.narrow.segments import Capsules
from clapas.collision.narrow.solids import Solids
from clapas.collision.narrow.sphere_solid import (
    SphereOnCapsule,
    SphereOnCylinder,
    SphereOnFaces,
    SphereOnTriangle,
)
from clapas.collision.narrow.spheres import Spheres
from clapas.collision.records import Shapes
from clapas.geometry.colliders import Kind
from clapas.typing import Indices


class Group(IntEnum):
    """Types of pairs, one kernel each."""

    SPHERES = 0
    SPHERE_PLANE = 1
    CORNERS_PLANE = 2
    HULL_PLANE = 3
    CYLINDER_PLANE = 4
    SPHERE_CAPSULE = 5
    SPHERE_CYLINDER = 6
    SPHERE_FACES = 7
    SPHERE_TRIANGLE = 8
    CAPSULES = 9
    SOLIDS = 10
    THIN = 11
    CYLINDERS = 12
    POLYGONS = 13


WORK: dict[Group, float] = {Group.SPHERES: 0.5, Group.SOLIDS: 10.0, Group.THIN: 20.0, Group.CYLINDERS: 50.0}
"""Cost of a pair, in visits of a contact by a solver; 1 by default."""


def group_table(d: int) -> Indices:
    """Group of each two kinds of colliders."""
    table = np.full((len(Kind), len(Kind)), Group.SOLIDS if d == 3 else Group.POLYGONS, dtype=np.int8)
    for thin in (Kind.CAPSULE, Kind.TRIANGLE):
        table[thin, :] = table[:, thin] = Group.THIN
    table[Kind.CAPSULE, Kind.CAPSULE] = Group.CAPSULES
    table[Kind.CYLINDER, :] = table[:, Kind.CYLINDER] = Group.CYLINDERS
    for kind in Kind:
        table[Kind.SPHERE, kind] = table[kind, Kind.SPHERE] = _with_sphere(kind)
    for kind in Kind:
        table[Kind.PLANE, kind] = table[kind, Kind.PLANE] = _with_plane(kind)
    return table


def _with_sphere(kind: Kind) -> Group:
    special = {
        Kind.SPHERE: Group.SPHERES,
        Kind.CAPSULE: Group.SPHERE_CAPSULE,
        Kind.CYLINDER: Group.SPHERE_CYLINDER,
        Kind.TRIANGLE: Group.SPHERE_TRIANGLE,
    }
    return special.get(kind, Group.SPHERE_FACES)


def _with_plane(kind: Kind) -> Group:
    special = {
        Kind.SPHERE: Group.SPHERE_PLANE,
        Kind.CYLINDER: Group.CYLINDER_PLANE,
        Kind.POLYHEDRON: Group.HULL_PLANE,
    }
    return special.get(kind, Group.CORNERS_PLANE)


class PairKernels:
    """Pair methods of all groups, with work space for one thread.

    Parameters
    ----------
    shapes : Shapes
        The colliders.
    d : 2 or 3
        Dimension.
    radix : int
        Above all numbers of corners and edges.
    """

    def __init__(self, shapes: Shapes, d: int, radix: int) -> None:
        self._d, self._radix = d, radix
        self._simplex, self._corners, self._directions = new_simplex(), new_corner_list(), new_directions()
        self._trials, self._clipping = new_trials(shapes.pieces), new_clipping(shapes.faces)
        self._prisms = new_prism(), new_prism()

    def of(self, group: Group, separated: Indices) -> Any:
        """Method of a group; ``separated`` stores an axis for each pair of solids."""
        simplex, trials, clipping, radix = self._simplex, self._trials, self._clipping, self._radix
        match group:
            case Group.SPHERES:
                return Spheres(self._d)
            case Group.SPHERE_PLANE:
                return SphereOnPlane()
            case Group.CORNERS_PLANE:
                return CornersOnPlane()
            case Group.HULL_PLANE:
                return HullOnPlane(self._corners)
            case Group.CYLINDER_PLANE:
                return CylinderOnPlane()
            case Group.SPHERE_CAPSULE:
                return SphereOnCapsule()
            case Group.SPHERE_CYLINDER:
                return SphereOnCylinder()
            case Group.SPHERE_FACES:
                return SphereOnFaces()
            case Group.SPHERE_TRIANGLE:
                return SphereOnTriangle()
            case Group.CAPSULES:
                return Capsules()
            case Group.SOLIDS:
                return Solids(simplex, trials, clipping, separated, radix)
            case Group.THIN:
                return Thin(simplex, trials, clipping, radix)
            case Group.CYLINDERS:
                return Cylinders(simplex, trials, clipping, *self._prisms, self._directions, radix)
            case Group.POLYGONS:
                return Polygons(radix)
