"""Teams of threads that stand by between launches.

A pool hands work over through queues and Python's lock: it takes 60 µs until the other thread works, as long
as a pass over thirty thousand contacts. The members of a team watch a desk instead, in a kernel without
Python's lock (:mod:`clapas.compiled.launches`), and are at work after a microsecond. Who has watched for a
fifth of a millisecond in vain goes to sleep.

What a team does at once is a kernel, or a Python function that calls kernels: the second starts later, for
want of Python's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from clapas.compiled.launches import (
    CALLS,
    DESK,
    DONE,
    LEFT,
    RETURNS,
    ROOM,
    come_back,
    finish,
    launching,
    settle,
    stand_by,
)
from clapas.compiled.threads import Worker, release

Work = Callable[[Worker], None]


class Team:
    """Threads that do the same work at once, each its share; the one that launches it is one of them.

    Parameters
    ----------
    size : int
        Threads of the team, two or more.

    Attributes
    ----------
    is_idle : bool
        Whether all members have ended their work. A second interrupt, while the first is dealt with, may
        leave some at work: such a team must not be used again.
    """

    def __init__(self, size: int) -> None:
        self.size, self.is_idle = size, True
        self._desk, counter = np.zeros(DESK, dtype=np.int64), np.zeros(1, dtype=np.int64)
        self._frame = np.zeros(ROOM // 8 + 1)
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
        # Compiled now: an interrupt during a launch needs them at once.
        finish(self._desk, 0, True)
        settle(self._desk, RETURNS, 0)

    def launch(self, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Run a kernel in all threads; return when all have done their shares."""
        hand_out = launching(function)
        self.is_idle = False
        self._counter[0] = 0
        self._frame[-1] = 0.0  # no share has failed
        self._desk[DONE] = self.size  # nobody is waited for if the kernel cannot be compiled
        try:  # an interrupt may come anywhere
            hand_out(self._desk, self._frame, self.size, self._counter, *arguments)
            self._wake()
            finish(self._desk, self.size, False)
            self.is_idle = True
        except BaseException:
            release(self._workers[0])
            finish(self._desk, self.size, True)
            self.is_idle = True
            raise
        if self._frame[-1]:
            name = getattr(function, "__name__", repr(function))
            raise RuntimeError(f"{name} failed in one of {self.size} threads; NUMBA_NUM_THREADS=1 shows why")

    def run(self, work: Work) -> None:
        """Do the work; return when all members have done their shares."""
        self.is_idle, self._errors = False, []
        self._counter[0] = 0
        try:  # an interrupt may come anywhere
            self._call(work)
            work(self._workers[0])
        except BaseException:
            release(self._workers[0])
            raise
        finally:
            self._wake()
            settle(self._desk, RETURNS, int(self._desk[CALLS]) * (self.size - 1))
            self._work, self.is_idle = None, True
            errors, self._errors = self._errors, []
        if errors:
            raise errors[0]

    def dismiss(self) -> None:
        """Let the members go home."""
        self._call(None)
        for member in self._members:
            member.join()

    def _call(self, work: Work | None) -> None:
        self._work = work
        self._desk[CALLS] += 1
        self._wake()

    def _wake(self) -> None:
        for rank in range(1, self.size):
            if self._sleeps[rank]:
                self._sleeps[rank] = False
                self._alarms[rank].put(None)

    def _serve(self, rank: int) -> None:
        calls = 0
        while True:
            if not stand_by(self._desk, rank, calls):
                self._sleep(rank, calls)
                continue
            calls += 1
            if self._work is None:
                return
            try:
                self._work(self._workers[rank])
            except BaseException as error:  # raised by who launched the work
                release(self._workers[rank])
                self._errors.append(error)
            come_back(self._desk)

    def _sleep(self, rank: int, calls: int) -> None:
        """Sleep until there is something to do; an alarm may be left over from a time when nobody slept.

        Who launches writes to the desk before it looks for sleepers, and both look under Python's lock: the
        launch finds the sleeper, or the sleeper finds the launch.
        """
        while self._desk[CALLS] == calls and not self._desk[LEFT]:
            self._sleeps[rank] = True
            if self._desk[CALLS] == calls and not self._desk[LEFT]:
                self._alarms[rank].get()
