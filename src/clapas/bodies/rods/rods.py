"""Rods as a kind of bodies: what a time step asks of super-helices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from clapas.bodies.kind import (
    Energy,
    Field,
    Look,
    Neighbourhood,
    Part,
    Poses,
    Sides,
    Skin,
    Span,
    Touches,
)
from clapas.bodies.rods.contacts import Arcs, Found, Others, refine
from clapas.bodies.rods.definition import FIXED, Rod, Support
from clapas.bodies.rods.inertia import Inertia, RodMotion, RodTable, inertia
from clapas.bodies.rods.kinematics import (
    Chain,
    Segments,
    blank_chain,
    fill_chain,
    fill_rows,
    fill_sections,
    fill_twists,
)
from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.colliders import Contacts, Kind
from clapas.geometry.shapes.base import Shape
from clapas.geometry.shapes.simple import Capsule
from clapas.typing import Array, Indices

NODES = (
    5  # Gauss points per element: M is right to 1e-9 up to a radian of turn per element (measured in tests)
)
ROUNDS = 4  # of the fixed point for the mean velocity in N, at most
SETTLED = 1e-6  # of the velocities
CONTRACTING = 0.7  # each round must change less than this share of what the last one changed
TWISTING, BENDING = 0, slice(1, 3)  # among the strains of an element
PER_ELEMENT = 8  # segments of a centreline in pictures
LOADS = "tip_force", "tip_couple"
ONE_POINT = [Kind.SPHERE, Kind.PLANE, Kind.CAPSULE, Kind.BOX, Kind.CYLINDER]  # that a segment touches at


class Placed(NamedTuple):
    """A part in the world: roots and strains, elements, middles and frames of the segments."""

    motion: RodMotion
    chain: Chain
    middle: Array
    axes: Array


@dataclass(frozen=True, eq=False)
class Rods:
    """Rods of a scene, together: constant arrays, and the questions of a time step.

    Coordinates q are the strains (τ, κ₁, κ₂) of all elements, then position and quaternion of free roots,
    then those of the supports, then the length of the step under way and the time, which supports move by.
    Velocities are, rod by rod, those of a free root (of its point and angular, in the world), then the
    strain rates.

    The step is linearly implicit, M̃ = M + θhC + θ²h²K with the diagonal stiffness K, so the twist of short
    elements does not limit h. N is taken at the mean of the velocities before and after without contact.
    Weight and speed stiffen a thin rod too, and this is explicit: light undamped hair at θ = ½ needs short
    steps, or some damping, or θ = 1.

    Parameters
    ----------
    rods : sequence of Rod
        They.

    Examples
    --------
    A rod of 1 m under its own weight, small enough for beam theory, sags by ρSgL⁴/(8EI):

    >>> from clapas.bodies.rods.equilibrium import equilibrium
    >>> rod = Rod(length=1.0, radius=0.01, density=1000.0, young=1e11, elements=20)
    >>> rods = Rods([rod])
    >>> sag = -rods.tips(equilibrium(rods, (0.0, 0.0, -9.81)))[0, 2]
    >>> float((sag / (rod.inertia[0] * 9.81 / 8.0 / rod.stiffness[1])).round(2))
    1.0
    """

    rods: Sequence[Rod]

    word: ClassVar[str] = "rods"
    d: ClassVar[int] = 3

    def __post_init__(self) -> None:
        rods = tuple(self.rods)
        if not rods or not all(isinstance(rod, Rod) for rod in rods):
            raise SceneError(f"rods: expected one Rod or more, got {self.rods!r}")
        object.__setattr__(self, "rods", rods)

    # ---------------------------------------------------------------- constant arrays

    @cached_property
    def table(self) -> RodTable:
        """Sizes, lengths and densities, for kernels."""
        elements = np.array([rod.elements for rod in self.rods])
        free = np.array([rod.root == "free" for rod in self.rods], dtype=np.int64)
        size = 3 * elements + 6 * free
        x, w = np.polynomial.legendre.leggauss(NODES)
        return RodTable(
            _from_zero(elements),
            _from_zero(size),
            _from_zero(size**2),
            free,
            np.repeat([rod.length / rod.elements for rod in self.rods], elements),
            np.repeat([rod.inertia for rod in self.rods], elements, axis=0),
            0.5 * (x + 1.0),
            0.5 * w,
        )

    @cached_property
    def supports(self) -> tuple[Support, ...]:
        """The supports, each once."""
        return tuple(dict.fromkeys(rod.support for rod in self.rods if rod.root != "free")) or (FIXED,)

    @cached_property
    def _support_of(self) -> Indices:
        number = {support: k for k, support in enumerate(self.supports)}
        return np.array([-1 if rod.root == "free" else number[rod.support] for rod in self.rods])

    @cached_property
    def _offsets(self) -> tuple[Array, Array]:
        """Positions and frames of the roots in their supports at the start; of free roots in the world."""
        position = np.array([rod.position for rod in self.rods], dtype=float)
        for k, support in enumerate(self.supports):
            position[self._support_of == k] -= np.array(support.position)
        return position, np.array([rod.frame for rod in self.rods])

    @cached_property
    def rates(self) -> Indices:
        """Where the strain rates (elements, 3) are among the velocities."""
        t = self.table
        rod = np.repeat(np.arange(len(t.free)), np.diff(t.first))
        inside = np.arange(t.first[-1]) - t.first[rod]
        return np.asarray((t.dof[rod] + 6 * t.free[rod] + 3 * inside)[:, None] + np.arange(3))

    @cached_property
    def _free(self) -> Indices:
        """Rods with free roots."""
        return np.flatnonzero(self.table.free)

    @cached_property
    def _root_rates(self) -> Indices:
        """Where the velocities (free roots, 6) are."""
        return np.asarray(self.table.dof[self._free][:, None] + np.arange(6))

    @cached_property
    def stiffness(self) -> Array:
        """K (elements, 3), diagonal: moments (N·m²) times lengths."""
        rows = [rod.stiffness * rod.length / rod.elements for rod in self.rods]
        return np.repeat(rows, np.diff(self.table.first), axis=0)

    @cached_property
    def natural(self) -> Array:
        """Natural strains, (elements, 3)."""
        return np.concatenate([rod.natural_strain for rod in self.rods])

    @cached_property
    def _viscosity(self) -> tuple[Array, Array]:
        """Retardation times of elements, (elements, 1), and drag per mass and velocity of rods (1/s)."""
        damping = np.repeat([rod.damping for rod in self.rods], np.diff(self.table.first))
        return damping[:, None], np.array([rod.drag / rod.inertia[0] for rod in self.rods])

    @cached_property
    def segments(self) -> Segments:
        """The carriers: pieces of elements, one after another along each rod."""
        rods, first = self.rods, self.table.first
        counts = np.array([rod.segments for rod in rods])
        element = np.concatenate(
            [np.repeat(np.arange(first[k], first[k + 1]), counts[k]) for k in range(len(rods))]
        )
        rod = np.searchsorted(first, element, side="right") - 1
        inside = np.arange(len(element)) - np.searchsorted(element, element)
        half = 0.5 * self.table.length[element] / counts[rod]
        middle = (2 * inside + 1) * half
        radius = np.array([max(rod.axes) for rod in rods])[rod]
        place = middle + (element - first[rod]) * self.table.length[element]
        return Segments(rod, element, middle, half, radius, place)

    @cached_property
    def shapes(self) -> Sequence[tuple[int, Shape]]:
        """Capsules about the segments, for detection; contacts are then refined on the curve."""
        s = self.segments
        bare = np.array([rod.bare for rod in self.rods])[s.rod]
        touching = np.flatnonzero(s.place + s.half > bare * (1.0 + 1e-12))
        return [(int(k), Capsule(float(s.radius[k]), float(2.0 * s.half[k]))) for k in touching]

    @cached_property
    def link_names(self) -> Sequence[str]:
        """Rod and segment of each carrier."""
        s = self.segments
        inside = np.arange(len(s.rod)) - np.searchsorted(s.rod, s.rod)
        return [f"{rod}.{k}" for rod, k in zip(s.rod.tolist(), inside.tolist(), strict=True)]

    # ---------------------------------------------------------------- sizes

    @property
    def n_dof(self) -> int:
        """Velocities."""
        return int(self.table.dof[-1])

    @property
    def n_elements(self) -> int:
        """Helices of all rods."""
        return int(self.table.first[-1])

    @property
    def n_carriers(self) -> int:
        """Segments."""
        return len(self.segments.rod)

    # ---------------------------------------------------------------- motion

    def start(self) -> Part:
        """Strains as given, rods at rest in their supports."""
        position, frame = self._offsets
        free = [np.concatenate((position[k], rotations.from_matrix(frame[k]))) for k in self._free]
        supports = [np.concatenate((support.position, rotations.identity(3))) for support in self.supports]
        strain = [rod.start_strain.ravel() for rod in self.rods]
        v = np.zeros(self.n_dof)
        if len(self._free):
            roots = [(*self.rods[k].velocity, *self.rods[k].angular_velocity) for k in self._free]
            v[self._root_rates] = np.array(roots)
        return Part(np.concatenate([*strain, *free, *supports, [0.0, 0.0]]), v)

    def drift(self, part: Part, h: float) -> Part:
        """Strains and roots h later at their velocities; supports at those of the end of the drift."""
        return self._moved(part, part.v, h, float(part.q[-1]) + h, float(part.q[-1]) + h)

    def during(self, part: Part, span: Span) -> Part:
        """The part at the time of the middle of a step, whatever θ: supports have the velocities of then."""
        q = part.q.copy()
        q[-2:] = span.h, span.time
        return Part(q, part.v)

    def advance(self, part: Part, v: Array, h: float) -> Part:
        """The same at the new velocities; supports at the velocities of the middle of the step."""
        step, middle = float(part.q[-2]), float(part.q[-1])
        return self._moved(part, v, h, middle, middle + (0.5 * step if step > 0.0 else h))

    def _moved(self, part: Part, v: Array, h: float, time: float, end: float) -> Part:
        """H seconds later, supports at their velocities at a time; the part is then at the time ``end``."""
        q = part.q.copy()
        strain, roots, poses = self._split(q)
        strain += h * v[self.rates]
        if len(roots):
            _move(roots, v[self._root_rates], h)
        velocity = [support.at(time) for support in self.supports]
        poses[:, :3] += h * np.array([linear for linear, _ in velocity])
        spin = np.array([turn for _, turn in velocity])
        poses[:, 3:] = rotations.normalise(rotations.product(poses[:, 3:], rotations.exponential(h * spin)))
        q[-2:] = 0.0, end
        return Part(q, v)

    def _split(self, q: Array) -> tuple[Array, Array, Array]:
        """Strains, free roots and supports: parts of q itself."""
        ends = 3 * self.n_elements + np.array(
            [0, 7 * len(self._free), 7 * (len(self._free) + len(self.supports))]
        )
        return (
            q[: ends[0]].reshape(-1, 3),
            q[ends[0] : ends[1]].reshape(-1, 7),
            q[ends[1] : ends[2]].reshape(-1, 7),
        )

    def motion(self, part: Part, h: float = 0.0) -> RodMotion:
        """Strains, rates, where and how the roots move; h (s) is the step of imposed accelerations."""
        strain, free, poses = self._split(part.q)
        n = len(self.rods)
        position, frame, twist, change = (
            np.empty((n, 3)),
            np.empty((n, 3, 3)),
            np.zeros((n, 6)),
            np.zeros((n, 6)),
        )
        if len(free):
            at = self._free
            v = part.v[self._root_rates]
            position[at], frame[at], twist[at] = free[:, :3], rotations.to_matrix(free[:, 3:]), v
            change[at, :3] = -np.cross(v[:, 3:], v[:, :3])
        time = float(part.q[-1])
        offset, own = self._offsets
        for k, support in enumerate(self.supports):
            on = np.flatnonzero(self._support_of == k)
            x, R = poses[k, :3], rotations.to_matrix(poses[k, 3:])
            arm = offset[on] @ R.T
            position[on], frame[on] = x + arm, R @ own[on]
            if support.motion is None:
                continue
            velocity, spin = support.at(time)
            spin = R @ spin
            twist[on, :3], twist[on, 3:] = velocity + np.cross(spin, arm), spin
            if h > 0.0:
                ahead, behind = support.at(time + 0.5 * h), support.at(time - 0.5 * h)
                gain, turn = (ahead[0] - behind[0]) / h, R @ (ahead[1] - behind[1]) / h
                change[on, :3] = gain + np.cross(turn, arm) - np.cross(spin, velocity)
                change[on, 3:] = turn
        return RodMotion(
            np.ascontiguousarray(strain),
            np.ascontiguousarray(part.v[self.rates]),
            position,
            frame,
            twist,
            change,
        )

    def inertia(self, part: Part, gravity: Array, h: float = 0.0, *, with_mass: bool = True) -> Inertia:
        """Mass matrices, forces and momenta; see :class:`clapas.bodies.rods.inertia.Inertia`."""
        return self._inertia(self.motion(part, h), float(part.q[-1]), gravity, with_mass)

    def _inertia(self, at: RodMotion, time: float, gravity: Array, with_mass: bool) -> Inertia:
        t, n = self.table, len(self.rods)
        out = Inertia(
            np.empty(t.entry[-1] if with_mass else 0),
            np.empty(self.n_dof),
            np.empty(self.n_dof),
            np.empty(n),
            np.empty((n, 4)),
            np.empty((n, 3)),
        )
        force, couple = self.loads(time)
        inertia(t, at, np.asarray(gravity, dtype=float), force, couple, with_mass, out)
        return out

    @cached_property
    def _steady_loads(self) -> tuple[Array, Array]:
        """Loads at time zero, and so for ever where they are no functions of time."""
        force, couple = (np.array([rod.load(name, 0.0) for rod in self.rods]) for name in LOADS)
        return force, couple

    @cached_property
    def _varying_loads(self) -> list[tuple[int, int, str]]:
        """Those that are: which of the two, of which rod."""
        varying = [(i, k, name) for i, name in enumerate(LOADS) for k in range(len(self.rods))]
        return [(i, k, name) for i, k, name in varying if callable(getattr(self.rods[k], name))]

    def loads(self, time: float) -> tuple[Array, Array]:
        """Forces and couples on the tips, (rods, 3) each, at a time."""
        if not self._varying_loads:
            return self._steady_loads
        loads = self._steady_loads[0].copy(), self._steady_loads[1].copy()
        for i, k, name in self._varying_loads:
            loads[i][k] = self.rods[k].load(name, time)
        return loads

    def free(self, part: Part, span: Span) -> tuple[sparse.csr_array, Array]:
        """M̃ = M + θhC + θ²h²K, and v + M̃⁻¹ h [f − N − C v − K(q − q⁰ + (2θ − 1) h v)]."""
        h, theta, v = span.h, span.theta, part.v
        damping, drag = self._viscosity
        at, time = self.motion(part, h), float(part.q[-1])
        found = self._inertia(at, time, span.gravity, True)
        strain, rate = at.strain, at.rate
        elastic = np.zeros(self.n_dof)
        elastic[self.rates] = -self.stiffness * (
            strain - self.natural + ((2.0 * theta - 1.0) * h + damping) * rate
        )
        elastic -= np.repeat(drag, np.diff(self.table.dof)) * found.momentum
        mass = found.mass * np.repeat(1.0 + theta * h * drag, np.diff(self.table.entry))
        mass[self._diagonal[self.rates]] += (theta * theta * h * h + theta * h * damping) * self.stiffness
        inverse = [np.asarray(np.linalg.inv(mass[entries]), dtype=float) for entries, _ in self._sizes]
        after = v + self._solve(inverse, h * (elastic - found.force))
        # N at the mean velocity, by fixed point. Vibrations faster than the step can make it diverge: then N
        # stays at the best mean found, at worst the velocity before.
        last = np.inf
        for _ in range(ROUNDS):
            mean = Part(part.q, 0.5 * (v + after))
            at = self.motion(mean, h) if len(self._free) else at._replace(rate=mean.v[self.rates])
            force = self._inertia(at, time, span.gravity, False).force
            new = v + self._solve(inverse, h * (elastic - force))
            change = float(np.abs(new - after).max())
            if not change < CONTRACTING * last:
                break
            last, after = change, new
            if change <= SETTLED * float(np.abs(new).max()):
                break
        if not np.isfinite(after).all():
            raise SceneError(
                "rods: velocities are no longer finite: take a shorter time step, or more damping"
            )
        return self._matrix(mass), after

    @cached_property
    def _diagonal(self) -> Indices:
        """Where the diagonal of each dense matrix is."""
        t = self.table
        size = np.diff(t.dof)
        rod = np.repeat(np.arange(len(size)), size)
        return np.asarray(t.entry[rod] + (np.arange(self.n_dof) - t.dof[rod]) * (size[rod] + 1))

    @cached_property
    def _sizes(self) -> list[tuple[Indices, Indices]]:
        """Rods of one size together: where their matrices and their velocities are."""
        t, size = self.table, np.diff(self.table.dof)
        groups = []
        for m in np.unique(size):
            which = np.flatnonzero(size == m)
            entries = (t.entry[which][:, None] + np.arange(m * m)).reshape(-1, m, m)
            groups.append((entries, t.dof[which][:, None] + np.arange(m)))
        return groups

    def _solve(self, inverse: list[Array], b: Array) -> Array:
        x = np.empty_like(b)
        for matrices, (_, dofs) in zip(inverse, self._sizes, strict=True):
            x[dofs] = (matrices @ b[dofs][:, :, None])[:, :, 0]
        return x

    @cached_property
    def _pattern(self) -> tuple[Indices, Indices]:
        """Columns and row starts of the matrix of dense blocks."""
        size = np.diff(self.table.dof)
        rows = np.repeat(size, size)
        start = np.repeat(self.table.dof[:-1], size)
        columns = np.concatenate([np.tile(np.arange(m), m) for m in size]) + np.repeat(start, rows)
        return columns.astype(np.int32), _from_zero(rows).astype(np.int32)

    def _matrix(self, mass: Array) -> sparse.csr_array:
        return sparse.csr_array((mass, *self._pattern), shape=(self.n_dof, self.n_dof))

    def energy(self, part: Part, gravity: Array) -> Energy:
        """Kinetic energy; elastic energy, that of weight, and of loads at tips as they are at this time."""
        found = self.inertia(part, gravity, with_mass=False)
        at = self.motion(part)
        elastic = 0.5 * float(np.sum(self.stiffness * (self._split(part.q)[0] - self.natural) ** 2))
        mass, moment = found.weight[:, 0], found.weight[:, 1:]
        lifted = float(np.sum((mass[:, None] * at.position + moment) @ np.asarray(gravity)))
        worked = float(np.sum(self.loads(float(part.q[-1]))[0] * found.tip))
        return Energy(float(found.kinetic.sum()), elastic - lifted - worked)

    # ---------------------------------------------------------------- places

    def chain(self, at: RodMotion) -> Chain:
        """The elements one after another."""
        chain = blank_chain(self.n_elements)
        fill_chain(self.table, at, chain)
        return chain

    def sections(self, part: Part, rod: Indices, s: Array) -> tuple[Array, Array]:
        """Points (n, 3) and frames (n, 3, 3) of sections at arc lengths s from the roots of rods."""
        t = self.table
        rod, s = np.asarray(rod, dtype=np.int64), np.asarray(s, dtype=float)
        length = t.length[t.first[rod]]
        element = np.clip((s / length).astype(np.int64), 0, np.diff(t.first)[rod] - 1)
        at = self.motion(part)
        position, frame = np.empty((len(s), 3)), np.empty((len(s), 3, 3))
        fill_sections(at, self.chain(at), rod, t.first[rod] + element, s - element * length, position, frame)
        return position, frame

    def tips(self, part: Part) -> Array:
        """Where the ends of the rods are, (rods, 3)."""
        return self.sections(part, np.arange(len(self.rods)), np.array([rod.length for rod in self.rods]))[0]

    def centrelines(self, part: Part, per_element: int = PER_ELEMENT) -> tuple[Array, Indices, Array]:
        """Polylines of all rods, for pictures.

        Returns
        -------
        points : array (n, 3)
            Points of all rods, one rod after another (m).
        start : array (rods + 1,)
            Those of rod k are ``start[k]`` to ``start[k + 1]``.
        radius : array (rods,)
            Of the surface (m).
        """
        count = np.array([rod.elements * per_element + 1 for rod in self.rods])
        start = _from_zero(count)
        rod = np.repeat(np.arange(len(count)), count)
        length = np.array([rod.length for rod in self.rods])
        s = (np.arange(start[-1]) - start[rod]) / (count[rod] - 1) * length[rod]
        radius = np.array([max(rod.axes) for rod in self.rods])
        return self.sections(part, rod, s)[0], start, radius

    def skins(self) -> Sequence[Skin]:
        """All rods as tubes."""
        points, start, radius = self.centrelines(self.start())
        here = np.delete(np.arange(len(points)), start[1:] - 1)  # an end begins no segment
        thick = np.repeat(radius, np.diff(start) - 1)
        fields = (Field("curvature", "1/m", "cell"), Field("twist", "1/m", "cell"))
        return [Skin("rods", len(points), np.stack((here, here + 1), axis=1), thick, fields)]

    def looks(self, part: Part) -> Sequence[Look]:
        """Centrelines, with the curvature and the twist of the elements."""
        strain = self._split(part.q)[0]
        bent, turned = np.linalg.norm(strain[:, BENDING], axis=1), strain[:, TWISTING]
        per_element = (np.repeat(values, PER_ELEMENT) for values in (bent, turned))
        return [Look(self.centrelines(part)[0], tuple(per_element))]

    def _place(self, part: Part) -> Placed:
        """Where a part is. The last answer is kept: a step asks for the same part several times."""
        if self._last and self._last[0][0] is part:
            return self._last[0][1]
        at, s = self.motion(part), self.segments
        chain = self.chain(at)
        middle, axes = np.empty((self.n_carriers, 3)), np.empty((self.n_carriers, 3, 3))
        fill_sections(at, chain, s.rod, s.element, s.middle, middle, axes)
        placed = Placed(at, chain, middle, axes)
        self._last[:] = [(part, placed)]
        return placed

    @cached_property
    def _last(self) -> list[tuple[Part, Placed]]:
        return []

    def poses(self, part: Part) -> Poses:
        """Middles of the segments; a carrier has the axes n₁, n₂, n₀: capsules are along z."""
        placed = self._place(part)
        return Poses(placed.middle, rotations.from_matrix(np.roll(placed.axes, -1, axis=2)))

    def twists(self, part: Part) -> Array:
        """Velocities of the middles of the segments, angular ones in the frames of the carriers."""
        at, chain, _, axes = self._place(part)
        s, twist = self.segments, np.empty((self.n_carriers, 6))
        fill_twists(self.table, at, chain, s.rod, s.element, s.middle, twist)
        twist[:, 3:] = np.roll(np.einsum("kji,kj->ki", axes, twist[:, 3:]), -1, axis=1)
        return twist

    def jacobian(self, part: Part, at: Touches) -> sparse.csr_array:
        """Velocities of points fixed to the sections nearest to them."""
        return self._rows(part, at)[0]

    def velocities(self, part: Part, at: Touches) -> Array:
        """Velocities of the same points at the velocities of the part, those of supports included."""
        P, imposed = self._rows(part, at)
        return np.asarray(imposed + np.asarray(P @ part.v).reshape(-1, 3))

    def _rows(self, part: Part, at: Touches) -> tuple[sparse.csr_array, Array]:
        t, s = self.table, self.segments
        carrier = np.asarray(at.carrier, dtype=np.int64)
        placed = self._place(part)
        rod = s.rod[carrier]
        size = 6 * t.free[rod] + 3 * (s.element[carrier] - t.first[rod] + 1)
        start = _from_zero(3 * size)
        data, columns = np.empty(start[-1]), np.empty(start[-1], dtype=np.int32)
        imposed = np.zeros((len(carrier), 3))
        point = np.ascontiguousarray(at.point, dtype=float)
        fill_rows(t, *placed[:2], s, *placed[2:], carrier, point, start, data, columns, imposed)
        rows = _from_zero(np.repeat(size, 3)).astype(np.int32)
        return sparse.csr_array((data, columns, rows), shape=(3 * len(carrier), self.n_dof)), imposed

    # ---------------------------------------------------------------- contacts

    def margin(self, part: Part) -> float:
        """Twice the distance of an arc from its tangent, at most: ½ κ half² (m)."""
        s = self.segments
        bend = np.linalg.norm(self._split(part.q)[0][:, 1:], axis=1)[s.element]
        return float(np.max(bend * s.half**2, initial=0.0))

    def refine(self, part: Part, contacts: Contacts, own: Sides, others: Neighbourhood) -> Contacts:
        """Contacts on the centrelines themselves (:mod:`clapas.bodies.rods.contacts`)."""
        n, s = len(contacts), self.segments
        if not n:
            return contacts
        placed = self._place(part)
        arcs = Arcs(s, placed.middle, placed.axes, placed.motion.strain, self._goes_on)
        table, where = others
        on_b = own.a >= 0  # the other side
        collider = np.where(on_b, contacts.collider_b, contacts.collider_a)
        body = np.where(on_b, contacts.b, contacts.a)
        turn = where.orientation[body]
        centre = where.position[body] + rotations.rotate(turn, table.position[collider])
        frame = rotations.to_matrix(rotations.product(turn, table.orientation[collider]))
        kind = table.kind[collider].astype(np.int64)
        other = Others(kind, table.size[collider], centre, np.ascontiguousarray(frame))
        shift = np.require(contacts.shift, requirements=("C", "W"))
        found = Found(
            contacts.a, contacts.b, own.a, own.b, contacts.point, contacts.normal, contacts.gap, shift
        )
        kept, point, normal, gap = np.empty(n, np.int64), np.empty((n, 3)), np.empty((n, 3)), np.empty(n)
        count = refine(found, other, arcs, kept, point, normal, gap)
        rows = kept[:count]
        once = (own.a[rows] >= 0) & (own.b[rows] >= 0)
        once |= ((own.a[rows] >= 0) | (own.b[rows] >= 0)) & np.isin(kind[rows], ONE_POINT)
        taken = contacts.take(rows)
        return replace(
            taken,
            feature=np.where(once, 0, taken.feature),
            point=point[:count],
            normal=normal[:count],
            gap=gap[:count],
        )

    @cached_property
    def _goes_on(self) -> Indices:
        """Whether a rod goes on before (1) and after (2) a segment, and may touch there."""
        s = self.segments
        touching = np.zeros(self.n_carriers + 2, dtype=bool)
        touching[1 + np.array([k for k, _ in self.shapes], dtype=np.int64)] = True
        same = np.concatenate(([False], s.rod[1:] == s.rod[:-1], [False]))
        return np.asarray(1 * (same[:-1] & touching[:-2]) + 2 * (same[1:] & touching[2:]))

    def longest_step(self, part: Part) -> float:
        """Time (s) in which no two segments come nearer by more than the thinnest radius, at their speeds.

        With longer steps thin rods may pass through each other unseen, unless the scheme has a reach:
        contacts within its reach are active if they close by no more than it in a step.
        """
        v = self.twists(part)
        speed = np.linalg.norm(v[:, :3], axis=1) + np.linalg.norm(v[:, 3:], axis=1) * self.segments.half
        fastest = float(speed.max(initial=0.0))
        return float(self.segments.radius.min()) / (2.0 * fastest) if fastest > 0.0 else np.inf


def _from_zero(counts: Iterable[int] | Array | Indices) -> Indices:
    """Where each of several lists starts, and the end."""
    return np.concatenate(([0], np.cumsum(np.asarray(counts)))).astype(np.int64)


def _move(poses: Array, velocity: Array, h: float) -> None:
    """Move positions and quaternions (n, 7) by velocities and angular velocities in the world, in place."""
    poses[:, :3] += h * velocity[:, :3]
    turn = rotations.exponential(h * velocity[:, 3:])
    poses[:, 3:] = rotations.normalise(rotations.product(turn, poses[:, 3:]))
