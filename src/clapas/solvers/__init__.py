"""Solvers of contact problems: one method per file, one interface for all."""

from clapas.solvers.accelerated_projection import AcceleratedProjection
from clapas.solvers.admm import ADMM
from clapas.solvers.alart_curnier_fixed_point import AlartCurnierFixedPoint
from clapas.solvers.auto import Auto
from clapas.solvers.branch_and_bound import BranchAndBound, all_solutions
from clapas.solvers.conic_fixed_point import ConicFixedPoint
from clapas.solvers.conjugate_gradient import ConjugateGradient
from clapas.solvers.convex import AcceleratedGradient, Fallback, ProjectedGradient, SpectralGradient
from clapas.solvers.de_saxce_fixed_point import DeSaxceFixedPoint
from clapas.solvers.dense import DenseNewton
from clapas.solvers.enumeration import Enumeration, SolutionSet, enumerate_solutions
from clapas.solvers.extragradient import Extragradient
from clapas.solvers.fixed_point import Anderson, Broyden, Newton, Picard
from clapas.solvers.haslinger import Haslinger
from clapas.solvers.interior_point import ConvexInteriorPoint, InteriorPoint
from clapas.solvers.latin import LATIN
from clapas.solvers.local import AlartCurnier, DeSaxce, Exact
from clapas.solvers.loop import Progress, Solver, solve
from clapas.solvers.micro_macro import MicroMacro
from clapas.solvers.minimisation import Bipotential, FischerBurmeister, MeritFunction
from clapas.solvers.newton import (
    AlartCurnierMap,
    Armijo,
    FischerBurmeisterMap,
    FullStep,
    GoldsteinPrice,
    JeanMoreauMap,
    Katzenelson,
    LevenbergMarquardt,
    NaturalMap,
    Nonmonotone,
    SemismoothNewton,
    SmoothedNewton,
)
from clapas.solvers.nsgs import NSGS, Coloured, Given, Shuffled
from clapas.solvers.projected_jacobi import ProjectedJacobi
from clapas.solvers.proximal_point import ProximalPoint
from clapas.solvers.solution import History, Solution

__all__ = [
    "ADMM",
    "LATIN",
    "NSGS",
    "AcceleratedGradient",
    "AcceleratedProjection",
    "AlartCurnier",
    "AlartCurnierFixedPoint",
    "AlartCurnierMap",
    "Anderson",
    "Armijo",
    "Auto",
    "Bipotential",
    "BranchAndBound",
    "Broyden",
    "Coloured",
    "ConicFixedPoint",
    "ConjugateGradient",
    "ConvexInteriorPoint",
    "DeSaxce",
    "DeSaxceFixedPoint",
    "DenseNewton",
    "Enumeration",
    "Exact",
    "Extragradient",
    "Fallback",
    "FischerBurmeister",
    "FischerBurmeisterMap",
    "FullStep",
    "Given",
    "GoldsteinPrice",
    "Haslinger",
    "History",
    "InteriorPoint",
    "JeanMoreauMap",
    "Katzenelson",
    "LevenbergMarquardt",
    "MeritFunction",
    "MicroMacro",
    "NaturalMap",
    "Newton",
    "Nonmonotone",
    "Picard",
    "Progress",
    "ProjectedGradient",
    "ProjectedJacobi",
    "ProximalPoint",
    "SemismoothNewton",
    "Shuffled",
    "SmoothedNewton",
    "Solution",
    "SolutionSet",
    "Solver",
    "SpectralGradient",
    "all_solutions",
    "enumerate_solutions",
    "solve",
]
