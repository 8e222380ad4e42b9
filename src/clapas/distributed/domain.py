"""The domain of one rank: its bodies, copies of bodies they may touch, and walls.

A rank owns the movable bodies whose centre is in its domain, and has a copy (a *ghost*) of each body of
another rank that one of its own may touch. Walls are few and known to all ranks. Bodies much larger than the
others are copied to all ranks too, as walls are.

Bodies of other kinds and jointed bodies are *hosted*: rank 0 owns them wherever they are, and has copies of
the bodies they may touch.

A contact belongs to exactly one rank: with a wall, to the owner of the other body; with a large body, to
the owner of the small one; else to the lower of the two owners. So copies go one way only, from the higher
rank to the lower, half as many as if both sides had them.

Bodies keep their order: local numbers grow with the numbers in the model, so contacts come in the same order
on all ranks and on one.

The set of bodies is fixed during an *epoch*, until some body has moved further than the slack; in between
only rows of ghosts are exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clapas.collision import Detector
from clapas.collision.candidates import SKIN
from clapas.compiled import kernel
from clapas.distributed.bisection import Bisection, bisection
from clapas.distributed.communication import Ghosts, Ranks
from clapas.dynamics.model import Model
from clapas.dynamics.state import Impulses
from clapas.geometry.colliders import Contacts
from clapas.problems.workspace import Workspace
from clapas.typing import Array, Indices, Mask

LARGE = 4.0  # times the median radius: bodies that are copied to all ranks
SLACK = 0.25  # of the median radius: largest displacement in an epoch, more where lists of pairs bear more
HOST = 0  # rank of systems and jointed bodies: the lowest, so that it owns their contacts
UNEVEN = 1.2  # largest load over the mean, beyond which domains are recut


@dataclass(frozen=True)
class Layout:
    """Constant data of a run.

    Parameters
    ----------
    model : Model
        All bodies.
    ranks : Ranks
        The processes.
    radix : int
        Base of the numbers of features (:func:`clapas.collision.detector.radix_of`).
    """

    model: Model
    ranks: Ranks
    radix: int

    @cached_property
    def radius(self) -> float:
        """Median distance from the centre of a movable body to its farthest point (m)."""
        reach = self.model.reach[self.model.movable]
        finite = reach[np.isfinite(reach) & (reach > 0.0)]
        return float(np.median(finite)) if len(finite) else 0.0

    @cached_property
    def is_hosted(self) -> Mask:
        """Hosted bodies: carriers of systems and jointed bodies, (N,)."""
        hosted = (self.model.system_of >= 0) | self.model.is_joined
        hosted[[system.holder for system in self.model.systems if system.holder >= 0]] = True
        return hosted

    @cached_property
    def has_host(self) -> bool:
        """Whether there are systems or joints."""
        return bool(self.model.systems) or self.model.joints is not None

    @cached_property
    def is_owned(self) -> Mask:
        """Bodies that have an owner: all but walls, (N,)."""
        return np.asarray(self.model.movable | self.is_hosted)

    @cached_property
    def is_large(self) -> Mask:
        """Bodies that are copied to all ranks, (N,)."""
        return np.asarray(self.model.movable & ~self.is_hosted & ~(self.model.reach <= LARGE * self.radius))

    def wrapped(self, position: Array) -> Array:
        """Positions moved into the periodic cell."""
        result = position.copy()
        for axis, length in enumerate(self.model.period):
            if length is not None:
                result[:, axis] -= length * np.floor(result[:, axis] / length)
        return result

    def contact_owner(self, a: Indices, b: Indices, owner_a: Indices, owner_b: Indices) -> Indices:
        """The rank a contact belongs to, from the bodies (numbers of the model) and their owners."""
        owned, large = self.is_owned, self.is_large
        of_a = ~owned[b] | (owned[a] & ~large[a] & large[b])
        of_b = ~owned[a] | (owned[b] & ~large[b] & large[a])
        return np.where(of_a, owner_a, np.where(of_b, owner_b, np.minimum(owner_a, owner_b)))


@dataclass(frozen=True)
class Domain:
    """The bodies of one rank during an epoch.

    Parameters
    ----------
    layout : Layout
        The run.
    cuts : Bisection
        Cuts between the domains.
    ids : array (n,)
        Numbers in the model of the bodies known here, growing.
    owner : array (n,)
        The rank each belongs to; −1 for walls.
    ghosts : Ghosts
        Copies, here and elsewhere.
    start : array (n, d)
        Positions at the start of the epoch.
    slack : float
        Largest displacement of a body before it ends (m).
    stretch : float
        How wide the list of pairs is made at first (:class:`clapas.collision.Detector`).
    """

    layout: Layout
    cuts: Bisection
    ids: Indices
    owner: Indices
    ghosts: Ghosts
    start: Array
    slack: float
    stretch: float

    @property
    def ranks(self) -> Ranks:
        """The processes."""
        return self.layout.ranks

    @cached_property
    def number(self) -> Indices:
        """Local number of each body of the model, −1 if not known here, (N,)."""
        return numbers(self.ids, len(self.layout.model.movable))

    @cached_property
    def is_own(self) -> Mask:
        """Bodies that this rank owns, (n,)."""
        return np.asarray(self.owner == self.ranks.rank)

    @property
    def is_host(self) -> bool:
        """Whether this rank hosts bodies of other kinds or jointed ones."""
        return self.layout.has_host and self.ranks.rank == HOST

    @cached_property
    def model(self) -> Model:
        """The bodies known here."""
        part = self.layout.model.of_bodies(self.ids, whole=self.is_host)
        if self.layout.has_host:
            part.__dict__["has_spheres"] = False  # all ranks use the general form of the host's problem
        return part

    @cached_property
    def own_model(self) -> Model:
        """The model in which only own bodies move and are loaded, for sums that count each body once."""
        loads = {body: load for body, load in self.model.loads.items() if self.is_own[body]}
        return replace(self.model, movable=self.model.movable & self.is_own, loads=loads)

    @cached_property
    def colliders(self) -> Indices:
        """Rows of the colliders known here in the table of the model."""
        return self.layout.model.colliders.rows_of(self.ids)

    @cached_property
    def kept(self) -> Workspace:
        """Workspace of solvers, kept from step to step."""
        return Workspace()

    @cached_property
    def detector(self) -> Detector:
        """Detector of contacts of own bodies."""
        model = self.model
        moves = ~model.is_wall & (self.is_own | self.layout.is_large[self.ids])
        return Detector(
            model.colliders,
            movable=moves,
            period=model.period,
            radix=self.layout.radix,
            stretch=self.stretch,
        )

    def mine(self, contacts: Contacts) -> Contacts:
        """The contacts that belong to this rank."""
        if self.ranks.size == 1 and not len(self.model.apart):
            return contacts
        a, b = contacts.a, contacts.b
        kept = self.is_own[a] & self.is_own[b]
        others = np.flatnonzero(~kept)
        x, y = a[others], b[others]
        owner = self.layout.contact_owner(self.ids[x], self.ids[y], self.owner[x], self.owner[y])
        kept[others] = owner == self.ranks.rank
        if len(apart := self.model.apart):
            n = len(self.ids)
            kept &= ~np.isin(np.minimum(a, b) * n + np.maximum(a, b), apart[:, 0] * n + apart[:, 1])
        return contacts if kept.all() else contacts.take(np.flatnonzero(kept))

    def is_over(self, position: Array, velocity: Array, ahead: float) -> bool:
        """Whether some body has moved, now or ``ahead`` seconds later, so far that contacts could be missed.

        The same on all ranks; never where one rank has all bodies.
        """
        if self.ranks.size == 1:
            return False
        far = farthest(self.is_own, self.start, position, velocity, ahead)
        return self.ranks.largest(far) > self.slack

    def in_model(self, impulses: Impulses) -> Impulses:
        """Impulses with bodies numbered as in the model."""
        return replace(impulses, a=self.ids[impulses.a], b=self.ids[impulses.b])

    def here(self, impulses: Impulses) -> Impulses:
        """Impulses with local body numbers."""
        return replace(impulses, a=self.number[impulses.a], b=self.number[impulses.b])


def numbers(ids: Indices, count: int) -> Indices:
    """Index of each of ``count`` bodies in a list, −1 if it is not in it."""
    result = np.full(count, -1)
    result[ids] = np.arange(len(ids))
    return result


@kernel
def farthest(is_own: Mask, start: Array, position: Array, velocity: Array, ahead: float) -> float:
    """Largest displacement of an own body, now or ``ahead`` seconds later (m)."""
    most, d = 0.0, position.shape[1]
    for body in range(len(position)):
        if is_own[body]:
            now, then = 0.0, 0.0
            for k in range(d):
                displacement = position[body, k] - start[body, k]
                now += displacement**2
                then += (displacement + ahead * velocity[body, k]) ** 2
            most = max(most, now, then)
    return float(np.sqrt(most))


@dataclass(frozen=True)
class Owned:
    """What a rank owns between two epochs: its movable bodies and the impulses of its contacts.

    Parameters
    ----------
    ids : array (n,)
        Numbers of the bodies in the model, growing.
    rows : array (n, k)
        Position, orientation, velocity and further data of a body.
    impulses : Impulses
        Of the contacts that belong to this rank, bodies numbered as in the model.
    """

    ids: Indices
    rows: Array
    impulses: Impulses


def partition(layout: Layout, own: Owned, d: int, cuts: Bisection | None) -> tuple[Bisection, Owned]:
    """Send every body and impulse to its owner; recut the domains if loads are uneven.

    ``own`` may be distributed in any way, as long as each body is on one rank; the first ``d`` columns of
    its rows are positions.
    """
    ranks = layout.ranks
    position = layout.wrapped(own.rows[:, :d])
    if ranks.size == 1:
        return cuts or bisection(ranks, position, np.ones(len(position), dtype=np.int64)), own
    weight = _weights(own, len(layout.is_owned))
    if cuts is not None:
        load = np.bincount(_owners(layout, cuts, own, position), weight, ranks.size)
        loads = ranks.total(load)
        if loads.max() > UNEVEN * loads.mean():
            cuts = None
    if cuts is None:
        cuts = bisection(ranks, position, weight)
    return cuts, _migrated(layout, own, _owners(layout, cuts, own, position))


def _weights(own: Owned, count: int) -> Indices:
    """Weight of each own body: one, and two for each contact, shared where both of its bodies are own."""
    ends = numbers(own.ids, count)[np.stack((own.impulses.a, own.impulses.b))]
    share = np.broadcast_to(np.where((ends >= 0).all(axis=0), 1, 2), ends.shape)
    return 1 + np.bincount(ends[ends >= 0], share[ends >= 0], len(own.ids)).astype(np.int64)


def _owners(layout: Layout, cuts: Bisection, own: Owned, position: Array) -> Indices:
    """Owner of each body, by its position or as hosted."""
    return np.where(layout.is_hosted[own.ids], HOST, cuts.owner(position))


def _migrated(layout: Layout, own: Owned, owner: Indices) -> Owned:
    """Migrate bodies and impulses to their owners."""
    ranks, impulses = layout.ranks, own.impulses
    # A contact may involve bodies of other ranks, which are asked for their new owners.
    ends = np.stack((impulses.a, impulses.b))
    target = layout.contact_owner(*ends, *_owner_of(ranks, own.ids, owner, ends, layout.is_owned))
    bodies = ranks.swapped([(own.ids[owner == k], own.rows[owner == k]) for k in range(ranks.size)])
    forces = ranks.swapped([impulses.take(np.flatnonzero(target == k)) for k in range(ranks.size)])
    ids = np.concatenate([each[0] for each in bodies])
    order = np.argsort(ids, kind="stable")  # linear in the runs that are sorted already
    rows = np.concatenate([each[1] for each in bodies])[order]
    return Owned(ids[order], rows, Impulses.joined(forces))


def _owner_of(ranks: Ranks, ids: Indices, owner: Indices, bodies: Indices, owned: Mask) -> Indices:
    """New owners of some bodies, −1 for walls; other ranks are queried for their bodies."""
    number = numbers(ids, len(owned))
    known = np.append(owner, -1)[number]  # of all bodies of the model, as far as they are here
    unknown = np.unique(bodies[owned[bodies] & (known[bodies] < 0)])
    replies = [known[question] for question in ranks.swapped([unknown] * ranks.size)]
    for reply in ranks.swapped(replies):
        known[unknown] = np.maximum(known[unknown], reply)
    return known[bodies]


def slack_of(layout: Layout, stretch: float) -> float:
    """Largest displacement in an epoch (m): as far as a list of pairs of that stretch lasts, or further."""
    return max(SLACK, 0.5 * SKIN * stretch) * layout.radius


def domain(
    layout: Layout,
    cuts: Bisection,
    own: Owned,
    walls: Indices,
    d: int,
    slack: float,
    near: float,
    stretch: float,
) -> Domain:
    """The domain of this rank from what it owns.

    Parameters
    ----------
    layout, cuts, own
        The run, the cuts, and the bodies of this rank, as from :func:`partition`.
    walls : array (k,)
        Numbers of the bodies without owner that have appeared.
    d : int
        Dimension.
    slack, near : float
        Largest displacement of bodies, and largest gap of contacts (m).
    stretch : float
        How wide the list of pairs is made at first.
    """
    ranks, model = layout.ranks, layout.model
    position, large = layout.wrapped(own.rows[:, :d]), layout.is_large[own.ids]
    reach = model.reach[own.ids][:, None] + 0.5 * near + slack
    low, high = position - reach, position + reach
    hosted = layout.is_hosted[own.ids]
    boxes = ranks.gathered(
        np.concatenate([bound for chosen in (~large & ~hosted, hosted) for bound in _box(low, high, chosen)])
    ).reshape(ranks.size, 2, 2, d)
    outgoing: list[Indices] = []
    for rank in range(ranks.size):
        if rank == ranks.rank:
            outgoing.append(np.empty(0, dtype=np.int64))
            continue
        chosen = large.copy()
        if rank < ranks.rank:
            for box in boxes[rank]:
                chosen |= _overlap(low, high, box[0], box[1], model.period)
        outgoing.append(own.ids[chosen])
    incoming = ranks.swapped(outgoing)
    ids = np.concatenate((own.ids, walls, *incoming))
    owner = np.concatenate(
        (
            np.full(len(own.ids), ranks.rank),
            np.full(len(walls), -1),
            *(np.full(len(each), rank) for rank, each in enumerate(incoming)),
        )
    )
    order = np.argsort(ids, kind="stable")  # a few sorted runs
    ids, owner = ids[order], owner[order]
    number = numbers(ids, len(model.movable))
    given: dict[int, Indices] = {rank: number[each] for rank, each in enumerate(outgoing) if len(each)}
    held: dict[int, Indices] = {rank: number[each] for rank, each in enumerate(incoming) if len(each)}
    start = np.full((len(ids), d), np.nan)
    start[number[own.ids]] = own.rows[:, :d]
    return Domain(layout, cuts, ids, owner, Ghosts(ranks, given, held), start, slack, stretch)


def _box(low: Array, high: Array, chosen: Mask) -> tuple[Array, Array]:
    """The box around some boxes (n, d); empty around none."""
    return low[chosen].min(axis=0, initial=np.inf), high[chosen].max(axis=0, initial=-np.inf)


def _overlap(
    low: Array, high: Array, box_low: Array, box_high: Array, period: tuple[float | None, float | None]
) -> Mask:
    """Which boxes (n, d) overlap a box, or a periodic image of it."""
    result = np.ones(len(low), dtype=bool)
    for axis in range(low.shape[1]):
        length = period[axis] if axis < len(period) else None
        on_axis = np.zeros(len(low), dtype=bool)
        for shift in (0.0,) if length is None else (-length, 0.0, length):
            on_axis |= (low[:, axis] <= box_high[axis] + shift) & (high[:, axis] >= box_low[axis] + shift)
        result &= on_axis
    return result
