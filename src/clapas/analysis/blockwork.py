"""Dry masonry in the plane: blocks, the joints between them, and their possible equilibrium forces.

A joint is where a side of one block lies on a side of another. Forces act at both of its ends: any pressure
along the joint has the same resultant as two forces there.

Reference: Heyman 1966 (no tension, no crushing); Livesley 1978 (limit analysis of blocks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clapas.analysis.equilibria import Equilibria
from clapas.errors import SettingsError
from clapas.geometry import rotations
from clapas.geometry.colliders import Kind
from clapas.geometry.mass import of_polygon
from clapas.problems.gallery.rigid import contact_frames, contact_jacobian
from clapas.typing import Array, Indices

if TYPE_CHECKING:
    from clapas.dynamics.model import Model
    from clapas.scenes.scene import Scene

GRAVITY = 9.81
SAME = 1e-6  # of the size of the structure: distance below which sides coincide (drawings keep 6 digits)
PARALLEL = 1e-3  # rad: sides that turn more against each other are not compared
EMPTY = 1e-14  # of the square of its size: area of an outline that counts as none


class Joints(NamedTuple):
    """Contact points of joints, two per joint.

    Parameters
    ----------
    a, b : arrays (n,)
        Blocks, a < b; −1 for supports.
    point, normal : arrays (n, 2)
        Position (m), and the unit normal from a to b.
    """

    a: Indices
    b: Indices
    point: Array
    normal: Array


@dataclass(frozen=True)
class Blockwork:
    """Assembly of blocks in dry contact.

    Parameters
    ----------
    blocks : sequence of arrays (k, 2)
        Corners of the blocks that may move, around each (m).
    supports : sequence of arrays (k, 2)
        Corners of the supports, likewise.
    density : float or array (blocks,)
        kg/m³.
    gravity : two floats
        Acceleration of gravity (m/s²).
    body : array (blocks,), optional
        Number of the body that each block is a part of, for bodies of several convex blocks; by default every
        block is a body of its own.
    loads : array (bodies, 3), optional
        Other loads on the bodies: forces (N) and torques about their centres (N·m).
    mass_centre : array (bodies, 2), optional
        Centres of mass of the bodies (m); by default those of their blocks.

    Examples
    --------
    A square block on the ground: range of the normal force at a corner.

    >>> square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=float)
    >>> wall = Blockwork([square], [square - [0, 1]], density=1.0)
    >>> [round(bound, 3) + 0.0 for bound in wall.equilibria(mu=0.5).range(0)]
    [4.905, 4.905]
    """

    blocks: Sequence[Array]
    supports: Sequence[Array]
    density: float | Array = 2000.0
    gravity: npt.ArrayLike = (0.0, -GRAVITY)
    body: Indices | None = None
    loads: Array | None = None
    mass_centre: Array | None = None

    def __post_init__(self) -> None:
        if len(self.blocks) == 0:
            raise SettingsError("blockwork needs at least one block that may move, got none")
        for name in ("blocks", "supports"):
            outlines = [_outline(f"{name}[{k}]", given) for k, given in enumerate(getattr(self, name))]
            object.__setattr__(self, name, outlines)
        density = np.asarray(self.density, dtype=float)
        if density.shape not in ((), (len(self.blocks),)) or not (density > 0.0).all():
            raise SettingsError(
                f"density must be one positive number, or one for each of {len(self.blocks)} blocks (kg/m³), "
                f"got {self.density}"
            )
        self._check_loads("loads", self.loads)

    @staticmethod
    def of_scene(scene: Scene, density: float | None = None) -> Blockwork:
        """The polygons of a scene in 2-D at their initial positions, with its masses, gravity and loads.

        Half-planes and fixed bodies are supports, a clump of polygons is one body. Friction is the
        argument of :meth:`equilibria`; cohesion is left out, as joints without mortar have none. A density
        (kg/m³), if given, replaces the masses of the scene.
        """
        from clapas.scenes.compilation import compile_scene

        model = compile_scene(scene)
        if model.d != 2:
            raise SettingsError(
                "blockwork lies in the plane, this scene is in 3-D: take "
                "clapas.analysis.masonry.Masonry(scene), which asks the same questions in both"
            )
        if model.blocked is not None:
            raise SettingsError("a guided body is no block: take Equilibria.of_problem(at_rest(scene))")
        table = model.colliders
        corners = _polygons(model)
        moving = np.flatnonzero(model.movable[table.body])
        blocks = [corners[row] for row in moving]
        number = np.cumsum(model.movable) - 1
        owner = table.body[moving]
        area = np.array([of_polygon(block)[0] for block in blocks])
        total_area = np.bincount(owner, weights=area, minlength=model.n_bodies)
        loads = np.zeros((int(model.movable.sum()), 3))
        for body, load in model.loads.items():
            loads[number[body]] = load.in_body_frame(0.0, model.orientation[body])
        return Blockwork(
            blocks,
            [corners[row] for row in np.flatnonzero(~model.movable[table.body])],
            model.mass[owner] / total_area[owner] if density is None else density,
            model.gravity,
            number[owner],
            loads,
            model.position[model.movable],
        )

    @property
    def n_bodies(self) -> int:
        """Bodies that may move."""
        return int(self._body.max(initial=-1)) + 1

    @cached_property
    def _body(self) -> Indices:
        return np.arange(len(self.blocks)) if self.body is None else np.asarray(self.body)

    @cached_property
    def areas(self) -> Array:
        """Areas of the blocks (m²)."""
        return np.array([of_polygon(corners)[0] for corners in self.blocks])

    @cached_property
    def masses(self) -> Array:
        """Masses of the bodies (kg)."""
        weights = self.density * self.areas
        return np.bincount(self._body, weights=weights, minlength=self.n_bodies).astype(float)

    @cached_property
    def centres(self) -> Array:
        """Centres of mass of the bodies, (bodies, 2) (m)."""
        if self.mass_centre is not None:
            return np.asarray(self.mass_centre, dtype=float)
        middles = np.array([of_polygon(corners)[1] for corners in self.blocks]).reshape(-1, 2)
        moments = np.zeros((self.n_bodies, 2))
        np.add.at(moments, self._body, (self.density * self.areas)[:, None] * middles)
        return np.asarray(moments / self.masses[:, None])

    @cached_property
    def joints(self) -> Joints:
        """Joints between bodies, and between bodies and supports."""
        owner, start, end = self._sides()
        along = end - start
        length = np.linalg.norm(along, axis=1)
        along = along / length[:, None]
        normal = np.column_stack((along[:, 1], -along[:, 0]))
        tiny = SAME * float(np.ptp(np.concatenate(self.blocks), axis=0).max())
        # Sides i and j coincide if they run in opposite directions, and along the same line where they meet;
        # i < j in blocks.
        opposite = along @ along.T < -np.cos(PARALLEL)
        i, j = np.nonzero(opposite & (owner[:, None] < owner[None]))
        last, first = end[j] - start[i], start[j] - start[i]
        low = np.maximum(0.0, np.sum(along[i] * last, axis=1))
        high = np.minimum(length[i], np.sum(along[i] * first, axis=1))
        height = np.sum(normal[i] * first, axis=1)
        slope = np.sum(normal[i] * along[j], axis=1) / np.sum(along[i] * along[j], axis=1)
        place = np.sum(along[i] * first, axis=1)
        apart = np.maximum(*(np.abs(height + slope * (at - place)) for at in (low, high)))
        keep = (high - low > tiny) & (apart < tiny)
        i, j, low, high = i[keep], j[keep], low[keep], high[keep]
        ends = np.stack((start[i] + low[:, None] * along[i], start[i] + high[:, None] * along[i]), axis=1)
        return Joints(
            np.repeat(owner[i], 2),
            np.repeat(owner[j], 2),
            ends.reshape(-1, 2),
            np.repeat(normal[i], 2, axis=0),
        )

    def equilibria(self, mu: float, live: Array | None = None) -> Equilibria:
        """Set of equilibrium forces under the weight and loads ``live`` (bodies, 3) (N, N·m)."""
        if not mu >= 0.0:
            raise SettingsError(f"mu must be at least 0, got {mu}")
        self._check_loads("live", live)
        a, b, point, normal = self.joints
        arms = point - self.centres[a], point - self.centres[b]
        H = contact_jacobian(contact_frames(normal), (a, b), arms, self.n_bodies)
        f = np.zeros((self.n_bodies, 3))
        f[:, :2] = -self.masses[:, None] * np.asarray(self.gravity, dtype=float)
        for loads in (self.loads, live):
            if loads is not None:
                f -= loads
        return Equilibria(H, f.ravel(), np.full(len(a), mu))

    def _check_loads(self, name: str, loads: Array | None) -> None:
        expected = (self.n_bodies, 3)
        if loads is not None and (np.shape(loads) != expected or not np.isfinite(loads).all()):
            raise SettingsError(
                f"{name} must be finite numbers (forces in N and a torque in N·m for each body), of shape "
                f"{expected}, got shape {np.shape(loads)}"
            )

    def _sides(self) -> tuple[Indices, Array, Array]:
        """Body (−1 for supports), start and end of all sides."""
        outlines = [*self.blocks, *self.supports]
        bodies = [*self._body.tolist(), *[-1] * len(self.supports)]
        owner = [np.full(len(corners), body) for corners, body in zip(outlines, bodies, strict=True)]
        start = np.concatenate(outlines)
        end = np.concatenate([np.roll(corners, -1, axis=0) for corners in outlines])
        return np.concatenate(owner), start, end


def _outline(name: str, given: npt.ArrayLike) -> Array:
    """Corners (k, 2) of a polygon, counterclockwise, each once (outlines may be closed)."""
    corners = np.asarray(given, dtype=float)
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
        raise SettingsError(f"{name} must be at least 3 corners (k, 2), got shape {corners.shape}")
    if not np.isfinite(corners).all():
        raise SettingsError(f"{name} must be finite, got {corners.tolist()}")
    corners = corners[(corners != np.roll(corners, -1, axis=0)).any(axis=1)]
    x, y = (corners - np.asarray(given)[0]).T
    area = 0.5 * float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))
    if abs(area) <= EMPTY * float((x**2 + y**2).max(initial=0.0)):
        raise SettingsError(f"{name} has no area: its corners are {np.asarray(given).tolist()}")
    return np.asarray(corners if area > 0.0 else corners[::-1])


def _polygons(model: Model) -> list[Array]:
    """Corners in the world of every part of the bodies of a model (m); half-planes are large rectangles."""
    table = model.colliders
    size = 10.0 * (float(np.abs(model.position).max(initial=0.0)) + 1.0)
    polygons = []
    for row in range(len(table)):
        body = int(table.body[row])
        if table.kind[row] == Kind.POLYHEDRON:
            start, end = table.hulls.vertex_start[table.hull[row] : table.hull[row] + 2]
            local = table.hulls.vertices[start:end, :2]
        elif table.kind[row] == Kind.PLANE:
            local = size * np.array([(-1, 0), (-1, -1), (1, -1), (1, 0)], dtype=float)
        else:
            raise SettingsError(
                f"body '{model.names[body] or body}' has a round part: blockwork is made of polygons; take "
                "Equilibria.of_problem(at_rest(scene)), which knows every shape"
            )
        local = table.position[row] + rotations.rotate(table.orientation[row], local)
        polygons.append(model.position[body] + rotations.rotate(model.orientation[body], local))
    return polygons


def draw_blockwork(axes: Any, work: Blockwork, force: Array | None = None) -> None:
    """Draw the blocks, and the point of thrust of each joint if forces (n, 2) are given."""
    from matplotlib.collections import PolyCollection

    axes.add_collection(PolyCollection(list(work.supports), facecolors="0.6"))
    axes.add_collection(PolyCollection(list(work.blocks), facecolors="0.95", edgecolors="k", linewidths=0.6))
    if force is not None:
        ends, normal = work.joints.point.reshape(-1, 2, 2), force[:, 0].reshape(-1, 2)
        total = normal.sum(axis=1)
        carried = total > 1e-9 * float(total.max(initial=0.0))
        share = normal[carried] / total[carried, None]
        thrust = np.einsum("jk,jkx->jx", share, ends[carried])
        widths = 200 * total[carried] / float(total.max()) / max(1, len(total)) + 4
        axes.scatter(*thrust.T, s=widths, color="tab:red", zorder=3)
    corners = np.concatenate(work.blocks)
    margin = 0.05 * np.ptp(corners, axis=0).max()
    (left, low), (right, high) = corners.min(axis=0) - margin, corners.max(axis=0) + margin
    axes.set(xlim=(left, right), ylim=(low, high), aspect="equal", xlabel="x (m)", ylabel="y (m)")
