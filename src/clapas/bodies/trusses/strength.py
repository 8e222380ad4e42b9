"""Strength of members: yield of all, Euler's buckling of bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clapas.bodies.trusses.structure import Truss
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
            members = np.flatnonzero(self.truss.group == number)
            if not len(members):
                continue
            worst = members[int(np.argmax(self.utilisation[members]))]
            rows.append(
                {
                    "group": group.name,
                    "kind": group.kind,
                    "members": len(members),
                    "smallest force": float(self.forces[members].min()),
                    "largest force": float(self.forces[members].max()),
                    "utilisation": float(self.utilisation[worst]),
                    "by": "buckling" if self.buckling[worst] > self.yielding[worst] else "yield",
                    "member": int(worst),
                    "slack": int((self.forces[members] <= 0.0).sum()) if group.kind == "cable" else 0,
                    "failed": int((self.utilisation[members] > 1.0).sum()),
                }
            )
        return rows
