"""Meshes: nodes, cells by element, named groups of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clapas.bodies.elastic.elements import CORNERS, MIDDLES, SOLID_ELEMENTS, element
from clapas.bodies.elastic.pieces import pieces
from clapas.errors import SceneError, unknown_name
from clapas.typing import Array, Indices

DEGENERATE = 1e-12  # of a cell's size: largest Jacobian of a degenerate cell


@dataclass(frozen=True, eq=False)
class Mesh:
    """Nodes, the cells between them, and names for groups of nodes.

    A side of a cell belongs to a group when all its nodes do, and so does a cell: one kind of group serves
    supports, loads, contact surfaces and materials.

    Parameters
    ----------
    nodes : array (n, d)
        Positions (m), d = 2 or 3. In axisymmetric models they are (radius, height).
    cells : mapping of element name to array (m, k) of int
        Nodes of each cell, numbered as in VTK; plane cells counterclockwise.
    groups : mapping of name to array of int, optional
        Nodes of each group.

    Examples
    --------
    >>> mesh = Mesh([(0, 0), (1, 0), (0, 1)], {"T3": [(0, 1, 2)]}, {"base": [0, 1]})
    >>> mesh
    Mesh(3 nodes in 2-D, 1 T3; groups base)
    >>> mesh.sides("base")
    {'L2': array([[0, 1]])}
    """

    nodes: Array
    cells: Mapping[str, Indices]
    groups: Mapping[str, Indices] = field(default_factory=dict)

    def __init__(
        self,
        nodes: npt.ArrayLike,
        cells: Mapping[str, npt.ArrayLike],
        groups: Mapping[str, npt.ArrayLike] | None = None,
    ) -> None:
        points = np.array(nodes, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] not in (2, 3) or not np.isfinite(points).all():
            raise SceneError(f"mesh: nodes must be finite, (n, 2) or (n, 3), got shape {points.shape}")
        blocks = {}
        for name, rows in cells.items():
            if name not in SOLID_ELEMENTS:
                raise unknown_name("solid element", name, SOLID_ELEMENTS)
            kind = element(name)
            block = np.array(rows, dtype=np.int64)
            if block.ndim != 2 or block.shape[1] != kind.n_nodes:
                raise SceneError(f"mesh: cells {name} must be (m, {kind.n_nodes}), got shape {block.shape}")
            if kind.d != points.shape[1]:
                raise SceneError(f"mesh: {name} is in {kind.d}-D but the nodes are in {points.shape[1]}-D")
            blocks[name] = _in_range(block, len(points), f"cells {name}")
        if not blocks or not any(len(block) for block in blocks.values()):
            raise SceneError("mesh: no cells; give cells={'Q4': ...} or another solid element")
        sets = {
            str(name): np.unique(
                _in_range(np.array(rows, dtype=np.int64).ravel(), len(points), f"group '{name}'")
            )
            for name, rows in (groups or {}).items()
        }
        for array in (points, *blocks.values(), *sets.values()):
            array.flags.writeable = False
        object.__setattr__(self, "nodes", points)
        object.__setattr__(self, "cells", blocks)
        object.__setattr__(self, "groups", sets)
        self._refuse_inverted()

    def __repr__(self) -> str:
        cells = ", ".join(f"{len(rows)} {name}" for name, rows in self.cells.items())
        named = f"; groups {', '.join(self.groups)}" if self.groups else ""
        return f"Mesh({len(self.nodes)} nodes in {self.d}-D, {cells}{named})"

    def _refuse_inverted(self) -> None:
        for name, rows in self.cells.items():
            kind = element(name)
            corners = kind.nodes[: CORNERS[name]]
            volume = np.linalg.det(jacobians(self.nodes[rows], kind.gradients(corners)))
            size = np.ptp(self.nodes[rows], axis=1).max(axis=1) ** self.d
            worst = volume.min(axis=1)
            bad = np.flatnonzero(worst <= DEGENERATE * size)
            if not bad.size:
                continue
            cell = int(bad[0])
            defect = "inverted" if volume[cell].max() < 0.0 else "degenerate or folded"
            raise SceneError(
                f"mesh: cell {cell} of {name} (nodes {rows[cell].tolist()}) is {defect}: its Jacobian is "
                f"{worst[cell]:.3e} at a corner ({bad.size} such cells). Number plane cells "
                "counterclockwise; oriented(nodes, cells) reverses cells that are only inverted"
            )

    # ---------------------------------------------------------------- sizes

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return int(self.nodes.shape[1])

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return sum(len(rows) for rows in self.cells.values())

    # ---------------------------------------------------------------- groups and sides

    def group(self, name: str) -> Indices:
        """Nodes of a group."""
        if name not in self.groups:
            error = unknown_name("group of this mesh", name, self.groups or ("(it has no groups)",))
            raise SceneError(str(error))
        return self.groups[name]

    def with_group(self, name: str, nodes: npt.ArrayLike) -> Mesh:
        """The mesh with one more group: node numbers, or a mask over all nodes."""
        chosen = np.asarray(nodes)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        return Mesh(self.nodes, self.cells, {**self.groups, name: chosen})

    @cached_property
    def boundary(self) -> dict[str, Indices]:
        """Sides that belong to one cell only, by the element of the side: nodes (m, k)."""
        by_kind: dict[str, list[Indices]] = {}
        for name, rows in self.cells.items():
            kind = element(name)
            for side in kind.sides:
                by_kind.setdefault(kind.side, []).append(rows[:, list(side)])
        everything = {kind: np.vstack(parts) for kind, parts in by_kind.items()}
        # A quadratic side next to a linear one is a mistake in the mesh: compare corners only.
        keys = {kind: np.sort(rows[:, : CORNERS[kind]], axis=1) for kind, rows in everything.items()}
        outer = {}
        for side_kind, key in keys.items():
            _, inverse, count = np.unique(key, axis=0, return_inverse=True, return_counts=True)
            outer[side_kind] = everything[side_kind][count[inverse.ravel()] == 1]
        return outer

    def sides(self, group: str | None = None) -> dict[str, Indices]:
        """Boundary sides all of whose nodes are in a group (of the whole boundary by default)."""
        if group is None:
            return self.boundary
        inside = np.zeros(self.n_nodes, dtype=bool)
        inside[self.group(group)] = True
        sides = {kind: rows[inside[rows].all(axis=1)] for kind, rows in self.boundary.items()}
        sides = {kind: rows for kind, rows in sides.items() if len(rows)}
        if not sides:
            raise SceneError(f"group '{group}' holds no side of the boundary: it has no surface")
        return sides

    @cached_property
    def pieces(self) -> Indices:
        """Number of the connected piece of each node, (n,)."""
        return pieces(self.cells.values(), self.n_nodes)

    def restricted(self, group: str) -> Mesh:
        """The cells all of whose nodes are in a group, as a separate mesh."""
        inside = np.zeros(self.n_nodes, dtype=bool)
        inside[self.group(group)] = True
        cells = {name: rows[inside[rows].all(axis=1)] for name, rows in self.cells.items()}
        used = np.unique(np.concatenate([rows.ravel() for rows in cells.values()]))
        if not used.size:
            raise SceneError(f"group '{group}' holds no cell")
        number = np.full(self.n_nodes, -1)
        number[used] = np.arange(len(used))
        groups = {name: number[nodes][number[nodes] >= 0] for name, nodes in self.groups.items()}
        return Mesh(
            self.nodes[used],
            {name: number[rows] for name, rows in cells.items() if len(rows)},
            {name: nodes for name, nodes in groups.items() if len(nodes)},
        )

    def quadratic(self) -> Mesh:
        """The mesh with a node in the middle of each edge: T3 to T6, Q4 to Q8, Tet4 to Tet10.

        A middle node is in a group when both ends of its edge are.
        """
        higher = {"T3": "T6", "Q4": "Q8", "Tet4": "Tet10"}
        for name in self.cells:
            if name not in higher:
                raise SceneError(f"mesh: {name} has no quadratic element here (expected T3, Q4 or Tet4)")
        pairs, blocks = [], []
        for name, rows in self.cells.items():
            ends = np.array(MIDDLES[higher[name]])
            blocks.append((name, rows, len(ends)))
            pairs.append(np.sort(rows[:, ends], axis=2).reshape(-1, 2))
        edges, middle = np.unique(np.vstack(pairs), axis=0, return_inverse=True)
        middle = middle.ravel() + self.n_nodes
        cells, first = {}, 0
        for name, rows, count in blocks:
            last = first + len(rows) * count
            cells[higher[name]] = np.hstack((rows, middle[first:last].reshape(-1, count)))
            first = last
        groups = {}
        for name, nodes in self.groups.items():
            inside = np.zeros(self.n_nodes, dtype=bool)
            inside[nodes] = True
            groups[name] = np.concatenate((nodes, np.flatnonzero(inside[edges].all(axis=1)) + self.n_nodes))
        return Mesh(np.vstack((self.nodes, self.nodes[edges].mean(axis=1))), cells, groups)

    def mapped(self, position: npt.ArrayLike) -> Mesh:
        """The same cells and groups with other positions (n, d)."""
        return Mesh(position, self.cells, self.groups)


def join(parts: Mapping[str, Mesh]) -> Mesh:
    """Several meshes as one, not connected: part "block" has groups "block", "block/top", ….

    Examples
    --------
    >>> T = Mesh([(0, 0), (1, 0), (0, 1)], {"T3": [(0, 1, 2)]}, {"base": [0, 1]})
    >>> list(join({"a": T, "b": T}).groups)
    ['a', 'a/base', 'b', 'b/base']
    """
    nodes, first = [], 0
    cells: dict[str, list[Indices]] = {}
    groups: dict[str, Indices] = {}
    for label, mesh in parts.items():
        groups[label] = first + np.arange(mesh.n_nodes)
        for name, members in mesh.groups.items():
            groups[f"{label}/{name}"] = first + members
        for name, rows in mesh.cells.items():
            cells.setdefault(name, []).append(first + rows)
        nodes.append(mesh.nodes)
        first += mesh.n_nodes
    return Mesh(np.vstack(nodes), {name: np.vstack(rows) for name, rows in cells.items()}, groups)


def oriented(nodes: npt.ArrayLike, cells: Mapping[str, npt.ArrayLike]) -> dict[str, Indices]:
    """The cells, with inverted ones renumbered."""
    reverse = {
        "T3": (0, 2, 1),
        "T6": (0, 2, 1, 5, 4, 3),
        "Q4": (0, 3, 2, 1),
        "Q8": (0, 3, 2, 1, 7, 6, 5, 4),
        "Tet4": (0, 2, 1, 3),
        "Tet10": (0, 2, 1, 3, 6, 5, 4, 7, 9, 8),
        "Hex8": (4, 5, 6, 7, 0, 1, 2, 3),
    }
    points = np.asarray(nodes, dtype=float)
    turned: dict[str, Indices] = {}
    for name, numbers in cells.items():
        rows = np.array(numbers, dtype=np.int64)
        kind = element(name)
        volume = np.linalg.det(jacobians(points[rows], kind.gradients(kind.stiffness.points))).sum(axis=1)
        rows[volume < 0.0] = rows[volume < 0.0][:, reverse[name]]
        turned[name] = rows
    return turned


def jacobians(corners: Array, gradients: Array) -> Array:
    """∂x/∂ξ of cells with nodes (m, k, d) where the functions have gradients (g, k, e), (m, g, d, e)."""
    m, k, d = corners.shape
    g, _, e = gradients.shape
    flat = corners.transpose(0, 2, 1).reshape(m * d, k) @ gradients.transpose(1, 0, 2).reshape(k, g * e)
    return np.ascontiguousarray(flat.reshape(m, d, g, e).transpose(0, 2, 1, 3))


def _in_range(rows: Indices, n: int, where: str) -> Indices:
    if rows.size and not (0 <= rows.min() and rows.max() < n):
        raise SceneError(
            f"mesh: {where} name node {rows.max() if rows.max() >= n else rows.min()}, "
            f"but nodes are numbered 0 to {n - 1}"
        )
    return rows
