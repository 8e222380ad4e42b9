"""The result of statics: a structure in equilibrium under one load case."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from clapas.bodies.trusses.structure import Truss
from clapas.errors import NotSolved
from clapas.status import Status
from clapas.typing import Array, Mask

Model = Literal["small", "large", "inextensible"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Equilibrium:
    """Displacements and member forces under a load, with the residual of equilibrium.

    Parameters
    ----------
    truss : Truss
        The structure.
    model : "small", "large" or "inextensible"
        Small displacements about the given shape, large ones from rest lengths, or cables that do not
        stretch.
    case : str
        Name of the load case.
    loads : array (n × d)
        Loads (N), the factor included.
    displacements : array (n × d)
        From the prestressed shape (m).
    forces : array (m,)
        Axial forces (N), tension positive; zero in slack cables.
    status : Status
        Status of the solver.
    residual : float
        Largest force left at a free displacement, relative to the largest of loads and member forces.
    tol : float
        Tolerance on the residual.
    iterations : int
        Newton steps, or iterations of the complementarity method.
    time : float
        Seconds.
    remark : str
        What to try where it is not solved.
    """

    truss: Truss
    model: Model
    case: str
    loads: Array
    displacements: Array
    forces: Array
    status: Status
    residual: float
    tol: float
    iterations: int
    time: float
    remark: str = ""

    @cached_property
    def is_slack(self) -> Mask:
        """Cables without force (m,)."""
        return np.asarray(self.truss.is_cable & (self.forces <= 0.0))

    @property
    def slack_share(self) -> float:
        """Slack cables as a share of all cables; 0 for a structure without cables."""
        return float(self.is_slack.sum()) / max(self.truss.n_cables, 1)

    @property
    def shape(self) -> Array:
        """Positions of the loaded nodes (n × d, m)."""
        return self.truss.nodes + self.displacements

    @cached_property
    def lengths(self) -> Array:
        """Lengths of the members in the loaded shape (m)."""
        ends = self.shape[self.truss.members]
        return np.asarray(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1))

    @cached_property
    def reactions(self) -> Array:
        """Forces of the supports on the structure (n × d, N), zero at free components."""
        if self.model == "large":
            ends = self.shape[self.truss.members]
            lengths = np.where(
                self.lengths > 0.0, self.lengths, 1.0
            )  # a slack cable may have coincident ends
            arrow = (ends[:, 1] - ends[:, 0]) / lengths[:, None]
        else:
            arrow = self.truss.vectors / self.truss.lengths[:, None]
        inner = np.zeros(self.loads.shape)
        np.add.at(inner, self.truss.members[:, 1], self.forces[:, None] * arrow)
        np.add.at(inner, self.truss.members[:, 0], -self.forces[:, None] * arrow)
        return np.asarray(np.where(self.truss.is_blocked, inner - self.loads, 0.0))

    @property
    def largest_displacement(self) -> float:
        """Largest displacement component (m)."""
        return float(np.abs(self.displacements).max(initial=0.0))

    def as_dict(self) -> dict[str, Any]:
        """Numbers that describe the state, without the arrays."""
        cables = self.forces[self.truss.is_cable]
        bars = self.forces[~self.truss.is_cable]
        return {
            "case": self.case,
            "model": self.model,
            "status": self.status.name,
            "residual": self.residual,
            "iterations": self.iterations,
            "time": self.time,
            "slack_cables": int(self.is_slack.sum()),
            "slack_share": self.slack_share,
            "largest_cable_force": float(cables.max(initial=0.0)),
            "largest_compression": float(-bars.min(initial=0.0)),
            "largest_displacement": self.largest_displacement,
        }

    def __repr__(self) -> str:
        return (
            f"Equilibrium({self.case or 'no load'}, {self.model} displacements, {self.status.name}, residual "
            f"{self.residual:.1e}, {self.iterations} iterations, {100 * self.slack_share:.2f} % slack)"
        )

    def checked(self) -> Equilibrium:
        """Return self if solved; otherwise raise :class:`NotSolved`, which carries it."""
        if not self.status.is_solved:
            raise NotSolved(self, self.remark)  # type: ignore[arg-type]  # it has all fields used by the error
        return self


def case_loads(truss: Truss, case: str | None, factor: float) -> Array:
    """Loads (n × d, N) of a case times a factor; zero without a case."""
    if case is None:
        return np.zeros(truss.nodes.shape)
    truss.load(case)  # raises an error for an unknown case
    return np.asarray(factor * truss.cases[case])


def force_scale(*forces: Array) -> float:
    """Scale of residuals (N): the largest of loads, member forces and prestress, or one if all are zero."""
    largest = max(float(np.abs(values).max(initial=0.0)) for values in forces)
    return largest or 1.0
