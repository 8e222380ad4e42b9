"""How fast the same data can be read at all: two ceilings for a sweep.

*Bandwidth*: one flat array as large as what a sweep streams, added up in vector registers.
*Loop*: the contact data themselves, in the order of the visits, with the velocities or impulses each contact
looks up, added up and nothing else.

Both release Python's lock, so plain threads share the work.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar, cast

import numba
import numpy as np

from clapas.typing import Array

Function = TypeVar("Function", bound=Callable[..., float])

CHUNK = 32  # contacts (or blocks of contacts) whose data are read together

# A reader takes (count, start, stop) and returns a sum of what stands between.
Reader = Callable[[int, int, int], float]


def reader(function: Function) -> Function:
    """Compile with sums in any order: the only way to keep the vector units and the loads busy."""
    compiled: Any = numba.njit(fastmath=True, error_model="numpy", nogil=True, cache=True)(function)
    return cast(Function, compiled)


@reader
def total(values: Array) -> float:
    result = 0.0
    for i in range(len(values)):
        result += values[i]
    return result


@reader
def read_flat(count: int, values: Array) -> float:
    result = 0.0
    for _ in range(count):
        result += total(values)
    return result


@reader
def total_of_rows(rows: Any, table: Any, width: Any) -> float:
    """Add up rows of a table. The length of ``width`` is that of a row, a multiple of 3."""
    # Three sums: one alone would wait for each addition to end.
    x = y = z = 0.0
    for row in rows:
        for j in range(0, len(width), 3):
            x += table[row, j]
            y += table[row, j + 1]
            z += table[row, j + 2]
    return x + y + z


@reader
def read_bodies(count: int, start: int, stop: int, arrays: Any, bodies: Any, y: Any) -> float:
    """Read arrays (n, k) of contact data, some contacts at a time, and the velocities of their bodies."""
    result = 0.0
    for _ in range(count):
        for first in range(start, stop, CHUNK):
            last = min(first + CHUNK, stop)
            for array in arrays:
                result += total(array[first:last].ravel())
            result += total_of_rows(bodies[first:last].ravel(), y, (0,) * 6)
    return result


@reader
def read_delassus(
    count: int, start: int, stop: int, arrays: Any, indptr: Any, indices: Any, blocks: Any, r: Any
) -> float:
    """Read arrays (n, k) of contact data, the rows of blocks (nnz, 9) and the impulses they meet."""
    result = 0.0
    for _ in range(count):
        for first in range(start, stop, CHUNK):
            last = min(first + CHUNK, stop)
            for array in arrays:
                result += total(array[first:last].ravel())
            result += total(blocks[indptr[first] : indptr[last]].ravel())
            result += total_of_rows(indices[indptr[first] : indptr[last]], r, (0,) * 3)
    return result


def bandwidth_run(n_bytes: int, threads: int) -> Callable[[int], None]:
    """A run that reads ``n_bytes`` of memory ``count`` times on some threads."""
    parts = np.array_split(np.ones(max(n_bytes // 8, threads)), threads)
    parts = [part.copy() for part in parts]
    return lambda count: on_threads([partial(read_flat, count, part) for part in parts])


def loop_run(read: Reader, n: int, threads: int) -> Callable[[int], None]:
    """A run that reads the n items of a reader ``count`` times, cut evenly among threads."""
    cuts = [n * k // threads for k in range(threads + 1)]
    return lambda count: on_threads([partial(read, count, *piece) for piece in pairwise(cuts)])


def on_threads(tasks: list[Callable[[], float]]) -> None:
    """Run tasks side by side; a single one in this thread."""
    if len(tasks) == 1:
        tasks[0]()
        return
    with ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()
