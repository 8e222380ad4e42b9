"""Teams of threads that stand by between launches.

A pool hands work over through queues and Python's lock: it takes 60 µs until the other thread works, as long
as a pass over thirty thousand contacts. The members of a team watch a bell instead, in a kernel without
Python's lock, and are at work after some microseconds. Who has watched for a fifth of a millisecond in vain
goes to sleep.
"""

from __future__ import annotations

import atexit
import os
from collections import defaultdict
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

import numpy as np

from clapas.compiled import IS_SCALAR, kernel
from clapas.compiled.threads import SPINS, Worker, chunk, release, thread_count
from clapas.typing import Indices

if IS_SCALAR:
    from clapas.compiled.without_machine import arrive, leave_the_core, look, pause
else:
    from clapas.compiled.counters import arrive, leave_the_core, look, pause

PATIENCE = 8000  # looks at the bell, some 200 µs, before a member goes to sleep
BREATH = 200  # pauses after the bell: who rang it holds Python's lock until it is in a kernel itself

Work = Callable[[Worker], None]


class Team:
    """Threads that do the same work at once, each its share; the one that launches it is one of them.

    Parameters
    ----------
    size : int
        Threads of the team, two or more.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._bell, self._done, counter = (np.zeros(1, dtype=np.int64) for _ in range(3))
        self._workers = [Worker(rank, size, counter) for rank in range(size)]
        self._counter = counter
        self._work: Work | None = None
        self._errors: list[BaseException] = []
        self._sleeps = [False] * size
        self._alarms: list[SimpleQueue[None]] = [SimpleQueue() for _ in range(size)]
        self._members = [
            Thread(target=self._serve, args=(rank,), name=f"clapas-{rank}", daemon=True)
            for rank in range(1, size)
        ]
        for member in self._members:
            member.start()

    def run(self, work: Work) -> None:
        """Do the work; return when all members have done their shares."""
        self._counter[0] = 0
        try:  # an interrupt may come anywhere
            self._ring(work)
            work(self._workers[0])
        except BaseException:
            release(self._workers[0])
            raise
        finally:
            self._wake()
            settle(self._done, (int(self._bell[0]) + 1) * (self.size - 1))
            self._work = None
            errors, self._errors = self._errors, []
        if errors:
            raise errors[0]

    def dismiss(self) -> None:
        """Let the members go home."""
        self._ring(None)
        for member in self._members:
            member.join()

    def _ring(self, work: Work | None) -> None:
        self._work = work
        self._bell[0] += 1
        self._wake()

    def _wake(self) -> None:
        for rank in range(1, self.size):
            if self._sleeps[rank]:
                self._sleeps[rank] = False
                self._alarms[rank].put(None)

    def _serve(self, rank: int) -> None:
        seen = 0
        while True:
            if not watch(self._bell, seen, self._done):
                self._sleep(rank, seen)
            seen += 1
            if self._work is None:
                return
            try:
                self._work(self._workers[rank])
            except BaseException as error:  # raised by who launched the work
                release(self._workers[rank])
                self._errors.append(error)

    def _sleep(self, rank: int, seen: int) -> None:
        """Sleep until the bell has rung; an alarm may be left over from a time when nobody slept."""
        while self._bell[0] == seen:
            self._sleeps[rank] = True
            if self._bell[0] == seen:
                self._alarms[rank].get()


@kernel
def watch(bell: Indices, seen: int, done: Indices) -> bool:
    """Tell that the last work is done, then watch the bell; return whether it rang before patience ended."""
    arrive(done)
    looks = 0
    while look(bell) == seen:
        looks += 1
        if looks > PATIENCE:
            return False
        pause()  # who left the core to others would come back when they are done; sleepers come at once
    for _ in range(BREATH):
        pause()
    return True


@kernel
def settle(done: Indices, goal: int) -> None:
    """Wait until the members have told so many times that they are done."""
    looks = 0
    while look(done) < goal:
        looks += 1
        if looks <= SPINS:
            pause()
        else:
            leave_the_core()


ALONE = Worker(0, 1, np.zeros(1, dtype=np.int64))
"""Who works alone, waits for nobody, and never looks at the counter."""

_at_leisure: defaultdict[int, list[Team]] = defaultdict(list)


def run_on_threads(size: int, work: Work) -> None:
    """Run ``work`` in ``size`` threads at once, one of them this one."""
    if size == 1:
        work(ALONE)
        return
    free = _at_leisure[size]
    try:
        team = free.pop()  # threads of the caller's that launch at once have a team each
    except IndexError:
        team = Team(size)
    try:
        team.run(work)
    finally:
        free.append(team)


def share_rows(count: int, work: Callable[[slice], None]) -> None:
    """Do some work on ``count`` rows, which threads share where they are many."""

    def own(worker: Worker) -> None:
        first, last = chunk(worker, count)
        work(slice(first, last))

    share_work(count, own)


def share_work(count: int, work: Work) -> None:
    """Do some work of ``count`` visits of contacts, which threads share where they are many."""
    run_on_threads(thread_count(None, count, count), work)


@atexit.register
def _dismiss() -> None:
    for teams in _at_leisure.values():
        while teams:
            teams.pop().dismiss()


if hasattr(os, "register_at_fork"):  # a forked process has no threads but this one
    os.register_at_fork(after_in_child=_at_leisure.clear)
