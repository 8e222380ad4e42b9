"""The contact problem of rigid bodies, joints and bodies of other kinds together, as sparse matrices.

The velocities of other kinds follow those of the rigid bodies,

    M = diag(M_rigid, M̃_1, M̃_2, …, I),    H = [H_rigid  H_1  H_2  …  0],

where H_k maps the velocities of kind k to those of material points at the contacts, along the contact frames.
A soft row of joints, J v + b + E λ = 0, is written with one more velocity, of unit mass, and coefficient √E.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from clapas.bodies.kind import Bodies, Part, Touches
from clapas.bodies.links import Links
from clapas.bodies.touched import BendingBodies
from clapas.dynamics.assembly import (
    IDLE,
    ContactsInStep,
    Geometry,
    contact_geometry,
    is_rounding,
    sections,
    under_laws,
)
from clapas.dynamics.crushing import HELD_BY_JOINTS
from clapas.dynamics.joints.instep import JointsInStep
from clapas.dynamics.links import LinkRows, side_by_side
from clapas.dynamics.model import Model
from clapas.dynamics.step_problem import StepProblem
from clapas.dynamics.systems import SystemsInStep
from clapas.geometry.colliders import Contacts
from clapas.geometry.rotations import rotate
from clapas.linalg.factored_mass import Inverse
from clapas.problems.contact import ContactProblem
from clapas.problems.rolling import RollingProblem
from clapas.typing import Array, Indices, Mask


def mixed_problem(
    near: ContactsInStep,
    systems: SystemsInStep,
    free: Array,
    joints: JointsInStep | None = None,
    linked: bool = True,
) -> StepProblem:
    """State the problem of a step in which carriers touch something, bodies are joined, or there are links.

    ``free`` (N, size) are the velocities of rigid bodies without joints and contacts; ``linked`` says whether
    limits, friction and motors of joints act.
    """
    model, contacts = near.model, near.contacts
    without, others = free, systems.free
    if joints is not None:
        free, others = free + joints.push, joints.free_others or others
    geometry = contact_geometry(near, free)
    assert geometry.own_frame is not None
    width, rigid = geometry.scale.shape[1], geometry.blocks
    along = geometry.own_frame * geometry.scale[:, : model.d, None]
    own = [_jacobian(model, k, systems, contacts, along, width) for k in range(len(systems.systems))]
    n_soft = 0 if joints is None else len(joints.motion.soft)
    M = sparse.csr_array(
        sparse.block_diag([rigid.mass(), *systems.matrices, sparse.eye_array(n_soft)], format="csr")
    )
    H = sparse.csr_array(sparse.hstack([rigid.jacobian(), *own], format="csr"))
    H.resize(H.shape[0], M.shape[0])
    v_free = np.concatenate(
        [rigid.bodies_velocity(np.zeros((len(contacts), width))), *others, np.zeros(n_soft)]
    )
    geometry = _with_systems(near, systems, geometry, own, along)
    response, parting = _parting(H, width, M, joints)
    # A contact that joints keep from parting and that rubs stays: compliance keeps its normal row open.
    open_row = np.where(parting, 0.0, response)
    if not parting.all():
        assert geometry.wall is not None
        v = v_free if joints is None else _held(joints, without, n_soft)
        u = H[::width] @ v + geometry.wall[:, 0]
        near = near.watching(~parting, u, without)
        if not (stays := parting | (near.rub & (response > 0.0))).all():
            return mixed_problem(near.where(stays), systems, without, joints)
    acting = None if joints is None or not linked else _acting(joints, without)
    sizes = rigid.n_bodies * rigid.size, *map(len, others), n_soft
    links = side_by_side((acting, *systems.links), sizes)
    bilateral = _bilateral(systems, joints, rigid.n_bodies * rigid.size, n_soft, M.shape[0])
    inverses = systems.inverses(rigid.n_bodies * rigid.size)
    build = _Statement(near, width, M, H, v_free, open_row, links, *bilateral, inverses)
    problem = under_laws(near, geometry, build)
    problem = replace(problem, links=links)
    largest = float(np.max(abs(problem.problem.H) @ np.abs(v_free), initial=0.0))
    if problem.problem.n_contacts and is_rounding(problem.problem, largest, problem.wall):
        unlinked = replace(systems, links=(None,) * len(systems.links))
        return mixed_problem(near.none(), unlinked, without, joints, linked=False)
    return problem


def _acting(joints: JointsInStep, free: Array) -> Links | None:
    """Limits, friction and motors of joints, from the velocities (N, size) without joints."""
    return joints.links(joints.velocity(free), joints.others(free))


def _held(joints: JointsInStep, free: Array, n_soft: int) -> Array:
    """Velocities (m,) without contact, which the joints have changed, from those (N, size) without joints."""
    moving = joints.velocity(free)[joints.model.moving]
    return np.concatenate([moving.ravel(), *joints.others(free), np.zeros(n_soft)])


@dataclass(frozen=True, eq=False)
class _Statement:
    """Builds the problem from the data of the laws: see :data:`clapas.dynamics.assembly.ProblemFactory`."""

    near: ContactsInStep
    width: int
    M: sparse.csr_array
    H: sparse.csr_array
    v_free: Array
    open_row: Array
    links: LinkRows | None
    J: sparse.csr_array | None
    b: Array | None
    inverses: dict[int, Inverse]

    def __call__(self, w: Array | None, mu: Array | float, pull: Array | None) -> ContactProblem:
        n, f, rows, C = len(self.near.contacts), -(self.M @ self.v_free), self.H, None
        if pull is not None:
            f = f - self.H.T @ pull.ravel()
        if self.open_row.any():
            C = np.zeros((n, self.width))
            C[:, 0] = self.open_row
        n_links = 0
        if self.links is not None:
            links, n_links, d, width = self.links.links, len(self.links), self.near.model.d, self.width
            rows = sparse.csr_array(sparse.vstack((self.H, _widened(links.H, d, width)), format="csr"))
            spare = ((0, 0), (0, width - d))  # links have no couples
            w = np.concatenate((np.zeros((n, width)) if w is None else w, np.pad(links.w, spare)))
            C = np.concatenate((np.zeros((n, width)) if C is None else C, np.pad(links.compliance, spare)))
            mu = np.append(np.full(n, mu), links.mu)
        kind = RollingProblem if self.near.model.laws.has_couples else ContactProblem
        return kind(
            M=self.M,
            H=rows,
            f=f,
            w=w,
            mu=mu,
            J=self.J,
            b=self.b,
            compliance=C,
            section=sections(self.near, n_links),
            d=self.width,
            inverses=self.inverses,
        )


def _bilateral(
    systems: SystemsInStep, joints: JointsInStep | None, before: int, after: int, size: int
) -> tuple[sparse.csr_array | None, Array | None]:
    """The rows J and b of joints and of constraints of systems; None without any.

    ``before`` and ``after`` are the numbers of velocities before and after those of the systems, ``size``
    that of all.
    """
    constraints = []
    if joints is not None:
        constraints.append((joints.rows_with_soft(size), joints.b))
    if (of_systems := systems.rows(before, after)) is not None:
        constraints.append(of_systems)
    if not constraints:
        return None, None
    rows = [J for J, _ in constraints]
    J = rows[0] if len(rows) == 1 else sparse.vstack(rows, format="csr")
    return sparse.csr_array(J), np.concatenate([b for _, b in constraints])


def _widened(H: sparse.csr_array, d: int, width: int) -> sparse.csr_array:
    """Rows of links, d each, padded with empty rows to ``width`` each."""
    if width == d:
        return H
    n = H.shape[0] // d
    place = (width * np.arange(n)[:, None] + np.arange(d)).ravel()
    spread = sparse.csr_array((np.ones(n * d), (place, np.arange(n * d))), shape=(n * width, n * d))
    return sparse.csr_array(spread @ H)


def _with_systems(
    near: ContactsInStep,
    systems: SystemsInStep,
    geometry: Geometry,
    own: list[sparse.csr_array],
    along: Array,
) -> Geometry:
    """The geometry with wall velocities and velocities before corrected for carriers that move and bend."""
    assert geometry.wall is not None
    wall, before, d = geometry.wall.copy(), geometry.before, near.model.d
    for k, system in enumerate(systems.systems):
        if system.bending is not None:
            bent = np.zeros_like(wall)
            bent[:, :d] = _bending(near, k, system.bending, systems.parts[k], along)
            wall, before = wall + bent, None if before is None else before + bent
    # The velocities of carriers are unknowns: remove them from the velocities of walls.
    for matrix, part in zip(own, systems.parts, strict=True):
        wall -= np.asarray(matrix @ part.v).reshape(wall.shape)
    return geometry._replace(wall=wall, before=before)


def _jacobian(
    model: Model, k: int, systems: SystemsInStep, contacts: Contacts, along: Array, width: int
) -> sparse.csr_array:
    """H_k (width·n × m_k): from the velocities of system k to those along the frames of the contacts.

    Rows of couples, if any, are empty: no couple acts on a system.
    """
    bodies: Bodies = systems.systems[k].bodies
    n, d = contacts.normal.shape
    H = sparse.csr_array((n * width, bodies.n_dof))
    for body, sign, shift in ((contacts.a, -1.0, 0.0), (contacts.b, 1.0, 1.0)):
        at: Indices = np.flatnonzero(model.system_of[body] == k)
        if not at.size:
            continue
        point = contacts.point[at] - shift * contacts.shift[at]
        P = bodies.jacobian(systems.parts[k], Touches(model.carrier_of[body[at]], point))
        blocks = np.zeros((len(at), width, d))
        blocks[:, :d] = sign * along[at]
        own_rows = sparse.bsr_array(
            (blocks, np.arange(len(at)), np.searchsorted(at, np.arange(n + 1))),
            shape=(n * width, len(at) * d),
        )
        H = H + sparse.csr_array(own_rows @ P)
    return sparse.csr_array(H)


def _bending(near: ContactsInStep, k: int, bodies: BendingBodies, part: Part, along: Array) -> Array:
    """Velocities at contacts minus those of rigid carriers, (n, d)."""
    model, middle, contacts = near.model, near.middle, near.contacts
    difference = np.zeros_like(contacts.normal)
    for body, sign, shift in ((contacts.a, -1.0, 0.0), (contacts.b, 1.0, 1.0)):
        at: Indices = np.flatnonzero(model.system_of[body] == k)
        if not at.size:
            continue
        carriers, point = body[at], contacts.point[at] - shift * contacts.shift[at]
        twist, arm = middle.velocity[carriers], point - middle.position[carriers]
        if model.d == 2:
            rigid = twist[:, :2] + twist[:, 2:] * np.column_stack((-arm[:, 1], arm[:, 0]))
        else:
            rigid = twist[:, :3] + np.cross(rotate(middle.orientation[carriers], twist[:, 3:]), arm)
        true = bodies.velocities(part, Touches(model.carrier_of[carriers], point))
        difference[at] += sign * np.einsum("nij,nj->ni", along[at], true - rigid)
    return difference


def _parting(
    H: sparse.csr_array, width: int, M: sparse.csr_array, joints: JointsInStep | None = None
) -> tuple[Array, Mask]:
    """Normal responses (n,) without joints, and which contacts can part, joints considered.

    Responses that are rounding are zero.
    """
    normal = H[::width]
    response = np.asarray(normal.multiply(normal) @ (1.0 / M.diagonal())).ravel()
    parting = np.asarray(response > IDLE * float(response.max(initial=0.0)))
    response = np.where(parting, response, 0.0)
    if joints is None or not len(response):
        return response, parting
    rigid = sparse.csr_array(normal[:, : joints.motion.rigid_J.shape[1]])
    lost = joints.motion.response_lost(rigid)
    return response, np.asarray(parting & (response - lost > HELD_BY_JOINTS * response))
