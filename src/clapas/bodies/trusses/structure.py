"""Pin-jointed structures of bars and unilateral cables: nodes, members, sections, prestress, supports, loads.

    e = B U                  elongations (m) from small displacements U (m) of the nodes
    Bᵀ t = F                 equilibrium of axial forces t (N, tension positive) with nodal loads F (N)
    bar      t = t⁰ + k e                              k = E A / l (N/m), t⁰ the prestress
    cable    0 ≤ t ⟂ t − t⁰ − k e ≥ 0                  never pushes: t = max(t⁰ + k e, 0)

The nodes are given in the prestressed shape without loads. There the self-stress must be in equilibrium with
itself and with the supports: Bᵀ t⁰ = 0 on the free displacements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.bodies.trusses.materials import Group
from clapas.errors import ProblemError
from clapas.typing import Array, Indices, Mask

COINCIDENT = 1e-12  # length of a member, relative to the size of the structure, that counts as zero
NOTHING = 1e-11  # force over E A that is rounding, left by settling in members without force
LOOSE = 1e-9  # relative excess of a cable's length over the distance of its ends
UNBALANCED = 1e-6  # largest force left at a node by the self-stress, relative to the largest member force


class ImpossibleTruss(ProblemError):
    """Members and nodes that make no truss.

    Parameters
    ----------
    message : str
        The error message.
    member, node : int, optional
        The first one at fault, for readers of files to report its position.
    """

    def __init__(self, message: str, *, member: int | None = None, node: int | None = None) -> None:
        super().__init__(message)
        self.member, self.node = member, node


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Truss:
    """A pin-jointed structure of bars and cables in the plane or in space.

    Parameters
    ----------
    nodes : array (n × d)
        Positions in the prestressed, unloaded shape (m); d is 2 or 3.
    members : array (m × 2)
        Node numbers at the ends.
    groups : sequence of Group
        Groups of members.
    group : array (m,)
        Group number of each member.
    prestress : array (m,), optional
        Self-stress t⁰ (N), tension positive; zero by default.
    is_blocked : array (n × d) of bool, optional
        Displacement components held by supports; none by default.
    cases : mapping from names to arrays (n × d), optional
        Loads at the nodes (N), by case.
    allow_parallel : bool
        Accept several members between the same two nodes (cables of neighbouring modules side by side).
    labels : sequence of str, optional
        Names of the nodes used in messages and files; their numbers by default.
    name : str
        Name of the structure.

    Raises
    ------
    ImpossibleTruss
        A member of zero length or given twice, a node without members, a cable with a negative prestress.
    ProblemError
        Arrays that do not fit together.

    Examples
    --------
    A weight of 100 N hangs on two cables at 45 degrees:

    >>> from clapas.bodies.trusses.materials import Group, Material, Section
    >>> steel, wire = Material(young=200e9), Section(area=1e-5)
    >>> truss = Truss(
    ...     nodes=[[-1, 1], [1, 1], [0, 0]], members=[[0, 2], [1, 2]], group=[0, 0],
    ...     groups=[Group(name="wire", kind="cable", material=steel, section=wire)],
    ...     is_blocked=[[True, True], [True, True], [False, False]],
    ...     cases={"weight": [[0, 0], [0, 0], [0, -100]]},
    ... )
    >>> truss
    Truss(3 nodes, 0 bars, 2 cables, 2 free displacements, cases: weight)
    >>> truss.B.toarray().round(4)  # columns: free displacements of node 2
    array([[ 0.7071, -0.7071],
           [-0.7071, -0.7071]])
    """

    nodes: Array
    members: Indices
    groups: Sequence[Group]
    group: Indices
    prestress: Array = field(default_factory=lambda: np.zeros(0))
    is_blocked: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))
    cases: Mapping[str, Array] = field(default_factory=dict)
    allow_parallel: bool = False
    labels: Sequence[str] = ()
    name: str = ""

    def __init__(
        self,
        *,
        nodes: npt.ArrayLike,
        members: npt.ArrayLike,
        groups: Sequence[Group],
        group: npt.ArrayLike,
        prestress: npt.ArrayLike | None = None,
        is_blocked: npt.ArrayLike | None = None,
        cases: Mapping[str, npt.ArrayLike] | None = None,
        allow_parallel: bool = False,
        labels: Sequence[str] = (),
        name: str = "",
    ) -> None:
        def keep(field_name: str, value: Any) -> None:
            if isinstance(value, np.ndarray):
                value = value.copy()
                value.setflags(write=False)
            object.__setattr__(self, field_name, value)

        points = np.asarray(nodes, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] not in (2, 3):
            raise ProblemError(
                f"nodes must be an array of n rows with 2 or 3 coordinates, got shape {points.shape}"
            )
        if not np.isfinite(points).all():
            place = _first(~np.isfinite(points).all(axis=1))
            raise ImpossibleTruss(f"nodes: coordinates must be finite; row {place} is not", node=place)
        ends = np.asarray(members)
        if ends.size == 0:
            raise ProblemError("a truss needs at least one member, got none")
        if ends.ndim != 2 or ends.shape[1] != 2 or not np.issubdtype(ends.dtype, np.integer):
            raise ProblemError(
                f"members must be an array of m rows with two node numbers, got {ends.dtype} {ends.shape}"
            )
        n, d, m = *points.shape, len(ends)
        keep("nodes", points)
        keep("members", ends.astype(np.int64))
        keep("groups", tuple(groups))
        keep("group", _column("group", group, m, np.int64))
        keep(
            "prestress", np.zeros(m) if prestress is None else _column("prestress", prestress, m, np.float64)
        )
        keep(
            "is_blocked",
            np.zeros((n, d), dtype=bool)
            if is_blocked is None
            else _grid("is_blocked", is_blocked, (n, d), bool),
        )
        loads = {
            str(key): _grid(f"load case '{key}'", value, (n, d), np.float64)
            for key, value in (cases or {}).items()
        }
        keep("cases", MappingProxyType(loads))
        keep("allow_parallel", bool(allow_parallel))
        keep("labels", tuple(str(label) for label in labels))
        keep("name", name)
        _check(self)

    @property
    def d(self) -> int:
        """Dimension of space."""
        return int(self.nodes.shape[1])

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def n_members(self) -> int:
        """Number of bars and cables."""
        return len(self.members)

    @property
    def n_cables(self) -> int:
        """Number of cables."""
        return int(self.is_cable.sum())

    @cached_property
    def free(self) -> Indices:
        """Numbers of the free displacement components, d·node + axis."""
        return np.flatnonzero(~self.is_blocked.ravel())

    @property
    def n_dof(self) -> int:
        """Number of free displacement components."""
        return len(self.free)

    def _of_groups(self, values: Sequence[Any]) -> Any:
        return np.asarray(values)[self.group]

    @cached_property
    def is_cable(self) -> Mask:
        """Which members are cables (m,)."""
        return np.asarray(self._of_groups([g.kind == "cable" for g in self.groups]), dtype=bool)

    @cached_property
    def axial_stiffness(self) -> Array:
        """E A of each member (N)."""
        return np.asarray(
            self._of_groups([g.material.young * g.section.area for g in self.groups]), dtype=np.float64
        )

    @cached_property
    def mass(self) -> Array:
        """Mass of each member (kg)."""
        return np.asarray(
            self._of_groups([g.material.density * g.section.area for g in self.groups]) * self.lengths
        )

    @cached_property
    def vectors(self) -> Array:
        """From the first to the second end of each member (m × d)."""
        return np.asarray(self.nodes[self.members[:, 1]] - self.nodes[self.members[:, 0]])

    @cached_property
    def lengths(self) -> Array:
        """Lengths l of the members in the given shape (m)."""
        return np.asarray(np.linalg.norm(self.vectors, axis=1))

    @cached_property
    def stiffness(self) -> Array:
        """Stiffness k = E A / l of each member (N/m), the linear law about the given shape."""
        return self.axial_stiffness / self.lengths

    @cached_property
    def rest_lengths(self) -> Array:
        """Lengths l⁰ (m) at which the members carry nothing: t⁰ = E A (l − l⁰)/l⁰."""
        return self.lengths / (1.0 + self.prestress / self.axial_stiffness)

    @cached_property
    def full_B(self) -> sparse.csr_array:
        """Compatibility matrix with the blocked displacements: e = B U (m × d·n)."""
        direction = self.vectors / self.lengths[:, None]
        columns = (self.d * self.members[:, :, None] + np.arange(self.d)).reshape(self.n_members, -1)
        values = np.concatenate((-direction, direction), axis=1)
        rows = np.repeat(np.arange(self.n_members), 2 * self.d)
        shape = (self.n_members, self.d * self.n_nodes)
        return sparse.csr_array((values.ravel(), (rows, columns.ravel())), shape=shape)

    @cached_property
    def B(self) -> sparse.csr_array:
        """Compatibility matrix, e = B U for the free displacements U (m × n_dof); Bᵀ: equilibrium matrix."""
        return self.full_B[:, self.free].tocsr()

    def load(self, case: str | Array) -> Array:
        """Loads on the free displacements (N), of a case by name or of an array (n × d)."""
        if isinstance(case, str):
            if case not in self.cases:
                known = ", ".join(map(repr, self.cases)) or "none"
                raise ProblemError(f"no load case is called '{case}': the structure has {known}")
            case = self.cases[case]
        return _grid("loads", case, self.nodes.shape, np.float64).ravel()[self.free]

    def self_weight(self, gravity: npt.ArrayLike | None = None) -> Array:
        """Weight of the members at their ends (n × d, N), half of each at either one.

        Gravity is 9.81 m/s² against the last axis unless it is given. To add it to the load cases:
        ``truss.with_(cases={case: loads + truss.self_weight() for case, loads in truss.cases.items()})``.
        """
        down = np.append(np.zeros(self.d - 1), -9.81) if gravity is None else np.asarray(gravity, dtype=float)
        if down.shape != (self.d,) or not np.isfinite(down).all():
            raise ProblemError(f"gravity must have {self.d} components (m/s²), got {gravity!r}")
        nodal_mass = np.bincount(
            self.members.ravel(), weights=np.repeat(0.5 * self.mass, 2), minlength=self.n_nodes
        )
        return np.asarray(nodal_mass[:, None] * down)

    def displacements(self, free: Array) -> Array:
        """Displacements (n × d) from their free components, zero at supports."""
        whole = np.zeros(self.nodes.size)
        whole[self.free] = free
        return whole.reshape(self.nodes.shape)

    def label(self, node: int) -> str:
        """Name of a node in messages."""
        return self.labels[node] if self.labels else str(node)

    def imbalance(self) -> float:
        """Largest force (N) that the self-stress leaves at a free displacement."""
        return float(np.abs(self.B.T @ self.prestress).max(initial=0.0))

    def check_balance(self) -> None:
        """Raise :class:`ProblemError` unless the self-stress is in equilibrium without loads."""
        left = -self.displacements(self.B.T @ self.prestress)  # forces of the members on the nodes
        sizes = np.linalg.norm(left, axis=1)
        worst, top = int(np.argmax(sizes)), float(np.abs(self.prestress).max(initial=0.0))
        if sizes[worst] > UNBALANCED * top + NOTHING * float(self.axial_stiffness.max()):
            shown = np.where(np.abs(left[worst]) < 1e-6 * sizes[worst], 0.0, left[worst])
            force = ", ".join(f"{each:.3g}" for each in shown)
            raise ProblemError(
                f"the prestress is not in equilibrium in the given shape: it leaves {sizes[worst]:.4g} N "
                f"({force}) at node {self.label(worst)}, with forces up to {top:.4g} N in the members. "
                "Either let the structure move to the shape in which it balances (settle(truss); --settle in "
                "the shell), or take forces that balance here (feasible_self_stress(truss); --tension N)"
            )

    def with_(self, **changes: Any) -> Truss:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def with_rest_lengths(self, rest_lengths: npt.ArrayLike) -> Truss:
        """A copy whose prestress is that of these rest lengths (m) in the given shape; it may be out of
        balance.

        A truss has no slack cables in its own shape: one longer than the distance of its ends is rejected.
        """
        l0 = _column("rest_lengths", rest_lengths, self.n_members, np.float64)
        if l0.min() <= 0.0:
            raise ProblemError(
                f"rest lengths must be positive, got {l0.min():g} for member {int(np.argmin(l0))}"
            )
        t = self.axial_stiffness * (self.lengths - l0) / l0
        loose = self.is_cable & (l0 > (1.0 + LOOSE) * self.lengths)
        if loose.any():
            member = _first(loose)
            raise ImpossibleTruss(
                f"member {member} is a cable {l0[member] - self.lengths[member]:.3g} m longer than its place "
                f"({int(loose.sum())} such): the nodes must be those of a shape in which cables are tight. "
                "Move them, shorten the cables, or find the shape under a load: LargeDisplacements().solve("
                "truss, case, rest_lengths=...)",
                member=member,
            )
        return self.with_(prestress=np.where(self.is_cable, np.maximum(t, 0.0), t))

    def members_of(self, group: str) -> Indices:
        """Numbers of the members of a group."""
        names = [g.name for g in self.groups]
        if group not in names:
            raise ProblemError(
                f"no group is called '{group}': the structure has {', '.join(map(repr, names))}"
            )
        return np.flatnonzero(self.group == names.index(group))

    def __repr__(self) -> str:
        label = f"{self.name}: " if self.name else ""
        cases = ", ".join(self.cases) or "none"
        return (
            f"Truss({label}{self.n_nodes} nodes, {self.n_members - self.n_cables} bars, {self.n_cables} "
            f"cables, {self.n_dof} free displacements, cases: {cases})"
        )


def _check(truss: Truss) -> None:
    _check_numbers(truss)
    _check_geometry(truss)
    _check_doubles(truss)
    _check_forces(truss)


def _check_numbers(truss: Truss) -> None:
    """Check names and numbers of nodes and groups."""
    n, group = truss.n_nodes, truss.group
    if len(truss.labels) not in (0, n):
        raise ProblemError(f"labels: {n} nodes need {n} names, got {len(truss.labels)}")
    outside = (truss.members < 0) | (truss.members >= n)
    if outside.any():
        member = _first(outside.any(axis=1))
        raise ImpossibleTruss(
            f"member {member} names node {truss.members[member][outside[member]][0]}, but the nodes are 0 to "
            f"{n - 1}",
            member=member,
        )
    if group.min(initial=0) < 0 or group.max(initial=0) >= len(truss.groups):
        raise ProblemError(
            f"group numbers must lie between 0 and {len(truss.groups) - 1}, got {group.min()} to "
            f"{group.max()}"
        )


def _check_geometry(truss: Truss) -> None:
    """Check for members of zero length and nodes without members."""
    size = float(np.ptp(truss.nodes, axis=0).max(initial=0.0))
    short = truss.lengths <= COINCIDENT * size
    if short.any():
        a, b = truss.members[_first(short)]
        raise ImpossibleTruss(
            f"member {_first(short)} has no length: its ends {truss.label(a)} and {truss.label(b)} are at "
            "the same point. Remove it, or merge the two nodes",
            member=_first(short),
        )
    lonely = np.bincount(truss.members.ravel(), minlength=truss.n_nodes) == 0
    lonely &= ~truss.is_blocked.all(axis=1)
    if lonely.any():
        raise ImpossibleTruss(
            f"node {truss.label(_first(lonely))} belongs to no member and nothing holds it "
            f"({int(lonely.sum())} such). Remove it, or join it to the structure",
            node=_first(lonely),
        )


def _check_doubles(truss: Truss) -> None:
    """Check for several members between the same nodes."""
    if truss.allow_parallel:
        return
    pairs = np.sort(truss.members, axis=1)
    _, first, counts = np.unique(pairs, axis=0, return_index=True, return_counts=True)
    if counts.max() > 1:
        a, b = pairs[first[int(np.argmax(counts))]]
        doubles = np.flatnonzero((pairs == (a, b)).all(axis=1))
        raise ImpossibleTruss(
            f"{len(doubles)} members join the nodes {truss.label(a)} and {truss.label(b)}: "
            f"{', '.join(map(str, doubles))}. Remove the doubles, or say allow_parallel=True if they are "
            "meant to lie side by side",
            member=int(doubles[1]),
        )


def _check_forces(truss: Truss) -> None:
    """Check loads and prestress: finite, no cable in compression, no compression beyond E A."""
    loads = ((f"load case '{case}'", load) for case, load in truss.cases.items())
    for label, values in (("prestress", truss.prestress), *loads):
        if not np.isfinite(values).all():
            raise ProblemError(f"{label}: values must be finite, got NaN or infinity")
    pushed = truss.is_cable & (truss.prestress < 0.0)
    if pushed.any():
        member = _first(pushed)
        raise ImpossibleTruss(
            f"member {member} is a cable of group '{truss.groups[truss.group[member]].name}' and would be in "
            f"compression at rest ({truss.prestress[member]:.4g} N, {int(pushed.sum())} such). Make it a "
            "bar, or take a self-stress with tension in all cables "
            "(clapas.bodies.trusses.feasible_self_stress)",
            member=member,
        )
    crushed = truss.prestress <= -truss.axial_stiffness
    if crushed.any():
        member = _first(crushed)
        raise ImpossibleTruss(
            f"member {member}: a compression of {-truss.prestress[member]:.4g} N exceeds E A = "
            f"{truss.axial_stiffness[member]:.4g} N, no rest length gives it. Check the units (N, Pa, m²)",
            member=member,
        )


def _first(mask: Any) -> int:
    return int(np.flatnonzero(mask)[0])


def _column(label: str, values: npt.ArrayLike, m: int, dtype: type) -> npt.NDArray[Any]:
    column: npt.NDArray[Any] = np.asarray(values, dtype=dtype)
    if column.shape != (m,):
        raise ProblemError(f"{label}: {m} members need {m} values, got shape {column.shape}")
    return column


def _grid(label: str, values: npt.ArrayLike, shape: tuple[int, ...], dtype: type) -> npt.NDArray[Any]:
    grid: npt.NDArray[Any] = np.asarray(values, dtype=dtype)
    if grid.shape != shape:
        raise ProblemError(
            f"{label}: {shape[0]} nodes need {shape[0]} rows of {shape[1]} values, got shape {grid.shape}"
        )
    return grid
