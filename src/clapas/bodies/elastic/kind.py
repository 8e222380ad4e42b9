"""Linear elastic bodies in motion: the kind that a scene takes beside rigid bodies.

The nodes of the surface are the carriers: each has a small ball that touches the geometric surface from
inside, so that contacts are found by the same detection as those of rigid bodies. A step of the θ-scheme is
implicit in the elastic forces,

    M̃ = M + θhC + θ²h²K,        v_free = v + M̃⁻¹ h [f − C v − K (q + θ h v)],

so that its length is bound by accuracy and not by the fastest wave through a cell. With θ = ½ free motion
keeps its energy.

Contacts are those of nodes: an edge of a rigid body between two nodes is not seen, so let the mesh be finer
than what it touches. Two elastic bodies meet by the balls of nodes that face each other, which must be larger
than what a step moves (``skin``); statics has node to side for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.bodies.elastic.contact import side_normals
from clapas.bodies.elastic.elements import CORNERS, element
from clapas.bodies.elastic.materials import von_mises
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Support, hold
from clapas.bodies.kind import Energy, Field, Look, Part, Poses, Skin, Span, Touches
from clapas.errors import SceneError
from clapas.geometry.shapes import Disk, Sphere
from clapas.geometry.shapes.base import Shape
from clapas.linalg.factor import Factor, factorise
from clapas.typing import Array, Indices

SKIN = 1e-4  # radius of the balls at the nodes, as a share of the shortest side of the surface


@dataclass(frozen=True, kw_only=True, eq=False)
class ElasticBodies:
    """Deformable bodies of one mesh, for :meth:`Scene.add_system`.

    Parameters
    ----------
    solid : Solid
        Linear elastic, with a density. Strains and rotations must stay small; translations may be large.
    supports : sequence of Support
        Held displacements; their values must be zero.
    surface : str or sequence of str, optional
        Groups whose nodes may touch things; the whole boundary by default.
    velocity : d floats or array (n_nodes, d), optional
        At the start (m/s).
    load : array (n_dof,), optional
        Constant forces (N), beside gravity.
    damping : (float, float)
        Rayleigh's C = a M + b K: a (1/s) and b (s).
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
    >>> body.n_dof, body.n_carriers
    (18, 8)
    """

    solid: Solid
    supports: Sequence[Support] = ()
    surface: str | Sequence[str] | None = None
    velocity: npt.ArrayLike | None = None
    load: Array | None = None
    damping: tuple[float, float] = (0.0, 0.0)
    lumped: bool = True
    skin: float | None = None

    word: ClassVar[str] = "elastic"

    def __post_init__(self) -> None:
        if not self.solid.is_linear:
            raise SceneError(
                "ElasticBodies: only linear elastic materials move in scenes; statics has others"
            )
        if self.solid.kinematics == "axisymmetric":
            raise SceneError("ElasticBodies: an axisymmetric solid has no place in a scene")
        for batch in self.solid.batches:
            if not batch.material.density > 0.0:
                raise SceneError("ElasticBodies: every material needs a density > 0 (kg/m³)")
        if any(support.value for support in self.supports):
            raise SceneError("ElasticBodies: supports must hold (value 0); move things by loads or obstacles")
        if min(self.damping) < 0.0:
            raise SceneError(f"ElasticBodies: damping must not be negative, got {self.damping}")
        if self.skin is not None and not self.skin > 0.0:
            raise SceneError(f"ElasticBodies: skin must be positive, got {self.skin!r}")
        if self.load is not None and np.shape(self.load) != (self.solid.n_dof,):
            raise SceneError(
                f"ElasticBodies: load must be ({self.solid.n_dof},), got shape {np.shape(self.load)}"
            )
        if self._start_velocity.shape != self.solid.mesh.nodes.shape:
            raise SceneError("ElasticBodies: velocity must be d numbers, or one row per node")

    # ---------------------------------------------------------------- constants

    @cached_property
    def _free(self) -> Indices:
        return np.flatnonzero(hold(self.solid, self.supports).free)

    @cached_property
    def _start_velocity(self) -> Array:
        given = np.zeros(self.solid.d) if self.velocity is None else np.asarray(self.velocity, dtype=float)
        try:
            return np.array(np.broadcast_to(given, self.solid.mesh.nodes.shape))
        except ValueError:
            return np.empty(0)

    @cached_property
    def mass(self) -> sparse.csr_array:
        """M of the free displacements."""
        if self.lumped:
            return sparse.csr_array(sparse.diags_array(self.solid.lumped_mass[self._free], format="csr"))
        return sparse.csr_array(self.solid.mass[self._free][:, self._free])

    @cached_property
    def stiffness(self) -> sparse.csr_array:
        """K of the free displacements."""
        return sparse.csr_array(self.solid.stiffness[self._free][:, self._free])

    @cached_property
    def _sides(self) -> list[tuple[str, Indices]]:
        """Sides of the surface, by element."""
        names = [self.surface] if isinstance(self.surface, str) or self.surface is None else self.surface
        return [item for name in names for item in self.solid.mesh.sides(name).items()]

    @cached_property
    def _nodes(self) -> Indices:
        """Nodes of the surface."""
        return np.unique(np.concatenate([rows.ravel() for _, rows in self._sides]))

    @cached_property
    def radius(self) -> float:
        """Radius of the balls at the nodes (m)."""
        if self.skin is not None:
            return self.skin
        mesh = self.solid.mesh
        shortest = min(
            float(np.linalg.norm(mesh.nodes[rows[:, 1]] - mesh.nodes[rows[:, 0]], axis=1).min())
            for rows in mesh.boundary.values()
        )
        return SKIN * shortest

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
        """Nodes of the surface."""
        return len(self._nodes)

    @property
    def shapes(self) -> Sequence[tuple[int, Shape]]:
        """A small ball at each node of the surface."""
        ball: Shape = Disk(self.radius) if self.d == 2 else Sphere(self.radius)
        return [(k, ball) for k in range(self.n_carriers)]

    @property
    def link_names(self) -> Sequence[str]:
        """Numbers of the nodes."""
        return [f"node {node}" for node in self._nodes]

    # ---------------------------------------------------------------- motion

    def start(self) -> Part:
        """Undeformed, with the given velocities."""
        return Part(np.zeros(self.n_dof), self._start_velocity.ravel()[self._free])

    def drift(self, part: Part, h: float) -> Part:
        """Displacements after h seconds at their velocities."""
        return Part(part.q + h * part.v, part.v)

    def advance(self, part: Part, v: Array, h: float) -> Part:
        """The same at new velocities."""
        return Part(part.q + h * v, v)

    def free(self, part: Part, span: Span) -> tuple[sparse.csr_array, Array]:
        """M̃ and v_free of the θ-scheme; ``part.q`` is at q + (1 − θ) h v.

        With mean displacement θ q⁺ + (1 − θ) q, M̃ v⁺ = M v + h [f − K (q + θ (1 − θ) h v)] and q + θ h v is
        part.q + (2θ − 1) h v.
        """
        h, theta = span.h, span.theta
        a, b = self.damping
        effective, factor = self._effective(h, theta)
        force = self.solid.body_force(span.gravity) if np.any(span.gravity) else np.zeros(self.solid.n_dof)
        if self.load is not None:
            force = force + self.load
        ahead = part.q + (2.0 * theta - 1.0) * h * part.v
        push = force[self._free] - self.stiffness @ (ahead + b * part.v) - a * (self.mass @ part.v)
        return effective, part.v + factor.solve(h * push)

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

    def displacements(self, part: Part) -> Array:
        """Displacements of all nodes, (n_nodes, d) (m)."""
        return self._full(part.q)

    def _full(self, values: Array) -> Array:
        everything = np.zeros(self.solid.n_dof)
        everything[self._free] = values
        return everything.reshape(-1, self.d)

    def energy(self, part: Part, gravity: Array) -> Energy:
        """½ vᵀ M v; ½ qᵀ K q and the potential of weight and load."""
        kinetic = 0.5 * float(part.v @ (self.mass @ part.v))
        elastic = 0.5 * float(part.q @ (self.stiffness @ part.q))
        weight = self.solid.lumped_mass.reshape(-1, self.d)
        position = self.solid.mesh.nodes + self._full(part.q)
        potential = elastic - float(((weight * position) @ np.asarray(gravity)).sum())
        if self.load is not None:
            potential -= float(self.load @ self._full(part.q).ravel())
        return Energy(kinetic, potential)

    # ---------------------------------------------------------------- looks

    def skins(self) -> Sequence[Skin]:
        """The whole of a plane solid, the boundary of one in space; quadratic sides by their corners."""
        mesh = self.solid.mesh
        faces = mesh.cells if self.d == 2 else mesh.boundary
        halves = [_triangles(rows[:, : CORNERS[kind]]) for kind, rows in faces.items()]
        fields = (Field("von Mises", "Pa", "vertex"), Field("displacement", "m", "vertex"))
        return [Skin("surface", mesh.n_nodes, np.concatenate(halves), np.empty(0), fields)]

    def looks(self, part: Part) -> Sequence[Look]:
        """Nodes where they are, with the equivalent stress and the size of the displacement."""
        moved = self._full(part.q)
        stresses = self.solid.stresses(moved.ravel())
        shear = tuple(von_mises(s.reshape(-1, s.shape[2])).reshape(*s.shape[:2], 1) for s in stresses)
        stress = self.solid.at_nodes(shear)[:, 0]
        return [Look(self.solid.mesh.nodes + moved, (stress, np.linalg.norm(moved, axis=1)))]

    # ---------------------------------------------------------------- carriers

    def poses(self, part: Part) -> Poses:
        """Centres of the balls: inside each node by their radius, along the normal of the surface there."""
        mesh = self.solid.mesh
        position = mesh.nodes + self._full(part.q)
        normal = np.zeros_like(position)
        for kind, rows in self._sides:
            side = element(kind)
            for corner in range(rows.shape[1]):
                at = np.tile(side.nodes[corner], (len(rows), 1))
                own = side_normals(position[rows], kind, at)
                for axis in range(self.d):
                    normal[:, axis] += np.bincount(rows[:, corner], own[:, axis], minlength=mesh.n_nodes)
        outward = normal[self._nodes]
        length = np.linalg.norm(outward, axis=1)
        outward = outward / np.where(length > 0.0, length, 1.0)[:, None]
        centres = position[self._nodes] - self.radius * outward
        if self.d == 2:
            return Poses(centres, np.zeros((len(centres), 1)))
        return Poses(centres, np.tile((1.0, 0.0, 0.0, 0.0), (len(centres), 1)))

    def twists(self, part: Part) -> Array:
        """Velocities of the nodes, which do not turn."""
        velocity = self._full(part.v)[self._nodes]
        return np.column_stack((velocity, np.zeros((len(velocity), 1 if self.d == 2 else 3))))

    def jacobian(self, part: Part, at: Touches) -> sparse.csr_array:
        """Velocities of the nodes of the carriers: the offset of a touching point is below the skin."""
        n = len(at.carrier)
        dofs = self._nodes[at.carrier][:, None] * self.d + np.arange(self.d)
        column = np.full(self.solid.n_dof, -1)
        column[self._free] = np.arange(self.n_dof)
        columns = column[dofs].ravel()
        rows = np.arange(n * self.d)
        there = columns >= 0
        entries = np.ones(int(there.sum())), (rows[there], columns[there])
        return sparse.coo_array(entries, shape=(n * self.d, self.n_dof)).tocsr()


def _triangles(faces: Indices) -> Indices:
    """Triangles (n, 3), or quadrilaterals (n, 4) as two triangles each."""
    if faces.shape[1] == 3:
        return faces
    return np.concatenate((faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]))
