"""From contacts and velocities to the contact problem of a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.bodies.rigid.jacobian import fill_blocks_2d, fill_blocks_3d, frames
from clapas.compiled import kernel
from clapas.dynamics.model import Impulses, Model, State
from clapas.geometry.colliders import Contacts
from clapas.problems.blocks import BodyBlocks, contact_velocities
from clapas.problems.contact import ContactProblem
from clapas.typing import Array, Indices, Mask


@dataclass(frozen=True)
class StepProblem:
    """The contact problem of one step and what is needed to read its answer.

    Parameters
    ----------
    problem : ContactProblem
        Its unknown is the impulse plus the cohesion.
    contacts : Contacts
        The active contacts.
    frame : array (n, d, d)
        Their frames: normal, tangents.
    before : array (n, d)
        Velocities at the contacts at the start of the step (m/s).
    wall : array (n, d)
        The part of them due to bodies with imposed motion (m/s).
    cohesion : array (n,)
        Traction each contact resists during the step (N·s).
    """

    problem: ContactProblem
    contacts: Contacts
    frame: Array
    before: Array
    wall: Array
    cohesion: Array

    def guess(self, impulses: Impulses) -> Array:
        """Unknowns (n, d) of the contacts that were there at the last step, zero for new ones."""
        old, new = impulses, self.contacts
        world, found = np.zeros_like(new.point), np.zeros(len(new), dtype=np.bool_)
        _match(old.a, old.b, old.feature, old.impulse, new.a, new.b, new.feature, world, found)
        r = np.einsum("nij,nj->ni", self.frame, world)
        r[found, 0] += self.cohesion[found]
        return np.asarray(r)

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
        """Impulses on the bodies b in world coordinates, from the unknowns r."""
        own = r.copy()
        own[:, 0] -= self.cohesion
        world = np.einsum("nij,ni->nj", self.frame, own)
        return Impulses(self.contacts.a, self.contacts.b, self.contacts.feature, world)


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
    frame = frames(contacts.normal)
    G, w = _blocks(model, middle, contacts, frame)
    bodies = np.column_stack((contacts.a, contacts.b))
    root = np.where(model.movable[:, None], np.sqrt(model.masses), 0.0)
    before = np.asarray(contact_velocities(G, bodies, middle.velocity * root, w))
    pair = model.colliders.material[contacts.collider_a], model.colliders.material[contacts.collider_b]
    laws = model.laws
    weight = np.repeat(laws.tangential_restitution[pair][:, None], model.d, axis=1)
    weight[:, 0] = laws.restitution[pair]
    cohesion = laws.cohesion[pair] * dt
    blocks = BodyBlocks(G, model.number[bodies], _free(model, free * root), model.roots)
    if cohesion.any():
        pull = np.zeros_like(w)
        pull[:, 0] = -cohesion
        blocks = BodyBlocks(G, blocks.bodies, blocks.motion(pull), model.roots)
    problem = ContactProblem.from_blocks(blocks, mu=laws.mu[pair], w=w + weight * before)
    return StepProblem(problem, contacts, frame, before, w, cohesion)


def _free(model: Model, y: Array) -> Array:
    """Free velocities of the movable bodies in units of unit mass, then the ground's zero."""
    return np.concatenate((y[model.movable], np.zeros((1, y.shape[1]))))


def _blocks(model: Model, middle: State, contacts: Contacts, frame: Array) -> tuple[Array, Array]:
    n, d = len(contacts), model.d
    G, w = np.zeros((n, 2, d, model.masses.shape[1])), np.zeros((n, d))
    fill = fill_blocks_3d if d == 3 else fill_blocks_2d
    fill(
        np.column_stack((contacts.a, contacts.b)),
        contacts.point,
        contacts.shift,
        frame,
        middle.position,
        middle.orientation,
        middle.velocity,
        model.inverse_root,
        model.movable,
        G,
        w,
    )
    return G, w


@kernel
def _match(
    a: Indices,
    b: Indices,
    feature: Indices,
    impulse: Array,
    new_a: Indices,
    new_b: Indices,
    new_feature: Indices,
    world: Array,
    found: Mask,
) -> None:
    """Merge two lists sorted by (a, b, feature): copy the impulses of contacts that persist."""
    old, n_old, d = 0, len(a), world.shape[1]
    for i in range(len(new_a)):
        while old < n_old and (
            a[old] < new_a[i]
            or (a[old] == new_a[i] and b[old] < new_b[i])
            or (a[old] == new_a[i] and b[old] == new_b[i] and feature[old] < new_feature[i])
        ):
            old += 1
        if old < n_old and a[old] == new_a[i] and b[old] == new_b[i] and feature[old] == new_feature[i]:
            found[i] = True
            for k in range(d):
                world[i, k] = impulse[old, k]
