"""Threads that work in step: one launch for many sweeps, a barrier between the halves of each.

A kernel that releases Python's lock runs in several threads at once, each with its own
:class:`Member`; inside it, :func:`wait` holds a member until all have come. Compared with a parallel
loop launched for each half sweep, the threads start once, the kernel stays a plain sequential one
(quick to compile, the same machine code for one thread and for many), and no threading library is
needed.

A member that waits spins for some microseconds, then lets other processes run: shared cores
cost time, not a collapse.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils as numba_cgutils
from numba.core import types

from clapas.compiled import WORTH_THREADS, config, inlined, intrinsic
from clapas.typing import Indices

cgutils: Any = numba_cgutils

RELEASED = 1 << 62  # a counter beyond every barrier
SPINS = 4000  # looks at the counter before leaving the core to others
YIELD = "SwitchToThread" if os.name == "nt" else "sched_yield"


class Member(NamedTuple):
    """Who a thread is among those that work together.

    Parameters
    ----------
    rank : int
        From 0 to size − 1.
    size : int
        Threads that work together.
    counter : array (1,)
        Arrivals at barriers so far, of all members together.
    """

    rank: int
    size: int
    counter: Indices


@intrinsic
def _arrive(context: Any, counter: Any) -> Any:
    """Add one to the counter; return what it was."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(counter)(context, builder, values[0]).data
        return builder.atomic_rmw("add", data, ir.Constant(ir.IntType(64), 1), "acq_rel")

    return types.int64(counter), emit


@intrinsic
def _look(context: Any, counter: Any) -> Any:
    """The counter as the other members left it."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(counter)(context, builder, values[0]).data
        return builder.load_atomic(data, "acquire", 8)

    return types.int64(counter), emit


@intrinsic
def _leave_the_core(context: Any) -> Any:
    """Let another thread or process run."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), YIELD)
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), emit


@inlined
def share(member: Member, count: int) -> tuple[int, int]:
    """First and last of the pieces, of ``count``, that are this member's."""
    return count * member.rank // member.size, count * (member.rank + 1) // member.size


@inlined
def wait(member: Member) -> None:
    """Go on when all members have come here; what they wrote before is then seen."""
    if member.size == 1:
        return
    arrived = _arrive(member.counter)
    # The counter never goes back: this barrier ends at the next multiple of the size.
    goal = min((arrived // member.size + 1) * member.size, RELEASED)
    spins = 0
    while _look(member.counter) < goal:
        spins += 1
        if spins > SPINS:
            _leave_the_core()


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="clapas")


_submitting = Lock()
if hasattr(os, "register_at_fork"):  # a forked process has no threads but this one
    os.register_at_fork(after_in_child=_pool.cache_clear)


def team_size(wanted: int | None, work: int, pieces: int) -> int:
    """How many threads to use for some work (a number of contacts) that can be cut in pieces.

    None means one thread for little work, else as many as Numba is configured for.
    """
    if wanted is None:
        wanted = 1 if work < WORTH_THREADS else numba.get_num_threads()
    return max(1, min(wanted, int(config.NUMBA_NUM_THREADS), pieces))


def together(size: int, work: Callable[[Member], None]) -> None:
    """Run ``work`` in ``size`` threads at once, one of them this one."""
    counter = np.zeros(1, dtype=np.int64)
    if size == 1:
        work(Member(0, 1, counter))
        return
    members = [Member(rank, size, counter) for rank in range(size)]
    with _submitting:  # teams queue up whole: two half teams would wait for each other
        others = [_pool(size - 1).submit(_do, work, member) for member in members[1:]]
    _do(work, members[0])
    for other in others:
        other.result()


def _do(work: Callable[[Member], None], member: Member) -> None:
    try:
        work(member)
    except BaseException:
        member.counter[0] = RELEASED  # nobody waits for a member that failed
        raise
