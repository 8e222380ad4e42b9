"""Contacts of a solid: nodes against rigid obstacles, and against the sides of deformable bodies.

A contact definition gives :class:`ContactRows` at a displacement: gaps, and the small blocks of H that
turn displacements into normal and tangential motion at each contact. Gaps are total; slip is measured from
the last equilibrium, as the state of a frictional body is given by its forces (Alart 1997 starts each problem
from rest; under increments of load Coulomb's law takes increments of u_T).

Against rigid obstacles geometry is evaluated at the current displacement, with its derivative: frames turn
within Newton's method. Between deformable bodies the side that a node faces, the point on it and the frame
are found at the last equilibrium and kept during an increment: sliding along several sides takes several
increments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree

from clapas.bodies.elastic.elements import CORNERS, element
from clapas.bodies.elastic.obstacles import Obstacle
from clapas.bodies.elastic.solid import Solid
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.typing import Array, Indices

CANDIDATES = 6  # sides near a node that are tried
ROUNDS = 20  # iterations of Newton's method for the nearest point of a side
BESIDE = 1e-6  # of the reference cell: a nearest point at its rim belongs to the side only up to this


@dataclass(frozen=True, eq=False)
class ContactRows:
    """The contacts of a definition at one displacement.

    Parameters
    ----------
    dofs : array (n, m) of int
        Displacements of each contact.
    H : array (n, d, m)
        Motion along (normal, tangents) per unit of those displacements.
    gap : array (n,)
        Total gaps (m).
    slip : array (n, d − 1)
        Tangential motion since the last equilibrium (m).
    bend : array (n, d, m, m) or None
        Derivative of each row of H by the displacements; None where frames do not turn.
    frames : array (n, d, d)
        Normal and tangents in the world; by default the first columns of H, those of the node itself.
    """

    dofs: Indices
    H: Array
    gap: Array
    slip: Array
    bend: Array | None = None
    frames: Array = field(default_factory=lambda: np.empty((0, 0, 0)))

    def __post_init__(self) -> None:
        n, d = len(self.gap), self.H.shape[1]
        if self.frames.shape != (n, d, d):
            object.__setattr__(self, "frames", self.H[:, :, :d] if n else np.empty((0, d, d)))

    def gradient(self, moved: Array) -> Array:
        """Derivative of (gap, slip) by the displacements, (n, d, m), after a motion ``moved`` (n_dof,)."""
        if self.bend is None:
            return self.H
        turning = np.einsum("ncij,ni->ncj", self.bend[:, 1:], moved[self.dofs])
        return np.concatenate((self.H[:, :1], self.H[:, 1:] + turning), axis=1)


class ContactDefinition(Protocol):
    """Interface of a definition of contact."""

    @property
    def mu(self) -> float:
        """Coefficient of friction."""
        ...

    @property
    def motion(self) -> Sequence[float] | None:
        """Displacement of an obstacle under the loads of a stage (m)."""
        ...

    def place(self, solid: Solid, u: Array, shift: Array, step: Array) -> Placed:
        """The contacts, searched at the equilibrium u.

        An obstacle has moved by ``shift`` (d,) there, and moves by ``step`` (d,) more to the next one.
        """
        ...


class Placed(Protocol):
    """Contacts found at an equilibrium, to be evaluated at displacements near it."""

    @property
    def nodes(self) -> Indices:
        """Node of each contact, (n,)."""
        ...

    def rows(self, u: Array) -> ContactRows:
        """Gaps, slips and H at displacement u."""
        ...


# ------------------------------------------------------------------ rigid obstacles


@dataclass(frozen=True, kw_only=True)
class RigidContact:
    """Nodes of a surface that must not enter a rigid obstacle.

    Parameters
    ----------
    surface : str
        Group of nodes.
    obstacle : Obstacle
        The obstacle at its initial position.
    mu : float
        Coefficient of friction, ≥ 0.
    motion : d floats, optional
        Displacement of the obstacle under the loads of this stage (m).

    Examples
    --------
    >>> from clapas.geometry.shapes import HalfPlane
    >>> floor = RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=0.3)
    """

    surface: str
    obstacle: Obstacle
    mu: float = 0.0
    motion: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_friction(self.mu)

    def place(self, solid: Solid, u: Array, shift: Array, step: Array) -> PlacedNodes:
        """All nodes of the surface."""
        nodes = solid.mesh.group(self.surface)
        origin, last = solid.mesh.nodes[nodes], u.reshape(-1, solid.d)[nodes]
        base = frames_of(self.obstacle.distance(origin + last, shift).normal)
        return PlacedNodes(self.obstacle, shift, step, nodes, origin, last, base)


@dataclass(frozen=True, eq=False)
class PlacedNodes:
    """Nodes facing a rigid obstacle; ``last`` and ``base`` are their previous displacements and frames."""

    obstacle: Obstacle
    shift: Array
    step: Array
    nodes: Indices
    origin: Array
    last: Array
    base: Array

    def rows(self, u: Array) -> ContactRows:
        """Rows at u; see :class:`Placed`."""
        n, d = self.origin.shape
        u_nodes = u.reshape(-1, d)[self.nodes]
        gap, normal, curvature = self.obstacle.distance(self.origin + u_nodes, self.shift + self.step)
        frames = turned(self.base, normal)
        relative = u_nodes - self.last - self.step
        slip = np.einsum("ncd,nd->nc", frames[:, 1:], relative)
        bend = None
        if curvature.any():
            bend = np.zeros((n, d, d, d))
            bend[:, 0] = curvature
            if d == 2:  # t = R n
                turn = np.array([[0.0, -1.0], [1.0, 0.0]])
                bend[:, 1] = turn @ curvature
            else:  # to first order a frame turns without spinning: δt = −(t·δn) n
                for axis in (1, 2):
                    along = np.einsum("nd,nde->ne", frames[:, axis], curvature)
                    bend[:, axis] = -normal[:, :, None] * along[:, None, :]
        dofs = self.nodes[:, None] * d + np.arange(d)
        return ContactRows(dofs, frames, gap, slip, bend)


# ------------------------------------------------------------------ deformable bodies


@dataclass(frozen=True, kw_only=True)
class SurfaceContact:
    """Nodes of one surface that must not enter the sides of another: node to side.

    Use the finer or the softer surface as ``surface``. Both directions take two definitions; where nodes
    face nodes they are redundant, which the Newton method tolerates. A constant pressure is transmitted
    exactly between matching meshes, and in both directions between straight sides in the plane.

    Parameters
    ----------
    surface, other : str
        Groups; the nodes of the first touch the sides of the second.
    mu : float
        Coefficient of friction, ≥ 0.
    """

    surface: str
    other: str
    mu: float = 0.0

    @property
    def motion(self) -> None:
        """None: both surfaces move with their bodies."""
        return None

    def __post_init__(self) -> None:
        check_friction(self.mu)
        check_surfaces(self.surface, self.other)

    def place(self, solid: Solid, u: Array, shift: Array, step: Array) -> PlacedSides:
        """The nearest side of each node at displacement u."""
        nodes = solid.mesh.group(self.surface)
        kind, rows = one_kind(solid, self.other)
        shared = np.intersect1d(nodes, rows)
        if shared.size:
            raise SceneError(
                f"surfaces '{self.surface}' and '{self.other}' share node {shared[0]}: a node cannot face "
                "its own side"
            )
        position = solid.mesh.nodes + u.reshape(-1, solid.d)
        face, point, distance, inside = nearest_sides(position, nodes, kind, rows)
        functions = element(kind).functions(point)
        near = np.einsum("nk,nkd->nd", functions, position[rows[face]])
        normal = side_normals(position[rows[face]], kind, point)
        gap = np.einsum("nd,nd->n", normal, position[nodes] - near)
        # A node beside the surface faces no side: its distance keeps it inactive.
        gap = np.where(inside, gap, np.maximum(distance, np.abs(gap)) + 1e-300)
        d, k = solid.d, rows.shape[1]
        frames = frames_of(normal)
        H = np.zeros((len(nodes), d, 1 + k, d))
        H[:, :, 0] = frames
        H[:, :, 1:] = -functions[:, None, :, None] * frames[:, :, None, :]
        touched = np.concatenate((nodes[:, None], rows[face]), axis=1)
        dofs = (touched[:, :, None] * d + np.arange(d)).reshape(len(nodes), -1)
        return PlacedSides(nodes, dofs, H.reshape(len(nodes), d, -1), gap, u)


@dataclass(frozen=True, eq=False)
class PlacedSides:
    """Nodes facing sides, with gaps and frames of the last equilibrium ``last``."""

    nodes: Indices
    dofs: Indices
    H: Array
    gap: Array
    last: Array

    def rows(self, u: Array) -> ContactRows:
        """Rows at u, linear in it; see :class:`Placed`."""
        motion = np.einsum("ncm,nm->nc", self.H, (u - self.last)[self.dofs])
        return ContactRows(self.dofs, self.H, self.gap + motion[:, 0], motion[:, 1:])


def nearest_sides(
    position: Array, nodes: Indices, kind: str, rows: Indices
) -> tuple[Indices, Array, Array, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Nearest side of each node, reference point on it, distance, and whether the node projects on it.

    Newton's method on ½|x − x(ξ)|², kept on the reference cell, for some near sides at once.
    """
    side = element(kind)
    centres = position[rows].mean(axis=1)
    count = min(CANDIDATES, len(rows))
    _, near = cKDTree(centres).query(position[nodes], k=count)
    near = np.asarray(near).reshape(len(nodes), count)
    face, x = near.ravel(), np.repeat(position[nodes], count, axis=0)
    corners = position[rows[face]]
    simplex = CORNERS[kind] == 3 and side.d == 2
    xi = np.full((len(face), side.d), 1.0 / 3.0 if simplex else 0.0)
    raw = xi
    for _ in range(ROUNDS):
        away = x - np.einsum("nk,nkd->nd", side.functions(xi), corners)
        slope = np.einsum("nkd,nke->nde", corners, side.gradients(xi))
        normal_matrix = slope.transpose(0, 2, 1) @ slope
        raw = xi + np.linalg.solve(normal_matrix, np.einsum("nde,nd->ne", slope, away)[:, :, None])[:, :, 0]
        new = _on_cell(raw, simplex)
        converged = np.abs(new - xi).max(initial=0.0) < 1e-13
        xi = new
        if converged:
            break
    away = x - np.einsum("nk,nkd->nd", side.functions(xi), corners)
    distance = np.linalg.norm(away, axis=1).reshape(len(nodes), count)
    best = np.argmin(distance, axis=1)
    pick = np.arange(len(nodes)) * count + best
    inside = np.abs(raw - xi)[pick].max(axis=1) <= BESIDE
    return face[pick], xi[pick], distance[np.arange(len(nodes)), best], inside


def _on_cell(xi: Array, simplex: bool) -> Array:
    if not simplex:
        return np.clip(xi, -1.0, 1.0)
    low = np.maximum(xi, 0.0)
    total = low.sum(axis=1)
    return np.where(total[:, None] > 1.0, low / np.where(total > 1.0, total, 1.0)[:, None], low)


def side_normals(corners: Array, kind: str, xi: Array) -> Array:
    """Outward unit normals (n, d) of sides with nodes (n, k, d), each at its own reference point (n, e)."""
    slopes = element(kind).gradients(xi)  # (n, k, e): one point per side
    along = np.einsum("nkd,nke->nde", corners, slopes)
    if corners.shape[2] == 2:
        normal = np.stack((along[:, 1, 0], -along[:, 0, 0]), axis=1)
    else:
        normal = np.cross(along[:, :, 0], along[:, :, 1])
    return np.asarray(normal / np.linalg.norm(normal, axis=1)[:, None])


def frames_of(normal: Array) -> Array:
    """Frames (n, d, d) whose first rows are the normals; direct, and the same for the same normal."""
    n, d = normal.shape
    frames = np.empty((n, d, d))
    frames[:, 0] = normal
    if d == 2:
        frames[:, 1, 0], frames[:, 1, 1] = -normal[:, 1], normal[:, 0]
        return frames
    least = np.argmin(np.abs(normal), axis=1)
    first = np.cross(normal, np.eye(3)[least])
    frames[:, 1] = first / np.linalg.norm(first, axis=1)[:, None]
    frames[:, 2] = np.cross(normal, frames[:, 1])
    return frames


def turned(base: Array, normal: Array) -> Array:
    """Frames (n, d, d) turned by the least rotation that brings their normals to new ones (n, d)."""
    if normal.shape[1] == 2:
        return frames_of(normal)
    old = base[:, 0]
    cosine = np.einsum("nd,nd->n", old, normal)
    behind = cosine < -0.9  # nearly opposite: the least rotation is ill-defined
    frames = base.copy()
    frames[:, 0] = normal
    middle = (old + normal) / np.where(behind, 1.0, 1.0 + cosine)[:, None]
    for axis in (1, 2):
        along = np.einsum("nd,nd->n", base[:, axis], normal)
        frames[:, axis] -= along[:, None] * middle
    frames[behind] = frames_of(normal[behind])
    return frames


def one_kind(solid: Solid, group: str) -> tuple[str, Indices]:
    """The sides of a group and their element, which must be one."""
    sides = solid.mesh.sides(group)
    if len(sides) > 1:
        raise SceneError(f"group '{group}' mixes sides {' and '.join(sides)}: give groups of one kind")
    ((kind, rows),) = sides.items()
    return kind, rows


def check_surfaces(surface: str, other: str) -> None:
    """Reject contact of a surface with itself."""
    if surface == other:
        raise SceneError(
            f"surface '{surface}' cannot touch itself: self-contact in statics needs two groups that share "
            "no node; in scenes add_system(..., self_contact=True) finds it"
        )


def check_friction(mu: float) -> None:
    """Reject an invalid coefficient of friction."""
    checks.at_least_zero("contact", "mu", mu)
