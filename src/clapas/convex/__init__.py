"""Convex sets of contact mechanics: cones, thresholds, their projections and derivatives.

One file per set. Every set has the same four methods (see :class:`ConvexSet`); the modules
``coulomb`` and ``jordan`` also provide their formulas as functions on arrays. Compiled versions of
the formulas are in ``coulomb_kernels``, imported on demand.
"""

from clapas.convex import coulomb, jordan
from clapas.convex.base import Cone, ConvexSet, Opposite
from clapas.convex.coulomb import CoulombCone, DualCoulombCone
from clapas.convex.jordan import (
    fischer_burmeister,
    fischer_burmeister_jacobian,
    lorentz_scaling,
    to_lorentz,
)
from clapas.convex.orthant import Orthant
from clapas.convex.polyhedral import PolyhedralCone
from clapas.convex.product import ProductCone, ProductSet
from clapas.convex.section import Ellipses, Polygons, Section, SectionCone
from clapas.convex.tresca import Disc, Interval, TrescaSet

__all__ = [
    "Cone",
    "ConvexSet",
    "CoulombCone",
    "Disc",
    "DualCoulombCone",
    "Ellipses",
    "Interval",
    "Opposite",
    "Orthant",
    "Polygons",
    "PolyhedralCone",
    "ProductCone",
    "ProductSet",
    "Section",
    "SectionCone",
    "TrescaSet",
    "coulomb",
    "fischer_burmeister",
    "fischer_burmeister_jacobian",
    "jordan",
    "lorentz_scaling",
    "to_lorentz",
]
