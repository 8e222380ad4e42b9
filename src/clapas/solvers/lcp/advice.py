"""Advice on the choice of a method where another has failed."""

from __future__ import annotations

from clapas.problems import matrix_classes
from clapas.problems.lcp import LCP
from clapas.solvers.lcp import games

LARGEST_TEST = 1000  # unknowns up to which the class of M is determined
FEW = 30  # unknowns that a mixed-integer program can deal with


def advise(problem: LCP, tried: str = "") -> str:
    """A sentence that names a method which solves problems of this class; the exact one if not ``tried``.

    >>> advise(LCP([[0.0, 2.0], [3.0, 0.0]], [-1.0, -1.0]))
    'This is a bimatrix game: Lemke() solves it, by the pivots of Lemke and Howson.'
    >>> advise(LCP([[1.0, 0.0], [0.0, 0.0]], [-1.0, 1.0]))
    'M is positive semidefinite: Lemke() and InteriorPoint() solve such problems.'
    """
    if games.players(problem) is not None:
        return "This is a bimatrix game: Lemke() solves it, by the pivots of Lemke and Howson."
    if problem.size > LARGEST_TEST:
        return "Lemke() and InteriorPoint() solve the largest classes of problems."
    M = problem.dense
    if matrix_classes.is_positive_semidefinite(M):
        return "M is positive semidefinite: Lemke() and InteriorPoint() solve such problems."
    if matrix_classes.is_p_matrix(M):
        return "M is a P-matrix: Lemke() and BlockPivoting() solve such problems."
    is_left = problem.size <= FEW and tried != "MixedInteger"
    exact = "; MixedInteger() decides any" if is_left else ""
    return f"M is not positive semidefinite: Lemke() solves copositive-plus problems{exact}."
