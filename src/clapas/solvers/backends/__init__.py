"""Outside engines for the convex problem at fixed friction: general conic solvers."""

from clapas.solvers.backends.clarabel import Clarabel
from clapas.solvers.backends.scs import SCS

__all__ = ["SCS", "Clarabel"]
