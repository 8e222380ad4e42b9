"""Statics of deformable bodies in contact: one Newton loop, load histories, condensation."""

from clapas.statics.elastic.condensed import Condensed, condense, solve_condensed
from clapas.statics.elastic.loading import History, follow
from clapas.statics.elastic.newton import OneLoopNewton
from clapas.statics.elastic.problem import ElasticContact, IncrementFailed, State
from clapas.statics.elastic.substructured import SubstructuredContact, solid_problem

__all__ = [
    "Condensed",
    "ElasticContact",
    "History",
    "IncrementFailed",
    "OneLoopNewton",
    "State",
    "SubstructuredContact",
    "condense",
    "follow",
    "solid_problem",
    "solve_condensed",
]
