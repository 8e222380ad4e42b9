"""Cauchy stress from contact forces: Love and Weber's averages.

A contact that joins the centres of two grains by the branch l and carries the force f contributes f ⊗ l. The
average over a volume V is

    σ = (1/V) Σ f ⊗ l,

each branch counted for the part of it inside V. Compression is positive. In a periodic cell every image of a
branch that reaches into V counts. Branches and contact points are both of the middle of the step.

The tensor holds forces alone. It is symmetric where the grains are at rest and contacts carry no couples;
with rolling or spinning resistance V (σ_ij − σ_ji) is the sum of the couples about the axis across i and j.
The motion of the grains (Reynolds' part, ρ v ⊗ v about the mean velocity) is not in it.

References: Love 1927; Weber 1966; Goldhirsch 2010 (branches weighted by a window).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clapas.analysis.branches import spread_over_cells, sum_over_bodies
from clapas.analysis.images import images, is_periodic
from clapas.analysis.instant import Instant
from clapas.errors import SettingsError
from clapas.typing import Array


@dataclass(frozen=True)
class StressField:
    """Stress on a regular grid of cells.

    Parameters
    ----------
    edges : tuple of d arrays
        Edges of the cells along each axis (m).
    stress : array (cells along x, …, d, d)
        Mean stress of each cell (Pa).
    """

    edges: tuple[Array, ...]
    stress: Array

    @property
    def pressure(self) -> Array:
        """Mean normal stress of each cell, trace(σ)/d (Pa)."""
        return np.asarray(np.trace(self.stress, axis1=-2, axis2=-1) / len(self.edges))


def grain_stresses(instant: Instant, volume: npt.ArrayLike | None = None) -> Array:
    """Stress of each body, (N, d, d), from its contact forces and volume.

    Parameters
    ----------
    instant : Instant
        Bodies and forces.
    volume : array (N,), optional
        Volumes to divide by (m³), such as :func:`clapas.analysis.cells.cell_volumes`; by default those of
        the bodies themselves. Bodies without volume (walls) get zero.
    """
    moment = np.zeros((instant.n_bodies, instant.d, instant.d))
    sum_over_bodies(instant.a, instant.b, *instant.arms, instant.force, moment)
    V = np.where(instant.movable, instant.volume if volume is None else np.asarray(volume, float), 0.0)
    stress = np.divide(-moment, V[:, None, None], out=np.zeros_like(moment), where=V[:, None, None] > 0.0)
    return np.swapaxes(stress, 1, 2)


def box_stress(instant: Instant, low: Sequence[float], high: Sequence[float]) -> Array:
    """Mean stress in a box with edges along the axes, (d, d) (Pa).

    A box as wide as a periodic cell gives the mean over the cell, wherever it begins.
    """
    field = stress_field(instant, low, high, (1,) * instant.d)
    return np.asarray(field.stress.reshape(instant.d, instant.d))


def stress_field(
    instant: Instant, low: Sequence[float], high: Sequence[float], shape: Sequence[int]
) -> StressField:
    """Mean stress in each cell of a regular grid.

    Parameters
    ----------
    instant : Instant
        Bodies and forces.
    low, high : d floats
        Opposite corners (m).
    shape : d ints
        Cells along each axis.
    """
    d = instant.d
    corner, opposite = np.array(low, dtype=float), np.array(high, dtype=float)
    counts = np.array(shape, dtype=np.int64)
    if corner.shape != (d,) or opposite.shape != (d,) or counts.shape != (d,):
        raise SettingsError(f"low, high and shape need {d} numbers each, got {low}, {high} and {shape}")
    if not np.all(corner < opposite) or not np.all(counts > 0):
        raise SettingsError(f"the box must not be empty: got low {low}, high {high}, shape {shape}")
    size = (opposite - corner) / counts
    start, end = instant.branches
    if is_periodic(instant.period):
        rows, shift = images(
            np.minimum(start, end), np.maximum(start, end), instant.period, (corner, opposite)
        )
        start, end, force = start[rows] + shift, end[rows] + shift, instant.force[rows]
    else:
        force = instant.force
    tensor = np.einsum("ni,nj->nij", force, end - start)
    total = np.zeros((int(counts.prod()), d, d))
    spread_over_cells(start, end, tensor, corner, size, counts, total)
    edges = tuple(corner[k] + size[k] * np.arange(counts[k] + 1) for k in range(d))
    return StressField(edges, (total / size.prod()).reshape(*counts, d, d))


def principal(stress: Array) -> tuple[Array, Array]:
    """Principal stresses, the largest first, (…, d), and their directions in the columns of (…, d, d)."""
    symmetric = 0.5 * (stress + np.swapaxes(stress, -1, -2))
    values, directions = np.linalg.eigh(symmetric)
    return values[..., ::-1], directions[..., ::-1]


def draw_pressure(axes: Any, field: StressField) -> None:
    """Draw the pressure of a field as a map; a field in 3-D is averaged over y."""
    pressure, edges = field.pressure, field.edges
    if len(edges) == 3:
        pressure, edges = pressure.mean(axis=1), (edges[0], edges[2])
    mesh = axes.pcolormesh(*edges, pressure.T, cmap="viridis")
    axes.set(xlabel="x (m)", ylabel="z (m)" if len(field.edges) == 3 else "y (m)", aspect="equal")
    axes.figure.colorbar(mesh, ax=axes, label="pressure (Pa)", shrink=0.7)
