"""Equilibrium of bars and cables: small and large displacements, complementarity forms, checks, design."""

from clapas.bodies.trusses.strength import MemberChecks
from clapas.statics.trusses.arc_length import ArcLength, Path
from clapas.statics.trusses.checks import Envelope, check_members, envelope
from clapas.statics.trusses.complementarity import CableLCP, cable_lcp, solve_cables, solve_inextensible
from clapas.statics.trusses.design import (
    TensioningStage,
    least_prestress,
    length_sensitivity,
    level_for_stiffness,
    load_forces,
    prestress_level,
    tensioning,
)
from clapas.statics.trusses.equilibrium import Equilibrium
from clapas.statics.trusses.large import LargeDisplacements, settle
from clapas.statics.trusses.small import SmallDisplacements
from clapas.statics.trusses.substructured import SubstructuredDisplacements, link_problem, module_blocks

__all__ = [
    "ArcLength",
    "CableLCP",
    "Envelope",
    "Equilibrium",
    "LargeDisplacements",
    "MemberChecks",
    "Path",
    "SmallDisplacements",
    "SubstructuredDisplacements",
    "TensioningStage",
    "cable_lcp",
    "check_members",
    "envelope",
    "least_prestress",
    "length_sensitivity",
    "level_for_stiffness",
    "link_problem",
    "load_forces",
    "module_blocks",
    "prestress_level",
    "settle",
    "solve_cables",
    "solve_inextensible",
    "tensioning",
]
