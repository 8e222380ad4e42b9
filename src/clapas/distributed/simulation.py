"""A run on many ranks: epochs, steps, births, and what rank 0 gathers for a recording.

The loop is that of :mod:`clapas.scenes.simulation`. Each rank holds the constant model and the changing rows
of its own bodies, copies and walls. Frames that are kept are gathered on rank 0, which writes them: one file,
in the format and with the promises of a run on one rank.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clapas.collision.detector import radix_of
from clapas.distributed.bisection import Bisection
from clapas.distributed.communication import Ranks
from clapas.distributed.domain import SLACK, Domain, Layout, Owned, domain, partition
from clapas.distributed.sleeping import SleepRows, step_with_sleep_on_ranks
from clapas.distributed.solving import sweeping
from clapas.distributed.stepping import RankStep, reach_of, step_on_ranks
from clapas.dynamics.births import initial_state, with_births, work_of_laying
from clapas.dynamics.model import Impulses, Model, State
from clapas.dynamics.readings import read
from clapas.dynamics.sleeping import Sleeping
from clapas.dynamics.stepping import MoreauJean, MoreauMidpoint
from clapas.dynamics.subdivision import parts
from clapas.errors import Error, NotSolved, SettingsError
from clapas.geometry.colliders import Contacts
from clapas.scenes.simulation import (
    Advance,
    Kept,
    OnUnsolved,
    Recorder,
    Summary,
    Watcher,
    check_run,
    energy,
    interrupts,
    named_solver,
)
from clapas.solvers.loop import Solver
from clapas.status import Status
from clapas.typing import Array, Indices


@dataclass(frozen=True)
class Verdict:
    """How the contact problem of all ranks ended: what a recording keeps of a solution."""

    status: Status
    residual: float
    iterations: int
    time: float
    tol: float


@dataclass(frozen=True)
class GatheredStep:
    """A step with the contacts of all ranks, on rank 0: what recorders and probes need of a step.

    Parameters
    ----------
    state, middle : State
        Where it led, and where contacts were found (positions only).
    contacts : Contacts
        Of all ranks, bodies and colliders numbered as in the model.
    modes : array (n,)
        Whether each is open (0), sticking (1) or sliding (2).
    solution : Verdict
        How the contact problem ended.
    """

    state: State
    middle: State
    contacts: Contacts
    modes: Indices
    solution: Verdict


def check_model(model: Model, scheme: MoreauJean, ranks: Ranks) -> None:
    """Refuse what does not run on several ranks yet, with the way out."""
    if ranks.size == 1:
        return
    one = "run it on one rank, without mpirun"
    if model.systems:
        raise SettingsError(
            f"'{model.systems[0].name}' is no rigid body, and cannot be run on several ranks: {one}"
        )
    if model.joints is not None:
        raise SettingsError(f"the scene has joints, which cannot be run on several ranks: {one}")
    if model.laws.has_sections:
        raise SettingsError(f"friction cones with corners cannot be run on several ranks: {one}")
    if scheme.projection > 0.0:
        raise SettingsError(
            f"projection moves all bodies together, and cannot be run on several ranks: {one}"
        )


class RankSimulation:
    """A model in motion on many ranks; all of them make it, and call its methods, together.

    Parameters
    ----------
    model : Model
        What moves: the same on all ranks.
    dt : float
        Time step (s).
    ranks : Ranks
        The processes.
    solver, scheme, sleeping, on_unsolved
        As for one rank; the solver is ``auto`` or ``nsgs``.
    state : State, optional
        Where to start, all bodies, the same on all ranks; by default where the model is.
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
        sweeping(self.solver)  # refuses what ranks cannot use
        check_model(model, self.scheme, ranks)
        self.layout = Layout(model, ranks, radix_of(model.colliders))
        self.work = self.external_work = 0.0  # what this rank adds
        self.unsolved, self.worst, self.epochs = 0, 0.0, 0
        self.last: RankStep | None = None
        self._alive = 0
        self._wall_rows: tuple[Indices, Array, Array, Array]
        self._cuts: Bisection | None = None
        self._start(initial_state(model) if state is None else state)

    # ---------------------------------------------------------------- epochs

    def _start(self, state: State) -> None:
        """Share out a state that all ranks know."""
        d, movable = self.model.d, self.model.movable[: state.n_bodies]
        rank, size = self.ranks.rank, self.ranks.size
        mine = np.flatnonzero(movable)[rank::size]
        impulses = state.impulses.take(np.arange(len(state.impulses.a))[rank::size])
        self._alive = state.n_bodies
        self._round = 0 if state.sleep is None else state.sleep.step
        own = Owned(
            mine,
            _rows(state, SleepRows.of(state.sleep, state.n_bodies, state.velocity.shape[1]), mine),
            impulses,
        )
        walls = np.flatnonzero(~movable)
        self._wall_rows = walls, state.position[walls], state.orientation[walls], state.velocity[walls]
        self._begin_epoch(own, state, d)

    def _begin_epoch(self, own: Owned, clock: State, d: int) -> None:
        """Give bodies to their owners, make the domain and its state. ``clock`` has time, step and dt."""
        self.epochs += 1
        fastest = float(
            np.sqrt(np.max(np.sum(own.rows[:, self._columns("velocity")][:, :d] ** 2, axis=1), initial=0.0))
        )
        gained = self.dt * float(np.linalg.norm(self.model.gravity))
        slack = max(SLACK * self.layout.radius, 2.0 * self.dt * (self.ranks.largest(fastest) + gained))
        near = max(reach_of(self.model, self.scheme, self.dt), 1e-9 * self.layout.radius)
        self._cuts, own = partition(self.layout, own, d, self._cuts)
        walls, *rows = self._wall_rows
        self.domain: Domain = domain(self.layout, self._cuts, own, walls, d, slack, near)
        ids, n = self.domain.ids, len(self.domain.ids)
        width = own.rows.shape[1]
        table = np.zeros((n, width))
        table[np.searchsorted(ids, own.ids)] = own.rows
        at = np.searchsorted(ids, walls)
        for name, values in zip(("position", "orientation", "velocity"), rows, strict=True):
            table[at, self._columns(name)] = values
        self.domain.ghosts.from_owners(table)
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
        widths = {"position": d, "orientation": turn, "velocity": size, "sleep": SleepRows.width(size)}
        first = 0
        for each, width in widths.items():
            if each == name:
                return slice(first, first + width)
            first += width
        raise KeyError(name)

    def _owned(self) -> Owned:
        """What this rank owns, to be shared out again; walls are put aside."""
        mine, state, ids = np.flatnonzero(self.domain.is_own), self.state, self.domain.ids
        walls = np.flatnonzero(self.domain.owner < 0)
        self._wall_rows = ids[walls], state.position[walls], state.orientation[walls], state.velocity[walls]
        return Owned(ids[mine], _rows(state, self._sleep, mine), self.domain.in_model(state.impulses))

    def _renew(self) -> None:
        """End the epoch if some body has moved far; let bodies appear."""
        model, state, d = self.model, self.state, self.model.d
        born = int(np.searchsorted(model.birth, state.time, side="right"))
        if born > self._alive:
            self._appear(born)
        else:
            ahead = state.position + (1.0 - self.scheme.theta) * self.dt * state.velocity[:, :d]
            if self.domain.is_over(ahead) or self.domain.is_over(state.position):
                self._begin_epoch(self._owned(), state, d)

    def _appear(self, born: int) -> None:
        """Bodies that appear. Those laid on others need to know where these are: all ranks gather them."""
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
        velocity, movable = model.velocity[old:born], model.movable[old:born]
        mine = np.flatnonzero(movable)[self.ranks.rank :: self.ranks.size]
        fresh = SleepRows.none(len(mine), velocity.shape[1])
        rows = np.hstack((position[mine], orientation[mine], velocity[mine], fresh.table()))
        order = np.argsort(ids := np.concatenate((own.ids, new[mine])))
        own = Owned(ids[order], np.concatenate((own.rows, rows))[order], own.impulses)
        fixed, walls = ~movable, self._wall_rows
        more = new[fixed], position[fixed], orientation[fixed], velocity[fixed]
        self._wall_rows = tuple(  # type: ignore[assignment]
            np.concatenate(pair) for pair in zip(walls, more, strict=True)
        )
        self._alive = born
        self._begin_epoch(own, clock, model.d)

    # ---------------------------------------------------------------- steps

    def step(self) -> None:
        """Advance by one time step."""
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
            self._part(self.dt / count)
            assert self.last is not None
            failed |= not self.last.status.is_solved
            self.worst = max(self.worst, self.last.residual)
        self.unsolved += failed
        if failed and self.on_unsolved == "raise":
            raise NotSolved(self.verdict)  # type: ignore[arg-type]

    def _part(self, dt: float) -> None:
        if self.sleeping is None:
            done = step_on_ranks(self.domain, self.state, dt, self.solver, self.scheme)
        else:
            done, self._sleep, self._round, lost = step_with_sleep_on_ranks(
                self.domain, self.state, dt, self.solver, self.scheme, self.sleeping, self._sleep, self._round
            )
            self.work -= lost
        self.state, self.last = done.state, done
        self.work += done.work
        self.external_work += done.given

    @property
    def verdict(self) -> Verdict:
        """How the contact problem of the last step ended."""
        done = self.last
        if done is None:
            return Verdict(Status.SOLVED, 0.0, 0, 0.0, self.solver.tol)
        return Verdict(done.status, done.residual, done.iterations, done.seconds, self.solver.tol)

    # ---------------------------------------------------------------- gathering

    def gathered_state(self, everywhere: bool = False) -> State | None:
        """The state of all bodies on rank 0, or on all ranks; None elsewhere."""
        own, state, d = self._owned(), self.state, self.model.d
        pieces = self._gathered((own.ids, own.rows), everywhere)
        forces = self._gathered(own.impulses, everywhere)
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
        joined = _joined(forces, d)
        return replace(
            state,
            position=table[:, self._columns("position")],
            orientation=table[:, self._columns("orientation")],
            velocity=table[:, self._columns("velocity")],
            impulses=joined.take(np.lexsort((joined.feature, joined.b, joined.a))),
            sleep=sleep,
        )

    def _gathered(self, item: Any, everywhere: bool) -> Sequence[Any] | None:
        comm = self.ranks.comm
        gathered: Sequence[Any] | None = comm.allgather(item) if everywhere else comm.gather(item)
        return gathered

    def gathered(self) -> tuple[GatheredStep | None, State | None]:
        """The last step and the state it led to, on rank 0; None elsewhere. No step before the first."""
        done = self.last
        if done is None:
            return None, self.gathered_state()
        ids, c = self.domain.ids, done.contacts
        contacts = replace(
            c,
            a=ids[c.a],
            b=ids[c.b],
            collider_a=self.domain.colliders[c.collider_a],
            collider_b=self.domain.colliders[c.collider_b],
        )
        pieces = self._gathered((contacts, done.mode), False)
        state = self.gathered_state()
        if pieces is None or state is None:
            return None, None
        fields = Contacts.__dataclass_fields__
        joined = Contacts(*(np.concatenate([getattr(each[0], name) for each in pieces]) for name in fields))
        mode = np.concatenate([each[1] for each in pieces])
        order = np.lexsort((joined.feature, joined.b, joined.a))
        back = replace(
            state, position=state.position - self.scheme.theta * state.dt * state.velocity[:, : self.model.d]
        )
        return GatheredStep(state, back, joined.take(order), mode[order], self.verdict), state


def _rows(state: State, sleep: SleepRows, bodies: Indices) -> Array:
    """Rows of some bodies as they migrate: position, orientation, velocity, sleep."""
    return np.hstack(
        (state.position[bodies], state.orientation[bodies], state.velocity[bodies], sleep.table()[bodies])
    )


def _joined(forces: Sequence[Impulses], d: int) -> Impulses:
    fields = "a b feature impulse couple".split()
    return Impulses(*(np.concatenate([getattr(each, name) for each in forces]) for name in fields))


def simulate_on_ranks(
    model: Model,
    duration: float,
    dt: float,
    ranks: Ranks,
    solver: Solver | None = None,
    *,
    scheme: MoreauJean | None = None,
    sleeping: Sleeping | None = None,
    every: int = 1,
    on_unsolved: OnUnsolved = "raise",
    recorder: Recorder | None = None,
    state: State | None = None,
    work: float = 0.0,
    given: float = 0.0,
    progress: Watcher | None = None,
) -> Summary:
    """Run a model on all ranks, which call this together, and keep every so many steps.

    It is :func:`clapas.scenes.simulation.simulate` with the same settings. The recorder is that of rank 0,
    None on the others; ``state``, where to go on from, is the same on all.
    """
    check_run(duration, dt, every, on_unsolved)
    began = time.perf_counter()
    sim = RankSimulation(
        model, dt, ranks, solver, scheme, sleeping=sleeping, on_unsolved=on_unsolved, state=state
    )
    first, steps, kept = sim.state.step, round(duration / dt), -1
    accounts = np.array([work, given])

    def keep() -> None:
        nonlocal kept
        kept = sim.state.step
        done, where = sim.gathered()
        sums = accounts + ranks.total([sim.work, sim.external_work])
        if recorder is not None and where is not None:
            step: Any = done
            recorder.keep(Kept(step, where, energy(model, where), float(sums[0]), float(sums[1])))

    def note() -> None:
        if not model.probes:
            return
        done, where = sim.gathered()
        if recorder is not None and where is not None:
            steps_done: Any = [] if done is None else [done]
            recorder.note(read(model, steps_done, where))

    def record(due: bool) -> None:
        """Let rank 0 write; a disk that is full ends the run on all ranks."""
        failure = None
        try:
            note()
            if due:
                keep()
        except (Error, OSError) as error:
            failure = error
        ranks.agree(failure)

    if state is None:
        record(due=True)
    stopped = False
    with interrupts() as interrupted:
        while sim.state.step < steps and not stopped:
            unsolved: NotSolved | None = None
            try:
                sim.step()
            except NotSolved as error:
                unsolved = error
            due = unsolved is not None or sim.state.step % every == 0
            if due or model.probes:
                record(due)
            if unsolved is not None:
                raise unsolved
            wish = interrupted.is_set()
            if progress is not None:
                seconds, done = time.perf_counter() - began, sim.last
                assert done is not None
                report = done.n_contacts, done.residual, seconds
                wish |= bool(progress(Advance(sim.state.step, steps, sim.state.time, *report)))
            stopped = ranks.largest(float(wish)) > 0.0
    if kept != sim.state.step and sim.state.step > first:
        record(due=True)
    sums = accounts + ranks.total([sim.work, sim.external_work])
    status = Status.ALMOST_SOLVED if sim.unsolved else Status.SOLVED
    if sim.state.step < steps:
        status = Status.STOPPED
    return Summary(
        sim.state,
        sim.state.step - first,
        sim.unsolved,
        sim.worst,
        float(sums[0]),
        float(sums[1]),
        status,
        time.perf_counter() - began,
    )
