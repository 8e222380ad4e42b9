"""The problems to solve: their data, residuals and checks, without algorithms."""

from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import Component, component_labels, delassus_operator, reduce, split
from clapas.problems.friction_lcp import FrictionLCP, polyhedral_lcp, reaction_lcp, velocity_lcp
from clapas.problems.lcp import LCP, Infeasibility, LCPReport
from clapas.problems.mixed_lcp import MixedLCP
from clapas.problems.relay import Relay
from clapas.problems.report import Report

__all__ = [
    "LCP",
    "Component",
    "ContactProblem",
    "FrictionLCP",
    "Infeasibility",
    "LCPReport",
    "MixedLCP",
    "Relay",
    "Report",
    "component_labels",
    "delassus_operator",
    "polyhedral_lcp",
    "reaction_lcp",
    "reduce",
    "split",
    "velocity_lcp",
]
