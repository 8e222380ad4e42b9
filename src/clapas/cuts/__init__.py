"""Separation: inequalities that exclude a point and keep every solution of a problem.

A relaxation has a solution x̄ that the true problem excludes, because every true solution satisfies one of
two more inequalities: a variable is an integer, or one of two complementary quantities vanishes. *Cuts* are
inequalities that hold on both branches and fail at x̄.

One file per method: :mod:`~clapas.cuts.intersection`, :mod:`~clapas.cuts.most_violated` (lift-and-project),
:mod:`~clapas.cuts.deepest` and :mod:`~clapas.cuts.facets` (the deepest cut and its decomposition). Linear
programs are solved by HiGHS, an optional dependency: ``pip install 'clapas[cuts]'``.
"""

from __future__ import annotations

from clapas.cuts.cut import Cut
from clapas.cuts.deepest import deepest_cut
from clapas.cuts.disjunction import Disjunction, NothingToSeparate
from clapas.cuts.faces import Face, exposed_face, hull_dimension, least_size
from clapas.cuts.facets import Decomposition, Piece, decompose
from clapas.cuts.intersection import Basis, intersection_cut, least_normalisation
from clapas.cuts.milp import MILP, read_milp, write_milp
from clapas.cuts.most_violated import most_violated_cut
from clapas.cuts.polyhedron import ReversePolar
from clapas.cuts.rounds import CuttingPlanes, Report, Round
from clapas.cuts.selection import Selection

__all__ = [
    "MILP",
    "Basis",
    "Cut",
    "CuttingPlanes",
    "Decomposition",
    "Disjunction",
    "Face",
    "NothingToSeparate",
    "Piece",
    "Report",
    "ReversePolar",
    "Round",
    "Selection",
    "decompose",
    "deepest_cut",
    "exposed_face",
    "hull_dimension",
    "intersection_cut",
    "least_normalisation",
    "least_size",
    "most_violated_cut",
    "read_milp",
    "write_milp",
]
