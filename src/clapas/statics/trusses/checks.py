"""Member checks: yield, buckling of bars, slack cables; and envelopes over load cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clapas.bodies.trusses.strength import MemberChecks
from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.statics.trusses.equilibrium import Equilibrium
from clapas.typing import Array, Indices


def check_members(state: Equilibrium | Truss, buckling_factor: float = 1.0) -> MemberChecks:
    """Yield and buckling of every member, loaded (an Equilibrium) or under prestress alone (a Truss).

    Examples
    --------
    The bars of the thesis's module, solid and round, use 60 % of Euler's load under prestress alone:

    >>> from clapas.bodies.trusses.generators import module
    >>> check_members(module()).by_group()[3]["utilisation"].__round__(2)
    0.6
    """
    if buckling_factor <= 0.0:
        raise ProblemError(f"the buckling factor must be positive, got {buckling_factor:g}")
    if isinstance(state, Truss):
        return MemberChecks(state, state.prestress, buckling_factor)
    return MemberChecks(state.truss, state.forces, buckling_factor)


@dataclass(frozen=True, eq=False)
class Envelope:
    """Extremes over load cases.

    Parameters
    ----------
    cases : tuple of str
        Names, in the order of the numbers below.
    smallest, largest : arrays (m,)
        Extreme axial forces (N).
    smallest_case, largest_case : arrays (m,) of int
        Which case gives them.
    utilisation : array (m,)
        Largest utilisation over the cases.
    utilisation_case : array (m,) of int
        Which case gives it.
    is_ever_slack : array (m,) of bool
        Cables slack in some case.
    """

    cases: tuple[str, ...]
    smallest: Array
    largest: Array
    smallest_case: Indices
    largest_case: Indices
    utilisation: Array
    utilisation_case: Indices
    is_ever_slack: Array


def envelope(
    states: Mapping[str, Equilibrium] | Sequence[Equilibrium], buckling_factor: float = 1.0
) -> Envelope:
    """Extreme forces and utilisations over several states of one structure."""
    named = (
        dict(states) if isinstance(states, Mapping) else {s.case or str(i): s for i, s in enumerate(states)}
    )
    listed = list(named.values())
    if not listed:
        raise ProblemError("an envelope needs at least one state, got none")
    forces = np.stack([state.forces for state in listed])
    utilisation = np.stack([check_members(state, buckling_factor).utilisation for state in listed])
    return Envelope(
        tuple(named),
        forces.min(axis=0),
        forces.max(axis=0),
        forces.argmin(axis=0),
        forces.argmax(axis=0),
        utilisation.max(axis=0),
        utilisation.argmax(axis=0),
        np.any([state.is_slack for state in listed], axis=0),
    )
