"""The same as counters and prefetching for one thread, in plain Python that any Numba compiles."""

from __future__ import annotations

from clapas.compiled import inlined
from clapas.typing import Array, Indices


@inlined
def arrive(counter: Indices) -> int:
    """Add one to the counter; return what it was."""
    counter[0] += 1
    return int(counter[0] - 1)


@inlined
def look(counter: Indices) -> int:
    """The counter."""
    return int(counter[0])


@inlined
def leave_the_core() -> None:
    """Nothing: there is no other thread to wait for."""


@inlined
def pause() -> None:
    """Nothing either."""


@inlined
def prefetch(array: Array | Indices, row: int) -> None:
    """Nothing: memory comes when it is asked for."""
