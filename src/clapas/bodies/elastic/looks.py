"""Display and recording of an elastic body: skin with fields, stresses at Gauss points and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clapas.bodies.drawn import Field, Gauge, Look, Skin
from clapas.bodies.elastic.carriers import SurfaceCarriers
from clapas.bodies.elastic.elements import CORNERS
from clapas.bodies.elastic.frames import Turned
from clapas.bodies.elastic.materials import History
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.kind import Touches
from clapas.typing import Array, Indices


@dataclass(frozen=True, eq=False)
class ElasticLooks:
    """The fields of a body.

    Parameters
    ----------
    solid : Solid
        Undeformed.
    carriers : SurfaceCarriers
        The surface that contacts press on.
    is_plastic : bool
        Whether some material yields.
    """

    solid: Solid
    carriers: SurfaceCarriers
    is_plastic: bool

    # ---------------------------------------------------------------- the skin

    def skins(self) -> Sequence[Skin]:
        """The whole of a plane solid, the boundary of one in space; quadratic sides by their corners."""
        mesh = self.solid.mesh
        faces = mesh.cells if mesh.d == 2 else mesh.boundary
        halves = [_triangles(rows[:, : CORNERS[kind]]) for kind, rows in faces.items()]
        fields = [
            Field("von Mises", "Pa", "vertex"),
            Field("displacement", "m", "vertex"),
            Field("contact pressure", "Pa", "vertex"),
        ]
        if self.is_plastic:
            fields.append(Field("plastic strain", "", "vertex"))
        return [Skin("surface", mesh.n_nodes, np.concatenate(halves), np.empty(0), tuple(fields))]

    def look(
        self, moved: Array, strained: Array, history: tuple[History, ...], at: Touches, force: Array
    ) -> Sequence[Look]:
        """Fields at displacements (n, d) in the world and (n·d,) in the frames, and contact forces (n, d)."""
        position = self.solid.mesh.nodes + moved
        values = [
            self.solid.von_mises(strained, history),
            np.linalg.norm(moved, axis=1),
            self._pressure(position, at, force),
        ]
        if self.is_plastic:
            values.append(self.solid.plastic_strain(history))
        return [Look(position, tuple(values))]

    def _pressure(self, position: Array, at: Touches, force: Array) -> Array:
        nodal = np.zeros_like(position)
        nodes, beta = self.carriers.weights(position, at)
        np.add.at(nodal, nodes, beta[:, :, None] * force[:, None, :])
        surface = self.carriers.nodes
        pressure = np.zeros(len(position))
        inwards = -np.einsum("nd,nd->n", nodal[surface], self.carriers.normals(position))
        pressure[surface] = np.maximum(inwards, 0.0) / self._areas[surface]
        return pressure

    @cached_property
    def _areas(self) -> Array:
        """Undeformed surface that belongs to each node, (n_nodes,) (m²)."""
        mesh = self.solid.mesh.with_group("whole surface", self.carriers.nodes)
        areas = Solid(
            mesh=mesh,
            material=self.solid.material,
            kinematics=self.solid.kinematics,
            thickness=self.solid.thickness,
        ).areas("whole surface")
        # Corners of Tet10 sides carry no part of a constant pressure.
        return np.where(areas > 1e-9 * float(areas.max()), areas, float(areas.max()))

    # ---------------------------------------------------------------- recordings

    def gauges(self) -> Sequence[Gauge]:
        """Stresses at the Gauss points of all cells, batch after batch, and at the nodes; plastic strains."""
        points = sum(batch.n_points for batch in self.solid.batches)
        s = 4 if self.solid.d == 2 else 6
        gauges = [
            Gauge(
                "stress", "Pa", (points, s), "Cauchy's stress at the Gauss points (xx, yy, zz, xy, yz, zx)"
            ),
            Gauge("nodal stress", "Pa", (self.solid.mesh.n_nodes, s), "the same at the nodes, extrapolated"),
        ]
        if self.is_plastic:
            gauges.append(Gauge("plastic strain", "", (points,), "accumulated, at the Gauss points"))
        return gauges

    def readings(
        self, strained: Array, history: tuple[History, ...], turned: Turned | None
    ) -> Sequence[Array]:
        """Values of the gauges at displacements in the frames ``turned``."""
        stresses = self.solid.stresses(strained, history)
        if turned is not None:
            stresses = tuple(
                turned.stresses(stress.reshape(-1, stress.shape[2]), np.repeat(batch.cells[:, 0], g)).reshape(
                    stress.shape
                )
                for stress, batch in zip(stresses, self.solid.batches, strict=True)
                for g in (stress.shape[1],)
            )
        flat = np.concatenate([stress.reshape(-1, stress.shape[2]) for stress in stresses])
        values = [flat, self.solid.at_nodes(stresses)]
        if self.is_plastic:
            parts = [
                variables.get("accumulated", np.zeros(batch.n_points))
                for variables, batch in zip(history, self.solid.batches, strict=True)
            ]
            values.append(np.concatenate(parts))
        return values


def _triangles(faces: Indices) -> Indices:
    """Triangles (n, 3), or quadrilaterals (n, 4) as two triangles each."""
    if faces.shape[1] == 3:
        return faces
    return np.concatenate((faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]))
