"""A solid of finite elements: internal forces, tangent, mass and loads, assembled without a loop over cells.

Stress acts through one linear operator per Gauss point. With B the operator from the displacements of a cell
to the measure of its material (small strain or displacement gradient, see :mod:`.materials`),

    F_int(u) = Σ ∫ Bᵀ σ(B u),      K(u) = Σ ∫ Bᵀ (∂σ/∂ε) B,

small and large deformation are the same code. Cells of one element and one material are a *batch*, treated
in a few calls of NumPy; the pattern of the sparse matrix is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.bodies.elastic.batch import Batch, Kinematics
from clapas.bodies.elastic.elements import element
from clapas.bodies.elastic.materials import History, Material, von_mises
from clapas.bodies.elastic.mesh import Mesh, jacobians
from clapas.bodies.elastic.pattern import Pattern
from clapas.errors import SceneError, SettingsError
from clapas.typing import Array, Indices


class Response(NamedTuple):
    """Internal forces, tangent and new histories of a solid at a displacement."""

    force: Array
    tangent: sparse.csr_array
    history: tuple[History, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Solid:
    """A deformable solid: a mesh, a material and kinematics.

    Displacements are numbered by node: u[d·node + axis].

    Locking. Linear cells cannot bend or preserve volume without spurious strain. Q4 and Hex8 use B-bar (the
    dilatation is its mean over the cell), which removes the second defect: they are good to ν = 0.4999. For
    bending use quadratic cells (T6, Q8, Tet10), which suffer from neither below ν = 0.49 or so. T3 and Tet4
    have no remedy here: use them for ν up to 0.4 and refine. In large deformation B-bar does not apply.

    Parameters
    ----------
    mesh : Mesh
        Undeformed.
    material : Material, or mapping of group to Material
        Of all cells, or of the cells of each group; the groups must cover all cells, once.
    kinematics : "plane strain", "plane stress", "axisymmetric" or "space"
        The first by default in the plane, the last in space. Axisymmetric nodes are (radius, height), forces
        are those on the full circle.
    thickness : float
        Of plane models (m).
    bbar : bool, optional
        Use B-bar in Q4 and Hex8; by default where it matters (strains, not in plane stress).

    Examples
    --------
    A bar of 2 m × 1 m pulled by 1 Pa with E = 1 Pa lengthens by 2 m × (1 Pa / 1 Pa):

    >>> from clapas.bodies.elastic.generators import block
    >>> from clapas.bodies.elastic.materials import Elastic
    >>> mesh = block((2.0, 1.0), (4, 2))
    >>> solid = Solid(mesh=mesh, material=Elastic(young=1.0), kinematics="plane stress")
    >>> f = solid.traction("right", (1.0, 0.0))
    >>> held = np.concatenate((solid.dofs("left", "x"), solid.dofs("bottom", "y")))
    >>> free = np.setdiff1d(np.arange(solid.n_dof), held)
    >>> from scipy.sparse.linalg import spsolve
    >>> u = np.zeros(solid.n_dof)
    >>> u[free] = spsolve(solid.stiffness[free][:, free].tocsc(), f[free])
    >>> round(float(u[solid.dofs("right", "x")].mean()), 9)
    2.0
    """

    mesh: Mesh
    material: Material | Mapping[str, Material]
    kinematics: Kinematics | None = None
    thickness: float = 1.0
    bbar: bool | None = None

    def __post_init__(self) -> None:
        plane = ("plane strain", "plane stress", "axisymmetric")
        allowed = plane if self.mesh.d == 2 else ("space",)
        if self.kinematics is None:
            object.__setattr__(self, "kinematics", allowed[0])
        if self.kinematics not in allowed:
            raise SettingsError(
                f"kinematics of a mesh in {self.mesh.d}-D must be {' or '.join(allowed)}, "
                f"got {self.kinematics!r}"
            )
        if not self.thickness > 0.0:
            raise SettingsError(f"thickness must be positive, got {self.thickness!r}")
        if self.kinematics != "plane strain" and self.kinematics != "plane stress" and self.thickness != 1.0:
            raise SettingsError("thickness is for plane strain and plane stress only")
        if self.kinematics == "axisymmetric" and self.mesh.nodes[:, 0].min() < 0.0:
            raise SceneError(
                "axisymmetric nodes are (radius, height): the radius must not be negative, got "
                f"{self.mesh.nodes[:, 0].min():g}"
            )
        _ = self.batches

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """Cells by element and material."""
        batches = []
        materials = self.material if isinstance(self.material, Mapping) else {None: self.material}
        materials_of = {name: np.zeros(len(rows), dtype=int) for name, rows in self.mesh.cells.items()}
        for group, material in materials.items():
            inside = np.ones(self.mesh.n_nodes, dtype=bool)
            if group is not None:
                inside[:] = False
                inside[self.mesh.group(group)] = True
            for name, rows in self.mesh.cells.items():
                in_group = inside[rows].all(axis=1)
                materials_of[name] += in_group
                if not in_group.any():
                    continue
                strains = material.measure == "strain" and self.kinematics != "plane stress"
                suits = strains and name in ("Q4", "Hex8")
                bbar = suits if self.bbar is None else bool(self.bbar and suits)
                cells = rows[in_group]
                assert self.kinematics is not None
                batches.append(
                    Batch(
                        element(name),
                        material,
                        cells,
                        self.mesh.nodes[cells],
                        self.kinematics,
                        self.thickness,
                        bbar,
                    )
                )
        for name, count in materials_of.items():
            wrong = np.flatnonzero(count != 1)
            if wrong.size:
                many = "no material" if count[wrong[0]] == 0 else f"{count[wrong[0]]} materials"
                raise SceneError(
                    f"cell {wrong[0]} of {name} has {many} ({wrong.size} such cells): the groups of "
                    "`material` must cover every cell once"
                )
        return tuple(batches)

    # ---------------------------------------------------------------- sizes and numbering

    @property
    def d(self) -> int:
        """Dimension of the displacements."""
        return self.mesh.d

    @property
    def n_dof(self) -> int:
        """Displacements."""
        return self.mesh.n_nodes * self.mesh.d

    @property
    def is_linear(self) -> bool:
        """Whether all materials are linear."""
        return all(batch.material.is_linear for batch in self.batches)

    def dofs(self, group: str | npt.ArrayLike, axes: str | None = None) -> Indices:
        """Numbers of the displacements of a group (or of given nodes) along axes such as "x", "xy", "rz".

        Examples
        --------
        >>> from clapas.bodies.elastic.generators import block
        >>> from clapas.bodies.elastic.materials import Elastic
        >>> Solid(mesh=block((1, 1), (1, 1)), material=Elastic(young=1.0)).dofs("left", "x")
        array([0, 4])
        """
        nodes = self.mesh.group(group) if isinstance(group, str) else np.asarray(group)
        names = "xyz"[: self.d] if axes is None else axes
        letters = {"x": 0, "y": 1, "z": 2, "r": 0}
        if self.kinematics == "axisymmetric":
            letters["z"] = 1
        try:
            chosen = np.array(sorted(letters[letter] for letter in names), dtype=np.int64)
        except KeyError:
            chosen = np.array([9])
        if (chosen >= self.d).any():
            known = "r and z" if self.kinematics == "axisymmetric" else " ".join("xyz"[: self.d])
            raise SettingsError(f"axes must be letters of {known}, got {axes!r}")
        return np.asarray((nodes[:, None] * self.d + chosen).ravel())

    # ---------------------------------------------------------------- internal forces

    def start(self) -> tuple[History, ...]:
        """Histories of the undeformed solid, one per batch."""
        return tuple(batch.material.history(batch.n_points, batch.n_components) for batch in self.batches)

    def respond(
        self, u: Array, history: tuple[History, ...] | None = None, *, tangent: bool = True
    ) -> Response:
        """Internal forces F_int (n_dof,), tangent ∂F_int/∂u and new histories at displacements u.

        ``history`` is that of the last equilibrium; the undeformed one by default. Without ``tangent`` the
        matrix is left zero.
        """
        history = self.start() if history is None else history
        force = np.zeros(self.n_dof)
        values, new = [], []
        for batch, old in zip(self.batches, history, strict=True):
            g = len(batch.element.stiffness.weights)
            parts: list[History] = []
            for part, B, volume in batch.operators():
                m, _, s, k = B.shape
                points = slice(part.start * g, part.start * g + m * g)
                strain = (B.reshape(m, g * s, k) @ u[batch.dofs[part]][:, :, None]).reshape(m * g, s)
                local_history = {name: array[points] for name, array in old.items()}
                flat = batch.kinematics == "plane stress"
                stress, D, changed = batch.material.respond(strain, local_history, flat)
                parts.append(changed)
                weighted = (stress.reshape(m, g, s) * volume[:, :, None]).reshape(m, 1, g * s)
                element_force = (weighted @ B.reshape(m, g * s, k)).reshape(m, k)
                force += np.bincount(batch.dofs[part].ravel(), element_force.ravel(), minlength=self.n_dof)
                if tangent:
                    DB = (D.reshape(m, g, s, s) @ B) * volume[:, :, None, None]
                    values.append(
                        (B.reshape(m, g * s, k).transpose(0, 2, 1) @ DB.reshape(m, g * s, k)).ravel()
                    )
            new.append({name: np.concatenate([part[name] for part in parts]) for name in old})
        entries = np.concatenate(values) if tangent else None
        return Response(force, self.pattern.matrix(entries), tuple(new))

    @cached_property
    def stiffness(self) -> sparse.csr_array:
        """K of the undeformed solid, (n_dof, n_dof), symmetric positive semidefinite."""
        return self.respond(np.zeros(self.n_dof)).tangent

    @cached_property
    def pattern(self) -> Pattern:
        """Sparsity pattern of cell matrices."""
        return Pattern([batch.cells for batch in self.batches], self.mesh.n_nodes, self.d)

    # ---------------------------------------------------------------- mass

    @cached_property
    def mass(self) -> sparse.csr_array:
        """Consistent mass matrix, (n_dof, n_dof)."""
        row, column, value = [], [], []
        for batch in self.batches:
            blocks = batch.mass_blocks()
            k = blocks.shape[1]
            row.append(np.repeat(batch.cells, k, axis=1).ravel())
            column.append(np.tile(batch.cells, (1, k)).ravel())
            value.append(blocks.ravel())
        places = (np.concatenate(row), np.concatenate(column))
        n = self.mesh.n_nodes
        nodal = sparse.coo_array((np.concatenate(value), places), shape=(n, n))
        return sparse.csr_array(sparse.kron(nodal, sparse.eye_array(self.d), format="csr"))

    @cached_property
    def lumped_mass(self) -> Array:
        """Mass at each displacement, (n_dof,): the diagonal of the mass scaled to keep each cell's mass.

        Positive for every element here, quadratic ones included (Hinton, Rock, Zienkiewicz 1976).
        """
        total = np.zeros(self.mesh.n_nodes)
        for batch in self.batches:
            blocks = batch.mass_blocks()
            diagonal = np.einsum("mii->mi", blocks)
            share = diagonal / diagonal.sum(axis=1)[:, None] if batch.material.density else diagonal
            masses = share * blocks.sum(axis=(1, 2))[:, None]
            total += np.bincount(batch.cells.ravel(), masses.ravel(), minlength=len(total))
        return np.repeat(total, self.d)

    # ---------------------------------------------------------------- loads

    def body_force(self, acceleration: npt.ArrayLike) -> Array:
        """Forces of an acceleration such as gravity, ∫ρ a N, (n_dof,)."""
        a = self._vector("acceleration", acceleration)
        return np.asarray(self.mass @ np.tile(a, self.mesh.n_nodes))

    def traction(self, group: str, stress: npt.ArrayLike) -> Array:
        """Forces (n_dof,) of a constant stress vector (Pa) on the sides of a group, undeformed."""
        t = self._vector("traction", stress)
        return self._on_sides(group, lambda normals, areas: areas[:, :, None] * t)

    def pressure(self, group: str, pressure: float) -> Array:
        """Forces (n_dof,) of a pressure (Pa, pushing inwards) on the sides of a group, undeformed."""
        return self._on_sides(group, lambda normals, areas: -pressure * areas[:, :, None] * normals)

    def force(self, group: str, total: npt.ArrayLike) -> Array:
        """A total force (N) on a group, shared equally by its nodes, (n_dof,)."""
        nodes = self.mesh.group(group)
        f = np.zeros((self.mesh.n_nodes, self.d))
        f[nodes] = self._vector("force", total) / len(nodes)
        return f.ravel()

    def areas(self, group: str) -> Array:
        """Area of the surface that belongs to each node of a group, ∫N over its sides, (n_nodes,)."""
        unit = self._on_sides(group, lambda normals, areas: areas[:, :, None] * np.ones(self.d))
        return unit.reshape(-1, self.d)[:, 0]

    def _on_sides(self, group: str, stress_times_area: Callable[[Array, Array], Array]) -> Array:
        f = np.zeros(self.n_dof)
        for name, rows in self.mesh.sides(group).items():
            side = element(name)
            functions, slopes = side.functions(side.mass.points), side.gradients(side.mass.points)
            along = jacobians(self.mesh.nodes[rows], slopes)  # (m, g, d, d − 1)
            if self.d == 2:
                normal = np.stack((along[..., 1, 0], -along[..., 0, 0]), axis=-1)
            else:
                normal = np.cross(along[..., 0], along[..., 1])
            length = np.linalg.norm(normal, axis=-1)
            area = length * side.mass.weights * self.thickness
            if self.kinematics == "axisymmetric":
                area = area * 2.0 * np.pi * (self.mesh.nodes[rows, 0] @ functions.T)
            weighted = stress_times_area(normal / length[..., None], area)
            nodal = np.einsum("gk,mgd->mkd", functions, weighted)
            dofs = rows[:, :, None] * self.d + np.arange(self.d)
            f += np.bincount(dofs.ravel(), nodal.ravel(), minlength=self.n_dof)
        return f

    def _vector(self, word: str, value: npt.ArrayLike) -> Array:
        vector = np.asarray(value, dtype=float)
        if vector.shape != (self.d,) or not np.isfinite(vector).all():
            raise SceneError(f"{word} must be {self.d} finite numbers, got {value!r}")
        return vector

    # ---------------------------------------------------------------- fields

    def measures(self, batch: Batch, u: Array, old: History) -> Iterator[tuple[Array, History, Array]]:
        """Measures (m·g, s) of the cells of a batch in chunks, with their histories and volumes (m, g)."""
        g = len(batch.element.stiffness.weights)
        for part, B, volume in batch.operators():
            m, _, s, k = B.shape
            measure = (B.reshape(m, g * s, k) @ u[batch.dofs[part]][:, :, None]).reshape(m * g, s)
            first = part.start * g
            yield measure, {name: array[first : first + m * g] for name, array in old.items()}, volume

    def largest_gradient(self, u: Array) -> float:
        """Largest component of the displacement gradient in cells of large strain; 0 where there are none."""
        largest = 0.0
        for batch in self.batches:
            if batch.material.measure == "gradient":
                for measure, _, _ in self.measures(batch, u, {}):
                    largest = max(largest, float(np.abs(measure).max(initial=0.0)))
        return largest

    def stresses(self, u: Array, history: tuple[History, ...] | None = None) -> tuple[Array, ...]:
        """Cauchy's stresses at the Gauss points of each batch, (m, g, 4 or 6)."""
        history = self.start() if history is None else history
        flat, fields = self.kinematics == "plane stress", []
        for batch, old in zip(self.batches, history, strict=True):
            parts = [
                batch.material.cauchy(measure, local_history, flat).reshape(*volume.shape, -1)
                for measure, local_history, volume in self.measures(batch, u, old)
            ]
            fields.append(np.concatenate(parts))
        return tuple(fields)

    def stored_energy(self, u: Array, history: tuple[History, ...] | None = None) -> float:
        """Recoverable energy of the materials (J), with the histories at u."""
        history = self.start() if history is None else history
        flat, total = self.kinematics == "plane stress", 0.0
        for batch, old in zip(self.batches, history, strict=True):
            for measure, local_history, volume in self.measures(batch, u, old):
                total += float(batch.material.stored(measure, local_history, flat) @ volume.ravel())
        return total

    def at_nodes(self, values: tuple[Array, ...]) -> Array:
        """Nodal values of a field given at Gauss points, (m, g, s) per batch.

        Each cell extrapolates to its nodes (:attr:`~clapas.bodies.elastic.elements.Element.extrapolation`); a
        node has the mean of its cells, weighted by volume.
        """
        n, parts = self.mesh.n_nodes, values[0].shape[2]
        total, weight = np.zeros((n, parts)), np.zeros(n)
        for batch, field in zip(self.batches, values, strict=True):
            nodes = batch.cells.ravel()
            size = np.repeat(batch.volumes(batch.element.stiffness).sum(axis=1), batch.cells.shape[1])
            weight += np.bincount(nodes, size, minlength=n)
            found = np.einsum("kg,mgs->mks", batch.element.extrapolation, field).reshape(-1, parts)
            for s in range(parts):
                total[:, s] += np.bincount(nodes, size * found[:, s], minlength=n)
        return np.asarray(total / np.where(weight > 0.0, weight, 1.0)[:, None])

    def von_mises(self, u: Array, history: tuple[History, ...] | None = None) -> Array:
        """Equivalent stress at the nodes, of the stress there, (n_nodes,) (Pa)."""
        return von_mises(self.at_nodes(self.stresses(u, history)))

    def plastic_strain(self, history: tuple[History, ...]) -> Array:
        """Accumulated plastic strain at the nodes, (n_nodes,); zero where the material does not yield."""
        fields = []
        for batch, variables in zip(self.batches, history, strict=True):
            values = variables.get("accumulated", np.zeros(batch.n_points))
            fields.append(values.reshape(len(batch.cells), -1, 1))
        return np.maximum(self.at_nodes(tuple(fields))[:, 0], 0.0)

    def fields(self, u: Array, history: tuple[History, ...] | None = None) -> dict[str, Array]:
        """Nodal fields for files and pictures: displacement, stress (n, 9), von Mises, plastic strain.

        Stresses are Cauchy's, as full tensors by rows: ParaView reads nine components as a tensor.

        Examples
        --------
        >>> from clapas.bodies.elastic.generators import block
        >>> from clapas.bodies.elastic.materials import Elastic
        >>> solid = Solid(mesh=block((1, 1), (1, 1)), material=Elastic(young=1.0))
        >>> {name: values.shape for name, values in solid.fields(np.zeros(8)).items()}
        {'displacement': (4, 3), 'stress': (4, 9), 'von Mises': (4,)}
        """
        history = self.start() if history is None else history
        moved = np.zeros((self.mesh.n_nodes, 3))
        moved[:, : self.d] = u.reshape(-1, self.d)
        fields = {
            "displacement": moved,
            "stress": full_tensors(self.at_nodes(self.stresses(u, history))),
            "von Mises": self.von_mises(u, history),
        }
        if any("accumulated" in variables for variables in history):
            fields["plastic strain"] = self.plastic_strain(history)
        return fields


def full_tensors(stress: Array) -> Array:
    """Symmetric tensors by rows, (n, 9), of stresses in 4 or 6 components."""
    columns = [0, 3, 5, 3, 1, 4, 5, 4, 2]
    six = np.zeros((len(stress), 6))
    six[:, : stress.shape[1]] = stress
    return np.asarray(six[:, columns])
