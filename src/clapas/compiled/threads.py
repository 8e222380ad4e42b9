"""Threads that work in step: one launch for many sweeps, a barrier between the halves of each.

A kernel that releases Python's lock runs in several threads at once, each with its own
:class:`Worker`; inside it, :func:`wait` holds a worker until all have come. Compared with a parallel
loop launched for each half sweep, the threads start once, the kernel stays a plain sequential one
(quick to compile, the same machine code for one thread and for many), and no threading library is
needed.

A worker that waits spins for some microseconds, then lets other processes run: shared cores
cost time, not a collapse.

Dense matrices of contact problems are small: one thread multiplies them fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numba
from numba.np.ufunc import parallel as numba_parallel

from clapas.compiled import IS_SCALAR, WORTH_THREADS, config, inlined
from clapas.typing import Indices

if IS_SCALAR:
    from clapas.compiled.without_machine import arrive, leave_the_core, look, pause
else:
    from clapas.compiled.counters import arrive, leave_the_core, look, pause

parallel: Any = numba_parallel
RELEASED = 1 << 62  # a counter beyond every barrier
SHARE = WORTH_THREADS // 2  # contacts that keep a thread busy for longer than it takes to start it
MOST = 62  # threads at work together
SPINS = 300  # looks at a counter, some 6 µs, before leaving the core to others


class Worker(NamedTuple):
    """Rank of a thread among those that work together.

    Parameters
    ----------
    rank : int
        From 0 to size − 1.
    size : int
        Threads that work together.
    counter : array (1,)
        Arrivals at barriers so far, of all workers together.
    """

    rank: int
    size: int
    counter: Indices


@inlined
def chunk(worker: Worker, count: int) -> tuple[int, int]:
    """First and last of the pieces, of ``count``, that are this worker's."""
    return count * worker.rank // worker.size, count * (worker.rank + 1) // worker.size


@inlined
def wait(worker: Worker) -> None:
    """Go on when all workers have come here; what they wrote before is then seen."""
    if worker.size == 1:
        return
    arrived = arrive(worker.counter)
    # The counter never goes back: this barrier ends at the next multiple of the size.
    goal = min((arrived // worker.size + 1) * worker.size, RELEASED)
    spins = 0
    while look(worker.counter) < goal:
        spins += 1
        if spins > SPINS:
            leave_the_core()
        else:
            pause()


def release(worker: Worker) -> None:
    """Let nobody wait for a worker that has failed."""
    worker.counter[0] = RELEASED


def thread_count(wanted: int | None, work: int, pieces: int) -> int:
    """How many threads to use for some work (a number of contacts) that can be cut in pieces.

    None means a thread for each ``SHARE`` of the work, and no more than Numba is configured for; one in all
    cases where kernels do without threads.
    """
    if IS_SCALAR:
        return 1
    if wanted is None:
        wanted = 1 if work < WORTH_THREADS else min(_allowed()(), work // SHARE)
    return max(1, min(wanted, int(config.NUMBA_NUM_THREADS), pieces, MOST))


@cache
def _allowed() -> Callable[[], int]:
    """What says how many threads Numba may use at this moment.

    ``numba.get_num_threads`` locks its pool first, for as long as a small pass takes, tens of times a step.
    The function inside it does not; it is there once the pool is.
    """
    numba.get_num_threads()
    asked: Callable[[], int] = getattr(parallel, "_get_num_threads", numba.get_num_threads)
    return asked


@cache
def _libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  its library must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep the linear algebra libraries to one thread inside the block.

    Their threads wait for each other by spinning. On products of some hundred rows, and on a machine that
    others use, this has been measured to cost thirty times the product.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    before = [library.num_threads for library in _libraries()]  # quicker than threadpoolctl's own context
    try:
        for library in _libraries():
            library.set_num_threads(1)
        yield
    finally:
        for library, count in zip(_libraries(), before, strict=True):
            library.set_num_threads(count)
