"""Rods (super-helices) as a kind of bodies for the time step."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from clapas.bodies import anchoring
from clapas.bodies.drawn import Look, Skin
from clapas.bodies.joined import Anchor, Anchored, Roots
from clapas.bodies.kind import Energy, Part, Poses, Span, Touches
from clapas.bodies.rods import pictures
from clapas.bodies.rods.arrays import RodArrays, starts_of
from clapas.bodies.rods.contacts import Arcs
from clapas.bodies.rods.detection import refined
from clapas.bodies.rods.document import from_document, to_document
from clapas.bodies.rods.inertia import Inertia, RodMotion, inertia, work_on
from clapas.bodies.rods.kinematics import (
    Chain,
    Segments,
    blank_chain,
    fill_chain,
    fill_quaternions,
    fill_rows,
    fill_sections,
    fill_twists,
)
from clapas.bodies.rods.roots import move_frames, place_roots
from clapas.bodies.touched import Neighbourhood, Rows, Sides
from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.colliders import Contacts
from clapas.linalg.body_masses import BodyMasses
from clapas.typing import Array, Indices

ROUNDS = 4  # largest number of fixed-point iterations for the mean velocity in N
SETTLED = 1e-4  # of the velocities: below the error of the step
SAMPLES, SEARCHES = 8, 8  # points per element, and rounds, to find the section nearest to a point
CONTRACTING = 0.7  # required ratio of successive changes
TURNED = 0.3  # rad in a step: an element that bends or twists by more is told


logger = logging.getLogger(__name__)


class Placed(NamedTuple):
    """A part in the world: roots and strains, elements; middles, frames and twists of the segments."""

    motion: RodMotion
    chain: Chain
    middle: Array
    axes: Array
    twist: Array


@dataclass(frozen=True, eq=False)
class Rods(RodArrays):
    """Rods of a scene: constant arrays, and the methods of a time step.

    The step is linearly implicit, M̃ = M + θhC + θ²h²K with the diagonal stiffness K, so the twist of short
    elements does not limit h. N is taken at the mean of the velocities before and after without contact.
    Weight and speed stiffen a thin rod too, and this is explicit: light undamped hair at θ = ½ needs short
    steps, or some damping, or θ = 1.

    Parameters
    ----------
    rods : sequence of Rod
        The rods.

    Examples
    --------
    A rod of 1 m under its own weight, small enough for beam theory, sags by ρSgL⁴/(8EI):

    >>> from clapas.bodies.rods import Rod
    >>> from clapas.bodies.rods.equilibrium import equilibrium
    >>> rod = Rod(length=1.0, radius=0.01, density=1000.0, young=1e11, elements=20)
    >>> rods = Rods([rod])
    >>> sag = -rods.tips(equilibrium(rods, (0.0, 0.0, -9.81)))[0, 2]
    >>> float((sag / (rod.inertia[0] * 9.81 / 8.0 / rod.stiffness[1])).round(2))
    1.0
    """

    word: ClassVar[str] = "rods"
    d: ClassVar[int] = 3

    @cached_property
    def is_passive(self) -> bool:
        """Whether no support moves, and no load acts on a tip."""
        loads = (load for rod in self.rods for load in (rod.tip_force, rod.tip_couple))
        return all(support.motion is None for support in self.supports) and not any(
            callable(load) or np.any(load) for load in loads
        )

    # ---------------------------------------------------------------- motion

    def start(self) -> Part:
        """Initial strains, rods at rest in their supports."""
        position, frame = self.offsets
        free = [np.concatenate((position[k], rotations.from_matrix(frame[k]))) for k in self.free_roots]
        supports = [np.concatenate((support.position, rotations.identity(3))) for support in self.supports]
        strain = [rod.start_strain.ravel() for rod in self.rods]
        v = np.zeros(self.n_dof)
        if len(self.free_roots):
            roots = [(*self.rods[k].velocity, *self.rods[k].angular_velocity) for k in self.free_roots]
            v[self.root_rates] = np.array(roots)
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
        strain, frames = self.split(q)
        strain += h * v[self.rates]
        move_frames(frames, self._frame_velocities(v, time), len(self.free_roots), h)
        q[-2:] = 0.0, end
        return Part(q, v)

    def _frame_velocities(self, v: Array, time: float) -> Array:
        """Velocities of free roots, then those of supports at a time."""
        return np.concatenate((v[self.root_rates], self._support_velocities(time)))

    def _support_velocities(self, time: float) -> Array:
        velocity = np.zeros((len(self.supports), 6))
        for k in self.moving_supports:
            velocity[k, :3], velocity[k, 3:] = self.supports[k].at(time)
        return velocity

    def motion(self, part: Part, h: float = 0.0) -> RodMotion:
        """Strains, rates, where and how the roots move; h (s) is the step of imposed accelerations."""
        strain, frames = self.split(part.q)
        n, n_free, time = len(self.rods), len(self.free_roots), float(part.q[-1])
        gain = np.zeros((len(frames), 6))
        if h > 0.0 and self.moving_supports:
            ahead, behind = self._support_velocities(time + 0.5 * h), self._support_velocities(time - 0.5 * h)
            gain[n_free:] = (ahead - behind) / h
        places = np.empty((n, 3)), np.empty((n, 3, 3)), np.empty((n, 6)), np.empty((n, 6))
        at = RodMotion(strain, part.v[self.rates], *places)
        velocity = self._frame_velocities(part.v, time)
        place_roots(self.base, n_free, frames, velocity, gain, *self.root_offsets, at)
        return at

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
        inertia(t, at, np.asarray(gravity, dtype=float), force, couple, with_mass, work_on(t), out)
        return out

    def free(self, part: Part, span: Span) -> tuple[BodyMasses, Array]:
        """M̃ = M + θhC + θ²h²K, and v + M̃⁻¹ h [f − N − C v − K(q − q⁰ + (2θ − 1) h v)]."""
        h, v, time = span.h, part.v, float(part.q[-1])
        masses, elastic, force, at = self._terms(part, span)
        # N at the mean velocity, by fixed point. Vibrations faster than the step can make it diverge: then N
        # stays at the best mean found, at worst the velocity before. Held roots keep their velocity
        # meanwhile: their free motion is not part of the motion.
        holding, kept = self._with_roots_held(masses), self.held_rates

        def velocity_after(force: Array) -> Array:
            push = h * (elastic - force)
            push[kept] = 0.0
            return np.asarray(v + holding.solve(push))

        # The velocity before is the first iterate: already the first round shows the rate of convergence.
        after = velocity_after(force)
        last = float(np.abs(after - v).max())
        for attempt in range(ROUNDS):
            mean = Part(part.q, 0.5 * (v + after))
            at = self.motion(mean, h) if len(self.free_roots) else at._replace(rate=mean.v[self.rates])
            trial = self._inertia(at, time, span.gravity, False).force
            new = velocity_after(trial)
            change = float(np.abs(new - after).max())
            if not change < CONTRACTING * (last if attempt else np.inf):
                break
            left = change * change / (last - change) if change < CONTRACTING * last else np.inf
            last, after, force = change, new, trial
            if min(left, change) <= SETTLED * float(np.abs(new).max()):
                break
        if len(kept):
            after = v + masses.solve(h * (elastic - force))
        if not np.isfinite(after).all():
            raise SceneError(
                "rods: velocities are no longer finite: take a shorter time step, or more damping"
            )
        return masses, after

    def free_about(self, part: Part, span: Span, after: Array) -> Array:
        """The velocities at the end without impulses, N at the mean of those before and ``after``.

        A rod that joints hold never has the velocities of :meth:`free`: N would be that of a motion that does
        not take place, and bent rods would drive themselves.
        """
        masses, elastic, _, _ = self._terms(part, span)
        mean = Part(part.q, 0.5 * (part.v + after))
        force = self._inertia(self.motion(mean, span.h), float(part.q[-1]), span.gravity, False).force
        return np.asarray(part.v + masses.solve(span.h * (elastic - force)))

    def _terms(self, part: Part, span: Span) -> tuple[BodyMasses, Array, Array, RodMotion]:
        """M̃, the forces of strains, damping and drag, N at the velocities of the part, and its motion."""
        h, theta = span.h, span.theta
        damping, drag = self.viscosity
        at = self.motion(part, h)
        terms = self._inertia(at, float(part.q[-1]), span.gravity, True)
        strain, rate = at.strain, at.rate
        elastic = np.zeros(self.n_dof)
        elastic[self.rates] = -self.stiffness * (
            strain - self.natural + ((2.0 * theta - 1.0) * h + damping) * rate
        )
        elastic -= np.repeat(drag, np.diff(self.table.dof)) * terms.momentum
        mass = terms.mass * np.repeat(1.0 + theta * h * drag, np.diff(self.table.entry))
        mass[self.diagonal[self.rates]] += (theta * theta * h * h + theta * h * damping) * self.stiffness
        return BodyMasses(mass, self.table.dof), elastic, terms.force, at

    def _with_roots_held(self, masses: BodyMasses) -> BodyMasses:
        """The masses with the velocities of held roots cut off from all others."""
        if not len(self.held_rates):
            return masses
        t, entries = self.table, masses.entries.copy()
        for k in np.flatnonzero(self.held):
            M = entries[t.entry[k] : t.entry[k + 1]].reshape(t.dof[k + 1] - t.dof[k], -1)
            M[:6, 6:], M[6:, :6] = 0.0, 0.0
        return BodyMasses(entries, masses.start)

    def energy(self, part: Part, gravity: Array) -> Energy:
        """Kinetic energy; elastic energy, that of weight, and of loads at tips as they are at this time."""
        terms = self.inertia(part, gravity, with_mass=False)
        at = self.motion(part)
        elastic = 0.5 * float(np.sum(self.stiffness * (self.split(part.q)[0] - self.natural) ** 2))
        mass, moment = terms.weight[:, 0], terms.weight[:, 1:]
        weight_work = float(np.sum((mass[:, None] * at.position + moment) @ np.asarray(gravity)))
        tip_work = float(np.sum(self.loads(float(part.q[-1]))[0] * terms.tip))
        return Energy(float(terms.kinetic.sum()), elastic - weight_work - tip_work)

    def doubt(self, part: Part, h: float) -> str | None:
        """Warning if an element bends or twists by more in a step than what is explicit in it can follow."""
        turn = h * np.linalg.norm(part.v[self.rates], axis=1) * self.table.length
        fastest = int(np.argmax(turn))
        if turn[fastest] <= TURNED:
            return None
        k = int(np.searchsorted(self.table.first, fastest, side="right")) - 1
        return (
            f"element {fastest - self.table.first[k]} of rod {k} bends or twists by {turn[fastest]:.2g} rad "
            f"in a step of {h:.1g} s: forces of loads, contacts and speed follow its shape only from step to "
            "step, and such a motion may be false and grow. Take shorter steps, fewer elements, more damping "
            "or drag, or MoreauJean(theta=1)"
        )

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
        """Positions of the tips of the rods, (rods, 3)."""
        return self.sections(part, np.arange(len(self.rods)), np.array([rod.length for rod in self.rods]))[0]

    def centrelines(
        self, part: Part, per_element: int = pictures.PER_ELEMENT
    ) -> tuple[Array, Indices, Array]:
        """Polylines of all rods: points (n, 3), where each rod starts among them, and radii (m)."""
        return pictures.centrelines(self, part, per_element)

    def skins(self) -> Sequence[Skin]:
        """All rods as tubes."""
        return [pictures.skin(self)]

    def looks(self, part: Part) -> Sequence[Look]:
        """Centrelines, with the curvature and the twist of the elements."""
        return [pictures.look(self, part)]

    def _place(self, part: Part) -> Placed:
        """Positions of a part. The last result is cached, as a step uses the same part several times."""
        if self._last and self._last[0][0] is part:
            return self._last[0][1]
        at, s = self.motion(part), self.segments
        chain = self.chain(at)
        middle, axes = np.empty((self.n_carriers, 3)), np.empty((self.n_carriers, 3, 3))
        fill_sections(at, chain, s.rod, s.element, s.middle, middle, axes)
        twist = np.empty((self.n_carriers, 6))
        fill_twists(self.table, at, chain, axes, s.rod, s.element, s.middle, twist)
        placed = Placed(at, chain, middle, axes, twist)
        self._last[:] = [(part, placed)]
        return placed

    @cached_property
    def _last(self) -> list[tuple[Part, Placed]]:
        return []

    def poses(self, part: Part) -> Poses:
        """Middles of the segments; a carrier has the axes n₁, n₂, n₀: capsules are along z."""
        placed = self._place(part)
        orientation = np.empty((self.n_carriers, 4))
        fill_quaternions(placed.axes, orientation)
        return Poses(placed.middle, orientation)

    def twists(self, part: Part) -> Array:
        """Velocities of the middles of the segments, angular ones in the frames of the carriers."""
        return self._place(part).twist

    def rows(self, part: Part, at: Touches) -> Rows:
        """Velocities of points fixed to the sections nearest to them."""
        t, s = self.table, self.segments
        carrier = np.asarray(at.carrier, dtype=np.int64)
        placed, most = self._place(part), int(np.diff(t.dof).max())
        entries, imposed = np.zeros((len(carrier), 3, most)), np.zeros((len(carrier), 3))
        point = np.ascontiguousarray(at.point, dtype=float)
        fill_rows(
            t, placed.motion, placed.chain, s, placed.middle, placed.axes, carrier, point, entries, imposed
        )
        return Rows(s.rod[carrier], entries, imposed)

    def jacobian(self, part: Part, at: Touches) -> sparse.csr_array:
        """The same as a matrix on all velocities."""
        body, entries, _ = self.rows(part, at)
        first, size = self.table.dof[body], np.diff(self.table.dof)[body]
        row, place = np.nonzero(np.arange(entries.shape[2]) < np.repeat(size, 3)[:, None])
        columns = (first[row // 3] + place).astype(np.int32)
        indptr = starts_of(np.repeat(size, 3)).astype(np.int32)
        data = entries.reshape(len(row) and 3 * len(body), -1)[row, place]
        return sparse.csr_array((data, columns, indptr), shape=(3 * len(body), self.n_dof))

    def velocities(self, part: Part, at: Touches) -> Array:
        """Velocities of the same points at the velocities of the part, those of supports included."""
        body, entries, imposed = self.rows(part, at)
        v = np.append(part.v, np.zeros(entries.shape[2]))  # rows of short rods end in zeros
        own = v[self.table.dof[body][:, None] + np.arange(entries.shape[2])]
        return np.asarray(imposed + np.einsum("kij,kj->ki", entries, own))

    def roots(self, part: Part) -> Roots:
        """Roots that a rigid body holds."""
        at = self.motion(part)
        columns = self.held_rates.astype(np.int32)
        ones, rows = np.ones(len(columns)), np.arange(len(columns) + 1, dtype=np.int32)
        J = sparse.csr_array((ones, columns, rows), shape=(len(columns), self.n_dof))
        return Roots(at.position[self.held], at.frame[self.held], J)

    # ---------------------------------------------------------------- joints

    def anchor(self, point: Array, carrier: int | None) -> Anchor:
        """The section nearest to a point, which may be off the centreline."""
        only = None if carrier is None else int(self.segments.rod[carrier])
        start, best = self.start(), (np.inf, 0, 0.0, np.zeros(3))
        for k, rod in enumerate(self.rods):
            if only is not None and k != only:
                continue
            s, step = np.linspace(0.0, rod.length, SAMPLES * rod.elements + 1), rod.length
            for _ in range(SEARCHES):  # finer and finer about the nearest
                where = self.sections(start, np.full(len(s), k), s)[0]
                nearest, away = anchoring.nearest(where, point)
                step = s[1] - s[0]
                at = float(s[nearest])
                s = np.linspace(max(at - step, 0.0), min(at + step, rod.length), len(s))
            if away < best[0]:
                best = (away, k, at, where[nearest])
        away, k, at, place = best
        if away > float(np.max(self.rods[k].radius)) * (1.0 + anchoring.AT):
            raise anchoring.refuse_point(point, f"the centreline of rod {k}", place, away)
        return Anchor(f"rod {k} at {at:.6g} m", (k,), (at,), turns=True)

    def anchored(self, part: Part, anchors: Sequence[Anchor]) -> Anchored:
        """Sections with the axes n₁, n₂, n₀, as carriers have them."""
        rod = np.array([anchor.place[0] for anchor in anchors], dtype=np.int64)
        s = np.array([anchor.share[0] for anchor in anchors])
        t, at, n = self.table, self.motion(part), len(rod)
        length = t.length[t.first[rod]]
        local = np.clip((s / length).astype(np.int64), 0, np.diff(t.first)[rod] - 1)
        # A segment of zero length: all points are fixed to its section.
        none = np.zeros(n)
        cut = Segments(rod, t.first[rod] + local, s - local * length, none, none, s)
        chain, middle, axes = self.chain(at), np.empty((n, 3)), np.empty((n, 3, 3))
        fill_sections(at, chain, rod, cut.element, cut.middle, middle, axes)
        orientation = np.empty((n, 4))
        fill_quaternions(axes, orientation)
        # Velocities of its middle and of points one metre off along n₁ and n₂ give its twist.
        most, carrier = int(np.diff(t.dof).max()), np.arange(n)
        velocities = []
        for off in (np.zeros((n, 3)), axes[:, :, 1], axes[:, :, 2]):
            entries, imposed = np.zeros((n, 3, most)), np.zeros((n, 3))
            fill_rows(t, at, chain, cut, middle, axes, carrier, middle + off, entries, imposed)
            velocities.append(np.concatenate((entries, imposed[:, :, None]), axis=2))
        moving, first, second = velocities[0], velocities[1] - velocities[0], velocities[2] - velocities[0]
        turning = [  # ω along n₁, n₂, n₀, from ω × n₁ and ω × n₂
            np.einsum("nd,ndm->nm", axes[:, :, 0], second),
            -np.einsum("nd,ndm->nm", axes[:, :, 0], first),
            np.einsum("nd,ndm->nm", axes[:, :, 2], first),
        ]
        rows = np.concatenate((moving, np.stack(turning, axis=1)), axis=1)
        J = np.zeros((n, 6, self.n_dof))
        for k, body in enumerate(rod):
            J[k, :, t.dof[body] : t.dof[body + 1]] = rows[k, :, : t.dof[body + 1] - t.dof[body]]
        return Anchored(middle, orientation, sparse.csr_array(J.reshape(6 * n, -1)), rows[:, :, -1])

    # ---------------------------------------------------------------- in files

    def to_dict(self) -> dict[str, Any]:
        """Settings as plain data (:mod:`clapas.bodies.rods.document`)."""
        return to_document(self.rods)

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any], folder: Path) -> Rods:
        """Inverse of :meth:`to_dict`."""
        return cls(from_document(settings))

    # ---------------------------------------------------------------- contacts

    def margin(self, part: Part) -> float:
        """Twice the largest distance of an arc from its tangent, ½ κ half² (m)."""
        s = self.segments
        bend = np.linalg.norm(self.split(part.q)[0][:, 1:], axis=1)[s.element]
        return float(np.max(bend * s.half**2, initial=0.0))

    def refine(
        self, part: Part, contacts: Contacts, own: Sides, others: Neighbourhood, distance: float
    ) -> Contacts:
        """Contacts on the centrelines themselves (:mod:`clapas.bodies.rods.contacts`)."""
        placed, h = self._place(part), float(part.q[-2])
        if len(self.rods) > 1 and not self._warnings_given and h > self.longest_step(part, distance):
            self._warnings_given.append(
                f"rods: they approach each other by up to {self._closing(part) * h:.1e} m in a step, and "
                f"contacts are looked for within {distance:.1e} m: they may pass through each other; "
                "take shorter steps, MoreauJean(travel=0.5) or a longer reach"
            )
            logger.warning(self._warnings_given[0])
        arcs = Arcs(self.segments, placed.middle, placed.axes, placed.motion.strain, self.goes_on)
        return refined(arcs, contacts, own, others, distance)

    @cached_property
    def _warnings_given(self) -> list[str]:
        return []

    def longest_step(self, part: Part, reach: float = 0.0) -> float:
        """Time (s) in which no two segments come nearer by more than the thinnest radius and a reach (m).

        With longer steps thin rods may pass through each other undetected. The reach is that of the scheme:
        contacts within it are active if they close by no more than it in a step. A longer step is reported
        once, by a warning of the logger ``clapas``.
        """
        fastest = self._closing(part)
        return (float(self.segments.radius.min()) + reach) / fastest if fastest > 0.0 else np.inf

    def _closing(self, part: Part) -> float:
        """A bound on the speed at which two segments approach each other (m/s): from their common motion."""
        v = self._place(part).twist
        linear, turning = v[:, :3], np.linalg.norm(v[:, 3:], axis=1) * self.segments.half
        ball = 2.0 * np.linalg.norm(linear - linear.mean(axis=0), axis=1).max()
        box = np.linalg.norm(np.ptp(linear, axis=0))
        return float(min(ball, box) + 2.0 * turning.max())
