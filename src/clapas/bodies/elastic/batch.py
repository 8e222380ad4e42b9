"""Cells of one element and one material: operators from displacements to strains, volumes, masses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from clapas.bodies.elastic.elements import Element, Rule
from clapas.bodies.elastic.materials import Material
from clapas.bodies.elastic.mesh import jacobians
from clapas.typing import Array, Indices

Kinematics = Literal["plane strain", "plane stress", "axisymmetric", "space"]
CHUNK = 2048  # cells worked on together: bounds the memory of operators


@dataclass(frozen=True, eq=False)
class Batch:
    """Cells of one element and one material.

    Parameters
    ----------
    element : Element
        Their element.
    material : Material
        Their material.
    cells : array (m, k)
        Nodes.
    corners : array (m, k, d)
        Positions of the nodes (m).
    kinematics : str
        As of the solid.
    thickness : float
        Of plane models (m).
    bbar : bool
        Whether the dilatation is taken as its mean over the cell.
    """

    element: Element
    material: Material
    cells: Indices
    corners: Array
    kinematics: Kinematics
    thickness: float
    bbar: bool

    @cached_property
    def dofs(self) -> Indices:
        """Displacements of each cell, (m, k·d)."""
        d = self.corners.shape[2]
        return np.asarray((self.cells[:, :, None] * d + np.arange(d)).reshape(len(self.cells), -1))

    @property
    def n_components(self) -> int:
        """Components of the measure."""
        if self.kinematics == "space":
            return 6 if self.material.measure == "strain" else 9
        return 4 if self.material.measure == "strain" else 5

    @property
    def n_points(self) -> int:
        """Gauss points of all cells."""
        return len(self.cells) * len(self.element.stiffness.weights)

    def volumes(self, rule: Rule, part: slice = slice(None)) -> tuple[Array, Array]:
        """Volumes (m, g) that the points of a rule stand for, and the inverse Jacobians (m, g, d, d).

        Axisymmetric volumes are those of the full circle.
        """
        J = jacobians(self.corners[part], self.element.gradients(rule.points))
        determinant, inverse = inverted(J)
        volume = determinant * rule.weights * self.thickness
        if self.kinematics == "axisymmetric":
            volume = volume * 2.0 * np.pi * self.radius(rule, part)
        return volume, inverse

    def radius(self, rule: Rule, part: slice = slice(None)) -> Array:
        """Distance from the axis at the points of a rule, (m, g)."""
        return np.asarray(self.corners[part, :, 0] @ self.element.functions(rule.points).T)

    def operators(self) -> Iterator[tuple[slice, Array, Array]]:
        """Chunks of cells with the operators B (m, g, s, k·d) and the volumes (m, g)."""
        rule = self.element.stiffness
        slopes = self.element.gradients(rule.points)
        for first in range(0, len(self.cells), CHUNK):
            part = slice(first, first + CHUNK)
            volume, inverse = self.volumes(rule, part)
            gradients = _turned(slopes, inverse)
            hoop = None
            if self.kinematics == "axisymmetric":
                hoop = self.element.functions(rule.points)[None] / self.radius(rule, part)[:, :, None]
            if self.material.measure == "gradient":
                yield part, _gradient_operator(gradients, hoop), volume
                continue
            B = _strain_operator(gradients, hoop)
            if self.bbar:
                divergence = B[:, :, 0] + B[:, :, 1] + B[:, :, 2]
                mean = np.einsum("mg,mgi->mi", volume, divergence) / volume.sum(axis=1)[:, None]
                missing = (mean[:, None] - divergence) / 3.0
                for axis in range(3):
                    B[:, :, axis] += missing
            yield part, B, volume

    def mass_blocks(self) -> Array:
        """Mass between nodes of each cell, ∫ρ N_i N_j, (m, k, k)."""
        functions = self.element.functions(self.element.mass.points)
        volume, _ = self.volumes(self.element.mass)
        return np.asarray(self.material.density * np.einsum("mg,gi,gj->mij", volume, functions, functions))


def inverted(J: Array) -> tuple[Array, Array]:
    """Determinants (…) and inverses (…, d, d) of many small matrices, d = 2 or 3, by cofactors.

    Several times faster than LAPACK, which is called once per matrix.
    """
    cofactors = np.empty_like(J)
    if J.shape[-1] == 2:
        cofactors[..., 0, 0], cofactors[..., 1, 1] = J[..., 1, 1], J[..., 0, 0]
        cofactors[..., 0, 1], cofactors[..., 1, 0] = -J[..., 1, 0], -J[..., 0, 1]
    else:
        for row in range(3):
            cofactors[..., row, :] = np.cross(J[..., (row + 1) % 3, :], J[..., (row + 2) % 3, :])
    determinant = (J[..., 0, :] * cofactors[..., 0, :]).sum(axis=-1)
    return determinant, np.swapaxes(cofactors, -1, -2) / determinant[..., None, None]


def _turned(slopes: Array, inverse: Array) -> Array:
    """Gradients (m, g, k, d) from those on the reference cell (g, k, d), by inverse Jacobians (m, g, d, d).

    Sums of whole arrays: products of many small matrices take three times as long.
    """
    d = inverse.shape[-1]
    gradients = slopes[:, :, 0, None] * inverse[:, :, None, 0]
    for axis in range(1, d):
        gradients += slopes[:, :, axis, None] * inverse[:, :, None, axis]
    return gradients


def _strain_operator(gradients: Array, hoop: Array | None) -> Array:
    """B (m, g, s, k·d) of small strains from gradients (m, g, k, d)."""
    m, g, k, d = gradients.shape
    B = np.zeros((m, g, 4 if d == 2 else 6, k, d))
    for axis in range(d):
        B[:, :, axis, :, axis] = gradients[..., axis]
    if hoop is not None:
        B[:, :, 2, :, 0] = hoop
    for row, (i, j) in enumerate(((0, 1),) if d == 2 else ((0, 1), (1, 2), (2, 0)), start=3):
        B[:, :, row, :, i] = gradients[..., j]
        B[:, :, row, :, j] = gradients[..., i]
    return B.reshape(m, g, -1, k * d)


def _gradient_operator(gradients: Array, hoop: Array | None) -> Array:
    """The same for the displacement gradient, by rows, and the hoop stretch last in the plane."""
    m, g, k, d = gradients.shape
    G = np.zeros((m, g, 5 if d == 2 else 9, k, d))
    for i in range(d):
        for j in range(d):
            G[:, :, d * i + j, :, i] = gradients[..., j]
    if hoop is not None:
        G[:, :, 4, :, 0] = hoop
    return G.reshape(m, g, -1, k * d)
