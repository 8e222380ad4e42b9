"""The changing data of a simulation: positions, velocities, impulses of the last step, sleep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from clapas.bodies.kind import Part
from clapas.dynamics.loads import Load
from clapas.geometry.colliders import Contacts, order_by_identity, rows_of_all, zeros_without_room
from clapas.typing import Array, Indices, Mask
from clapas.units import counted


@dataclass(frozen=True, kw_only=True)
class State:
    """Positions and velocities of the bodies born so far, and the impulses that hold them.

    Parameters
    ----------
    time : float
        Time (s).
    step : int
        Steps done.
    position : array (N, d)
        Centres of mass (m).
    orientation : array (N, 4), or (N, 1) in 2-D
        Unit quaternions (w, x, y, z) from body to world, or angles (rad).
    velocity : array (N, 6), or (N, 3) in 2-D
        Velocity in the world and angular velocity in the body frame (m/s, rad/s).
    impulses : Impulses
        Those of the last step.
    dt : float
        Length of the step, or of the last part of a divided one, that led here (s): over it the impulses
        acted. 0 at the start.
    sleep : Sleep, optional
        Sleep state, in runs with sleep.
    parts : tuple of Part
        Coordinates and velocities of the systems of the model.
    links : LinkImpulses, optional
        Impulses of the links of the last step; None where there are no links.
    coordinates : array (k,), optional
        Coordinates of the joints that have one (rad, m), turns counted since the start; None if not counted
        yet, or without joints.
    applied : mapping
        Forces and torques on some bodies, by their numbers, during the next step and no longer.
    """

    time: float
    step: int
    position: Array
    orientation: Array
    velocity: Array
    impulses: Impulses
    dt: float = 0.0
    sleep: Sleep | None = None
    parts: tuple[Part, ...] = ()
    links: LinkImpulses | None = None
    coordinates: Array | None = None
    applied: Mapping[int, Load] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"State(t = {self.time:.6g} s, step {self.step}, {counted(self.n_bodies, 'body', 'bodies')})"

    @property
    def n_bodies(self) -> int:
        """Bodies born so far."""
        return len(self.position)


@dataclass(frozen=True)
class Impulses:
    """Impulses of one step, by contact identity: part of the state of a frictional system.

    Parameters
    ----------
    a, b, feature : arrays (n,)
        Identity of each contact, sorted.
    impulse : array (n, d)
        Impulse on body b in world coordinates (N·s).
    couple : array (n, 3), or (n, 1) in 2-D
        Couple on body b in world coordinates (N·m·s), where contacts resist rolling or spinning.
    """

    a: Indices
    b: Indices
    feature: Indices
    impulse: Array
    couple: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if self.couple.size == 0:
            n, d = self.impulse.shape
            object.__setattr__(self, "couple", zeros_without_room((n, 3 if d == 3 else 1)))

    def __repr__(self) -> str:
        return f"Impulses({len(self.impulse)} in {self.impulse.shape[1]}-D)"

    def take(self, rows: Indices) -> Impulses:
        """Some of the impulses, in the given order."""
        return Impulses(*rows_of_all((self.a, self.b, self.feature, self.impulse, self.couple), rows))

    @staticmethod
    def joined(parts: Sequence[Impulses]) -> Impulses:
        """Those of several parts in one, sorted; zero couples take no room."""
        names = ("a", "b", "feature", "impulse")
        a, b, feature, impulse = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        couple = np.empty(0)
        if any(part.couple.strides[0] and part.couple.any() for part in parts):
            couple = np.concatenate([part.couple for part in parts])
        return Impulses(a, b, feature, impulse, couple).take(order_by_identity(a, b, feature))

    @staticmethod
    def zero(contacts: Contacts) -> Impulses:
        """Zero impulses of these contacts."""
        nothing = np.zeros(contacts.normal.shape)
        return Impulses(contacts.a, contacts.b, contacts.feature, nothing)

    @staticmethod
    def none(d: int) -> Impulses:
        """No impulse."""
        whole = np.empty(0, dtype=np.int64)
        return Impulses(whole, whole, whole, np.empty((0, d)))

    @property
    def carrying(self) -> Mask:
        """The contacts that carry, (n,)."""
        return carries(self.impulse)


@dataclass(frozen=True)
class LinkImpulses:
    """Impulses of links (:class:`clapas.bodies.links.Links`) in one step, by their identity.

    Parameters
    ----------
    owner : array (n,)
        Number of the system that has the link; −1 for joints. Increasing.
    identity : array (n,)
        Which of its links it is. Increasing for each owner.
    impulse : array (n, d)
        Along the rows of the link (N·s).
    """

    owner: Indices
    identity: Indices
    impulse: Array

    @staticmethod
    def none(d: int) -> LinkImpulses:
        """No link."""
        whole = np.empty(0, dtype=np.int64)
        return LinkImpulses(whole, whole, np.empty((0, d)))

    def at(self, owner: Indices, identity: Indices) -> Array:
        """Impulses (m, d) of the links with these identities, zero for those that are not here."""
        impulse = np.zeros((len(owner), self.impulse.shape[1]))
        if len(self.owner) and len(owner):
            base = 1 + max(int(self.identity.max()), int(identity.max()))
            old, new = self.owner * base + self.identity, owner * base + identity
            place = np.minimum(np.searchsorted(old, new), len(old) - 1)
            persists = old[place] == new
            impulse[persists] = self.impulse[place[persists]]
        return impulse


def carries(force: Array) -> Mask:
    """Whether each contact carries, (n,), from forces or impulses (n, d): those whose force is not zero.

    Bodies that are near each other, or that touch without a force, do not carry. A cohesive contact in
    tension does: its normal force is negative. Measures leave out what is rounding beside the largest force
    (:func:`clapas.analysis.instant.carries`).
    """
    return np.asarray(np.any(force != 0.0, axis=1))


@dataclass(frozen=True)
class Sleep:
    """Sleep state, and the history used to decide it (see :mod:`clapas.dynamics.sleep`).

    Parameters
    ----------
    step : int
        Steps done of the round of watch and rest.
    asleep : array (N,) of bool
        The bodies that are held.
    moved : array (N, 6), or (N, 3) in 2-D
        Displacement of each body in the watch: translation (m) and rotation (rad).
    pace : array (N,)
        Mean pace of the watches so far (radii/s, rad/s); infinite for a body that was in none.
    load, borne : arrays (N,)
        Impulses borne in the watch, and those a sleeping body bore from bodies awake (N·s).
    """

    step: int
    asleep: Mask
    moved: Array
    pace: Array
    load: Array
    borne: Array

    @staticmethod
    def none(size: int) -> Sleep:
        """The empty sleep state; ``size`` is the number of degrees of freedom of a body."""
        nothing = np.empty(0)
        return Sleep(0, np.empty(0, dtype=bool), np.empty((0, size)), nothing, nothing, nothing)

    def of_more(self, count: int) -> Sleep:
        """The sleep state of so many bodies: those born since are awake."""
        new = count - len(self.asleep)
        if new == 0:
            return self
        nothing = np.zeros(new)
        return Sleep(
            self.step,
            np.concatenate((self.asleep, nothing.astype(bool))),
            np.concatenate((self.moved, np.zeros((new, self.moved.shape[1])))),
            np.concatenate((self.pace, np.full(new, np.inf))),
            np.concatenate((self.load, nothing)),
            np.concatenate((self.borne, nothing)),
        )

    def woken_up(self) -> Sleep:
        """All awake, at the start of a watch."""
        nothing = np.zeros(len(self.pace))
        return Sleep(0, nothing.astype(bool), np.zeros_like(self.moved), self.pace, nothing, nothing)
