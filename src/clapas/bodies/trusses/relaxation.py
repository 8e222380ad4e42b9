"""Form finding by dynamic relaxation with kinetic damping: velocities are reset at peaks of kinetic energy.

Members carry forces by their rest lengths (elastic), or prescribed forces or force densities; fictitious
nodal masses make the time step one. Robust far from equilibrium, where Newton's method has no good tangent;
slow near it, where ``clapas.statics.trusses.settle`` finishes in a few steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.typing import Array, Indices


@dataclass(frozen=True, kw_only=True, slots=True)
class DynamicRelaxation:
    """Settings of dynamic relaxation with kinetic damping.

    Parameters
    ----------
    tol : float
        Largest force left at a free displacement, relative to the largest member force.
    max_iterations : int
        Steps.

    References: Barnes 1999; Day 1965.
    """

    tol: float = 1e-9
    max_iterations: int = 100_000

    def shape(
        self,
        truss: Truss,
        *,
        given: Literal["rest lengths", "forces", "densities"] = "rest lengths",
        values: npt.ArrayLike | None = None,
        case: str | None = None,
    ) -> Truss:
        """The structure in the shape where it comes to rest, its prestress the forces there.

        Parameters
        ----------
        truss : Truss
            The structure in the shape to start from.
        given : "rest lengths", "forces" or "densities"
            What each member keeps while the shape changes: l⁰ (m), t (N) or q = t/l (N/m).
        values : array (m,), optional
            Those values; by default those of the given shape.
        case : str, optional
            Loads during relaxation.

        Examples
        --------
        A cable of prescribed force pulls a node half-way between two supports onto their line:

        >>> from clapas.bodies.trusses.generators.plane import CABLES
        >>> cable = Truss(nodes=[[0, 0], [0.7, 0.5], [2, 0]], members=[[0, 1], [1, 2]], groups=[CABLES],
        ...               group=[0, 0], is_blocked=[[1, 1], [0, 0], [1, 1]])
        >>> found = DynamicRelaxation().shape(cable, given="densities", values=[10.0, 10.0])
        >>> found.nodes[1].round(6).tolist()
        [1.0, 0.0]
        """
        prescribed = _prescribed(truss, given, values)
        EA, free, ends = truss.axial_stiffness, ~truss.is_blocked, truss.members
        loads = np.zeros(truss.nodes.shape) if case is None else truss.displacements(truss.load(case))
        x: Array = truss.nodes.copy()
        v: Array = np.zeros(truss.nodes.shape)
        energy = 0.0
        for _ in range(self.max_iterations):
            arrow = x[ends[:, 1]] - x[ends[:, 0]]
            length = np.linalg.norm(arrow, axis=1)
            if length.min() <= 0.0:
                raise ProblemError(
                    f"member {int(np.argmin(length))} shrank to nothing while relaxing: change its {given}"
                )
            if given == "rest lengths":
                tangent = EA / prescribed
                t = tangent * (length - prescribed)
                t = np.where(truss.is_cable, np.maximum(t, 0.0), t)
            else:
                t = prescribed * length if given == "densities" else prescribed
                tangent = np.abs(t) / length
            pull = (t / length)[:, None] * arrow
            left: Array = loads + _sum(ends[:, 0], pull, x.shape) - _sum(ends[:, 1], pull, x.shape)
            left[~free] = 0.0
            if np.abs(left).max() <= self.tol * max(np.abs(t).max(), np.abs(loads).max()):
                forces = np.where(truss.is_cable, np.maximum(t, 0.0), t)
                return truss.with_(nodes=x, prestress=forces)
            # Gershgorin: a mass of half the largest row sum of the stiffness makes a step of one stable.
            stiff = 2.0 * (tangent + np.abs(t) / length)
            mass = np.bincount(ends.ravel(), weights=np.repeat(stiff, 2), minlength=len(x))[:, None]
            v = v + left / np.maximum(mass, 1e-300)
            new_energy = float((mass * v * v).sum())
            if new_energy < energy:  # past a peak: the minimum of potential energy is half a step back
                x = x - 0.5 * v
                v, energy = np.zeros_like(v), 0.0
                continue
            energy = new_energy
            x = x + v
        raise ProblemError(
            f"dynamic relaxation left {np.abs(left).max():.3g} N after {self.max_iterations} steps: raise "
            "max_iterations or tol, or finish with clapas.statics.trusses.settle"
        )


def _prescribed(truss: Truss, given: str, values: npt.ArrayLike | None) -> Array:
    defaults = {
        "rest lengths": truss.rest_lengths,
        "forces": truss.prestress,
        "densities": truss.prestress / truss.lengths,
    }
    if given not in defaults:
        raise ProblemError(f"given must be 'rest lengths', 'forces' or 'densities', got {given!r}")
    chosen = defaults[given] if values is None else np.asarray(values, dtype=np.float64)
    if chosen.shape != (truss.n_members,):
        raise ProblemError(
            f"{given}: {truss.n_members} members need {truss.n_members} values, got shape {chosen.shape}"
        )
    return chosen


def _sum(nodes: Indices, values: Array, shape: tuple[int, ...]) -> Array:
    columns = [np.bincount(nodes, weights=values[:, axis], minlength=shape[0]) for axis in range(shape[1])]
    return np.asarray(np.column_stack(columns), dtype=np.float64)
