"""The algebra to solve: data, residual, checks; no algorithm."""

from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import Component, component_labels, delassus_operator, reduce, split
from clapas.problems.report import Report

__all__ = [
    "Component",
    "ContactProblem",
    "Report",
    "component_labels",
    "delassus_operator",
    "reduce",
    "split",
]
