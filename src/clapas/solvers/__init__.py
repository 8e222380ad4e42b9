"""Methods that solve contact problems: one per file, the same call for all."""

from clapas.solvers.local import AlartCurnier, DeSaxce, Exact
from clapas.solvers.loop import Progress, Solver
from clapas.solvers.nsgs import NSGS, Coloured, Given, Shuffled
from clapas.solvers.solution import History, Solution
from clapas.solvers.solve import solve

__all__ = [
    "NSGS",
    "AlartCurnier",
    "Coloured",
    "DeSaxce",
    "Exact",
    "Given",
    "History",
    "Progress",
    "Shuffled",
    "Solution",
    "Solver",
    "solve",
]
