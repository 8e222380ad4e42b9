"""Pin-jointed bars and unilateral cables: structure, kernels, stability, form finding, vibrations, motion."""

from clapas.bodies.trusses.actuators import Actuator, History
from clapas.bodies.trusses.assembly import Assembly
from clapas.bodies.trusses.form_finding import adaptive_force_densities, force_densities
from clapas.bodies.trusses.kinematics import Kinematics, kinematics, rigid_motions
from clapas.bodies.trusses.materials import Group, Material, Section
from clapas.bodies.trusses.modal import Modes, mass_matrix, modes
from clapas.bodies.trusses.moving import MovingTruss
from clapas.bodies.trusses.prestress import feasible_self_stress, orbits
from clapas.bodies.trusses.relaxation import DynamicRelaxation
from clapas.bodies.trusses.stability import (
    Stability,
    Unstable,
    is_super_stable,
    require_stable,
    stability,
    stress_matrix,
)
from clapas.bodies.trusses.structure import ImpossibleTruss, Truss

__all__ = [
    "Actuator",
    "Assembly",
    "DynamicRelaxation",
    "Group",
    "History",
    "ImpossibleTruss",
    "Kinematics",
    "Material",
    "Modes",
    "MovingTruss",
    "Section",
    "Stability",
    "Truss",
    "Unstable",
    "adaptive_force_densities",
    "feasible_self_stress",
    "force_densities",
    "is_super_stable",
    "kinematics",
    "mass_matrix",
    "modes",
    "orbits",
    "require_stable",
    "rigid_motions",
    "stability",
    "stress_matrix",
]
