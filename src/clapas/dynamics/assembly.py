"""From contacts and velocities to the contact problem of a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.bodies.rigid.jacobian import (
    fill_blocks_2d,
    fill_blocks_3d,
    fill_couples_2d,
    fill_couples_3d,
    frames,
)
from clapas.compiled import kernel
from clapas.dynamics.model import Impulses, Model, State
from clapas.geometry import rotations
from clapas.geometry.colliders import Contacts
from clapas.problems.blocks import BodyBlocks, contact_velocities
from clapas.problems.contact import ROUNDING, ContactProblem
from clapas.problems.rolling import RollingProblem
from clapas.typing import Array, Indices

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
    frame : array (n, d, d)
        Their frames: normal, tangents.
    before : array (n, k)
        Velocities at the contacts at the start of the step (m/s).
    wall : array (n, k)
        The part of them due to bodies with imposed motion (m/s).
    cohesion : array (n,)
        Traction each contact resists during the step (N·s).
    scale : array (n, k)
        Impulses and couples per unit of the unknown: less than one along the short axis of elliptic
        friction, lengths (m) for couples.
    """

    problem: ContactProblem
    contacts: Contacts
    frame: Array
    before: Array
    wall: Array
    cohesion: Array
    scale: Array

    def guess(self, impulses: Impulses, ratio: float = 1.0) -> Array:
        """Unknowns (n, k) of the contacts that were there at the last step, zero for new ones.

        ``ratio`` is how much longer this step is than the last: forces persist, not impulses.
        """
        old, new = impulses, self.contacts
        place = np.full(len(new), -1, dtype=np.int64)
        _match(old.a, old.b, old.feature, new.a, new.b, new.feature, place)
        r = np.zeros_like(self.scale)
        _carry(place, old.impulse, old.couple, self.frame, self.cohesion, self.scale, r)
        return r

    def work(self, r: Array) -> float:
        """Work of the contacts on the bodies during the step (J): negative when energy is lost.

        The kinetic energy changes by exactly r·(u⁻ + u⁺)/2 under the impulses r.
        """
        blocks = self.problem.blocks
        assert blocks is not None
        after = blocks.velocity(r, self.wall)
        own = r.copy()
        own[:, 0] -= self.cohesion
        return float(np.sum(own * (self.before + after))) / 2.0

    def impulses(self, r: Array) -> Impulses:
        """Impulses and couples on the bodies b in world coordinates, from the unknowns r."""
        own = r * self.scale
        own[:, 0] -= self.cohesion
        d = self.frame.shape[1]
        world = np.einsum("nij,ni->nj", self.frame, own[:, :d])
        couple = own[:, d:]
        if couple.shape[1] == 3:
            couple = np.einsum("nij,ni->nj", self.frame, couple)
        return Impulses(self.contacts.a, self.contacts.b, self.contacts.feature, world, couple)

    def sliding_part(self, r: Array) -> tuple[ContactProblem, Array]:
        """The problem and the unknown of the impulses alone; couples, if any, are held as loads."""
        if isinstance(self.problem, RollingProblem):
            return self.problem.sliding_part(r)
        return self.problem, r


def step_problem(model: Model, middle: State, contacts: Contacts, free: Array, dt: float) -> StepProblem:
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
    """
    laws = model.laws
    pair = model.colliders.material[contacts.collider_a], model.colliders.material[contacts.collider_b]
    frame = _along_grain(model, middle, contacts, pair) if laws.is_elliptic else frames(contacts.normal)
    G, w = _blocks(model, middle, contacts, frame)
    scale = _scale(model, pair, w.shape)
    if laws.is_elliptic or laws.has_couples:
        G *= scale[:, None, :, None]
        w *= scale
    bodies = np.column_stack((contacts.a, contacts.b))
    root = np.where(model.movable[:, None], np.sqrt(model.masses), 0.0)
    before = np.asarray(contact_velocities(G, bodies, middle.velocity * root, w))
    weight = np.zeros_like(w)
    weight[:, 1 : model.d] = laws.tangential_restitution[pair][:, None]
    weight[:, 0] = laws.restitution[pair]
    cohesion = laws.cohesion[pair] * dt
    blocks = BodyBlocks(G, model.number[bodies], _free(model, free * root), model.roots)
    if cohesion.any():
        pull = np.zeros_like(w)
        pull[:, 0] = -cohesion
        blocks = BodyBlocks(G, blocks.bodies, blocks.motion(pull), model.roots)
    kind = RollingProblem if laws.has_couples else ContactProblem
    mu = np.maximum(laws.mu, laws.mu_across)[pair]
    problem = kind.from_blocks(blocks, mu=mu, w=w + weight * before)
    if len(contacts) and _is_rounding(problem, w):
        return step_problem(model, middle, contacts.take(np.empty(0, dtype=np.int64)), free, dt)
    return StepProblem(problem, contacts, frame, before, w, cohesion, scale)


def _is_rounding(problem: ContactProblem, wall: Array) -> bool:
    """Whether bodies that touch move together: their free velocities at the contacts are rounding.

    Then nothing happens at the contacts, and there is nothing to measure an answer against.
    """
    blocks = problem.blocks
    assert blocks is not None
    longest_row = np.sqrt(problem.d * np.max(problem.response, initial=0.0))
    fastest = np.sqrt(np.max(np.sum(blocks.y_free**2, axis=1), initial=0.0))
    most = longest_row * fastest + np.max(np.abs(wall), initial=0.0)
    return bool(np.max(np.abs(problem.q), initial=0.0) <= 16.0 * ROUNDING * most)


def _free(model: Model, y: Array) -> Array:
    """Free velocities of the movable bodies in units of unit mass, then the ground's zero."""
    return np.concatenate((y[model.movable], np.zeros((1, y.shape[1]))))


def _blocks(model: Model, middle: State, contacts: Contacts, frame: Array) -> tuple[Array, Array]:
    n, d = len(contacts), model.d
    rows = d + (COUPLES[d] if model.laws.has_couples else 0)
    G, w = np.zeros((n, 2, rows, model.masses.shape[1])), np.zeros((n, rows))
    bodies = np.column_stack((contacts.a, contacts.b))
    turn, velocity, inverse, movable = middle.orientation, middle.velocity, model.inverse_root, model.movable
    fill = fill_blocks_3d if d == 3 else fill_blocks_2d
    place = contacts.point, contacts.shift, frame, middle.position
    fill(bodies, *place, turn, velocity, inverse, movable, G, w)
    if rows > d:
        if d == 3:
            fill_couples_3d(bodies, frame, turn, velocity, inverse, movable, G, w)
        else:
            fill_couples_2d(bodies, velocity, inverse, movable, G, w)
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


@kernel
def _match(
    a: Indices,
    b: Indices,
    feature: Indices,
    new_a: Indices,
    new_b: Indices,
    new_feature: Indices,
    place: Indices,
) -> None:
    """Merge two lists sorted by (a, b, feature): where the contacts that persist are in the old list."""
    old, n_old = 0, len(a)
    for i in range(len(new_a)):
        while old < n_old and (
            a[old] < new_a[i]
            or (a[old] == new_a[i] and b[old] < new_b[i])
            or (a[old] == new_a[i] and b[old] == new_b[i] and feature[old] < new_feature[i])
        ):
            old += 1
        if old < n_old and a[old] == new_a[i] and b[old] == new_b[i] and feature[old] == new_feature[i]:
            place[i] = old


@kernel
def _carry(
    place: Indices, impulse: Array, couple: Array, frame: Array, cohesion: Array, scale: Array, r: Array
) -> None:
    """Write the impulses and couples of old contacts, at ``place``, as unknowns of the new ones."""
    d, size = frame.shape[1], scale.shape[1]
    for i in range(len(place)):
        old = place[i]
        if old < 0:
            continue
        for k in range(d):
            for l in range(d):
                r[i, k] += frame[i, k, l] * impulse[old, l]
        for k in range(d, size):
            if d == 2:  # about the axis out of the plane
                r[i, k] = couple[old, 0]
            else:
                for l in range(3):
                    r[i, k] += frame[i, k - d, l] * couple[old, l]
        r[i, 0] += cohesion[i]
        for k in range(size):
            r[i, k] = r[i, k] / scale[i, k] if scale[i, k] > 0.0 else 0.0
