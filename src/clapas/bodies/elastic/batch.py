"""Cells of one element and one material: operators from displacements to strains, volumes, masses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from clapas.bodies.elastic.elements import Element, Rule
from clapas.bodies.elastic.materials import Material
from clapas.compiled import kernel
from clapas.typing import Array, Indices

Kinematics = Literal["plane strain", "plane stress", "axisymmetric", "space"]
CHUNK = 2048  # cells treated together: bounds the memory of operators


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

    def volumes(self, rule: Rule) -> Array:
        """Volumes (m, g) of the points of a rule; of the full circle if axisymmetric."""
        return self.gradients(rule)[0]

    def gradients(self, rule: Rule, part: slice = slice(None)) -> tuple[Array, Array]:
        """Volumes (m, g), and the gradients (m, g, k, d) of the functions at the points of a rule."""
        determinant, gradients = mapped(self.corners[part], self.element.gradients(rule.points))
        volume = determinant * rule.weights * self.thickness
        if self.kinematics == "axisymmetric":
            volume = volume * 2.0 * np.pi * self.radius(rule, part)
        return volume, gradients

    def radius(self, rule: Rule, part: slice = slice(None)) -> Array:
        """Distance from the axis at the points of a rule, (m, g)."""
        return np.asarray(self.corners[part, :, 0] @ self.element.functions(rule.points).T)

    def operators(self) -> Iterator[tuple[slice, Array, Array]]:
        """Chunks of cells with the operators B (m, g, s, k·d) and the volumes (m, g)."""
        rule = self.element.stiffness
        for first in range(0, len(self.cells), CHUNK):
            part = slice(first, first + CHUNK)
            volume, gradients = self.gradients(rule, part)
            hoop = np.zeros((0, 0, 0))
            if self.kinematics == "axisymmetric":
                hoop = self.element.functions(rule.points)[None] / self.radius(rule, part)[:, :, None]
            if self.material.measure == "gradient":
                yield part, _gradient_operator(gradients, hoop), volume
            else:
                yield part, _strain_operator(gradients, hoop, volume, self.bbar), volume

    def mass_blocks(self) -> Array:
        """Mass between nodes of each cell, ∫ρ N_i N_j, (m, k, k)."""
        functions = self.element.functions(self.element.mass.points)
        volume = self.volumes(self.element.mass)
        return np.asarray(self.material.density * np.einsum("mg,gi,gj->mij", volume, functions, functions))


@kernel
def mapped(corners: Array, slopes: Array) -> tuple[Array, Array]:
    """Jacobian determinants (m, g) of cells with nodes (m, k, d), and the gradients (m, g, k, d).

    ``slopes`` (g, k, d) are the derivatives of the functions on the reference cell, x_ξ = Σ x_k ⊗ slope_k,
    and their gradients in space slope · x_ξ⁻¹, by cofactors.
    """
    m, k, d = corners.shape
    g = len(slopes)
    determinant = np.empty((m, g))
    gradients = np.empty((m, g, k, d))
    J, inverse = np.empty((3, 3)), np.empty((3, 3))
    for cell in range(m):
        for point in range(g):
            for i in range(d):
                for j in range(d):
                    total = 0.0
                    for node in range(k):
                        total += corners[cell, node, i] * slopes[point, node, j]
                    J[i, j] = total
            if d == 2:
                inverse[0, 0], inverse[0, 1] = J[1, 1], -J[0, 1]
                inverse[1, 0], inverse[1, 1] = -J[1, 0], J[0, 0]
            else:
                for i in range(3):
                    for j in range(3):
                        a, b, c, e = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
                        inverse[j, i] = J[a, c] * J[b, e] - J[a, e] * J[b, c]
            volume = 0.0
            for j in range(d):
                volume += J[0, j] * inverse[j, 0]
            determinant[cell, point] = volume
            for node in range(k):
                for j in range(d):
                    total = 0.0
                    for i in range(d):
                        total += slopes[point, node, i] * inverse[i, j]
                    gradients[cell, point, node, j] = total / volume
    return determinant, gradients


@kernel
def _strain_operator(gradients: Array, hoop: Array, volume: Array, bbar: bool) -> Array:
    """B (m, g, s, k·d) of small strains from gradients (m, g, k, d); ``hoop`` (m, g, k) or empty.

    With B-bar the dilatation, the sum of the first three rows, is replaced by its mean over the cell.
    """
    m, g, k, d = gradients.shape
    B = np.zeros((m, g, 4 if d == 2 else 6, k * d))
    mean = np.empty(k * d)
    for cell in range(m):
        mean[:] = 0.0
        total = 0.0
        for point in range(g):
            total += volume[cell, point]
            for node in range(k):
                slope, first = gradients[cell, point, node], d * node
                for axis in range(d):
                    B[cell, point, axis, first + axis] = slope[axis]
                    mean[first + axis] += volume[cell, point] * slope[axis]
                if hoop.size:
                    B[cell, point, 2, first] = hoop[cell, point, node]
                    mean[first] += volume[cell, point] * hoop[cell, point, node]
                for row in range(3, B.shape[2]):  # shear in the planes xy, yz, zx
                    i, j = row - 3, (row - 2) % d
                    B[cell, point, row, first + i] = slope[j]
                    B[cell, point, row, first + j] = slope[i]
        if bbar:
            for point in range(g):
                for dof in range(k * d):
                    dilatation = B[cell, point, 0, dof] + B[cell, point, 1, dof] + B[cell, point, 2, dof]
                    for row in range(3):
                        B[cell, point, row, dof] += (mean[dof] / total - dilatation) / 3.0
    return B


def _gradient_operator(gradients: Array, hoop: Array) -> Array:
    """Operator of the displacement gradient, by rows, with the hoop stretch last in the plane."""
    m, g, k, d = gradients.shape
    G = np.zeros((m, g, 5 if d == 2 else 9, k, d))
    for i in range(d):
        for j in range(d):
            G[:, :, d * i + j, :, i] = gradients[..., j]
    if hoop.size:
        G[:, :, 4, :, 0] = hoop
    return G.reshape(m, g, -1, k * d)
