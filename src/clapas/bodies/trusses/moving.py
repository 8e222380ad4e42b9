"""Moving trusses of bars and cables, as a kind of bodies in scenes with contact.

Nodes have masses, bars are elastic, cables are unilateral. At the middle q_m of a step of length h, with f
the forces of the members, K their stiffness and C their damping,

    M̃ = M + θ h C + θ² h² K
    M̃ v⁺ = M v + h [F − f(q_m)] + h [(1 − θ)² h K − (1 − θ) C] v + contact impulses

forces act where q_θ = q_m + θ² h v⁺ − (1 − θ)² h v is, the mean of start and end for θ = ½. So stiff members
do not limit the step. K has the geometric stiffness of stretched members beside the material one.

A cable of stiffness k, longer than its rest length by e, is one more member as long as it is taut. Its
tension over the step is t = r/h, and with B the rates of length of the members

    0 ≤ r ⟂ r/(h k) − e_θ − τ ė_θ ≥ 0,        e_θ = e(q_m) + B (q_θ − q_m),    ė_θ = B ((1 − θ) v + θ v⁺)

τ is the damping time of the material. Which cables are taut follows from v⁺
(:mod:`clapas.bodies.trusses.tightening`). The same law as a row of the contact problem, divided by
a = θ² h + θ τ, is u = −B v⁺ + w + C r ≥ 0 with the compliance C = 1/(h k a): the engine uses it where
contacts and cables do not agree on the set of taut cables.

An inextensible cable is always such a row: it has C = 0 and ends the step no longer than its rest length. The
tensions of many are not unique; the solver finds those near the tensions of the previous step (zero at the
start).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.bodies import anchoring
from clapas.bodies.drawn import Look, Skin
from clapas.bodies.joined import Anchor, Anchored
from clapas.bodies.kind import Energy, Part, Poses, Span, Touches
from clapas.bodies.links import Account, Bindings, Links
from clapas.bodies.trusses.actuators import Actuator, History
from clapas.bodies.trusses.document import from_document, read_tables, to_document
from clapas.bodies.trusses.looks import Looks
from clapas.bodies.trusses.members import Members, Shapes
from clapas.bodies.trusses.modal import mass_matrix
from clapas.bodies.trusses.structure import Truss
from clapas.bodies.trusses.ties import Ties
from clapas.bodies.trusses.tightening import Factoriser, StepForces
from clapas.bodies.trusses.touching import Touching
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.geometry.shapes.base import Shape
from clapas.typing import Array, Indices

TURNED = 0.2  # rad in a step: a stressed member that turns further is told


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
    history : History, optional
        Factor of these loads in time; 1 by default.
    masses : array (n,), optional
        Masses at the nodes (kg), beside those of the members.
    damping_time : float
        τ (s): members resist their rate of elongation with k τ. 0 by default.
    is_inextensible : bool
        Whether cables do not stretch at all.
    actuators : sequence of Actuator
        Rest lengths that change: winches on cables, jacks on bars.
    ties : array (t, 2), optional
        Pairs of nodes at one place that bolts hold together.
    tie_preload : float
        Force (N) to which bolts are tightened in each direction: they open beyond it. Infinite, the default,
        for bolts that never open.
    node_radius, bar_radius : float
        Contact radii (m) of nodes and bars; 0, the default, for no contact. In the plane only nodes have
        contacts.

    Examples
    --------
    A weight of 1 kg on a cable of 1 m and 1000 N/m; at rest the cable is stretched by 9.81 mm:

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
    history: History | None = None
    masses: npt.ArrayLike | None = None
    damping_time: float = 0.0
    is_inextensible: bool = False
    actuators: Sequence[Actuator] = field(default_factory=tuple)
    ties: npt.ArrayLike = field(default_factory=tuple)
    tie_preload: float = np.inf
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
        for name in ("damping_time", "node_radius", "bar_radius"):
            checks.at_least_zero("MovingTruss", name, getattr(self, name))
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
        elif self.history is not None:
            raise SceneError("history: loads that change need a case; give its name as 'case'")
        if not self.tie_preload > 0.0:
            raise SceneError(f"tie_preload must be positive (N), or infinite, got {self.tie_preload}")
        object.__setattr__(self, "ties", self._ties.pairs)

    def to_dict(self) -> dict[str, Any]:
        """Settings as plain data (text, numbers, lists, dictionaries)."""
        plain: dict[str, Any] = {"truss": to_document(self.truss)}
        for name in ("velocity", "masses"):
            values = getattr(self, name)
            if values is not None and np.any(np.asarray(values)):
                plain[name] = np.asarray(values, dtype=float).tolist()
        for name in ("damping_time", "is_inextensible", "node_radius", "bar_radius", "case"):
            if getattr(self, name):
                plain[name] = getattr(self, name)
        if self.history is not None:
            plain["history"] = {
                key: np.asarray(getattr(self.history, key)).tolist() for key in ("times", "factors")
            }
        if len(self._ties):
            plain["ties"] = self._ties.pairs.tolist()
            if np.isfinite(self.tie_preload):
                plain["tie_preload"] = self.tie_preload
        if self.actuators:
            plain["actuators"] = [
                {key: np.asarray(getattr(each, key)).tolist() for key in ("members", "times", "factors")}
                for each in self.actuators
            ]
        return plain

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any], folder: Path) -> MovingTruss:
        """Inverse of :meth:`to_dict`; ``truss`` may also be the path of a TOML or JSON document.

        Raises
        ------
        SceneError
            Something is missing, unknown, or of the wrong kind.
        """
        values = dict(settings)
        known = [each.name for each in fields(cls)]
        unknown = [name for name in values if name not in known]
        if unknown or "truss" not in values:
            problem = f"unknown setting '{unknown[0]}'" if unknown else "no 'truss'"
            raise SceneError(f"truss: {problem}; the settings are {', '.join(known)}")
        document = values.pop("truss")
        if isinstance(document, str):
            document = read_tables(folder / document)
        if not isinstance(document, Mapping):
            raise SceneError(f"truss: expected a table or the name of a file, got {document!r:.60}")
        try:
            actuators = [Actuator(**each) for each in values.pop("actuators", [])]
            history = values.pop("history", None)
            if history is not None:
                history = History(**history)
            truss = from_document(document, "truss")
            return cls(truss=truss, actuators=actuators, history=history, **values)
        except (TypeError, ValueError) as error:
            raise SceneError(f"truss: {error}") from None

    # ---------------------------------------------------------------- constants

    @cached_property
    def _mass(self) -> sparse.csr_array:
        return sparse.csr_array(mass_matrix(self.truss, extra=self.masses))

    @cached_property
    def _members(self) -> Members:
        return Members(self.truss)

    @cached_property
    def _factoriser(self) -> Factoriser:
        return Factoriser(self.truss, self._members, self._mass)

    @cached_property
    def _touching(self) -> Touching:
        return Touching(self.truss, self._members, self.node_radius, self.bar_radius)

    @cached_property
    def _ties(self) -> Ties:
        return Ties(self.truss, self.ties)

    @cached_property
    def _case(self) -> Array:
        """Loads of the case (n_dof,) (N)."""
        return np.zeros(self.n_dof) if self.case is None else self.truss.load(self.case)

    @cached_property
    def _falling(self) -> sparse.csr_array:
        """Mass of each free component under an acceleration of all nodes, supports included (n_dof × d)."""
        n, d = self.truss.nodes.shape
        whole = self.truss.with_(is_blocked=np.zeros((n, d), dtype=bool))
        rows = mass_matrix(whole, extra=self.masses).tocsr()[self.truss.free]
        return sparse.csr_array(rows @ sparse.kron(np.ones((n, 1)), np.eye(d)))

    @cached_property
    def _stiffness(self) -> Array:
        """E A / l⁰ (N/m)."""
        return self.truss.axial_stiffness / self.truss.rest_lengths

    @cached_property
    def _cables(self) -> Indices:
        return np.flatnonzero(self.truss.is_cable)

    @cached_property
    def _lightness(self) -> Array:
        """Compliance (m,) of the empty rows of links: that of the ends of free members (1/kg)."""
        inverse = np.append(1.0 / self._mass.diagonal(), 0.0)[self._members.columns].sum(axis=1)
        return np.asarray(np.maximum(inverse, float(inverse.max(initial=1.0)) * 1e-3))

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.truss.d

    @property
    def n_dof(self) -> int:
        """Free velocity components of the nodes."""
        return self.truss.n_dof

    @property
    def n_carriers(self) -> int:
        """Nodes that touch, then bars that touch."""
        return len(self._touching)

    @property
    def shapes(self) -> Sequence[tuple[int, Shape]]:
        """A ball for each node that touches, a capsule for each bar."""
        return self._touching.shapes

    @property
    def link_names(self) -> Sequence[str]:
        """Nodes by their labels, bars by their numbers."""
        return self._touching.names

    # ---------------------------------------------------------------- motion

    def start(self) -> Part:
        """Initial part. The last coordinate is the time, for rest lengths and loads."""
        speeds = np.asarray(self.velocity)
        x = self.truss.nodes.ravel()[self.truss.free]
        return Part(np.append(x, 0.0), speeds.ravel()[self.truss.free])

    def drift(self, part: Part, h: float) -> Part:
        """After h seconds at its velocities."""
        return self.advance(part, part.v, h)

    def advance(self, part: Part, v: Array, h: float) -> Part:
        """With velocities v, after h seconds at them."""
        return Part(part.q + h * np.append(v, 1.0), v)

    def pieces(self, part: Part, span: Span) -> StepForces:
        """Forces of bars and extensible cables over a step, piecewise linear with kinks at slack cables."""
        h, theta, tau, v = span.h, span.theta, self.damping_time, part.v
        shapes, members = self.members_at(part), self._members
        elongations = self._elongations(shapes, float(part.q[-1]))
        stretched = np.maximum(self._stiffness * elongations, 0.0) / shapes.length
        rates = members.rates(shapes.direction, v)
        across = members.across(v) - rates[:, None] * shapes.direction
        turning = members.sum(stretched[:, None] * across)  # the geometric stiffness times v
        left_out = self.truss.is_cable if self.is_inextensible else np.zeros(len(rates), dtype=bool)
        return StepForces(
            factoriser=self._factoriser,
            shapes=shapes,
            slope=h * self._stiffness * (theta**2 * h + theta * tau),
            offset=h * self._stiffness * (elongations - (1 - theta) * ((1 - theta) * h - tau) * rates),
            density=(theta * h) ** 2 * stretched,
            momentum=self._mass @ v + h * self._load(span) + ((1.0 - theta) * h) ** 2 * turning,
            start=v,
            is_cable=self.truss.is_cable,
            is_left_out=left_out,
            rows=lambda: self._links(part, span, with_cables=True),
        )

    def free(self, part: Part, span: Span) -> tuple[sparse.csr_array, Array]:
        """M̃ and the velocities at the end without contacts, without bolts and inextensible cables."""
        _, M, v = self.pieces(part, span).free()
        return M, v

    def links(self, part: Part, span: Span) -> Links | None:
        """Inextensible cables and preloaded bolts."""
        return self._links(part, span, with_cables=self.is_inextensible)

    def _links(self, part: Part, span: Span, with_cables: bool) -> Links | None:
        parts = []
        if with_cables and len(self._cables):
            parts.append(self._cable_links(part, span))
        if len(self._ties) and np.isfinite(self.tie_preload):
            parts.append(self._bolts(part, span))
        return _concatenated(parts)

    def _cable_links(self, part: Part, span: Span) -> Links:
        """The cables as rows of the contact problem."""
        cables, shapes = self._cables, self.members_at(part)
        h, theta, n, d = span.h, span.theta, len(cables), self.d
        e = self._elongations(shapes, float(part.q[-1]))[cables]
        speeds, soft = np.zeros((n, d)), np.zeros((n, d))
        if self.is_inextensible:
            speeds[:, 0] = -e / (theta * h)
        else:
            tau = self.damping_time
            rate = self._members.rates(shapes.direction, part.v)[cables]
            a = theta**2 * h + theta * tau
            speeds[:, 0] = (-e + (1.0 - theta) * ((1.0 - theta) * h - tau) * rate) / a
            soft[:, 0] = 1.0 / (h * self._stiffness[cables] * a)
        soft[:, 1:] = self._lightness[cables, None]
        account = np.full(n, Account.LOST if self.is_inextensible else Account.STORED)
        shortening = self._members.rows(-shapes.direction[cables], cables)
        return Links(cables, _normal_rows(shortening, d), speeds, np.zeros(n), soft, account)

    def _bolts(self, part: Part, span: Span) -> Links:
        """Preloaded bolts, a row for each direction; numbered after the members."""
        J, n = self._ties.J, self._ties.J.shape[0]
        speeds, soft = np.zeros((n, self.d)), np.zeros((n, self.d))
        speeds[:, 0] = -self._ties.opening(self.nodes_at(part)) / (span.theta * span.h)
        soft[:, 1:] = float(self._lightness.max())
        number = self.truss.n_members + np.arange(n)
        return Links(number, _normal_rows(-J, self.d), speeds, np.zeros(n), soft)

    def bindings(self, part: Part, span: Span) -> Bindings:
        """Bilateral bolts."""
        if np.isfinite(self.tie_preload):
            return Bindings(sparse.csr_array((0, self.n_dof)), np.empty(0))
        opening = self._ties.opening(self.nodes_at(part))
        return Bindings(self._ties.J, opening / (span.theta * span.h))

    def _load(self, span: Span) -> Array:
        """Loads (n_dof,) (N) at the middle of a step: the case, gravity, preload of bolts."""
        factor = 1.0 if self.history is None else self.history.factor(span.time)
        load = factor * self._case + self._falling @ span.gravity
        if len(self._ties) and np.isfinite(self.tie_preload):
            load = load + self._ties.J.T @ np.full(self._ties.J.shape[0], self.tie_preload)
        return np.asarray(load)

    def energy(self, part: Part, gravity: Array) -> Energy:
        """Of the nodes, the members, the loads at that time, and gravity (J)."""
        elongations = self.elongations(part)
        stretched = self._stiffness * elongations**2
        resist = ~self.truss.is_cable
        if not self.is_inextensible:
            resist = resist | (elongations > 0.0)
        factor = 1.0 if self.history is None else self.history.factor(float(part.q[-1]))
        x = part.q[:-1]
        load_work = float(x @ (self._falling @ gravity) + factor * (x @ self._case))
        kinetic = 0.5 * float(part.v @ (self._mass @ part.v))
        return Energy(kinetic, 0.5 * float(np.sum(stretched[resist])) - load_work)

    def doubt(self, part: Part, h: float) -> str | None:
        """Warning if a stressed member turns so far in a step that going straight stretches it falsely."""
        shapes = self.members_at(part)
        rates = self._members.rates(shapes.direction, part.v)
        across = self._members.across(part.v) - rates[:, None] * shapes.direction
        stressed = ~self.truss.is_cable | (self._elongations(shapes, float(part.q[-1])) > 0.0)
        length = np.maximum(shapes.length, np.finfo(float).tiny)
        turn = np.where(stressed, h * np.linalg.norm(across, axis=1) / length, 0.0)
        fastest = int(np.argmax(turn))
        if turn[fastest] <= TURNED:
            return None
        return (
            f"member {fastest} turns by {turn[fastest]:.2g} rad in a step: its ends go straight instead of "
            "round, which stretches it and makes forces and energy that are not there. Take a step of "
            f"{h * TURNED / turn[fastest]:.1g} s or less, heavier nodes, or a load that grows slowly"
        )

    # ---------------------------------------------------------------- positions of members

    def nodes_at(self, part: Part) -> Array:
        """Positions of the nodes (n × d) (m)."""
        return self._members.on_nodes(part.q[:-1], self.truss.nodes)

    def members_at(self, part: Part) -> Shapes:
        """Lengths and directions of the members."""
        return self._members.shapes(self.nodes_at(part))

    def elongations(self, part: Part) -> Array:
        """Lengths beyond the rest lengths at that time (m,) (m); negative for slack cables."""
        return self._elongations(self.members_at(part), float(part.q[-1]))

    def _elongations(self, shapes: Shapes, time: float) -> Array:
        rest = self.truss.rest_lengths.copy()
        for actuator in self.actuators:
            rest[np.asarray(actuator.members, dtype=np.int64)] *= actuator.factor(time)
        return np.asarray(shapes.length - rest)

    def tensions(self, part: Part) -> Array:
        """Axial forces by the elastic law (m,) (N), tension positive; NaN for inextensible cables.

        Forces of inextensible cables do not follow from positions: they are impulses of the links of a state.
        """
        forces = self._stiffness * self.elongations(part)
        none = np.nan if self.is_inextensible else np.maximum(forces, 0.0)
        return np.where(self.truss.is_cable, none, forces)

    # ---------------------------------------------------------------- contacts

    def poses(self, part: Part) -> Poses:
        """Poses of nodes, and of the middles of bars with z along them."""
        x = self.nodes_at(part)
        return self._touching.poses(x, self._members.shapes(x))

    def twists(self, part: Part) -> Array:
        """Velocities of nodes and middles of bars; bars do not spin about themselves."""
        v = self._members.on_nodes(part.v, np.zeros(self.truss.nodes.shape))
        return self._touching.twists(v, self.members_at(part))

    def jacobian(self, part: Part, at: Touches) -> sparse.csr_array:
        """Points of a node move with it; those of a bar with its two ends, by the lever."""
        x = self.nodes_at(part)
        return self._touching.jacobian(x, self._members.shapes(x), at)

    # ---------------------------------------------------------------- joints

    def anchor(self, point: Array, carrier: int | None) -> Anchor:
        """The node at a point, or the point of a bar or cable between its two nodes."""
        nodes, near = self.truss.nodes, anchoring.tolerance(self.truss.nodes)
        node, away = anchoring.nearest(nodes, point)
        label = f"node {self.truss.label(node)}"
        if away <= near:
            return Anchor(label, (node,))
        ends = nodes[self.truss.members]
        along = ends[:, 1] - ends[:, 0]
        share = np.einsum("md,md->m", point - ends[:, 0], along) / np.einsum("md,md->m", along, along)
        share = np.clip(share, 0.0, 1.0)
        off = np.linalg.norm(ends[:, 0] + share[:, None] * along - point, axis=1)
        k = int(np.argmin(off))
        if off[k] > near:
            raise anchoring.refuse_point(point, label, nodes[node], away)
        first, second = (int(end) for end in self.truss.members[k])
        return Anchor(f"member {k}", (first, second), (1.0 - float(share[k]), float(share[k])))

    def anchored(self, part: Part, anchors: Sequence[Anchor]) -> Anchored:
        """Positions of nodes and points of members; neither rotates."""
        column = np.full(self.truss.nodes.size, -1)
        column[self.truss.free] = np.arange(self.n_dof)
        return anchoring.weighted_nodes(anchors, self.nodes_at(part), column, self.n_dof)

    # ---------------------------------------------------------------- looks

    def skins(self) -> Sequence[Skin]:
        """Bars, cables, and the unloaded shape of a structure on supports."""
        return self._looks.skins()

    def looks(self, part: Part) -> Sequence[Look]:
        """Members between their nodes."""
        return self._looks.looks(self.nodes_at(part), self.tensions(part))

    @cached_property
    def _looks(self) -> Looks:
        return Looks(self.truss, bar_radius=self.bar_radius, has_forces_of_cables=not self.is_inextensible)


def _normal_rows(rows: sparse.csr_array, d: int) -> sparse.csr_array:
    """Rows as the normal ones of links, (d·c × n_dof): the tangential rows are empty."""
    ends = np.repeat(rows.indptr[1:], d)
    return sparse.csr_array(
        (rows.data, rows.indices, np.concatenate(([0], ends))), shape=(d * rows.shape[0], rows.shape[1])
    )


def _concatenated(links: Sequence[Links]) -> Links | None:
    """Links of several kinds concatenated, with increasing identities."""
    if len(links) <= 1:
        return links[0] if links else None
    names = ("identity", "w", "mu", "compliance", "account")
    identity, w, mu, compliance, account = (
        np.concatenate([getattr(each, name) for each in links]) for name in names
    )
    H = sparse.csr_array(sparse.vstack([each.H for each in links], format="csr"))
    return Links(identity, H, w, mu, compliance, account)
