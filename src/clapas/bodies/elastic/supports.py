"""Supports of a solid: held and imposed displacements, symmetry, and the remaining rigid motions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clapas.bodies.elastic.mesh import Mesh
from clapas.bodies.elastic.solid import Solid
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.typing import Array, Indices, Mask

PLANAR = 1e-9  # of the size of the mesh: nodes of a plane of symmetry lie in it
RANK = 1e-9  # share of the largest below which a singular value is zero: an unsupported motion


@dataclass(frozen=True)
class Support:
    """Held or prescribed displacements.

    Parameters
    ----------
    group : str
        Nodes.
    axes : str
        Which displacements: "x", "y", "xy", …, "r", "z".
    value : float
        Displacement at load factor one (m); zero holds.
    """

    group: str
    axes: str
    value: float = 0.0


@dataclass(frozen=True, eq=False)
class Held:
    """The supports of a solid, resolved.

    Parameters
    ----------
    dofs : array of int
        Held displacements, increasing.
    values : array
        Their values at load factor one (m).
    free : mask (n_dof,)
        The displacements that are not held.
    """

    dofs: Indices
    values: Array
    free: Mask


def symmetry(mesh: Mesh, group: str) -> Support:
    """The support of a plane of symmetry: no motion along the axis that is normal to the group.

    Examples
    --------
    >>> from clapas.bodies.elastic.generators import block
    >>> symmetry(block((1, 2), (2, 2)), "bottom")
    Support(group='bottom', axes='y', value=0.0)
    """
    points = mesh.nodes[mesh.group(group)]
    flat = np.flatnonzero(np.ptp(points, axis=0) <= PLANAR * float(np.ptp(mesh.nodes, axis=0).max()))
    if len(flat) != 1:
        raise SceneError(
            f"group '{group}' is not a plane normal to one axis: symmetry needs one; hold it with Support"
        )
    return Support(group, "xyz"[int(flat[0])])


def hold(solid: Solid, supports: Sequence[Support]) -> Held:
    """Resolve supports; conflicting values of a displacement are an error."""
    values = np.full(solid.n_dof, np.nan)
    for support in supports:
        dofs = solid.dofs(support.group, support.axes)
        checks.number(f"support of '{support.group}'", "value", support.value)
        clash = ~np.isnan(values[dofs]) & (values[dofs] != support.value)
        if clash.any():
            node = int(dofs[clash][0]) // solid.d
            raise SceneError(
                f"support of '{support.group}': node {node} is already moved by {values[dofs[clash][0]]:g} "
                f"along the same axis, not by {support.value:g}"
            )
        values[dofs] = support.value
    free = np.isnan(values)
    dofs = np.flatnonzero(~free)
    return Held(dofs, values[dofs], free)


def rigid_motions(solid: Solid) -> tuple[Array, list[str]]:
    """Rigid motions of the connected pieces of a solid, (n_dof, r), orthonormal, and their names."""
    nodes, d = solid.mesh.nodes, solid.d
    pieces = solid.mesh.pieces
    used = np.zeros(len(nodes), dtype=bool)
    for rows in solid.mesh.cells.values():
        used[rows] = True
    round_axis = solid.kinematics == "axisymmetric"
    axes = (1,) if round_axis else tuple(range(d))
    turns = () if round_axis else ((0, 1), (1, 2), (2, 0))[: 1 if d == 2 else 3]
    present = np.flatnonzero(np.bincount(pieces[used]))
    motions = np.zeros((len(nodes), d, len(present), len(axes) + len(turns)))
    names = []
    for number, piece in enumerate(present):
        in_piece = (pieces == piece) & used
        where = "" if len(present) == 1 else f" of piece {piece}"
        for column, axis in enumerate(axes):
            motions[in_piece, axis, number, column] = 1.0
            names.append(f"translation along {'z' if round_axis else 'xyz'[axis]}{where}")
        arm = nodes[in_piece] - nodes[in_piece].mean(axis=0)
        for column, (i, j) in enumerate(turns, start=len(axes)):
            motions[in_piece, i, number, column], motions[in_piece, j, number, column] = -arm[:, j], arm[:, i]
            names.append(f"rotation in the plane {'xyz'[i]}{'xyz'[j]}{where}")
    flat = motions.reshape(solid.n_dof, -1)
    return flat / np.linalg.norm(flat, axis=0), names


def unsupported(solid: Solid, held: Held) -> tuple[Array, list[str]]:
    """Rigid motions (n_dof, r) that the supports leave free, and what each mostly consists of."""
    motions, names = rigid_motions(solid)
    _, sizes, V = np.linalg.svd(np.linalg.qr(motions[held.dofs], mode="r"), full_matrices=True)
    full = np.zeros(motions.shape[1])
    full[: len(sizes)] = sizes
    free_combinations = V[full <= RANK * max(1.0, float(full.max(initial=0.0)))]
    words = []
    for combination in free_combinations:
        main = np.flatnonzero(np.abs(combination) > 0.3)
        words.append(" with ".join(names[i] for i in main))
    return motions @ free_combinations.T, words


def refuse_rigid_motions(solid: Solid, held: Held) -> None:
    """Raise SceneError naming the unsupported rigid motions."""
    _, words = unsupported(solid, held)
    if words:
        raise SceneError(
            f"the solid is free to move as a rigid body: {'; '.join(words)}. Hold it with Support(...), or "
            "let contacts hold it; free_motions of the stage are these motions, to be drawn"
        )
