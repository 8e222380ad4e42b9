"""Methods that solve contact problems: one per file, the same call for all."""

from clapas.solvers.accelerated_projection import AcceleratedProjection
from clapas.solvers.alart_curnier_fixed_point import AlartCurnierFixedPoint
from clapas.solvers.conic_fixed_point import ConicFixedPoint
from clapas.solvers.conjugate_gradient import ConjugateGradient
from clapas.solvers.convex import AcceleratedGradient, ProjectedGradient, Relay, SpectralGradient
from clapas.solvers.de_saxce_fixed_point import DeSaxceFixedPoint
from clapas.solvers.enumeration import Enumeration, SolutionSet, enumerate_solutions
from clapas.solvers.extragradient import Extragradient
from clapas.solvers.fixed_point import Anderson, Broyden, Newton, Picard
from clapas.solvers.haslinger import Haslinger
from clapas.solvers.local import AlartCurnier, DeSaxce, Exact
from clapas.solvers.loop import Progress, Solver
from clapas.solvers.minimisation import Bipotential, FischerBurmeister
from clapas.solvers.nsgs import NSGS, Coloured, Given, Shuffled
from clapas.solvers.projected_jacobi import ProjectedJacobi
from clapas.solvers.solution import History, Solution
from clapas.solvers.solve import solve

__all__ = [
    "NSGS",
    "AcceleratedGradient",
    "AcceleratedProjection",
    "AlartCurnier",
    "AlartCurnierFixedPoint",
    "Anderson",
    "Bipotential",
    "Broyden",
    "Coloured",
    "ConicFixedPoint",
    "ConjugateGradient",
    "DeSaxce",
    "DeSaxceFixedPoint",
    "Enumeration",
    "Exact",
    "Extragradient",
    "FischerBurmeister",
    "Given",
    "Haslinger",
    "History",
    "Newton",
    "Picard",
    "Progress",
    "ProjectedGradient",
    "ProjectedJacobi",
    "Relay",
    "Shuffled",
    "Solution",
    "SolutionSet",
    "Solver",
    "SpectralGradient",
    "enumerate_solutions",
    "solve",
]
