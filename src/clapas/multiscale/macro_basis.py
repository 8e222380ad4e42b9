"""Macro basis of an interface: the fields on its nodes that the coarse problem makes continuous.

Affine fields about the mean plane of the interface. With G the centroid, Y = X − G and n₁, n₂, n₃ the axes of
inertia of the nodes (n₃ normal to their mean plane; in the plane n₂ normal to their line):

    space   3 translations n_i;  3 rotations n_i × Y;  extensions n₁n₁ᵀY, n₂n₂ᵀY and shear (n₁n₂ᵀ + n₂n₁ᵀ)Y
    plane   2 translations;      1 rotation;           extension n₁n₁ᵀY

Rigid bodies rotate in the rotations and do not rotate in extensions and shear.

References: LMGC thesis on tensegrity, 5.2.3; Ladevèze, Nouy 2003.
"""

from __future__ import annotations

import numpy as np

from clapas.typing import Array, Mask

DEPENDENT = 1e-8  # norm of a unit vector after orthogonalisation below which it counts as dependent


def full_size(dimension: int) -> int:
    """Number of vectors of the whole basis: 9 in space, 4 in the plane.

    Examples
    --------
    >>> full_size(3), full_size(2)
    (9, 4)
    """
    return 9 if dimension == 3 else 4


def affine_fields(points: Array, dofs_per_node: int) -> Array:
    """Affine fields on the nodes of an interface, not orthonormal.

    Parameters
    ----------
    points : array (nodes × 2 or 3)
        Coordinates of the nodes.
    dofs_per_node : int
        Components of a node: as many as coordinates for points, 3 or 6 for rigid bodies.

    Returns
    -------
    array (nodes·dofs × 4 or 9)
        Translations first, then rotations, then strains.

    Examples
    --------
    Two points of the plane, one metre apart: the extension along their line.

    >>> affine_fields(np.array([[0.0, 0.0], [1.0, 0.0]]), 2)[:, 3]
    array([-0.5,  0. ,  0.5,  0. ])
    """
    count, dimension = points.shape
    offset = points - points.mean(axis=0)
    axes = np.linalg.eigh(offset.T @ offset)[1].T[::-1]  # the normal last
    displacements: list[Array] = [np.tile(n, (count, 1)) for n in axes]
    rotations = [np.zeros((count, dofs_per_node - dimension)) for _ in axes]
    if dimension == 3:
        for n in axes:
            displacements.append(np.cross(n, offset))
            rotations.append(np.tile(n, (count, 1))[:, : dofs_per_node - 3])
        strains: tuple[Array, ...] = (
            np.outer(axes[0], axes[0]),
            np.outer(axes[1], axes[1]),
            np.outer(axes[0], axes[1]) + np.outer(axes[1], axes[0]),
        )
    else:
        displacements.append(np.column_stack((-offset[:, 1], offset[:, 0])))
        rotations.append(np.ones((count, dofs_per_node - 2)))
        strains = (np.outer(axes[0], axes[0]),)
    for strain in strains:
        displacements.append(offset @ strain)
        rotations.append(np.zeros((count, dofs_per_node - dimension)))
    fields = [np.hstack(pair).ravel() for pair in zip(displacements, rotations, strict=True)]
    return np.array(fields).T


def translations(count: int, dofs_per_node: int) -> Array:
    """Equal components on all nodes: the basis without coordinates (nodes·dofs × dofs)."""
    return np.tile(np.eye(dofs_per_node), (count, 1))


def orthonormal(fields: Array, kept: Mask, scale: Array) -> Array:
    """Orthonormal basis of the fields on the free components, in units of the search direction.

    Parameters
    ----------
    fields : array (components × vectors)
        On all components of the interface.
    kept : array (components,) of bool
        Those that are free.
    scale : array (free components,)
        √d of each: displacements are measured as √d U, forces as F/√d.

    Returns
    -------
    array (free components × independent vectors)
        Fields that depend on those before them are left out: few nodes give few vectors.
    """
    basis: list[Array] = []
    for field in (fields[kept] * scale[:, None]).T:
        size = np.linalg.norm(field)
        if size == 0.0:
            continue
        vector = field / size
        for _ in range(2):  # twice is enough for orthogonality to rounding
            for other in basis:
                vector = vector - other * (other @ vector)
        remainder = np.linalg.norm(vector)
        if remainder > DEPENDENT:
            basis.append(vector / remainder)
    return np.array(basis).T if basis else np.zeros((len(scale), 0))
