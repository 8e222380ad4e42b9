"""The arrays the kernels of a step of few bodies read and write.

A call from Python costs a tenth of a microsecond for every array, so what belongs together is one array with
a row for each quantity.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clapas.compiled import subroutine
from clapas.dynamics.model import Model, State
from clapas.geometry.colliders import Contacts
from clapas.typing import Array, Indices, Mask


class Rigid(NamedTuple):
    """What does not change of the N bodies; see the properties of :class:`Model`.

    Parameters
    ----------
    flags : array (2, N) of bool
        ``movable`` and ``gyrates_freely``.
    number : array (N,)
        Number of each movable body among the movable ones; their count for the others.
    diagonals : array (3, N, size)
        ``masses``, ``mass_root`` and ``inverse_root``.
    inertia : array (N, 3), or (N, 1)
        Moments of inertia (kg·m²).
    """

    flags: Mask
    number: Indices
    diagonals: Array
    inertia: Array

    @staticmethod
    def of(model: Model) -> Rigid:
        """The arrays of a model."""
        return Rigid(
            np.stack((model.movable, model.gyrates_freely)),
            model.number,
            np.stack((model.masses, model.mass_root, model.inverse_root)),
            np.ascontiguousarray(model.inertia),
        )


class Laws(NamedTuple):
    """Laws of contacts that only slide.

    Parameters
    ----------
    material : array (n_colliders,)
        Material of each collider.
    tables : array (3, m, m)
        Friction, normal and tangential restitution by pairs of materials.
    has_restitution : bool
        Whether any of the last two is not zero.
    """

    material: Indices
    tables: Array
    has_restitution: bool

    @staticmethod
    def of(model: Model) -> Laws:
        """The laws of a model whose contacts only slide, alike in all directions."""
        laws = model.laws
        tables = np.stack((laws.mu, laws.restitution, laws.tangential_restitution))
        return Laws(model.colliders.material, tables, laws.has_restitution)


class Placed(NamedTuple):
    """Positions, orientations and velocities of the bodies (see :class:`clapas.dynamics.model.State`)."""

    position: Array
    orientation: Array
    velocity: Array

    @staticmethod
    def blank(like: Placed) -> Placed:
        """Room for as many."""
        x, q, v = like
        return Placed(np.empty(x.shape), np.empty(q.shape), np.empty(v.shape))

    def state(self, before: State) -> State:
        """The state of these places, all else as before."""
        return replace(before, **self._asdict())


class Met(NamedTuple):
    """Contacts (see :class:`clapas.geometry.colliders.Contacts`).

    ``identity`` (3, n) are a, b and feature, ``colliders`` (2, n) those of a and of b.
    """

    identity: Indices
    colliders: Indices
    point: Array
    normal: Array
    gap: Array

    @staticmethod
    def of(contacts: Contacts) -> Met:
        """The arrays of some contacts."""
        c = contacts
        identity, colliders = np.stack((c.a, c.b, c.feature)), np.stack((c.collider_a, c.collider_b))
        return Met(identity, colliders, c.point, c.normal, c.gap)

    def take(self, rows: Indices) -> Met:
        """Some of the contacts, in the given order."""
        columns = np.ascontiguousarray(self.identity[:, rows]), np.ascontiguousarray(self.colliders[:, rows])
        return Met(*columns, self.point[rows], self.normal[rows], self.gap[rows])

    def contacts(self) -> Contacts:
        """The contacts of the arrays."""
        a, b, feature = self.identity
        return Contacts(a, b, *self.colliders, feature, self.point, self.normal, self.gap)  # type: ignore[call-arg]


class Carried(NamedTuple):
    """Impulses of the last step (:class:`clapas.dynamics.model.Impulses`); how much longer this one is."""

    a: Indices
    b: Indices
    feature: Indices
    impulse: Array
    ratio: float


class Posed(NamedTuple):
    """The contact problem of a step.

    Parameters
    ----------
    G, bodies, y_free
        See :class:`clapas.problems.blocks.BodyBlocks`.
    frame : array (n, d, d)
        Normals and tangents.
    wall, w : arrays (n, d)
        Velocities of walls at the contacts, and all imposed velocities (m/s).
    mu, response : arrays (n,)
        Friction, and mean diagonals of W_ii.
    apart : array (n,) of bool
        Contacts that do not touch.
    """

    G: Array
    bodies: Indices
    y_free: Array
    frame: Array
    wall: Array
    w: Array
    mu: Array
    response: Array
    apart: Mask


@subroutine
def blank_problem(n: int, d: int, n_movable: int, size: int) -> Posed:
    """Room for a problem of n contacts; its blocks are zero, as are the ground's velocities."""
    return Posed(
        np.zeros((n, 2, d, size)),
        np.empty((n, 2), dtype=np.int64),
        np.zeros((n_movable + 1, size)),
        np.empty((n, d, d)),
        np.zeros((n, d)),
        np.empty((n, d)),
        np.empty(n),
        np.empty(n),
        np.empty(n, dtype=np.bool_),
    )


class Sizes(NamedTuple):
    """Numbers known when compiling: tuples as long as a contact and a body have components."""

    components: tuple[int, ...]
    body: tuple[int, ...]
