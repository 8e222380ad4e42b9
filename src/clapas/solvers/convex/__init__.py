"""Methods for the convex problem with frozen friction, used by the fixed points."""

from clapas.solvers.convex.accelerated_gradient import AcceleratedGradient
from clapas.solvers.convex.base import ConvexMethod, ConvexProblem, ConvexSolution, ConvexSolver
from clapas.solvers.convex.fallback import Fallback
from clapas.solvers.convex.projected_gradient import ProjectedGradient
from clapas.solvers.convex.spectral_gradient import SpectralGradient

__all__ = [
    "AcceleratedGradient",
    "ConvexMethod",
    "ConvexProblem",
    "ConvexSolution",
    "ConvexSolver",
    "Fallback",
    "ProjectedGradient",
    "SpectralGradient",
]
