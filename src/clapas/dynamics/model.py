"""The constant data of a simulation (Model) and the changing ones (State)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from clapas.bodies.kind import Bodies, DoubtingBodies, Part
from clapas.bodies.nonlinear import NonlinearBodies
from clapas.bodies.touched import BendingBodies, ChainedBodies, SmallBodies
from clapas.dynamics.joints.definition import SystemEnd
from clapas.dynamics.joints.leastmotion import Linkages, linkages
from clapas.dynamics.joints.rows import JointRows
from clapas.dynamics.loads import Load
from clapas.dynamics.pressing import Pressed
from clapas.dynamics.probes import Probe
from clapas.geometry import sizes
from clapas.geometry.colliders import Colliders, Contacts, Kind, rows_of, zeros_without_room
from clapas.laws import LawTable
from clapas.typing import Array, Indices, Mask

Motion = Callable[[float], tuple[Array, Array]]
"""Imposed motion: time ↦ (velocity in the world, angular velocity in the body frame)."""


@dataclass(frozen=True)
class System:
    """Bodies of another kind in a model.

    Parameters
    ----------
    name : str
        What it is called.
    bodies : Bodies
        The kind with its constant data.
    rows : array (k,)
        Bodies of the model that its carriers are: walls to all but the system itself.
    carrier : array (k,)
        Which carrier each of them is.
    self_contact : bool
        Whether its own carriers may touch each other.
    holder : int
        Body of the model in which its roots are fixed; −1 for none.
    """

    name: str
    bodies: Bodies
    rows: Indices
    carrier: Indices
    self_contact: bool = False
    holder: int = -1

    def renumbered(self, bodies: Indices) -> System:
        """The same where these bodies of the model, given in growing order, are numbered from 0."""
        holder = int(np.searchsorted(bodies, self.holder)) if self.holder >= 0 else -1
        return replace(self, rows=np.searchsorted(bodies, self.rows), holder=holder)

    # Whether an object has all that a protocol lists takes tens of microseconds to find: once is enough.

    @cached_property
    def bending(self) -> BendingBodies | None:
        """The bodies, if their carriers bend."""
        return self.bodies if isinstance(self.bodies, BendingBodies) else None

    @cached_property
    def small(self) -> SmallBodies | None:
        """The bodies, if each has a few velocities."""
        return self.bodies if isinstance(self.bodies, SmallBodies) else None

    @cached_property
    def doubting(self) -> DoubtingBodies | None:
        """The bodies, if they say when what they assume does not hold."""
        return self.bodies if isinstance(self.bodies, DoubtingBodies) else None

    @cached_property
    def nonlinear(self) -> NonlinearBodies | None:
        """The bodies, if one linearisation does not serve a step."""
        return self.bodies if isinstance(self.bodies, NonlinearBodies) else None


@dataclass(frozen=True, kw_only=True)
class Model:
    """Bodies, shapes and laws, as arrays that do not change. Bodies are sorted by birth.

    Parameters
    ----------
    gravity : array (d,)
        Acceleration of gravity (m/s²).
    mass : array (N,)
        Masses (kg).
    inertia : array (N, 3), or (N, 1) in 2-D
        Principal moments in the body frame (kg·m²).
    movable : array (N,) of bool
        False for walls, fixed or with imposed motion.
    position, orientation, velocity : arrays
        Where and how each body appears (see :class:`State`).
    birth : array (N,)
        Time at which each body appears (s); −inf for those there from the start. Increasing.
    colliders : Colliders
        Their shapes.
    laws : LawTable
        Laws of contact by pairs of materials.
    motions : dict
        Imposed motion of some bodies that are not movable, or guided.
    blocked : array (N, 6), or (N, 3) in 2-D, of bool, optional
        Degrees of freedom along which guided bodies, movable along others, follow their imposed motion; zero
        without one. None if no body is guided.
    loads : dict
        Force and torque on some movable bodies.
    laid : array (N,) of bool, or None
        Grains that are lowered when they appear (:mod:`clapas.dynamics.deposition`); None if there are none.
    period : tuple
        Lengths of the periodic cell along x and y, or None.
    names : tuple of str
        Names of the bodies.
    probes : tuple of Probe
        Quantities to write down at every step.
    systems : tuple of System
        Bodies of other kinds.
    joints : JointRows, optional
        Joints between rigid bodies; None without.
    ignored : array (k, 2), optional
        Pairs of bodies, the lower number first, that never touch each other; None without.
    pressed : tuple of Pressed
        Forces at contacts when the run begins (:mod:`clapas.dynamics.pressing`).
    """

    gravity: Array
    mass: Array
    inertia: Array
    movable: Mask
    position: Array
    orientation: Array
    velocity: Array
    birth: Array
    colliders: Colliders
    laws: LawTable
    motions: dict[int, Motion] = field(default_factory=dict)
    blocked: Mask | None = None
    loads: dict[int, Load] = field(default_factory=dict)
    laid: Mask | None = None
    period: tuple[float | None, float | None] = (None, None)
    names: tuple[str, ...] = ()
    probes: tuple[Probe, ...] = ()
    systems: tuple[System, ...] = ()
    joints: JointRows | None = None
    ignored: Indices | None = None
    pressed: tuple[Pressed, ...] = ()

    def __repr__(self) -> str:
        return f"Model({self.n_bodies} bodies, {int(self.movable.sum())} of them movable, in {self.d}-D)"

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.colliders.d

    @property
    def n_bodies(self) -> int:
        """Number of bodies, unborn ones included."""
        return len(self.mass)

    @cached_property
    def masses(self) -> Array:
        """Mass of each degree of freedom, (N, 3) or (N, 6): the diagonal of M."""
        return np.hstack((np.repeat(self.mass[:, None], self.d, axis=1), self.inertia))

    @cached_property
    def inverse_root(self) -> Array:
        """1/√masses, zero where impulses change nothing: bodies that are not movable, blocked axes."""
        inverse = np.where(self.movable[:, None], 1.0 / np.sqrt(self.masses), 0.0)
        return inverse if self.blocked is None else np.where(self.blocked, 0.0, inverse)

    @cached_property
    def number(self) -> Indices:
        """Number of each movable body among the movable ones; their count for the others."""
        return np.where(self.movable, np.cumsum(self.movable) - 1, int(self.movable.sum()))

    @cached_property
    def moving(self) -> Indices | slice:
        """Where the movable bodies are: a slice if nothing stands between them, which copies nothing."""
        where = np.flatnonzero(self.movable)
        if len(where) and where[-1] - where[0] + 1 == len(where):
            return slice(int(where[0]), int(where[-1]) + 1)
        return where

    @cached_property
    def walls(self) -> Indices:
        """Numbers of the bodies that are not movable."""
        return np.flatnonzero(~self.movable)

    @cached_property
    def roots(self) -> Array:
        """Inverse roots of the mass matrices of the movable bodies (see ``BodyBlocks``).

        They are whole on blocked axes too: there the columns of H are zero, so M has no say.
        """
        scale = 1.0 / np.sqrt(self.masses[self.movable])
        return np.asarray(scale[:, :, None] * np.eye(scale.shape[1]))

    @cached_property
    def has_spheres(self) -> bool:
        """Whether all movable bodies are spheres in space, and contacts only slide, alike in all ways."""
        laws = self.laws
        if (
            self.d == 2
            or self.blocked is not None
            or laws.has_couples
            or laws.is_elliptic
            or laws.has_sections
            or laws.has_thresholds
        ):
            return False
        inertia, moves = self.inertia[self.movable], self.movable[self.colliders.body]
        centred = (self.colliders.kind == Kind.SPHERE) & ~self.colliders.position.any(axis=1)
        return bool((inertia == inertia[:, :1]).all() and centred[moves].all())

    @cached_property
    def gyrates_freely(self) -> Mask:
        """Movable bodies of unequal moments of inertia, free to spin about all axes: they feel their spin."""
        if self.d == 2:
            return np.zeros_like(self.movable)
        uneven = self.movable & (self.inertia != self.inertia[:, :1]).any(axis=1)
        if self.blocked is not None:
            uneven &= ~self.blocked[:, self.d :].any(axis=1)
        return np.asarray(uneven)

    @cached_property
    def gyrates(self) -> bool:
        """Whether any body does so."""
        return bool(self.gyrates_freely.any())

    @cached_property
    def is_wall(self) -> Mask:
        """Bodies that cannot move, and guided ones that only slide (see :mod:`clapas.dynamics.guides`)."""
        walls: Mask = ~self.movable
        if self.blocked is not None:
            slides = self.blocked[:, self.d :].all(axis=1) & self.blocked[:, : self.d].any(axis=1)
            walls = walls | slides
        for system in self.systems:
            walls[system.rows] = False
        return walls

    @cached_property
    def system_of(self) -> Indices:
        """Number of the system whose carrier each body is, (N,); −1 for the others."""
        number = np.full(self.n_bodies, -1)
        for k, system in enumerate(self.systems):
            number[system.rows] = k
        return number

    @cached_property
    def carrier_of(self) -> Indices:
        """Which carrier of its system each body is, (N,); −1 for the others."""
        number = np.full(self.n_bodies, -1)
        for system in self.systems:
            number[system.rows] = system.carrier
        return number

    @cached_property
    def chain_of(self) -> Indices | None:
        """Number of the chain whose carrier each body is, (N,), −1 for the others; None without chains.

        Contacts travel from a carrier of a chain to the next (:mod:`clapas.dynamics.warm_start`).
        """
        number, count = np.full(self.n_bodies, -1), 0
        for system in self.systems:
            if isinstance(system.bodies, ChainedBodies):
                chains = system.bodies.chains
                number[system.rows] = count + chains[system.carrier]
                count += int(chains.max(initial=-1)) + 1
        return number if count else None

    @cached_property
    def linkages(self) -> Linkages:
        """The movable bodies that joints join, analysed once."""
        assert self.joints is not None
        return linkages(self.joints, self.movable)

    @cached_property
    def is_joined(self) -> Mask:
        """Movable bodies with joints, (N,)."""
        joined = np.zeros(self.n_bodies, dtype=bool)
        if self.joints is not None:
            joined[self.linkages.bodies] = True
        return joined

    @cached_property
    def apart(self) -> Indices:
        """Pairs of bodies (p, 2) that never touch each other: ignored, or joined by a joint that says so."""
        ignored = [] if self.ignored is None else [self.ignored]
        joined = [] if self.joints is None else [self.joints.pairs, self._joined_to_systems]
        return np.concatenate([np.empty((0, 2), dtype=np.int64), *ignored, *joined])

    @property
    def _joined_to_systems(self) -> Indices:
        """Pairs (p, 2) of bodies and of carriers, of joints that hold systems and do not let them collide."""
        found = set()
        for joint in self.joints.joints if self.joints is not None else ():
            if joint.collide or not joint.rows.holds:
                continue
            first, second = self._bodies_of(joint.a), self._bodies_of(joint.b)
            if isinstance(joint.a, SystemEnd) or isinstance(joint.b, SystemEnd):
                found |= {(min(a, b), max(a, b)) for a in first for b in second if a != b}
        return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)

    def _bodies_of(self, end: int | SystemEnd | None) -> list[int]:
        """The body at the end of a joint, or the carriers that stand for it."""
        if isinstance(end, SystemEnd):
            system, own = self.systems[end.system], end.anchor.carriers
            return [
                int(row)
                for row, carrier in zip(system.rows, system.carrier, strict=True)
                if own is None or carrier in own
            ]
        return [] if end is None else [end]

    @cached_property
    def thickness(self) -> Array:
        """Half the least thickness of each body (m); infinite for planes and triangles."""
        return sizes.thickness(self.colliders, self.n_bodies)

    @cached_property
    def reach(self) -> Array:
        """Farthest point of each body from its centre of mass (m); infinite for planes."""
        return sizes.reach(self.colliders, self.n_bodies)

    @cached_property
    def mass_root(self) -> Array:
        """Roots of the masses and inertias (N, size), zero for bodies that cannot move."""
        return np.where(self.movable[:, None], np.sqrt(self.masses), 0.0)

    @cached_property
    def smallest(self) -> float:
        """Radius of the smallest movable body (m), to its farthest point; infinite if there is none."""
        return float(self.reach[self.movable & (self.reach > 0.0)].min(initial=np.inf))

    def driven(self, body: int, velocity: Array, time: float) -> Array:
        """The velocity of a body with what its imposed motion says at a time: on blocked axes if guided."""
        told = np.concatenate(self.motions[body](time))
        if self.blocked is None or not self.movable[body]:
            return told
        return np.where(self.blocked[body], told, velocity)

    def holding(self, held: Mask) -> Model:
        """The model in which some bodies, too, cannot move; made once while they are the same."""
        if (last := self._holding.get("last")) is not None and np.array_equal(last[0], held):
            return last[1]
        made = replace(self, movable=self.movable & ~held)
        if self.joints is not None and not (held & self.is_joined).any():
            made.__dict__["linkages"] = self.linkages  # as they were: no need to analyse them again
        for name in ("masses", "reach", "thickness"):  # whoever moves
            made.__dict__[name] = getattr(self, name)
        self._holding["last"] = held.copy(), made
        return made

    def first(self, count: int) -> Model:
        """The model of the first bodies: those born so far."""
        if count == self.n_bodies:
            return self
        if count not in self._parts:
            self._parts.clear()  # births come one after another: the last part is enough
            self._parts[count] = self._part(count)
        return self._parts[count]

    def of_bodies(self, bodies: Indices, *, whole: bool = False) -> Model:
        """The model of some bodies, given in growing order and numbered anew from 0.

        What is said of all bodies together is said of all those of this model still: the smallest body,
        whether all are spheres, whether any gyrates. Without names and probes; joints and systems stay if
        the bodies are ``whole``: all that are joined or carry something are among them.
        """
        number = {int(body): k for k, body in enumerate(bodies)} if self.motions or self.loads else {}
        ignored = self.ignored
        if ignored is not None:
            ignored = np.searchsorted(bodies, ignored[np.isin(ignored, bodies).all(axis=1)])
        part = replace(
            self,
            mass=self.mass[bodies],
            inertia=self.inertia[bodies],
            movable=self.movable[bodies],
            position=self.position[bodies],
            orientation=self.orientation[bodies],
            velocity=self.velocity[bodies],
            birth=self.birth[bodies],
            colliders=self.colliders.of_bodies(bodies),
            motions={number[body]: motion for body, motion in self.motions.items() if body in number},
            blocked=None if self.blocked is None else self.blocked[bodies],
            loads={number[body]: load for body, load in self.loads.items() if body in number},
            laid=None,
            names=(),
            probes=(),
            systems=tuple(system.renumbered(bodies) for system in self.systems) if whole else (),
            joints=self.joints.renumbered(bodies) if whole and self.joints is not None else None,
            ignored=ignored,
        )
        for name in ("smallest", "has_spheres", "gyrates"):
            part.__dict__[name] = getattr(self, name)
        return part

    @cached_property
    def _parts(self) -> dict[int, Model]:
        return {}

    @cached_property
    def _holding(self) -> dict[str, tuple[Mask, Model]]:
        return {}

    def _part(self, count: int) -> Model:
        return replace(
            self,
            mass=self.mass[:count],
            inertia=self.inertia[:count],
            movable=self.movable[:count],
            position=self.position[:count],
            orientation=self.orientation[:count],
            velocity=self.velocity[:count],
            birth=self.birth[:count],
            colliders=self.colliders.of_first_bodies(count),
            motions={body: motion for body, motion in self.motions.items() if body < count},
            blocked=None if self.blocked is None else self.blocked[:count],
            loads={body: load for body, load in self.loads.items() if body < count},
            laid=None if self.laid is None else self.laid[:count],
            names=self.names[:count],
        )


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
        columns = self.a, self.b, self.feature, self.impulse, self.couple
        return Impulses(*(rows_of(column, rows) for column in columns))

    @staticmethod
    def zero(contacts: Contacts) -> Impulses:
        """Those of contacts that bear nothing."""
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
        found = np.zeros((len(owner), self.impulse.shape[1]))
        if len(self.owner) and len(owner):
            base = 1 + max(int(self.identity.max()), int(identity.max()))
            mine, wanted = self.owner * base + self.identity, owner * base + identity
            place = np.minimum(np.searchsorted(mine, wanted), len(mine) - 1)
            there = mine[place] == wanted
            found[there] = self.impulse[place[there]]
        return found


def carries(force: Array) -> Mask:
    """Which contacts carry, (n,), from their forces or impulses (n, d): those whose force is not zero.

    The one definition behind every count of contacts. Bodies that are near each other, or that touch
    without a force, do not carry. A cohesive contact in tension does: its normal force is negative.
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
        How far each went in the watch: translation (m) and rotation (rad).
    pace : array (N,)
        Mean pace of the watches so far (radii/s, rad/s); infinite for a body that was in none.
    load, borne : arrays (N,)
        Impulses borne in the watch, and those a sleeper bore from bodies awake (N·s).
    """

    step: int
    asleep: Mask
    moved: Array
    pace: Array
    load: Array
    borne: Array

    @staticmethod
    def none(size: int) -> Sleep:
        """Nothing to remember yet; ``size`` is the number of degrees of freedom of a body."""
        nothing = np.empty(0)
        return Sleep(0, np.empty(0, dtype=bool), np.empty((0, size)), nothing, nothing, nothing)

    def of_more(self, count: int) -> Sleep:
        """The memory of so many bodies: those born since are awake."""
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


@dataclass(frozen=True, kw_only=True)
class State:
    """Where the bodies born so far are, how they move, and the impulses that hold them.

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
        Who sleeps, in runs with sleep.
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
        return f"State(t = {self.time:.6g} s, step {self.step}, {self.n_bodies} bodies)"

    @property
    def n_bodies(self) -> int:
        """Bodies born so far."""
        return len(self.position)
