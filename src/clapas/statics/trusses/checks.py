"""Member checks: yield, buckling of bars, slack cables; and envelopes over load cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.statics.trusses.equilibrium import Equilibrium
from clapas.typing import Array, Indices


@dataclass(frozen=True, eq=False)
class MemberChecks:
    """How much of its strength each member uses, in one state.

    Parameters
    ----------
    truss : Truss
        The structure.
    forces : array (m,)
        Axial forces (N).
    buckling_factor : float
        Buckling length over length: 1 for pinned ends, the case of a truss.
    """

    truss: Truss
    forces: Array
    buckling_factor: float = 1.0

    def _of_groups(self, values: Sequence[float]) -> Array:
        return np.asarray(values)[self.truss.group]

    @cached_property
    def stress(self) -> Array:
        """Axial stress (m,), tension positive (Pa)."""
        return self.forces / self._of_groups([g.section.area for g in self.truss.groups])

    @cached_property
    def yielding(self) -> Array:
        """Stress over yield stress (m,)."""
        return np.abs(self.stress) / self._of_groups([g.material.yield_stress for g in self.truss.groups])

    @cached_property
    def critical(self) -> Array:
        """Euler's load of each bar, π² E I/(f l)² (N); infinite for cables."""
        EI = self._of_groups([g.material.young * g.section.inertia for g in self.truss.groups])
        load = np.pi**2 * EI / (self.buckling_factor * self.truss.lengths) ** 2
        return np.asarray(np.where(self.truss.is_cable, np.inf, load))

    @cached_property
    def buckling(self) -> Array:
        """Compression over Euler's load (m,)."""
        return np.maximum(-self.forces, 0.0) / self.critical

    @cached_property
    def utilisation(self) -> Array:
        """The larger of yielding and buckling (m,): above 1 the member fails."""
        return np.maximum(self.yielding, self.buckling)

    @property
    def failed(self) -> Indices:
        """Numbers of the members whose utilisation exceeds 1."""
        return np.flatnonzero(self.utilisation > 1.0)

    def by_group(self) -> list[dict[str, float | int | str]]:
        """One row per group: extreme forces, largest utilisation and its cause, slack and failed members."""
        rows: list[dict[str, float | int | str]] = []
        for number, group in enumerate(self.truss.groups):
            mine = np.flatnonzero(self.truss.group == number)
            if not len(mine):
                continue
            worst = mine[int(np.argmax(self.utilisation[mine]))]
            rows.append(
                {
                    "group": group.name,
                    "kind": group.kind,
                    "members": len(mine),
                    "smallest force": float(self.forces[mine].min()),
                    "largest force": float(self.forces[mine].max()),
                    "utilisation": float(self.utilisation[worst]),
                    "by": "buckling" if self.buckling[worst] > self.yielding[worst] else "yield",
                    "member": int(worst),
                    "slack": int((self.forces[mine] <= 0.0).sum()) if group.kind == "cable" else 0,
                    "failed": int((self.utilisation[mine] > 1.0).sum()),
                }
            )
        return rows


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
    found = list(named.values())
    if not found:
        raise ProblemError("an envelope needs at least one state, got none")
    forces = np.stack([state.forces for state in found])
    used = np.stack([check_members(state, buckling_factor).utilisation for state in found])
    return Envelope(
        tuple(named),
        forces.min(axis=0),
        forces.max(axis=0),
        forces.argmin(axis=0),
        forces.argmax(axis=0),
        used.max(axis=0),
        used.argmax(axis=0),
        np.any([state.is_slack for state in found], axis=0),
    )
