"""Thin elastic rods: hair, cables, bristles, as super-helices (inextensible Kirchhoff rods)."""

from clapas.bodies.rods.definition import Rod, Support
from clapas.bodies.rods.equilibrium import equilibrium
from clapas.bodies.rods.rods import Rods

__all__ = ["Rod", "Rods", "Support", "equilibrium"]
