"""Sleep on many ranks: the rules of :mod:`clapas.dynamics.sleep`, impulses summed over the ranks.

Owners decide on sleep and waking of their bodies, from the contacts of all ranks, and inform the ranks that
hold copies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clapas.distributed.domain import Domain
from clapas.distributed.stepping import RankStep, step_on_ranks
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.sleep import Sleeping, judged, overloaded
from clapas.dynamics.state import Sleep, State
from clapas.solvers.loop import Solver
from clapas.typing import Array, Mask


@dataclass(frozen=True)
class SleepRows:
    """Sleep state of some bodies: :class:`clapas.dynamics.state.Sleep` as rows."""

    asleep: Mask
    moved: Array
    pace: Array
    load: Array
    borne: Array

    @staticmethod
    def width(size: int) -> int:
        """Columns of :meth:`table`, for bodies of ``size`` degrees of freedom."""
        return size + 4

    @staticmethod
    def none(n: int, size: int) -> SleepRows:
        """Empty history of n bodies."""
        return SleepRows(
            np.zeros(n, dtype=bool), np.zeros((n, size)), np.full(n, np.inf), np.zeros(n), np.zeros(n)
        )

    @staticmethod
    def of(sleep: Sleep | None, n: int, size: int) -> SleepRows:
        """The rows of n bodies."""
        if sleep is None:
            return SleepRows.none(n, size)
        sleep = sleep.of_more(n)
        return SleepRows(sleep.asleep, sleep.moved, sleep.pace, sleep.load, sleep.borne)

    def table(self) -> Array:
        """As numbers, (n, size + 4)."""
        columns = [self.asleep[:, None].astype(float), self.moved]
        return np.hstack(columns + [each[:, None] for each in (self.pace, self.load, self.borne)])

    @staticmethod
    def from_table(table: Array) -> SleepRows:
        """The rows of a table of numbers."""
        return SleepRows(
            table[:, 0] > 0.0,
            table[:, 1:-3].copy(),
            table[:, -3].copy(),
            table[:, -2].copy(),
            table[:, -1].copy(),
        )

    def as_sleep(self, step: int) -> Sleep:
        """The sleep state, at a step of the round of watch and rest."""
        return Sleep(step, self.asleep, self.moved, self.pace, self.load, self.borne)


def step_with_sleep_on_ranks(
    domain: Domain,
    state: State,
    dt: float,
    solver: Solver,
    scheme: MoreauJean,
    sleeping: Sleeping,
    rows: SleepRows,
    turn: int,
) -> tuple[RankStep, SleepRows, int, float]:
    """One step with sleeping bodies held; new history, step of the round, energy removed (J)."""
    asleep = rows.asleep
    while True:
        done = step_on_ranks(domain, state, dt, solver, scheme, asleep)
        borne = _borne(domain, done)
        woken = _woken(domain, rows, asleep, borne, done, dt, sleeping)
        if not domain.ranks.any(bool(woken.any())):
            break
        asleep = asleep & ~woken
    return _updated(domain, done, replace(rows, asleep=asleep), borne, dt, sleeping, turn + 1)


def _summed(domain: Domain, column: Any) -> Array:
    """Sums over the ranks of a number for each body, alike on all copies."""
    table = np.array(column, dtype=np.float64)[:, None]
    domain.ghosts.to_owners(table)
    domain.ghosts.from_owners(table)
    return table[:, 0]


def _borne(domain: Domain, done: RankStep) -> Array:
    """Sum of the sizes of the impulses each body bears, (n,): a sleeper those from bodies that are awake."""
    impulses, n = done.state.impulses, len(domain.ids)
    size = np.linalg.norm(impulses.impulse, axis=1)
    if done.solved is not None:
        size[~done.solved] = 0.0
    return _summed(domain, np.bincount(impulses.a, size, n) + np.bincount(impulses.b, size, n))


def _woken(
    domain: Domain,
    rows: SleepRows,
    asleep: Mask,
    borne: Array,
    done: RankStep,
    dt: float,
    sleeping: Sleeping,
) -> Mask:
    """Sleeping bodies to wake: overloaded ones with their neighbours, and those touching driven bodies."""
    source = asleep & overloaded(domain.model, rows.load, rows.borne, borne, dt, sleeping)
    source[list(domain.model.motions)] = True
    a, b = done.state.impulses.a, done.state.impulses.b
    woken = source.copy()
    woken[b[source[a]]] = True
    woken[a[source[b]]] = True
    return np.asarray((_summed(domain, woken.astype(float)) > 0.0) & asleep)


def _updated(
    domain: Domain, done: RankStep, rows: SleepRows, borne: Array, dt: float, sleeping: Sleeping, turn: int
) -> tuple[RankStep, SleepRows, int, float]:
    """Update the sleep history after a step; at the end of a watch, put bodies to sleep."""
    state, n, size = done.state, len(domain.ids), done.state.velocity.shape[1]
    if turn > sleeping.watch:  # the rest
        rows = replace(rows, borne=rows.borne + borne)
        if turn == sleeping.watch + sleeping.rest:
            return done, replace(SleepRows.none(n, size), pace=rows.pace), 0, 0.0
        return done, rows, turn, 0.0
    rows = replace(rows, moved=rows.moved + dt * state.velocity, load=rows.load + borne)
    if turn < sleeping.watch:
        return done, rows, turn, 0.0
    judgement = judged(domain.model, rows.as_sleep(turn), dt, sleeping)
    if not domain.ranks.any(bool((judgement.asleep & domain.is_own).any())):
        return done, replace(SleepRows.none(n, size), pace=judgement.pace), 0, 0.0
    asleep = judgement.asleep
    own = asleep & domain.is_own
    energy_removed = 0.5 * float(np.sum(domain.model.masses_of(own) * state.velocity[own] ** 2))
    velocity = np.where(asleep[:, None], 0.0, state.velocity)
    done = replace(done, state=replace(state, velocity=velocity))
    return done, replace(rows, asleep=asleep, pace=judgement.pace), turn, energy_removed
