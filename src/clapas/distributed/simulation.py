"""Simulation on many ranks: epochs, steps, births, and gathering on rank 0.

Each rank holds the constant model and the changing rows of its own bodies, copies and walls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clapas.collision.detector import radix_of
from clapas.distributed.bisection import Bisection
from clapas.distributed.communication import Ranks
from clapas.distributed.domain import Domain, Layout, Owned, domain, partition, slack_of
from clapas.distributed.sleeping import SleepRows, step_with_sleep_on_ranks
from clapas.distributed.solving import sweeping
from clapas.distributed.stepping import RankStep, reach_of, step_on_ranks
from clapas.dynamics.births import initial_state, with_births, work_of_laying
from clapas.dynamics.joints.reactions import Reactions
from clapas.dynamics.model import Model
from clapas.dynamics.schemes import MoreauJean, MoreauMidpoint
from clapas.dynamics.sleep import Sleeping
from clapas.dynamics.state import Impulses, State
from clapas.dynamics.subdivision import parts
from clapas.dynamics.systems import bending_margin
from clapas.errors import NotSolved, SettingsError, warn
from clapas.geometry.colliders import Contacts, order_by_identity
from clapas.scenes.overlaps import Birth, deepest_birth
from clapas.scenes.settings import OnUnsolved, named_solver
from clapas.solvers.loop import Solver
from clapas.status import Status
from clapas.typing import Array, Indices


@dataclass(frozen=True)
class Verdict:
    """Status of the global contact problem, for recordings."""

    status: Status
    residual: float
    iterations: int
    time: float
    tol: float


@dataclass(frozen=True)
class GatheredStep:
    """A step with the contacts of all ranks, on rank 0, for recorders and probes.

    Parameters
    ----------
    state, middle : State
        State at the end, and at the middle where contacts were found (positions only).
    contacts : Contacts
        Of all ranks, bodies and colliders numbered as in the model.
    modes : array (n,)
        Whether each is open (0), sticking (1) or sliding (2).
    solution : Verdict
        Status of the contact problem.
    joints : Reactions, or None
        Reactions of joints; None without joints.
    """

    state: State
    middle: State
    contacts: Contacts
    modes: Indices
    solution: Verdict
    joints: Reactions | None = None


def check_model(model: Model, scheme: MoreauJean, ranks: Ranks) -> None:
    """Reject features not supported on several ranks."""
    if ranks.size == 1:
        return
    one = "run it on one rank, without mpirun"
    if model.laws.has_sections:
        raise SettingsError(f"friction cones with corners cannot be run on several ranks: {one}")
    if model.laws.has_thresholds:
        raise SettingsError(f"friction with a threshold or a viscosity cannot be run on several ranks: {one}")
    if scheme.projection > 0.0:
        raise SettingsError(
            f"projection moves all bodies together, and cannot be run on several ranks: {one}"
        )


class RankSimulation:
    """A model in motion on many ranks; all ranks create it, and call its methods, together.

    Parameters
    ----------
    model : Model
        The model, the same on all ranks.
    dt : float
        Time step (s).
    ranks : Ranks
        The processes.
    solver, scheme, sleeping, on_unsolved
        As for one rank; the solver is ``auto`` or ``nsgs``.
    state : State, optional
        Initial state of all bodies, the same on all ranks; by default that of the model.
    """

    def __init__(
        self,
        model: Model,
        dt: float,
        ranks: Ranks,
        solver: Solver | None = None,
        scheme: MoreauJean | None = None,
        *,
        sleeping: Sleeping | None = None,
        on_unsolved: OnUnsolved = "raise",
        state: State | None = None,
    ) -> None:
        self.model, self.dt, self.ranks = model, dt, ranks
        self.scheme, self.sleeping, self.on_unsolved = scheme or MoreauMidpoint(), sleeping, on_unsolved
        self.solver: Solver = solver or named_solver({})
        check_model(model, self.scheme, ranks)
        self.layout = Layout(model, ranks, radix_of(model.colliders))
        if not self.layout.has_host:
            sweeping(self.solver)  # raises an error for unsupported solvers
        self.work = self.external_work = 0.0  # contribution of this rank
        self.unsolved, self.worst, self.epochs = 0, 0.0, 0
        self._recent, self._has_warned_of_births = 0.0, False
        self.last: RankStep | None = None
        self._alive = 0
        self._wall_rows: tuple[Indices, Array, Array, Array]
        self._cuts: Bisection | None = None
        self._sleep: SleepRows | None = None  # in runs with sleep
        self._start(initial_state(model) if state is None else state)

    # ---------------------------------------------------------------- epochs

    def _start(self, state: State) -> None:
        """Distribute a state known to all ranks."""
        d, owned = self.model.d, self.layout.is_owned[: state.n_bodies]
        rank, size = self.ranks.rank, self.ranks.size
        mine = np.flatnonzero(owned)[rank::size]
        impulses = state.impulses.take(np.arange(len(state.impulses.a))[rank::size])
        self._alive = state.n_bodies
        self._round = 0 if state.sleep is None else state.sleep.step
        sleep = None
        if self.sleeping is not None:
            sleep = SleepRows.of(state.sleep, state.n_bodies, state.velocity.shape[1])
        own = Owned(mine, _rows(state, sleep, mine), impulses)
        walls = np.flatnonzero(~owned)
        self._wall_rows = walls, state.position[walls], state.orientation[walls], state.velocity[walls]
        self._begin_epoch(own, state, d)

    def _begin_epoch(self, own: Owned, clock: State, d: int) -> None:
        """Assign bodies to owners, and build the domain and its state; ``clock`` has time, step and dt."""
        # The list of pairs is made anew with each epoch, as wide as those before have come to be.
        stretch = self.domain.detector.next_stretch if self.epochs else 1.0
        self.epochs += 1
        fastest = float(
            np.sqrt(np.max(np.sum(own.rows[:, self._columns("velocity")][:, :d] ** 2, axis=1), initial=0.0))
        )
        gained = self.dt * self.model.acceleration
        fastest, stretch = self.ranks.gathered((fastest, stretch)).max(axis=0).tolist()
        slack = max(slack_of(self.layout, stretch), 2.0 * self.dt * (fastest + gained))
        near = max(reach_of(self.model, self.scheme, self.dt), 1e-9 * self.layout.radius)
        if self.model.systems:
            near += 2.0 * self.ranks.largest(bending_margin(self.model, clock.parts))
        self._cuts, own = partition(self.layout, own, d, self._cuts)
        walls, *rows = self._wall_rows
        self.domain: Domain = domain(self.layout, self._cuts, own, walls, d, slack, near, stretch)
        table = np.zeros((len(self.domain.ids), own.rows.shape[1]))
        table[self.domain.number[own.ids]] = own.rows
        at = self.domain.number[walls]
        for name, values in zip(("position", "orientation", "velocity"), rows, strict=True):
            table[at, self._columns(name)] = values
        self.domain.ghosts.from_owners(table)
        self._sleep = None
        if self.sleeping is not None:
            self._sleep = SleepRows.from_table(table[:, self._columns("sleep")])
        self.state = replace(
            clock,
            position=np.ascontiguousarray(table[:, self._columns("position")]),
            orientation=np.ascontiguousarray(table[:, self._columns("orientation")]),
            velocity=np.ascontiguousarray(table[:, self._columns("velocity")]),
            impulses=self.domain.here(own.impulses),
            sleep=None,
        )

    def _columns(self, name: str) -> slice:
        """Columns of the rows of bodies that migrate."""
        d, turn, size = self.model.d, self.model.orientation.shape[1], self.model.velocity.shape[1]
        sleep = 0 if self.sleeping is None else SleepRows.width(size)
        widths = {"position": d, "orientation": turn, "velocity": size, "sleep": sleep}
        first = 0
        for each, width in widths.items():
            if each == name:
                return slice(first, first + width)
            first += width
        raise KeyError(name)

    def _owned(self) -> Owned:
        """Bodies and impulses of this rank, for redistribution; stores the walls."""
        mine, state, ids = np.flatnonzero(self.domain.is_own), self.state, self.domain.ids
        walls = np.flatnonzero(self.domain.owner < 0)
        self._wall_rows = ids[walls], state.position[walls], state.orientation[walls], state.velocity[walls]
        return Owned(ids[mine], _rows(state, self._sleep, mine), self.domain.in_model(state.impulses))

    def _renew(self) -> None:
        """Start a new epoch if some body has moved far or new bodies appear."""
        model, state, d = self.model, self.state, self.model.d
        born = int(np.searchsorted(model.birth, state.time, side="right"))
        if born > self._alive:
            self._appear(born)
        else:
            if self.domain.is_over(state.position, state.velocity, (1.0 - self.scheme.theta) * self.dt):
                self._begin_epoch(self._owned(), state, d)

    def _appear(self, born: int) -> None:
        """Add bodies that appear. Deposition needs the positions of all others, gathered on all ranks."""
        model, clock, old = self.model, self.state, self._alive
        own = self._owned()
        position, orientation = model.position[old:born], model.orientation[old:born]
        if model.laid is not None and model.laid[old:born].any():
            before = self.gathered_state(everywhere=True)
            assert before is not None
            after = with_births(model, before)
            position, orientation = after.position[old:], after.orientation[old:]
            if self.ranks.rank == 0:
                self.work += work_of_laying(model, before, after)
        new = np.arange(old, born)
        velocity, owned = model.velocity[old:born], self.layout.is_owned[old:born]
        mine = np.flatnonzero(owned)[self.ranks.rank :: self.ranks.size]
        rows = np.hstack((position[mine], orientation[mine], velocity[mine]))
        if self.sleeping is not None:
            rows = np.hstack((rows, SleepRows.none(len(mine), velocity.shape[1]).table()))
        order = np.argsort(ids := np.concatenate((own.ids, new[mine])))
        own = Owned(ids[order], np.concatenate((own.rows, rows))[order], own.impulses)
        fixed, walls = ~owned, self._wall_rows
        more = new[fixed], position[fixed], orientation[fixed], velocity[fixed]
        self._wall_rows = tuple(  # type: ignore[assignment]
            np.concatenate(pair) for pair in zip(walls, more, strict=True)
        )
        self._alive = born
        self._begin_epoch(own, clock, model.d)

    # ---------------------------------------------------------------- steps

    def step(self) -> None:
        """Advance by one time step."""
        alive = self._alive if self.state.step else int(np.sum(self.model.birth == -np.inf))
        with self.ranks.phase("share"):
            self._renew()
        count = 1
        if not math.isinf(self.scheme.travel):
            local = parts(self.domain.model, self.state, self.dt, self.scheme)
            count = int(self.ranks.largest(local))
        number, failed = self.state.step, False
        for k in range(count):
            if k:
                self._renew()
                self.state = replace(self.state, step=number)
            start, before = self.state, alive
            alive = self._alive
            self._part(self.dt / count)
            assert self.last is not None
            if alive > before and not self._has_warned_of_births:
                self._warn_of_births(start, self.last, before)
            failed |= not self.last.status.is_solved
            self._recent = max(self._recent, self.last.residual)
            self.worst = max(self.worst, self._recent)
        self.unsolved += failed
        if failed and self.on_unsolved == "raise":
            raise NotSolved(self.verdict)  # type: ignore[arg-type]

    def _part(self, dt: float) -> None:
        self.last = None  # frees the memory of its problem
        if self.sleeping is None or self._sleep is None:
            last_step = step_on_ranks(self.domain, self.state, dt, self.solver, self.scheme)
        else:
            last_step, self._sleep, self._round, lost = step_with_sleep_on_ranks(
                self.domain, self.state, dt, self.solver, self.scheme, self.sleeping, self._sleep, self._round
            )
            self.work -= lost
        self.state, self.last = last_step.state, last_step
        self.work += last_step.work
        self.external_work += last_step.given

    def _warn_of_births(self, start: State, last: RankStep, alive: int) -> None:
        """Warn once, on rank 0, of a grain that has appeared inside another body in a step from ``start``."""
        ids, contacts = self.domain.ids, last.contacts()
        new = int(np.searchsorted(ids, alive))
        found = deepest_birth(self.domain.model, contacts, start.velocity, last.state.dt, new)
        mine = None if found is None else Birth(int(ids[found.grain]), int(ids[found.other]), found.depth)
        births = [each for each in self.ranks.comm.allgather(mine) if each is not None]
        self._has_warned_of_births = bool(births)
        if births and self.ranks.rank == 0:
            deepest = max(births, key=lambda birth: birth.depth)
            warn(deepest.words(self.model, start.time))

    def worst_since(self) -> float:
        """Largest residual since the last call."""
        recent, self._recent = self._recent, 0.0
        return recent

    @property
    def verdict(self) -> Verdict:
        """Status of the contact problem of the last step."""
        last_step = self.last
        if last_step is None:
            return Verdict(Status.SOLVED, 0.0, 0, 0.0, self.solver.tol)
        return Verdict(
            last_step.status, last_step.residual, last_step.iterations, last_step.seconds, self.solver.tol
        )

    # ---------------------------------------------------------------- gathering

    def gathered_state(self, everywhere: bool = False) -> State | None:
        """The state of all bodies on rank 0, or on all ranks; None elsewhere."""
        state = self._gathered_state()
        return self.ranks.comm.bcast(state) if everywhere else state

    def _gathered_state(self) -> State | None:
        own, state = self._owned(), self.state
        pieces: Sequence[Any] | None = self.ranks.comm.gather((own.ids, own.rows))
        forces: Sequence[Any] | None = self.ranks.comm.gather(own.impulses)
        if pieces is None or forces is None:
            return None
        table = np.zeros((self._alive, own.rows.shape[1]))
        for ids, rows in pieces:
            table[ids] = rows
        walls, *rows = self._wall_rows
        for name, values in zip(("position", "orientation", "velocity"), rows, strict=True):
            table[walls, self._columns(name)] = values
        sleep = None
        if self.sleeping is not None:
            sleep = SleepRows.from_table(table[:, self._columns("sleep")]).as_sleep(self._round)
        return replace(
            state,
            position=table[:, self._columns("position")],
            orientation=table[:, self._columns("orientation")],
            velocity=table[:, self._columns("velocity")],
            impulses=Impulses.joined(forces),
            sleep=sleep,
        )

    def gathered(self) -> tuple[GatheredStep | None, State | None]:
        """The last step and the state it led to, on rank 0; None elsewhere. No step before the first."""
        last_step = self.last
        if last_step is None:
            return None, self.gathered_state()
        ids, c = self.domain.ids, last_step.contacts()
        contacts = replace(
            c,
            a=ids[c.a],
            b=ids[c.b],
            collider_a=self.domain.colliders[c.collider_a],
            collider_b=self.domain.colliders[c.collider_b],
        )
        pieces: Sequence[Any] | None = self.ranks.comm.gather((contacts, last_step.modes()))
        state = self.gathered_state()
        if pieces is None or state is None:
            return None, None
        fields = Contacts.__dataclass_fields__
        joined = Contacts(*(np.concatenate([getattr(each[0], name) for each in pieces]) for name in fields))
        mode = np.concatenate([each[1] for each in pieces])
        order = order_by_identity(joined.a, joined.b, joined.feature)
        back = replace(
            state, position=state.position - self.scheme.theta * state.dt * state.velocity[:, : self.model.d]
        )
        gathered = GatheredStep(state, back, joined.take(order), mode[order], self.verdict, last_step.joints)
        return gathered, state


def _rows(state: State, sleep: SleepRows | None, bodies: Indices) -> Array:
    """Rows of bodies for migration: position, orientation, velocity, and sleep in runs with sleep."""
    rows = np.hstack((state.position[bodies], state.orientation[bodies], state.velocity[bodies]))
    return rows if sleep is None else np.hstack((rows, sleep.table()[bodies]))
