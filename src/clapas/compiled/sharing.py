"""Work on many bodies or contacts, shared by threads.

:func:`launch` runs a kernel in several threads, :func:`run_on_threads` a Python function that calls kernels.
Both return when all threads are done; an error in one is raised here, after all have ended.
"""

from __future__ import annotations

import atexit
import os
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from clapas.compiled.threads import Worker, chunk, thread_count

if TYPE_CHECKING:
    from clapas.compiled.teams import Team

ALONE = Worker(0, 1, np.zeros(1, dtype=np.int64))
"""Who works alone, waits for nobody, and never looks at the counter."""

_at_leisure: defaultdict[int, list[Team]] = defaultdict(list)


def launch(size: int, function: Callable[..., None], *arguments: Any) -> None:
    """Run a kernel in ``size`` threads at once, this one and others, each with a worker as first argument.

    Parameters
    ----------
    size : int
        Number of threads.
    function : kernel
        Takes a :class:`Worker` and the arguments, and returns nothing.
    *arguments
        The other arguments: numbers, arrays, named tuples.
    """
    if size == 1:
        function(ALONE, *arguments)
        return
    team = _free_team(size)
    try:
        team.launch(function, arguments)
    finally:
        _put_back(team)


def run_on_threads(size: int, work: Callable[[Worker], None]) -> None:
    """Run a Python function in ``size`` threads at once, one of them this one."""
    if size == 1:
        work(ALONE)
        return
    team = _free_team(size)
    try:
        team.run(work)
    finally:
        _put_back(team)


def _free_team(size: int) -> Team:
    """A team that nobody else uses: threads that launch at once have a team each."""
    try:
        return _at_leisure[size].pop()
    except IndexError:
        from clapas.compiled.teams import Team  # leans on the insides of Numba, which one thread does without

        return Team(size)


def _put_back(team: Team) -> None:
    if team.is_idle:
        _at_leisure[team.size].append(team)


def share_rows(count: int, work: Callable[[slice], None]) -> None:
    """Do some work on ``count`` rows, which threads share where they are many."""

    def own(worker: Worker) -> None:
        first, last = chunk(worker, count)
        work(slice(first, last))

    run_on_threads(thread_count(None, count, count), own)


def share_visits(count: int, function: Callable[..., None], *arguments: Any) -> None:
    """Run a kernel that visits ``count`` bodies or contacts, in several threads where these are many."""
    launch(thread_count(None, count, count), function, *arguments)


@atexit.register
def _dismiss() -> None:
    for teams in _at_leisure.values():
        while teams:
            teams.pop().dismiss()


if hasattr(os, "register_at_fork"):  # a forked process has no threads but this one
    os.register_at_fork(after_in_child=_at_leisure.clear)
