"""The contact problem of rigid bodies and of bodies of a few velocities each, without sparse matrices.

Rods, for instance, have full mass matrices M = L Lᵀ of some ten or twenty velocities. Their rows H of the
contacts are scaled to unit mass, G = H L⁻ᵀ, contact by contact, and packed beside those of rigid bodies
(:class:`clapas.problems.packed_bodies.PackedBodies`). Joints, links and systems of other kinds need
:func:`clapas.dynamics.mixed.mixed_problem`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clapas.bodies.kind import Touches
from clapas.compiled import kernel
from clapas.dynamics.assembly import (
    IDLE,
    ContactsInStep,
    Geometry,
    contact_geometry,
    is_rounding,
    sections,
    under_laws,
)
from clapas.dynamics.model import Model
from clapas.dynamics.step_problem import StepProblem
from clapas.dynamics.systems import SystemsInStep
from clapas.linalg.body_masses import BodyMasses
from clapas.problems.contact import ContactProblem
from clapas.problems.packed_bodies import PackedBodies, pack_pairs
from clapas.problems.ragged_bodies import Packed
from clapas.typing import Array, Indices


def are_small(model: Model, systems: SystemsInStep) -> bool:
    """Whether all systems are made of small bodies, and nothing else is in the problem."""
    if systems.are_linked or model.laws.has_couples or model.blocked is not None:
        return False
    return all(
        isinstance(mass, BodyMasses) and system.small is not None
        for mass, system in zip(systems.mass, systems.systems, strict=True)
    )


def small_bodies_problem(near: ContactsInStep, systems: SystemsInStep, free: Array) -> StepProblem:
    """State the problem of a step; ``free`` (N, size) are the velocities of rigid bodies without contact."""
    model, middle = near.model, near.middle
    # Velocities of carriers are unknowns, not those of walls.
    velocity = np.where(model.system_of[:, None] >= 0, 0.0, middle.velocity)
    geometry = contact_geometry(replace(near, middle=replace(middle, velocity=velocity)), free)
    n, d, rigid = len(near.contacts), model.d, geometry.blocks
    masses = [mass for mass in systems.mass if isinstance(mass, BodyMasses)]
    sizes = [np.full(rigid.n_bodies, rigid.size), *(np.diff(mass.start) for mass in masses)]
    start = np.concatenate(([0], np.cumsum(np.concatenate(sizes))))
    raw = np.zeros((n, 2, d, int(max(size.max(initial=0) for size in sizes))))
    raw[:, :, :, : rigid.size] = rigid.G
    bodies = np.where(rigid.bodies < rigid.n_bodies, rigid.bodies, -1)
    geometry = _fill(near, systems, masses, geometry, raw, bodies)
    responds = np.einsum("nsj,nsj->n", raw[:, :, 0], raw[:, :, 0])
    parting = responds > IDLE * responds.max(initial=0.0)
    if not parting.all():
        assert geometry.wall is not None
        near = near.watching(~parting, geometry.wall[:, 0], free).where(parting)
        return small_bodies_problem(near, systems, free)
    unit = [mass.roots for mass in masses]
    rigid_root = np.linalg.inv(rigid.root).transpose(0, 2, 1) if rigid.n_bodies else rigid.root
    packed = PackedBodies(
        Packed(*pack_pairs(raw, bodies, start)),
        start,
        np.concatenate((rigid.y_free[:-1].ravel(), *map(_in_unit_mass, masses, systems.free))),
        np.concatenate((rigid_root.ravel(), *(lower for lower, _ in unit))),
        np.concatenate((rigid.root.ravel(), *(inverse for _, inverse in unit))),
        d,
    )

    def build(w: Array | None, mu: Array | float, pull: Array | None) -> ContactProblem:
        moved = packed if pull is None else packed.pushed(pull)
        return ContactProblem.from_packed(moved, mu=mu, w=w, section=sections(near))

    problem = under_laws(near, geometry, build)
    if n and is_rounding(problem.problem, packed.largest_term(), problem.wall):
        return small_bodies_problem(near.none(), systems, free)
    return problem


def _fill(
    near: ContactsInStep,
    systems: SystemsInStep,
    masses: list[BodyMasses],
    geometry: Geometry,
    raw: Array,
    bodies: Indices,
) -> Geometry:
    """Write the blocks (n, 2, d, most) of the systems and their bodies (n, 2) beside those of rigid bodies.

    Returns the geometry with the contributions of systems to the wall velocities and the velocities before.
    """
    assert geometry.wall is not None
    assert geometry.own_frame is not None
    model, contacts = near.model, near.contacts
    n, d = contacts.normal.shape
    along = geometry.own_frame * geometry.scale[:, :d, None]
    wall, before, offset = geometry.wall.copy(), geometry.before, geometry.blocks.n_bodies
    for k, mass in enumerate(masses):
        kind, part = systems.systems[k].small, systems.parts[k]
        assert kind is not None
        for side, body, sign in ((0, contacts.a, -1.0), (1, contacts.b, 1.0)):
            at: Indices = np.flatnonzero(model.system_of[body] == k)
            if not at.size:
                continue
            point = contacts.point[at] - side * contacts.shift[at]
            rows = kind.rows(part, Touches(model.carrier_of[body[at]], point))
            bodies[at, side] = offset + rows.body
            imposed, moved = np.zeros((n, d)), np.zeros((n, d))
            velocities = mass.start, mass.roots[1], part.v
            fill_side(at, side, sign, along, *rows, *velocities, raw, imposed, moved)
            wall += imposed
            before = None if before is None else before + imposed + moved
        offset += len(mass.start) - 1
    return geometry._replace(wall=wall, before=before)


def _in_unit_mass(mass: BodyMasses, v: Array) -> Array:
    """Lᵀ v."""
    y = np.empty(len(v))
    times_lower(mass.roots[0], mass.start, v, y)
    return y


@kernel
def times_lower(lower: Array, start: Indices, v: Array, y: Array) -> None:
    """Write y = Lᵀ v, body by body."""
    at = 0
    for body in range(len(start) - 1):
        o, m = start[body], start[body + 1] - start[body]
        for j in range(m):
            total = 0.0
            for i in range(j, m):
                total += lower[at + i * m + j] * v[o + i]
            y[o + j] = total
        at += m * m


@kernel
def fill_side(
    at: Indices,
    side: int,
    sign: float,
    along: Array,
    body: Indices,
    entries: Array,
    imposed: Array,
    start: Indices,
    root: Array,
    v: Array,
    raw: Array,
    wall: Array,
    moved: Array,
) -> None:
    """Write the blocks G of one side of contacts, and the imposed and current velocities there.

    Parameters
    ----------
    at : array (k,)
        The contacts.
    side, sign : int and float
        0 and −1 for bodies a, 1 and 1 for bodies b.
    along : array (n, d, d)
        Frames of all contacts.
    body, entries, imposed
        See :class:`clapas.bodies.touched.Rows`.
    start, root, v : arrays
        First velocity of each body, inverse roots of the masses, velocities.
    raw, wall, moved : arrays (n, 2, d, most), (n, d) and (n, d)
        Output.
    """
    d = along.shape[1]
    place = np.zeros(len(start), dtype=np.int64)  # of the matrix of a body
    for b in range(len(start) - 1):
        place[b + 1] = place[b] + (start[b + 1] - start[b]) ** 2
    row = np.empty(raw.shape[3])
    for k in range(len(at)):
        i, b = at[k], body[k]
        o, m, R = start[b], start[b + 1] - start[b], place[b]
        for c in range(d):
            imposed_speed, speed = 0.0, 0.0
            row[:m] = 0.0
            for l in range(d):
                share = sign * along[i, c, l]
                imposed_speed += share * imposed[k, l]
                for j in range(m):
                    row[j] += share * entries[k, l, j]
            for j in range(m):
                speed += row[j] * v[o + j]
                for l in range(j, m):  # R is upper triangular
                    raw[i, side, c, l] += row[j] * root[R + j * m + l]
            wall[i, c], moved[i, c] = imposed_speed, speed
