"""Bars and cables that move: a truss as a kind of bodies in scenes with contact.

Nodes have masses, bars are elastic, cables never push. At the middle q_m of a step of length h,

    M̃ = M + θ h C + θ² h² K
    M̃ v_free = M v + h [F − f(q_m)] + h [(1 − θ)² h K − (1 − θ) C] v

f are the forces of the bars, K their tangent stiffness and the geometric stiffness of taut members, C the
damping of the bars: forces act where q_θ = q_m + θ² h v⁺ − (1 − θ)² h v is, the mean of start and end for
θ = ½. So stiff bars do not limit the step.

A cable of stiffness k, longer than its rest length by e, is a link of the contact problem. Its tension over
the step is t = r/h, and with B the rates of length of the members

    0 ≤ r ⟂ r/(h k) − e_θ − τ ė_θ ≥ 0,        e_θ = e(q_m) + B (q_θ − q_m),    ė_θ = B ((1 − θ) v + θ v⁺)

τ is the damping time of the material. Divided by a = θ² h + θ τ this is u = −B v⁺ + w + C r ≥ 0 with the
compliance C = 1/(h k a): no stiffness is too large. An inextensible cable has C = 0 and ends the step no
longer than its rest length; the tensions of many are then not unique, and those found are what the solver
reaches from the tensions of the step before (zero at the start).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.bodies.kind import Account, Energy, Field, Links, Look, Part, Poses, Skin, Span, Touches
from clapas.bodies.trusses.assembly import Assembly
from clapas.bodies.trusses.document import from_document, read_tables, to_document
from clapas.bodies.trusses.modal import mass_matrix
from clapas.bodies.trusses.structure import Truss
from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.shapes import Capsule, Disk, Sphere
from clapas.geometry.shapes.base import Shape
from clapas.linalg.factor import factorise
from clapas.typing import Array, Indices, Mask

FEW = 120  # velocities up to which full matrices are faster
DRAWN = 0.008  # radius of members without a contact radius, as a share of their mean length


class Shapes(NamedTuple):
    """Lengths (m,) and unit directions (m × d) of the members."""

    length: Array
    direction: Array


@dataclass(frozen=True, kw_only=True)
class Actuator:
    """Rest lengths of some members that change in time, from one instant to the next in straight lines.

    Parameters
    ----------
    members : sequence of int
        Which members.
    times : sequence of float
        Instants (s), increasing.
    factors : sequence of float
        What their rest lengths are multiplied by at these instants; constant before and after.

    Examples
    --------
    >>> winch = Actuator(members=[3], times=[0.0, 2.0], factors=[1.0, 0.8])
    >>> winch.factor(0.5)
    0.95
    """

    members: Sequence[int]
    times: Sequence[float]
    factors: Sequence[float]

    def __post_init__(self) -> None:
        times, factors = np.asarray(self.times, dtype=float), np.asarray(self.factors, dtype=float)
        if times.ndim != 1 or times.shape != factors.shape or len(times) == 0:
            raise SceneError(
                f"actuator: as many factors as times, at least one; got {times.shape} and {factors.shape}"
            )
        if np.any(np.diff(times) <= 0.0):
            raise SceneError(f"actuator: times must increase, got {list(times)}")
        if not (factors > 0.0).all():
            raise SceneError(f"actuator: rest lengths stay positive, got the factors {list(factors)}")

    def factor(self, time: float) -> float:
        """What rest lengths are multiplied by at a time (s)."""
        return float(np.interp(time, self.times, self.factors))


@dataclass(frozen=True, kw_only=True, eq=False)
class MovingTruss:
    """A truss that moves, for ``scene.add_system``.

    Parameters
    ----------
    truss : Truss
        Nodes, members, rest lengths (by the prestress) and supports. It starts in the given shape.
    velocity : array (n, d), optional
        Velocities of the nodes at the start (m/s); zero by default.
    case : str, optional
        Loads that act on the nodes, by the name of a case of the truss.
    masses : array (n,), optional
        Masses at the nodes (kg), beside those of the members.
    damping_time : float
        τ (s): members resist their rate of elongation with k τ. 0 by default.
    is_inextensible : bool
        Whether cables do not stretch at all.
    actuators : sequence of Actuator
        Rest lengths that change.
    node_radius, bar_radius : float
        Radii (m) with which nodes and bars touch other things; 0, the default, if they do not. In the plane
        only nodes touch.

    Examples
    --------
    A weight of 1 kg on a cable of 1 m and 1000 N/m; it hangs 9.81 mm lower than the cable is long:

    >>> import clapas
    >>> from clapas.bodies.trusses import Group, Material, Section
    >>> wire = Group(
    ...     name="wire", kind="cable", material=Material(young=1e8, density=1e-3), section=Section(area=1e-5)
    ... )
    >>> hung = Truss(
    ...     nodes=[[0, 0], [0, -1]], members=[[0, 1]], group=[0], groups=[wire],
    ...     is_blocked=[[True, True], [False, False]],
    ... )
    >>> scene = clapas.Scene(d=2)
    >>> _ = scene.add_system(MovingTruss(truss=hung, masses=[0, 1], damping_time=0.1), name="weight")
    """

    truss: Truss
    velocity: npt.ArrayLike | None = None
    case: str | None = None
    masses: npt.ArrayLike | None = None
    damping_time: float = 0.0
    is_inextensible: bool = False
    actuators: Sequence[Actuator] = field(default_factory=tuple)
    node_radius: float = 0.0
    bar_radius: float = 0.0

    word: ClassVar[str] = "truss"

    def __post_init__(self) -> None:
        n, d, m = *self.truss.nodes.shape, self.truss.n_members
        speeds = np.zeros((n, d)) if self.velocity is None else np.asarray(self.velocity, dtype=float)
        if speeds.shape != (n, d) or not np.isfinite(speeds).all():
            raise SceneError(f"velocity: {n} nodes need finite rows of {d} numbers, got {speeds.shape}")
        if np.any(speeds[self.truss.is_blocked] != 0.0):
            raise SceneError("velocity: supports do not move; give 0 for the components they hold")
        if not (self.damping_time >= 0.0 and self.node_radius >= 0.0 and self.bar_radius >= 0.0):
            raise SceneError("damping_time, node_radius and bar_radius must be at least 0")
        if d == 2 and self.bar_radius > 0.0:
            raise SceneError("bar_radius: in the plane bars do not touch; give node_radius")
        for actuator in self.actuators:
            outside = [int(k) for k in actuator.members if not 0 <= int(k) < m]
            if outside:
                raise SceneError(f"actuator: no member {outside[0]}; the truss has members 0 to {m - 1}")
        object.__setattr__(self, "velocity", speeds)
        light = np.flatnonzero(self._mass.diagonal() <= 0.0)
        if len(light):
            node = self.truss.label(int(self.truss.free[light[0]]) // d)
            raise SceneError(f"node {node} has no mass: give densities to its members, or masses")
        if self.case is not None:
            self.truss.load(self.case)

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain words, numbers, lists and dictionaries."""
        plain: dict[str, Any] = {"truss": to_document(self.truss)}
        for name in ("velocity", "masses"):
            values = getattr(self, name)
            if values is not None and np.any(np.asarray(values)):
                plain[name] = np.asarray(values, dtype=float).tolist()
        for name in ("damping_time", "is_inextensible", "node_radius", "bar_radius", "case"):
            if getattr(self, name):
                plain[name] = getattr(self, name)
        if self.actuators:
            plain["actuators"] = [
                {key: np.asarray(getattr(each, key)).tolist() for key in ("members", "times", "factors")}
                for each in self.actuators
            ]
        return plain

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any], folder: Path) -> MovingTruss:
        """From what :meth:`to_dict` gives; ``truss`` may also be the path of a TOML or JSON document.

        Raises
        ------
        SceneError
            Something is missing, unknown, or of the wrong kind.
        """
        values = dict(settings)
        known = [each.name for each in fields(cls)]
        unknown = [name for name in values if name not in known]
        if unknown or "truss" not in values:
            what = f"unknown setting '{unknown[0]}'" if unknown else "no 'truss'"
            raise SceneError(f"truss: {what}; the settings are {', '.join(known)}")
        document = values.pop("truss")
        if isinstance(document, str):
            document = read_tables(folder / document)
        if not isinstance(document, Mapping):
            raise SceneError(f"truss: expected a table or the name of a file, got {document!r:.60}")
        try:
            actuators = [Actuator(**each) for each in values.pop("actuators", [])]
            return cls(truss=from_document(document, "truss"), actuators=actuators, **values)
        except (TypeError, ValueError) as error:
            raise SceneError(f"truss: {error}") from None

    # ---------------------------------------------------------------- constants

    @cached_property
    def _mass(self) -> sparse.csr_array:
        return sparse.csr_array(mass_matrix(self.truss, extra=self.masses))

    @cached_property
    def _assembly(self) -> Assembly:
        return Assembly(self.truss)

    @cached_property
    def _weightless(self) -> Array:
        """Loads of the case (n_dof,) (N)."""
        return np.zeros(self.n_dof) if self.case is None else self.truss.load(self.case)

    @cached_property
    def _falling(self) -> sparse.csr_array:
        """Mass of each free component under an acceleration of all nodes, supports included (n_dof × d)."""
        n, d = self.truss.nodes.shape
        whole = self.truss.with_(is_blocked=np.zeros((n, d), dtype=bool))
        rows = mass_matrix(whole, extra=self.masses).tocsr()[self.truss.free]
        return sparse.csr_array(rows @ sparse.kron(np.ones((n, 1)), np.eye(d)))

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.truss.d

    @property
    def n_dof(self) -> int:
        """Free velocity components of the nodes."""
        return self.truss.n_dof

    @cached_property
    def _touching_bars(self) -> Indices:
        """Members that touch other things as capsules."""
        bars = np.flatnonzero(~self.truss.is_cable)
        return bars if self.bar_radius > 0.0 else bars[:0]

    @property
    def _n_touching_nodes(self) -> int:
        return self.truss.n_nodes if self.node_radius > 0.0 else 0

    @property
    def n_carriers(self) -> int:
        """Nodes that touch, then bars that touch."""
        return self._n_touching_nodes + len(self._touching_bars)

    @cached_property
    def shapes(self) -> Sequence[tuple[int, Shape]]:
        """A ball for each node that touches, a capsule for each bar."""
        ball: Shape = Sphere(self.node_radius or 1.0) if self.d == 3 else Disk(self.node_radius or 1.0)
        nodes: list[tuple[int, Shape]] = [(k, ball) for k in range(self._n_touching_nodes)]
        bars: list[tuple[int, Shape]] = [
            (self._n_touching_nodes + k, Capsule(self.bar_radius, float(self.truss.lengths[bar])))
            for k, bar in enumerate(self._touching_bars)
        ]
        return nodes + bars

    @cached_property
    def link_names(self) -> Sequence[str]:
        """Nodes by their labels, bars by their numbers."""
        nodes = [f"node {self.truss.label(k)}" for k in range(self._n_touching_nodes)]
        return nodes + [f"bar {bar}" for bar in self._touching_bars]

    # ---------------------------------------------------------------- motion

    def start(self) -> Part:
        """In the given shape. The last coordinate is the time, which rest lengths depend on."""
        speeds = np.asarray(self.velocity)
        x = self.truss.nodes.ravel()[self.truss.free]
        return Part(np.append(x, 0.0), speeds.ravel()[self.truss.free])

    def drift(self, part: Part, h: float) -> Part:
        """After h seconds at its velocities."""
        return self.advance(part, part.v, h)

    def advance(self, part: Part, v: Array, h: float) -> Part:
        """With velocities v, after h seconds at them."""
        return Part(part.q + h * np.append(v, 1.0), v)

    def free(self, part: Part, span: Span) -> tuple[sparse.csr_array, Array]:
        """M̃ and the velocities at the end without contacts and without cables."""
        h, theta, shapes, M = span.h, span.theta, self.members_at(part), self._mass
        forces = self._stiffness * self.elongations(part)
        is_bar = ~self.truss.is_cable
        along = shapes.direction[:, :, None] * shapes.direction[:, None, :]
        material = np.where(is_bar, self._stiffness, 0.0)[:, None, None] * along
        tight = (np.maximum(forces, 0.0) / shapes.length)[:, None, None] * (np.eye(self.d) - along)
        K, C = material + tight, self.damping_time * material  # a block for each member
        load = self._weightless + self._falling @ span.gravity
        load -= self._rates(shapes).T @ np.where(is_bar, forces, 0.0)
        effective = sparse.csr_array(M + self._assembly.matrix((theta * h) ** 2 * K + theta * h * C))
        carried = h * self._of_members((1.0 - theta) ** 2 * h * K - (1.0 - theta) * C, part.v)
        right = M @ part.v + h * load + carried
        if self.n_dof <= FEW:
            return effective, np.linalg.solve(effective.toarray(), right)
        return effective, factorise(effective, self._assembly.order).solve(right)

    def links(self, part: Part, span: Span) -> Links:
        """The cables."""
        cables, shapes = self._cables, self.members_at(part)
        h, theta = span.h, span.theta
        k, e = self._stiffness[cables], self.elongations(part)[cables]
        rate = (self._rates(shapes) @ part.v)[cables]
        if self.is_inextensible:
            w, C = -e / (theta * h), np.zeros(len(cables))
        else:
            tau = self.damping_time
            a = theta**2 * h + theta * tau
            w = (-e + (1.0 - theta) * ((1.0 - theta) * h - tau) * rate) / a
            C = 1.0 / (h * k * a)
        n, d = len(cables), self.d
        speeds, soft = np.zeros((n, d)), np.empty((n, d))
        speeds[:, 0], soft[:, 0] = w, C
        soft[:, 1:] = self._lightness[:, None]
        account = np.full(n, Account.LOST if self.is_inextensible else Account.STORED)
        return Links(cables, self._shortening(shapes), speeds, np.zeros(n), soft, account)

    def energy(self, part: Part, gravity: Array) -> Energy:
        """Of the nodes, the members and gravity (J)."""
        forces = self._stiffness * self.elongations(part)
        stretched = forces * self.elongations(part)
        elastic = 0.5 * float(np.sum(stretched[~self.truss.is_cable | (forces > 0.0)]))
        if self.is_inextensible:
            elastic = 0.5 * float(np.sum(stretched[~self.truss.is_cable]))
        x = part.q[:-1]
        lifted = float(x @ (self._falling @ gravity) + x @ self._weightless)
        return Energy(0.5 * float(part.v @ (self._mass @ part.v)), elastic - lifted)

    # ---------------------------------------------------------------- where members are

    def nodes_at(self, part: Part) -> Array:
        """Places of the nodes (n × d) (m)."""
        return self._on_nodes(part.q[:-1], self.truss.nodes)

    def members_at(self, part: Part) -> Shapes:
        """Lengths and directions of the members."""
        x, ends = self.nodes_at(part), self.truss.members
        vectors = x[ends[:, 1]] - x[ends[:, 0]]
        length = np.linalg.norm(vectors, axis=1)
        return Shapes(length, vectors / np.maximum(length, np.finfo(float).tiny)[:, None])

    def elongations(self, part: Part) -> Array:
        """Lengths beyond the rest lengths at that time (m,) (m); negative for slack cables."""
        rest = self.truss.rest_lengths.copy()
        for actuator in self.actuators:
            rest[np.asarray(actuator.members, dtype=np.int64)] *= actuator.factor(float(part.q[-1]))
        return self.members_at(part).length - rest

    def tensions(self, part: Part) -> Array:
        """Axial forces by the elastic law (m,) (N), tension positive; NaN for inextensible cables.

        Forces of inextensible cables are not a matter of places: they are impulses of the links of a state.
        """
        forces = self._stiffness * self.elongations(part)
        none = np.nan if self.is_inextensible else np.maximum(forces, 0.0)
        return np.where(self.truss.is_cable, none, forces)

    @cached_property
    def _stiffness(self) -> Array:
        """E A / l⁰ (N/m)."""
        return self.truss.axial_stiffness / self.truss.rest_lengths

    @cached_property
    def _cables(self) -> Indices:
        return np.flatnonzero(self.truss.is_cable)

    @cached_property
    def _lightness(self) -> Array:
        """Compliance (c,) of the empty rows of the cables: that of their ends without the rest (1/kg)."""
        at = self._pattern.columns[self.truss.is_cable]
        inverse = np.append(1.0 / self._mass.diagonal(), 0.0)[at].sum(axis=1)
        return np.asarray(np.maximum(inverse, float(inverse.max(initial=1.0)) * 1e-3))

    @cached_property
    def _pattern(self) -> _Pattern:
        return _Pattern.of(self.truss)

    def _rates(self, shapes: Shapes) -> sparse.csr_array:
        """B (m × n_dof): rates of length of the members."""
        return self._pattern.matrix(shapes.direction, np.arange(self.truss.n_members))

    def _of_members(self, blocks: Array, v: Array) -> Array:
        """Σ over the members of their blocks (m × d × d) on the difference of their ends, (n_dof,)."""
        ends = self._on_nodes(v, np.zeros(self.truss.nodes.shape))[self.truss.members]
        pull = np.einsum("mij,mj->mi", blocks, ends[:, 1] - ends[:, 0])
        total = np.zeros_like(self.truss.nodes)
        np.add.at(total, self.truss.members[:, 1], pull)
        np.subtract.at(total, self.truss.members[:, 0], pull)
        return np.asarray(total.ravel()[self.truss.free])

    def _shortening(self, shapes: Shapes) -> sparse.csr_array:
        """−B of the cables as normal rows of links, (d·c × n_dof): the tangential rows are empty."""
        B = self._pattern.matrix(-shapes.direction[self._cables], self._cables)
        ends = np.repeat(B.indptr[1:], self.d)
        return sparse.csr_array(
            (B.data, B.indices, np.concatenate(([0], ends))), shape=(self.d * len(self._cables), self.n_dof)
        )

    def _on_nodes(self, free: Array, held: Array) -> Array:
        whole = held.ravel().copy()
        whole[self.truss.free] = free
        return np.asarray(whole.reshape(self.truss.nodes.shape))

    # ---------------------------------------------------------------- contacts

    def poses(self, part: Part) -> Poses:
        """Where nodes are, and middles of bars with their z along them."""
        x, count = self.nodes_at(part), self._n_touching_nodes
        still = np.tile(rotations.identity(self.d), (count, 1))
        ends, along = self.truss.members[self._touching_bars], self.members_at(part).direction
        turned = rotations.up_to(along[self._touching_bars]) if len(ends) else still[:0]
        middles = 0.5 * (x[ends[:, 0]] + x[ends[:, 1]])
        return Poses(np.concatenate((x[:count], middles)), np.concatenate((still, turned)))

    def twists(self, part: Part) -> Array:
        """Velocities of nodes and middles of bars; bars do not spin about themselves."""
        d, count = self.d, self._n_touching_nodes
        v = self._on_nodes(part.v, np.zeros(self.truss.nodes.shape))
        found = np.zeros((self.n_carriers, 6 if d == 3 else 3))
        found[:count, :d] = v[:count]
        if len(self._touching_bars):
            ends, shapes = self.truss.members[self._touching_bars], self.members_at(part)
            along, length = (values[self._touching_bars] for values in (shapes.direction, shapes.length))
            found[count:, :d] = 0.5 * (v[ends[:, 0]] + v[ends[:, 1]])
            turning = np.cross(along, v[ends[:, 1]] - v[ends[:, 0]]) / length[:, None]
            found[count:, 3:] = rotations.rotate_back(rotations.up_to(along), turning)
        return found

    def jacobian(self, part: Part, at: Touches) -> sparse.csr_array:
        """Points of a node move with it; those of a bar with its two ends, by the lever.

        On a bar between x_a and x_b, with c its direction and l its length, the point p = x_a + s l c + y, y
        across the bar, moves with the middle and as the bar turns, whatever its rate of elongation: with
        Δ = v_b − v_a, at (v_a + v_b)/2 + (s − ½)(Δ − c (c·Δ)) − c (y·Δ)/l.
        """
        d, count, n = self.d, self._n_touching_nodes, len(at.carrier)
        is_bar = at.carrier >= count
        ends = np.stack((at.carrier, at.carrier), axis=1)
        weights = np.zeros((n, 2, d, d))
        weights[~is_bar, 0] = np.eye(d)
        if is_bar.any():
            bars = self._touching_bars[at.carrier[is_bar] - count]
            ends[is_bar] = self.truss.members[bars]
            shapes, x = self.members_at(part), self.nodes_at(part)
            along, length = shapes.direction[bars], shapes.length[bars]
            arm = at.point[is_bar] - x[ends[is_bar, 0]]
            share = np.einsum("ni,ni->n", arm, along) / length
            across = arm - (share * length)[:, None] * along
            side = np.eye(d) - along[:, :, None] * along[:, None, :]
            lever = (share - 0.5)[:, None, None] * side
            lever -= along[:, :, None] * across[:, None, :] / length[:, None, None]
            weights[is_bar, 0], weights[is_bar, 1] = 0.5 * np.eye(d) - lever, 0.5 * np.eye(d) + lever
        number = np.full(self.truss.nodes.size, -1)
        number[self.truss.free] = np.arange(self.n_dof)
        columns = np.broadcast_to(number[d * ends[:, :, None] + np.arange(d)][:, :, None, :], weights.shape)
        rows = np.broadcast_to((d * np.arange(n)[:, None] + np.arange(d))[:, None, :, None], weights.shape)
        kept: Mask = (columns >= 0) & (weights != 0.0)
        made = sparse.coo_array((weights[kept], (rows[kept], columns[kept])), shape=(n * d, self.n_dof))
        return sparse.csr_array(made.tocsr())

    # ---------------------------------------------------------------- looks

    def skins(self) -> Sequence[Skin]:
        """Bars and cables as tubes, coloured by their forces; slack cables have none."""
        mean = float(self.truss.lengths.mean())
        made = []
        for name, which in (("bars", ~self.truss.is_cable), ("cables", self.truss.is_cable)):
            cells = self.truss.members[which]
            radius = self.bar_radius if name == "bars" and self.bar_radius > 0.0 else DRAWN * mean
            radius *= 1.0 if name == "bars" else 0.5
            if len(cells):
                forces = (Field("force", "N", "cell"),)
                made.append(Skin(name, self.truss.n_nodes, cells, np.full(len(cells), radius), forces))
        return made

    def looks(self, part: Part) -> Sequence[Look]:
        """Members between their nodes."""
        x, forces = self.nodes_at(part), self.tensions(part)
        forces = np.where(self.truss.is_cable & (forces <= 0.0), np.nan, forces)
        cable = self.truss.is_cable
        return [Look(x, (forces[which],)) for which in (~cable, cable) if which.any()]


class _Pattern(NamedTuple):
    """Which free velocities each member stretches with: columns (m × 2d), n_dof for held ones."""

    columns: Indices
    n_dof: int

    @staticmethod
    def of(truss: Truss) -> _Pattern:
        number = np.full(truss.nodes.size, truss.n_dof)
        number[truss.free] = np.arange(truss.n_dof)
        ends = truss.d * truss.members[:, :, None] + np.arange(truss.d)
        return _Pattern(number[ends].reshape(truss.n_members, -1), truss.n_dof)

    def matrix(self, direction: Array, which: Indices) -> sparse.csr_array:
        """Rows (−c, c) of some members with these directions."""
        columns = self.columns[which]
        kept = columns < self.n_dof
        values = np.concatenate((-direction, direction), axis=1)
        starts = np.concatenate(([0], np.cumsum(kept.sum(axis=1))))
        return sparse.csr_array((values[kept], columns[kept], starts), shape=(len(which), self.n_dof))
