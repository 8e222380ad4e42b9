"""The contact problem of rigid bodies without joints: by blocks of bodies, or by the geometry of spheres."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clapas.bodies.rigid.spheres import free_rows, sphere_blocks, velocities_at, world_rows
from clapas.dynamics.assembly import (
    ContactsInStep,
    Geometry,
    contact_geometry,
    image_shifts,
    is_rounding,
    sections,
    under_laws,
)
from clapas.dynamics.guides import can_part
from clapas.dynamics.step_problem import StepProblem
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import MANY, ContactProblem
from clapas.problems.rolling import RollingProblem
from clapas.typing import Array


def rigid_problem(
    near: ContactsInStep,
    free: Array,
    *,
    part_of: int | None = None,
    pushed: Callable[[BodyBlocks, Array], BodyBlocks] = lambda blocks, r: blocks.pushed(r),
) -> StepProblem:
    """State the problem of a step of rigid bodies.

    Parameters
    ----------
    near : ContactsInStep
        The active contacts.
    free : array (N, size)
        Velocities at the end of the step without contact.
    part_of : int, optional
        Where these are some of the contacts of a larger problem: their number there. The form is then that
        of the whole, and contacts whose free velocities are rounding stay, since others may move them.
    pushed : callable, optional
        Adds the effect of impulses at these contacts, and at those of the other parts, to the free motion.
    """
    model = near.model
    whole = len(near.contacts) if part_of is None else part_of
    if model.has_spheres and whole >= MANY:
        geometry = _geometry_of_spheres(near, free)
    else:
        geometry = contact_geometry(near, free)
        if not model.motions:
            geometry = geometry._replace(wall=None)
    blocks = geometry.blocks
    if model.blocked is not None and not (parting := can_part(blocks.G)).all():
        u = np.zeros(len(near.contacts)) if geometry.wall is None else geometry.wall[:, 0]
        near = near.watching(~parting, u, free).where(parting)
        return rigid_problem(near, free, part_of=part_of, pushed=pushed)
    kind = RollingProblem if model.laws.has_couples else ContactProblem

    def build(w: Array | None, mu: Array | float, pull: Array | None) -> ContactProblem:
        moved = blocks if pull is None else pushed(blocks, pull)
        return kind.from_blocks(moved, mu=mu, w=w, section=sections(near))

    problem = under_laws(near, geometry, build)
    is_whole = part_of is None and len(near.contacts) > 0
    if is_whole and is_rounding(problem.problem, blocks.largest_term(), problem.wall):
        return rigid_problem(near.none(), free)
    return problem


def _geometry_of_spheres(near: ContactsInStep, free: Array) -> Geometry:
    """Many contacts between spheres: normals and points are enough, without blocks of H."""
    model, middle, contacts = near.model, near.middle, near.contacts
    place = contacts.normal, contacts.point, image_shifts(model, contacts)
    turn, response, number = middle.orientation, model.sphere_response, model.number
    turned = np.ascontiguousarray(turn[model.moving])
    rows = free_rows(turn, free, response, number, len(turned))
    blocks = sphere_blocks(*place, contacts.a, contacts.b, middle.position, number, rows, turned)
    wall = before = None
    if model.motions:
        driven = np.where(model.movable[:, None], 0.0, middle.velocity)
        wall = velocities_at(*place, contacts.bodies, middle.position, world_rows(turn, driven, response))
    if model.laws.has_restitution:
        initial = world_rows(turn, middle.velocity, response)
        before = velocities_at(*place, contacts.bodies, middle.position, initial)
    return Geometry(blocks, None, np.ones((1, 3)), wall, before)
