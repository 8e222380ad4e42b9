"""Elastic and plastic bodies in motion: the kind that a scene takes beside rigid bodies.

A step of the θ-scheme is implicit in the internal forces F,

    M (v⁺ − v) = h [f − C v_θ − F(q_θ)] + Hᵀ r,    v_θ = θ v⁺ + (1 − θ) v,    q_θ = θ q⁺ + (1 − θ) q,

so that its length is bound by accuracy and not by the fastest wave through a cell. For linear materials

    M̃ = M + θhC + θ²h²K,        v_free = v + M̃⁻¹ h [f − C v − K (q + θ h v)],

and with θ = ½ free motion keeps its energy. Other materials are linearised about velocities at the end of the
step, again and again, until the forces there agree with the linearised ones: Newton's method, with a contact
problem as its linear step. Plastic strains are those of a return from the start of the step to its end.

Contacts are found by balls at the nodes and slabs under the sides (:mod:`.carriers`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.bodies.elastic.carriers import SurfaceCarriers
from clapas.bodies.elastic.document import from_document, to_document
from clapas.bodies.elastic.elements import CORNERS
from clapas.bodies.elastic.materials import History
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Support, hold
from clapas.bodies.kind import (
    Energy,
    Field,
    Gauge,
    Look,
    Neighbourhood,
    Part,
    Poses,
    Sides,
    Skin,
    Span,
    Touches,
)
from clapas.errors import ProblemError, SceneError, SettingsError
from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes.base import Shape
from clapas.linalg.factor import Factor, factorise
from clapas.typing import Array, Indices


@dataclass(frozen=True, kw_only=True, eq=False)
class ElasticBodies:
    """Deformable bodies of one mesh, for :meth:`Scene.add_system`.

    Parameters
    ----------
    solid : Solid
        With a density. Of linear elastic and von Mises materials strains and rotations must stay small;
        neo-Hookean and logarithmic ones may turn and deform as they like.
    supports : sequence of Support
        Held displacements; their values must be zero.
    surface : str or sequence of str, optional
        Groups that may touch things; the whole boundary by default.
    sides : bool
        Whether the sides of the surface touch, too, or its nodes alone: enough where all else is flat.
    velocity : d floats or array (n_nodes, d), optional
        At the start (m/s).
    load : array (n_dof,), optional
        Constant forces (N), beside gravity.
    damping : (float, float)
        Rayleigh's C = a M + b K: a (1/s) and b (s), with K of the undeformed body.
    lumped : bool
        Masses at the nodes (better for impacts), or the consistent mass matrix.
    skin : float, optional
        Radius (m) of the balls at the nodes; by default 1e-4 of the shortest side.

    Examples
    --------
    >>> from clapas.bodies.elastic.generators import block
    >>> from clapas.bodies.elastic.materials import Elastic
    >>> rubber = Elastic(young=1e6, poisson=0.3, density=1000.0)
    >>> body = ElasticBodies(solid=Solid(mesh=block((1.0, 1.0), (2, 2), origin=(0, 0.1)), material=rubber))
    >>> body.n_dof, body.n_carriers  # 8 nodes and 8 sides
    (18, 16)
    """

    solid: Solid
    supports: Sequence[Support] = ()
    surface: str | Sequence[str] | None = None
    sides: bool = True
    velocity: npt.ArrayLike | None = None
    load: Array | None = None
    damping: tuple[float, float] = (0.0, 0.0)
    lumped: bool = True
    skin: float | None = None

    word: ClassVar[str] = "elastic"

    def __post_init__(self) -> None:
        if self.solid.kinematics == "axisymmetric":
            raise SceneError("ElasticBodies: an axisymmetric solid has no place in a scene")
        for batch in self.solid.batches:
            if not batch.material.density > 0.0:
                raise SceneError("ElasticBodies: every material needs a density > 0 (kg/m³)")
        if any(support.value for support in self.supports):
            raise SceneError("ElasticBodies: supports must hold (value 0); move things by loads or obstacles")
        if np.shape(self.damping) != (2,) or not min(self.damping) >= 0.0:
            raise SceneError(
                f"ElasticBodies: damping must be two numbers a (1/s) and b (s), ≥ 0, got {self.damping!r}"
            )
        if self.skin is not None and not self.skin > 0.0:
            raise SceneError(f"ElasticBodies: skin must be positive, got {self.skin!r}")
        if self.load is not None and np.shape(self.load) != (self.solid.n_dof,):
            raise SceneError(
                f"ElasticBodies: load must be ({self.solid.n_dof},), got shape {np.shape(self.load)}"
            )
        if self._start_velocity.shape != self.solid.mesh.nodes.shape:
            raise SceneError("ElasticBodies: velocity must be d numbers, or one row per node")
        if not np.isfinite(self._start_velocity).all():
            raise SceneError("ElasticBodies: velocity must be finite")
        _ = self.carriers.nodes, self._free

    # ---------------------------------------------------------------- files

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain words, numbers, lists and dictionaries."""
        return to_document(self)

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any], folder: Path) -> ElasticBodies:
        """From a document (:mod:`clapas.bodies.elastic.document`), with mesh files in ``folder``."""
        arguments = from_document(settings, folder)
        try:
            return cls(**arguments)
        except (TypeError, ValueError, SettingsError) as error:
            raise SceneError(f"elastic: {error}") from None

    # ---------------------------------------------------------------- constants

    @cached_property
    def _free(self) -> Indices:
        return np.flatnonzero(hold(self.solid, self.supports).free)

    @cached_property
    def _column(self) -> Indices:
        """Number of each displacement among the free ones, −1 if it is held."""
        column = np.full(self.solid.n_dof, -1)
        column[self._free] = np.arange(self.n_dof)
        return column

    @cached_property
    def _start_velocity(self) -> Array:
        given = np.zeros(self.solid.d) if self.velocity is None else np.asarray(self.velocity, dtype=float)
        try:
            return np.array(np.broadcast_to(given, self.solid.mesh.nodes.shape))
        except ValueError:
            return np.empty(0)

    @cached_property
    def carriers(self) -> SurfaceCarriers:
        """The surface as detection sees it."""
        groups = (self.surface,) if isinstance(self.surface, str) else self.surface
        return SurfaceCarriers(
            self.solid.mesh, None if groups is None else tuple(groups), self.sides, self.skin
        )

    @cached_property
    def mass(self) -> sparse.csr_array:
        """M of the free displacements."""
        if self.lumped:
            return sparse.csr_array(sparse.diags_array(self.solid.lumped_mass[self._free], format="csr"))
        return sparse.csr_array(self.solid.mass[self._free][:, self._free])

    @cached_property
    def stiffness(self) -> sparse.csr_array:
        """K of the free displacements of the undeformed body."""
        return sparse.csr_array(self.solid.stiffness[self._free][:, self._free])

    # ---------------------------------------------------------------- sizes

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.solid.d

    @property
    def n_dof(self) -> int:
        """Free displacements."""
        return len(self._free)

    @property
    def n_carriers(self) -> int:
        """Nodes of the surface, then its sides."""
        return self.carriers.n

    @property
    def shapes(self) -> Sequence[tuple[int, Shape]]:
        """A small ball at each node of the surface, a slab under each side."""
        return self.carriers.shapes

    @property
    def link_names(self) -> Sequence[str]:
        """Nodes and sides by the numbers of the mesh."""
        return self.carriers.names

    # ---------------------------------------------------------------- coordinates

    def start(self) -> Part:
        """Undeformed, with the given velocities. Histories of the materials follow the displacements."""
        u = np.zeros(self.n_dof)
        return Part(self._packed(u, self.solid.start()), self._start_velocity.ravel()[self._free])

    def drift(self, part: Part, h: float) -> Part:
        """Displacements after h seconds at their velocities; histories stay those of the last step."""
        q = part.q.copy()
        q[: self.n_dof] += h * part.v
        return Part(q, part.v)

    def advance(self, part: Part, v: Array, h: float) -> Part:
        """The same at new velocities, where materials have yielded."""
        u = part.q[: self.n_dof] + h * v
        if self.is_linear:
            return Part(u, v)
        response = self.solid.respond(self._all(u), self.history(part), tangent=False)
        _refuse_inside_out(response.force, h)
        return Part(self._packed(u, response.history), v)

    def displacements(self, part: Part) -> Array:
        """Displacements of all nodes, (n_nodes, d) (m)."""
        return self._all(part.q[: self.n_dof]).reshape(-1, self.d)

    def history(self, part: Part) -> tuple[History, ...]:
        """Internal variables of the materials at the Gauss points, one mapping per batch of the solid."""
        found, first = [], self.n_dof
        for model in self._histories:
            own: History = {}
            for name, shape in model.items():
                last = first + int(np.prod(shape))
                own[name] = part.q[first:last].reshape(shape)
                first = last
            found.append(own)
        return tuple(found)

    @cached_property
    def _histories(self) -> list[dict[str, tuple[int, ...]]]:
        return [{name: array.shape for name, array in own.items()} for own in self.solid.start()]

    @staticmethod
    def _packed(u: Array, history: tuple[History, ...]) -> Array:
        return np.concatenate([u, *(array.ravel() for own in history for array in own.values())])

    def _all(self, values: Array) -> Array:
        everything = np.zeros(self.solid.n_dof)
        everything[self._free] = values
        return everything

    # ---------------------------------------------------------------- motion

    @property
    def is_linear(self) -> bool:
        """Whether all materials are linear: then steps need no second linearisation."""
        return self.solid.is_linear

    def free(self, part: Part, span: Span) -> tuple[sparse.csr_array, Array]:
        """M̃ and v_free of the θ-scheme; ``part.q`` is at q + (1 − θ) h v.

        With mean displacement θ q⁺ + (1 − θ) q, M̃ v⁺ = M v + h [f − K (q + θ (1 − θ) h v)] and q + θ h v is
        part.q + (2θ − 1) h v.
        """
        if not self.is_linear:
            return self.linearised(part, span, part.v)
        h, theta = span.h, span.theta
        a, b = self.damping
        effective, factor = self._effective(h, theta)
        ahead = part.q + (2.0 * theta - 1.0) * h * part.v
        push = self._loads(span) - self.stiffness @ (ahead + b * part.v) - a * (self.mass @ part.v)
        return effective, part.v + factor.solve(h * push)

    def linearised(self, part: Part, span: Span, v: Array) -> tuple[sparse.csr_array, Array]:
        """M̃ and v_free linearised about velocities v at the end of the step.

        M̃ (v_free − v) = M (v⁻ − v) + h [f − C v_θ − F(q_θ)], all at v.
        """
        h, theta = span.h, span.theta
        a, b = self.damping
        q_theta = part.q[: self.n_dof] + h * (theta**2 * v - (1.0 - theta) ** 2 * part.v)
        response = self.solid.respond(self._all(q_theta), self.history(part))
        _refuse_inside_out(response.force, h)
        K = sparse.csr_array(response.tangent[self._free][:, self._free])
        M = (1.0 + theta * h * a) * self.mass + theta * h * b * self.stiffness + (theta * h) ** 2 * K
        effective = sparse.csr_array(0.5 * (M + M.T))
        mean = theta * v + (1.0 - theta) * part.v
        damping = a * (self.mass @ mean) + b * (self.stiffness @ mean)
        push = self.mass @ (part.v - v) + h * (self._loads(span) - damping - response.force[self._free])
        return effective, v + factorise(effective).solve(push)

    def _loads(self, span: Span) -> Array:
        force = self.solid.body_force(span.gravity) if np.any(span.gravity) else np.zeros(self.solid.n_dof)
        return (force if self.load is None else force + self.load)[self._free]

    def _effective(self, h: float, theta: float) -> tuple[sparse.csr_array, Factor]:
        kept: dict[tuple[float, float], tuple[sparse.csr_array, Factor]] = self._effective_masses
        if (h, theta) not in kept:
            a, b = self.damping
            M = (1.0 + theta * h * a) * self.mass + (theta * h * b + theta**2 * h**2) * self.stiffness
            effective = sparse.csr_array(0.5 * (M + M.T))
            kept.clear()
            kept[h, theta] = (effective, factorise(effective))
        return kept[h, theta]

    @cached_property
    def _effective_masses(self) -> dict[tuple[float, float], tuple[sparse.csr_array, Factor]]:
        return {}

    def energy(self, part: Part, gravity: Array) -> Energy:
        """½ vᵀ M v; what materials store and the potential of weight and load."""
        kinetic = 0.5 * float(part.v @ (self.mass @ part.v))
        moved = self.displacements(part)
        if self.is_linear:
            stored = 0.5 * float(part.q @ (self.stiffness @ part.q))
        else:
            stored = self.solid.stored_energy(moved.ravel(), self.history(part))
        weight = self.solid.lumped_mass.reshape(-1, self.d)
        position = self.solid.mesh.nodes + moved
        potential = stored - float(((weight * position) @ np.asarray(gravity)).sum())
        if self.load is not None:
            potential -= float(self.load @ moved.ravel())
        return Energy(kinetic, potential)

    # ---------------------------------------------------------------- contacts

    def _position(self, part: Part) -> Array:
        return np.asarray(self.solid.mesh.nodes + self.displacements(part))

    def poses(self, part: Part) -> Poses:
        """Where balls and slabs are."""
        return self.carriers.poses(self._position(part))

    def twists(self, part: Part) -> Array:
        """Velocities of the nodes, and of the middles of sides; what else they do, :meth:`velocities` has."""
        v = self._all(part.v).reshape(-1, self.d)
        found = np.concatenate((v[self.carriers.nodes], v[self.carriers.sides].mean(axis=1)))
        return np.column_stack((found, np.zeros((len(found), 1 if self.d == 2 else 3))))

    def jacobian(self, part: Part, at: Touches) -> sparse.csr_array:
        """Velocities of points: those of the node of a ball, of the nodes of a side by their weights."""
        return self.carriers.jacobian(self._position(part), at, self._column, self.n_dof)

    def velocities(self, part: Part, at: Touches) -> Array:
        """The same at the velocities of the part."""
        return np.asarray(self.jacobian(part, at) @ part.v).reshape(-1, self.d)

    def during(self, part: Part, span: Span) -> Part:
        """The part itself: nothing is imposed."""
        return part

    def margin(self, part: Part) -> float:
        """None: the slabs are under the sides."""
        return 0.0

    def refine(
        self, part: Part, contacts: Contacts, own: Sides, others: Neighbourhood, distance: float
    ) -> Contacts:
        """The contacts on the sides as they are; see :mod:`clapas.bodies.elastic.carriers`."""
        return self.carriers.refined(self._position(part), contacts, own, others)

    # ---------------------------------------------------------------- looks

    def skins(self) -> Sequence[Skin]:
        """The whole of a plane solid, the boundary of one in space; quadratic sides by their corners."""
        mesh = self.solid.mesh
        faces = mesh.cells if self.d == 2 else mesh.boundary
        halves = [_triangles(rows[:, : CORNERS[kind]]) for kind, rows in faces.items()]
        fields = [
            Field("von Mises", "Pa", "vertex"),
            Field("displacement", "m", "vertex"),
            Field("contact pressure", "Pa", "vertex"),
        ]
        if self._is_plastic:
            fields.append(Field("plastic strain", "", "vertex"))
        return [Skin("surface", mesh.n_nodes, np.concatenate(halves), np.empty(0), tuple(fields))]

    def looks(self, part: Part) -> Sequence[Look]:
        """Nodes where they are, with stress, displacement and plastic strain; nothing touches."""
        none = Touches(np.empty(0, dtype=np.int64), np.empty((0, self.d)))
        return self.pressed_looks(part, none, np.empty((0, self.d)))

    def pressed_looks(self, part: Part, at: Touches, force: Array) -> Sequence[Look]:
        """The same with the normal pressure of contact forces (n, d) at points of carriers."""
        moved, history = self.displacements(part), self.history(part)
        position = self.solid.mesh.nodes + moved
        values = [
            self.solid.von_mises(moved.ravel(), history),
            np.linalg.norm(moved, axis=1),
            self._pressure(position, at, force),
        ]
        if self._is_plastic:
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
        # Corners of Tet10 sides have no share of a constant pressure.
        return np.where(areas > 1e-9 * float(areas.max()), areas, float(areas.max()))

    @cached_property
    def _is_plastic(self) -> bool:
        return any("accumulated" in own for own in self._histories)

    def gauges(self) -> Sequence[Gauge]:
        """Stresses at the Gauss points of all cells, batch after batch, and at the nodes; plastic strains."""
        points = sum(batch.n_points for batch in self.solid.batches)
        s = 4 if self.d == 2 else 6
        made = [
            Gauge(
                "stress", "Pa", (points, s), "Cauchy's stress at the Gauss points (xx, yy, zz, xy, yz, zx)"
            ),
            Gauge("nodal stress", "Pa", (self.solid.mesh.n_nodes, s), "the same at the nodes, by means"),
        ]
        if self._is_plastic:
            made.append(Gauge("plastic strain", "", (points,), "accumulated, at the Gauss points"))
        return made

    def readings(self, part: Part) -> Sequence[Array]:
        """Their values."""
        u, history = self.displacements(part).ravel(), self.history(part)
        stresses = self.solid.stresses(u, history)
        flat = np.concatenate([stress.reshape(-1, stress.shape[2]) for stress in stresses])
        found = [flat, self.solid.at_nodes(stresses)]
        if self._is_plastic:
            parts = [
                own.get("accumulated", np.zeros(batch.n_points))
                for own, batch in zip(history, self.solid.batches, strict=True)
            ]
            found.append(np.concatenate(parts))
        return found


def _refuse_inside_out(force: Array, h: float) -> None:
    if not np.isfinite(force).all():
        raise ProblemError(
            f"a cell of an elastic body is turned inside out by motion within {h:g} s: take a shorter time "
            "step, or a stiffer material"
        )


def _triangles(faces: Indices) -> Indices:
    """Triangles (n, 3), or quadrilaterals (n, 4) as two triangles each."""
    if faces.shape[1] == 3:
        return faces
    return np.concatenate((faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]))
