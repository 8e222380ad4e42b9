"""Elastic and plastic bodies in motion: a kind of bodies for scenes.

Time stepping is in :mod:`.motion`, the contact surface in :mod:`.carriers`, display and recording in
:mod:`.looks`.
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

from clapas.bodies import anchoring
from clapas.bodies.drawn import Gauge, Look, Skin
from clapas.bodies.elastic.carriers import SurfaceCarriers
from clapas.bodies.elastic.document import from_document, to_document
from clapas.bodies.elastic.looks import ElasticLooks
from clapas.bodies.elastic.materials import History
from clapas.bodies.elastic.motion import Motion
from clapas.bodies.elastic.rotation import CellRotations, too_far
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Support, hold
from clapas.bodies.joined import Anchor, Anchored
from clapas.bodies.kind import Energy, Part, Poses, Span, Touches
from clapas.bodies.touched import Neighbourhood, Sides
from clapas.errors import SceneError, SettingsError
from clapas.geometry import checks
from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes.base import Shape
from clapas.linalg.factored_mass import FactoredMass
from clapas.typing import Array, Indices


@dataclass(frozen=True, kw_only=True, eq=False)
class ElasticBodies:
    """Deformable bodies of one mesh, for :meth:`Scene.add_system`.

    Parameters
    ----------
    solid : Solid
        With a density. A piece that is free to turn rotates without spurious stress for any material.
        Within it, strains and rotations of linear elastic and von Mises materials
        must stay small; neo-Hookean and logarithmic ones have no such limit.
    supports : sequence of Support
        Held displacements; their values must be zero.
    surface : str or sequence of str, optional
        Groups that may be in contact; the whole boundary by default.
    sides : bool
        Whether the sides of the surface touch as well, or its nodes alone, enough against flat bodies.
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
        damping = _as_numbers(self.damping)
        if damping.shape != (2,) or not (np.isfinite(damping) & (damping >= 0.0)).all():
            raise SceneError(
                f"ElasticBodies: damping must be two numbers a (1/s) and b (s), ≥ 0, got {self.damping!r}"
            )
        if self.skin is not None:
            checks.positive("ElasticBodies", "skin", self.skin)
        if self.load is not None and np.shape(self.load) != (self.solid.n_dof,):
            raise SceneError(
                f"ElasticBodies: load must be ({self.solid.n_dof},), got shape {np.shape(self.load)}"
            )
        if self.load is not None and not np.isfinite(load := _as_numbers(self.load)).all():
            first = int(np.flatnonzero(~np.isfinite(load))[0])
            raise SceneError(f"ElasticBodies: load must be finite numbers, got {self.load[first]} at {first}")
        if self._start_velocity.shape != self.solid.mesh.nodes.shape:
            raise SceneError("ElasticBodies: velocity must be d numbers, or one row per node")
        if not np.isfinite(self._start_velocity).all():
            raise SceneError("ElasticBodies: velocity must be finite")
        _ = self.carriers.nodes, self.motion.free

    # ---------------------------------------------------------------- files

    def to_dict(self) -> dict[str, Any]:
        """Document of strings, numbers, lists and dictionaries."""
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
    def motion(self) -> Motion:
        """Time stepping."""
        return Motion(self.solid, hold(self.solid, self.supports), self.load, self.damping, self.lumped)

    @cached_property
    def _column(self) -> Indices:
        """Number of each displacement among the free ones, −1 if it is held."""
        column = np.full(self.solid.n_dof, -1)
        column[self.motion.free] = np.arange(self.n_dof)
        return column

    @cached_property
    def _start_velocity(self) -> Array:
        velocity = np.zeros(self.solid.d) if self.velocity is None else _as_numbers(self.velocity)
        try:
            return np.array(np.broadcast_to(velocity, self.solid.mesh.nodes.shape))
        except ValueError:
            return np.empty(0)

    @cached_property
    def carriers(self) -> SurfaceCarriers:
        """The surface for detection."""
        groups = (self.surface,) if isinstance(self.surface, str) else self.surface
        return SurfaceCarriers(
            self.solid.mesh, None if groups is None else tuple(groups), self.sides, self.skin
        )

    @property
    def mass(self) -> sparse.csr_array:
        """M of the free displacements."""
        return self.motion.mass

    @property
    def stiffness(self) -> sparse.csr_array:
        """K of the free displacements of the undeformed body."""
        return self.motion.stiffness

    @cached_property
    def _fields(self) -> ElasticLooks:
        return ElasticLooks(
            self.solid, self.carriers, any("accumulated" in variables for variables in self._histories)
        )

    @cached_property
    def _rotations(self) -> CellRotations:
        return CellRotations(self.solid)

    # ---------------------------------------------------------------- sizes

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.solid.d

    @property
    def n_dof(self) -> int:
        """Free displacements."""
        return len(self.motion.free)

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
        return Part(self._packed(u, self.solid.start()), self._start_velocity.ravel()[self.motion.free])

    def drift(self, part: Part, h: float) -> Part:
        """Displacements after h seconds at their velocities; histories stay those of the last step."""
        q = part.q.copy()
        q[: self.n_dof] += h * part.v
        return Part(q, part.v)

    def advance(self, part: Part, v: Array, h: float) -> Part:
        """Displacements after h seconds at new velocities, with updated histories."""
        u = part.q[: self.n_dof] + h * v
        if self.solid.is_linear:
            return Part(u, v)
        return Part(self._packed(u, self.motion.yielded(u, self.history(part), h)), v)

    def displacements(self, part: Part) -> Array:
        """Displacements of all nodes, (n_nodes, d) (m)."""
        return self.motion.everywhere(part.q[: self.n_dof]).reshape(-1, self.d)

    def history(self, part: Part) -> tuple[History, ...]:
        """Internal variables of the materials at the Gauss points, one mapping per batch of the solid."""
        histories, first = [], self.n_dof
        for model in self._histories:
            variables: History = {}
            for name, shape in model.items():
                last = first + int(np.prod(shape))
                variables[name] = part.q[first:last].reshape(shape)
                first = last
            histories.append(variables)
        return tuple(histories)

    @cached_property
    def _histories(self) -> list[dict[str, tuple[int, ...]]]:
        return [{name: array.shape for name, array in variables.items()} for variables in self.solid.start()]

    @staticmethod
    def _packed(u: Array, history: tuple[History, ...]) -> Array:
        return np.concatenate([u, *(array.ravel() for variables in history for array in variables.values())])

    # ---------------------------------------------------------------- motion

    @property
    def is_linear(self) -> bool:
        """Whether steps need no second linearisation: linear material and supports against rotation."""
        return self.motion.is_linear

    def free(self, part: Part, span: Span) -> tuple[FactoredMass, Array]:
        """M̃ and v_free of the θ-scheme; ``part.q`` is at q + (1 − θ) h v."""
        if self.is_linear:
            return self.motion.linear_step(part.q, part.v, span)
        return self.linearised(part, span, part.v)

    def linearised(self, part: Part, span: Span, v: Array) -> tuple[FactoredMass, Array]:
        """M̃ and v_free linearised about velocities v at the end of the step."""
        return self.motion.linearised(part.q[: self.n_dof], part.v, self.history(part), span, v)

    def rounding(self, part: Part, span: Span) -> float:
        """Impulses (N·s) of a step that are the rounding of positions times the stiffness."""
        return self.motion.rounding(part.q[: self.n_dof], span)

    def energy(self, part: Part, gravity: Array) -> Energy:
        """½ vᵀ M v; strain energy and the potential of weight and load."""
        return self.motion.energy(part.q[: self.n_dof], part.v, self.history(part), gravity)

    def doubt(self, part: Part, h: float) -> str | None:
        """Warning if cells of small strain have turned too far for valid stresses."""
        angle = self._rotations.too_large(self._in_frames(part))
        if not angle:
            return None
        frames = self.motion.frames
        return too_far(angle, "" if frames is None else " within the body, beside its own rotation")

    def _in_frames(self, part: Part) -> Array:
        return self.motion.seen(part.q[: self.n_dof])

    # ---------------------------------------------------------------- contacts

    def _position(self, part: Part) -> Array:
        return np.asarray(self.solid.mesh.nodes + self.displacements(part))

    def poses(self, part: Part) -> Poses:
        """Poses of balls and slabs."""
        return self.carriers.poses(self._position(part))

    def twists(self, part: Part) -> Array:
        """Velocities of the nodes, and of the middles of sides; :meth:`velocities` is exact at points."""
        v = self.motion.everywhere(part.v).reshape(-1, self.d)
        linear = np.concatenate((v[self.carriers.nodes], v[self.carriers.sides].mean(axis=1)))
        return np.column_stack((linear, np.zeros((len(linear), 1 if self.d == 2 else 3))))

    def jacobian(self, part: Part, at: Touches) -> sparse.csr_array:
        """Velocities of points: those of the node of a ball, of the nodes of a side by their weights."""
        return self.carriers.jacobian(self._position(part), at, self._column, self.n_dof)

    def velocities(self, part: Part, at: Touches) -> Array:
        """Velocities of points of carriers at the velocities of the part."""
        return np.asarray(self.jacobian(part, at) @ part.v).reshape(-1, self.d)

    def during(self, part: Part, span: Span) -> Part:
        """The part unchanged: no motion is imposed."""
        return part

    def margin(self, part: Part) -> float:
        """Zero: the slabs are under the sides."""
        return 0.0

    def refine(
        self, part: Part, contacts: Contacts, own: Sides, others: Neighbourhood, distance: float
    ) -> Contacts:
        """The contacts on the deformed sides; see :mod:`clapas.bodies.elastic.carriers`."""
        return self.carriers.refined(self._position(part), contacts, own, others)

    # ---------------------------------------------------------------- joints

    def anchor(self, point: Array, carrier: int | None) -> Anchor:
        """The node at a point."""
        nodes = self.solid.mesh.nodes
        node, away = anchoring.nearest(nodes, point)
        if away > anchoring.tolerance(nodes):
            raise anchoring.refuse_point(point, f"node {node}", nodes[node], away)
        return Anchor(f"node {node}", (node,))

    def anchored(self, part: Part, anchors: Sequence[Anchor]) -> Anchored:
        """Current nodes, without rotation."""
        return anchoring.weighted_nodes(anchors, self._position(part), self._column, self.n_dof)

    # ---------------------------------------------------------------- looks

    def skins(self) -> Sequence[Skin]:
        """The whole of a plane solid, the boundary of one in space."""
        return self._fields.skins()

    def looks(self, part: Part) -> Sequence[Look]:
        """Current nodes, with stress, displacement and plastic strain, without contacts."""
        none = Touches(np.empty(0, dtype=np.int64), np.empty((0, self.d)))
        return self.pressed_looks(part, none, np.empty((0, self.d)))

    def pressed_looks(self, part: Part, at: Touches, force: Array) -> Sequence[Look]:
        """Looks with the normal pressure of contact forces (n, d) at points of carriers."""
        return self._fields.look(
            self.displacements(part), self._in_frames(part), self.history(part), at, force
        )

    def gauges(self) -> Sequence[Gauge]:
        """Stresses at the Gauss points of all cells, batch after batch, and at the nodes; plastic strains."""
        return self._fields.gauges()

    def readings(self, part: Part) -> Sequence[Array]:
        """Values of the gauges."""
        frames, u = self.motion.frames, self.displacements(part).ravel()
        turned = None if frames is None else frames.at(u)
        return self._fields.readings(u if turned is None else turned.e, self.history(part), turned)


def _as_numbers(value: npt.ArrayLike) -> Array:
    """An array of floats, of NaN where something is not a number."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return np.full(np.shape(value), np.nan)
