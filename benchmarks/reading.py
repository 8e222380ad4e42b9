"""How fast the same data can be read at all: two ceilings for a sweep.

*Bandwidth*: one flat array as large as what a sweep streams, added up in vector registers.
*Loop*: the contact data themselves, contact by contact, with the velocities or impulses each contact
looks up, added up and nothing else.

Both release Python's lock, so plain threads share the work.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

from clapas.typing import Array

# Sums in any order: the only way to keep the vector units and the loads busy.
reader: Any = numba.njit(fastmath=True, error_model="numpy", nogil=True)

# A reader takes (count, start, stop) and returns a sum of what stands between.
Reader = Callable[[int, int, int], float]


@reader
def read_flat(count: int, values: Array) -> float:
    total = 0.0
    for _ in range(count):
        for i in range(len(values)):
            total += values[i]
    return total


@reader
def read_bodies(count: int, start: int, stop: int, G: Any, bodies: Any, rest: Any, r: Any, y: Any) -> float:
    """Read G (n, 36), rest (n, 9: w and coefficients), r (n, 3) and the velocities of the two bodies."""
    total = 0.0
    for _ in range(count):
        for i in range(np.uint64(start), np.uint64(stop)):
            for j in range(36):
                total += G[i, j]
            for j in range(9):
                total += rest[i, j]
            for j in range(3):
                total += r[i, j]
            y_a, y_b = y[bodies[i, 0]], y[bodies[i, 1]]
            for j in range(6):
                total += y_a[j] + y_b[j]
    return total


@reader
def read_blocks(count: int, start: int, stop: int, data: Any, bodies: Any, r: Any, y: Any) -> float:
    """Read blocks of lanes: data (n_blocks, rows·lanes), r, and the velocities of the bodies of each lane."""
    total = 0.0
    for _ in range(count):
        for block in range(np.uint64(start), np.uint64(stop)):
            for value in data[block]:
                total += value
            for value in r[block]:
                total += value
            for body in bodies[block]:
                row = y[body]
                for j in range(6):
                    total += row[j]
    return total


@reader
def read_delassus(
    count: int, start: int, stop: int, indptr: Any, indices: Any, blocks: Any, rest: Any, r: Any
) -> float:
    """Read rows of 3×3 blocks (nnz, 9), the impulses they meet, and rest (n, 9: q and coefficients)."""
    total = 0.0
    for _ in range(count):
        for i in range(np.uint64(start), np.uint64(stop)):
            for p in range(indptr[i], indptr[i + np.uint64(1)]):
                for j in range(9):
                    total += blocks[p, j]
                for j in range(3):
                    total += r[indices[p], j]
            for j in range(9):
                total += rest[i, j]
            for j in range(3):
                total += r[i, j]
    return total


def bandwidth_run(n_bytes: int, threads: int) -> Callable[[int], None]:
    """A run that reads ``n_bytes`` of memory ``count`` times on some threads."""
    parts = np.array_split(np.ones(max(n_bytes // 8, threads)), threads)
    parts = [part.copy() for part in parts]
    return lambda count: on_threads([lambda part=part: read_flat(count, part) for part in parts])


def loop_run(read: Reader, n: int, threads: int) -> Callable[[int], None]:
    """A run that reads the n items of a reader ``count`` times, cut evenly among threads."""
    cuts = [n * k // threads for k in range(threads + 1)]
    pieces = list(zip(cuts[:-1], cuts[1:], strict=True))
    return lambda count: on_threads([lambda piece=piece: read(count, *piece) for piece in pieces])


def on_threads(tasks: list[Callable[[], float]]) -> None:
    """Run tasks side by side; a single one in this thread."""
    if len(tasks) == 1:
        tasks[0]()
        return
    with ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()
