"""Solvers of linear complementarity problems: one method per file, one interface for all."""

from clapas.solvers.lcp.auto import Auto
from clapas.solvers.lcp.conjugate_gradient import ConjugateProjectedGradient
from clapas.solvers.lcp.enumeration import LCPEnumeration, enumerate_lcp
from clapas.solvers.lcp.feasibility import prove_infeasible
from clapas.solvers.lcp.fischer_burmeister import FischerBurmeisterNewton
from clapas.solvers.lcp.gauss_seidel import GaussSeidel
from clapas.solvers.lcp.interior_point import InteriorPoint
from clapas.solvers.lcp.keller import PrincipalPivoting
from clapas.solvers.lcp.latin import LATIN
from clapas.solvers.lcp.lemke import Lemke
from clapas.solvers.lcp.loop import LCPSolver
from clapas.solvers.lcp.minimum_map import MinimumMap
from clapas.solvers.lcp.mixed_integer import MixedInteger
from clapas.solvers.lcp.murty import BlockPivoting
from clapas.solvers.lcp.quadratic import QuadraticProgram
from clapas.solvers.lcp.refutation import Refutation, refute
from clapas.solvers.lcp.solution import LCPSolution, Ray
from clapas.solvers.lcp.solve import solve_lcp
from clapas.solvers.lcp.tableau import LemkeTableau

__all__ = [
    "LATIN",
    "Auto",
    "BlockPivoting",
    "ConjugateProjectedGradient",
    "FischerBurmeisterNewton",
    "GaussSeidel",
    "InteriorPoint",
    "LCPEnumeration",
    "LCPSolution",
    "LCPSolver",
    "Lemke",
    "LemkeTableau",
    "MinimumMap",
    "MixedInteger",
    "PrincipalPivoting",
    "QuadraticProgram",
    "Ray",
    "Refutation",
    "enumerate_lcp",
    "prove_infeasible",
    "refute",
    "solve_lcp",
]
