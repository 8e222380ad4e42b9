"""Fixed points on one number per contact: the outer loop and the update schemes."""

from clapas.solvers.fixed_point.anderson import Anderson
from clapas.solvers.fixed_point.base import Picard, Scheme
from clapas.solvers.fixed_point.broyden import Broyden
from clapas.solvers.fixed_point.newton import Newton

__all__ = ["Anderson", "Broyden", "Newton", "Picard", "Scheme"]
