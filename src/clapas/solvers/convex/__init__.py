"""Methods for the convex problem that remains when friction is frozen; parts of the fixed points."""

from clapas.solvers.convex.base import ConvexAnswer, ConvexMethod, ConvexProblem, ConvexSolver

__all__ = ["ConvexAnswer", "ConvexMethod", "ConvexProblem", "ConvexSolver"]
