"""External conic solvers for the convex problem at frozen friction."""

from clapas.solvers.backends.clarabel import Clarabel
from clapas.solvers.backends.scs import SCS

__all__ = ["SCS", "Clarabel"]
