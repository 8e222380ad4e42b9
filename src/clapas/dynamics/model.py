"""The constant data of a simulation: bodies, shapes and laws as arrays, and bodies of other kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from clapas.bodies.joined import InertialBodies
from clapas.bodies.kind import Bodies, DoubtingBodies, PassiveBodies
from clapas.bodies.nonlinear import NonlinearBodies
from clapas.bodies.touched import BendingBodies, ChainedBodies, SmallBodies
from clapas.dynamics.joints.definition import SystemEnd
from clapas.dynamics.joints.leastmotion import Linkages, linkages
from clapas.dynamics.joints.rows import JointRows
from clapas.dynamics.loads import Load
from clapas.dynamics.names import Names
from clapas.dynamics.pressing import Pressed
from clapas.dynamics.probes import Probe
from clapas.geometry import sizes
from clapas.geometry.colliders import Colliders, Kind, rows_of
from clapas.laws import LawTable
from clapas.typing import Array, Indices, Mask
from clapas.units import counted

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
        """The same system in a model of these bodies (in increasing order) numbered from 0."""
        holder = int(np.searchsorted(bodies, self.holder)) if self.holder >= 0 else -1
        return replace(self, rows=np.searchsorted(bodies, self.rows), holder=holder)

    # Cached: testing whether an object has all members of a protocol takes tens of microseconds.

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
        """The bodies, if they report when their assumptions fail."""
        return self.bodies if isinstance(self.bodies, DoubtingBodies) else None

    @cached_property
    def is_passive(self) -> bool:
        """Whether the energy that the bodies get is all in the balance of a run."""
        return isinstance(self.bodies, PassiveBodies) and self.bodies.is_passive

    @cached_property
    def inertial(self) -> InertialBodies | None:
        """The bodies, if their inertial forces depend on velocities that joints change."""
        return self.bodies if isinstance(self.bodies, InertialBodies) else None

    @cached_property
    def nonlinear(self) -> NonlinearBodies | None:
        """The bodies, if one linearisation per step may not be enough."""
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
        Where and how each body appears (see :class:`clapas.dynamics.state.State`). Read-only tables of one
        row where all turn and move alike.
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
    names : Names
        Names of the bodies; empty where they are not needed.
    probes : tuple of Probe
        Quantities to record at every step.
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
    names: Names = field(default_factory=Names)
    probes: tuple[Probe, ...] = ()
    systems: tuple[System, ...] = ()
    joints: JointRows | None = None
    ignored: Indices | None = None
    pressed: tuple[Pressed, ...] = ()

    def __repr__(self) -> str:
        bodies = counted(self.n_bodies, "body", "bodies")
        return f"Model({bodies}, {int(self.movable.sum())} of them movable, in {self.d}-D)"

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.colliders.d

    @property
    def n_bodies(self) -> int:
        """Number of bodies, unborn ones included."""
        return len(self.mass)

    @cached_property
    def n_carriers(self) -> int:
        """Rows of the table of bodies that are no bodies: frames that carry the shapes of systems."""
        return sum(len(system.rows) for system in self.systems)

    @cached_property
    def masses(self) -> Array:
        """Mass of each degree of freedom, (N, 3) or (N, 6): the diagonal of M."""
        return self.masses_of(slice(None))

    def masses_of(self, bodies: Mask | slice) -> Array:
        """Rows of :attr:`masses`, without computing the table: steps of many spheres do not need it."""
        return np.hstack((np.repeat(self.mass[bodies, None], self.d, axis=1), self.inertia[bodies]))

    @cached_property
    def inverse_root(self) -> Array:
        """1/√masses, zero where impulses change nothing: bodies that are not movable, blocked axes."""
        inverse = np.where(self.movable[:, None], 1.0 / np.sqrt(self.masses), 0.0)
        return inverse if self.blocked is None else np.where(self.blocked, 0.0, inverse)

    @cached_property
    def sphere_response(self) -> Array:
        """1/m and 1/J of spheres, (N, 2). Zero for bodies that are not movable."""
        masses = np.column_stack((self.mass, self.inertia[:, 0]))
        return np.where(self.movable[:, None], 1.0 / np.sqrt(masses), 0.0) ** 2

    @cached_property
    def number(self) -> Indices:
        """Number of each movable body among the movable ones; their count for the others."""
        return np.where(self.movable, np.cumsum(self.movable) - 1, int(self.movable.sum()))

    @cached_property
    def moving(self) -> Indices | slice:
        """Rows of the movable bodies: a slice if they are consecutive, which avoids copies."""
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

        Not zeroed on blocked axes: the columns of H are zero there, so M does not matter.
        """
        scale = 1.0 / np.sqrt(self.masses[self.movable])
        return np.asarray(scale[:, :, None] * np.eye(scale.shape[1]))

    @cached_property
    def has_spheres(self) -> bool:
        """Whether all movable bodies are spheres in space, with isotropic sliding friction only."""
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
        """Movable bodies with a gyroscopic term: unequal moments of inertia, free to spin about all axes."""
        if self.d == 2:
            return np.zeros_like(self.movable)
        uneven = self.movable & (self.inertia != self.inertia[:, :1]).any(axis=1)
        if self.blocked is not None:
            uneven &= ~self.blocked[:, self.d :].any(axis=1)
        return np.asarray(uneven)

    @cached_property
    def gyrates(self) -> bool:
        """Whether any body has a gyroscopic term."""
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
        """The structure of the movable bodies with joints, analysed once."""
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
        """Pairs of bodies (p, 2) that never touch each other: ignored, or excluded by their joint."""
        ignored = [] if self.ignored is None else [self.ignored]
        joined = [] if self.joints is None else [self.joints.pairs, self._joined_to_systems]
        return np.concatenate([np.empty((0, 2), dtype=np.int64), *ignored, *joined])

    @property
    def _joined_to_systems(self) -> Indices:
        """Pairs (p, 2) of bodies and of carriers, of joints that hold systems and do not let them collide."""
        pairs: set[tuple[int, int]] = set()
        for joint in self.joints.joints if self.joints is not None else ():
            if joint.collide or not joint.rows.holds:
                continue
            first, second = self._bodies_of(joint.a), self._bodies_of(joint.b)
            if isinstance(joint.a, SystemEnd) or isinstance(joint.b, SystemEnd):
                pairs |= {(min(a, b), max(a, b)) for a in first for b in second if a != b}
        return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)

    def _bodies_of(self, end: int | SystemEnd | None) -> list[int]:
        """The body at the end of a joint, or the carriers that stand for it."""
        if isinstance(end, SystemEnd):
            system, carriers = self.systems[end.system], end.anchor.carriers
            return [
                int(row)
                for row, carrier in zip(system.rows, system.carrier, strict=True)
                if carriers is None or carrier in carriers
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
    def acceleration(self) -> float:
        """Size of gravity (m/s²)."""
        return float(np.linalg.norm(self.gravity))

    @cached_property
    def smallest(self) -> float:
        """Radius of the smallest movable body (m), to its farthest point; infinite if there is none."""
        return float(self.reach[self.movable & (self.reach > 0.0)].min(initial=np.inf))

    def driven(self, body: int, velocity: Array, time: float) -> Array:
        """The velocity of a body under its imposed motion at a time; only on blocked axes if guided."""
        imposed = np.concatenate(self.motions[body](time))
        if self.blocked is None or not self.movable[body]:
            return imposed
        return np.where(self.blocked[body], imposed, velocity)

    def holding(self, held: Mask) -> Model:
        """The model in which some more bodies cannot move; cached while they are the same."""
        if (last := self._holding.get("last")) is not None and np.array_equal(last[0], held):
            return last[1]
        model = replace(self, movable=self.movable & ~held)
        if self.joints is not None and not (held & self.is_joined).any():
            model.__dict__["linkages"] = self.linkages  # unchanged: no need to analyse them again
        for name in ("masses", "reach", "thickness"):  # independent of which bodies move
            model.__dict__[name] = getattr(self, name)
        self._holding["last"] = held.copy(), model
        return model

    def first(self, count: int) -> Model:
        """The model of the first bodies: those born so far."""
        if count == self.n_bodies:
            return self
        if count not in self._parts:
            self._parts.clear()  # the number of bodies only grows: the last part is enough
            self._parts[count] = self._part(count)
        return self._parts[count]

    def of_bodies(self, bodies: Indices, *, whole: bool = False) -> Model:
        """The model of some bodies, in increasing order, renumbered from 0.

        Properties of all bodies together keep the value of the whole model: the smallest body, whether all
        are spheres, whether any gyrates. Names and probes are left out; joints and systems stay if the bodies
        are ``whole``: all jointed bodies and carriers are among them.
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
            orientation=rows_of(self.orientation, bodies),
            velocity=rows_of(self.velocity, bodies),
            birth=self.birth[bodies],
            colliders=self.colliders.of_bodies(bodies),
            motions={number[body]: motion for body, motion in self.motions.items() if body in number},
            blocked=None if self.blocked is None else self.blocked[bodies],
            loads={number[body]: load for body, load in self.loads.items() if body in number},
            laid=None,
            names=Names(),
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
