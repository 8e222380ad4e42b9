"""The contact problem of a step, and the conversion between its unknowns and impulses on bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clapas.bodies.rigid.spheres import impulses_in_world
from clapas.compiled import inlined, kernel
from clapas.compiled.sharing import launch
from clapas.compiled.threads import Worker, chunk, thread_count, wait
from clapas.dynamics.crushing import Crushed
from clapas.dynamics.links import LinkRows
from clapas.dynamics.state import Impulses, LinkImpulses
from clapas.dynamics.warm_start import carried_to_spheres, carry, places, product, to_world
from clapas.geometry.colliders import Contacts
from clapas.problems.blocks import frames
from clapas.problems.contact import ContactProblem
from clapas.problems.rolling import RollingProblem
from clapas.problems.sphere_blocks import SphereBlocks
from clapas.typing import Array, Indices, Mask

if TYPE_CHECKING:
    from clapas.dynamics.condensed import Condensed


@dataclass(frozen=True)
class StepProblem:
    """The contact problem of one step, and the data needed to read its solution.

    Parameters
    ----------
    problem : ContactProblem
        Its unknown is the impulse plus the cohesion; a :class:`RollingProblem` where laws ask for couples.
    contacts : Contacts
        The active contacts.
    apart : array (n,) of bool
        Those that do not touch but are within reach.
    own_frame : array (n, d, d), or None
        Their frames, normal and tangents; None where they follow from the normals by the default rule.
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
        Where joints were eliminated, the response of the bodies to impulses; else None.
    crushed : Crushed, optional
        Bodies driven into each other at a contact that is no part of the problem, as no impulse changes it.
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
    crushed: Crushed | None = None

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
        if self.has_spheres:
            r = carried_to_spheres(old, new, ratio, self.cohesion)
        else:
            place = places(old.a, old.b, old.feature, new)
            r = np.zeros((len(new), self.scale.shape[1]))
            couple = np.require(old.couple, requirements=("C", "W"))  # zeros may be a broadcast view
            carry(place, ratio, old.impulse, couple, self.frame, self.cohesion, self.scale, r)
        if self.links is None:
            return r
        link_r = self.links.guess(links, ratio)
        return np.concatenate((r, np.pad(link_r, ((0, 0), (0, r.shape[1] - link_r.shape[1])))))

    def of_links(self, r: Array) -> LinkImpulses | None:
        """Impulses of the links, from the unknowns r; None without links."""
        return None if self.links is None else self.links.impulses(self.link_rows(r))

    def link_rows(self, r: Array) -> Array:
        """The part (n_links, d) of the unknowns r that belongs to links, which have no couples."""
        return r[len(self.contacts) :, : self.contacts.normal.shape[1]]

    def impulses(self, r: Array, rows: Indices | None = None) -> Impulses:
        """Impulses and couples on the bodies b in world coordinates, from the unknowns r.

        Those of the contacts at some rows; of all for None, as :meth:`carrying` returns it.
        """
        identity, r = (self.contacts.a, self.contacts.b, self.contacts.feature), r[: len(self.contacts)]
        if self.has_spheres:
            return Impulses(*impulses_in_world(self.contacts.normal, r, self.cohesion, identity, rows))
        frame, local = self.frame, r * self.scale
        local[:, 0] -= self.cohesion
        d = frame.shape[1]
        couple = local[:, d:]
        if couple.shape[1] == 3:
            couple = np.einsum("nij,ni->nj", frame, couple)
        world = np.empty((len(local), d))
        to_world(frame, local, world)
        impulses = Impulses(*identity, world, couple)
        return impulses if rows is None else impulses.take(rows)

    def carrying(self, r: Array) -> Indices | None:
        """Rows of the contacts that touch or carry an impulse; None if all rows do.

        The others are within reach without an impulse, or are links.
        """
        n = len(self.contacts)
        n_threads = thread_count(None, n, n)
        rows, counts = np.empty(n, dtype=np.int64), np.zeros(n_threads, dtype=np.int64)
        launch(n_threads, find_carrying, self.apart, r, counts, rows)
        count = int(counts.sum())
        return None if count == n and self.links is None else rows[:count]

    def contacts_at(self, rows: Indices | None) -> Contacts:
        """The contacts at these rows; all of them for None, as :meth:`carrying` returns it."""
        return self.contacts if rows is None else self.contacts.take(rows)

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


@kernel
def find_carrying(worker: Worker, apart: Mask, r: Array, counts: Indices, rows: Indices) -> None:
    """One thread's part of the rows of contacts that touch, or carry an impulse of r (n or more, k).

    Each thread counts its own, in ``counts``, and writes them behind those of the threads before.
    """
    first, last = chunk(worker, len(apart))
    for i in range(first, last):
        counts[worker.rank] += carries(apart, r, i)
    wait(worker)
    at = 0
    for rank in range(worker.rank):
        at += counts[rank]
    for i in range(first, last):
        if carries(apart, r, i):  # the rows beyond are those of the next thread
            rows[at] = i
            at += 1


@inlined
def carries(apart: Mask, r: Array, i: int) -> bool:
    """Whether contact i touches, or carries an impulse."""
    found = not apart[i]
    for k in range(r.shape[1]):
        found |= r[i, k] != 0.0
    return found
