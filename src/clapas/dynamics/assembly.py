"""Common parts of all forms of the contact problem of a step: geometry of the contacts, then their laws.

The forms differ in how they store the masses of bodies: :mod:`clapas.dynamics.rigid_problem`,
:mod:`clapas.dynamics.small_bodies`, :mod:`clapas.dynamics.condensed` and :mod:`clapas.dynamics.mixed`. Each
takes the rows H of the contacts from :func:`contact_geometry`, leaves out contacts that cannot part
(:meth:`ContactsInStep.where`), and passes to :func:`under_laws` a function that states the problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clapas.bodies.rigid.motion import (
    fill_blocks_2d,
    fill_blocks_3d,
    fill_couples_2d,
    fill_couples_3d,
)
from clapas.compiled import kernel
from clapas.convex.section import Polygons
from clapas.convex.threshold import Thresholds
from clapas.dynamics.crushing import Crushed, worst_crushed
from clapas.dynamics.freemotion import add_lead
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.dynamics.step_problem import StepProblem
from clapas.geometry import rotations
from clapas.geometry.colliders import Contacts
from clapas.problems.blocks import BodyBlocks, contact_velocities, frames
from clapas.problems.contact import ROUNDING, ContactProblem
from clapas.typing import Array, Indices, Mask

COUPLES = {2: 1, 3: 3}  # components of the couple at a contact, by dimension
IDLE = 1e-14  # of the largest response: below it, the bodies of a contact cannot part


@dataclass(frozen=True, eq=False)
class ContactsInStep:
    """The contacts of a model during one step.

    Parameters
    ----------
    model : Model
        Bodies, laws.
    middle : State
        Positions at which contacts were found, with the velocities of the start of the step.
    contacts : Contacts
        The active contacts.
    dt : float
        Time step (s).
    touching : float
        Gap (m) up to which contacts touch and follow Moreau's rule, u_N ≥ 0. Those with a gap g above may
        close it, u_N + g/h ≥ 0 (:mod:`clapas.dynamics.reaching`).
    lead : array (n, d), optional
        Correction of the wall velocities at the contacts (:func:`clapas.dynamics.freemotion.lead`).
    crushed : Crushed, optional
        Bodies driven into each other at a contact that was left out.
    """

    model: Model
    middle: State
    contacts: Contacts
    dt: float
    touching: float = np.inf
    lead: Array | None = None
    crushed: Crushed | None = None

    def where(self, chosen: Mask) -> ContactsInStep:
        """Some of the contacts."""
        kept = np.flatnonzero(chosen)
        lead = None if self.lead is None else self.lead[kept]
        return replace(self, contacts=self.contacts.take(kept), lead=lead)

    def watching(self, held: Mask, u: Array, *velocities: Array) -> ContactsInStep:
        """The same contacts, with a note of bodies that are crushed where no impulse changes u (n,).

        ``velocities`` (N, size) are the terms of u: see :func:`clapas.dynamics.crushing.worst_crushed`.
        """
        rows = np.flatnonzero(held)
        contacts = self.contacts.take(rows)
        crushed = worst_crushed(contacts, self.middle, self.touching, self.dt, u[rows], *velocities)
        return replace(self, crushed=self.crushed or crushed)

    @property
    def rub(self) -> Mask:
        """The contacts (n,) with friction that does not follow the pressure: they rub unpressed too."""
        laws = self.model.laws
        if not laws.has_thresholds:
            return np.zeros(len(self.contacts), dtype=bool)
        pair = self.materials
        return np.asarray((laws.threshold[pair] > 0.0) | (laws.viscosity[pair] > 0.0))

    def none(self) -> ContactsInStep:
        """The step without any contact."""
        return replace(self, contacts=self.contacts.take(np.empty(0, dtype=np.int64)), lead=None)

    @cached_property
    def materials(self) -> tuple[Indices, Indices]:
        """The materials of both bodies at each contact: indices into the tables of laws."""
        material = self.model.colliders.material
        return material[self.contacts.collider_a], material[self.contacts.collider_b]

    def law(self, table: Array) -> Array | float:
        """Entries (n,) of a table of laws for each contact; one number if all pairs have the same."""
        first = table.flat[0]
        return float(first) if (table == first).all() else table[self.materials]


# -------------------------------------------------------------------- geometry


class Geometry(NamedTuple):
    """The part of the problem that follows from geometry and velocities.

    ``before`` are the velocities at the contacts at the start of the step, None if no law needs them;
    the other fields are those of :class:`StepProblem`.
    """

    blocks: BodyBlocks
    own_frame: Array | None
    scale: Array
    wall: Array | None
    before: Array | None


def contact_geometry(near: ContactsInStep, free: Array) -> Geometry:
    """Blocks of H for any rigid bodies and laws; ``free`` (N, size) are the velocities without contact."""
    model, middle, contacts = near.model, near.middle, near.contacts
    laws = model.laws
    grained = laws.is_elliptic or laws.has_sections
    frame = _along_grain(near) if grained else frames(contacts.normal)
    G, wall = _blocks(near, frame)
    scale = np.ones((1, wall.shape[1]))
    if laws.is_elliptic or laws.has_couples:
        scale = _scale(near, wall.shape)
        G *= scale[:, None, :, None]
        wall *= scale
    bodies = contacts.bodies
    before = None
    if laws.has_restitution:
        before = contact_velocities(G, bodies, middle.velocity * model.mass_root, wall)
    y_free = with_ground((free * model.mass_root)[model.moving])
    blocks = BodyBlocks(G, model.number[bodies], y_free, model.roots)
    return Geometry(blocks, frame, scale, wall, before)


def _blocks(near: ContactsInStep, frame: Array) -> tuple[Array, Array]:
    """The blocks G (n, 2, rows, size) of the contacts and the velocities (n, rows) of walls there."""
    model, middle, contacts = near.model, near.middle, near.contacts
    n, d = len(contacts), model.d
    rows = d + (COUPLES[d] if model.laws.has_couples else 0)
    G, w = np.zeros((n, 2, rows, model.masses.shape[1])), np.zeros((n, rows))
    bodies = contacts.bodies
    place = contacts.point, image_shifts(model, contacts), frame, middle.position
    turn, velocity, inverse, movable = middle.orientation, middle.velocity, model.inverse_root, model.movable
    passes = [(velocity, movable)]
    if model.blocked is not None:  # along blocked axes a guided body moves as a wall does
        passes.append((np.where(model.blocked, velocity, 0.0), np.zeros_like(movable)))
    for imposed, moving in passes:
        fill = fill_blocks_3d if d == 3 else fill_blocks_2d
        fill(bodies, *place, turn, imposed, inverse, moving, G, w)
        if rows > d and d == 3:
            fill_couples_3d(bodies, frame, turn, imposed, inverse, moving, G, w)
        elif rows > d:
            fill_couples_2d(bodies, imposed, inverse, moving, G, w)
    return G, w


def image_shifts(model: Model, contacts: Contacts) -> Array:
    """Shifts to periodic images as an argument of kernels: without rows if there are no periods."""
    if all(period is None for period in model.period):
        return np.empty((0, model.d))
    return np.require(contacts.shift, requirements=("C", "W"))


def with_ground(rows: Array) -> Array:
    """The rows of the movable bodies, followed by a zero row for the ground."""
    all_rows = np.zeros((len(rows) + 1, rows.shape[1]))
    all_rows[:-1] = rows
    return all_rows


def _along_grain(near: ContactsInStep) -> Array:
    """Frames whose first tangent is along the direction of elliptic friction, carried by body a.

    Where there is none, or it is along the normal, any tangents will do.
    """
    contacts = near.contacts
    frame = frames(contacts.normal)
    grain = near.model.laws.direction[near.materials]
    direction = rotations.rotate(near.middle.orientation[contacts.a], grain)
    along = direction - np.sum(direction * contacts.normal, axis=1, keepdims=True) * contacts.normal
    size = np.linalg.norm(along, axis=1)
    chosen = size > 1e-12
    frame[chosen, 1] = along[chosen] / size[chosen, None]
    frame[chosen, 2] = np.cross(frame[chosen, 0], frame[chosen, 1])
    return frame


def _scale(near: ContactsInStep, shape: tuple[int, ...]) -> Array:
    """Impulse or couple per unit of each unknown; see :class:`StepProblem`."""
    laws, pair, scale = near.model.laws, near.materials, np.ones(shape)
    if laws.is_elliptic:
        largest = np.maximum(laws.mu, laws.mu_across)[pair]
        for k, mu in enumerate((laws.mu, laws.mu_across), start=1):
            scale[:, k] = np.divide(mu[pair], largest, out=np.ones_like(largest), where=largest > 0.0)
    if laws.has_couples:
        scale[:, 2 if near.model.d == 2 else 4 :] = laws.rolling[pair][:, None]
        if near.model.d == 3:
            scale[:, 3] = laws.spinning[pair]
    return scale


# -------------------------------------------------------------------- laws


ProblemFactory = Callable[[Array | None, Array | float, Array | None], ContactProblem]
"""Builds the problem from imposed velocities w, friction mu and given impulses (n, k), those of cohesion."""


def under_laws(near: ContactsInStep, geometry: Geometry, build: ProblemFactory) -> StepProblem:
    """Add the laws to the geometry of a step: friction, restitution, cohesion, gaps to close."""
    laws, contacts = near.model.laws, near.contacts
    if near.lead is not None:
        geometry = geometry._replace(wall=_with_lead(near, geometry))
    shape = len(contacts), geometry.scale.shape[1]
    cohesion, pull = np.full(len(contacts), near.law(laws.cohesion) * near.dt), None
    if laws.cohesion.any():
        pull = np.zeros(shape)
        pull[:, 0] = -cohesion
    mu = near.law(np.maximum(laws.mu, laws.mu_across))
    apart = contacts.gap > near.touching
    problem = build(_imposed(near, geometry, shape, apart), mu, pull)
    return StepProblem(
        problem,
        contacts,
        apart,
        geometry.own_frame,
        geometry.wall,
        cohesion,
        geometry.scale,
        crushed=near.crushed,
    )


def _with_lead(near: ContactsInStep, geometry: Geometry) -> Array:
    """Velocities of walls at the contacts, with the correction for walls that turn or speed up."""
    assert geometry.wall is not None
    assert near.lead is not None
    correction = np.zeros_like(geometry.wall)
    frame = frames(near.contacts.normal) if geometry.own_frame is None else geometry.own_frame
    add_lead(frame, near.lead, correction)
    return geometry.wall + correction * geometry.scale


def _imposed(near: ContactsInStep, geometry: Geometry, shape: tuple[int, int], apart: Mask) -> Array | None:
    """The imposed velocities w: those of walls, plus a term of the law.

    Where bodies touch, restitution times the velocity before; where they are apart, the velocity at which
    the gap closes in one step.
    """
    are_apart, d = bool(apart.any()), near.model.d
    if geometry.wall is None and geometry.before is None and not are_apart:
        return None
    w = np.zeros(shape) if geometry.wall is None else geometry.wall.copy()
    if geometry.before is not None:
        laws, touch = near.model.laws, ~apart
        w[:, 0] += touch * near.law(laws.restitution) * geometry.before[:, 0]
        tangential = (touch * near.law(laws.tangential_restitution))[:, None]
        w[:, 1:d] += tangential * geometry.before[:, 1:d]
    if are_apart:
        close_gaps(near.contacts.gap, apart, near.dt, w)
    return w


@kernel
def close_gaps(gap: Array, apart: Mask, dt: float, w: Array) -> None:
    """Add the velocity at which gaps close in one step, where bodies are apart."""
    for i in range(len(gap)):
        if apart[i]:
            w[i, 0] += gap[i] / dt


def sections(near: ContactsInStep, n_links: int = 0) -> Polygons | Thresholds | None:
    """Friction sections of contacts, then of links, which are round; None if all sections are discs."""
    laws = near.model.laws
    if laws.has_thresholds:
        return _thresholds(near, n_links)
    if not laws.has_sections:
        return None
    corners = laws.section[near.materials]
    corners = np.concatenate((corners, np.zeros((n_links, *corners.shape[1:]))))
    is_round: Mask = np.asarray(~corners.any(axis=(1, 2)))
    return None if is_round.all() else Polygons(corners, is_round)


def _thresholds(near: ContactsInStep, n_links: int) -> Thresholds:
    """Friction independent of the normal force, over a step: s = threshold dt, κ = 1/(viscosity dt)."""
    laws, pair = near.model.laws, near.materials
    limit, viscosity = laws.threshold[pair] * near.dt, laws.viscosity[pair] * near.dt
    is_round = (limit == 0.0) & (viscosity == 0.0)
    softness = np.divide(1.0, viscosity, out=np.zeros_like(viscosity), where=viscosity > 0.0)
    limit = np.where(viscosity > 0.0, np.inf, limit)
    more, none = np.ones(n_links, dtype=bool), np.zeros(n_links)
    return Thresholds(np.append(limit, none), np.append(softness, none), np.append(is_round, more))


def is_rounding(problem: ContactProblem, largest_term: float, wall: Array | None) -> bool:
    """Whether bodies that touch move together: their free velocities at the contacts are rounding.

    Then all impulses are zero, and the residual has no scale.
    """
    largest = largest_term + (0.0 if wall is None else float(np.max(np.abs(wall), initial=0.0)))
    return problem.free_speeds[1] <= 16.0 * ROUNDING * largest
