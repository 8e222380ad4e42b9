"""Bodies of other kinds in a step: linkages, trusses, rods beside rigid bodies.

The engine uses a kind only through the interface of :mod:`clapas.bodies.kind`. Its carriers are in the table
of bodies as walls that move by themselves: detection, recordings and the viewer need no more. In the contact
problem their velocities follow those of the rigid bodies (:mod:`clapas.dynamics.mixed`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import sparse

from clapas.bodies.kind import Energy, Part, Poses, Span
from clapas.bodies.links import Bindings, Links
from clapas.bodies.nonlinear import Pieces
from clapas.bodies.touched import Neighbourhood, Sides
from clapas.dynamics.holding import Held, held
from clapas.dynamics.model import Model, System
from clapas.dynamics.state import State
from clapas.geometry.colliders import Contacts
from clapas.linalg.body_masses import BodyMasses
from clapas.linalg.factored_mass import FactoredMass, Inverse
from clapas.typing import Array, Mask


@dataclass(frozen=True)
class SystemsInStep:
    """The systems of a model during one step.

    Parameters
    ----------
    systems : tuple of System
        The systems.
    parts : tuple of Part
        Their coordinates at the middle of the step, with the velocities of its start.
    mass : tuple of sparse matrices, BodyMasses or FactoredMass
        Effective masses M̃.
    free : tuple of arrays
        Velocities at the end of the step without contact.
    links : tuple of Links or None
        Rows of their own in the contact problem: cables.
    bindings : tuple of Bindings or None
        Bilateral rows of their own: constraints.
    pieces : tuple of Pieces or None
        Forces that change with the velocities at the end of the step.
    piece : tuple of arrays or None
        The piece whose forces ``mass`` and ``free`` have.
    span : Span or None
        The step; None without systems.
    held : tuple of Held or None
        Rows that fix their roots in rigid bodies.
    """

    systems: tuple[System, ...]
    parts: tuple[Part, ...]
    mass: tuple[sparse.csr_array | BodyMasses | FactoredMass, ...]
    free: tuple[Array, ...]
    links: tuple[Links | None, ...]
    bindings: tuple[Bindings | None, ...] = ()
    pieces: tuple[Pieces | None, ...] = ()
    piece: tuple[Mask | None, ...] = ()
    span: Span | None = None
    held: tuple[Held | None, ...] = ()

    @staticmethod
    def none() -> SystemsInStep:
        """No system."""
        return SystemsInStep((), (), (), (), ())

    @property
    def matrices(self) -> list[sparse.csr_array]:
        """Effective masses M̃, sparse."""
        return [mass.matrix if isinstance(mass, (BodyMasses, FactoredMass)) else mass for mass in self.mass]

    def inverses(self, first: int) -> dict[int, Inverse]:
        """Stored inverse masses, by the index of their first velocity; systems start at index ``first``."""
        starts = first + np.cumsum([0, *map(len, self.free)])
        return {
            int(start): mass.inverse
            for start, mass in zip(starts, self.mass, strict=False)
            if isinstance(mass, FactoredMass)
        }

    @property
    def are_linked(self) -> bool:
        """Whether a system has links or constraints in this step."""
        bound = any(rows is not None for rows in (*self.bindings, *self.held))
        return bound or any(links is not None and len(links) for links in self.links)

    def rows(self, before: int, after: int) -> tuple[sparse.csr_array, Array] | None:
        """The constraints on all velocities, those ``before`` and ``after`` the systems included."""
        sizes, found, b = [before, *map(len, self.free), after], [], []
        for k, rows in enumerate(self.bindings):
            if rows is not None:
                found.append({k + 1: rows.J})
                b.append(rows.b)
        for k, tied in enumerate(self.held):
            if tied is not None:
                found.append({0: tied.rigid, k + 1: tied.own})
                b.append(tied.b)
        if not found:
            return None
        blocks = [
            [row.get(k, sparse.csr_array((len(of), size))) for k, size in enumerate(sizes)]
            for row, of in zip(found, b, strict=True)
        ]
        return sparse.csr_array(sparse.block_array(blocks, format="csr")), np.concatenate(b)

    def touch(self, model: Model, contacts: Contacts) -> bool:
        """Whether a carrier is in contact."""
        if not self.systems:
            return False
        return bool((model.system_of[contacts.a] >= 0).any() or (model.system_of[contacts.b] >= 0).any())

    def moved(self, velocities: tuple[Array, ...], h: float) -> tuple[Part, ...]:
        """The parts after h seconds at new velocities."""
        return tuple(
            system.bodies.advance(part, v, h)
            for system, part, v in zip(self.systems, self.parts, velocities, strict=True)
        )

    def in_piece_of(self, velocities: tuple[Array, ...]) -> SystemsInStep:
        """The systems with forces of the pieces that contain the final velocities; itself if unchanged."""
        mass, free, piece = list(self.mass), list(self.free), list(self.piece)
        changed = False
        for k, (forces, v) in enumerate(zip(self.pieces, velocities, strict=True)):
            if forces is None or piece[k] is None:
                continue
            after = forces.piece(v, piece[k])
            if after is not piece[k]:
                mass[k], free[k] = forces.free_in(after)
                piece[k], changed = after, True
        if not changed:
            return self
        return replace(self, mass=tuple(mass), free=tuple(free), piece=tuple(piece))

    def without_pieces(self) -> SystemsInStep:
        """The systems with all piecewise forces as links of the contact problem."""
        mass, free, links = list(self.mass), list(self.free), list(self.links)
        for k, forces in enumerate(self.pieces):
            if forces is not None:
                mass[k], free[k], links[k] = forces.as_links()
        none = (None,) * len(mass)
        return replace(self, mass=tuple(mass), free=tuple(free), links=tuple(links), pieces=none, piece=none)

    def mean(self, velocities: tuple[Array, ...]) -> tuple[Array, ...]:
        """Means of the velocities at the start and of those at the end."""
        return tuple(0.5 * (part.v + after) for part, after in zip(self.parts, velocities, strict=True))

    def about(self, velocities: tuple[Array, ...]) -> tuple[SystemsInStep, float]:
        """The systems with the inertial forces of motions that end with these velocities.

        Also returns the largest change of the velocities without impulses, relative to these.
        """
        assert self.span is not None
        free, change = list(self.free), 0.0
        for k, (system, part, v) in enumerate(zip(self.systems, self.parts, velocities, strict=True)):
            if system.inertial is None:
                continue
            free[k] = system.inertial.free_about(part, self.span, v)
            largest = float(np.abs(free[k]).max(initial=0.0))
            change = max(change, float(np.abs(free[k] - self.free[k]).max(initial=0.0)) / (largest or 1.0))
        return replace(self, free=tuple(free)), change

    @property
    def are_linear(self) -> bool:
        """Whether one linearisation is enough for the step."""
        return all(system.nonlinear is None or system.nonlinear.is_linear for system in self.systems)

    def relinearised(self, velocities: tuple[Array, ...]) -> tuple[SystemsInStep, float]:
        """The systems linearised about velocities at the end of the step, and the imbalance before.

        M̃ (v − v_free) is the impulse required for v: exact by the new linearisation, approximate by the old
        one. The imbalance is their difference beyond rounding, relative to the largest impulse of the step.
        """
        assert self.span is not None
        mass, free, worst = list(self.mass), list(self.free), 0.0
        for k, (system, part, v) in enumerate(zip(self.systems, self.parts, velocities, strict=True)):
            nonlinear = system.nonlinear
            if nonlinear is None or nonlinear.is_linear:
                continue
            mass[k], free[k] = nonlinear.linearised(part, self.span, v)
            before, after = self.mass[k] @ (v - self.free[k]), mass[k] @ (v - free[k])
            pushes = before, mass[k] @ (v - part.v), mass[k] @ (free[k] - part.v)
            largest = max(float(np.abs(push).max(initial=0.0)) for push in pushes)
            beyond = float(np.abs(after - before).max(initial=0.0)) - nonlinear.rounding(part, self.span)
            worst = max(worst, beyond / (largest or 1.0))
        return replace(self, mass=tuple(mass), free=tuple(free)), worst

    def work(self, velocities: tuple[Array, ...]) -> float:
        """Work of the impulses of the step on the systems, Σ M̃ (v⁺ − v_free)·(v⁻ + v⁺)/2 (J)."""
        total = 0.0
        for part, M, free, after in zip(self.parts, self.mass, self.free, velocities, strict=True):
            total += 0.5 * float((M @ (after - free)) @ (part.v + after))
        return total


def systems_in_step(
    model: Model, state: State, middle: State, theta: float, dt: float, *, inertia: bool = True
) -> tuple[SystemsInStep, State]:
    """The systems at the middle of a step, and the middle state with the poses of their carriers."""
    parts, mass, free, links, bindings, pieces, piece = [], [], [], [], [], [], []
    span = Span(state.time + 0.5 * dt, dt, theta, model.gravity)
    for system, part in zip(model.systems, state.parts, strict=True):
        start = part if inertia else Part(part.q, np.zeros_like(part.v))
        half = system.bodies.drift(start, (1.0 - theta) * dt)
        if system.bending is not None:
            half = system.bending.during(half, span)
        own_pieces = getattr(system.bodies, "pieces", None)  # a PiecewiseBodies has them
        forces = None if own_pieces is None else own_pieces(half, span)
        now, M, v = (None, *system.bodies.free(half, span)) if forces is None else forces.free()
        pieces.append(forces)
        piece.append(now)
        parts.append(half)
        mass.append(M)
        free.append(v)
        own_links = getattr(system.bodies, "links", None)  # a LinkedBodies has them
        links.append(None if own_links is None else own_links(half, span))
        own_rows = getattr(system.bodies, "bindings", None)  # a BoundBodies has them
        bound = None if own_rows is None else own_rows(half, span)
        bindings.append(bound if bound is not None and len(bound.b) else None)
    tied = [held(model, system, half, middle, dt) for system, half in zip(model.systems, parts, strict=True)]
    step = SystemsInStep(
        model.systems,
        tuple(parts),
        tuple(mass),
        tuple(free),
        tuple(links),
        tuple(bindings),
        tuple(pieces),
        tuple(piece),
        span,
        tuple(tied),
    )
    return step, with_carriers(model, replace(middle, parts=step.parts))


def with_carriers(model: Model, state: State) -> State:
    """The state with the poses and velocities of carriers taken from its parts."""
    position, orientation, velocity = state.position.copy(), state.orientation.copy(), state.velocity.copy()
    for system, part in zip(model.systems, state.parts, strict=True):
        if not len(system.rows):  # a system without links has no dimension of its own
            continue
        poses, twists = system.bodies.poses(part), system.bodies.twists(part)
        position[system.rows] = poses.position[system.carrier]
        orientation[system.rows] = poses.orientation[system.carrier]
        velocity[system.rows] = twists[system.carrier]
    return replace(state, position=position, orientation=orientation, velocity=velocity)


def energy_of(model: Model, state: State) -> Energy:
    """Energies of the systems (J)."""
    kinetic = potential = 0.0
    for system, part in zip(model.systems, state.parts, strict=True):
        own = system.bodies.energy(part, model.gravity)
        kinetic, potential = kinetic + own.kinetic, potential + own.potential
    return Energy(kinetic, potential)


def apart_from_themselves(model: Model, contacts: Contacts) -> Contacts:
    """The contacts without those between carriers of one system, unless self-contact is allowed."""
    a, b = model.system_of[contacts.a], model.system_of[contacts.b]
    inner = (a >= 0) & (a == b)
    if not inner.any():
        return contacts
    may = np.array([system.self_contact for system in model.systems])
    kept = ~inner | may[a]
    return contacts if kept.all() else contacts.take(np.flatnonzero(kept))


def bending_margin(model: Model, parts: tuple[Part, ...]) -> float:
    """Distance (m) added to the range of detection because carriers of some systems bend."""
    pairs = zip(model.systems, parts, strict=True)
    return max((s.bending.margin(part) for s, part in pairs if s.bending is not None), default=0.0)


def on_true_surfaces(model: Model, state: State, contacts: Contacts, distance: float) -> Contacts:
    """The contacts with gap ≤ distance (m), those of carriers that bend corrected by their systems."""
    where = Neighbourhood(model.colliders, Poses(state.position, state.orientation))
    for k, (system, part) in enumerate(zip(model.systems, state.parts, strict=True)):
        if system.bending is not None:
            own = (
                np.where(model.system_of[c] == k, model.carrier_of[c], -1) for c in (contacts.a, contacts.b)
            )
            contacts = system.bending.refine(part, contacts, Sides(*own), where, distance)
    near = contacts.gap <= distance
    return contacts if near.all() else contacts.take(np.flatnonzero(near))


def split_velocity(v: Array, rigid: int, systems: SystemsInStep) -> tuple[Array, tuple[Array, ...]]:
    """The ``rigid`` velocities of the rigid bodies, and those of each system."""
    ends = np.cumsum([rigid, *(len(free) for free in systems.free)])
    return v[: ends[0]], tuple(v[a:b] for a, b in pairwise(ends))
