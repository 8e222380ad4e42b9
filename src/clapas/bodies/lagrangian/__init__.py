"""Lagrangian systems in user-defined coordinates: M(q) q'' + N(q, q') = F."""

from clapas.bodies.lagrangian.euler import euler_body
from clapas.bodies.lagrangian.symbolic import from_symbols
from clapas.bodies.lagrangian.system import LagrangianSystem

__all__ = ["LagrangianSystem", "euler_body", "from_symbols"]
