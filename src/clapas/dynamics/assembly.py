"""From contacts and velocities to the contact problem of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clapas.bodies.rigid.motion import (
    fill_blocks_2d,
    fill_blocks_3d,
    fill_couples_2d,
    fill_couples_3d,
)
from clapas.bodies.rigid.spheres import impulses_in_world, reach_of, velocities_at, world_rows
from clapas.convex.section import Polygons
from clapas.convex.threshold import Thresholds
from clapas.dynamics.freemotion import add_lead
from clapas.dynamics.guides import can_part
from clapas.dynamics.links import LinkRows
from clapas.dynamics.model import Impulses, LinkImpulses, Model, State
from clapas.dynamics.warm_start import carry, carry_to_spheres, places, product, to_world
from clapas.geometry import rotations
from clapas.geometry.colliders import Contacts
from clapas.problems.blocks import BodyBlocks, contact_velocities, frames
from clapas.problems.contact import MANY, ROUNDING, ContactProblem
from clapas.problems.rolling import RollingProblem
from clapas.problems.sphere_blocks import SphereBlocks
from clapas.typing import Array, Indices, Mask

if TYPE_CHECKING:
    from clapas.dynamics.condensed import Condensed

COUPLES = {2: 1, 3: 3}  # components of the couple at a contact, by dimension


@dataclass(frozen=True)
class StepProblem:
    """The contact problem of one step and what is needed to read its answer.

    Parameters
    ----------
    problem : ContactProblem
        Its unknown is the impulse plus the cohesion; a :class:`RollingProblem` where laws ask for couples.
    contacts : Contacts
        The active contacts.
    apart : array (n,) of bool
        Those that do not touch but are within reach.
    own_frame : array (n, d, d), or None
        Their frames, normal and tangents; None where the tangents are those that follow from the normals.
    wall : array (n, k), or None
        The part of the contact velocities due to imposed motions (m/s); None if nothing is driven.
    cohesion : array (n,)
        Traction each contact resists during the step (N·s).
    scale : array (n, k), or (1, k) for all alike
        Impulses and couples per unit of the unknown: less than one along the short axis of elliptic
        friction, lengths (m) for couples.
    links : LinkRows, optional
        The links, whose rows follow those of the contacts; None without.
    condensed : Condensed, optional
        Where joints were eliminated, what impulses do to the bodies; else None.
    """

    problem: ContactProblem
    contacts: Contacts
    apart: Mask
    own_frame: Array | None
    wall: Array | None
    cohesion: Array
    scale: Array
    links: LinkRows | None = None
    condensed: Condensed | None = None

    @property
    def has_spheres(self) -> bool:
        """Whether the problem is stated for spheres, whose tangents follow from the normals."""
        return isinstance(self.problem.blocks, SphereBlocks)

    @property
    def frame(self) -> Array:
        """The frames (n, d, d) of the contacts: normal, tangents."""
        return frames(self.contacts.normal) if self.own_frame is None else self.own_frame

    def guess(self, impulses: Impulses, ratio: float = 1.0, links: LinkImpulses | None = None) -> Array:
        """Unknowns (n, k) of the contacts and links that were there at the last step, zero for new ones.

        ``ratio`` is how much longer this step is than the last: forces persist, not impulses.
        """
        old, new = impulses, self.contacts
        place = places(old.a, old.b, old.feature, new)
        if self.has_spheres:
            r = np.empty((len(new), 3))
            carry_to_spheres(place, ratio, old.impulse, new.normal, self.cohesion, r)
        else:
            r = np.zeros((len(new), self.scale.shape[1]))
            couple = np.require(old.couple, requirements=("C", "W"))  # zeros may have no room of their own
            carry(place, ratio, old.impulse, couple, self.frame, self.cohesion, self.scale, r)
        if self.links is None:
            return r
        own = self.links.guess(links, ratio)
        return np.concatenate((r, np.pad(own, ((0, 0), (0, r.shape[1] - own.shape[1])))))

    def of_links(self, r: Array) -> LinkImpulses | None:
        """Impulses of the links, from the unknowns r; None without links."""
        return None if self.links is None else self.links.impulses(self.link_rows(r))

    def link_rows(self, r: Array) -> Array:
        """The part (n_links, d) of the unknowns r that belongs to links, which have no couples."""
        return r[len(self.contacts) :, : self.contacts.normal.shape[1]]

    def impulses(self, r: Array) -> Impulses:
        """Impulses and couples on the bodies b in world coordinates, from the unknowns r."""
        which, r = (self.contacts.a, self.contacts.b, self.contacts.feature), r[: len(self.contacts)]
        if self.has_spheres:
            return Impulses(*which, impulses_in_world(self.contacts.normal, r, self.cohesion))
        frame, own = self.frame, r * self.scale
        own[:, 0] -= self.cohesion
        d = frame.shape[1]
        couple = own[:, d:]
        if couple.shape[1] == 3:
            couple = np.einsum("nij,ni->nj", frame, couple)
        world = np.empty((len(own), d))
        to_world(frame, own, world)
        return Impulses(*which, world, couple)

    def carrying(self, r: Array) -> Indices | None:
        """Rows of the contacts that count as such: they touch, or carry an impulse. None if all do.

        The others were within reach, and nothing came of it; or they are no contacts but links.
        """
        apart = np.flatnonzero(self.apart)
        idle = apart[~r[apart].any(axis=1)]
        if self.links is None and not len(idle):
            return None
        counts = np.ones(len(self.contacts), dtype=bool)
        counts[idle] = False
        return np.flatnonzero(counts)

    def work_of_walls(self, r: Array) -> float:
        """Work of the impulses r along imposed motions during the step (J)."""
        if self.wall is None:
            return 0.0
        return float(product(r[: len(self.wall)], self.wall) - self.cohesion @ self.wall[:, 0])

    def sliding_part(self, r: Array) -> tuple[ContactProblem, Array]:
        """The problem and the unknown of the impulses alone; couples, if any, are held as loads."""
        if isinstance(self.problem, RollingProblem):
            return self.problem.sliding_part(r)
        return self.problem, r


def step_problem(
    model: Model,
    middle: State,
    contacts: Contacts,
    free: Array,
    dt: float,
    touching: float = np.inf,
    lead: Array | None = None,
    *,
    part_of: int | None = None,
    pushed: Callable[[BodyBlocks, Array], BodyBlocks] = lambda blocks, r: blocks.pushed(r),
) -> StepProblem:
    """Assemble the problem of one step.

    Parameters
    ----------
    model : Model
        Bodies, laws.
    middle : State
        Positions at which contacts were found, with the velocities of the start of the step.
    contacts : Contacts
        The active contacts.
    free : array (N, size)
        Velocities at the end of the step without contact.
    dt : float
        Time step (s).
    touching : float
        Gap (m) up to which contacts touch and follow Moreau's rule, u_N ≥ 0. Those with a gap g above may
        close it, u_N + g/h ≥ 0 (:mod:`clapas.dynamics.reaching`).
    lead : array (n, d), optional
        What the velocities of walls miss at the contacts (:func:`clapas.dynamics.freemotion.lead`).
    part_of : int, optional
        Where these are some of the contacts of a larger problem: how many it has. The form is then that of
        the whole, and contacts whose free velocities are rounding stay, since others may push them.
    pushed : callable, optional
        Bodies whose free motion has felt impulses at these contacts, and at those of the other parts.
    """
    whole = len(contacts) if part_of is None else part_of
    if model.has_spheres and whole >= MANY:
        geometry = _geometry_of_spheres(model, middle, contacts, free)
    else:
        geometry = contact_geometry(model, middle, contacts, free)
        if not model.motions:
            geometry = geometry._replace(wall=None)
    blocks = geometry.blocks
    if model.blocked is not None and not (parting := can_part(blocks.G)).all():
        kept = np.flatnonzero(parting)
        ahead = None if lead is None else lead[kept]
        chosen = contacts.take(kept)
        return step_problem(model, middle, chosen, free, dt, touching, ahead, part_of=part_of, pushed=pushed)
    kind = RollingProblem if model.laws.has_couples else ContactProblem

    def made(w: Array | None, mu: Array, pull: Array | None) -> ContactProblem:
        moved = blocks if pull is None else pushed(blocks, pull)
        return kind.from_blocks(moved, mu=mu, w=w, section=sections(model, contacts, dt))

    problem = under_laws(model, contacts, geometry, made, dt, touching, lead)
    if (
        part_of is None
        and len(contacts)
        and is_rounding(problem.problem, blocks.largest_term(), problem.wall)
    ):
        none = contacts.take(np.empty(0, dtype=np.int64))
        return step_problem(model, middle, none, free, dt)
    return problem


Made = Callable[[Array | None, Array, Array | None], ContactProblem]
"""Makes the problem from imposed velocities w, friction mu and impulses (n, k) that act beforehand."""


def under_laws(
    model: Model,
    contacts: Contacts,
    geometry: Geometry,
    made: Made,
    dt: float,
    touching: float,
    lead: Array | None,
) -> StepProblem:
    """Add to the geometry of a step what the laws say: friction, restitution, cohesion, gaps to close."""
    laws, pair, wall = model.laws, _materials(model, contacts), geometry.wall
    if lead is not None:
        wall = _with_lead(geometry, contacts, lead)
        geometry = geometry._replace(wall=wall)
    shape = len(contacts), geometry.scale.shape[1]
    cohesion, pull = _of_pair(laws.cohesion, pair) * dt, None
    if laws.cohesion.any():
        pull = np.zeros(shape)
        pull[:, 0] = -cohesion
    mu = _of_pair(np.maximum(laws.mu, laws.mu_across), pair)
    apart = contacts.gap > touching
    w = _imposed(model, geometry, shape, pair, apart, contacts.gap / dt)
    return StepProblem(made(w, mu, pull), contacts, apart, geometry.own_frame, wall, cohesion, geometry.scale)


def _with_lead(geometry: Geometry, contacts: Contacts, lead: Array) -> Array:
    """Velocities of walls with what they miss, given in world coordinates."""
    assert geometry.wall is not None
    missing = np.zeros_like(geometry.wall)
    frame = frames(contacts.normal) if geometry.own_frame is None else geometry.own_frame
    add_lead(frame, lead, missing)
    return geometry.wall + missing * geometry.scale


class Geometry(NamedTuple):
    """The part of the problem that geometry and velocities make.

    ``before`` are the velocities at the contacts at the start of the step, None if no law asks for them;
    the other fields are those of :class:`StepProblem`.
    """

    blocks: BodyBlocks
    own_frame: Array | None
    scale: Array
    wall: Array | None
    before: Array | None


def contact_geometry(model: Model, middle: State, contacts: Contacts, free: Array) -> Geometry:
    """Any bodies and laws: blocks of H."""
    laws, pair = model.laws, _materials(model, contacts)
    grained = laws.is_elliptic or laws.has_sections
    frame = _along_grain(model, middle, contacts, pair) if grained else frames(contacts.normal)
    G, wall = _blocks(model, middle, contacts, frame)
    scale = np.ones((1, wall.shape[1]))
    if laws.is_elliptic or laws.has_couples:
        scale = _scale(model, pair, wall.shape)
        G *= scale[:, None, :, None]
        wall *= scale
    bodies = contacts.bodies
    before = None
    if laws.has_restitution:
        before = contact_velocities(G, bodies, middle.velocity * model.mass_root, wall)
    y_free = _with_ground((free * model.mass_root)[model.moving])
    blocks = BodyBlocks(G, model.number[bodies], y_free, model.roots)
    return Geometry(blocks, frame, scale, wall, before)


def _geometry_of_spheres(model: Model, middle: State, contacts: Contacts, free: Array) -> Geometry:
    """Many contacts between spheres: geometry is enough."""
    bodies = contacts.bodies
    place = contacts.normal, contacts.point, image_shifts(model, contacts), bodies, middle.position
    turn, answer = middle.orientation, model.inverse_root[:, 2:4] ** 2
    x_free = _with_ground(world_rows(turn, free, answer)[model.moving])
    turned = np.ascontiguousarray(turn[model.moving])
    blocks = SphereBlocks(contacts.normal, reach_of(*place), model.number[bodies], x_free, turned)
    wall = before = None
    if model.motions:
        driven = np.where(model.movable[:, None], 0.0, middle.velocity)
        wall = velocities_at(*place, world_rows(turn, driven, answer))
    if model.laws.has_restitution:
        before = velocities_at(*place, world_rows(turn, middle.velocity, answer))
    return Geometry(blocks, None, np.ones((1, 3)), wall, before)


def image_shifts(model: Model, contacts: Contacts) -> Array:
    """Shifts to periodic images, as kernels take them: without rows if there are none."""
    if all(period is None for period in model.period):
        return np.empty((0, model.d))
    return np.require(contacts.shift, requirements=("C", "W"))


def _materials(model: Model, contacts: Contacts) -> tuple[Indices, Indices]:
    material = model.colliders.material
    return material[contacts.collider_a], material[contacts.collider_b]


def _of_pair(table: Array, pair: tuple[Indices, Indices]) -> Array:
    """Entries of a table of laws for each contact."""
    first = table.flat[0]
    return np.full(len(pair[0]), first) if (table == first).all() else table[pair]


def _imposed(
    model: Model,
    geometry: Geometry,
    shape: tuple[int, int],
    pair: tuple[Indices, Indices],
    apart: Mask,
    closing: Array,
) -> Array | None:
    """The velocities w: those of walls, and what contacts that touch and contacts apart add.

    Where bodies touch, the share of the velocity before that restitution gives back; where they are apart,
    the velocity at which the gap closes in one step.
    """
    are_apart = bool(apart.any())
    if geometry.wall is None and geometry.before is None and not are_apart:
        return None
    w = np.zeros(shape) if geometry.wall is None else geometry.wall.copy()
    if geometry.before is not None:
        touch = ~apart
        w[:, 0] += touch * _of_pair(model.laws.restitution, pair) * geometry.before[:, 0]
        tangential = (touch * _of_pair(model.laws.tangential_restitution, pair))[:, None]
        w[:, 1 : model.d] += tangential * geometry.before[:, 1 : model.d]
    if are_apart:
        w[apart, 0] += closing[apart]
    return w


def is_rounding(problem: ContactProblem, largest_term: float, wall: Array | None) -> bool:
    """Whether bodies that touch move together: their free velocities at the contacts are rounding.

    Then nothing happens at the contacts, and there is nothing to measure an answer against.
    """
    most = largest_term + (0.0 if wall is None else float(np.max(np.abs(wall), initial=0.0)))
    return problem.free_speeds[1] <= 16.0 * ROUNDING * most


def _with_ground(rows: Array) -> Array:
    """The rows of the movable bodies, then the ground's, zero."""
    all_rows = np.zeros((len(rows) + 1, rows.shape[1]))
    all_rows[:-1] = rows
    return all_rows


def _blocks(model: Model, middle: State, contacts: Contacts, frame: Array) -> tuple[Array, Array]:
    n, d = len(contacts), model.d
    rows = d + (COUPLES[d] if model.laws.has_couples else 0)
    G, w = np.zeros((n, 2, rows, model.masses.shape[1])), np.zeros((n, rows))
    bodies = contacts.bodies
    place = contacts.point, image_shifts(model, contacts), frame, middle.position
    turn, velocity, inverse, movable = middle.orientation, middle.velocity, model.inverse_root, model.movable
    passes = [(velocity, movable)]
    if model.blocked is not None:  # along blocked axes a guided body moves as a wall does
        passes.append((np.where(model.blocked, velocity, 0.0), np.zeros_like(movable)))
    for told, moving in passes:
        fill = fill_blocks_3d if d == 3 else fill_blocks_2d
        fill(bodies, *place, turn, told, inverse, moving, G, w)
        if rows > d and d == 3:
            fill_couples_3d(bodies, frame, turn, told, inverse, moving, G, w)
        elif rows > d:
            fill_couples_2d(bodies, told, inverse, moving, G, w)
    return G, w


def _scale(model: Model, pair: tuple[Indices, Indices], shape: tuple[int, ...]) -> Array:
    """What one unit of each unknown stands for; see :class:`StepProblem`."""
    laws, scale = model.laws, np.ones(shape)
    if laws.is_elliptic:
        most = np.maximum(laws.mu, laws.mu_across)[pair]
        for k, mu in enumerate((laws.mu, laws.mu_across), start=1):
            scale[:, k] = np.divide(mu[pair], most, out=np.ones_like(most), where=most > 0.0)
    if laws.has_couples:
        scale[:, 2 if model.d == 2 else 4 :] = laws.rolling[pair][:, None]
        if model.d == 3:
            scale[:, 3] = laws.spinning[pair]
    return scale


def sections(model: Model, contacts: Contacts, dt: float, n_links: int = 0) -> Polygons | Thresholds | None:
    """The shapes of friction of contacts and of links, whose cones are round; None if all are."""
    if model.laws.has_thresholds:
        return _thresholds(model, contacts, dt, n_links)
    if not model.laws.has_sections:
        return None
    corners = model.laws.section[_materials(model, contacts)]
    corners = np.concatenate((corners, np.zeros((n_links, *corners.shape[1:]))))
    is_round: Mask = np.asarray(~corners.any(axis=(1, 2)))
    return None if is_round.all() else Polygons(corners, is_round)


def _thresholds(model: Model, contacts: Contacts, dt: float, n_links: int) -> Thresholds:
    """Friction that does not follow the pressure, over a step: s = threshold dt, κ = 1/(viscosity dt)."""
    laws, pair = model.laws, _materials(model, contacts)
    limit, viscosity = laws.threshold[pair] * dt, laws.viscosity[pair] * dt
    is_round = (limit == 0.0) & (viscosity == 0.0)
    softness = np.divide(1.0, viscosity, out=np.zeros_like(viscosity), where=viscosity > 0.0)
    limit = np.where(viscosity > 0.0, np.inf, limit)
    more, none = np.ones(n_links, dtype=bool), np.zeros(n_links)
    return Thresholds(np.append(limit, none), np.append(softness, none), np.append(is_round, more))


def _along_grain(model: Model, middle: State, contacts: Contacts, pair: tuple[Indices, Indices]) -> Array:
    """Frames whose first tangent is along the direction of elliptic friction, carried by body a.

    Where there is none, or it is along the normal, any tangents will do.
    """
    frame = frames(contacts.normal)
    direction = rotations.rotate(middle.orientation[contacts.a], model.laws.direction[pair])
    along = direction - np.sum(direction * contacts.normal, axis=1, keepdims=True) * contacts.normal
    size = np.linalg.norm(along, axis=1)
    chosen = size > 1e-12
    frame[chosen, 1] = along[chosen] / size[chosen, None]
    frame[chosen, 2] = np.cross(frame[chosen, 0], frame[chosen, 1])
    return frame
