"""Rotation of cells of small strain: beyond a few degrees their stresses are invalid."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from clapas.bodies.elastic.solid import Solid
from clapas.compiled import kernel
from clapas.typing import Array, Indices

TURNED = 0.1  # rad: small strains miss 1 − cos of it, half a per cent
SMALL = 0.5 * TURNED  # displacement gradients g that cannot turn so far: tan ≤ √3 g / (1 − 3g/2)
FALSE = 0.5  # of the largest strain of a body: tolerated spurious strain


def too_far(angle: float, within: str = "") -> str:
    """Message for a cell of small strain that has turned by an angle (rad), with advice."""
    return (
        f"a cell of small strain has turned by {np.degrees(angle):.0f}°{within}: it is stressed by false "
        f"strains of {1.0 - np.cos(angle):.1g}. Take a material of large strain: NeoHookean, or "
        'FiniteVonMises where it yields (in files: law = "neo-Hookean", "finite von Mises")'
    )


class CellRotations:
    """Rotations of the cells with a material of small strain.

    Parameters
    ----------
    solid : Solid
        Undeformed.

    Examples
    --------
    >>> from clapas.bodies.elastic.generators import block
    >>> from clapas.bodies.elastic.materials import Elastic
    >>> solid = Solid(mesh=block((1.0, 1.0), (2, 2)), material=Elastic(young=1.0))
    >>> c, s = np.cos(0.3), np.sin(0.3)
    >>> u = solid.mesh.nodes @ np.array([[c, s], [-s, c]]) - solid.mesh.nodes
    >>> round(CellRotations(solid).too_large(u.ravel()), 12)
    0.3
    """

    def __init__(self, solid: Solid) -> None:
        self._solid = solid

    @cached_property
    def _slopes(self) -> list[tuple[Indices, Array]]:
        """Nodes (m, k) of cells, and the mean gradients (m, k, d) of their functions."""
        slopes = []
        for batch in self._solid.batches:
            if batch.material.measure == "strain":
                volume, gradients = batch.gradients(batch.element.stiffness)
                slopes.append((batch.cells, _means(gradients, volume)))
        return slopes

    def too_large(self, u: Array) -> float:
        """The largest angle (rad) at displacements u of all nodes, if it is too large; 0 if none is.

        An angle is too large if its spurious strains are of the order of the true ones of the body.
        """
        d, angle, strain = self._solid.d, 0.0, 0.0
        moved = u.reshape(-1, d)
        gradients = [_gradients_of(moved, cells, slopes) for cells, slopes in self._slopes]
        if all(np.abs(gradient).max(initial=0.0) < SMALL for gradient in gradients):
            return 0.0
        for gradient in gradients:
            F = gradient + np.eye(d)
            spin = 0.5 * (F - F.transpose(0, 2, 1))
            sine = np.sqrt(0.5 * (spin**2).sum(axis=(1, 2)))
            trace = np.einsum("mii->m", F)
            cosine = 0.5 * (trace if d == 2 else trace - 1.0)
            angle = max(angle, float(np.arctan2(sine, cosine).max(initial=0.0)))
            green = 0.5 * (F.transpose(0, 2, 1) @ F - np.eye(d))
            strain = max(strain, float(np.sqrt((green**2).sum(axis=(1, 2)).max(initial=0.0))))
        return angle if angle > TURNED and 1.0 - np.cos(angle) > FALSE * strain else 0.0


@kernel
def _means(gradients: Array, volume: Array) -> Array:
    """Means (m, k, d) over the points of cells of gradients (m, g, k, d), by volumes (m, g)."""
    m, g, k, d = gradients.shape
    means = np.zeros((m, k, d))
    for cell in range(m):
        total = volume[cell].sum()
        for point in range(g):
            share = volume[cell, point] / total
            for node in range(k):
                for axis in range(d):
                    means[cell, node, axis] += share * gradients[cell, point, node, axis]
    return means


@kernel
def _gradients_of(moved: Array, cells: Indices, slopes: Array) -> Array:
    """Displacement gradients ∂u_i/∂x_j of cells, (m, d, d), from the displacements (n_nodes, d)."""
    m, k, d = slopes.shape
    gradients = np.zeros((m, d, d))
    for cell in range(m):
        for node in range(k):
            for i in range(d):
                for j in range(d):
                    gradients[cell, i, j] += moved[cells[cell, node], i] * slopes[cell, node, j]
    return gradients
